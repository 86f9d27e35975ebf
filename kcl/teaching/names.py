"""Names that are not there: words of other languages, packages named by another path, imports that were forgotten."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol

from kcl.diagnostics import Code, Diagnostic, Hint, Replacement, Span
from kcl.patterns import pattern
from kcl.teaching.distances import distance
from kcl.teaching.values import value_hints
from kcl.teaching.view import LONGEST_LINE

_WORDS: Final[Mapping[str, str]] = {
    "true": "True",
    "TRUE": "True",
    "false": "False",
    "FALSE": "False",
    "null": "None",
    "NULL": "None",
    "Null": "None",
    "nil": "None",
    "none": "None",
    "undefined": "Undefined",
    "string": "str",
    "String": "str",
    "integer": "int",
    "Integer": "int",
    "boolean": "bool",
    "Boolean": "bool",
    "double": "float",
    "yes": "True",
    "no": "False",
    "on": "True",
    "off": "False",
}
_DECLARING: Final = ("let", "var", "const", "val", "local")
_UNDEFINED = pattern(r"name '([^']+)' is not defined")
_NO_MODULE = pattern(r"Cannot find the module ([\w.$]+) from ")
_NO_MEMBER = pattern(r"attribute '([^']+)' not found in 'module '([\w.$]+)''")
_NEGATED_TEXT = pattern(r"bad operand type for unary -: '(?:str|\{|\[)")
_DASH = pattern(r"^[ \t]*-[ \t]", re.MULTILINE)
_IMPORT = pattern(r"^import[ \t]+([\w.$]+)(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)
_MEMBER = pattern(r"\.(\w+)")
_GENERIC: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("List", "Array", "Sequence", "Set"), "the type of a list is `[str]`: that of its items in brackets"
    ),
    **dict.fromkeys(("Dict", "Map", "map", "Record"), "the type of a configuration is `{str:int}`: of keys and values"),
    "Optional": "an attribute is optional by a `?` behind its name: `name?: type`",
    "Union": "one type or another is written `str | int`",
    "Literal": 'a few values are a type: `"web" | "job"`',
}
"""Types with parameters in brackets, and how KCL writes them."""
_FROM = pattern(r"from[ \t]+([\w.]+)[ \t]+import[ \t]+(\w+)[ \t]*$")
_SIGNED = pattern(r"[\w./-]*[/-][\w./-]*")
_ASSERTED = pattern(
    r"assert[ \t][^\n\"'#]*?(\w+|[)\]}])([ \t]+)(?=\"[^\"\n]*\"[ \t]*(?:#|$)|'[^'\n]*'[ \t]*(?:#|$))", re.MULTILINE
)
_BEFORE_TEXT: Final = ("and", "or", "not", "in", "is", "if", "else", "assert")
_IS_KEY = pattern(r"[ \t]*[:=](?!=)")
_IS_VALUE = pattern(r"[:=][ \t]*$")
_MOST_PATHS: Final = 3


class Around(Protocol):
    """What could be imported where a program lies."""

    def packages(self) -> Mapping[str, Sequence[str]]:
        """The files of each package, by the path that imports it."""

    def modules(self) -> Collection[str]:
        """The names of the system modules."""

    def text(self, path: str) -> str:
        """The text of a file, "" for one that cannot be read."""


def follows_from(item: Diagnostic, others: Sequence[Diagnostic]) -> bool:
    """Whether a member of a package is not found because the package is not."""
    member = _NO_MEMBER.match(item.message)
    return member is not None and any(
        other.code is Code.CANNOT_FIND_MODULE and other.message.startswith(f"Cannot find the module {member[2]} from ")
        for other in others
    )


def name_hints(item: Diagnostic, sources: Mapping[str, str], around: Around | None) -> Iterator[Hint]:
    """Hints for a finding of the checker or the loader."""
    span = item.primary
    text = None if span is None else sources.get(span.path)
    if span is None or text is None:
        return
    if item.code is Code.CANNOT_FIND_MODULE and around is not None:
        found = _NO_MODULE.match(item.message)
        if found is not None and not found[1].startswith("."):
            yield from _other_package(found[1], span, text, around)
        return
    if item.code is Code.EVALUATION:
        yield from _message_of_assert(span, text)
    if _NEGATED_TEXT.match(item.message) and _DASH.search(text, text.rfind("\n", 0, span.start) + 1, span.start + 2):
        yield Hint("an item of a list stands in a line of its own without `-`")
        return
    if item.code in (Code.TYPE, Code.COMPILE):
        yield from value_hints(item.message, span, text)
    undefined = _UNDEFINED.match(item.message)
    if undefined is not None:
        yield from _undefined(undefined[1], span, text, sources, around)
        return
    member = _NO_MEMBER.match(item.message)
    if member is not None and around is not None and member[2] not in around.packages():
        yield from _absent_package(member[2], span, text, around)


def _message_of_assert(span: Span, text: str) -> Iterator[Hint]:
    """What an `assert` is to say, without the comma before it: a text by itself, which becomes what the file gives."""
    start = text.rfind("\n", 0, span.start) + 1
    start += len(text[start : span.start]) - len(text[start : span.start].lstrip(" \t")) if span.start > start else 0
    if _line_end(text, start) - start <= LONGEST_LINE:
        found = _ASSERTED.match(text, start)
        if found is not None and found[1] not in _BEFORE_TEXT:
            edit = _edit(span, found.start(2), found.end(2), ", ")
            yield Hint("a `,` is missing before the message: `assert condition, message`", edits=(edit,))


# ------------------------------------------------------------------ words of other languages


def _undefined(name: str, span: Span, text: str, sources: Mapping[str, str], around: Around | None) -> Iterator[Hint]:
    places = [each.start() for each in re.finditer(rf"(?<![\w.$]){re.escape(name)}(?!\w)", text[span.start : span.end])]
    if not places or (places[0] and len(places) > 1):
        return  # of a type the whole is reported
    start = span.start + places[0]
    end = start + len(name)
    word = _WORDS.get(name)
    line_start, line_end = text.rfind("\n", 0, start) + 1, _line_end(text, start)
    before, after = text[line_start:start], text[end:line_end]
    if word is not None and not after.lstrip(" ").startswith((".", "(", "{")):
        yield Hint(f"KCL writes `{word}` for `{name}`", edits=(_edit(span, start, end, word),))
    elif name in _DECLARING and not before.strip() and re.match(r"[ \t]+\w+[ \t]*(?::[^=]+)?=(?!=)", after):
        blanks = len(after) - len(after.lstrip())
        edit = _edit(span, start, end + blanks, "")
        yield Hint(f"a name is declared by its first value, without `{name}`: `name = value`", edits=(edit,))
    elif name == "return" and not before.strip() and after.strip():
        edit = _edit(span, start, end + len(after) - len(after.lstrip()), "")
        yield Hint("a lambda returns its last expression, without `return`", edits=(edit,))
    elif name in ("self", "this") and after.startswith("."):
        edit = _edit(span, start, end + 1, "")
        yield Hint(f"an attribute is named directly, without `{name}.`", edits=(edit,))
    elif name == "new" and re.match(r"[ \t]+[\w.]+[ \t]*[{(]", after):
        edit = _edit(span, start, end + len(after) - len(after.lstrip()), "")
        yield Hint("an instance is written `Name {...}`, without `new`", edits=(edit,))
    elif name == "not":
        yield Hint("one `not` is read where two follow each other: write `not (not x)`, or `bool(x)`")
    elif name in _GENERIC and after.startswith("["):
        yield Hint(_GENERIC[name])
    elif name == "from" and (found := _FROM.match(text[start:line_end])) is not None:
        statement = f"import {found[1]}.{found[2]}"
        yield Hint(
            f"a package is imported by its path: `{statement}`", edits=(_edit(span, start, line_end, statement),)
        )
    elif name == "f" and after[:1] in ("'", '"') and "{" in after:
        yield Hint("a value stands in a text as `${value}`, without `f` before the quotes")
    elif _is_in_comment(before, after):
        slashes = line_start + before.rindex("//")
        yield Hint("a comment begins with `#`", edits=(_edit(span, slashes, slashes + 2, "#"),))
    elif (quoted := _unquoted(text, line_start, start, line_end)) is not None:
        yield from _in_quotes(span, text, *quoted)
    else:
        yield from _forgotten_import(name, span, text, sources, around)


def _unquoted(text: str, line_start: int, start: int, line_end: int) -> tuple[int, int] | None:
    """The word with `-` or `/` in it that a name is a part of, none of whose parts the file declares.

    None in a line that nobody wrote by hand: the search takes the square of the length of a word.
    """
    if line_end - line_start > LONGEST_LINE:
        return None
    for found in _SIGNED.finditer(text, line_start, line_end):
        if found.start() <= start < found.end() and re.fullmatch(r"\w[\w./-]*\w", found[0]):
            parts = [each for each in re.split(r"[./-]+", found[0]) if not each.isdigit()]
            declared = rf"^[ \t]*(?:import\b.*[. ])?(?:{'|'.join(map(re.escape, parts))})\??[ \t]*(?:[:=]|$)"
            return None if re.search(declared, text, re.MULTILINE) else found.span()
    return None


def _in_quotes(span: Span, text: str, start: int, end: int) -> Iterator[Hint]:
    """A key, or a value, that is a text without quotes."""
    word = text[start:end]
    before, edit = text[text.rfind("\n", 0, start) + 1 : start], _edit(span, start, end, f'"{word}"')
    if _IS_KEY.match(text, end) and (not before.strip() or before.rstrip()[-1] in "{,"):
        yield Hint(f'a key with such signs stands in quotes: `"{word}"`', edits=(edit,))
    elif _IS_VALUE.search(before) and text[end : _line_end(text, end)].lstrip(" \t")[:1] in ("", ",", "}", "#"):
        yield Hint(f'a text is written in quotes: `"{word}"`', edits=(edit,))


def _is_in_comment(before: str, after: str) -> bool:
    """Whether a word stands in what follows `//` and is no expression: two words without a sign between them."""
    code, slashes, said = before.rpartition("//")
    quotes = code.count('"') % 2 or code.count("'") % 2
    return bool(slashes) and not quotes and re.search(r"\w[ \t]+[A-Za-z]\w*", said + _first(said, after)) is not None


def _first(said: str, after: str) -> str:
    return "x" + after if not said.strip() else "x"


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _edit(span: Span, start: int, end: int, text: str) -> Replacement:
    return Replacement(Span(span.path, start, end), text)


# ------------------------------------------------------------------ packages


def _forgotten_import(
    name: str, span: Span, text: str, sources: Mapping[str, str], around: Around | None
) -> Iterator[Hint]:
    """A package that other files import by this name, or that there is one of and that has what is used of it."""
    member = _MEMBER.match(text, span.start + len(name))
    if member is None or around is None:
        return
    statements = {
        found[0].strip()
        for source in sources.values()
        for found in _IMPORT.finditer(source)
        if name == (found[2] or found[1].rpartition(".")[2]) and not found[1].startswith(".")
    }
    if name in around.modules():
        statements.add(f"import {name}")
    if not statements:
        statements = {
            f"import {path}"
            for path, files in around.packages().items()
            if path.rpartition(".")[2] == name and any(_declares(around.text(file), member[1]) for file in files)
        }
    if len(statements) == 1:
        [statement] = statements
        place = _after_imports(text)
        yield Hint(
            f"`{name}` is a package that this file does not import: `{statement}`",
            edits=(_edit(span, place, place, f"{statement}\n"),),
        )
    elif 1 < len(statements) <= _MOST_PATHS:
        shown = ", ".join(f"`{each}`" for each in sorted(statements))
        yield Hint(f"`{name}` is not imported; there are {shown}")


def _declares(text: str, member: str) -> bool:
    declared = rf"^(?:(?:schema|mixin|protocol|rule|type)[ \t]+)?{re.escape(member)}\b[ \t]*(?:[=:(\[{{]|for\b)"
    return re.search(declared, text, re.MULTILINE) is not None


def _after_imports(text: str) -> int:
    """Where another import may stand: below the others, else at the top."""
    last = max((found.end() for found in _IMPORT.finditer(text)), default=None)
    return 0 if last is None else min(len(text), _line_end(text, last) + 1)


def _other_package(path: str, span: Span, text: str, around: Around) -> Iterator[Hint]:
    near = _near(path, around.packages())
    if len(near) == 1:
        start = text.find(path, span.start, span.end)
        edits = () if start < 0 else (_edit(span, start, start + len(path), near[0]),)
        yield Hint(f"the package `{near[0]}` is there", edits=edits)
    elif near:
        yield Hint("there are the packages " + ", ".join(f"`{each}`" for each in near))


def _absent_package(path: str, span: Span, text: str, around: Around) -> Iterator[Hint]:
    """A package of a dependency: importing one that is not there is let pass, and what is used of it refused."""
    for found in _IMPORT.finditer(text):
        if found[1] == path:
            near = _near(path, around.packages())
            if near:
                edits = (_edit(span, found.start(1), found.end(1), near[0]),) if len(near) == 1 else ()
                there = " or ".join(f"`{each}`" for each in near)
                yield Hint(f"there is no package `{path}`, but {there}", edits=edits)


def _near(path: str, packages: Mapping[str, Sequence[str]]) -> list[str]:
    """The packages whose path is nearest: one that ends with it, that it ends with, or a few letters away."""
    ends = [each for each in packages if each.endswith(f".{path}") or path.endswith(f".{each}")]
    if ends:
        return sorted(ends)[:_MOST_PATHS] if len(ends) <= _MOST_PATHS else []
    rated: dict[str, int] = {}
    wanted = path.split(".")
    for each in packages:
        parts = each.split(".")
        if len(parts) == len(wanted):
            away = [distance(one, other) for one, other in zip(wanted, parts, strict=True)]
            if all(far <= max(1, len(part) // 3) for far, part in zip(away, wanted, strict=True)) and sum(away) <= 3:
                rated[each] = sum(away)
        elif path.rpartition(".")[2] == each.rpartition(".")[2] and set(wanted) < set(parts):
            rated[each] = len(parts) - len(wanted)
    least = min(rated.values(), default=0)
    nearest = sorted(each for each, far in rated.items() if far == least)
    return nearest if len(nearest) <= _MOST_PATHS else []
