"""An edit of a field gives that field the value, or is refused: nothing is overwritten that was not named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import FieldPath, Resource, ResourceId
from tests.workbench.session.shop import Clusters, session, shop
from workbench.engine.errors import EditFailed
from workbench.engine.field_edit import set_field
from workbench.engine.fields import MISSING, find
from workbench.engine.spec import Spec
from workbench.engine.whatif import WhatIf
from workbench.session import Session

DOTTED = """\
import models.server

front: server.Server {
    replicas = 1
    settings = {COLOUR = "red", SIZE = "big"}
}
"""
MODEL = """\

_account = {
    id = "v1:ServiceAccount:${_space}:front"
    $type = "Kubernetes"
    attributes = {
        apiVersion = "v1"
        kind = "ServiceAccount"
        metadata.name = "front"
        metadata.namespace = _space
        metadata.labels.tier.role = "a"
        metadata.annotations = {"note-${i}": "n${i}" for i in [1, 2]}
        secrets = [{name = n} for n in ["one", "two"]]
        automountServiceAccountToken = True
    }
}
manifests.yaml_stream([_account])
"""


def _root(folder: Path) -> Path:
    root = shop(folder / "repo", {"web/dev/main.k": DOTTED})
    render = root / "models/render.k"
    *before, last = render.read_text().splitlines()
    inner = last.removeprefix("manifests.yaml_stream(").removesuffix(")")
    render.write_text("\n".join(before) + MODEL.replace("[_account]", f"[_account] + {inner}"))
    return root


def _paths(body: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Every place in a body, and for each some that are not there."""
    if path:
        yield path
    match body:
        case Mapping():
            yield (*path, "nope")
            yield (*path, "nope", "deeper")
            for key, each in body.items():
                yield from _paths(each, (*path, key))
        case list():
            yield (*path, len(body))
            for index, each in enumerate(body):
                yield from _paths(each, (*path, index))
        case _:
            yield (*path, "below")
            yield (*path, 0)


def _value(old: Any) -> Any:
    match old:
        case bool():
            return not old
        case int():
            return old + 7
        case str():
            return f"{old}-edited"
        case Mapping():
            return {"nothing": "else"}
        case list():
            return []
        case _:
            return 5


def _leaves(spec: Spec) -> dict[tuple[ResourceId, FieldPath], Any]:
    def below(body: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
        match body:
            case Mapping():
                for key, each in body.items():
                    yield from below(each, (*path, key))
            case list():
                for index, each in enumerate(body):
                    yield from below(each, (*path, index))
            case _:
                yield path, body

    return {(each.id, path): value for each in spec for path, value in below(each.attributes, ())}


async def _tried(opened: Session, start: WhatIf, id_: ResourceId, path: FieldPath, value: Any) -> WhatIf | EditFailed:
    stack = opened.select("web/dev")
    try:
        return await set_field(start, partial(opened.compile, stack), id_, path, value)
    except EditFailed as refused:
        return refused


async def test_any_edit_of_any_path_is_that_edit_or_none(tmp_path: Path) -> None:
    done = refused = 0
    async with session(_root(tmp_path), Clusters()) as opened:
        stack = opened.select("web/dev")
        start = opened.whatif(stack)
        before = (await opened.compile(stack)).spec
        old = _leaves(before)
        for resource in before:
            for path in _paths(resource.attributes):
                value = _value(find(resource.attributes, path))
                outcome = await _tried(opened, start, resource.id, path, value)
                if isinstance(outcome, EditFailed):
                    refused += 1
                    assert outcome.hint, outcome
                    continue
                done += 1
                after = (await opened.compile(stack, outcome.inputs)).spec
                _assert_is_that_edit(before, after, old, resource, path, value)
    assert done >= 6 and refused > done


def _assert_is_that_edit(
    before: Spec, after: Spec, old: Mapping[Any, Any], resource: Resource, path: FieldPath, value: Any
) -> None:
    edited = after.get(resource.id)
    assert edited is not None and find(edited.attributes, path) == value, path
    site = before.chain(resource.id, path)[0]
    new = _leaves(after)
    for (id_, place), was in old.items():
        if new.get((id_, place), MISSING) != was:
            around = [place[:length] for length in range(len(place), 0, -1)]
            is_shared = any(site in before.own_chain(id_, each) for each in around)
            assert is_shared, f"{path} changed {place} of {id_}, which is written elsewhere"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("spec", "nope"), 5, "no field spec.nope"),
        (("spec", "replica"), 5, "no field spec.replica"),
        (("spec", "replicas", "x"), 5, "no field spec.replicas.x"),
        (("spec", "template", "spec", "containers", 3, "image"), "x", "no field"),
        (("spec", "replicas"), "many", "would not compile"),
        (("spec",), 5, "would lose them"),
        (("metadata", "name"), "back", "the resource would be another one"),
        (("metadata", "namespace"), "away", ""),
    ],
)
async def test_what_cannot_be_set_says_why_and_where_to_go_on(
    tmp_path: Path, path: FieldPath, value: Any, message: str
) -> None:
    async with session(_root(tmp_path), Clusters()) as opened:
        start = opened.whatif(opened.select("web/dev"))
        (deployment,) = (
            each for each in (await opened.compile(opened.select("web/dev"))).spec if "Deployment" in str(each.id)
        )
        outcome = await _tried(opened, start, deployment.id, path, value)
    assert isinstance(outcome, EditFailed)
    assert message in outcome.message
    assert outcome.hint
    if path == ("spec", "replica"):
        assert "spec.replicas" in outcome.hint
    if path == ("spec", "nope"):
        assert "models/server.k:38" in outcome.hint
