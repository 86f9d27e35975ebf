"""What is given to a compilation, and sets otherwise what a baseline says for good: `-D`, `-Y`, edits of a what-if.

Files that override what is `final` are findings of `wb config check`, which reads them. Of an argument no file tells:
the stack is evaluated without what is given and with it, and refused where a final value is another one. The baseline
itself may be edited, as whoever owns it would; and an option that has no default overrides nothing, as long as it is
the baseline that asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path

from kcl.records import dataclass
from workbench.engine.cells import Configured, Place
from workbench.engine.compiled import CompileInputs
from workbench.engine.cube_finals import Final, finals_of
from workbench.engine.errors import EngineError
from workbench.project import Stack
from workbench.project.dimensions import read_dimensions

Evaluate = Callable[[CompileInputs], Configured]
"""Evaluates the stack. Secrets have to be told apart."""


@dataclass(frozen=True, slots=True)
class Overridden:
    """A final value that is another with what was given. `at` is the file and line that decides it then."""

    final: Final
    at: Place


class FinalOverridden(EngineError):
    """What was given to a compilation would set otherwise what a baseline says for good. Nothing was written."""


def refuse_overridden(stack: Stack, root: Path, inputs: CompileInputs, today: date, evaluate: Evaluate) -> None:
    """Raises `FinalOverridden`; and `ProjectError` where it can't be read what is final.

    Without inputs, or in a stack without anything final, nothing is evaluated.
    """
    if not (inputs.options or inputs.settings or inputs.overlay):
        return
    declared = read_dimensions(root)
    if not any(each.finals for each in declared):
        return
    finals = finals_of(declared, stack.coordinates)
    if not finals:
        return
    after = evaluate(inputs)
    if after.failed is not None:
        return  # compiling says why
    waived = [each for each in declared.waivers if not each.has_expired(today)]
    found = [
        each
        for each in _overridden(finals, evaluate(CompileInputs()), after, inputs)
        if not any(waiver.is_for(each.final.path, stack.name) for waiver in waived)
    ]
    if found:
        raise _refusal(found, stack, root, inputs)


def _overridden(
    finals: Iterable[Final], before: Configured, after: Configured, inputs: CompileInputs
) -> Iterator[Overridden]:
    was, now = _Values(before), _Values(after)
    for final in finals:
        at = now.place(final.path)
        is_edited = final.file in inputs.overlay
        is_by_baseline = at[0] == str(final.file)
        if (is_edited or before.failed is not None) and is_by_baseline:
            continue
        if before.failed is not None or now.below(final.path) != was.below(final.path):
            yield Overridden(final, at)


class _Values:
    """The values of one evaluation by their paths."""

    def __init__(self, configured: Configured) -> None:
        self._cells = {(group, *steps): (value, places) for group, steps, value, places in configured.cells}

    def below(self, path: tuple[str, ...]) -> dict[tuple[str, ...], object]:
        return {way: value for way, (value, _) in self._cells.items() if _meets(way, path)}

    def place(self, path: tuple[str, ...]) -> Place:
        """What decides the value, or the first of those below it; an empty file where there is none any more."""
        found = (places.get(()) for way, (_, places) in sorted(self._cells.items()) if _meets(way, path))
        return next((each for each in found if each is not None), ("", 0))


def _meets(way: tuple[str, ...], path: tuple[str, ...]) -> bool:
    shorter = min(len(way), len(path))
    return way[:shorter] == path[:shorter]


def _refusal(found: list[Overridden], stack: Stack, root: Path, inputs: CompileInputs) -> FinalOverridden:
    given = [f"-D {name}" for name in sorted(inputs.options)] + [f"-Y {name}" for name in inputs.settings]
    given += ["edits that are not saved"] if inputs.overlay else []
    first = found[0]
    more = f", and {len(found) - 1} more that are final" if len(found) > 1 else ""
    message = f"{'.'.join(first.final.path)} is final for {first.final.baseline} at "
    message += (
        f"{_short(str(first.final.file), first.final.line, root)}{more}, and {', '.join(given)} would set it otherwise"
    )
    file, line = first.at
    where = _short(file, line, root) if file and Path(file) != first.final.file else stack.name
    return FinalOverridden(message, where=where, hint="leave that out, or have it waived in dimensions.yaml")


def _short(file: str, line: int, root: Path) -> str:
    return f"{file.removeprefix(f'{root}/')}:{line}"


__all__ = ["FinalOverridden", "Overridden", "refuse_overridden"]
