"""What others changed or deleted live, over many stacks, and the two answers to it: take it back, or take it over.

A look at a stack that could not be compared, or not wholly, is a look that says so: that nobody changed anything takes
that everything could be asked, and that a release tells what is new from what was deleted. The same between two looks:
what drifted before and is not seen now has gone only where the stack could be told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from kcl.records import dataclass, replace
from runtimes.base import Address, FieldPath, ResourceId, format_path
from workbench.engine.changes import Change, FieldChange, Op, StackDiff
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.engine.diff import is_ownership, same
from workbench.engine.edit_reach import Field, besides, missed
from workbench.engine.errors import EditFailed
from workbench.engine.events import Action
from workbench.engine.field_edit import set_field
from workbench.engine.plan import Guard, Plan
from workbench.engine.whatif import WhatIf
from workbench.project import StackPath

Compile = Callable[[CompileInputs], Awaitable[CompiledStack]]


@dataclass(frozen=True, slots=True)
class Drifted:
    """One field that somebody changed; the whole resource, deleted, where `field` is None."""

    stack: StackPath
    address: Address
    field: FieldChange | None = None

    @property
    def key(self) -> tuple[StackPath, Address, FieldPath | None]:
        return self.stack, self.address, self.field.path if self.field else None


@dataclass(frozen=True, slots=True)
class StackDrift:
    """One look at one stack: `diff`, or the `failure` for which there is none."""

    stack: StackPath
    looked_at: datetime
    diff: StackDiff | None = None
    failure: Exception | None = None

    @property
    def is_certain(self) -> bool:
        """Whether what is not listed did not drift."""
        return self.diff is not None and self.diff.is_drift_certain

    @property
    def left_to_others(self) -> int:
        """How many fields are not as configured and count as no drift, by rules of the repository."""
        return self.diff.left_to_others if self.diff is not None else 0

    @property
    def has_drifted(self) -> bool:
        return any(True for _ in self.drifted())

    def drifted(self) -> Iterator[Drifted]:
        for change in self.diff.changes if self.diff is not None else ():
            if change.was_deleted:
                yield Drifted(self.stack, change.address)
            for each in change.drift:
                yield Drifted(self.stack, change.address, each)


@dataclass(frozen=True, slots=True)
class DriftNews:
    """What another look says that the one before did not. `doubtful` could be told then and can't be now, `certain`
    the other way round."""

    appeared: tuple[Drifted, ...] = ()
    changed: tuple[tuple[Drifted, Drifted], ...] = ()
    gone: tuple[Drifted, ...] = ()
    doubtful: tuple[StackDrift, ...] = ()
    certain: tuple[StackDrift, ...] = ()

    def __bool__(self) -> bool:
        return any((self.appeared, self.changed, self.gone, self.doubtful, self.certain))


Known = Mapping[tuple[StackPath, Address, FieldPath | None], Drifted]


def remembered(known: Iterable[Drifted], after: Iterable[StackDrift]) -> Known:
    """Returns what is known to have drifted after a look: what it found, and of unsure ones what was known."""
    after = tuple(after)
    unsure = {each.stack for each in after if not each.is_certain}
    return {
        **{each.key: each for each in known if each.stack in unsure},
        **{each.key: each for look in after for each in look.drifted()},
    }


def news(known: Known, before: Sequence[StackDrift], after: Sequence[StackDrift]) -> DriftNews:
    """Compares two looks. `known` is what had drifted by all looks until `before`.

    What an unsure look does not show is neither gone nor new when it shows again.
    """
    found = {each.key: each for look in after for each in look.drifted()}
    told = {look.stack for look in after if look.is_certain}
    listed = {look.stack for look in after}
    was_certain = {look.stack: look.is_certain for look in before}
    return DriftNews(
        appeared=tuple(each for key, each in found.items() if key not in known),
        changed=tuple((known[key], each) for key, each in found.items() if key in known and _differs(known[key], each)),
        gone=tuple(
            each for key, each in known.items() if key not in found and (each.stack in told or each.stack not in listed)
        ),
        doubtful=tuple(look for look in after if not look.is_certain and was_certain.get(look.stack, True)),
        certain=tuple(look for look in after if look.is_certain and not was_certain.get(look.stack, True)),
    )


def _differs(one: Drifted, other: Drifted) -> bool:
    """Whether somebody changed it once more. What it should be may change as well: that is nobody's drift."""
    if one.field is None or other.field is None:
        return False
    return not same(one.field.before, other.field.before)


def besides_drift(plan: Plan) -> tuple[Change, ...]:
    """Returns what a plan would do that takes nothing back: what the configuration itself has changed."""
    return tuple(each for each in plan.steps() if not _only_takes_back(each))


def taking_back_only(plan: Plan) -> Plan:
    """Returns the plan with a guard that refuses it where it would do more than take drift back."""
    count = len(besides_drift(plan))
    said = f"the configuration itself has changed since the last release: {count} of the steps would follow it"
    return replace(plan, guards=(*plan.guards, Guard("drift only", not count, said if count else "")))


def _only_takes_back(change: Change) -> bool:
    if change.action is Action.CREATE:
        return change.was_deleted
    return change.action is Action.UPDATE and change.has_drifted and not change.intended


@dataclass(frozen=True, slots=True)
class Adopted:
    """A field whose live value the source says now, in `file:line` of the edited source.

    `elsewhere` are the other clusters of the stack: there the value will be applied.
    """

    id: ResourceId
    path: FieldPath
    place: str
    clusters: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotAdopted:
    id: ResourceId
    path: FieldPath
    clusters: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """`edits` make the source say what is live, where one value of it can; `left` are the fields that stay drifted.

    `besides` are other fields of the stack that the edits change: they had not drifted, and an apply would change them.
    """

    edits: WhatIf
    adopted: tuple[Adopted, ...] = ()
    left: tuple[NotAdopted, ...] = ()
    besides: tuple[Field, ...] = ()


async def adopt(edits: WhatIf, compile_: Compile, found: StackDiff) -> Adoption:
    """Takes over what others changed live, as edits of the lines that set these fields.

    Each edit is checked by compiling what it makes: one that takes another of these fields away again, as the same line
    sets both, is not made. Raises as `compile_` does on the source as it is.
    """
    before = (await compile_(edits.inputs)).spec
    wanted: dict[Field, Any] = {}
    adopted: list[Adopted] = []
    left: list[NotAdopted] = []
    for (id_, path), changed in _by_field(found).items():
        clusters = tuple(changed)
        if why := _cannot(path, changed):
            left.append(NotAdopted(id_, path, clusters, why))
            continue
        field = next(iter(changed.values()))
        assert field is not None
        try:
            edited = await set_field(edits, compile_, id_, path, field.before)
        except EditFailed as error:
            left.append(NotAdopted(id_, path, clusters, f"{error.message}: {error.hint}" if error.hint else str(error)))
            continue
        if lost := missed((await compile_(edited.inputs)).spec, wanted):
            other = f"{format_path(lost[1])} of {lost[0]}"
            left.append(
                NotAdopted(id_, path, clusters, f"its line sets {other} too, which is otherwise: edit the source")
            )
            continue
        edits, wanted[id_, path] = edited, field.before
        place = field.source[0].relative_to(edits.root) if field.source else ""
        everywhere = (each.address.cluster for each in found.changes if each.address.id == id_)
        adopted.append(Adopted(id_, path, place, clusters, tuple(each for each in everywhere if each not in clusters)))
    reached = besides(before, (await compile_(edits.inputs)).spec, wanted) if adopted else ()
    return Adoption(edits, tuple(adopted), tuple(left), reached)


def _by_field(found: StackDiff) -> dict[tuple[ResourceId, FieldPath], dict[str, FieldChange | None]]:
    """Returns what happened to each field, by cluster; None for a resource that was deleted."""
    by_field: dict[tuple[ResourceId, FieldPath], dict[str, FieldChange | None]] = {}
    for change in found.changes:
        about = change.address
        if change.was_deleted:
            by_field.setdefault((about.id, ()), {})[about.cluster] = None
        for each in change.drift:
            by_field.setdefault((about.id, each.path), {})[about.cluster] = each
    return by_field


def _cannot(path: FieldPath, changed: Mapping[str, FieldChange | None]) -> str:
    """Returns why a field cannot be taken over, empty if it may be."""
    fields = list(changed.values())
    first = fields[0]
    if first is None:
        return "somebody deleted it: take it out of the source, or take the deletion back"
    if is_ownership(path):
        return "it says which stack the object is of, and no line sets it: revert it"
    if any(each is None or each.is_masked for each in fields):
        return "it is secret: what is live is not written into a file"
    if any(each is not None and each.op is not first.op for each in fields):
        return "it was changed in another way in each cluster: edit the source"
    match first.op:
        case Op.ADD:
            return "somebody removed it: take it out of the source, or take the removal back"
        case Op.KEPT | Op.REMOVE:
            return "only the live object has it, so no line sets it: add it to the source"
        case Op.CHANGE:
            pass
    if not all(each is not None and same(each.before, first.before) for each in fields):
        return "it has another value in each cluster: edit the source"
    return ""
