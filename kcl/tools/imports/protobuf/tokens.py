"""The words of a .proto file: https://protobuf.dev/reference/protobuf/textformat-spec/ and the language guides."""

from __future__ import annotations

import re
from typing import Final

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.tools.imports.failure import ImportFailure

_TOKEN: Final = pattern(
    r"""(?P<space>\s+)
    | (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<mark>[{}\[\]()<>;,=.:+/-])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """`before` are the lines of the comment right above it, `behind` those of one that follows it in its line."""

    kind: str
    text: str
    line: int
    before: str = ""
    behind: str = ""


def tokens(text: str, shown: str) -> list[Token]:
    """The words of a text, and one of kind "end" after them. Raises ImportFailure."""
    found: list[Token] = []
    comment, ends = "", 0
    at, line = 0, 1
    while at < len(text):
        matched = _TOKEN.match(text, at)
        if matched is None:
            raise ImportFailure(f"{shown}:{line}: {text[at : at + 10]!r} is nothing that .proto files hold")
        kind, word = str(matched.lastgroup), matched[0]
        last = line + word.count("\n")
        if kind == "comment":
            said = _said(word)
            if found and found[-1].line == line:
                previous = found[-1]
                found[-1] = Token(previous.kind, previous.text, previous.line, previous.before, said)
            else:
                comment = f"{comment}\n{said}" if comment and ends == line - 1 else said
                ends = last
        elif kind != "space":
            found.append(Token(kind, word, last, comment if comment and ends >= line - 1 else ""))
            comment = ""
        at, line = matched.end(), last
    found.append(Token("end", "the end of the file", line))
    return found


def _said(comment: str) -> str:
    if comment.startswith("//"):
        return comment.lstrip("/").removeprefix(" ").rstrip()
    lines = comment[2:-2].split("\n")
    return "\n".join(each.strip().removeprefix("*").strip() for each in lines).strip()
