"""What a recovery document may say, and what is said about one that is wrong."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.engine.recovery.document import InvalidRecovery, InventoryState, Limits, Operation, find, parse

HOST = {"hostname": "h-1", "cluster": "hz", "namespace": "shop", "pod": "web-1"}
GOOD: dict[str, Any] = {"kind": "Recovery", "name": "app", "hosts": [HOST], "operation": "restart"}


def test_a_document_is_read_with_its_defaults() -> None:
    found = parse({**GOOD, "unresolved": ["h-9", "h-9"], "limits": {"maxPods": 7, "maxFraction": 1}, "reason": None})
    assert found.operation is Operation.RESTART and found.hosts[0].state is InventoryState.OK
    assert (found.limits.max_pods, found.limits.max_fraction, found.limits.batch) == (7, 1, 3)
    assert found.hostnames() == ("h-1", "h-9") and found.reason == ""
    node = {"cluster": "hz", "name": "n-1"}
    found = parse({**GOOD, "operation": "uncordon", "hosts": [], "nodes": [node, node, {**node, "cluster": "sh"}]})
    assert found.hostnames() == ("n-1@hz", "n-1@sh")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"opperation": "restart"}, "unknown key 'opperation'"),
        ({"operation": "reboot"}, "one of restart, evict, rolloutRestart, cordon, uncordon, scale; got 'reboot'"),
        ({"name": ""}, "name needs to be a text"),
        ({"hosts": "h-1"}, "hosts needs to be a list"),
        ({"hosts": [HOST, {**HOST, "cluster": 5}]}, "cluster needs to be a text, got 5"),
        ({"hosts": [{**HOST, "state": "lost"}]}, "state needs to be one of ok, unknown, stale, duplicate"),
        ({"hosts": [{**HOST, "ip": "10.0.0.1"}]}, "unknown key 'ip'"),
        ({"unresolved": [1]}, "list of hostnames"),
        ({"limits": {"maxPods": 0}}, "maxPods needs to be a whole number above 0; got 0"),
        ({"limits": {"maxPods": True}}, "maxPods needs to be a whole number above 0; got True"),
        ({"limits": {"maxFraction": 1.5}}, "maxFraction needs to be a share above 0 and up to 1; got 1.5"),
        ({"limits": {"batches": 3}}, "unknown key 'batches'"),
        ({"nodes": [{"cluster": "hz", "name": "n-1"}]}, "nodes goes with the operations cordon, uncordon"),
        ({"operation": "uncordon", "nodes": [{"name": "n-1"}]}, "cluster needs to be a text"),
        ({"operation": "uncordon", "nodes": ["n-1"]}, "a node needs to be a mapping"),
        ({"operation": "uncordon", "nodes": [{"cluster": "hz", "name": "n-1", "zone": "a"}]}, "unknown key 'zone'"),
        ({"operation": "scale"}, "scale needs it"),
        ({"replicas": 3}, "replicas goes with operation scale"),
        ({"operation": "scale", "replicas": -1}, "0 or more"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRecovery) as caught:
        parse({**GOOD, **change}, where="ops/AppRecovery.k")
    assert said in str(caught.value) and caught.value.where.startswith("ops/AppRecovery.k")


def test_the_recovery_is_found_wherever_a_program_puts_it() -> None:
    for documents in ([GOOD], [[GOOD]], [{"kind": "ConfigMap"}, GOOD], [{"recovery": GOOD}]):
        assert find(documents).name == "app"
    refused: list[list[Any]] = [[], [{}], [GOOD, GOOD]]
    for others in refused:
        with pytest.raises(InvalidRecovery, match="exactly one"):
            find(others)


@given(
    st.sampled_from([each.name for each in fields(Limits)]),
    st.one_of(st.integers(-3, 40), st.floats(), st.booleans(), st.none(), st.text(max_size=3)),
)
def test_limits_are_usable_or_there_are_none(name: str, value: Any) -> None:
    """However they are made: from a document, from arguments in a notebook, by replacing one."""
    try:
        limits = replace(Limits(), **{name: value})
    except InvalidRecovery as error:
        assert "needs to be" in str(error) and repr(value) in str(error)
        return
    made = getattr(limits, name)
    assert math.isfinite(made) and made > 0 and made is not True
    assert limits.max_fraction <= 1
    assert all(isinstance(each, int) for each in (limits.max_pods, limits.batch, limits.per_owner, limits.stop_after))
