"""Answers about the cube as rows, and as documents for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.engine.cells import Place
from workbench.engine.cube import Answer, Difference, State, Subject
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import Dimensions

if TYPE_CHECKING:
    from workbench.engine.cube_conflicts import Conflict  # which reads KCL

_LONGEST = 60
_MOST_PLACES = 3
_MOST_STACKS = 1


def columns(declared: Dimensions | None) -> tuple[Column, ...]:
    axes = (Column(each.name) for each in declared.axes) if declared is not None else ()
    return (Column("Stack"), *axes, Column("Value"), Column("From"), Column("Line"))


def rows(answers: Iterable[Answer], declared: Dimensions | None, root: Path) -> Iterator[Row]:
    axes = [each.name for each in declared.axes] if declared is not None else []
    for each in answers:
        point = [_toned(each.coordinates.get(name, ""), Tone.MUTED) for name in axes]
        yield Row(each.stack, (line(each.stack), *point, *_cells(each, declared, root)))


def _cells(answer: Answer, declared: Dimensions | None, root: Path) -> tuple[Line, Line, Line]:
    match answer.state:
        case State.MISSING:
            return line(Span("not set", Tone.MUTED)), line(), line()
        case State.FAILED:
            assert answer.failed is not None
            return (
                line(Span(f"? {answer.failed.message}", Tone.BAD)),
                line(),
                line(Span(answer.failed.where, Tone.SOURCE)),
            )
        case State.SET:
            origins = dict.fromkeys(origin(each, answer, declared) for each in answer.places)
            places = [place_text(each, root) for each in answer.places]
            more = [f"{len(places) - _MOST_PLACES} more"] if len(places) > _MOST_PLACES else []
            where = ", ".join([*places[:_MOST_PLACES], *more])
            return line(value_text(answer)), _toned(", ".join(origins), Tone.PLAIN), _toned(where, Tone.SOURCE)


@lru_cache(maxsize=1 << 12)
def _toned(text: str, tone: Tone) -> Line:
    """Thousands of stacks have few values of few dimensions."""
    return line(Span(text, tone))


def value_text(answer: Answer) -> str:
    if answer.state is State.MISSING:
        return "not set"
    value = answer.value
    text = value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def origin(place: Place, subject: Answer, declared: Dimensions | None) -> str:
    """What a file is of: a value of a dimension, the stack, its project, or what the repository shares."""
    file = place[0]
    if not file:
        return "?"
    baseline = declared.of_file(_path(file)) if declared is not None else None
    if baseline is not None:
        return str(baseline)
    if file.startswith(subject.folder + os.sep):
        return "stack"
    return "project" if file.startswith(subject.project + os.sep) else "shared"


_path = lru_cache(maxsize=1 << 12)(Path)
"""Thousands of stacks have their values from the same few files."""


def place_text(place: Place, root: Path) -> str:
    file, number = place
    top = f"{root}{os.sep}"
    return f"{file.removeprefix(top)}:{number}" if file else "no line is known"


def document(answers: Sequence[Answer], without: int, declared: Dimensions | None, root: Path) -> dict[str, Any]:
    is_known = all(each.state is not State.FAILED for each in answers)
    return {
        "apiVersion": "wb/v1",
        "kind": "ConfigurationValues",
        "status": "ok" if is_known else "unknown",
        "without": without,
        "values": [_entry(each, declared, root) for each in answers],
    }


def _entry(answer: Answer, declared: Dimensions | None, root: Path) -> dict[str, Any]:
    said: dict[str, Any] = {
        "stack": answer.stack,
        "coordinates": dict(answer.coordinates),
        "state": answer.state.value,
    }
    if answer.failed is not None:
        return {**said, "message": answer.failed.message, "where": answer.failed.where, "hint": answer.failed.hint}
    if answer.state is State.SET:
        said |= {"value": answer.value, "sources": _sources(answer, declared, root)}
    return said


def _sources(answer: Answer, declared: Dimensions | None, root: Path) -> list[dict[str, str]]:
    return [
        {"from": origin(each, answer, declared), "source": place_text(each, root)} for each in answer.places if each[0]
    ]


# --- two points

DIFF_COLUMNS = (Column("Value of"), Column("Stacks"), Column("Left"), Column("From"), Column("Right"), Column("From"))


def difference_rows(found: Iterable[Difference], declared: Dimensions | None, root: Path) -> Iterator[Row]:
    for number, each in enumerate(found):
        sides = (cell for side in (each.left, each.right) for cell in _side(side, declared, root))
        yield Row(number, (line(name(each)), line(Span(_pairs(each.pairs), Tone.MUTED)), *sides))


def name(difference: Difference) -> str:
    path = ".".join(difference.path).replace(".[", "[")
    return f"{difference.group}{' ' if '/' in difference.group else '.'}{path}" if path else difference.group


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    more = f" and {len(pairs) - _MOST_STACKS} more" if len(pairs) > _MOST_STACKS else ""
    return ", ".join(f"{one} : {other}" for one, other in pairs[:_MOST_STACKS]) + more


def _side(side: Answer, declared: Dimensions | None, root: Path) -> tuple[Line, Line]:
    if side.state is State.MISSING:
        return line(Span("not set", Tone.MUTED)), line()
    place = side.places[0]
    from_ = f"{origin(place, side, declared)}, {place_text(place, root)}"
    return line(value_text(side)), line(Span(from_, Tone.SOURCE))


def differences_document(
    found: Sequence[Difference], failed: int, declared: Dimensions | None, root: Path
) -> dict[str, Any]:
    return {
        "apiVersion": "wb/v1",
        "kind": "ConfigurationDifferences",
        "status": "unknown" if failed else "different" if found else "same",
        "differences": [
            {
                "value": name(each),
                "stacks": [{"left": one, "right": other} for one, other in each.pairs],
                "left": _entry_side(each.left, declared, root),
                "right": _entry_side(each.right, declared, root),
            }
            for each in found
        ],
    }


def _entry_side(side: Answer, declared: Dimensions | None, root: Path) -> dict[str, Any]:
    if side.state is State.MISSING:
        return {"state": side.state.value}
    return {"state": side.state.value, "value": side.value, "sources": _sources(side, declared, root)}


def alone_text(alone: Sequence[Subject]) -> str:
    names = ", ".join(each.name for each in alone[:_MOST_STACKS])
    more = f" and {len(alone) - _MOST_STACKS} more" if len(alone) > _MOST_STACKS else ""
    return f"{names}{more} have no counterpart at the other point"


# --- conflicts


def conflict_text(conflict: Conflict, root: Path) -> str:
    lower, higher = conflict.lower, conflict.higher
    path = ".".join(higher.path)
    return (
        f"{path} is set for {lower.baseline} at {place_text((str(lower.baseline.file), lower.line), root)} and for "
        f"{higher.baseline} at {place_text((str(higher.baseline.file), higher.line), root)}"
    )


def conflict_reason(conflict: Conflict) -> str:
    lower, higher = conflict.lower.baseline.dimension, conflict.higher.baseline.dimension
    count = len(conflict.stacks)
    stacks = f"in {count} stacks" if count != 1 else f"in {conflict.stacks[0]}"
    return f"{higher} wins over {lower} by the order of dimensions.yaml, {stacks}"


def conflicts_document(found: Sequence[Conflict], findings: Sequence[dict[str, Any]], root: Path) -> dict[str, Any]:
    return {
        "apiVersion": "wb/v1",
        "kind": "ConfigurationFindings",
        "status": "broken" if any(each["level"] == "error" for each in findings) else "ok",
        "conflicts": [
            {
                "path": ".".join(each.higher.path),
                "wins": str(each.higher.baseline),
                "over": str(each.lower.baseline),
                "source": place_text((str(each.higher.baseline.file), each.higher.line), root),
                "overridden": place_text((str(each.lower.baseline.file), each.lower.line), root),
                "why": conflict_reason(each),
                "stacks": list(each.stacks),
            }
            for each in found
        ],
        "findings": list(findings),
    }
