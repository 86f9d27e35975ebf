"""Records that want a rollback to write what nobody applied: digests, secrets in another place, parts of the whole.

Who may write secrets in the namespace of the releases may write a record, with the digest of any secret that another
record has. What it says is shown and confirmed like any plan; it must not get a secret out of its object, though.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kcl.secrecy.rules import BUILT_IN
from runtimes.base import UNKNOWN, Address, KubernetesId, RuntimeType, TerraformId
from workbench.engine.events import Action
from workbench.engine.masking import Seal, sealed
from workbench.engine.recorded import Known, rebuild, refusal
from workbench.engine.release import Phase, Release, ReleasedResource, StepState
from workbench.engine.release_changes import compare_versions, of_release
from workbench.engine.spec import Spec

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
SEAL = Seal(KEY)
CANARY = "canary-7f3a-0042"
SECRET = KubernetesId("v1", "Secret", "shop", "door")
PUBLIC = KubernetesId("v1", "ConfigMap", "shop", "public")
KNOWN = Known({SECRET: ({"data": {"token": CANARY, "list": [{"v": CANARY}]}},), PUBLIC: ({"data": {"colour": "red"}},)})
MARK = sealed(CANARY, ((),), SEAL)
NAME = SEAL.mask(CANARY).shortened_to(8)


def release(bodies: Mapping[Any, Mapping[str, Any]], *, cluster: str = "hz", **more: Any) -> Release:
    resources = {
        Address(cluster, id_): ReleasedResource(
            Address(cluster, id_),
            RuntimeType.TERRAFORM if isinstance(id_, TerraformId) else RuntimeType.KUBERNETES,
            Action.CREATE,
            StepState.DONE,
            attributes=body,
        )
        for id_, body in bodies.items()
    }
    made = Release("shop/dev", 1, Phase.SUCCEEDED, "p", "ann", "host", datetime.now(UTC), None, resources, salt=KEY)
    return replace(made, **more)


@pytest.mark.parametrize(
    "bodies",
    [
        {PUBLIC: {"data": {"colour": MARK}}},
        {PUBLIC: {"data": {"token": MARK}}},
        {SECRET: {"metadata": {"annotations": {"token": MARK}}}},
        {SECRET: {"data": {"other": MARK}}},
        {SECRET: {"data": [MARK]}},
        {SECRET: {"data": {"token": [MARK]}}},
        {PUBLIC: {"data": {NAME: "x"}}},
        {SECRET: {"data": {"token": "sealed:" + "0" * 16}}},
        {PUBLIC: {"data": {"colour": "sealed:" + "f" * 16}}},
        {PUBLIC: {"data": {"colour": str(UNKNOWN)}}},
        {PUBLIC: {"data": {"colour": f"http://{UNKNOWN}/"}}},
        {TerraformId("hashicorp", "random", "random_id", "a"): {"byte_length": 2}},
    ],
    ids=str,
)
def test_what_nothing_proves_is_missing_and_never_written(bodies: Any) -> None:
    found = rebuild(release(bodies), SEAL, KNOWN, Spec("shop/dev", ()))
    assert len(found.missing) == 1
    assert CANARY not in str(found.missing) and CANARY not in repr(found.resources[0].attributes)


def test_another_key_proves_nothing() -> None:
    found = rebuild(release({SECRET: {"data": {"token": MARK}}}), Seal(OTHER_KEY), KNOWN, None)
    assert [each.path for each in found.missing] == ["data.token"]


@pytest.mark.parametrize("body", [{"data": {"token": MARK}}, {"data": {"list": [{"v": "x"}, {"v": MARK}]}}], ids=str)
def test_what_is_proven_is_given_back_and_stays_secret(body: Any) -> None:
    found = rebuild(release({SECRET: body}), SEAL, KNOWN, None)
    assert not found.missing and CANARY in repr(found.resources[0].attributes) and CANARY not in repr(found)
    spec = found.spec("shop/dev", BUILT_IN, frozenset())
    assert CANARY in spec.secrets
    shown = sealed(found.resources[0].attributes, spec.hidden(found.resources[0]), Seal.random())
    assert CANARY not in repr(shown)


def test_a_short_secret_in_no_secret_place_stays_hidden() -> None:
    id_ = KubernetesId("v1", "ConfigMap", "shop", "odd")
    for name in ("size", 'si"ze', "a.b", ""):
        known = Known({id_: ({"data": {name: "7"}},)})
        found = rebuild(release({id_: {"data": {name: sealed("7", ((),), SEAL)}}}), SEAL, known, None)
        (resource,) = found.resources
        spec = found.spec("shop/dev", BUILT_IN, frozenset())
        assert resource.attributes == {"data": {name: "7"}}
        assert "7" not in str(sealed(resource.attributes, spec.hidden(resource), Seal(OTHER_KEY)).values()).replace(
            sealed("7", ((),), Seal(OTHER_KEY)), ""
        )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"phase": Phase.APPLYING}, "did not succeed"),
        ({"phase": Phase.PARTIAL}, "did not succeed"),
        ({"phase": Phase.INTERRUPTED}, "did not succeed"),
        ({"resources": {}}, "has nothing"),
    ],
    ids=str,
)
def test_a_release_that_was_never_so_is_no_target(change: Any, why: str) -> None:
    assert why in refusal(release({PUBLIC: {}}, **change), ["hz"])


def test_a_release_of_other_places_is_no_target() -> None:
    one = release({PUBLIC: {"a": 1}})
    assert refusal(one, ["hz"]) == ""
    assert "hz, sh" in refusal(one, ["hz", "sh"]) and "goes to sh" in refusal(one, ["sh"])
    two = replace(one, resources={**one.resources, **release({PUBLIC: {"a": 2}}, cluster="sh").resources})
    assert "not the same" in refusal(two, ["hz", "sh"])
    (each,) = one.resources.values()
    unsure = replace(one, resources={each.address: replace(each, state=StepState.INTENDED)})
    assert "does not know what became" in refusal(unsure, ["hz"])


def compared(before: Any, after: Any, *, keys: tuple[bytes, bytes] = (KEY, KEY)) -> Any:
    one, other = (
        of_release(release({SECRET: body}, salt=key)) for body, key in zip((before, after), keys, strict=True)
    )
    return compare_versions("shop/dev", one, other, seal=Seal(keys[1]), screen=Seal.random(), rules=BUILT_IN)


@pytest.mark.parametrize(
    ("before", "after", "is_different", "is_certain"),
    [
        ({"data": {"token": MARK}}, {"data": {"token": MARK}}, False, True),
        ({"data": {"token": MARK}}, {"data": {"token": "sealed:" + "0" * 16}}, True, True),
        ({"data": {"token": MARK}}, {"data": {"token": CANARY}}, False, True),
        ({"data": {"token": "other"}}, {"data": {"token": MARK}}, True, True),
        ({"data": {"list": [MARK]}}, {"data": {"list": [CANARY]}}, False, True),
        ({"spec": {"a": CANARY}}, {"spec": {"a": "sealed:" + "0" * 16}}, True, True),
    ],
    ids=str,
)
def test_comparing_tells_secrets_apart_and_shows_none(
    before: Any, after: Any, is_different: bool, is_certain: bool
) -> None:
    found = compared(before, after)
    assert (found.is_different, found.is_certain) == (is_different, is_certain)
    assert CANARY not in repr(found.changes) and "sealed:" not in repr(found.changes)


def test_digests_of_different_keys_are_neither_equal_nor_different() -> None:
    for body in ({"data": {"token": MARK}}, {"data": {"list": [MARK, 1]}}):
        other = {"data": {name: sealed(CANARY, ((),), Seal(OTHER_KEY)) for name in body["data"]}}
        if "list" in body["data"]:
            other = {"data": {"list": [sealed(CANARY, ((),), Seal(OTHER_KEY)), 1]}}
        found = compared(body, other, keys=(KEY, OTHER_KEY))
        assert not found.is_certain and not found.is_different
