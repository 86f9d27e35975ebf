"""ValidatingAdmissionPolicies, as a real server was seen to hold writes to them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.sandbox.clock import VirtualClock
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError

POLICIES = "validatingadmissionpolicies.admissionregistration.k8s.io"
BINDINGS = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
NOT_BAD = {"expression": "!has(object.data.a) || object.data.a != 'bad'"}
MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
DENIED = "ValidatingAdmissionPolicy 'p' with binding 'p-all' denied request: "


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster("test", VirtualClock(datetime(2026, 1, 2, tzinfo=UTC)), seed=7)
    made.create("namespaces", None, {"metadata": {"name": "free", "labels": {"held": "no"}}})
    return made


def hold(cluster: Cluster, *rules: Any, name: str = "p", actions: Any = ("Deny",), **more: Any) -> None:
    own: dict[str, Any] = {key: more.pop(key) for key in ("paramRef", "matchResources") if key in more}
    constraints = {"resourceRules": [MAPS], **more.pop("matchConstraints", {})}
    spec = {"matchConstraints": constraints, "validations": list(rules), **more}
    cluster.create(POLICIES, None, {"metadata": {"name": name}, "spec": spec})
    binding = {"policyName": name, "validationActions": list(actions), **own}
    cluster.create(BINDINGS, None, {"metadata": {"name": f"{name}-all"}, "spec": binding})


def write(cluster: Cluster, a: str = "bad", name: str = "x", namespace: str = "default", **more: Any) -> str:
    """What is said against it; empty for nothing."""
    try:
        cluster.create("configmaps", namespace, {"metadata": {"name": name}, "data": {"a": a}}, **more)
    except ApiError as error:
        assert (error.details or {})["causes"] == [{"message": error.message.partition(" is forbidden: ")[2]}]
        return f"{error.code} {error.reason} {error.message}"
    return ""


def test_who_breaks_a_rule_is_refused_in_the_servers_words(cluster: Cluster) -> None:
    hold(cluster, NOT_BAD)
    expected = f'422 Invalid configmaps "x" is forbidden: {DENIED}failed expression: {NOT_BAD["expression"]}'
    assert write(cluster) == expected
    assert write(cluster, dry_run=True) == expected
    assert write(cluster, "good") == ""
    with pytest.raises(ApiError, match="denied request"):
        cluster.patch("configmaps", "default", "x", {"data": {"a": "bad"}})
    cluster.delete("configmaps", "default", "x")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"message": "not bad"}, "422 Invalid"),
        ({"message": "not bad", "reason": "Forbidden"}, "403 Forbidden"),
        ({"messageExpression": "'not ' + object.data.a"}, "422 Invalid"),
        ({"message": "not bad", "messageExpression": "string(object.data.none)"}, "422 Invalid"),
    ],
)
def test_a_rule_has_its_own_message_and_reason(cluster: Cluster, rule: dict[str, str], said: str) -> None:
    hold(cluster, {**NOT_BAD, **rule})
    assert write(cluster) == f'{said} configmaps "x" is forbidden: {DENIED}not bad'


def test_a_warning_does_not_refuse(cluster: Cluster) -> None:
    hold(cluster, {**NOT_BAD, "message": "hm"}, actions=["Warn", "Audit"])
    warnings: list[str] = []
    assert write(cluster, warnings=warnings) == ""
    assert warnings == ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-all': hm"]


def test_it_holds_where_it_says(cluster: Cluster) -> None:
    selector = {"matchExpressions": [{"key": "held", "operator": "NotIn", "values": ["no"]}]}
    hold(cluster, NOT_BAD, matchResources={"namespaceSelector": selector})
    assert write(cluster, namespace="free") == "" and write(cluster) != ""
    condition = {"name": "not-skipped", "expression": "object.metadata.name != 'skip'"}
    cluster.patch(POLICIES, None, "p", {"spec": {"matchConditions": [condition]}})
    assert write(cluster, name="skip") == "" and write(cluster) != ""
    cluster.delete(BINDINGS, None, "p-all")
    assert write(cluster) == ""


def test_what_it_was_and_what_is_done_can_be_asked(cluster: Cluster) -> None:
    rules = [{**MAPS, "operations": ["*"]}]
    fixed = {"expression": "request.operation != 'UPDATE' || object.data.a == oldObject.data.a", "message": "fixed"}
    kept = {"expression": "object != null || oldObject.metadata.name != 'x'", "message": "kept"}
    hold(cluster, fixed, kept, matchConstraints={"resourceRules": rules})
    assert write(cluster, "1") == ""
    with pytest.raises(ApiError, match="fixed"):
        cluster.patch("configmaps", "default", "x", {"data": {"a": "2"}})
    with pytest.raises(ApiError, match="kept") as refused:
        cluster.delete("configmaps", "default", "x")
    assert refused.value.code == 422


def test_variables_are_evaluated_when_they_are_asked_for(cluster: Cluster) -> None:
    hold(
        cluster,
        {"expression": "object.metadata.name == 'plain' || variables.b == 'good'", "message": "not good"},
        variables=[{"name": "a", "expression": "object.data.a"}, {"name": "b", "expression": "variables.a"}],
    )
    assert write(cluster).endswith("not good") and write(cluster, "good") == ""
    cluster.create("configmaps", "default", {"metadata": {"name": "plain"}})
    with pytest.raises(ApiError) as refused:
        cluster.create("configmaps", "default", {"metadata": {"name": "none"}, "data": {"z": "1"}})
    assert 'composited variable "b" fails to evaluate: composited variable "a" fails' in refused.value.message


def test_what_fails_refuses_unless_failures_are_ignored(cluster: Cluster) -> None:
    hold(cluster, {"expression": "object.data.none == 'x'"})
    assert "expression 'object.data.none == 'x'' resulted in error: no such key: none" in write(cluster)
    cluster.patch(POLICIES, None, "p", {"spec": {"failurePolicy": "Ignore"}})
    assert write(cluster) == ""


def test_parameters_come_from_objects_or_are_missing(cluster: Cluster) -> None:
    reference = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    hold(
        cluster,
        {"expression": "object.data.a != params.data.bad", "message": "as the parameter"},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        paramRef=reference,
    )
    missing = "no params found for policy binding with `Deny` parameterNotFoundAction"
    assert write(cluster).endswith(f"failed to configure binding: {missing}")
    cluster.patch(BINDINGS, None, "p-all", {"spec": {"paramRef": {"parameterNotFoundAction": "Allow"}}})
    cluster.create("configmaps", "default", {"metadata": {"name": "limits"}, "data": {"bad": "bad"}})
    assert write(cluster).endswith("as the parameter") and write(cluster, "other") == ""


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"validations": [{"expression": ""}]}, "spec.validations[0].expression", "Required value: expression is not"),
        (
            {"validations": [{"expression": "object.data.a"}]},
            "spec.validations[0].expression",
            'Invalid value: "object.data.a": must evaluate to bool but got dyn',
        ),
        (
            {"validations": [{"expression": "foo"}]},
            "spec.validations[0].expression",
            "Invalid value: \"foo\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo'",
        ),
        (
            {"validations": [{"expression": "true", "reason": "Odd"}]},
            "spec.validations[0].reason",
            'Unsupported value: "Odd": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
        ),
        (
            {"validations": [{"expression": "true", "messageExpression": "1"}]},
            "spec.validations[0].messageExpression",
            'Invalid value: "1": must evaluate to string but got int',
        ),
        (
            {"validations": [NOT_BAD], "variables": [{"name": "1a", "expression": "true"}]},
            "spec.variables[0].name",
            'Invalid value: "1a": must be a valid CEL identifier',
        ),
    ],
)
def test_a_policy_that_cannot_be_evaluated_is_not_kept(
    cluster: Cluster, spec: dict[str, Any], field: str, message: str
) -> None:
    body = {"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [MAPS]}, **spec}}
    with pytest.raises(ApiError) as refused:
        cluster.create(POLICIES, None, body)
    (cause,) = (refused.value.details or {})["causes"]
    assert cause["field"] == field and cause["message"].startswith(message)


def test_a_rule_with_a_function_that_is_not_here_is_not_held_against_anybody(cluster: Cluster) -> None:
    rule = {"expression": "authorizer.group('').resource('pods').check('get').allowed()"}
    hold(cluster, rule)
    assert write(cluster) == ""
    warnings: list[str] = []
    spec = {"matchConstraints": {"resourceRules": [MAPS]}, "validations": [rule]}
    cluster.create(POLICIES, None, {"metadata": {"name": "q"}, "spec": spec}, warnings=warnings)
    assert warnings == ["the sandbox does not evaluate policies that use authorizer"]
    changed: list[str] = []
    cluster.patch(POLICIES, None, "p", {"metadata": {"labels": {"a": "b"}}}, warnings=changed)
    assert changed == []
    cluster.patch(POLICIES, None, "p", {"spec": {"validations": [rule, NOT_BAD]}}, warnings=changed)
    assert changed == warnings, "also of one that is changed"
