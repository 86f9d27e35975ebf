"""What would change: a row for each resource, and lines for its fields with the source line that set each.

A change of one field that fits is one line, `~ spec.replicas: 3 → 4  ← prod/main.k:7`; of a longer one what differs
stands below it (value_changes.py). A new resource is shown whole, since all of it is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from runtimes.base import Address, Basis, FieldPath, TerraformId, format_path, starts_with
from runtimes.base.references import Ids, InvalidReference, references
from runtimes.base.unknown import is_unknown
from workbench.engine.changes import Actor, Change, ChangeClass, FieldChange, Gap, Op, Problem, StackDiff, Summary
from workbench.engine.events import Action
from workbench.engine.fields import MISSING, find, plain_steps
from workbench.engine.masking import Masked, Seal, masked, sensitive_paths
from workbench.engine.spec import Chain, Spec
from workbench.present import durations, reconcile, value_changes
from workbench.present.glyphs import Glyphs, action_sign
from workbench.present.rows import Column, Row, labels_of
from workbench.present.text import Line, Span, Tone, line
from workbench.present.text_changes import ChangedLine, cells, end_of
from workbench.present.yaml_lines import YamlLine, yaml_lines
from workbench.words import restarting

CHANGE_COLUMNS = (
    Column("Change", grow=True, has_tail=True),
    Column("Fields", width=6, right=True),
    Column("Note", most=16),
)
SOURCE_WIDTH = 28
_LEAST_FIELD = 12
_MOST_ALIKE: Final = 20
_SHOWN_ALIKE: Final = 10
T = TypeVar("T")
FIELD_COLUMNS = (Column("Field", grow=True), Column("Source", most=SOURCE_WIDTH))
LINE_WIDTH = 110
"""A field whose path and values are at most so long together stands in one line."""

_SEAL = Seal.random()

Roots = tuple[Path, ...]
"""Folders that sources are named from, the nearest first."""


def source_text(chain: Chain, *roots: Path) -> str:
    """Returns the decisive site as `prod/main.k:12`, relative to the first root it lies in; empty if unknown.

    Handing in the project's folder before the repository's keeps what is near short.
    """
    if not chain:
        return ""
    root = next((each for each in roots if chain[0].file.is_relative_to(each)), roots[-1])
    return chain[0].relative_to(root)


def summary_line(summary: Summary, glyphs: Glyphs, *, is_certain: bool = True) -> Line:
    """`+1 create  ~5 update  -1 delete  12 unchanged  2 drift  1 restarts pods`

    `is_certain` is False where something could not be found out: then nothing to change is not claimed.
    """
    parts: list[Span] = []
    for count, sign, word, tone in (
        (summary.create, "+", "create", Tone.ADDED),
        (summary.update, "~", "update", Tone.CHANGED),
        (summary.replace, "±", "replace", Tone.WARN),
        (summary.delete, "-", "delete", Tone.REMOVED),
        (summary.import_, "<", "import", Tone.ADDED),
        (summary.move, ">", "move", Tone.CHANGED),
        (summary.forget, "x", "forget", Tone.REMOVED),
    ):
        if count:
            parts.append(Span(f"{sign}{count} {word}  ", tone))
    if not parts and is_certain:
        parts.append(Span(f"{glyphs.good} nothing to change  ", Tone.GOOD))
    elif not parts:
        parts.append(Span(f"{glyphs.unknown} what would change is not known  ", Tone.WARN))
    parts.append(Span(f"{summary.unchanged} unchanged", Tone.MUTED))
    if summary.drift:
        parts.append(Span(f"  {summary.drift} drift", Tone.WARN))
    if summary.restarts:
        parts.append(Span(f"  {restarting(summary.restarts)}", Tone.WARN))
    if summary.defaulted:
        parts.append(Span(f"  {summary.defaulted} defaulted hidden", Tone.MUTED))
    return line(*parts)


def basis_lines(changes: Iterable[Change]) -> Iterator[Line]:
    """Yields one line where clusters were not queried for a dry run of every object: how the rest is known."""
    by_basis = Counter(each.basis for each in changes if each.basis is not None)
    if count := by_basis[Basis.OWNERSHIP]:
        asked = f", {by_basis[Basis.DRY_RUN]} by dry run" if by_basis[Basis.DRY_RUN] else ""
        yield line(Span(f"{count} unchanged by field ownership{asked} (--dry-run-all: all by dry run)", Tone.MUTED))


def drift_line(found: StackDiff, glyphs: Glyphs) -> Line:
    """`2 drift  1 deleted`, or that nobody changed anything: which takes that everything could be found out."""
    drifted = found.drift
    parts: list[Span] = []
    if fields := sum(len(each.fields) for each in drifted.changes):
        parts.append(Span(f"{fields} drift  ", Tone.WARN))
    if deleted := sum(each.was_deleted for each in drifted.changes):
        parts.append(Span(f"{deleted} deleted  ", Tone.WARN))
    if undecided := sum(1 for _ in found.undecided()):
        word = "resource" if undecided == 1 else "resources"
        why = f"{undecided} {word} may be new or deleted: no release of the stack is recorded here to tell"
        parts.append(Span(f"{glyphs.unknown} {why}", Tone.WARN))
    elif not found.is_certain:
        parts.append(Span(f"{glyphs.unknown} not everything could be queried", Tone.WARN))
    elif found.cautions:
        parts.append(Span(f"{glyphs.unknown} what exists is not known for sure", Tone.WARN))
    elif not parts:
        parts.append(Span(f"{glyphs.good} no drift", Tone.GOOD))
    return line(*parts)


def change_rows(
    changes: Iterable[Change], *, drift_only: bool = False, left_out: Collection[Address] = ()
) -> tuple[Row, ...]:
    """Returns a row for each resource that differs, keyed by its address; `left_out` are those no plan is to have."""
    return tuple(
        Row(
            change.address,
            _change_cells(change, is_left_out=change.address in left_out),
            labels=labels_of(change.after or change.before),
        )
        for change in changes
        if change.is_different and (change.has_drifted or not drift_only)
    )


def _change_cells(change: Change, *, is_left_out: bool = False) -> tuple[Line, ...]:
    count = len(change.fields) if change.action in (Action.UPDATE, Action.NONE) else 0
    return (
        line(action_sign(change.action), " ", reconcile.short_id(change.address, with_namespace=False)),
        line(Span(str(count) if count else "", Tone.MUTED)),
        line(Span("left out ", Tone.WARN), _notes(change)) if is_left_out else _notes(change),
    )


def _notes(change: Change) -> Line:
    notes: list[Span] = []
    if change.action is Action.DELETE:
        notes.append(Span("DELETE ", Tone.BAD))
    if change.action is Action.REPLACE:
        notes.append(Span("REPLACE ", Tone.BAD))
    if change.action in (Action.IMPORT, Action.MOVE, Action.FORGET):
        notes.append(Span(f"{change.action.value} ", Tone.WARN))
    if change.conflicts:
        notes.append(Span("CONFLICT ", Tone.BAD))
    if change.restarts:
        notes.append(Span("restart " if not change.conflicts else "", Tone.WARN))
    if change.was_deleted:
        notes.append(Span("deleted live " if change.identity is None else "made again ", Tone.WARN))
    if change.drift:
        notes.append(Span("drift", Tone.WARN))
    return line(*notes)


def problem_lines(problems: Iterable[Problem], glyphs: Glyphs) -> Iterator[Line]:
    """Yields a line for each, those with the same hint together and the hint once below them."""
    by_hint: dict[str, list[Problem]] = {}
    for each in sorted(problems, key=lambda each: (each.cluster, str(each.address or ""))):
        by_hint.setdefault(each.hint, []).append(each)
    for hint, alike in by_hint.items():
        shown, more = _few_alike(alike, lambda each: (each.cluster, each.message))
        for each in shown:
            where = f"{each.address}" if each.address else each.cluster
            yield line(Span(f"{glyphs.unknown} {where}: ", Tone.WARN), each.message)
        for (cluster, message), count in more.items():
            yield line(Span(f"{glyphs.unknown} {cluster}: {count} more: ", Tone.WARN), message)
        if hint:
            yield line(Span(f"  {glyphs.arrow} {hint}", Tone.MUTED))


def remark_lines(found: StackDiff, glyphs: Glyphs) -> Iterator[Line]:
    """Yields what a diff says beside its changes: what could not be found out, and what was left out on purpose."""
    yield from problem_lines(found.problems, glyphs)
    yield from gap_lines(found.gaps, glyphs)
    for text in (*found.warnings, *found.notes):
        yield line(Span(f"{glyphs.finding} {text}", Tone.WARN))


def gap_lines(gaps: Iterable[Gap], glyphs: Glyphs) -> Iterator[Line]:
    """Yields a line for each, and what to do about those of one kind once below them."""
    by_hint: dict[str, list[Gap]] = {}
    for each in gaps:
        by_hint.setdefault(each.hint, []).append(each)
    for hint, alike in by_hint.items():
        shown, more = _few_alike(alike, lambda each: (each.place, each.message))
        for each in shown:
            yield line(Span(f"{glyphs.unknown} {each}", Tone.WARN))
        for (place, message), count in more.items():
            yield line(Span(f"{glyphs.unknown} {f'{place}: ' if place else ''}{count} more: {message}", Tone.WARN))
        if hint:
            yield line(Span(f"  {glyphs.arrow} {hint}", Tone.MUTED))


def _few_alike(found: Sequence[T], said: Callable[[T], tuple[str, str]]) -> tuple[list[T], dict[tuple[str, str], int]]:
    """Returns what to list, and how many more say the same of the same place: of thousands the first are enough, and
    JSON has all."""
    counts = Counter(map(said, found))
    listed: Counter[tuple[str, str]] = Counter()
    shown: list[T] = []
    for each in found:
        key = said(each)
        listed[key] += 1
        if counts[key] <= _MOST_ALIKE or listed[key] <= _SHOWN_ALIKE:
            shown.append(each)
    return shown, {key: count - _SHOWN_ALIKE for key, count in counts.items() if count > _MOST_ALIKE}


def detail_rows(
    change: Change,
    spec: Spec,
    roots: Roots,
    glyphs: Glyphs,
    now: datetime,
    *,
    drift_only: bool = False,
    width: int = LINE_WIDTH,
) -> tuple[Row, ...]:
    """Returns the lines of one change as rows of FIELD_COLUMNS; the key is (path, number of the line).

    `width` is what both columns have together, in cells; what a field changes to is never cut there.
    """
    longest = max((len(glyphs.source) + 1 + len(source_text(each.source, *roots)) for each in change.fields), default=0)
    beside = max(_LEAST_FIELD, width - min(SOURCE_WIDTH, longest) - 1)
    return _rows(_lines(change, spec, roots, glyphs, now, drift_only, beside, width))


def _rows(details: Iterable[_Detail]) -> tuple[Row, ...]:
    return tuple(
        Row((path, number), (text, _short_source(source))) for number, (path, text, source) in enumerate(details)
    )


def _short_source(source: Line) -> Line:
    """A long one is cut at its beginning: the number of the line is at its end."""
    return Line(tuple(Span(end_of(each.text, SOURCE_WIDTH), each.tone) for each in source.spans))


def detail_text(
    change: Change, spec: Spec, roots: Roots, glyphs: Glyphs, now: datetime, *, drift_only: bool = False
) -> Iterator[Line]:
    """Yields the same as lines, the source at the end of each, for where there are no columns."""
    for _, text, source in _lines(change, spec, roots, glyphs, now, drift_only, LINE_WIDTH, LINE_WIDTH):
        yield line(text, "  ", source) if len(source) else text


def field_text(field: FieldChange, glyphs: Glyphs, now: datetime) -> Iterator[Line]:
    """Yields one field as lines, for where nothing stands beside it."""
    for _, text, _ in _field(field, (), glyphs, now, LINE_WIDTH, LINE_WIDTH):
        yield text


_Detail = tuple[object, Line, Line]


def _lines(
    change: Change, spec: Spec, roots: Roots, glyphs: Glyphs, now: datetime, drift_only: bool, beside: int, width: int
) -> Iterator[_Detail]:
    """`beside` is the room of a line that has a source beside it, `width` that of the others."""
    yield from _why(change, glyphs)
    match change.action:
        case Action.CREATE if drift_only:
            pass  # what it will be is the configuration's, not theirs who deleted it
        case Action.CREATE if (new := _new_body(change)) is not None:
            yield from _whole(change, new, "+", Tone.ADDED, spec, roots, glyphs)
        case Action.DELETE if change.before is not None:
            yield from _whole(change, change.before, "-", Tone.REMOVED, spec, roots, glyphs)
        case _:
            for field in change.fields:
                if not drift_only or field.class_ is ChangeClass.DRIFT:
                    yield from _field(field, roots, glyphs, now, beside, width)
    yield from _beside(change, glyphs)


def _why(change: Change, glyphs: Glyphs) -> Iterator[_Detail]:
    if change.because:
        yield (), line(Span(f"{glyphs.finding} {change.because}", Tone.WARN)), Line()


def _beside(change: Change, glyphs: Glyphs) -> Iterator[_Detail]:
    """Yields what is to be said of a change beside its fields."""
    for warning in change.warnings:
        yield (), line(Span(f"{glyphs.finding} {warning}", Tone.WARN)), Line()
    is_whole = change.action is Action.CREATE and _is_planned(change)
    if change.defaulted and not is_whole:
        word = "field is" if change.defaulted == 1 else "fields are"
        who = "provider" if isinstance(change.address.id, TerraformId) else "cluster"
        yield (), line(Span(f"{glyphs.gap} {change.defaulted} {word} filled in by the {who}", Tone.MUTED)), Line()


def _is_planned(change: Change) -> bool:
    return isinstance(change.address.id, TerraformId) and change.after is not None


def _new_body(change: Change) -> Mapping[str, Any] | None:
    """Returns what a new resource will be. Terraform plans all of it, also what only applying decides.

    What is configured comes first and in its order, then what the provider adds; null says nothing.
    """
    said = change.configured
    if not _is_planned(change) or change.after is None:
        return said
    planned = {key: value for key, value in change.after.items() if value is not None}
    first = [key for key in said or {} if key in planned]
    return {key: planned[key] for key in dict.fromkeys((*first, *sorted(planned)))}


def _whole(
    change: Change, body: Mapping[str, Any], sign: str, tone: Tone, spec: Spec, roots: Roots, glyphs: Glyphs
) -> Iterator[_Detail]:
    ids = {str(each.id): each.id for each in spec}
    shown = _masked_body(change, body, spec)
    for each in yaml_lines(shown):
        is_said = not change.resource or find(change.resource.attributes, each.path[:1]) is not MISSING
        # what the provider fills in is on no line
        chain = spec.chain(change.address.id, each.path) if each.is_leaf and sign == "+" and is_said else ()
        origin = _origin(shown, change, each.path, ids) if each.is_leaf and sign == "+" else Span("")
        yield each.path, line(Span(f"{sign} ", tone), each.text, origin), _source(chain, roots, glyphs)


def _masked_body(change: Change, body: Mapping[str, Any], spec: Spec) -> Any:
    sensitive = change.sensitive or sensitive_paths(change.address.id, body, spec.rules)
    return masked(body, sensitive, _SEAL.knowing(spec.secrets, spec.rules))


def around_rows(
    change: Change,
    spec: Spec,
    roots: Roots,
    glyphs: Glyphs,
    now: datetime,
    *,
    context: int | None,
    width: int = LINE_WIDTH,
) -> tuple[Row, ...]:
    """Returns what `detail_rows` does with what is configured around each field: `context` lines, None for all.

    What is not shown in between is a line that counts it. A resource that comes or goes is shown whole anyway.
    """
    body = change.configured
    if body is None or not change.fields or change.action in (Action.CREATE, Action.DELETE):
        return detail_rows(change, spec, roots, glyphs, now, width=width)
    beside = max(_LEAST_FIELD, width - SOURCE_WIDTH - 1)
    found: list[_Detail] = [*_why(change, glyphs)]
    for each in _folded([*_placed(change, body, _masked_body(change, body, spec))], context):
        match each:
            case FieldChange():
                found += _field(each, roots, glyphs, now, beside, width)
            case YamlLine():
                chain = spec.own_chain(change.address.id, each.path) if each.is_leaf else ()
                text = line("  ", *(Span(part.text, Tone.MUTED) for part in each.text.spans))
                found.append((each.path, text, _source(chain, roots, glyphs)))
            case int():
                found.append(((), line(Span(f"{glyphs.gap} {each} unchanged lines", Tone.MUTED)), Line()))
    found += _beside(change, glyphs)
    return _rows(found)


def _placed(change: Change, body: Mapping[str, Any], shown: Any) -> Iterator[FieldChange | YamlLine]:
    """Yields the lines of a body with each changed field in the place of its own, else behind what it would be in."""
    lines = list(yaml_lines(shown))
    replacing: dict[int, list[FieldChange]] = {}
    behind: dict[int, list[FieldChange]] = {}
    gone: set[int] = set()
    for field in change.fields:
        path = _configured_path(field.path, body)
        inside = [number for number, each in enumerate(lines) if starts_with(each.path, path)]
        if len(path) == len(field.path) and inside:
            replacing.setdefault(inside[0], []).append(field)
            gone.update(inside)
        else:
            behind.setdefault(inside[-1] if inside else len(lines) - 1, []).append(field)
    for number, each in enumerate(lines):
        yield from replacing.get(number, ())
        if number not in gone:
            yield each
        yield from behind.get(number, ())


def _configured_path(path: FieldPath, body: Mapping[str, Any]) -> FieldPath:
    """Returns a path as far as the body has it, in plain steps; a Secret's texts are applied as data."""
    if path[:1] == ("data",) and "data" not in body and "stringData" in body:
        path = ("stringData", *path[1:])
    steps = plain_steps(body, path)
    while steps and find(body, steps) is MISSING:
        steps = steps[:-1]
    return steps


def _folded(found: list[FieldChange | YamlLine], context: int | None) -> Iterator[FieldChange | YamlLine | int]:
    """Yields what is near a field, and a number in place of what is not; to hide one line would save none."""
    if context is None:
        yield from found
        return
    changed = [number for number, each in enumerate(found) if isinstance(each, FieldChange)]
    near = {number for at in changed for number in range(at - context, at + context + 1)}
    number = 0
    while number < len(found):
        end = number
        while end < len(found) and end not in near:
            end += 1
        if end - number > 1:
            yield end - number
            number = end
        else:
            yield found[number]
            number += 1


def _origin(shown: Any, change: Change, path: FieldPath, ids: Ids) -> Span:
    """Says of a value that is not known yet which resource gives it, where a reference tells."""
    written = find(change.resource.attributes, path) if change.resource else MISSING
    if not is_unknown(find(shown, path)):
        return Span("")
    with suppress(InvalidReference):
        found = dict.fromkeys(each.id for _, each in references(written, ids))
        givers = " and ".join(str(reconcile.short_id(Address("", each), with_namespace=False)) for each in found)
        return Span(f" from {givers}", Tone.MUTED) if givers else Span("")
    return Span("")


def _source(chain: Chain, roots: Roots, glyphs: Glyphs) -> Line:
    text = source_text(chain, *roots)
    return line(Span(f"{glyphs.source} {text}", Tone.SOURCE)) if text else Line()


def field_source(field: FieldChange, roots: Roots, glyphs: Glyphs) -> Line:
    return _source(field.source, roots, glyphs)


def field_sign(field: FieldChange) -> Span:
    sign, tone = _SIGNS[field.op]
    return Span(f"{sign} ", tone)


def _field(
    field: FieldChange, roots: Roots, glyphs: Glyphs, now: datetime, beside: int, width: int
) -> Iterator[_Detail]:
    sign, tone = _SIGNS[field.op]
    path = line(Span(f"{sign} ", tone), Span(end_of(format_path(field.path), beside - 3), Tone.KEY))
    source = _source(field.source, roots, glyphs)
    values = _values(field, glyphs)
    if values is not None and cells(str(path)) + sum(cells(each.text) for each in values) + 2 <= beside:
        yield field.path, line(path, ": ", *values), source
    else:
        yield field.path, line(path, ":"), source
        for each in field_lines(field, width - 4, glyphs):
            yield field.path, line("    ", _signed(each, glyphs)), Line()
    for note in field_notes(field, glyphs, now):
        yield field.path, line("    ", note), Line()


def field_lines(field: FieldChange, width: int, glyphs: Glyphs) -> Iterator[ChangedLine]:
    """Yields what differs in one field, in lines of at most `width` cells: as every face shows it."""
    match field.op:
        case Op.ADD:
            yield from value_changes.one_sided(field.after, "+", Tone.ADDED, width - 2)
        case Op.REMOVE:
            yield from value_changes.one_sided(field.before, "-", Tone.REMOVED, width - 2)
        case Op.KEPT:
            yield from value_changes.one_sided(field.before, "!", Tone.WARN, width - 2)
        case Op.CHANGE:
            yield from value_changes.changed_lines(field.before, field.after, width - 2, glyphs)


_SIGN_TONES = {"-": Tone.REMOVED, "+": Tone.ADDED, "~": Tone.CHANGED, "!": Tone.WARN}


def _signed(each: ChangedLine, glyphs: Glyphs) -> Line:
    sign = glyphs.gap if each.sign == "⋯" else each.sign
    return line(Span(f"{sign} ", _SIGN_TONES.get(each.sign, Tone.MUTED)), each.line)


_SIGNS = {
    Op.ADD: ("+", Tone.ADDED),
    Op.REMOVE: ("-", Tone.REMOVED),
    Op.CHANGE: ("~", Tone.CHANGED),
    Op.KEPT: ("!", Tone.WARN),
}


def _values(field: FieldChange, glyphs: Glyphs) -> tuple[Span, ...] | None:
    """Returns what stands behind the path where it can stand in one line."""
    if field.op is Op.CHANGE:
        both = value_changes.in_one_line(field.before, field.after)
        return None if both is None else (*both[0], Span(f" {glyphs.arrow} ", Tone.MUTED), *both[1])
    value, tone = {
        Op.ADD: (field.after, Tone.ADDED),
        Op.REMOVE: (field.before, Tone.REMOVED),
        Op.KEPT: (field.before, Tone.WARN),
    }[field.op]
    whole = value_changes.one_line(value)
    return None if whole is None else (Span(whole.text, tone),)


def field_notes(field: FieldChange, glyphs: Glyphs, now: datetime) -> Iterator[Span]:
    """Yields what has to be said of a field beside its values: whose it is, what became of it."""
    if field.is_conflict:
        yield Span(f"{glyphs.finding} owned by {_actor(field.actor, now)}: apply needs force to take it over", Tone.BAD)
    elif field.op is Op.KEPT:
        yield Span(f"{glyphs.finding} only live, set by {_actor(field.actor, now)}; apply leaves it", Tone.WARN)
    elif field.class_ is ChangeClass.DRIFT:
        yield Span(f"{glyphs.finding} drift: changed live by {_actor(field.actor, now)}", Tone.WARN)
    if field.recorded is not None and (recorded := value_changes.one_line(field.recorded)) is not None:
        yield Span(f"{glyphs.finding} the last apply left it as {recorded.text}", Tone.WARN)
    if field.replaces:
        yield Span(f"{glyphs.finding} cannot be changed in place", Tone.BAD)


def _actor(actor: Actor | None, now: datetime) -> str:
    if actor is None:
        return "somebody"
    age = actor.seconds_ago(now)
    return f"{actor.manager} {durations.short(age)} ago" if age is not None else actor.manager


__all__ = [
    "CHANGE_COLUMNS",
    "FIELD_COLUMNS",
    "Masked",
    "around_rows",
    "change_rows",
    "detail_rows",
    "detail_text",
    "drift_line",
    "field_text",
    "gap_lines",
    "problem_lines",
    "remark_lines",
    "source_text",
    "summary_line",
]
