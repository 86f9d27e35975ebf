"""Variables with what is written for them: values as text, operators, entries and items. Nothing is evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kcl.records import dataclass, field
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.tools.query.reading import tree


@dataclass(frozen=True, slots=True)
class Variable:
    """What is written for one name. `text` is the expression, `type` the schema's name or "", `operator` `=`, `:` or
    `+=`, "" for an item of a list. `line` counts from 1. An expression that is no list or configuration has neither
    `entries` nor `items`. `unseen` are the lines of entries of a configuration that say no name of their own: below an
    `if`, out of a comprehension or another configuration.
    """

    text: str
    type: str
    operator: str
    file: str
    line: int
    entries: tuple[tuple[str, Variable], ...] = field(default=())
    items: tuple[Variable, ...] = field(default=())
    unseen: tuple[int, ...] = field(default=())
    is_configuration: bool = field(default=False)

    def document(self) -> dict[str, Any]:
        """As plain data, without what is empty."""
        said: dict[str, Any] = {"value": self.text, "operator": self.operator, "file": self.file, "line": self.line}
        if self.type:
            said["type"] = self.type
        if self.entries:
            said["entries"] = [{"key": key, **each.document()} for key, each in self.entries]
        if self.items:
            said["items"] = [each.document() for each in self.items]
        return said


def variables(files: Sequence[SourceFile]) -> dict[str, list[Variable]]:
    """All that statements of the files write, by name, in order; also under an `if`. Raises Unreadable."""
    found: dict[str, list[Variable]] = {}
    for file in files:
        for name, each in _of_statements(file, tree(file).body):
            found.setdefault(name, []).append(each)
    return found


def at_path(found: dict[str, list[Variable]], steps: Sequence[str | int]) -> list[Variable]:
    """What is written at a path; of several statements, of each that writes it."""
    name = steps[0]
    present = list(found.get(name, ())) if isinstance(name, str) else []
    for step in steps[1:]:
        below: list[Variable] = []
        for each in present:
            if isinstance(step, str):
                below += [value for key, value in each.entries if key == step]
            elif -len(each.items) <= step < len(each.items):
                below.append(each.items[step])
        present = below
    return present


def _of_statements(file: SourceFile, body: Sequence[Any]) -> Iterator[tuple[str, Variable]]:
    for statement in body:
        match statement:
            case ast.Unification(target=target, value=value):
                yield _name(file, target), _variable(file, value, ":", statement.start)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield _name(file, target), _variable(file, value, "=", statement.start)
            case ast.AugAssign(target=target, op=op, value=value):
                yield _name(file, target), _variable(file, value, op.value, statement.start)
            case ast.If(body=inside, orelse=orelse):
                yield from _of_statements(file, inside)
                yield from _of_statements(file, orelse)
            case _:
                pass


def _name(file: SourceFile, target: ast.Target) -> str:
    return file.text[target.start : target.end] if target.path else target.name


def _variable(file: SourceFile, value: Any, operator: str, start: int) -> Variable:
    inner, name = value, ""
    while isinstance(inner, ast.Paren):
        inner = inner.value
    if isinstance(inner, ast.SchemaExpr):
        name, inner = file.text[inner.name.start : inner.name.end], inner.config
    text = file.text[value.start : value.end]
    if isinstance(value, ast.Config) and not value.written:
        text = f"{{{text}}}"
    return Variable(
        text,
        name,
        operator,
        file.path,
        file.position(start).line,
        tuple(_entries(file, inner)) if isinstance(inner, ast.Config) else (),
        tuple(_variable(file, each, "", each.start) for each in inner.items) if isinstance(inner, ast.List) else (),
        tuple(_unseen(file, inner)) if isinstance(inner, ast.Config) else (),
        isinstance(inner, ast.Config),
    )


def _entries(file: SourceFile, config: ast.Config) -> Iterator[tuple[str, Variable]]:
    for entry in config.items:
        match entry:
            case ast.Entry(key=ast.Name(id=key) | ast.Str(value=key), index=None, op=op, value=value):
                yield key, _variable(file, value, op.value, entry.start)
            case _:
                pass


def _unseen(file: SourceFile, config: ast.Config) -> Iterator[int]:
    for entry in config.items:
        match entry:
            case ast.Entry(key=ast.Name() | ast.Str(), index=None):
                pass
            case _:
                yield file.position(entry.start).line
