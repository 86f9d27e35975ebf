"""Which point of the cube a stack is, by all that says so, and whether they agree.

In this order the first that says a dimension decides: `dimensions` of stack.yaml, a label of that name of the stack or
its project, the folder, the labels of the clusters it is placed on. Those after it may only say the same: a stack whose
folder says another site than its stack.yaml is read by people as one and compiled as the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kcl.records import dataclass
from workbench.project.clusters import Cluster
from workbench.project.dimensions import DIMENSIONS_FILE, Dimension, Dimensions, nearest
from workbench.project.errors import BrokenFile
from workbench.project.roots import CLUSTERS_FILE
from workbench.project.tree import Finding
from workbench.project.yaml_file import place_of


@dataclass(frozen=True, slots=True)
class Point:
    """`values` are in the declared order. `findings` name what contradicts them, and where both stand."""

    values: Mapping[str, str]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Said:
    """`place` finds the line, which costs reading the file again."""

    value: Any
    by: str
    place: Callable[[], str]


def coordinates(
    content: Mapping[str, Any],
    labels: Mapping[str, str],
    file: Path,
    declared: Dimensions,
    clusters: Sequence[Cluster] = (),
) -> Point:
    """Returns the value of each dimension that a stack lies at.

    `content` is what stack.yaml says, `labels` those of stack and project, `clusters` those it is placed on. A label of
    the project is what its stacks say that say nothing themselves. Raises `BrokenFile` with the nearest name.
    """
    if not declared:
        return Point({})
    said = content.get("dimensions")
    if said is not None and not isinstance(said, dict):
        raise BrokenFile("dimensions needs to be a mapping", where=place_of(file, "dimensions"))
    axes = {each.name: each for each in declared.axes}
    for name in said or {}:
        if name not in axes:
            known = f"known: {', '.join(axes)}" if axes else f"{DIMENSIONS_FILE} declares none with values"
            message = f"there is no dimension {name!r}{nearest(name, axes)}; {known}"
            raise BrokenFile(message, where=place_of(file, "dimensions", name))
    mine = content.get("labels")
    own_labels = {str(each) for each in mine} if isinstance(mine, dict) else set[str]()
    counting = {each: value for each, value in labels.items() if each in own_labels or each not in (said or {})}
    own = {name: tuple(_own(name, axis, said or {}, counting, file, declared)) for name, axis in axes.items()}
    placed = {name: tuple(_placed(name, clusters, declared.root)) for name in axes}
    found: dict[str, str] = {}
    for name, axis in axes.items():
        if (one := next(iter(own[name]), None) or _agreed(placed[name], clusters)) is not None:
            found[name] = _checked(name, one, axis)
    missing = [name for name, axis in axes.items() if name not in found and not axis.is_optional]
    if not any(own.values()) and missing:
        return Point({})  # where it runs alone puts no stack into the cube
    if found and missing:
        raise _incomplete(found, missing, placed, file)
    findings = [each for name in found for each in _contradictions(name, (*own[name], *placed[name]), declared.root)]
    return Point(found, tuple(findings))


def _own(
    name: str,
    axis: Dimension,
    said: Mapping[str, Any],
    labels: Mapping[str, str],
    file: Path,
    declared: Dimensions,
) -> Iterator[_Said]:
    if name in said:
        yield _Said(said[name], file.name, partial(place_of, file, "dimensions", name))
    if name in labels:
        yield _Said(labels[name], f"the label {name}", partial(place_of, file, "labels", name))
    in_folder = declared.in_folder(file.parent).get(name)
    # what is no value stands there by chance, where something else says which it is
    if in_folder is not None and (in_folder in axis.values or not (name in said or name in labels)):
        yield _Said(in_folder, "its folder", partial(str, file.parent))


def _placed(name: str, clusters: Sequence[Cluster], root: Path) -> Iterator[_Said]:
    for each in clusters:
        if name in each.labels:
            where = partial(place_of, root / CLUSTERS_FILE, "clusters", each.name, "labels", name)
            yield _Said(each.labels[name], f"its cluster {each.name}", where)


def _agreed(placed: Sequence[_Said], clusters: Sequence[Cluster]) -> _Said | None:
    """One that is on clusters of several values, or on one that says none, lies at none of them."""
    is_one = len({each.value for each in placed}) == 1 and len(placed) == len(clusters)
    return placed[0] if is_one else None


def _checked(name: str, said: _Said, axis: Dimension) -> str:
    if isinstance(said.value, str) and said.value in axis.values:
        return said.value
    message = f"{name} has no value {said.value!r}{nearest(said.value, axis.values)}"
    raise BrokenFile(message, where=said.place(), hint=f"{DIMENSIONS_FILE} declares the values")


def _incomplete(
    found: Mapping[str, str], missing: Sequence[str], placed: Mapping[str, Sequence[_Said]], file: Path
) -> BrokenFile:
    message = f"says {', '.join(found)}, and not which {', '.join(missing)}"
    for name in missing:
        if several := dict.fromkeys(str(each.value) for each in placed[name]):
            message += f"; {name} of its clusters: {', '.join(several)}"
            message += " and none" if len(several) == 1 else ""
    return BrokenFile(message, where=place_of(file, "dimensions"), hint="say it below dimensions in stack.yaml")


def _contradictions(name: str, said: Sequence[_Said], root: Path) -> Iterator[Finding]:
    first = said[0]
    for each in said[1:]:
        if each.value != first.value:
            where = each.place().removeprefix(f"{root}/")
            yield Finding(
                f"is at {name} {first.value} by {first.by}, and at {name} {each.value} by {each.by} ({where})",
                first.place(),
                "make them agree: the first counts until then",
            )


__all__ = ["Point", "coordinates"]
