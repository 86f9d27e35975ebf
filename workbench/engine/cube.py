"""Questions about the configuration of many stacks at once: a value over the cube, and what tells two points apart."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from kcl.records import dataclass
from runtimes.base import FieldPath, ListKey
from workbench.engine.cells import NOWHERE, Cell, Failed, NoSuchValue, Place, Places
from workbench.engine.errors import EngineError
from workbench.project import Dimensions
from workbench.words import few

Group = Mapping[tuple[str, ...], Mapping[int, tuple[Any, Places]]]
"""Cells of a variable or resource, by path and number of the stack."""
Found = tuple[Any, Places]
"""A value, masked, and what decides it."""
_NEVER: Final = object()
_NEVER_ENTERED: Final = frozenset({".git", ".venv", "node_modules", "__pycache__", "vendor", ".kclvm", ".tox"})
_MARKS: Final = ("project.yaml", "stack.yaml", "kcl.mod", "kcl.yaml")


class State(StrEnum):
    """`MISSING`: the stack has no such value. `FAILED`: nobody knows, since it does not compile."""

    SET = "set"
    MISSING = "missing"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """One stack's. `value` is masked plain data; `places` decide it: those of all its fields, if it has some.

    `failed` says why nothing is known.
    """

    stack: str
    folder: str
    project: str
    coordinates: Mapping[str, str]
    state: State
    value: Any = None
    places: tuple[Place, ...] = ()
    failed: Failed | None = None


@dataclass(frozen=True, slots=True)
class CubeQuery:
    """A value: `group` is a variable or a resource, `path` leads below it."""

    group: str
    path: FieldPath


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that tells two points apart, in so many pairs of stacks; MISSING in one of them has no place."""

    pairs: tuple[tuple[str, str], ...]
    group: str
    path: tuple[str, ...]
    left: Answer
    right: Answer


@dataclass(frozen=True, slots=True)
class Subject:
    """A stack that a question is about."""

    name: str
    folder: str
    project: str
    coordinates: Mapping[str, str]


Point = Mapping[str, tuple[str, ...]]
"""The values of dimensions that are meant, all of those that are not named."""


def parse_point(text: str, declared: Dimensions | None, stacks: Iterable[str] = ()) -> Point:
    """Reads `tenant=a,env=prod`; a dimension may be named by how it begins, and `a|b` means either.

    Raises `EngineError` with the nearest name for what is not declared.
    """
    if declared is None or not declared.axes:
        raise EngineError(
            "this repository declares no dimensions with values",
            hint="dimensions.yaml at its root declares them; see docs/dimensions.md",
        )
    axes = {each.name: each for each in declared.axes}
    found: dict[str, tuple[str, ...]] = {}
    for part in text.split(","):
        name, equals, said = (each.strip() for each in part.partition("="))
        if not equals:
            raise EngineError(f"{part.strip()!r} is not of the form DIMENSION=VALUE", hint=f"known: {', '.join(axes)}")
        axis = axes.get(name) or _only([each for each in axes.values() if each.name.startswith(name)] if name else [])
        if axis is None:
            raise EngineError(f"there is no dimension {name!r}{_nearest(name, axes)}", hint=f"known: {', '.join(axes)}")
        if axis.name in found:
            raise EngineError(f"{axis.name} is named twice", hint=f"{axis.name}=a|b means either")
        values = tuple(each.strip() for each in said.split("|"))
        for value in values:
            if value not in axis.values:
                message = f"{axis.name} has no value {value!r}{_nearest(value, axis.values)}"
                raise EngineError(message, hint=f"known: {few(list(axis.values), 20)}")
        found[axis.name] = values
    return found


def _only(found: Sequence[Any]) -> Any:
    return found[0] if len(found) == 1 else None


def _nearest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1, cutoff=0.4)
    return f", did you mean {near[0]}?" if near else ""


def lies_at(coordinates: Mapping[str, str], point: Point) -> bool:
    return all(coordinates.get(name) in values for name, values in point.items())


def tree_paths(root: Path) -> frozenset[str] | None:
    """Returns the folders and files that say which stacks there are; None where a folder can't be looked into."""
    failed: list[OSError] = []
    found: set[str] = set()
    for folder, folders, files in os.walk(root, onerror=failed.append):
        folders[:] = [each for each in folders if each not in _NEVER_ENTERED]
        found.add(folder)
        is_top = folder == str(root)
        found.update(f"{folder}/{each}" for each in files if each in _MARKS or (is_top and each.endswith(".yaml")))
    return None if failed else frozenset(found)


# --- one value over the cube


def answers(
    asked: CubeQuery,
    subjects: Mapping[int, Subject],
    failed: Sequence[tuple[Subject, Failed]],
    group: Group,
    names: Callable[[], Iterable[str]],
) -> tuple[Answer, ...]:
    """Returns the value of each stack that has such a variable or resource, and of those of which nothing is known.

    Raises `NoSuchValue` where none has the value and all are known.
    """
    having = set().union(*group.values())
    found = [_answer(number, each, asked.path, group) for number, each in subjects.items() if number in having]
    found += [_unknown(each, why) for each, why in failed]
    if not failed and not any(each.state is State.SET for each in found):
        raise _none(asked, group, names)
    return tuple(sorted(found, key=lambda each: each.stack))


def _unknown(subject: Subject, why: Failed) -> Answer:
    return Answer(subject.name, subject.folder, subject.project, subject.coordinates, State.FAILED, failed=why)


def _answer(number: int, subject: Subject, path: FieldPath, group: Group) -> Answer:
    value, places = _value(number, path, group)
    state = State.MISSING if value is _NEVER else State.SET
    return Answer(
        subject.name,
        subject.folder,
        subject.project,
        subject.coordinates,
        state,
        None if value is _NEVER else value,
        places,
    )


def _value(number: int, path: FieldPath, group: Group) -> tuple[Any, tuple[Place, ...]]:
    """The value of a stack at a path: a cell, what is inside of one, or all cells below."""
    names = _leading_names(path)
    for length in range(len(names), -1, -1):
        cell = group.get(names[:length], {}).get(number)
        if cell is not None:
            return _inside(cell[0], cell[1], path[length:])
    if len(names) < len(path):
        return _NEVER, ()
    below = [
        (each, column[number]) for each, column in group.items() if each[: len(names)] == names and number in column
    ]
    if not below:
        return _NEVER, ()
    whole: dict[str, Any] = {}
    for each, (value, _) in below:
        at = whole
        for step in each[len(names) : -1]:
            at = at.setdefault(step, {})
        at[each[-1]] = value
    return whole, tuple(dict.fromkeys(places[()] for _, (_, places) in below))


def _leading_names(path: FieldPath) -> tuple[str, ...]:
    names: list[str] = []
    for step in path:
        if not isinstance(step, str):
            break
        names.append(step)
    return tuple(names)


def _inside(value: Any, places: Places, path: FieldPath) -> tuple[Any, tuple[Place, ...]]:
    way: list[str | int] = []
    for step in path:
        key = _key(value, step)
        if key is None:
            return _NEVER, ()
        way.append(key)
        value = value[key]
    place = places.get(tuple(way)) or places.get((), NOWHERE)
    return value, (place,)


def _key(value: Any, step: str | int | ListKey) -> str | int | None:
    match step:
        case str():
            return step if isinstance(value, dict) and step in value else None
        case int():
            return step % len(value) if isinstance(value, list) and -len(value) <= step < len(value) else None
        case ListKey():
            every = enumerate(value) if isinstance(value, list) else ()
            return next((number for number, each in every if step.matches(each)), None)


def _none(asked: CubeQuery, group: Group, names: Callable[[], Iterable[str]]) -> NoSuchValue:
    wanted = ".".join(_leading_names(asked.path))
    if not group:
        known = list(names())
        near = get_close_matches(asked.group, known, n=3, cutoff=0.4)
        return NoSuchValue(
            f"no stack has a variable or resource {asked.group!r}",
            hint=f"did you mean {' or '.join(near)}?" if near else f"there are {few(sorted(known), 20)}",
        )
    known = sorted({".".join(path[:length]) for path in group for length in range(1, len(path) + 1)})
    near = get_close_matches(wanted, known, n=3, cutoff=0.4)
    return NoSuchValue(
        f"no stack has {wanted or 'such a value'!r} in {asked.group}",
        hint=f"did you mean {' or '.join(near)}?" if near else f"there are {few(known, 20)}",
    )


# --- two points


def pairs(
    subjects: Sequence[Subject], left: Point, right: Point
) -> tuple[list[tuple[Subject, Subject]], list[Subject]]:
    """Pairs stacks of a project that differ in nothing but the dimensions that the points name; and those without."""
    named = left.keys() | right.keys()

    def rest(each: Subject) -> tuple[object, ...]:
        return each.project, tuple(sorted((k, v) for k, v in each.coordinates.items() if k not in named))

    lefts = _by(rest, [each for each in subjects if lies_at(each.coordinates, left)])
    rights = _by(rest, [each for each in subjects if lies_at(each.coordinates, right)])
    found = [(one, other) for key in lefts.keys() & rights.keys() for one in lefts[key] for other in rights[key]]
    sides = ((lefts, rights), (rights, lefts))
    alone = [each for side, others in sides for key in side.keys() - others.keys() for each in side[key]]
    return sorted(found, key=lambda pair: (pair[0].name, pair[1].name)), sorted(alone, key=lambda each: each.name)


def _by(key: Callable[[Subject], object], every: Iterable[Subject]) -> dict[object, list[Subject]]:
    found: dict[object, list[Subject]] = {}
    for each in every:
        found.setdefault(key(each), []).append(each)
    return found


def differences(
    paired: Iterable[tuple[Subject, Subject]], cells: Mapping[str, Sequence[Cell]]
) -> tuple[Difference, ...]:
    """Returns the values that tell stacks apart, those that do so in the same way as one."""
    found: dict[object, tuple[list[tuple[str, str]], Difference]] = {}
    for one, other in paired:
        for each in _between(one, other, cells[one.name], cells[other.name]):
            values = repr(each.left.value), repr(each.right.value)
            same = (each.group, each.path, values, each.left.places, each.right.places)
            found.setdefault(same, ([], each))[0].append((one.name, other.name))
    return tuple(
        Difference(tuple(names), each.group, each.path, each.left, each.right) for names, each in found.values()
    )


def _between(one: Subject, other: Subject, left: Sequence[Cell], right: Sequence[Cell]) -> Iterator[Difference]:
    lefts = {(group, path): (value, places) for group, path, value, places in left}
    rights = {(group, path): (value, places) for group, path, value, places in right}
    for key in dict.fromkeys((*lefts, *rights)):
        for steps, mine, theirs in _apart(lefts.get(key), rights.get(key)):
            yield Difference((), key[0], (*key[1], *steps), _side(one, mine), _side(other, theirs))


def _apart(
    mine: Found | None, theirs: Found | None, way: tuple[str | int, ...] = (), shown: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Found | None, Found | None]]:
    """Takes lists of the same length apart, and what is in them: what tells them apart may be one word of it."""
    if mine is not None and theirs is not None:
        if _is_same(mine[0], theirs[0]):
            return
        keys = _common_keys(mine[0], theirs[0])
        for key in keys:
            below, name = (*way, key), str(key) if isinstance(key, str) else f"[{key}]"
            left, right = ((value[key], _from(places, below)) for value, places in (mine, theirs))
            yield from _apart(left, right, below, (*shown, name))
        if keys:
            return
    yield shown, mine, theirs


def _common_keys(one: Any, other: Any) -> Sequence[str | int]:
    """What both have, where they have the same; nothing for values that are told apart as a whole."""
    match one, other:
        case list(), list() if len(one) == len(other):
            return range(len(one))
        case dict(), dict() if one.keys() == other.keys():
            return tuple(one)
        case _:
            return ()


def _from(places: Places, way: tuple[str | int, ...]) -> Places:
    """The same places, with that of a way as the one of the whole."""
    return {**places, (): places.get(way) or places.get((), NOWHERE)}


def _is_same(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)  # True is not 1, nor 1.0


def _side(subject: Subject, found: tuple[Any, Places] | None) -> Answer:
    state = State.MISSING if found is None else State.SET
    value, places = (None, ()) if found is None else (found[0], (found[1][()],))
    return Answer(subject.name, subject.folder, subject.project, subject.coordinates, state, value, places)
