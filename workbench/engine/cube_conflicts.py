"""Where only the order of dimensions decides: baselines of two dimensions that write different values for one field.

Read from what is written, without evaluating anything: an expression counts by its text, and what stands below an `if`
of a configuration, or comes out of a comprehension, is not seen. What a project or a stack says itself wins over all of
them, on purpose, and is no conflict. Values are never told: they may be secret where they go to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from kcl.records import dataclass
from kcl.tools.query.reading import Unreadable, source
from kcl.tools.query.variables import Variable, variables
from workbench.engine.cube import Subject
from workbench.project import Baseline, Dimensions, Finding

Steps = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a baseline writes for a field. `replaces`: what is below the field is gone with it."""

    baseline: Baseline
    path: Steps
    text: str
    line: int
    replaces: bool
    adds: bool


@dataclass(frozen=True, slots=True)
class Conflict:
    """`higher` wins over `lower` in these stacks, for no other reason than the declared order."""

    lower: Setting
    higher: Setting
    stacks: tuple[str, ...]


def conflicts(declared: Dimensions, subjects: Iterable[Subject]) -> tuple[tuple[Conflict, ...], tuple[Finding, ...]]:
    """Returns the conflicts in the stacks that there are, and the baselines that can't be read."""
    points: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for each in subjects:
        points.setdefault(tuple(each.coordinates.items()), []).append(each.name)
    read: dict[Path, tuple[Setting, ...]] = {}
    findings: dict[Path, Finding] = {}
    found: dict[tuple[Setting, Setting], list[str]] = {}
    for point, stacks in points.items():
        before: list[Setting] = []
        for baseline in declared.baselines(dict(point)):
            if baseline.file not in read:
                read[baseline.file] = _settings(baseline, findings)
            for setting in read[baseline.file]:
                lower = next((each for each in reversed(before) if _meets(each, setting)), None)
                if lower is not None and _is_decided_by_order(lower, setting):
                    found.setdefault((lower, setting), []).extend(stacks)
            before += read[baseline.file]
    every = (Conflict(lower, higher, tuple(stacks)) for (lower, higher), stacks in found.items())
    return tuple(sorted(every, key=_order)), tuple(findings.values())


def _order(conflict: Conflict) -> tuple[Steps, str, int, str, int]:
    lower, higher = conflict.lower, conflict.higher
    return higher.path, str(higher.baseline.file), higher.line, str(lower.baseline.file), lower.line


def _meets(lower: Setting, higher: Setting) -> bool:
    """Whether the higher one takes the place of what the lower one writes."""
    return lower.path == higher.path or (higher.replaces and lower.path[: len(higher.path)] == higher.path)


def _is_decided_by_order(lower: Setting, higher: Setting) -> bool:
    if lower.baseline.dimension == higher.baseline.dimension or lower.adds or higher.adds:
        return False
    return lower.path != higher.path or lower.text != higher.text


def _settings(baseline: Baseline, findings: dict[Path, Finding]) -> tuple[Setting, ...]:
    try:
        written = variables([source(baseline.file.name, str(baseline.file.parent))])
    except Unreadable as error:
        findings[baseline.file] = Finding(f"the baseline of {baseline} can't be read: {error}", str(baseline.file))
        return ()
    every = ((tuple(name.split(".")), one) for name, several in written.items() for one in several)
    return tuple(each for path, one in every for each in _leaves(baseline, one, path))


def _leaves(baseline: Baseline, variable: Variable, path: Steps) -> Iterator[Setting]:
    if variable.entries and (variable.operator == ":" or len(path) == 1):
        for name, each in variable.entries:
            yield from _leaves(baseline, each, (*path, name))
        return
    text = " ".join(variable.text.split())
    yield Setting(baseline, path, text, variable.line, variable.operator == "=", variable.operator == "+=")
