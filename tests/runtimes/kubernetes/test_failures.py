"""The server's answers as errors: the codes alone would mislead."""

from __future__ import annotations

from typing import Any

import pytest

from runtimes.base import (
    Conflict,
    Forbidden,
    Moved,
    NotThere,
    Overloaded,
    Rejected,
    RuntimeFailure,
    Unauthenticated,
    Unreachable,
)
from runtimes.kubernetes.failures import Expired, Immutable, NamespaceMissing, failure


def _cause(reason: str, field: str, message: str) -> dict[str, str]:
    return {"reason": reason, "field": field, "message": message}


CASES: list[tuple[int, dict[str, Any] | str, type[RuntimeFailure]]] = [
    (401, {"message": "Unauthorized"}, Unauthenticated),
    (403, {"message": 'pods is forbidden: User "system:anonymous" cannot list resource "pods"'}, Unauthenticated),
    (403, {"message": 'pods "a" is forbidden: User "viewer" cannot get resource "pods"'}, Forbidden),
    (403, {"message": 'pods "a" is forbidden: exceeded quota: small, requested: pods=1'}, Rejected),
    (403, {"message": "unable to create new content in namespace a because it is being terminated"}, Rejected),
    (404, {"message": 'namespaces "a" not found', "details": {"kind": "namespaces", "name": "a"}}, NamespaceMissing),
    (404, {"message": 'pods "a" not found', "details": {"kind": "pods", "name": "a"}}, NotThere),
    (404, "404 page not found", NotThere),
    (
        409,
        {"details": {"causes": [_cause("FieldManagerConflict", ".a", 'conflict with "x" using v1')]}, "message": "m"},
        Conflict,
    ),
    (409, {"message": "Operation cannot be fulfilled on pods: the object has been modified"}, Moved),
    (409, {"reason": "AlreadyExists", "message": 'pods "a" already exists'}, Moved),
    (410, {"reason": "Expired", "message": "too old resource version"}, Expired),
    (422, {"details": {"causes": [_cause("FieldValueInvalid", "metadata.uid", "field is immutable")]}}, Moved),
    (422, {"details": {"causes": [_cause("FieldValueInvalid", "spec.selector", "field is immutable")]}}, Immutable),
    (422, {"details": {"causes": [_cause("FieldValueInvalid", "spec.replicas", "must not be negative")]}}, Rejected),
    (429, {"message": "later"}, Overloaded),
    (503, "", Overloaded),
    (500, {"message": "failed to create typed patch object: .spec.x: field not declared in schema"}, Rejected),
    (500, {"message": 'Internal error occurred: failed calling webhook "a.b": timeout'}, Rejected),
    (500, {"message": "Internal error occurred: etcd"}, RuntimeFailure),
    (504, {"message": "Timeout"}, Unreachable),
    (400, {"message": "bad"}, Rejected),
]


@pytest.mark.parametrize(("code", "status", "error"), CASES)
def test_an_answer_becomes_the_error_that_it_means(
    code: int, status: dict[str, Any] | str, error: type[RuntimeFailure]
) -> None:
    made = failure(code, status, target="shop-eu", subject="v1:Pod:shop:a")
    assert type(made) in (error, *error.__subclasses__())
    assert str(made).startswith("v1:Pod:shop:a on shop-eu: ")


def test_one_fixed_field_beside_an_invalid_one_is_no_replacement() -> None:
    causes = [_cause("", "spec.selector", "field is immutable"), _cause("", "spec.replicas", "must not be negative")]
    assert type(failure(422, {"details": {"causes": causes}}, target="a")) is Rejected


@pytest.mark.parametrize(
    ("text", "manager", "when"),
    [
        ('conflict with "one"', "one", ""),
        ('conflict with "kubectl edit" using apps/v1', "kubectl edit", ""),
        ('conflict with "a" using apps/v1 at 2025-01-01T00:00:00Z', "a", "2025-01-01T00:00:00Z"),
        ('conflict with "a" with subresource "scale" using apps/v1', "a", ""),
    ],
)
def test_the_owner_is_read_from_a_conflict(text: str, manager: str, when: str) -> None:
    made = failure(409, {"details": {"causes": [_cause("FieldManagerConflict", ".a", text)]}}, target="a")
    assert isinstance(made, Conflict)
    assert [(each.manager, each.when) for each in made.conflicts] == [(manager, when)]


def test_values_never_come_back_in_messages() -> None:
    message = (
        'Secret "s" is invalid: data[k]: Invalid value: "hunter22 \\"x": must be short, '
        'spec.template: Invalid value: core.PodTemplateSpec{Env:[]core.EnvVar{{Value:"topsecret"}}}: '
        "field is immutable, expected string, got &value.valueUnstructured{Value:5}; echo of canary-value"
    )
    made = failure(422, {"message": message}, target="a", secrets=("canary-value",))
    assert not any(part in str(made) for part in ("hunter22", "topsecret", "Value:5", "canary"))
    assert "data[k]" in str(made) and "field is immutable" in str(made)


def test_a_harmless_value_is_shown() -> None:
    made = failure(422, {"message": "spec.replicas: Invalid value: -1: must not be negative"}, target="a")
    assert "-1" in str(made)
