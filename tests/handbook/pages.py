"""What a page of docs/practices asks its reader to do, as steps.

Three kinds of fenced blocks say it, and a block of any other kind is a finding:

- `console`: lines that begin with `$ ` are typed, what follows is what they print, both streams as a terminal has them.
  A line `...` stands for any lines. A command that ends with anything but 0 is followed by `$ echo $?` and the code.
- a block that begins with `# file: PATH` is the whole text of that file.
- `diff`, with `--- PATH` at its head, is an edit: its context and removed lines stand in the file once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

ANY_LINES: Final = "..."
_FENCE: Final = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>[^\n]*)$")


class PageError(Exception):
    """A page holds a block that nobody would carry out."""


@dataclass(frozen=True, slots=True)
class Command:
    line: int
    typed: str
    printed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A file whose whole text the page gives."""

    line: int
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A file of which the page changes parts."""

    line: int
    path: str
    hunks: tuple[Hunk, ...]


Step = Command | Written | Edited


@dataclass(frozen=True, slots=True)
class _Block:
    line: int
    info: str
    lines: tuple[str, ...]


def steps(text: str) -> tuple[Step, ...]:
    """Returns what a page says to do, in order; raises `PageError` with the line of what nobody could carry out."""
    return tuple(step for block in _blocks(text) for step in _steps(block))


def _blocks(text: str) -> Iterator[_Block]:
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opened = _FENCE.match(lines[number])
        if opened is None:
            if re.match(r"( {4}|\t)\S", lines[number]) and (number == 0 or not lines[number - 1].strip()):
                raise PageError(f"line {number + 1}: an indented block of code is not carried out: fence it")
            number += 1
            continue
        if opened["indent"] or "~" in opened["ticks"]:
            raise PageError(f"line {number + 1}: a block begins with ``` at the start of its line")
        end = next((at for at in range(number + 1, len(lines)) if lines[at].rstrip() == opened["ticks"]), None)
        if end is None:
            raise PageError(f"line {number + 1}: this block never ends")
        yield _Block(number + 1, opened["info"].strip(), tuple(lines[number + 1 : end]))
        number = end + 1


def _steps(block: _Block) -> Iterator[Step]:
    if block.info == "console":
        yield from _commands(block)
    elif block.info == "diff":
        yield _edit(block)
    elif block.lines and (named := re.fullmatch(r"# file: (\S+)", block.lines[0])):
        yield Written(block.line, named[1], "".join(f"{each}\n" for each in block.lines[1:]))
    else:
        raise PageError(
            f"line {block.line}: a block of {block.info or 'nothing'} that names no file is not carried out"
        )


def _commands(block: _Block) -> Iterator[Command]:
    found: list[tuple[int, str, list[str]]] = []
    is_open = False
    for number, each in enumerate(block.lines, block.line + 1):
        if is_open:
            at, typed, _ = found[-1]
            found[-1] = (at, f"{typed} {each.strip().removesuffix(chr(92)).strip()}", [])
            is_open = each.endswith("\\")
        elif each.startswith("$ "):
            found.append((number, each[2:].removesuffix("\\").strip(), []))
            is_open = each.endswith("\\")
        elif found:
            found[-1][2].append(each)
        else:
            raise PageError(f"line {number}: a console block begins with a command: `$ `")
    if not found:
        raise PageError(f"line {block.line}: a console block without a command")
    for at, typed, printed in found:
        if set(printed) == {ANY_LINES}:
            raise PageError(f"line {at}: nothing of what `{typed}` prints is said")
        yield Command(at, typed, tuple(printed))


def _edit(block: _Block) -> Edited:
    head = re.fullmatch(r"--- (\S+)", block.lines[0]) if block.lines else None
    if head is None:
        raise PageError(f"line {block.line}: an edit begins with `--- PATH`")
    body = [each for each in block.lines[1:] if each != f"+++ {head[1]}"]
    hunks: list[Hunk] = []
    part: list[str] = []
    for each in (*body, "@@"):
        if not each.startswith("@@"):
            part.append(each)
            continue
        if part:
            hunks.append(_hunk(part, block.line))
        part = []
    if not hunks:
        raise PageError(f"line {block.line}: an edit that changes nothing")
    return Edited(block.line, head[1], tuple(hunks))


def _hunk(lines: list[str], line: int) -> Hunk:
    if wrong := [each for each in lines if each and each[0] not in " +-"]:
        raise PageError(f"line {line}: a line of an edit begins with a space, + or -: {wrong[0]!r}")
    before = "".join(f"{each[1:]}\n" for each in lines if each[:1] != "+")
    after = "".join(f"{each[1:]}\n" for each in lines if each[:1] != "-")
    if before == after:
        raise PageError(f"line {line}: an edit that changes nothing")
    return Hunk(before, after)


def shows(wanted: tuple[str, ...], printed: tuple[str, ...]) -> bool:
    """Tells whether lines are those that are wanted, where `...` in these stands for any lines."""
    parts: list[list[str]] = [[]]
    for each in wanted:
        if each == ANY_LINES:
            parts.append([])
        else:
            parts[-1].append(each)
    if len(parts) == 1:
        return list(printed) == parts[0]
    first, *middle, last = parts
    rest = list(printed)
    if rest[: len(first)] != first:
        return False
    rest = rest[len(first) :]
    for part in middle:
        at = next((at for at in range(len(rest) - len(part) + 1) if rest[at : at + len(part)] == part), None)
        if at is None:
            return False
        rest = rest[at + len(part) :]
    return len(rest) >= len(last) and (not last or rest[-len(last) :] == last)


__all__ = ["ANY_LINES", "Command", "Edited", "Hunk", "PageError", "Step", "Written", "shows", "steps"]
