"""What a real server was seen to refuse or to change, kind by kind: fields of the causes, in their order."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.sandbox.api.replies import in_version, negotiate
from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.deletion import Options, delete
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.validate.custom import schema_rules
from runtimes.sandbox.validate.rules import compile_rules

POD = {"containers": [{"name": "main", "image": "x"}]}
HOOK = {
    "name": "a.b.example",
    "clientConfig": {"url": "https://hook.example/x"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
POLICY = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}
BINDING = {"policyName": "p", "validationActions": ["Deny"]}
SERVICE = {"ports": [{"port": 80}]}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
AR = "admissionregistration.k8s.io"


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    made = Cluster("test", VirtualClock(datetime(2026, 1, 2, tzinfo=UTC)), seed=7)
    made.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
    return made


def causes(cluster: Cluster, resource: str, body: dict[str, Any]) -> list[str]:
    namespaced = resource.split(".")[0] in ("pods", "services", "persistentvolumeclaims", "endpointslices")
    with pytest.raises(ApiError) as refused:
        cluster.create(resource, "default" if namespaced else None, {"metadata": {"name": "x"}, **body})
    return [each["field"] for each in (refused.value.details or {})["causes"]]


@pytest.mark.parametrize(
    ("resource", "body", "fields"),
    [
        ("pods", {"spec": {**POD, "shareProcessNamespace": True, "hostPID": True}}, ["securityContext.shareProcess…"]),
        ("pods", {"spec": {**POD, "os": {"name": "plan9"}}}, ["os"]),
        (
            "pods",
            {"spec": {**POD, "dnsConfig": {"nameservers": ["1.1.1.1"] * 4, "searches": ["A"], "options": [{}]}}},
            ["dnsConfig.nameservers", "dnsConfig.searches[0]", "dnsConfig.options[0]"],
        ),
        ("services", {"spec": {**SERVICE, "ipFamilies": ["IPv6"]}}, ["ipFamilies[0]"]),
        ("services", {"spec": {**SERVICE, "clusterIPs": ["10.0.0.9", "10.0.0.10"]}}, ["clusterIPs", "clusterIPs"]),
        ("services", {"spec": {**SERVICE, "trafficDistribution": "Far"}}, ["trafficDistribution"]),
        ("services", {"spec": {**SERVICE, "type": "LoadBalancer", "loadBalancerClass": "A_"}}, ["loadBalancerClass"]),
        ("persistentvolumeclaims", {"spec": {**CLAIM, "volumeAttributesClassName": "A_"}}, ["volumeAttributesClass…"]),
        ("nodes", {"spec": {"podCIDR": "x"}}, ["podCIDRs[0]"]),
        ("nodes", {"spec": {"podCIDRs": ["10.0.0.0/8", "11.0.0.0/8"]}}, ["podCIDRs"]),
        (
            f"validatingadmissionpolicies.{AR}",
            {"spec": {**POLICY, "paramKind": {}}},
            ["paramKind.apiVersion", "paramKind.kind"],
        ),
        (
            f"validatingadmissionpolicies.{AR}",
            {"spec": {**POLICY, "matchConstraints": {}}},
            ["matchConstraints.resourceRules"],
        ),
        (
            f"validatingadmissionpolicies.{AR}",
            {"spec": {**POLICY, "matchConditions": [{"name": "a", "expression": "true"}] * 2}},
            ["matchConditions[1].name"],
        ),
        (
            f"validatingadmissionpolicies.{AR}",
            {"spec": {**POLICY, "validations": [{"expression": "params.x == 1"}, {"expression": "request.foo == 1"}]}},
            ["validations[0].expression", "validations[1].expression"],
        ),
        (
            f"validatingadmissionpolicies.{AR}",
            {
                "spec": {
                    **POLICY,
                    "variables": [
                        {"name": "a", "expression": "variables.b"},
                        {"name": "b", "expression": "variables.a"},
                    ],
                    "auditAnnotations": [{"key": "a b"}, {"key": "k", "valueExpression": "1"}],
                }
            },
            [
                "variables[0].expression",
                *("auditAnnotations[0].key", "auditAnnotations[0].valueExpression"),
                "auditAnnotations[1].valueExpression",
            ],
        ),
        (
            f"validatingadmissionpolicybindings.{AR}",
            {"spec": {**BINDING, "paramRef": {"name": "a", "selector": {}}}},
            ["paramRef.name", "paramRef.selector", "paramRef.parameterNotFoundAction"],
        ),
    ],
)
def test_of_a_spec(cluster: Cluster, resource: str, body: dict[str, Any], fields: list[str]) -> None:
    found = causes(cluster, resource, body)
    assert len(found) == len(fields)
    for field, wanted in zip(found, fields, strict=True):
        assert field == f"spec.{wanted}" or (wanted.endswith("…") and field.startswith(f"spec.{wanted[:-1]}"))


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"name": "a.b"}, ["name"]),
        (
            {"sideEffects": None, "clientConfig": {}, "admissionReviewVersions": []},
            ["sideEffects", "clientConfig", "admissionReviewVersions"],
        ),
        ({"sideEffects": "Some", "timeoutSeconds": 31}, ["sideEffects", "timeoutSeconds"]),
        ({"clientConfig": {"url": "http://u@h/x?q#f"}}, ["clientConfig.url"] * 4),
        (
            {"clientConfig": {"service": {"name": "a", "namespace": "b", "path": "x/y"}}},
            ["clientConfig.service.path"] * 2,
        ),
        (
            {"rules": [{**RULE, "operations": ["*", "MOVE"], "resources": ["*", "pods"]}]},
            ["rules[0].operations", "rules[0].operations[1]", "rules[0].resources"],
        ),
        (
            {"rules": [{**RULE, "apiGroups": [], "apiVersions": ["*", ""], "scope": "All"}]},
            ["rules[0].apiGroups", "rules[0].apiVersions", "rules[0].apiVersions[1]", "rules[0].scope"],
        ),
        ({"admissionReviewVersions": ["v7", "v7"]}, ["admissionReviewVersions[1]", "admissionReviewVersions"]),
    ],
)
def test_of_a_webhook(cluster: Cluster, change: dict[str, Any], fields: list[str]) -> None:
    hook = {name: value for name, value in {**HOOK, **change}.items() if value is not None}
    found = causes(cluster, f"validatingwebhookconfigurations.{AR}", {"webhooks": [hook]})
    assert found == [f"webhooks[0].{each}" for each in fields]


def test_what_is_fixed_and_what_counts(cluster: Cluster) -> None:
    classes = "volumeattributesclasses.storage.k8s.io"
    cluster.create(classes, None, {"metadata": {"name": "a"}, "driverName": "d.example", "parameters": {"a": "b"}})
    with pytest.raises(ApiError, match=r"parameters: Forbidden: updates to parameters are forbidden\."):
        cluster.patch(classes, None, "a", {"parameters": {"a": "c"}})
    with pytest.raises(ApiError, match="must be 'Exempt' if and only if `name` is 'exempt'"):
        levels = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
        cluster.create(levels, None, {"metadata": {"name": "b"}, "spec": {"type": "Exempt"}})
    drivers = "csidrivers.storage.k8s.io"
    made = cluster.create(drivers, None, {"metadata": {"name": "d.example"}, "spec": {}})
    assert "generation" not in made["metadata"]
    assert cluster.patch(drivers, None, "d.example", {"spec": {"podInfoOnMount": True}})["metadata"]["generation"] == 1


def test_a_node_keeps_its_range(cluster: Cluster) -> None:
    cluster.create("nodes", None, {"metadata": {"name": "n"}, "spec": {"podCIDR": "10.1.0.0/24"}})
    with pytest.raises(ApiError, match="may not change podCIDR"):
        cluster.patch("nodes", None, "n", {"spec": {"podCIDR": "10.2.0.0/24"}})


def test_namespaces_have_preconditions_of_the_store_and_may_leave_orphans(cluster: Cluster) -> None:
    made = cluster.create("namespaces", None, {"metadata": {"name": "doomed"}})
    resource = cluster.resources.of_kind("", "v1", "Namespace")
    assert resource is not None
    with pytest.raises(ApiError) as refused:
        delete(cluster, resource, "", "doomed", Options(uid="other"))
    uid = made["metadata"]["uid"]
    assert refused.value.message == (
        'Operation cannot be fulfilled on namespaces "doomed": '
        f"Precondition failed: UID in precondition: other, UID in object meta: {uid}"
    )
    marked, gone = delete(cluster, resource, "", "doomed", Options(propagation="Orphan"))
    assert not gone and marked["metadata"]["finalizers"] == ["orphan"]


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("isbn", "978-0321751041", "978-0321751042"),
        ("isbn10", "0321751043", "0321751044"),
        ("creditcard", "4111-1111-1111-1111", "1111"),
        ("hexcolor", "#fFf", "#ffff"),
        ("rgbcolor", "rgb(255, 0,1)", "rgb(256,0,1)"),
        ("ssn", "111-22-3333", "111-22-333"),
        ("uuid4", "8a6e9a52-2b5c-4d6c-9b31-8d0c1a4f7b11", "8a6e9a52-2b5c-1d6c-9b31-8d0c1a4f7b11"),
        ("k8s-short-name", "a-1", "a.b"),
        ("k8s-long-name", "a.b-1", "a..b"),
    ],
)
def test_formats(form: str, good: str, bad: str) -> None:
    for value, is_good in ((good, True), (bad, False)):
        found = Causes()
        schema_rules(found, {"type": "string", "format": form}, value, "x")
        assert (not found) is is_good


def test_what_a_newer_schema_forbids_may_stay_where_it_was() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "pattern": "^[a-z]+$"},
            "l": {"type": "array", "items": {"type": "integer", "minimum": 3}},
            "m": {
                "type": "array",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"maximum": 3}}},
            },
        },
    }
    old = {"a": "BAD", "l": [1, 5], "m": [{"k": "x", "v": 9}]}
    moved = {"a": "BAD", "l": [1, 5], "m": [{"k": "y", "v": 1}, {"k": "x", "v": 9}], "more": 1}
    for new, fields in ((moved, []), ({**old, "a": "WORSE"}, ["a"]), ({**old, "l": [1, 6]}, ["l[0]"])):
        found = Causes()
        schema_rules(found, schema, new, "", old)
        assert [each["field"] for each in found] == fields


def test_formats_that_nobody_knows_are_told_once(cluster: Cluster) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "string", "format": "odd"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "odds", "kind": "Odd"}
    spec = {"group": "a.example", "scope": "Namespaced", "names": names, "versions": [version]}
    definitions, warnings = "customresourcedefinitions.apiextensions.k8s.io", list[str]()
    cluster.create(definitions, None, {"metadata": {"name": "odds.a.example"}, "spec": spec}, warnings=warnings)
    assert warnings == ['unrecognized format "odd"']


def test_a_rule_about_what_was_before_needs_items_that_can_be_told_apart() -> None:
    items = {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}
    found = Causes()
    compile_rules(found, {"type": "array", "items": items}, "root")
    assert [each["field"] for each in found] == ["root.items.x-kubernetes-validations[0].rule"]
    assert found[0]["message"].endswith(
        "oldSelf cannot be used on the uncorrelatable portion of the schema within root"
    )


def test_older_names_of_tables_are_answered_in_kind() -> None:
    wanted = negotiate("application/json;as=Table;g=meta.k8s.io;v=v1beta1")
    part = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    table = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": [{"object": part}]}
    shown = in_version(table, wanted.version)
    assert shown["apiVersion"] == shown["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"
    with pytest.raises(ApiError):
        negotiate("application/*")


def test_a_certificate_is_granted_by_its_own_path_and_for_good(cluster: Cluster) -> None:
    requests, granted = "certificatesigningrequests.certificates.k8s.io", {"type": "Approved", "status": "True"}
    pem = b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n").decode()
    spec = {"request": pem, "signerName": "a.example/x", "usages": ["client auth"]}
    made = cluster.create(requests, None, {"metadata": {"name": "c"}, "spec": spec})
    assert made["spec"]["username"] == "system:apiserver"
    with pytest.raises(ApiError, match='may not add a condition of type "Approved"'):
        cluster.patch(requests, None, "c", {"status": {"conditions": [granted]}}, "merge", subresource="status")
    done = cluster.patch(requests, None, "c", {"status": {"conditions": [granted]}}, "merge", subresource="approval")
    assert done["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-02T00:00:00Z"
    with pytest.raises(ApiError, match='may not remove a condition of type "Approved"'):
        cluster.patch(requests, None, "c", {"status": {"conditions": []}}, "merge", subresource="approval")


def test_a_limit_without_a_name_gets_one(cluster: Cluster) -> None:
    made = cluster.create("limitranges", "default", {"metadata": {}, "spec": {"limits": []}})
    assert made["metadata"]["name"]


def test_a_trial_of_a_service_takes_no_address_and_looks_for_ports_that_are_taken(cluster: Cluster) -> None:
    def tried(name: str, **spec: Any) -> Any:
        body = {"metadata": {"name": name}, "spec": spec}
        return cluster.create("services", "default", body, dry_run=True)["spec"]

    assert {tried(name, ports=[{"port": 80}])["clusterIP"] for name in ("a", "b")} == {"10.0.0.0"}
    ports = [{"port": port, "nodePort": 30005, "name": f"p{port}"} for port in (80, 81)]
    assert tried("a", type="NodePort", ports=[{"port": 80, "nodePort": 1}])["ports"][0]["nodePort"] == 1
    with pytest.raises(ApiError, match=r"spec\.ports\[1\]\.nodePort: .* port is already allocated"):
        tried("a", type="NodePort", ports=ports)


def test_a_pod_cannot_choose_what_its_priority_class_says(cluster: Cluster) -> None:
    body = {"metadata": {"name": "p"}, "spec": {**POD, "preemptionPolicy": "Never"}}
    with pytest.raises(ApiError, match="computed PreemptLowerPriority from the given PriorityClass name"):
        cluster.create("pods", "default", body)


def test_a_pod_that_is_held_back_has_no_node(cluster: Cluster) -> None:
    spec = {**POD, "nodeName": "n", "schedulingGates": [{"name": "a.example/x"}]}
    assert causes(cluster, "pods", {"spec": spec}) == ["spec.nodeName"]
