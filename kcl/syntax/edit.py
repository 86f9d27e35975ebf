"""Change one value in the text of a program, and leave every other character as it is.

The place is named as users think of it: a variable of the file and the keys below it, as in
`server`, `["container", "image"]`. What stands there is replaced; what does not is added to the
innermost configuration that exists, in the style it is written in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

from kcl.diagnostics import Code, KclError, Span, error
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.parser import parse
from kcl.syntax.walking import written_key

Path = Sequence[str | int]

_IDENTIFIER = pattern(r"[^\W\d]\w*")


def locate_value(source: SourceFile, variable: str, path: Path) -> Span | None:
    """Where the value of `variable` at `path` is written; None if the file does not write it.

    Of several statements or entries for one place the last counts. Entries under an `if` do not:
    whether they hold is not known before evaluation. Raises KclError if the file cannot be parsed.
    """
    found = _find(source, variable, path)
    return source.span(found.value.start, found.value.end) if found is not None and not found.missing else None


def replace_value(source: SourceFile, variable: str, path: Path, new_text: str) -> str:
    """The file's text with `new_text`, an expression, as the value of `variable` at `path`.

    The operator of an entry that exists is kept; a new one is added with `=`. Raises KclError, with
    the place, if the file or `new_text` cannot be parsed, the variable is not in the file, or what
    stands on the way there is neither a configuration nor a list written out.
    """
    _check_expression(new_text)
    found = _find(source, variable, path)
    if found is None:
        where = source.span(0, 0)
        raise KclError((error(Code.COMPILE, f"the file does not define '{variable}'", where),))
    if not found.missing:
        edit = (found.value.start, found.value.end, new_text)
    else:
        edit = _addition(source, found, new_text)
    start, end, inserted = edit
    text = source.text[:start] + inserted + source.text[end:]
    _parsed(SourceFile(source.path, text))
    return text


_INTERPOLATION = pattern(r"\$\{([^}]*\})?")


def expression_text(value: object) -> str:
    """A plain value (None, bool, number, str, list, mapping of str) as the text of a KCL expression.

    Raises TypeError for anything else, and ValueError for a number KCL cannot write.
    """
    match value:
        case None:
            return "None"
        case bool():
            return str(value)
        case int():
            return str(value)
        case float():
            if not math.isfinite(value):
                raise ValueError(f"KCL cannot write the number {value}")
            return repr(value)
        case str():
            # An escaped `${` must still find its brace, and all between them is text.
            return _INTERPOLATION.sub(lambda found: "\\x24{" if found[1] is None else "\\" + found[0], _quoted(value))
        case list() | tuple():
            return "[" + ", ".join(expression_text(item) for item in value) + "]"
        case Mapping():
            entries = (f"{expression_text(key)} = {expression_text(item)}" for key, item in value.items())
            return "{" + ", ".join(entries) + "}"
        case _:
            raise TypeError(f"{type(value).__name__} is no plain value")


@dataclass(frozen=True, slots=True)
class _Found:
    """How far a path leads: the value reached, and the keys below it that are not written."""

    value: ast.Expr
    missing: tuple[str | int, ...]


def _find(source: SourceFile, variable: str, path: Path) -> _Found | None:
    """The statement for `variable` that leads furthest along `path`, the last of several."""
    best: _Found | None = None
    for statement in _parsed(source).body:
        value = _value_for(statement, variable)
        if value is not None:
            found = _follow(value, tuple(path))
            if best is None or len(found.missing) <= len(best.missing):
                best = found
    return best


def _value_for(statement: ast.Stmt, variable: str) -> ast.Expr | None:
    match statement:
        case ast.Unification(target=ast.Target(name=name, path=[])) if name == variable:
            return statement.value
        case ast.Assign() if any(target.name == variable and not target.path for target in statement.targets):
            return statement.value
        case _:
            return None


def _follow(value: ast.Expr, path: tuple[str | int, ...]) -> _Found:
    if not path:
        return _Found(value, ())
    head, rest = path[0], path[1:]
    best = _Found(value, path)
    container = _container(value)
    if isinstance(container, ast.Config) and isinstance(head, str):
        for entry in container.items:
            if isinstance(entry, ast.Entry) and written_key(entry) == head:
                found = _follow(entry.value, rest)
                if found.missing and _is_unwritten(found.value):
                    continue  # a level of a dotted key has no braces to add to: add beside it
                if len(found.missing) <= len(best.missing):
                    best = found
    elif isinstance(container, ast.List) and isinstance(head, int) and 0 <= head < len(container.items):
        *before, item = container.items[: head + 1]
        if not any(isinstance(other, ast.Starred | ast.ListIf) for other in (*before, item)):
            assert not isinstance(item, ast.Starred | ast.ListIf)
            best = _follow(item, rest)
    return best


def _is_unwritten(value: ast.Expr) -> bool:
    return isinstance(value, ast.Config) and not value.written


def _container(value: ast.Expr) -> ast.Config | ast.ConfigComp | ast.List | None:
    while isinstance(value, ast.Paren):
        value = value.value
    match value:
        case ast.SchemaExpr():
            return value.config
        case ast.Config() | ast.ConfigComp() | ast.List():
            return value
        case _:
            return None


def _addition(source: SourceFile, found: _Found, new_text: str) -> tuple[int, int, str]:
    """The edit that adds the missing keys to the configuration reached: start, end, inserted text."""
    config = _container(found.value)
    numbers = [part for part in found.missing if isinstance(part, int)]
    if not isinstance(config, ast.Config):
        _refuse(
            source, found.value, f"cannot set {_shown(found.missing)} here: this is not a configuration written out"
        )
    if numbers:
        _refuse(source, found.value, f"there is no item {numbers[0]} here")
    entry = _entry_text([str(part) for part in found.missing], new_text)
    if not config.items:
        return config.start + 1, config.end - 1, entry
    last = config.items[-1].end
    if "\n" not in source.text[config.start : config.items[0].start]:
        return last, last, f", {entry}"
    line_end = source.text.find("\n", last)
    at = last if line_end < 0 or line_end >= config.end else line_end
    return at, at, f"\n{_margin(source.text, config.items[-1].start)}{entry}"


def _margin(text: str, offset: int) -> str:
    """The blanks that begin the line of `offset`."""
    start = text.rfind("\n", 0, offset) + 1
    line = text[start:offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _entry_text(keys: list[str], value: str) -> str:
    if all(_IDENTIFIER.fullmatch(key) for key in keys):
        return f"{'.'.join(keys)} = {value}"
    text = f"{_key_text(keys[-1])} = {value}"
    for key in reversed(keys[:-1]):
        text = f"{_key_text(key)}: {{{text}}}"
    return text


def _key_text(key: str) -> str:
    return key if _IDENTIFIER.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    import json  # few runs change a text

    return json.dumps(text, ensure_ascii=False)


def _shown(path: tuple[str | int, ...]) -> str:
    return "'" + ".".join(map(str, path)) + "'"


def _refuse(source: SourceFile, value: ast.Expr, message: str) -> NoReturn:
    raise KclError((error(Code.COMPILE, message, source.span(value.start, value.end)),))


def _check_expression(text: str) -> None:
    """Raises KclError unless `text` is one expression, which may go over several lines in brackets."""
    module = _parsed(SourceFile("<new value>", f"value = {text}\n"))
    if len(module.body) != 1 or not isinstance(module.body[0], ast.Assign) or len(module.body[0].targets) != 1:
        span = Span("<new value>", 0, len(text))
        raise KclError((error(Code.INVALID_SYNTAX, f"not one expression: {text}", span),))


def _parsed(source: SourceFile) -> ast.Module:
    result = parse(source)
    if result.diagnostics:
        raise KclError(result.diagnostics)
    return result.module
