"""What becomes of a file that is laid out: read, laid out, compared, written."""

from __future__ import annotations

import difflib
import os
from typing import Final

from kcl import whole_file
from kcl.records import dataclass
from kcl.regular import read_regular
from kcl.reports import report
from kcl.terminal import harmless
from kcl.tools.fmt.formatting import Malformed, Refused, formatted

MOST_BYTES: Final = 64 << 20
_MOST_SHOWN: Final = 3
"""Errors of one file: the first is nearly always what the others follow from."""


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
        from kcl.teaching import taught  # nobody waits for it whose files are right

        source = refusal.source
        texts = {source.path: source.text}
        told = [each for each in taught(refusal.diagnostics, texts) if not each.follows][:_MOST_SHOWN]
        more = len(refusal.diagnostics) - len(told)
        return report(told, texts, "pretty") + (
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
