"""Which files are laid out, and what becomes of each: read, laid out, compared, written."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from typing import Final

from kcl import whole_file
from kcl.records import dataclass
from kcl.regular import read_regular
from kcl.reports import report
from kcl.terminal import harmless
from kcl.tools.fmt.formatting import Malformed, Refused, formatted

BELOW: Final = "..."
"""As the last part of a path: the folder and all below it."""
MOST_BYTES: Final = 64 << 20
_MOST_SHOWN: Final = 3
"""Errors of one file: the first is nearly always what the others follow from."""
_SUFFIX: Final = ".k"


class NoFiles(Exception):
    """A path names no file that could be laid out; the message says so."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of each file."""

    writes: bool
    diff: bool
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file; `problem` is "" where nothing went wrong."""

    path: str
    is_changed: bool = False
    diff: str = ""
    problem: str = ""


def found(path: str, cwd: str, *, recursive: bool) -> list[str]:
    """The files that a path of the command line names, in order, as they are shown. Raises `NoFiles`.

    Of a folder those in it, and those below it where the path ends in `...`. Folders whose names begin with a dot are
    left out, and links to folders are not followed.
    """
    named = path
    head, tail = os.path.split(path)
    if tail == BELOW:
        path, recursive = head or os.curdir, True
    there = os.path.join(cwd, path)
    if not os.path.isdir(there):
        if os.path.lexists(there):
            return [path]
        raise NoFiles(f"{harmless(named)}: there is no such file or folder")
    files = list(_in_folder(there, path, recursive))
    if not files:
        below = "in or below it" if recursive else f"in it; for folders below it say {os.path.join(path, BELOW)}"
        raise NoFiles(f"{harmless(named)}: there is no file that ends in {_SUFFIX} {below}")
    return files


def _in_folder(folder: str, shown: str, recursive: bool) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda each: each.name)
    except OSError as problem:
        raise NoFiles(f"{harmless(shown)}: {problem.strerror}") from None
    for each in entries:
        name = each.name if shown == os.curdir else os.path.join(shown, each.name)
        if each.name.endswith(_SUFFIX) and each.is_file():
            yield name
        elif recursive and not each.name.startswith(".") and each.is_dir(follow_symlinks=False):
            yield from _in_folder(each.path, name, recursive)


def lay_out(path: str, cwd: str, wish: Wish) -> Outcome:
    """Lays one file out, and writes it if that is wanted and something has changed. Raises nothing."""
    # What a link leads to is written, so that the link stays.
    real = os.path.realpath(os.path.join(cwd, path))
    try:
        data = read_regular(real, MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            return Outcome(path, problem=f"{harmless(path)}: larger than {MOST_BYTES >> 20} MiB, which no program is\n")
        text = decoded(data, path)
        made = formatted(text, path, wish.lines)
        if made == text:
            return Outcome(path)
        if wish.writes:
            if read_regular(real, MOST_BYTES + 1) != data:
                return Outcome(
                    path, problem=f"{harmless(path)}: changed meanwhile, not written; run the command again\n"
                )
            whole_file.save(real, made.encode())
        return Outcome(path, True, difference(text, made, path) if wish.diff else "")
    except OSError as problem:
        return Outcome(path, problem=f"{harmless(path)}: {problem.strerror}\n")
    except Refused as refusal:
        return Outcome(path, problem=explained(refusal))


def decoded(data: bytes, path: str) -> str:
    """The text of a file. Raises `Refused` for what is not UTF-8, naming the line."""
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise Refused(f"{path}:{line}: byte 0x{data[problem.start]:02x} is not UTF-8; save the file as UTF-8") from None


def explained(refusal: Refused) -> str:
    """What is said of a text that is left as it is."""
    if isinstance(refusal, Malformed):
        source, more = refusal.source, len(refusal.diagnostics) - _MOST_SHOWN
        shown = report(refusal.diagnostics[:_MOST_SHOWN], {source.path: source.text}, "pretty")
        return shown + (
            f"{harmless(source.path)}: {more} more errors follow from these or after them\n" if more > 0 else ""
        )
    return f"{harmless(str(refusal))}\n"


def difference(text: str, made: str, path: str) -> str:
    """The change of one file as a unified diff."""
    lines = difflib.unified_diff(
        _lines(text), _lines(made), f"{harmless(path)} (as it is)", f"{harmless(path)} (laid out)"
    )
    return "".join(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines)


def _lines(text: str) -> list[str]:
    """With nothing but a line feed for the end of a line: other characters that Python counts stand in strings."""
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [line for line in text.split("\n")[-1:] if line]
