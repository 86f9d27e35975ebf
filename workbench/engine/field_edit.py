"""Editing a field of a resource at the source line that sets it.

An edit by place replaces text, and text knows nothing of fields: the line found for a field may write something around
it (a whole schema in a shared model), or something that only leads to it. So the line has to be the field's own, and
the edited source is compiled once more: the field has the new value then, or nothing was edited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from runtimes.base import FieldPath, ResourceId, format_path
from workbench.engine.compiled import CompiledStack, CompileFailed, CompileInputs
from workbench.engine.errors import EditFailed, EngineError
from workbench.engine.fields import MISSING, find
from workbench.engine.spec import SourceSite, Spec
from workbench.engine.whatif import WhatIf

Compile = Callable[[CompileInputs], Awaitable[CompiledStack]]


async def set_field(edits: WhatIf, compile_: Compile, id_: ResourceId, path: FieldPath, value: Any) -> WhatIf:
    """Returns the edits with one more, after which the field has the value in what `compile_` gives.

    Raises `EditFailed` where that can't be had by replacing one value; `edits` are as before then.
    """
    before = (await compile_(edits.inputs)).spec
    site = site_of(before, id_, path, value, edits)
    edited = edits.set_value(site, value)
    await prove(edited, compile_, id_, path, value, site, edits)
    return edited


async def prove(
    edited: WhatIf, compile_: Compile, id_: ResourceId, path: FieldPath, value: Any, site: SourceSite, edits: WhatIf
) -> None:
    """Raises `EditFailed` unless the field has the value in what `compile_` makes of the edited source."""
    try:
        after = (await compile_(edited.inputs)).spec
    except EngineError as error:
        # a finding repeats the source, and with it a value that may be secret: the place is enough
        line = error.where if isinstance(error, CompileFailed) else f"{site.file}:{site.line}"
        raise _failed(
            id_, path, f"with the value at {site.relative_to(edits.root)} replaced, the stack would not compile", line
        ) from None
    _check(after, id_, path, value, site, edits)


def site_of(spec: Spec, id_: ResourceId, path: FieldPath, value: Any, edits: WhatIf) -> SourceSite:
    """Returns where the field itself is written; raises `EditFailed` with what there is instead."""
    resource = spec.get(id_)
    if resource is None:
        raise EditFailed(f"there is no resource {id_}", where=spec.stack, hint="`wb compile -o table` lists them")
    around = spec.chain(id_, path)
    nearest = around[0].relative_to(edits.root) if around else ""
    present = find(resource.attributes, path)
    if present is MISSING:
        near = near_field(resource.attributes, path)
        what = f"did you mean {near}?" if near else f"what is around it is set at {nearest}: edit that file"
        raise EditFailed(f"it has no field {format_path(path)}", where=str(id_), hint=what)
    if isinstance(present, Mapping | list) and not isinstance(value, Mapping | list | tuple | None):
        what = f"{format_path(path)} holds {len(present)} fields, and would lose them for one value"
        raise EditFailed(what, where=str(id_), hint="name the field inside that is meant")
    chain = spec.own_chain(id_, path)
    if not chain:
        hint = f"what is around it is set at {nearest}: edit that file" if nearest else "edit the file that makes it"
        raise EditFailed(f"no source line sets {format_path(path)} by itself", where=str(id_), hint=hint)
    return chain[0]


def _check(spec: Spec, id_: ResourceId, path: FieldPath, value: Any, site: SourceSite, edits: WhatIf) -> None:
    """Raises `EditFailed` unless the field has the value."""
    place = site.relative_to(edits.root)
    resource = spec.get(id_)
    if resource is None:
        raise _failed(id_, path, f"with the value at {place} replaced, the resource would be another one", place)
    if not is_same(find(resource.attributes, path), value):
        raise _failed(id_, path, f"with the value at {place} replaced, the field would still not be as given", place)


def _failed(id_: ResourceId, path: FieldPath, why: str, place: str) -> EditFailed:
    return EditFailed(f"{format_path(path)} of {id_}: {why}", where=place, hint="edit the file instead")


def is_same(found: Any, wanted: Any) -> bool:
    """Whether what a Spec holds is the value; None where it has nothing is the same."""
    match wanted:
        case None:
            return found is None or found is MISSING
        case Mapping():
            return (
                isinstance(found, Mapping)
                and found.keys() == wanted.keys()
                and all(is_same(found[key], each) for key, each in wanted.items())
            )
        case list() | tuple():
            return isinstance(found, list) and len(found) == len(wanted) and all(map(is_same, found, wanted))
        case _:
            # True is 1 in Python, and not in KCL
            return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)


def near_field(body: Any, path: FieldPath) -> str:
    """Returns the field that was probably meant where there is none at a path; "" if none is near."""
    near = get_close_matches(format_path(path), map(format_path, _paths(body)), n=1, cutoff=0.8)
    return near[0] if near else ""


def _paths(body: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    match body:
        case Mapping():
            for key, each in body.items():
                yield (*path, key)
                yield from _paths(each, (*path, key))
        case list():
            for index, each in enumerate(body):
                yield from _paths(each, (*path, index))
