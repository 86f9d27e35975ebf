"""`kcl set FILE path=value ...`: other values in a file, written where a person would write them.

The same as `kcl run -O`, kept: comments and layout stay, and the file is written as a whole or not at all.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from kcl import whole_file
from kcl.command_line import HelpPrinted, UsageError, parser_class
from kcl.diagnostics import KclError
from kcl.loader import overridden_text
from kcl.terminal import harmless, harmless_lines
from kcl.tools.query.reading import Unreadable, source

_OK, _FAILED, _USAGE = 0, 1, 2


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Edits one file; exit status 1 where it cannot be read, edited or written."""

    parser = parser_class(stdout)(
        prog="kcl set", description="Set values in a file: path=value, path:value, path+=value or path-."
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("specs", nargs="*", metavar="PATH=VALUE")
    parser.add_argument("-i", "--import", action="append", default=[], dest="imports", metavar="PACKAGE")
    parser.add_argument("--diff", action="store_true", help="print the edit and write nothing")
    try:
        given = parser.parse_args(list(argv))
        if not (given.specs or given.imports):
            raise UsageError("kcl set: say what to set, as path=value")
        file = source(given.file, str(cwd))
        text = overridden_text(file, given.specs, given.imports)
    except UsageError as problem:
        stderr.write(f"{problem}\n")
        return _USAGE
    except HelpPrinted:
        return _OK
    except Unreadable as problem:
        stderr.write(f"kcl set: {harmless(str(problem))}\n")
        return _FAILED
    except KclError as problem:
        first = problem.diagnostics[0]
        is_placed = first.primary is not None and first.primary.path == file.path
        place = f"{file.path}:{file.position(first.primary.start).line}" if is_placed and first.primary else given.file
        stderr.write(f"kcl set: {harmless(f'{place}: {first.message}')}; the file is as it was\n")
        return _FAILED
    if given.diff:
        before, after = file.text.splitlines(keepends=True), text.splitlines(keepends=True)
        lines = difflib.unified_diff(before, after, f"a/{given.file}", f"b/{given.file}")
        stdout.write(harmless_lines("".join(each if each.endswith("\n") else f"{each}\n" for each in lines)))
        return _OK
    if text == file.text:
        stderr.write(f"kcl set: {harmless(given.file)} says this already\n")
        return _OK
    try:
        whole_file.save(Path(cwd, given.file), text.encode("utf-8"))
    except OSError as problem:
        stderr.write(f"kcl set: {harmless(given.file)}: cannot be written: {problem.strerror}\n")
        return _FAILED
    return _OK
