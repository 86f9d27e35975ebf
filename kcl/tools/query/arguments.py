"""Arguments of a program: its calls of `option`, as they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.walking import walk
from kcl.tools.query.reading import tree

_NAMES = ("key", "type", "required", "default", "help")


@dataclass(frozen=True, slots=True)
class Argument:
    """One call. `default` is an expression, "" where there is none; `name` as well where it is no plain text."""

    name: str
    type: str
    is_required: bool
    default: str
    help: str
    file: str
    line: int

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "required": self.is_required,
            "default": self.default,
            "help": self.help,
            "file": self.file,
            "line": self.line,
        }


def arguments(files: Sequence[SourceFile]) -> list[Argument]:
    """The calls of `option` in the files, in order. Raises Unreadable."""
    return [each for file in files for each in of_tree(file, tree(file))]


def of_tree(file: SourceFile, root: ast.Module) -> list[Argument]:
    """The calls of `option` in a file that is parsed already, in order."""
    return [_argument(file, call) for call in _calls(root)]


def _calls(root: ast.Module) -> Iterator[ast.Call]:
    for node in walk(root):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "option":
            yield node


def _argument(file: SourceFile, call: ast.Call) -> Argument:
    given: dict[str, Any] = dict(zip(_NAMES, call.args, strict=False))
    given |= {each.name: each.value for each in call.keywords}

    def said(name: str) -> str:
        node = given.get(name)
        return node.value if isinstance(node, ast.Str) else "" if node is None else _written(file, node)

    required = given.get("required")
    return Argument(
        said("key"),
        said("type"),
        isinstance(required, ast.Constant) and required.kind is ast.ConstantKind.TRUE,
        _written(file, given["default"]) if "default" in given else "",
        said("help"),
        file.path,
        file.position(call.start).line,
    )


def _written(file: SourceFile, node: ast.Node) -> str:
    return file.text[node.start : node.end]
