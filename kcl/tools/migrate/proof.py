"""Proof that a migration changes nothing: every program compiled before and after, and the values compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from kcl.api import (
    KCL,
    KONFIG_2023,
    Dialect,
    FileSystem,
    KclError,
    OverlayFileSystem,
    ParseCache,
    PluginFinder,
    ProgramError,
    run,
)
from kcl.records import dataclass
from kcl.tools.migrate.migration import Subject

_MOST_DIFFERENCES: Final = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the proof found for one subject.

    `problem` says why it does not compile after the migration, None where it does. `differences` are the paths in the
    output that are not the same, at most a few. A subject that did not compile before is `broken_before`: nothing can
    be said of it.
    """

    subject: Subject
    problem: str | None = None
    differences: tuple[str, ...] = ()
    broken_before: str | None = None

    @property
    def same(self) -> bool:
        return self.problem is None and not self.differences and self.broken_before is None


def prove(
    subjects: Sequence[Subject],
    changed: Mapping[str, str],
    *,
    before: Dialect = KONFIG_2023,
    after: Callable[[Subject], Dialect] = lambda subject: KCL,
    plugins: PluginFinder | None = None,
) -> Iterator[Outcome]:
    """Compiles every subject from the files as they are and from the changed texts, and compares the values."""
    old, new = ParseCache(), ParseCache()
    for subject in subjects:
        try:
            expected = _documents(subject, subject.files_from, before, old, plugins)
        except KclError as problem:
            yield Outcome(subject, broken_before=_text(problem))
            continue
        try:
            overlay = OverlayFileSystem(subject.files_from, changed)
            found = _documents(subject, overlay, after(subject), new, plugins)
        except KclError as problem:
            yield Outcome(subject, problem=_text(problem))
            continue
        yield Outcome(subject, differences=tuple(_first(_different(expected, found, ""))))


def _documents(
    subject: Subject, file_system: FileSystem, dialect: Dialect, cache: ParseCache, plugins: PluginFinder | None
) -> tuple[Any, ...]:
    result = run(
        subject.files,
        work_dir=subject.work_dir,
        settings=subject.settings,
        options=subject.options,
        file_system=file_system,
        dialect=dialect,
        cache=cache,
        plugins=plugins,
    )
    return result.documents


def _text(problem: KclError) -> str:
    return problem.render() if isinstance(problem, ProgramError) else str(problem)


def _different(before: Any, after: Any, path: str) -> Iterator[str]:
    """The paths at which two values are not the same; never the values, which may be secret."""
    if type(before) is not type(after):
        yield f"{path or 'the whole'}: a {_kind(before)} before, a {_kind(after)} after"
    elif isinstance(before, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            below = f"{path}.{key}" if path else str(key)
            if key not in after:
                yield f"{below}: is missing after"
            elif key not in before:
                yield f"{below}: is new"
            else:
                yield from _different(before[key], after[key], below)
    elif isinstance(before, list | tuple):
        if len(before) != len(after):
            yield f"{path or 'documents'}: {len(before)} items before, {len(after)} after"
        for index, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from _different(one, other, f"{path}[{index}]")
    elif before != after and not (before != before and after != after):
        yield f"{path or 'the whole'}: another value"


def _kind(value: Any) -> str:
    return {"NoneType": "null", "dict": "mapping"}.get(type(value).__name__, type(value).__name__)


def _first(found: Iterator[str]) -> Iterator[str]:
    for number, each in enumerate(found):
        if number >= _MOST_DIFFERENCES:
            yield "and more"
            return
        yield each
