"""Numbers that have a unit and do not say it: sizes that KCL has a notation for, long times in seconds.

Only what is a number of bytes or seconds beyond doubt: multiples of a mebibyte written out, and whole hours where the
name says that it is seconds. A name or a comment that says it in words is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kcl.diagnostics import Code
from kcl.patterns import pattern
from kcl.syntax import ast
from kcl.tools.lint.subject import Finding, Subject, found
from kcl.tools.migrate import Edit

_MEBI: Final = 1 << 20
_UNITS: Final = (("Pi", 1 << 50), ("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", _MEBI))
_LIMITS: Final = frozenset((1 << 31, 1 << 32, 1 << 53, 1 << 62, 1 << 63, 1 << 64))
"""Where integers end: they are rarely sizes."""
_SIZES: Final = frozenset(("memory", "storage", "ephemeral-storage", "sizeLimit"))
"""Keys whose values are quantities of bytes in Kubernetes, as texts."""
_PERIODS: Final = ((604_800, "week"), (86_400, "day"), (3_600, "hour"))
_WORD: Final = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SECONDS: Final = frozenset(("second", "seconds", "sec", "secs", "ttl"))
_OTHER_UNITS: Final = frozenset(("ms", "millis", "millisecond", "milliseconds", "us", "micros", "ns", "nanos"))
_NAMED: Final = frozenset(("minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months"))
_DECIMAL: Final = pattern(r"[0-9]+")


def bare_number(subject: Subject) -> Iterator[Finding]:
    constants = {id(each.value) for each in subject.nodes.of(ast.Assign) if _is_constant(each)}
    said = {subject.line(each.start) for each in subject.tree.comments}
    for node in subject.nodes.of(ast.Int, ast.Entry, ast.SchemaAttr, ast.Keyword, ast.Param, ast.Assign):
        if isinstance(node, ast.Int) and id(node) not in constants:
            if _is_size(subject, node) and subject.line(node.start) not in said:
                yield _size(subject, node)
        for name, value in _named_values(node):
            if isinstance(value, ast.Str | ast.Int) and id(value) not in constants:
                look = (
                    _size_text(subject, name, value) if isinstance(value, ast.Str) else _seconds(subject, name, value)
                )
                yield from (each for each in look if subject.line(value.start) not in said)


def _is_constant(node: ast.Assign) -> bool:
    """Whether a variable is what others call a constant: its name says what the number is."""
    name = node.targets[0].name
    return name.startswith("_") or name.isupper()


def _is_size(subject: Subject, node: ast.Int) -> bool:
    written = subject.text[node.start : node.end].replace("_", "")
    return (
        node.suffix is None
        and node.value >= _MEBI
        and node.value % _MEBI == 0
        and node.value not in _LIMITS
        and _DECIMAL.fullmatch(written) is not None
    )


def _short(size: int) -> str:
    unit, factor = next(each for each in _UNITS if size % each[1] == 0)
    return f"{size // factor}{unit}"


def _size(subject: Subject, node: ast.Int) -> Finding:
    size = _short(node.value)
    message = f"{node.value} is {size}: int({size}) says so"
    return found(Code.BARE_NUMBER, message, subject, node, (Edit(subject.path, node.start, node.end, f"int({size})"),))


def _size_text(subject: Subject, name: str, node: ast.Str) -> Iterator[Finding]:
    """No edit: the output would be another text."""
    if name not in _SIZES or _DECIMAL.fullmatch(node.value) is None or len(node.value) > 18:
        return
    size = int(node.value)
    if size >= _MEBI and size % _MEBI == 0:
        yield found(Code.BARE_NUMBER, f'"{size}" is {_short(size)}, which Kubernetes reads as well', subject, node)


def _seconds(subject: Subject, name: str, node: ast.Int) -> Iterator[Finding]:
    """No edit: whether a name or a comment says it better only a person can tell."""
    words = {each.lower() for each in _WORD.findall(name)}
    if not words & _SECONDS or words & (_OTHER_UNITS | _NAMED) or node.suffix is not None or node.value < 3_600:
        return
    length, unit = next((each for each in _PERIODS if node.value % each[0] == 0), (0, ""))
    if length:
        count = node.value // length
        long = f"1 {unit}" if count == 1 else f"{count} {unit}s"
        yield found(Code.BARE_NUMBER, f"{node.value} seconds are {long}: say so in a name or a comment", subject, node)


def _named_values(node: ast.Node) -> Iterator[tuple[str, ast.Expr]]:
    """What a node gives a name to, as a whole."""
    match node:
        case ast.Entry(key=ast.Name(id=name) | ast.Str(value=name)):
            yield name, node.value
        case ast.SchemaAttr(name=name, value=value) if value is not None:
            yield name, value
        case ast.Keyword(name=name, value=value):
            yield name, value
        case ast.Param(name=name, default=default) if default is not None:
            yield name, default
        case ast.Assign():
            yield node.targets[0].name, node.value
        case _:
            pass
