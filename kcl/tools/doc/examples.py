"""Examples of docstrings: shown on pages, and run as tests.

Below `Examples` stands a program, or prose with programs between fences. It is run as a file beside those of its
package, whose names it sees; one that imports its own package is run alone, as who uses the package would.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import parse
from kcl.tools.doc.model import Example, Package
from kcl.tools.doc.prose import Block, Code, blocks
from kcl.tools.docstrings import Line, Lines

_FENCE: Final = pattern(r"[ \t]*(?P<sign>```+|~~~+)[ \t]*(?P<language>[\w+-]*).*")
_LANGUAGES: Final = frozenset({"", "kcl", "k", "python"})
_NOT_RUN: Final = pattern(r"^[ \t]*#[ \t]*kcl-doc: not run because (?P<why>\S.*)$", 0)


@dataclass(frozen=True, slots=True)
class Runnable:
    """A program out of a docstring. `line` is where it begins in its file; `not_run` says why it is left out."""

    example: Example
    program: str
    line: int
    imports_itself: bool
    not_run: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """What came of examples. `not_run` say themselves that they are none to run."""

    passed: int
    failed: int
    not_run: int


def example_blocks(lines: Lines) -> list[Block]:
    """What is shown of an example."""
    if _is_fenced(lines):
        return blocks(lines)
    return [Code("\n".join(each.text for each in lines), "kcl")]


def runnable(example: Example, package: Package, module_name: str) -> Iterator[Runnable]:
    """The programs of an example. Their lines have the numbers that they have in the file of the docstring."""
    own = {package.name, f"{module_name}.{package.name}".strip(".")} - {""}
    for lines in _programs(example.lines):
        text = "\n".join(each.text for each in lines)
        imports = parse(SourceFile("example.k", text)).module.imports()
        imports_itself = any(_leads_to(each.path, each.level, own, package.folder) for each in imports)
        found = next((match for each in lines if (match := _NOT_RUN.match(each.text))), None)
        yield Runnable(example, _placed(lines), lines[0].number, imports_itself, found["why"] if found else "")


def _leads_to(path: str, level: int, own: set[str], folder: str) -> bool:
    """Whether an import is of the package itself; `from above` is one by its folder's name."""
    return path in own or (level > 1 and path.lstrip(".") == os.path.basename(folder))


def _programs(lines: Lines) -> Iterator[Lines]:
    if not _is_fenced(lines):
        yield _outdented(lines)
        return
    at = 0
    while at < len(lines):
        fence = _FENCE.fullmatch(lines[at].text)
        at += 1
        if fence is None:
            continue
        end = next((n for n in range(at, len(lines)) if lines[n].text.strip().startswith(fence["sign"])), len(lines))
        if fence["language"] in _LANGUAGES and any(each.text for each in lines[at:end]):
            yield _outdented(lines[at:end])
        at = end + 1


def _is_fenced(lines: Lines) -> bool:
    return any(_FENCE.fullmatch(each.text) for each in lines)


def _outdented(lines: Sequence[Line]) -> Lines:
    cut = min((len(each.text) - len(each.text.lstrip()) for each in lines if each.text), default=0)
    return tuple(Line(each.text[cut:], each.number) for each in lines)


def _placed(lines: Lines) -> str:
    text, line = "", 1
    for each in lines:
        text += "\n" * max(each.number - line, 0) + each.text + "\n"
        line = max(each.number, line) + 1
    return text
