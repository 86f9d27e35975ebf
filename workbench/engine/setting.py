"""Setting a field of the output: the line that decides it is found by provenance, edited and proven.

Only what is written out is replaced. What is computed is left alone, with its expression and the literals that feed it:
a literal is named only where another value in its place was seen to change the field.

A value may also be overridden for one stack: then it is written into a configuration of the stack's own files, and the
line that decides it until then stays.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, Final

from kcl import api
from kcl.records import dataclass
from kcl.source import SourceFile
from runtimes.base import FieldPath, ResourceId, format_path
from runtimes.base.documents import DocumentError, load_yaml
from workbench.engine import edit_reach
from workbench.engine.adding import add, remove
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.engine.edit_places import EditPlaces, Place
from workbench.engine.errors import EditFailed, EngineError
from workbench.engine.field_edit import is_same, prove, site_of
from workbench.engine.fields import MISSING, find
from workbench.engine.scrubbing import masked_text
from workbench.engine.spec import SourceSite, Spec
from workbench.engine.whatif import WhatIf
from workbench.project import Stack

Compile = Callable[[CompileInputs], Awaitable[CompiledStack]]
_MOST_TRIED: Final = 16
"""So many places are tried at most: each is a compilation."""
_LONGEST: Final = 120


class Where(StrEnum):
    """`SOURCE` is the line that decides the field now, `HERE` the stack's own files."""

    AUTO = "auto"
    SOURCE = "source"
    HERE = "here"


@dataclass(frozen=True, slots=True)
class FieldSet:
    """One field that was set, at `place` (`file:line` of the source as it was); None is what is not there."""

    id: ResourceId
    path: FieldPath
    before: Any
    after: Any
    place: str


class Computed(EditFailed):
    """The field is computed. `expression` is from what, `fed_by` the literals that change it."""


async def assign(
    edits: WhatIf, compile_: Compile, stack: Stack, id_: ResourceId, path: FieldPath, text: str | None, where: Where
) -> tuple[WhatIf, FieldSet]:
    """Returns the edits with one more, after which the field has the value that `text` says, or is gone for None.

    Raises `EditFailed` where no edit does that, `Computed` where the value is written nowhere; `edits` are as before.
    """
    compiled = await compile_(edits.inputs)
    setting = _Setting(edits, compile_, stack, compiled, id_, path)
    return await setting.made(text, where)


class _Setting:
    """One field of one stack, and what is known of it."""

    def __init__(
        self, edits: WhatIf, compile_: Compile, stack: Stack, compiled: CompiledStack, id_: ResourceId, path: FieldPath
    ) -> None:
        self._edits, self._compile, self._stack = edits, compile_, stack
        self._spec, self._read = compiled.spec, compiled.dependencies
        self._id, self._path = id_, path
        self._places = EditPlaces(edits, stack, compiled.dependencies)

    async def made(self, text: str | None, where: Where) -> tuple[WhatIf, FieldSet]:
        resource = self._spec.get(self._id)
        present = None if resource is None else find(resource.attributes, self._path)
        if text is None or (present is MISSING and self._path):
            return await self._added_or_removed(text, present, where)
        wanted = value_of(text, present, format_path(self._path))
        decisive = site_of(self._spec, self._id, self._path, wanted, self._edits)
        site = self._literal(present)
        if where is Where.HERE and not decisive.file.is_relative_to(self._stack.directory):
            return await self._overridden(site or decisive, present, wanted)
        if site is None:
            raise await self._computed(decisive, present)
        if where is Where.AUTO and not site.file.is_relative_to(self._stack.project_directory):
            raise self._shared(site)
        edited = self._edits.set_value(site, self._as_written(site, text, wanted))
        try:
            await prove(edited, self._compile, self._id, self._path, wanted, site, self._edits)
        except EditFailed:
            if site == decisive:
                raise
            raise await self._computed(decisive, present) from None
        return edited, self._set(present, wanted, site)

    async def _added_or_removed(self, text: str | None, present: Any, where: Where) -> tuple[WhatIf, FieldSet]:
        def is_allowed(place: Place) -> bool:
            match where:
                case Where.SOURCE:
                    return place.file.is_relative_to(self._edits.root)
                case Where.HERE:
                    return place.file.is_relative_to(self._stack.directory)
                case _:
                    return place.file.is_relative_to(self._stack.project_directory)

        if text is None:
            changed = await remove(self._places, self._compile, self._spec, self._id, self._path, is_allowed)
            return changed.edits, self._set(present, None, changed.site)
        wanted = value_of(text, self._beside(), format_path(self._path))
        changed = await add(
            self._places,
            self._compile,
            self._spec,
            self._id,
            self._path,
            wanted,
            is_allowed,
            prefers_own=where is not Where.SOURCE,
        )
        return changed.edits, self._set(None, wanted, changed.site)

    def _beside(self) -> Any:
        """Returns a text where all that stands beside a new field are texts, as in labels and data; else None."""
        resource = self._spec.get(self._id)
        around = None if resource is None else find(resource.attributes, self._path[:-1])
        beside = list(around.values()) if isinstance(around, Mapping) else []
        return beside[0] if beside and all(isinstance(each, str) for each in beside) else None

    def _set(self, present: Any, wanted: Any, site: SourceSite) -> FieldSet:
        return FieldSet(self._id, self._path, present, wanted, site.relative_to(self._edits.root))

    # ---------------------------------------------------------------- where it is written

    def _literal(self, present: Any) -> SourceSite | None:
        """Returns the first place of the chain that writes out what the field has; where none does, one that writes
        it as another type."""
        chain = self._spec.own_chain(self._id, self._path)
        plain = [(each, written.value) for each in chain if (written := self._written(each)) and written.is_plain]
        same = [each for each, value in plain if is_same(present, value)]
        if same:
            return same[0]
        alike = (each for each, value in plain[:1] if each == chain[0] and str(value) == str(present))
        return next(alike, None)

    def _written(self, site: SourceSite) -> api.Written | None:
        try:
            return api.written_at(self._edits.text(site.file), site.line, site.column)
        except (ValueError, EditFailed):
            return None

    def _as_written(self, site: SourceSite, text: str, wanted: Any) -> Any:
        """Returns the value in the type that the source has it in."""
        written = self._written(site)
        if written is None or type(written.value) is type(wanted):
            return wanted
        return value_of(text, written.value, format_path(self._path))

    def _shared(self, site: SourceSite) -> EditFailed:
        place = site.relative_to(self._edits.root)
        return EditFailed(
            f"{format_path(self._path)} is set in a file that is not of this project alone",
            where=place,
            hint="--where here overrides it for this stack, --where source edits that line for all that use it",
        )

    # ---------------------------------------------------------------- overriding

    async def _overridden(self, site: SourceSite, present: Any, wanted: Any) -> tuple[WhatIf, FieldSet]:
        """Writes the value into the stack's own files, in the first place that gives the field the value."""
        text = api.expression_text(wanted)
        found = self._places.enclosing(site)
        overriding = self._places.overriding(found) if found is not None and found.keys else ()
        for place in islice(overriding, _MOST_TRIED):
            source = SourceFile(str(place.file), self._edits.text(place.file))
            try:
                edited = self._edits.edit(place.file, api.replace_value(source, place.variable, place.keys, text))
                line = source.text.count("\n", 0, source.text.find(place.variable)) + 1
                here = SourceSite(place.file, line, 1)
                await prove(edited, self._compile, self._id, self._path, wanted, here, self._edits)
            except (api.KclError, EngineError):
                continue
            return edited, self._set(present, wanted, site)
        raise EditFailed(
            f"no configuration in the stack's own files was found that sets {format_path(self._path)}",
            where=site.relative_to(self._edits.root),
            hint="--where source edits this line, for all that use it",
        )

    # ---------------------------------------------------------------- what is computed

    async def _computed(self, site: SourceSite, present: Any) -> Computed:
        chain = self._spec.own_chain(self._id, self._path)
        site = next((each for each in chain if (found := self._written(each)) and not found.is_plain), site)
        written = self._written(site)
        place = site.relative_to(self._edits.root)
        said = f"{format_path(self._path)} is computed"
        if written is not None and not written.is_plain:
            shown = " ".join(written.text.split())
            said += f" from `{shown[:_LONGEST]}{'...' if len(shown) > _LONGEST else ''}`"
        given = next((each.kind for each in chain if each.kind.startswith("option ")), "")
        fed = [each async for each in self._feeding(site, present)]
        hint = f"it follows from {'; '.join(fed)}" if fed else "edit that line"
        if given and not fed:
            hint = f"it is given by {given}: give another value there, or with -D"
        return Computed(self._masked(said), where=place, hint=self._masked(hint))

    def _masked(self, text: str) -> str:
        return masked_text(text, self._spec.secrets, self._spec.rules)

    async def _feeding(self, site: SourceSite, present: Any) -> Any:
        """Yields the literals that the field was seen to change with, as texts."""
        tried: set[tuple[Path, int, int]] = set()
        for file, literal in self._candidates(site):
            key = (file, literal.line, literal.column)
            other = _another(literal.value)
            if key in tried or other is None:
                continue
            if len(tried) == _MOST_TRIED:
                return
            tried.add(key)
            here = SourceSite(file, literal.line, literal.column)
            try:
                after = (await self._compile(self._edits.set_value(here, other).inputs)).spec.get(self._id)
            except EngineError:
                continue
            if after is not None and not is_same(find(after.attributes, self._path), present):
                yield f"{literal.text} at {here.relative_to(self._edits.root)}"

    def _candidates(self, site: SourceSite) -> Iterator[tuple[Path, api.Written]]:
        """Yields literals that may feed what is written at a site: its chain's, its own, those of names it reads."""
        chain = self._spec.own_chain(self._id, self._path)
        for each in chain:
            if (written := self._written(each)) is not None and written.is_plain:
                yield each.file, written
        names: dict[str, None] = {}
        for each in chain:
            try:
                text = self._edits.text(each.file)
                yield from ((each.file, found) for found in api.literals_at(text, each.line, each.column))
                names.update(dict.fromkeys(api.written_at(text, each.line, each.column).names))
            except (ValueError, EditFailed):
                continue
        for file in sorted(self._read, key=self._distance):
            if file.suffix == ".k" and file.is_relative_to(self._edits.root):
                for name in names:
                    yield from ((file, found) for found in api.literals_named(self._edits.text(file), name))

    def _distance(self, file: Path) -> tuple[int, str]:
        folders = (self._stack.directory, self._stack.project_directory)
        return next((n for n, each in enumerate(folders) if file.is_relative_to(each)), len(folders)), str(file)


def _another(value: Any) -> Any:
    """Returns another value of the type; None where there is none to try."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
        case _:
            return None


def value_of(text: str, present: Any, name: str) -> Any:
    """Returns what a text of the command line says, in the type of the present value where it can be that.

    A text stays a text, unless it is quoted as in JSON. Raises `EditFailed` for what cannot be of the type.
    """
    if isinstance(present, str):
        return _quoted(text)
    try:
        found = load_yaml(text)
    except DocumentError as error:
        raise EditFailed(f"the value for {name} is no YAML: {error.problem}", hint="quote it as JSON does") from None
    if isinstance(present, bool) and not isinstance(found, bool):
        raise EditFailed(f"{name} is {'true' if present else 'false'}, and {text!r} is neither true nor false")
    if isinstance(present, float) and isinstance(found, int) and not isinstance(found, bool):
        return float(found)
    if isinstance(present, Mapping) and not isinstance(found, Mapping):
        raise EditFailed(f"{name} holds fields, and {text!r} is one value", hint="name the field inside that is meant")
    if found is not None and not isinstance(found, bool | int | float | str | list | Mapping):
        return text  # a date is what somebody wrote as a text
    return found


def _quoted(text: str) -> str:
    if text[:1] == '"' == text[-1:]:
        try:
            found = json.loads(text)
        except ValueError:
            return text
        if isinstance(found, str):
            return found
    return text


def missed(spec: Spec, expected: Iterable[FieldSet]) -> FieldSet | None:
    """Returns the first field that does not have its value in a Spec, None where all have."""
    by_field = {(each.id, each.path): each for each in expected}
    lost = edit_reach.missed(spec, {field: each.after for field, each in by_field.items()})
    return None if lost is None else by_field[lost]
