"""What people write who know other languages, and how KCL writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.teaching.view import Change, Remedy, View, nearby


@dataclass(frozen=True, slots=True)
class _Habit:
    """`message` may hold groups of the pattern, as `written` does. With `once` only the first in a line is changed."""

    pattern: re.Pattern[str]
    written: str
    message: str
    offered: bool = True


def _habit(found: str, written: str, message: str, *, offered: bool = True) -> _Habit:
    return _Habit(pattern(found), written, message, offered)


_HABITS: Final = (
    _habit(r"[ \t]*&&[ \t]*", " and ", "KCL writes `and` for `&&`"),
    _habit(r"[ \t]*\|\|[ \t]*", " or ", "KCL writes `or` for `||`"),
    _habit(r"!(?!=)[ \t]*", "not ", "KCL writes `not` for `!`"),
    _habit(r"===", "==", "KCL writes `==` for `===`"),
    _habit(r"!==", "!=", "KCL writes `!=` for `!==`"),
    _habit(r"<>", "!=", "KCL writes `!=` for `<>`"),
    _habit(r":=", "=", "KCL writes `=` for `:=`"),
    _habit(r"([\w.]+)[ \t]*\+\+[ \t]*$", r"\1 += 1", "KCL has no `++`: write `\\1 += 1`"),
    _habit(r"([\w.]+)[ \t]*--[ \t]*$", r"\1 -= 1", "KCL has no `--`: write `\\1 -= 1`"),
    _habit(r";[ \t]*$", "", "a line ends a statement: no `;` is needed"),
    _habit(r";[ \t]*", ", ", "entries in one line are separated by `,`"),
    _habit(r"\b(?:else[ \t]+if|elseif|elsif)\b", "elif", "KCL writes `elif` for `else if`"),
    _habit(
        r"^(\s*[\w$]+)[ \t]*:[ \t]*&([\w-]+)[ \t]+(\S.*)$",
        r"\1 = \3",
        "there are no anchors: `_\\2 = ...` gives a value a name, which others use",
    ),
    _habit(
        r"^(\s*[\w$]+)[ \t]*:[ \t]*\*(\w+)[ \t]*$",
        r"\1 = \2",
        "there are no aliases: what `_\\2 = ...` gives a name is used by that name",
    ),
    _habit(r"^(\s*)class\b", r"\1schema", "KCL writes `schema` for `class`"),
    _habit(
        r"^(\s*)(?:type|struct|interface)[ \t]+(\w+)(?:[ \t]+struct)?[ \t]*:?$",
        r"\1schema \2:",
        "a type with attributes is a `schema`",
    ),
    _habit(
        r"^(\s*schema[ \t]+\w+)[ \t]+extends[ \t]+([\w.]+)",
        r"\1(\2)",
        "a schema names its base in brackets: `\\1(\\2)`",
    ),
    _habit(
        r"^(\s*(?:schema|mixin|protocol)[ \t]+\w+\([ \t]*[\w.]+)[ \t]*,[^)]*\)",
        r"\1)",
        "a schema has one base; more attributes come from mixins: `mixin [NameMixin]` in its body",
        offered=False,
    ),
    _habit(r"^(\s*schema[ \t]+\w+)\([ \t]*\)", r"\1", "a schema without a base has no brackets: `\\1`"),
    _habit(
        r"^(\s*(?:if|elif)\b[^=]*[^=!<>\s])[ \t]*=[ \t]*(?!=)", r"\1 == ", "values are compared by `==`; `=` assigns"
    ),
    _habit(
        r"^(\s*)(\w[\w.]*)[ \t]*=[ \t]*([^?]+?)[ \t]*\?[ \t]*([^:?]+?)[ \t]*:[ \t]*(.+?)[ \t]*$",
        r"\1\2 = \4 if \3 else \5",
        "KCL writes `\\4 if \\3 else \\5` for `\\3 ? \\4 : \\5`",
    ),
    _habit(
        r"\blambda[ \t]+([\w, \t]+):[ \t]*([^{}]+?)[ \t]*$",
        r"lambda \1 {\2}",
        "the body of a lambda stands in braces: `lambda \\1 {...}`",
    ),
    _habit(
        r"\(?(\w+(?:[ \t]*,[ \t]*\w+)*)\)?[ \t]*=>[ \t]*([^{}]+?)[ \t]*$",
        r"lambda \1 {\2}",
        "a function is written `lambda \\1 {...}`",
    ),
    _habit(
        r"^(\s*\w+\??[ \t]*:[ \t]*[^=?\s]+)\?",
        r"\1",
        "an attribute is optional by a `?` behind its name: `name?: type`",
    ),
    _habit(
        r"^(\s*[\w.\"]+\??[ \t]*:.*?|\s*[\w.]+[ \t]*=.*?),[ \t]*$", r"\1", "a line ends an attribute: no `,` is needed"
    ),
    _habit("[“”„]", '"', 'quotes are written `"`'),
    _habit("[‘’`]", '"', 'quotes are written `"`'),
    _habit(r"/\*[ \t]*(.*?)[ \t]*\*/[ \t]*$", r"# \1", "a comment begins with `#` and ends with its line"),
    _habit(r"//[ \t]*(.*)$", r"# \1", "a comment begins with `#`"),
    _habit(
        r"^---[ \t]*$",
        "",
        "a program is one document; several are printed by `manifests.yaml_stream([...])`, after `import manifests`",
        offered=False,
    ),
    _habit(r"^--[ \t]*(.*)$", r"# \1", "a comment begins with `#`"),
    _habit(
        r"\blambda[ \t]*\(([\w, \t:.]*)\)",
        r"lambda \1",
        "the parameters of a lambda stand in no brackets: `lambda \\1 {...}`",
    ),
    _habit(r"(\blambda\b[^{]*->[^{:]*):[ \t]*\{", r"\1 {", "no `:` stands before the body of a lambda"),
    _habit(r"\(([^()]*,[^()]*)\)", r"[\1]", "KCL has no tuples: a list is written `[...]`"),
    _habit(r"\.\.\.(?=[\w{])", "**", "KCL writes `**` for `...`"),
    _habit(r"[ \t]*\?\?[ \t]*", " or ", "KCL writes `or` for `??`"),
    _habit(
        r"\bif[ \t]+([^{}]+?)[ \t]*\{[ \t]*([^{}]+?)[ \t]*\}[ \t]*else[ \t]*\{[ \t]*([^{}]+?)[ \t]*\}",
        r"\2 if \1 else \3",
        "KCL writes `\\2 if \\1 else \\3`",
    ),
    _habit(r"^(\s+[^:]+?)[ \t]*:[ \t]*(?=[\"'])", r"\1, ", "the message of a check stands behind a `,`"),
    _habit(r"\b[Ll]ist<([\w.]+)>", r"[\1]", "a list of them is `[\\1]`"),
    _habit(r"^(\s*import[ \t]+[\w.]+)\.\*", r"\1", "a package is imported as a whole, without `.*`"),
    _habit(
        r"\{\{[ \t]*\.?(?:Values\.)?(\w+)[ \t]*\}\}",
        r'option("\1")',
        'KCL has no templates: what comes from outside is an option, `option("\\1")`, given by `-D \\1=...`',
    ),
    _habit(
        r"\$\{(\w+)\}",
        r'option("\1")',
        'what comes from outside is an option: `option("\\1")`, given by `-D \\1=...`',
    ),
    _habit(r"\b(\d+)([KMGTP]i)B\b", r"\1\2", "a size is written `\\1\\2`"),
)
"""Tried in lines in which an error was reported, in this order, and never in strings or comments."""

_COMPOUND = pattern(r"(\s*)(schema|mixin|protocol|rule|if|elif|else|check)\b")
_FUNCTION = pattern(r"(\s*)(?:def|function|func|fn)[ \t]+(\w+)[ \t]*\(([^()]*)\)[^{]*?[ \t]*([:{])[ \t]*$")
_LOOP = pattern(r"\s*(?:for|while)\b.*[:{][ \t]*$")
_VALUE = pattern(r"(\s*(?:[\w.$-]+|\"[^\"]*\")[ \t]*[:=][ \t]*)((?=.*\w)[\w/*.][\w/*.:@%+-]*(?: [\w/*.:@%+,-]+)*)$")
_IMPORT = pattern(r"\s*import[ \t]+([\"']?)((?:\./)?[\w-]+(?:[./][\w-]+)*)\1")
_ODD_KEY = pattern(r"(\s*)([^\s\"'=:{}\[\](),#]+)[ \t]*[:=](?!=)")
_TOP = pattern(r"([A-Za-z_$][\w.]*)[ \t]*:(?!=)[ \t]*(\S.*)$")
_MISSING = pattern(r'expected one of \["(:)(?:", "=", "\+=)?"\] got|expected one of \["(=|\)|\]|\}|in|\{)"\] got')
_WITHOUT_VALUE = pattern(r"(?:^|[^=!<>:+*/%&|^-])(=|:|\+=|[-+*/%]|==|!=|<|>|<=|>=|\b(?:and|or|not|in))[ \t]*$")


def habit_remedies(view: View, at: int, message: str) -> Iterator[Remedy]:
    lines = nearby(view, at)
    for line in lines:
        yield from _compound(view, line)
        for habit in _HABITS:
            yield from _of_habit(view, line, habit)
    for line in lines:
        yield from _import(view, line)
        yield from _function(view, line)
        yield from _loop(view, line)
    yield from _top_level(view)
    for line in lines:
        yield from _unquoted(view, line)
        yield from _goes_on(view, line)
    yield from _missing_sign(view, at, message)
    yield from _missing_value(view, at, message)


def _of_habit(view: View, line: int, habit: _Habit) -> Iterator[Remedy]:
    start = view.starts[line]
    text = view.text[start : view.code_end(line)]
    found = [each for each in habit.pattern.finditer(text) if not _is_quoted(view, start, each)]
    if not found:
        return
    changes = tuple(Change(start + each.start(), start + each.end(), each.expand(habit.written)) for each in found)
    said = found[0].expand(habit.message.replace("\\n", "\\\\n"))
    if len(changes) > 1:
        yield Remedy(said, changes[:1], offered=habit.offered)
    yield Remedy(said.strip(), changes, offered=habit.offered)


def _is_quoted(view: View, start: int, found: re.Match[str]) -> bool:
    """Whether the match begins in a string or a comment; blanks before it are outside in any case."""
    text = found[0]
    return view.is_quoted(start + found.start() + len(text) - len(text.lstrip()))


# ------------------------------------------------------------------ headers and blocks


def _compound(view: View, line: int) -> Iterator[Remedy]:
    """`schema A`, `if x` and so on, without a colon or with braces."""
    start, end = view.starts[line], view.code_end(line)
    text = view.text[start:end]
    found = _COMPOUND.match(text)
    if found is None or text.endswith(":"):
        return
    keyword = found[2]
    if not text.endswith("{"):
        yield Remedy(f"a `:` is missing at the end of the line: `{text.strip()}:`", (Change(end, end, ":"),))
        return
    head = text[:-1].rstrip()
    braces = [Change(start + len(head), end, ":")]
    closing = _closing_line(view, line, found[1])
    if closing is not None:
        first, last, following = closing
        braces.append(Change(first, last, following))
    message = f"`{keyword}` has a `:` and indented lines, no braces"
    yield Remedy(message, tuple(braces), (end - 1, end, "instead of this brace"))


def _closing_line(view: View, line: int, blanks: str) -> tuple[int, int, str] | None:
    """Where the closing brace of a block stands, and what is left of its line."""
    for number in range(line + 1, len(view.starts)):
        text = view.line(number)
        if text.strip() and not text.startswith(blanks + " ") and not text.startswith(blanks + "\t"):
            rest = text.strip()
            if not rest.startswith("}"):
                return None
            start = view.starts[number]
            begins = start + len(text) - len(text.lstrip())
            rest = rest[1:].strip()
            return (begins, start + len(text), rest) if rest else (start, start + len(text), "")
    return None


def _import(view: View, line: int) -> Iterator[Remedy]:
    """`import "a/b"`, and `import a/b`."""
    start = view.starts[line]
    found = _IMPORT.match(view.line(line))
    if found is None:
        return
    dotted = found[2].replace("./", ".", 1) if found[2].startswith("./") else found[2]
    dotted = dotted.replace("/", ".")
    if dotted != view.line(line)[found.start(1) : found.end()]:
        change = Change(start + found.start(1), start + found.end(), dotted)
        yield Remedy(f"a package is named by its folders, with dots and without quotes: `import {dotted}`", (change,))


def _function(view: View, line: int) -> Iterator[Remedy]:
    start = view.starts[line]
    found = _FUNCTION.match(view.text[start : view.code_end(line)])
    if found is None:
        return
    blanks, name, parameters, opening = found.groups()
    parameters = re.sub(r"\s+", " ", parameters).strip()
    head = f"{blanks}{name} = lambda {parameters}".rstrip() + " {"
    changes = [Change(start, view.code_end(line), head)]
    last = view.block(line)
    for number in range(line + 1, last + 1):
        text = view.line(number)
        body = text.lstrip()
        if body.startswith("return "):
            at = view.starts[number] + len(text) - len(body)
            changes.append(Change(at, at + len("return "), ""))
    if opening == ":":
        end = view.starts[last] + len(view.line(last))
        changes.append(Change(end, end, f"\n{blanks}}}"))
    message = f"a function is a value: `{name} = lambda {parameters} {{...}}`, which returns its last expression"
    yield Remedy(message.replace("lambda  {", "lambda {"), tuple(changes))


def _loop(view: View, line: int) -> Iterator[Remedy]:
    text = view.text[view.starts[line] : view.code_end(line)]
    if _LOOP.match(text):
        last = view.block(line)
        stop = view.starts[last] + len(view.line(last))
        message = "there are no loops: a comprehension makes a list, `[f(x) for x in xs]`, or a configuration"
        yield Remedy(message, (Change(view.starts[line], stop, ""),), offered=False)


# ------------------------------------------------------------------ values


def _top_level(view: View) -> Iterator[Remedy]:
    """`key: value` outside of all braces, as YAML has it: in a line, or in all lines like it."""
    changes = []
    depth, ends = 0, {}
    for kind, start, _, _ in view.tokens:
        if kind in ("(", "[", "{"):
            depth += 1
        elif kind in (")", "]", "}"):
            depth = max(0, depth - 1)
        elif kind == "newline" and view.line_of(start) not in ends:
            ends[view.line_of(start)] = depth
    before = 0
    for number, start in enumerate(view.starts):
        text = view.text[start : view.code_end(number)]
        found = None if before else _TOP.match(text)
        before = ends.get(number, before)
        if found is None or "=" in text or view.is_quoted(start) or _COMPOUND.match(text):
            continue
        colon = start + found.end(1)
        gap = start + found.start(2)
        changes.append(Change(colon, gap, " = "))
    said = "outside of braces a value is given by `=`: `name = value`; a `:` says a type"
    yield from (Remedy(said, tuple(each)) for each in ([changes] if changes else []))
    yield from (Remedy(said, (each,)) for each in changes[:12] if len(changes) > 1)


def _unquoted(view: View, line: int) -> Iterator[Remedy]:
    """Texts and keys without quotes, which YAML lets pass."""
    start, end = view.starts[line], view.code_end(line)
    text = view.text[start:end]
    value = _VALUE.match(text)
    if value is not None and not any(sign in value[2] for sign in "\"'{}[]\\") and not value[2].endswith(":"):
        written = value[2].rstrip(" \t,")
        if not any(
            view.is_quoted(each) for each in range(start + value.start(2), start + value.start(2) + len(written))
        ):
            at = start + value.start(2)
            change = Change(at, at + len(written), f'"{written}"')
            yield Remedy("a text is written in quotes", (change,), last_resort=True)
    key = _ODD_KEY.match(text)
    if key is not None and not key[2].isidentifier():
        at = start + key.start(2)
        change = Change(at, at + len(key[2]), f'"{key[2]}"')
        yield Remedy(f'a key like this is written in quotes: `"{key[2]}"`', (change,), last_resort=True)


def _goes_on(view: View, line: int) -> Iterator[Remedy]:
    """An expression that goes on in the next line."""
    following = view.after(line)
    end = view.code_end(line)
    text = view.text[view.starts[line] : end]
    if following is not None and view.indent(following) > view.indent(line) and _WITHOUT_VALUE.search(text):
        begins = view.starts[following] + len(view.line(following)) - len(view.line(following).lstrip())
        yield Remedy(
            "a statement ends with its line unless a `\\` stands there",
            (Change(end, begins, " \\\n" + view.text[view.starts[following] : begins]),),
        )


def _missing_sign(view: View, at: int, message: str) -> Iterator[Remedy]:
    found = _MISSING.match(message)
    if found is None:
        return
    sign = found[1] or found[2]
    place = at
    if view.text[at : at + 1] and at + 1 >= view.code_end(view.line_of(at)):
        place = at + 1  # what is missing at the end of a line is reported at its last character
    if sign == ":":
        place = max((end for kind, _, end, _ in view.tokens if kind != "newline" and end <= at), default=at)
    for where in dict.fromkeys((place, at)):
        padded = f" {sign} " if sign in ("=", "in") else sign
        yield Remedy(f"a `{sign}` is missing here", (Change(where, where, padded),))


def _missing_value(view: View, at: int, message: str) -> Iterator[Remedy]:
    if not message.startswith("expected one of") or not message.endswith((" got newline", " got eof")):
        return
    line = view.line_of(at)
    end = view.code_end(line)
    found = _WITHOUT_VALUE.search(view.text[view.starts[line] : end])
    if found is not None:
        said = f"a value is missing behind `{found[1]}`"
        yield Remedy(said, (Change(end, end, " 0"),), offered=False)
