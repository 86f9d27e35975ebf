"""What a schema's documentation says, of the schema and of each attribute."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Final

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.literals import LiteralError, string_parts, unescape

_ATTRIBUTE_LINE = pattern(r"^(?P<indent>[ \t]*)(?P<name>[\w$-]+)[ \t]*(?::.*)?$")
_ENTRY: Final = pattern(
    r"""[ \t]*(?P<names>(?:["'][^"'\n]+["']|\$?\w[\w$./-]*)(?:[ ]*,[ ]*\$?\w[\w$./-]*){0,20})[ \t]*(?::(?P<type>.*))?"""
)
_HEADING: Final = pattern(r"[ \t]*\w[\w /-]{0,40}:?")
_UNDERLINE: Final = pattern(r"[ \t]*(?:-{3,}|={3,})")
_NO_PROSE: Final = pattern(r"(?i)defaults?\b|(?:optional|required)\b\W*$")
_ATTRIBUTES: Final = frozenset({"attributes", "parameters", "arguments", "args"})
_EXAMPLES: Final = frozenset({"example", "examples"})


def plain(text: str) -> str:
    """A docstring without the indentation of its lines."""
    lines = text.strip("\n").split("\n")
    indents = [len(each) - len(each.lstrip()) for each in lines[1:] if each.strip()]
    cut = min(indents, default=0)
    return "\n".join([lines[0].strip(), *(each[cut:].rstrip() for each in lines[1:])]).strip()


def of_attribute(doc: str, name: str) -> str:
    """The lines that a schema's documentation has about an attribute, in the style of numpy."""
    lines = doc.split("\n")
    for at, line in enumerate(lines):
        found = _ATTRIBUTE_LINE.match(line)
        if found is None or found["name"] != name:
            continue
        indent = len(found["indent"])
        said: list[str] = []
        for each in lines[at + 1 :]:
            if each.strip() and len(each) - len(each.lstrip()) <= indent:
                break
            said.append(each.strip())
        return " ".join(each for each in said if each)
    return ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a docstring, and the line of its file, from 1, that it stands in."""

    text: str
    number: int


Lines = tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Documented:
    """What a docstring says of one attribute. `type` is what follows the colon after its name, "" if nothing does."""

    name: str
    type: str
    lines: Lines
    line: int


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring by its sections, in the style of numpy; `others` are neither attributes nor examples."""

    description: Lines = ()
    attributes: tuple[Documented, ...] = ()
    examples: tuple[Lines, ...] = ()
    others: tuple[tuple[str, Lines], ...] = ()


def lines_of(source: SourceFile, node: ast.Str) -> Lines:
    """The lines of a docstring without the indentation they share, each with its place in the file.

    They are taken from the text of the file, as the value of the string no longer tells which line was which.
    """
    try:
        content, raw, _ = string_parts(source.text[node.start : node.end])
    except IndexError:  # a string that the parser has mended
        content, raw = node.value, True
    first = source.position(node.start).line
    read: list[Line] = []
    open_line = ""
    for at, text in enumerate(content.split("\n")):
        text = open_line + text.rstrip("\r")
        open_line = ""
        if not raw and (len(text) - len(text.rstrip("\\"))) % 2:
            open_line = text[:-1]
            continue
        margin = " " * _indent(text)  # what an escape puts into a line of its own stays where it was
        pieces = text.split("\n") if raw else _unescaped(text).split("\n")
        read += [Line((margin + each if n else each).rstrip(), first + at) for n, each in enumerate(pieces)]
    indents = [_indent(each.text) for each in read[1:] if each.text]
    cut = min(indents, default=0)
    return _trimmed(
        [Line(read[0].text.strip(), first), *(Line(each.text[cut:], each.number) for each in read[1:])] if read else []
    )


def parsed(lines: Lines, attributes: Container[str]) -> Docstring:
    """The docstring by its sections. `attributes` are those that there are: prose may look like a name as well."""
    description, sections = _sections(lines)
    documented: list[Documented] = []
    examples: list[Lines] = []
    others: list[tuple[str, Lines]] = []
    for title, inside in sections:
        if title.lower() in _ATTRIBUTES:
            documented += _documented(inside, attributes)
        elif title.lower() in _EXAMPLES:
            examples.append(inside)
        else:
            others.append((title, inside))
    return Docstring(description, tuple(documented), tuple(examples), tuple(others))


def _sections(lines: Lines) -> tuple[Lines, list[tuple[str, Lines]]]:
    """What comes before the first heading, and each heading with what stands below it."""
    heads = [at for at in range(len(lines) - 1) if _is_heading(lines[at].text, lines[at + 1].text)]
    ends = [*heads[1:], len(lines)][: len(heads)]
    description = lines[: heads[0]] if heads else lines
    return _trimmed(description), [
        (lines[at].text.strip().rstrip(":"), _trimmed(lines[at + 2 : end])) for at, end in zip(heads, ends, strict=True)
    ]


def _is_heading(line: str, below: str) -> bool:
    return bool(_HEADING.fullmatch(line) and _UNDERLINE.fullmatch(below)) and _indent(line) == _indent(below)


def _documented(lines: Lines, attributes: Container[str]) -> Iterator[Documented]:
    base = min((_indent(each.text) for each in lines if each.text), default=0)
    heads: list[tuple[int, list[str], str]] = []
    for at, line in enumerate(lines):
        found = _ENTRY.fullmatch(line.text) if line.text and _indent(line.text) == base else None
        if found is None:
            continue
        names = [each.strip().strip("\"'").removeprefix("$") for each in found["names"].split(",")]
        below = lines[at + 1].text if at + 1 < len(lines) else ""
        is_named = found["type"] is not None or bool(below and _indent(below) > base)
        if is_named or any(each in attributes for each in names):
            heads.append((at, names, (found["type"] or "").strip()))
    ends = [*(at for at, _, _ in heads[1:]), len(lines)][: len(heads)]
    for (at, names, type_), end in zip(heads, ends, strict=True):
        said = _dedented(lines[at + 1 : end]) or _beside(type_, lines[at].number)
        yield from (Documented(name, type_, said, lines[at].number) for name in names)


def _beside(type_: str, line: int) -> Lines:
    """What is said of an attribute in its own line, between its type and its default."""
    parts = [each.strip() for each in type_.split(",")[1:]]
    said = ", ".join(each for each in parts if each and not _NO_PROSE.match(each))
    return (Line(said, line),) if " " in said else ()


def _dedented(lines: Sequence[Line]) -> Lines:
    """Without the indentation of the first line, as far as a line has it."""
    cut = next((_indent(each.text) for each in lines if each.text), 0)
    return _trimmed([Line(each.text[min(cut, _indent(each.text)) :], each.number) for each in lines])


def _trimmed(lines: Sequence[Line]) -> Lines:
    """Without the empty lines at both ends."""
    first = next((at for at, each in enumerate(lines) if each.text), len(lines))
    last = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].text), first - 1)
    return tuple(lines[first : last + 1])


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _unescaped(text: str) -> str:
    try:
        return unescape(text)
    except LiteralError:
        return text
