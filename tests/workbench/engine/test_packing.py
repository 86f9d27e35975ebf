"""A compiled stack goes to another process as plain data, and is there what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcl.records import replace
from runtimes.base import ResourceId
from tests.workbench.engine.world import STACK, config_map, namespace, resource, secret, spec_of
from workbench.engine.compiled import CompiledStack
from workbench.engine.packing import packed, unpacked
from workbench.engine.spec import Origin, Spec
from workbench.project import Placement, Stack

_STACK = Stack(STACK, Path("/repo/shop/prod"), Path("/repo/shop"), Placement(("*",), ("hz",)))


def _sent(spec: Spec) -> Spec:
    assert spec.lookup is not None
    compiled = CompiledStack(spec, (), frozenset(), 0.5, "")
    return unpacked(packed(compiled, ["/repo/shop/prod/main.k"]), _STACK, spec.lookup).spec


@pytest.mark.parametrize("kept", ["all", "in another order", "one", "none"])
def test_where_resources_were_said_is_kept_with_each(kept: str) -> None:
    spec = spec_of(namespace(), config_map("settings", {"a": "1"}), secret("key", {"k": "cw=="}), resource("queue"))
    origins = list(spec.origins.items())
    chosen: dict[str, list[tuple[ResourceId, Origin]]] = {
        "all": origins,
        "in another order": origins[::-1],
        "one": origins[2:3],
        "none": [],
    }
    spec = replace(spec, origins=dict(chosen[kept]))
    sent = _sent(spec)
    assert list(sent.origins.items()) == chosen[kept]
    assert sent.resources == spec.resources and sent.secrets == spec.secrets


@pytest.mark.parametrize("said", ["plain", "$kusion_path.v1:ConfigMap:shop:settings.data.a"])
def test_whether_anything_refers_to_another_resource_is_told_there_as_here(said: str) -> None:
    spec = spec_of(namespace(), config_map("settings", {"a": "1"}), config_map("other", {"a": said}))
    told = [each.may_refer for each in spec.resources]
    assert any(told) is (said != "plain")
    assert [each.may_refer for each in _sent(spec).resources] == told
