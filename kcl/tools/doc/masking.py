"""Secrets in sources, which pages must not show: by the name of what holds them, by their look, and by value.

A text that is given to a telling name in one place is masked wherever else it stands, also in prose and in examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kcl.patterns import pattern
from kcl.secrecy.rules import BUILT_IN, MASK
from kcl.syntax import ast
from kcl.syntax.walking import children
from kcl.terminal import harmless, harmless_lines
from kcl.tools.docstrings import Line, Lines

_SHORTEST: Final = 6
_LONG: Final = 12
"""A shorter text given to a telling name is masked there alone: elsewhere it may be any word, and even of this length
if it has small letters only."""
_GIVEN: Final = pattern(
    r"""(?P<head>(?P<name>(?:\$|(?<![A-Za-z_])[A-Za-z_])[\w.-]++)["']?[ \t]*[:=][ \t]*)"""
    r"""(?P<quote>["'])(?P<text>[^"'\n]+)(?P=quote)"""
)
"""A name is tried from where it begins alone: what is no name there is none from its second letter on either, and all
the text of a library would be looked at as often as its words are long."""


class Masking:
    """Knows what is secret in some files."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._found: re.Pattern[str] | None = None

    def learn(self, tree: ast.Module, text: str) -> None:
        """Takes up what a file gives to telling names, in its statements and in its documentation."""
        for node in _secret_texts(tree, is_secret=False):
            self._add(node.value)
        for found in _GIVEN.finditer(text):
            if _tells(_last(found["name"])):
                self._add(found["text"])

    def _add(self, value: str) -> None:
        if len(value) >= (_LONG if value.isalpha() and value.islower() else _SHORTEST) and "\n" not in value:
            self._values.add(value)
            self._found = None

    def text(self, text: str) -> str:
        """A text of one or more lines as it may be shown."""
        shown = _GIVEN.sub(_without_given, text) if "=" in text or ":" in text else text
        if self._values:
            if self._found is None:
                ordered = sorted(self._values, key=len, reverse=True)
                self._found = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered))})(?!\w)")
            shown = self._found.sub(MASK, shown)
        return harmless_lines(BUILT_IN.masked(shown, MASK))

    @staticmethod
    def name(text: str) -> str:
        """A name: the text of a secret elsewhere is a word like others here."""
        return harmless(BUILT_IN.masked(text, MASK))

    def lines(self, lines: Lines) -> Lines:
        """Lines as they may be shown. Their numbers are the first's where what is masked had lines of its own."""
        if not lines:
            return lines
        shown = self.text("\n".join(each.text for each in lines)).split("\n")
        if len(shown) != len(lines):
            return tuple(Line(each, lines[0].number) for each in shown)
        return tuple(Line(text, each.number) for text, each in zip(shown, lines, strict=True))

    def code(self, text: str, node: ast.Node, name: str) -> str:
        """The text of an expression that is given to `name`; `text` is the whole file."""
        shown, at = "", node.start
        places = sorted((each.start, each.end) for each in _secret_texts(node, is_secret=_tells(name)))
        for start, end in places:
            if start >= at:
                shown += text[at:start] + f'"{MASK}"'
                at = end
        return self.text(shown + text[at : node.end])


def hides(name: str, value: str) -> str:
    """The text of an expression, or the mask where it holds a text and `name` tells that this is secret."""
    return MASK if any(sign in value for sign in "\"'") and _tells(name) else value


def _secret_texts(node: ast.Node, *, is_secret: bool) -> Iterator[ast.Str]:
    """The texts that stand where a secret does. One in a place for keys, types or names of packages is none."""
    pending = [(node, is_secret)]
    while pending:
        each, within = pending.pop()
        match each:
            case ast.Str():
                if within and each.value:
                    yield each
            case ast.Entry(key=ast.Name(id=key) | ast.Str(value=key), value=value):
                pending.append((value, within or _tells(key)))
            case ast.Assign(targets=targets, value=value):
                pending.append((value, within or any(_tells(_last_step(one)) for one in targets)))
            case ast.AugAssign(target=target, value=value) | ast.Unification(target=target, value=value):
                pending.append((value, within or _tells(_last_step(target))))
            case ast.SchemaAttr(name=name, value=value):
                if value is not None:
                    pending.append((value, within or _tells(name)))
            case ast.Keyword(name=name, value=value) | ast.Param(name=name, default=value):
                if value is not None:
                    pending.append((value, within or _tells(name)))
            case ast.Compare() | ast.Subscript() | ast.Selector():
                pending += [(one, False) for one in children(each)]
            case ast.Call(func=ast.Name(id="option")):
                pending += [(one.value, _tells(_option_name(each))) for one in each.keywords if one.name == "default"]
            case _:
                pending += [(one, within) for one in children(each)]


def _option_name(call: ast.Call) -> str:
    named = next((each.value for each in call.keywords if each.name == "key"), call.args[0] if call.args else None)
    return named.value if isinstance(named, ast.Str) else ""


def _last_step(target: ast.Target) -> str:
    names = [each.name for each in target.path if isinstance(each, ast.Member)]
    return names[-1] if names else target.name


def _tells(name: str) -> bool:
    return BUILT_IN.names_secret(name) or BUILT_IN.names_block(name)


def _last(name: str) -> str:
    return name.rpartition(".")[2].removeprefix("$")


def _without_given(found: re.Match[str]) -> str:
    if not _tells(_last(found["name"])):
        return found[0]
    return f"{found['head']}{found['quote']}{MASK}{found['quote']}"
