"""Adding a field that a resource does not have, and taking one away: tried place by place, and proven.

An edit is taken only if the field is then as it was asked for, and nothing else that the resource had before is lost or
changed. Where there are several, one that touches no other field at all is taken: a label may be handed on to pods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from kcl import api
from kcl.records import dataclass
from kcl.source import SourceFile
from runtimes.base import FieldPath, ResourceId, format_path
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.engine.edit_places import EditPlaces, Place
from workbench.engine.errors import EditFailed, EngineError
from workbench.engine.field_edit import is_same, near_field
from workbench.engine.fields import MISSING, find
from workbench.engine.spec import SourceSite, Spec
from workbench.engine.whatif import WhatIf

Compile = Callable[[CompileInputs], Awaitable[CompiledStack]]
_MOST_TRIED: Final = 24
"""So many places are tried at most: each is a compilation."""


@dataclass(frozen=True, slots=True)
class Changed:
    """`edits` with one more, made at `site`."""

    edits: WhatIf
    site: SourceSite


async def add(
    places: EditPlaces,
    compile_: Compile,
    spec: Spec,
    id_: ResourceId,
    path: FieldPath,
    value: Any,
    is_allowed: Callable[[Place], bool],
    *,
    prefers_own: bool = True,
) -> Changed:
    """Gives a resource a field that it does not have, if `prefers_own` in the stack's own files where they can.

    Raises `EditFailed` where no edit does just that.
    """
    text = api.expression_text(value)
    tried = lost = 0
    alike: Changed | None = None
    allowed = filter(is_allowed, dict.fromkeys(places.adding(spec, id_, path)))
    for place in sorted(allowed, key=lambda each: not places.is_own(each)) if prefers_own else allowed:
        if tried == _MOST_TRIED:
            break
        try:
            source = SourceFile(str(place.file), places.edits.text(place.file))
            edited = places.edits.edit(place.file, api.replace_value(source, place.variable, place.keys, text))
        except (api.KclError, EngineError):
            continue
        tried += 1
        after = await _compiled(compile_, edited)
        if after is None or not is_same(_field(after, id_, path), value):
            continue
        if not _keeps(_others(spec, id_, path), _others(after, id_, path)):
            lost += 1
            continue
        made = Changed(edited, _first_difference(place, source.text, edited.text(place.file)))
        if _others(after, id_, path) == _others(spec, id_, path):
            return made
        alike = alike or made
    if alike is not None:
        return alike
    what = f"no place was found that gives it {format_path(path)}"
    if lost:
        what += f" and leaves its other fields as they are ({lost} would change others)"
    resource = spec.get(id_)
    near = near_field(resource.attributes, path) if resource is not None else ""
    hint = f"did you mean {near}?" if near else "what makes the resource has to hand the field on: edit the model"
    raise EditFailed(what, where=str(id_), hint=hint)


async def remove(
    places: EditPlaces,
    compile_: Compile,
    spec: Spec,
    id_: ResourceId,
    path: FieldPath,
    is_allowed: Callable[[Place], bool],
) -> Changed:
    """Takes the lines away that set a field. Raises `EditFailed` where the field would still be there."""
    before = _field(spec, id_, path)
    if before is MISSING:
        raise EditFailed(f"it has no field {format_path(path)}", where=str(id_), hint="there is nothing to take away")
    chain = spec.own_chain(id_, path)
    edited, first, refused = places.edits, None, None
    for site in chain:
        found = places.enclosing(site)
        if found is None or found.is_schema or not found.keys:
            refused = refused or site
            continue
        place = Place(site.file, found.name, found.keys)
        if not is_allowed(place):
            refused = refused or site
            continue
        try:
            text = edited.text(site.file)
            shorter = api.remove_value(SourceFile(str(site.file), text), place.variable, place.keys)
            edited = edited.edit(site.file, shorter)
        except (api.KclError, EngineError):
            refused = refused or site
            continue
        if shorter == text:
            continue
        first = first or site
        after = await _compiled(compile_, edited)
        if after is None:
            continue
        left = _field(after, id_, path)
        if (left is MISSING or left is None) and after.get(id_) is not None:
            if not _keeps(_others(after, id_, path), _others(spec, id_, path)):
                break
            return Changed(edited, first)
    place_text = refused.relative_to(places.edits.root) if refused else ""
    if first is None and refused is None:
        raise EditFailed(f"no source line sets {format_path(path)} by itself", where=str(id_), hint="edit the model")
    raise EditFailed(
        f"{format_path(path)} can't be taken away alone",
        where=place_text or str(id_),
        hint=f"it would still be set at {place_text}" if place_text else "other fields follow from the same lines",
    )


async def _compiled(compile_: Compile, edited: WhatIf) -> Spec | None:
    try:
        return (await compile_(edited.inputs)).spec
    except EngineError:
        return None


def _field(spec: Spec, id_: ResourceId, path: FieldPath) -> Any:
    resource = spec.get(id_)
    return MISSING if resource is None else find(resource.attributes, path)


def _others(spec: Spec, id_: ResourceId, path: FieldPath) -> Any:
    """Returns what a resource has beside a field, and beside mappings with nothing else in them on the way there."""
    resource = spec.get(id_)
    return None if resource is None else _without(resource.attributes, path)


def _keeps(less: Any, more: Any) -> bool:
    """Whether everything in one value is in the other as well, and the same."""
    if isinstance(less, Mapping):
        return isinstance(more, Mapping) and all(key in more and _keeps(each, more[key]) for key, each in less.items())
    if isinstance(less, list):
        return isinstance(more, list) and len(less) == len(more) and all(map(_keeps, less, more))
    return is_same(more, less)


def _without(body: Any, path: FieldPath) -> Any:
    if not isinstance(body, Mapping) or not path or path[0] not in body:
        if isinstance(body, list) and path:
            return [
                _without(each, path[1:]) if _is_at(each, path[0], index) else each for index, each in enumerate(body)
            ]
        return body
    rest = {key: each for key, each in body.items() if key != path[0]}
    if len(path) > 1:
        inner = _without(body[path[0]], path[1:])
        if inner not in ({}, None):
            rest[path[0]] = inner
    return rest


def _is_at(element: Any, step: Any, index: int) -> bool:
    return step == index if isinstance(step, int) else not isinstance(step, str) and step.matches(element)


def _first_difference(place: Place, before: str, after: str) -> SourceSite:
    """Returns the line of the text as it was that the edit stands on, or behind."""
    pairs: Iterable[tuple[str, str]] = zip(before.splitlines(), after.splitlines(), strict=False)
    line = next((number for number, (old, new) in enumerate(pairs, 1) if old != new), before.count("\n") + 1)
    return SourceSite(place.file, line, 1)
