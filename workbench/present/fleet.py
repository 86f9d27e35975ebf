"""All stacks at one glance: a row for each with what is known of it and since when, and why those that fail do.

What was found out is shown as that of the moment it is from: younger than `FRESH_SECONDS` as it is, with its age
beside it, else as what it was. A stack that nobody looked at says so; it is counted apart, and never as one that is
well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kcl.records import dataclass
from runtimes.base import RuntimeFailure, format_path
from workbench.engine.compiled import CompileFailed
from workbench.engine.drift import Drifted
from workbench.engine.fleet import Drifting, Silence, StackLook, Standing, Sync, TakenOut, silences
from workbench.engine.release import Phase, Release
from workbench.present import documents, durations, reconcile
from workbench.present.glyphs import ASCII, Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import Stack, StackPath, WorkbenchError
from workbench.words import few

COLUMNS = (
    Column("Stack", grow=True, most=40, has_tail=True),
    Column("Health", most=22),
    Column("Sync", most=12),
    Column("Drift", most=11),
    Column("Release", most=24, rank=3),
    Column("Owner", most=16, rank=2),
    Column("Env", most=10, rank=1),
    Column("Seen", width=5, right=True),
)
NAMES = tuple(each.title.lower() for each in COLUMNS)
"""What the columns are called where somebody orders or groups by one."""
GROUPABLE = NAMES[:-1]
FRESH_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One stack of the list: `look` is None until there is one; `owner` is empty where nobody says."""

    stack: Stack
    owner: str = ""
    look: StackLook | None = None
    is_looking: bool = False

    @property
    def environment(self) -> str:
        return self.stack.placement.environment if self.stack.placement else ""

    @property
    def standing(self) -> Standing:
        return self.look.standing if self.look is not None else Standing.UNSEEN

    @property
    def sync(self) -> Sync:
        return self.look.sync if self.look is not None else Sync.UNSEEN

    @property
    def drifting(self) -> Drifting:
        return self.look.drifting if self.look is not None else Drifting.UNSEEN

    def is_old(self, now: datetime) -> bool:
        """Whether too much may have happened since the look; a clock that was set back counts as that."""
        return self.look is not None and not 0 <= (now - self.look.looked_at).total_seconds() < FRESH_SECONDS


_MOST_NAMED = 4
_STANDINGS: Mapping[Standing, tuple[str, str, Tone]] = {
    Standing.FAILED: ("bad", "Failed", Tone.BAD),
    Standing.UNKNOWN: ("unknown", "Unknown", Tone.WARN),
    Standing.WAITING: ("busy", "Not ready", Tone.BUSY),
    Standing.ABSENT: ("missing", "Not deployed", Tone.MUTED),
    Standing.EMPTY: ("unknown", "Empty", Tone.WARN),
    Standing.UNSEEN: ("gap", "Not looked at", Tone.MUTED),
    Standing.READY: ("good", "Ready", Tone.GOOD),
}
"""For each the sign (a field of `Glyphs`), the word and the tone."""


def rows(
    entries: Iterable[Entry],
    glyphs: Glyphs,
    now: datetime,
    *,
    order: str = "health",
    is_reversed: bool = False,
    group: str = "",
    only_trouble: bool = False,
) -> tuple[Row, ...]:
    """Returns a row for each stack, keyed by its path, and below each that is in trouble one that says why.

    `order` and `group` are of `NAMES`. Stacks that are alike in the column keep the order of their names. Groups come
    in the order of their own column, each below a row keyed by ("group", label).
    """
    every = sorted(entries, key=lambda each: each.stack.name)
    every.sort(key=lambda each: _ORDERS[order](each), reverse=is_reversed)
    shown = [(each, why_line(each, glyphs, now)) for each in every]
    if only_trouble:
        shown = [(each, why) for each, why in shown if why is not None]
    if not group:
        return tuple(row for each, why in shown for row in _stack_rows(each, why, glyphs, now, 0))
    found: list[Row] = []
    labels = dict.fromkeys(_label(group, each) for each, _ in sorted(shown, key=lambda pair: _ORDERS[group](pair[0])))
    for label in labels:
        members = [(each, why) for each, why in shown if _label(group, each) == label]
        counts = counts_line([each for each, _ in members], glyphs, now)
        found.append(Row(("group", label), (line(Span(f"{label}  ", Tone.STRONG), counts),), foldable=True))
        found += [row for each, why in members for row in _stack_rows(each, why, glyphs, now, 1)]
    return tuple(found)


def _label(group: str, each: Entry) -> str:
    release = each.look.release if each.look is not None else None
    match group:
        case "stack":
            return str(each.stack.path.project)
        case "health":
            return _STANDINGS[each.standing][1]
        case "sync":
            return each.sync.value
        case "drift":
            return "no drift" if each.drifting is Drifting.NONE else each.drifting.value
        case "release":
            return release.phase.value if release is not None else "no release known"
        case "owner":
            return each.owner or "no owner"
        case _:
            return each.environment or "no environment"


_ORDERS: Mapping[str, Callable[[Entry], Any]] = {
    "stack": lambda each: each.stack.name,
    "health": lambda each: (_badness(each), list(Sync).index(each.sync)),
    "sync": lambda each: list(Sync).index(each.sync),
    "drift": lambda each: list(Drifting).index(each.drifting),
    "release": lambda each: -_released(each),
    "owner": lambda each: (not each.owner, each.owner.lower()),
    "env": lambda each: (not each.environment, each.environment),
    "seen": lambda each: each.look.looked_at.timestamp() if each.look is not None else float("-inf"),
}
"""The worst, the newest release and the oldest look come first."""


def _badness(each: Entry) -> float:
    """The place of its health in the order of `Standing`; what is ready and not well comes before what nobody saw."""
    if each.standing is Standing.READY and each.look is not None and not each.look.is_well:
        return list(Standing).index(Standing.UNSEEN) - 0.5
    return list(Standing).index(each.standing)


def _released(each: Entry) -> float:
    release = each.look.release if each.look is not None else None
    return release.started.timestamp() if release is not None else float("-inf")


def _stack_rows(each: Entry, why: Line | None, glyphs: Glyphs, now: datetime, depth: int) -> Iterator[Row]:
    protected = each.stack.placement is not None and each.stack.placement.protected
    cells = (
        line(Span(each.stack.name, Tone.STRONG if protected else Tone.PLAIN)),
        _health(each, glyphs, now),
        _sync(each, glyphs),
        _drift(each, glyphs),
        _release(each, glyphs, now),
        line(Span(each.owner, Tone.MUTED)),
        line(Span(each.environment, Tone.BAD if protected else Tone.ENVIRONMENT)),
        _seen(each, glyphs, now),
    )
    labels = " ".join(f"{key}={value}" for key, value in each.stack.labels.items())
    words = f"{' '.join(str(cell) for cell in cells)} {' '.join(each.stack.clusters)} {labels} {why or ''}"
    shared: Any = {"search": words.lower(), "labels": (each.stack.labels,)}
    yield Row(each.stack.path, cells, depth=depth, foldable=why is not None, **shared)
    if why is not None:
        yield Row((each.stack.path, "why"), (why,), depth=depth + 1, **shared)


def _health(each: Entry, glyphs: Glyphs, now: datetime) -> Line:
    sign, word, tone = _STANDINGS[each.standing]
    if each.look is None:
        return line(Span(f"{glyphs.gap} {'looking' if each.is_looking else 'not looked at'}", Tone.MUTED))
    if each.is_old(now):
        age = durations.coarse((now - each.look.looked_at).total_seconds())
        return line(Span(f"{glyphs.unknown} {age} ago ", Tone.WARN), Span(word, Tone.MUTED))
    tree = each.look.tree
    is_part = tree is not None and each.standing in (Standing.FAILED, Standing.WAITING)
    count = f" {tree.ready}/{tree.total}" if tree is not None and is_part else ""
    said = len(tree.qualified) if tree is not None and each.standing is Standing.READY else 0
    but = Span(f" {glyphs.finding} {said}" if said else "", Tone.WARN)
    return line(Span(f"{getattr(glyphs, sign)} {word}", tone), Span(count, Tone.MUTED), but)


def _sync(each: Entry, glyphs: Glyphs) -> Line:
    match each.sync:
        case Sync.UNSEEN:
            return Line()
        case Sync.SAME:
            return line(Span("= same", Tone.MUTED))
        case Sync.BROKEN:
            return line(Span(f"{glyphs.finding} KCL error", Tone.BAD))
        case Sync.UNKNOWN:
            return line(Span(f"{glyphs.unknown} unknown", Tone.WARN))
        case Sync.DIFFERENT:
            found = each.look.drift.diff if each.look is not None else None
            count = found.summary.changes if found is not None else 0
            doubt = "" if found is None or found.is_certain else f"{glyphs.unknown} "
            return line(Span(doubt, Tone.WARN), Span(f"~ {count} to do" if count else "~ left over", Tone.CHANGED))


def _drift(each: Entry, glyphs: Glyphs) -> Line:
    match each.drifting:
        case Drifting.UNSEEN:
            return Line()
        case Drifting.NONE:
            return line(Span("none", Tone.MUTED))
        case Drifting.ABSENT:
            return Line()
        case Drifting.UNKNOWN:
            return line(Span(f"{glyphs.unknown} unknown", Tone.WARN))
        case Drifting.DRIFTED:
            look = each.look
            count = sum(1 for _ in look.drift.drifted()) if look is not None else 0
            doubt = "" if look is None or look.drift.is_certain else f"{glyphs.unknown} "
            return line(Span(f"{doubt}{glyphs.finding} {count} drift", Tone.WARN))


def _release(each: Entry, glyphs: Glyphs, now: datetime) -> Line:
    look = each.look
    if look is None:
        return Line()
    doubt = Span(f"{glyphs.unknown} " if look.doubt else "", Tone.WARN)
    if look.release is None:
        return line(doubt, Span("unknown" if look.doubt else "none", Tone.WARN if look.doubt else Tone.MUTED))
    tone = Tone.MUTED if look.release.phase is Phase.SUCCEEDED else Tone.BAD
    return line(doubt, Span(release_text(look.release, now), tone))


def release_text(release: Release, now: datetime) -> str:
    """`#41 2h ann`, with how it ended where that is not well."""
    ended = "" if release.phase is Phase.SUCCEEDED else f"{release.phase.value} "
    age = durations.coarse((now - (release.finished or release.started)).total_seconds())
    return f"#{release.revision} {ended}{age} {release.user}"


def _seen(each: Entry, glyphs: Glyphs, now: datetime) -> Line:
    if each.look is None:
        return Line()
    age = durations.coarse((now - each.look.looked_at).total_seconds())
    return line(Span(glyphs.gap if each.is_looking else age, Tone.WARN if each.is_old(now) else Tone.MUTED))


def why_line(each: Entry, glyphs: Glyphs, now: datetime) -> Line | None:
    """The one thing to look at first: what is wrong, else what is not known. None where neither is.

    What waits to be applied is no trouble; the difference is in its column.
    """
    look = each.look
    if each.stack.doubts or each.stack.findings:
        finding = (*each.stack.doubts, *each.stack.findings)[0]
        where = finding.where.removeprefix(f"{each.stack.root}/")
        return line(Span(f"{glyphs.finding} {finding.message}", Tone.BAD), Span(f"  {where}", Tone.SOURCE))
    if look is None:
        return None
    if look.sync is Sync.BROKEN and look.drift.failure is not None:
        return _broken(each, look.drift.failure, glyphs)
    if look.standing is Standing.FAILED and look.tree is not None:
        return reconcile.why_line(look.tree, glyphs, look.looked_at)
    if look.is_unfinished and look.release is not None:
        said = f"release {release_text(look.release, now)}"
        return line(Span(f"{glyphs.bad} {said}", Tone.BAD), f": wb release show {look.stack}")
    for failure in (look.drift.failure, look.blind):
        if failure is not None:
            return _failure(failure, glyphs)
    if look.standing in (Standing.UNKNOWN, Standing.WAITING) and look.tree is not None:
        return reconcile.why_line(look.tree, glyphs, look.looked_at)
    if look.drifting is Drifting.DRIFTED:
        return _drift_line(list(look.drift.drifted()), glyphs)
    if look.standing is Standing.EMPTY and look.drift.diff is not None and look.drift.diff.is_certain:
        return line(Span(f"{glyphs.finding} compiles to no resources: is a file or an entry of it missing?", Tone.WARN))
    return _doubt(look, glyphs)


def _broken(each: Entry, error: Exception, glyphs: Glyphs) -> Line:
    where = str(getattr(error, "where", "")).removeprefix(f"{each.stack.root}/")
    message = _message(error)
    if isinstance(error, CompileFailed) and error.diagnostics:
        message = error.diagnostics[0].message
    return line(Span(f"{glyphs.finding} {message}", Tone.BAD), Span(f"  {where}" if where else "", Tone.SOURCE))


def _failure(error: Exception, glyphs: Glyphs) -> Line:
    place = getattr(error, "target", "") if isinstance(error, RuntimeFailure) else ""
    return line(Span(f"{glyphs.unknown} ", Tone.WARN), f"{place}: " if place else "", _message(error))


def _message(error: Exception | None) -> str:
    return error.message if isinstance(error, WorkbenchError | RuntimeFailure) else type(error).__name__


def _drift_line(found: Sequence[Drifted], glyphs: Glyphs) -> Line:
    first = found[0]
    what = f" {format_path(first.field.path)}" if first.field is not None else " was deleted"
    by = f" by {first.field.actor.manager}" if first.field is not None and first.field.actor is not None else ""
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    drift = Span(f"{glyphs.finding} drift: ", Tone.WARN)
    return line(drift, reconcile.short_id(first.address), f"{what}{by}", Span(more, Tone.MUTED))


def _doubt(look: StackLook, glyphs: Glyphs) -> Line | None:
    """What a look that went well otherwise could not find out."""
    found = look.drift.diff
    said: list[str] = []
    if found is not None:
        said += [f"{each.cluster}: {each.message}" for each in found.problems]
        said += [*(str(each) for each in found.gaps), *found.cautions]
    if not said and look.doubt:
        said = [f"its releases: {look.doubt}"]
    if not said and found is not None and look.standing is not Standing.ABSENT and any(True for _ in found.undecided()):
        said = ["some of its resources may be new or deleted: no release of it is recorded that could tell"]
    return line(Span(f"{glyphs.unknown} {said[0]}", Tone.WARN)) if said else None


def counts_line(entries: Sequence[Entry], glyphs: Glyphs, now: datetime) -> Line:
    """`12 stacks: ✗ 2 failed  ? 1 unknown  ✓ 8 ready  ⋯ 1 not looked at   ~ 3 to apply  ! 1 drifted`"""
    count = len(entries)
    parts = [Span(f"{count} {'stack' if count == 1 else 'stacks'}: ")]
    standings = Counter(each.standing for each in entries if not each.is_old(now))
    for standing in Standing:
        if standings[standing]:
            sign, word, tone = _STANDINGS[standing]
            parts.append(Span(f"{getattr(glyphs, sign)} {standings[standing]} {word.lower()}  ", tone))
    if old := sum(each.is_old(now) for each in entries):
        parts.append(Span(f"{glyphs.unknown} {old} not seen lately  ", Tone.WARN))
    for count, said, tone in (
        (sum(each.sync is Sync.BROKEN for each in entries), f"{glyphs.finding} %d with KCL errors  ", Tone.BAD),
        (sum(each.sync is Sync.DIFFERENT for each in entries), "~ %d to apply  ", Tone.CHANGED),
        (sum(each.drifting is Drifting.DRIFTED for each in entries), f"{glyphs.finding} %d drifted  ", Tone.WARN),
    ):
        if count:
            parts.append(Span(said % count, tone))
    return line(*parts)


def silence_lines(entries: Iterable[Entry], glyphs: Glyphs, now: datetime, most: int | None = None) -> Iterator[Line]:
    """Yields a line for each place that did not answer, with the stacks that nothing is known of for it.

    Of more than `most` it names the others in one line: a screen has not room for all, and none is dropped unsaid.
    """
    entries = tuple(entries)
    found = tuple(silences(look for entry in entries if (look := entry.look) is not None))
    shown = found if most is None or len(found) <= most else found[: most - 1]
    for each in shown:
        unseen = sum(entry.look is None and each.place in entry.stack.clusters for entry in entries)
        yield _silence_line(each, unseen, glyphs, now)
    if more := found[len(shown) :]:
        names = few([each.place for each in more], _MOST_NAMED)
        yield line(Span(f"{glyphs.unknown} {len(more)} more are silent", Tone.WARN), f": {names}")


def _silence_line(each: Silence, unseen: int, glyphs: Glyphs, now: datetime) -> Line:
    age = durations.short((now - each.asked_at).total_seconds())
    count = len(each.stacks) + unseen
    whose = f"{count} {'stack goes' if count == 1 else 'stacks go'} there"
    return line(
        Span(f"{glyphs.unknown} {each.place} is silent", Tone.WARN), f": {each.message}, queried {age} ago; {whose}"
    )


def taken_out_lines(found: TakenOut | None, glyphs: Glyphs, most: int | None = None) -> Iterator[Line]:
    """Yields a line for each stack that is gone from the repository and left something, and for what is not known.

    Of more than `most` it says how many more there are: a screen has not room for all, and none is dropped unsaid.
    """
    said = found.said if found is not None else ()
    shown = said if most is None or len(said) <= most else said[: most - 1]
    for each in shown:
        yield line(Span(f"{glyphs.finding} {each}", Tone.WARN))
    if more := len(said) - len(shown):
        yield line(Span(f"{glyphs.finding} {more} more like this: `wb fleet` names all", Tone.WARN))


def taken_out(found: TakenOut) -> dict[str, Any]:
    left = [{"stack": stack, "message": said} for stack, said in found.left.items()]
    return {"left": left, "unknown": list(found.unknown)}


def document(entries: Sequence[Entry], at: datetime, gone: TakenOut | None = None) -> dict[str, Any]:
    """Stacks that the repository has no more are in `takenOut`, where it was asked, and change no `status`.

    `status` is `unknown` where something could not be told, `trouble` where something is not as it should be, `ok`
    where everything is well."""
    looks = [each.look for each in entries]
    status = "ok"
    if any(look is not None and not look.is_well for look in looks):
        status = "trouble"
    if any(look is None or not look.is_certain for look in looks):
        status = "unknown"
    return {
        "apiVersion": "wb/v1",
        "kind": "Fleet",
        "status": status,
        "at": _time(at),
        "stacks": [_entry(each, at) for each in entries],
        "silent": [
            {"place": each.place, "message": each.message, "stacks": [str(path) for path in each.stacks]}
            for each in silences(look for look in looks if look is not None)
        ],
        **({"takenOut": taken_out(gone)} if gone is not None else {}),
    }


def _entry(each: Entry, at: datetime) -> dict[str, Any]:
    look = each.look
    why = why_line(each, ASCII, at)
    placement = each.stack.placement
    found = look.drift.diff if look is not None else None
    return {
        "stack": each.stack.name,
        "environment": each.environment,
        "protected": placement.protected if placement else False,
        "owner": each.owner,
        "clusters": list(each.stack.clusters),
        "lookedAt": _time(look.looked_at) if look is not None else None,
        "health": each.standing.value,
        "healthOfLastRelease": look.is_of_release if look is not None else False,
        "ready": look.tree.ready if look is not None and look.tree is not None else None,
        "total": look.tree.total if look is not None and look.tree is not None else None,
        "sync": each.sync.value,
        "changes": found.summary.changes if found is not None else None,
        "drift": each.drifting.value,
        "drifted": sum(1 for _ in look.drift.drifted()) if look is not None else None,
        "release": None if look is None or look.release is None else _released_document(look.release),
        "releaseDoubt": look.doubt if look is not None else "",
        "problems": documents.problems(found) if found is not None else [],
        "why": str(why) if why is not None else "",
    }


def _released_document(release: Release) -> dict[str, Any]:
    return {
        "revision": release.revision,
        "phase": release.phase.value,
        "user": release.user,
        "startedAt": _time(release.started),
        "finishedAt": _time(release.finished) if release.finished else None,
    }


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def is_group(row: Row) -> bool:
    return isinstance(row.key, tuple) and row.key[0] == "group"


def reason_of(row: Row) -> tuple[StackPath, Line] | None:
    """Returns whose trouble a row of `rows` tells, and what it says; None for any other row."""
    match row.key:
        case (StackPath() as path, "why"):
            return path, row.cells[0]
    return None


def path_of(key: object) -> StackPath | None:
    """Returns the stack that a row of `rows` is about, None for a group."""
    match key:
        case StackPath() as path:
            return path
        case (StackPath() as path, _):
            return path
    return None
