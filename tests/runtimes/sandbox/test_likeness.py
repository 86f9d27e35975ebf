"""Small things that a real server was seen to do, each in the way of a write."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.base.documents import DocumentError, load_yaml
from runtimes.sandbox.api import yaml_bodies
from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.go_times import time_text
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.validate.custom import schema_rules
from runtimes.sandbox.written import whole_numbers

from .kinds import deployment

SELECTOR = {"matchLabels": {"app": "web"}}
TEMPLATE = deployment()["spec"]["template"]


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster("test", VirtualClock(datetime(2026, 1, 2, tzinfo=UTC)), seed=7)
    made.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
    return made


def refusal(attempt: Any) -> ApiError:
    with pytest.raises(ApiError) as refused:
        attempt()
    return refused.value


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("ipv4", "1.2.3.4", "300.1.1.1"),
        ("ipv6", "::1", "1.2.3.4"),
        ("cidr", "10.0.0.0/8", "10.0.0.1"),
        ("hostname", "a-1.example", "-x"),
        ("mac", "aa:bb:cc:dd:ee:ff", "aa:bb"),
    ],
)
def test_formats(form: str, good: str, bad: str) -> None:
    for value, is_good in ((good, True), (bad, False)):
        causes = Causes()
        schema_rules(causes, {"type": "string", "format": form}, value, "x")
        assert (not causes) is is_good


def test_alternatives_are_told_of_a_value_of_the_wrong_type_too() -> None:
    causes = Causes()
    either = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    schema_rules(causes, either, True, "x")
    assert [each["message"] for each in causes] == [
        'Invalid value: "boolean": x in body must be of type integer,string: "boolean"',
        'Invalid value: "": "x" must validate at least one schema (anyOf)',
        'Invalid value: "boolean": x in body must be of type integer: "boolean"',
    ]


def test_a_status_that_leaves_the_servers_own_out_keeps_it(cluster: Cluster) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": TEMPLATE["spec"]["containers"]}}
    cluster.create("pods", "default", pod)
    written = cluster.update("pods", "default", "p", {**pod, "status": {"phase": "Running"}}, subresource="status")
    assert written["status"]["qosClass"] == "BestEffort"
    body = {"metadata": {"name": "d"}, "spec": {"selector": SELECTOR, "template": TEMPLATE}}
    cluster.create("daemonsets.apps", "default", body)
    written = cluster.update("daemonsets.apps", "default", "d", {**body, "status": {}}, subresource="status")
    assert written["metadata"]["annotations"]["deprecated.daemonset.template.generation"] == "1"


def test_a_priority_class_stays_of_one_generation(cluster: Cluster) -> None:
    cluster.create("priorityclasses.scheduling.k8s.io", None, {"metadata": {"name": "a"}, "value": 1})
    made = cluster.patch("priorityclasses.scheduling.k8s.io", None, "a", {"description": "x"})
    assert made["metadata"]["generation"] == 1


def test_another_address_is_refused_as_such_though_somebody_has_it(cluster: Cluster) -> None:
    for name, address in (("a", "10.0.0.50"), ("b", "10.0.0.51")):
        service = {"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": [{"port": 80}]}}
        cluster.create("services", "default", service)
    other = {"metadata": {"name": "a"}, "spec": {"clusterIP": "10.0.0.51", "ports": [{"port": 80}]}}
    error = refusal(lambda: cluster.update("services", "default", "a", other))
    causes = (error.details or {})["causes"]
    assert causes == [
        {
            "reason": "FieldValueInvalid",
            "message": 'Invalid value: ["10.0.0.51"]: may not change once set',
            "field": "spec.clusterIPs[0]",
        }
    ]


def test_a_load_balancer_that_asks_nodes_has_a_port_for_it(cluster: Cluster) -> None:
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}
    made = cluster.create("services", "default", {"metadata": {"name": "a"}, "spec": spec})
    port = made["spec"]["healthCheckNodePort"]
    assert 30000 <= port <= 32767 and port != made["spec"]["ports"][0]["nodePort"]
    changed = cluster.patch("services", "default", "a", {"spec": {"externalTrafficPolicy": "Cluster"}})
    assert "healthCheckNodePort" not in changed["spec"]


def test_sums_of_amounts_are_written_as_amounts(cluster: Cluster) -> None:
    limits = {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}
    cluster.create("limitranges", "default", {"metadata": {"name": "l"}, "spec": limits})
    half = {"resources": {"limits": {"cpu": "750m"}}}
    containers = [{"name": name, "image": "x", **half} for name in ("a", "b")]
    error = refusal(
        lambda: cluster.create("pods", "default", {"metadata": {"name": "p"}, "spec": {"containers": containers}})
    )
    assert "maximum cpu usage per Pod is 1, but limit is 1500m" in error.message


def test_a_ratio_needs_a_request_and_a_limit(cluster: Cluster) -> None:
    limits = {"limits": [{"type": "Container", "maxLimitRequestRatio": {"memory": "2"}}]}
    cluster.create("limitranges", "default", {"metadata": {"name": "l"}, "spec": limits})
    container = {"name": "a", "image": "x"}
    for resources, why in (
        ({}, "no request is specified or request is 0"),
        ({"requests": {"memory": "3"}}, "no limit is specified or limit is 0"),
        ({"requests": {"memory": "1"}, "limits": {"memory": "3"}}, "provided ratio is 3.000000"),
    ):
        body = {"metadata": {"name": "p"}, "spec": {"containers": [{**container, "resources": resources}]}}
        error = refusal(lambda body=body: cluster.create("pods", "default", body))
        assert error.message.endswith(f"memory max limit to request ratio per Container is 2, but {why}")


def test_a_moment_of_leases_has_its_fraction() -> None:
    assert time_text("2024-01-02T03:04:05.1Z", micro=True) == "2024-01-02T03:04:05.100000Z"
    with pytest.raises(ValueError, match=r'cannot parse "Z" as ".000000"'):
        time_text("2024-01-02T03:04:05Z", micro=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "yaml: line 1: did not find expected node content"),
        (b"a: 1\nb: 2\nc: {d: [}\n", "yaml: line 2: did not find expected node content"),
        (b"a: b: c", "yaml: mapping values are not allowed in this context"),
        (b"a: 1\nb: c: d\n", "yaml: line 2: mapping values are not allowed in this context"),
    ],
)
def test_mistakes_in_yaml_are_told_by_line_as_the_server_counts(text: bytes, message: str) -> None:
    with pytest.raises(DocumentError) as wrong:
        load_yaml(text)
    assert yaml_bodies.message(wrong.value) == message


def test_a_stateful_set_that_keeps_all_revisions_is_warned_of(cluster: Cluster) -> None:
    warnings: list[str] = []
    spec = {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "s", "revisionHistoryLimit": -1}
    cluster.create("statefulsets.apps", "default", {"metadata": {"name": "s"}, "spec": spec}, warnings=warnings)
    assert any("retains all historical revisions" in each for each in warnings)


def test_what_a_job_says_of_its_end_is_whole(cluster: Cluster) -> None:
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
    cluster.create("jobs.batch", "default", {"metadata": {"name": "j"}, "spec": {"template": template}})

    def write(**status: Any) -> Any:
        return cluster.patch("jobs.batch", "default", "j", {"status": status}, subresource="status")

    met = {"type": "SuccessCriteriaMet", "status": "True"}
    done = {"type": "Complete", "status": "True"}
    error = refusal(lambda: write(succeeded=1, conditions=[done]))
    assert [each["field"] for each in (error.details or {})["causes"]] == [
        "status.completionTime",
        "status.conditions",
        "status.startTime",
    ]
    moments = {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-02T00:00:00Z"}
    write(succeeded=1, conditions=[met, done], **moments)
    error = refusal(lambda: write(conditions=[]))
    assert "cannot disable the terminal Complete=True condition" in error.message
    error = refusal(lambda: write(succeeded=0))
    assert "cannot decrease the succeeded counter" in error.message


def test_whole_numbers_of_a_custom_resource_are_written_without_a_point() -> None:
    plain = {"a": [1, 2.5], "b": {"c": "2.0"}}
    assert whole_numbers(plain) is plain
    assert json.dumps(whole_numbers({"a": [2.0, 2.5], "b": {"c": -1000.0}})) == '{"a": [2, 2.5], "b": {"c": -1000}}'


def test_a_part_of_a_number_where_a_whole_one_is_wanted_is_measured_too() -> None:
    causes = Causes()
    schema_rules(causes, {"type": "integer", "multipleOf": 2}, 2.5, "n")
    assert [each["message"].partition("n in body ")[2] for each in causes] == [
        'must be of type integer: "number"',
        "should be a multiple of 2",
    ]
