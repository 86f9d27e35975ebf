"""Baselines that have the last word: what a dimension declares `final`, and files that set it otherwise all the same.

Read from what is written, as conflicts are, in the files that a stack lists. What can't be read so (below an `if` of a
configuration, out of a comprehension or another configuration) is said, where it may set what is final: that nobody
sees an override is no proof that there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Final as Constant

from kcl.records import dataclass, field
from kcl.source import SourceFile
from kcl.tools.query.reading import Unreadable, source
from kcl.tools.query.variables import Variable, variables
from workbench.engine.cube import Subject
from workbench.project import Baseline, Dimensions, Finding
from workbench.project.baselines import Listed, listed_files
from workbench.project.dimensions import Waiver, covers

Steps = tuple[str, ...]
_OVERRIDES: Constant = "its overrides"


@dataclass(frozen=True, slots=True)
class Written:
    """What a line of a file says of a field; `text` is None for what may set any field below it and can't be read."""

    path: Steps
    text: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Final:
    """What a line of a baseline says for good."""

    baseline: Baseline
    path: Steps
    line: int

    @property
    def file(self) -> Path:
        return self.baseline.file


@dataclass(frozen=True, slots=True)
class _Final:
    baseline: Baseline
    written: Written


@dataclass(slots=True)
class _Override:
    final: _Final
    file: Path
    written: Written
    stacks: list[str] = field(default_factory=list)


def final_findings(
    declared: Dimensions, subjects: Iterable[Subject], today: date, *, is_all: bool = True
) -> Iterator[Finding]:
    """Yields what overrides a final value, what may, waivers that put up with it, and what is declared in vain.

    A waiver is for nothing only where `is_all` of the stacks are looked at.
    """
    finals = {each.name: each.finals for each in declared if each.finals}
    if not finals:
        return
    reader = _Reader()
    yield from _never_set(finals, declared, reader)
    found: dict[tuple[_Final, Path, Written], _Override] = {}
    for subject in subjects:
        if not subject.coordinates and declared.axes:
            continue
        listed = listed_files(Path(subject.folder), Path(subject.project), declared.root)
        for final, file, written in _overrides(reader, declared, subject, listed):
            one = found.setdefault((final, file, written), _Override(final, file, written))
            one.stacks.append(subject.name)
    used: set[Waiver] = set()
    for each in found.values():
        yield from _told(each, declared, today, used)
    for waiver in declared.waivers:
        if is_all and waiver not in used:
            yield Finding("the waiver is for nothing that is overridden", waiver.where, "take it out", is_error=False)
    yield from reader.findings


def finals_of(declared: Dimensions, coordinates: Mapping[str, str]) -> tuple[Final, ...]:
    """Returns what the baselines of a point of the cube say for good, in the declared order."""
    reader = _Reader()
    return tuple(
        Final(baseline, each.path, each.line)
        for baseline in declared.baselines(coordinates)
        for each in _said_for_good(declared, baseline, reader.of_file(baseline.file))
    )


def _said_for_good(declared: Dimensions, baseline: Baseline, written: Iterable[Written]) -> list[Written]:
    paths = next(each.finals for each in declared if each.name == baseline.dimension)
    return [each for each in written if each.text is not None and any(covers(path, each.path) for path in paths)]


def _never_set(finals: dict[str, tuple[Steps, ...]], declared: Dimensions, reader: _Reader) -> Iterator[Finding]:
    """A path that no baseline sets is final nowhere: it may be misspelt."""
    for dimension in declared:
        files = dimension.files or tuple(file for each in dimension.values.values() for file in each)
        said = [each.path for file in files for each in reader.of_file(file) if each.text is not None]
        for path in finals.get(dimension.name, ()):
            if not any(covers(path, each) for each in said):
                name = ".".join(path)
                yield Finding(
                    f"{name} is final for {dimension.name}, and no baseline of it sets that",
                    str(declared.root / "dimensions.yaml"),
                    "correct the path, or set it there",
                )


def _overrides(
    reader: _Reader,
    declared: Dimensions,
    subject: Subject,
    listed: Listed,
) -> Iterator[tuple[_Final, Path, Written]]:
    """Yields what of the files of a stack meets what an earlier one of them has said for good."""
    held: list[_Final] = []
    baselines = declared.baselines(subject.coordinates)
    own = [each for each in listed.files if declared.of_file(each) is None]
    for file, baseline in [*((each.file, each) for each in baselines), *((each, None) for each in own)]:
        written = reader.of_file(file)
        for each in written:
            for final in held:
                is_own = baseline is not None and final.baseline.dimension == baseline.dimension
                if not is_own and _meets(each, final.written):
                    yield final, file, each
        if baseline is not None:
            held += [_Final(baseline, each) for each in _said_for_good(declared, baseline, written)]
    for line, path in listed.overrides:
        written_over = Written(tuple(path.split(".")), _OVERRIDES, line)
        for final in held:
            if _meets(written_over, final.written):
                yield final, listed.settings, written_over


def _meets(written: Written, final: Written) -> bool:
    shorter = min(len(written.path), len(final.path))
    if written.path[:shorter] != final.path[:shorter]:
        return False
    if written.text is None:  # it sets something below its path, if anything
        return True
    return written.path != final.path or written.text != final.text


def _told(found: _Override, declared: Dimensions, today: date, used: set[Waiver]) -> Iterator[Finding]:
    final, written = found.final, found.written
    path = ".".join(final.written.path)
    at = f"{final.baseline.file.relative_to(declared.root).as_posix()}:{final.written.line}"
    if written.text is None:
        what = "may set it in a way that is not read here"
        hint = "say it plainly: not below an `if`, from a comprehension or another configuration"
    else:
        what, hint = "sets it otherwise", "take the line out, or have it waived in dimensions.yaml"
    where = f"{found.file}:{written.line}"
    message = f"{path} is final for {final.baseline} at {at}, and {what}"
    by_waiver: dict[Waiver | None, list[str]] = {}
    for stack in found.stacks:
        waiver = next((each for each in declared.waivers if each.is_for(final.written.path, stack)), None)
        by_waiver.setdefault(waiver, []).append(stack)
    for waiver, stacks in by_waiver.items():
        said = f"{message}, in {stacks[0] if len(stacks) == 1 else f'{len(stacks)} stacks'}"
        if waiver is None:
            yield Finding(said, where, hint)
            continue
        used.add(waiver)
        if waiver.has_expired(today):
            yield Finding(f"{said}; its waiver ended on {waiver.until}", where, hint)
        else:
            yield Finding(said, where, f"waived until {waiver.until}: {waiver.reason}", is_error=False)


class _Reader:
    """What files say, each read once; of stacks many say the same."""

    def __init__(self) -> None:
        self._by_file: dict[Path, tuple[Written, ...]] = {}
        self._by_text: dict[str, tuple[Written, ...]] = {}
        self.findings: list[Finding] = []

    def of_file(self, file: Path) -> tuple[Written, ...]:
        if file not in self._by_file:
            self._by_file[file] = self._read(file)
        return self._by_file[file]

    def _read(self, file: Path) -> tuple[Written, ...]:
        try:
            text = source(file.name, str(file.parent))
            if text.text not in self._by_text:
                self._by_text[text.text] = _written(text)
            return self._by_text[text.text]
        except Unreadable as error:
            message = f"whether it overrides what is final is not known, as it can't be read: {error}"
            self.findings.append(Finding(message, str(file), "correct the file"))
            return ()


def _written(text: SourceFile) -> tuple[Written, ...]:
    found = variables([text])
    return tuple(
        leaf for name, several in found.items() for each in several for leaf in _leaves(tuple(name.split(".")), each)
    )


def _leaves(path: Steps, variable: Variable) -> Sequence[Written]:
    found = [Written(path, None, each) for each in variable.unseen]
    if variable.is_configuration:
        found += [leaf for name, each in variable.entries for leaf in _leaves((*path, *name.split(".")), each)]
        if variable.operator != "=" or len(path) == 1:
            return found
    # what is written with `=` takes the place of all that was below it
    return [*found, Written(path, " ".join(variable.text.split()), variable.line)]
