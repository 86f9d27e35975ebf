"""What docstrings have in common with markup: paragraphs, lists, code, links. All else is text.

Docstrings are written by anybody, for no renderer in particular. So they are not handed on as Markdown or HTML: they
are taken apart here into a few kinds of blocks, and who writes a page escapes every text in them. A link leads to
`http`, `https` or `mailto` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.tools.docstrings import Lines

_FENCE: Final = pattern(r"[ \t]*(?P<sign>```+|~~~+)[ \t]*(?P<language>[\w+-]*).*")
_ITEM: Final = pattern(r"(?P<indent>[ \t]*)(?P<mark>[-*+•]|\d{1,3}[.)])[ \t]+(?P<text>\S.*)")
_DIRECTIVE: Final = pattern(r"[ \t]*\.\.[ ]+(?:code|code-block|sourcecode)::[ \t]*(?P<language>[\w+-]*)[ \t]*")
_INLINE: Final = pattern(
    r"(?P<ticks>`{1,3})(?P<code>[^`]+)(?P=ticks)"
    r"|\[(?P<label>[^\[\]\n]{1,200})\]\((?P<target>https?://[^\s()<>]{1,2000}|mailto:[^\s()<>]{1,200})\)"
    r"|(?P<url>https?://[^\s<>\"'`\\{}|^]{1,2000})"
    r"|\*\*(?P<strong>[^*\s](?:[^*\n]{0,200}[^*\s])?)\*\*"
)
_AFTER_URL: Final = ".,;:!?*_"
_CODE_INDENT: Final = 4


@dataclass(frozen=True, slots=True)
class Paragraph:
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list, of whatever marks; each item is lines."""

    items: tuple[tuple[str, ...], ...]
    is_ordered: bool


@dataclass(frozen=True, slots=True)
class Code:
    text: str
    language: str = ""


Block = Paragraph | Items | Code


@dataclass(frozen=True, slots=True)
class Plain:
    text: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    text: str
    url: str


Inline = Plain | Verbatim | Strong | Link


def summary(lines: Lines) -> str:
    """The first sentence, or as much of it as stands in the first paragraph."""
    first = next((each for each in blocks(lines) if isinstance(each, Paragraph)), None)
    if first is None:
        return ""
    text = " ".join(first.lines)
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


def blocks(lines: Lines) -> list[Block]:
    return list(_blocks([each.text for each in lines]))


def inlines(text: str) -> Iterator[Inline]:
    """The parts of one paragraph, item or cell."""
    at = 0
    for found in _INLINE.finditer(text):
        if found.start() > at:
            yield Plain(text[at : found.start()])
        at = found.end()
        if found["code"] is not None:
            yield Verbatim(found["code"].strip() or found["code"])
        elif found["label"] is not None:
            yield Link(found["label"], found["target"])
        elif found["strong"] is not None:
            yield Strong(found["strong"])
        else:
            url, rest = _url(found["url"])
            yield Link(url, url)
            if rest:
                yield Plain(rest)
    if at < len(text):
        yield Plain(text[at:])


def _url(text: str) -> tuple[str, str]:
    """An address without the signs after it that belong to the sentence."""
    end = len(text)
    while end and (
        text[end - 1] in _AFTER_URL or (text[end - 1] == ")" and text.count("(", 0, end) < text.count(")", 0, end))
    ):
        end -= 1
    return text[:end], text[end:]


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
            continue
        fence = _FENCE.fullmatch(line)
        directive = _DIRECTIVE.fullmatch(line)
        if fence is not None:
            end = next((n for n in range(at + 1, len(lines)) if lines[n].strip().startswith(fence["sign"])), len(lines))
            yield Code(_outdented(lines[at + 1 : end]), fence["language"])
            at = end + 1
        elif directive is not None:
            end = _end_of_indented(lines, at + 1, _indent(line) + 1)
            yield Code(_outdented(lines[at + 1 : end]), directive["language"])
            at = end
        elif _ITEM.fullmatch(line):
            made, at = _items(lines, at)
            yield made
        elif _indent(line) >= _CODE_INDENT and (at == 0 or not lines[at - 1].strip()):
            end = _end_of_indented(lines, at, _CODE_INDENT)
            yield Code(_outdented(lines[at:end]))
            at = end
        else:
            end = next((n for n in range(at + 1, len(lines)) if _ends_paragraph(lines[n])), len(lines))
            yield Paragraph(tuple(each.strip() for each in lines[at:end]))
            at = end


def _ends_paragraph(line: str) -> bool:
    return not line.strip() or bool(_FENCE.fullmatch(line) or _DIRECTIVE.fullmatch(line) or _ITEM.fullmatch(line))


def _items(lines: Sequence[str], at: int) -> tuple[Items, int]:
    """The items from a line on, and the line after them."""
    items: list[list[str]] = []
    first = _ITEM.fullmatch(lines[at])
    assert first is not None
    while at < len(lines):
        found = _ITEM.fullmatch(lines[at])
        if found is not None:
            items.append([found["text"].strip()])
        elif lines[at].strip() and _indent(lines[at]) > len(first["indent"]) and not _FENCE.fullmatch(lines[at]):
            items[-1].append(lines[at].strip())
        else:
            break
        at += 1
    return Items(tuple(tuple(each) for each in items), first["mark"][0].isdigit()), at


def _end_of_indented(lines: Sequence[str], at: int, indent: int) -> int:
    """The line after those that are indented; blank ones count where indented ones follow."""
    end = at
    for n in range(at, len(lines)):
        if lines[n].strip():
            if _indent(lines[n]) < indent:
                break
            end = n + 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _outdented(lines: Sequence[str]) -> str:
    cut = min((_indent(each) for each in lines if each.strip()), default=0)
    return "\n".join(each[cut:].rstrip() for each in lines).strip("\n")
