"""Writing a plan: every file whole or not at all, and all files or none."""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from kcl import whole_file
from kcl.regular import read_regular
from kcl.tools.migrate.migration import Plan

_BYTE_ORDER_MARK: Final = "\ufeff"


class NotWritten(Exception):
    """The files could not be written; those that had been are as they were before. The text says why."""


def write(plan: Plan) -> None:
    """Writes the changed files, each whole or not at all. Raises NotWritten, with all of them as they were.

    A file that is not what it was when the plan was made is not written over.
    """
    written: list[str] = []
    try:
        for path, text in plan.after.items():
            _replace(path, plan.before[path], text)
            written.append(path)
    except (OSError, UnicodeError, NotWritten) as problem:
        for path in written:
            with suppress(OSError):
                _replace(path, plan.after[path], plan.before[path])
        reason = problem.strerror or str(problem) if isinstance(problem, OSError) else str(problem)
        raise NotWritten(f"{path}: {reason}; nothing was changed") from None


def restore(plan: Plan) -> None:
    """Takes a written plan back."""
    write(Plan(plan.after, plan.before, ()))


def _replace(path: str, expected: str, text: str) -> None:
    file = Path(path)
    present = read_regular(file).decode("utf-8")
    mark = _BYTE_ORDER_MARK if present.startswith(_BYTE_ORDER_MARK) else ""
    if present != mark + expected:
        raise NotWritten("it has changed since it was read")
    whole_file.write(file, (mark + text).encode("utf-8"), mode=stat.S_IMODE(file.stat().st_mode))
