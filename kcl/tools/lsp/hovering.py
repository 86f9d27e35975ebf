"""What is shown of a name: its declaration in KCL, its documentation, and where it is declared."""

from __future__ import annotations

import os
from typing import Final

from kcl.records import dataclass
from kcl.semantic.scopes import ModuleType
from kcl.semantic.types import FunctionType, SchemaType, Type, widened
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.tools.checked import LIBRARY
from kcl.tools.doc.masking import Masking
from kcl.tools.docstrings import of_attribute, plain
from kcl.tools.lsp.resolving import Name, name_at
from kcl.tools.lsp.views import View

_MOST_SHOWN: Final = 8_000
"""Characters of a declaration, and of its documentation, that somebody may want to read beside the text."""


@dataclass(frozen=True, slots=True)
class Hover:
    """`code` is KCL, `doc` plain text; `place` is `FILE:LINE`, "" where there is none."""

    start: int
    end: int
    code: str
    doc: str
    place: str

    def markdown(self) -> str:
        parts = [f"```kcl\n{self.code}\n```", self.doc, f"declared in {self.place}" if self.place else ""]
        return "\n\n".join(each for each in parts if each)


def hover(view: View, offset: int) -> Hover | None:
    """What there is to say at an offset; None where there is no name. Secrets are masked."""
    found = name_at(view, offset)
    if found is None:
        return None
    masking = Masking()
    if found.module is not None:
        masking.learn(found.module.tree, found.module.source.text)
    said = _bounded(masking.text(code(found, masking))), _bounded(masking.text(documentation(found)))
    return Hover(found.start, found.end, *said, _place(view, found))


def _bounded(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}\n... ({len(text):,} characters)"


def code(found: Name, masking: Masking) -> str:
    """How a name is declared."""
    node = found.node
    match node:
        case ast.Schema() | ast.Rule():
            return _schema(found, node, masking)
        case ast.SchemaAttr() if found.module is not None:
            text = found.module.source.text
            value = masking.code(text, node.value, node.name) if node.value is not None else ""
            default = f" {node.op} {value}" if node.op and "\n" not in value else f" {node.op} ..." if node.op else ""
            return f"{node.name}{'?' if node.optional else ''}: {text[node.type.start : node.type.end]}{default}"
        case ast.Import():
            return f"import {node.path}"
        case ast.TypeAlias() if found.module is not None:
            return found.module.source.text[node.start : node.end].rstrip()
        case _:
            return _typed(found)


def _typed(found: Name) -> str:
    signature = LIBRARY.types.builtins.get(found.text) if found.declaration is None else None
    if signature is not None and isinstance(found.type, FunctionType):
        return signature
    return f"{found.text}: {shown(widened(found.type))}"  # what a value is, may be a secret


def shown(type_: Type) -> str:
    """A type as a person reads it: of a function with the names of its parameters."""
    if isinstance(type_, FunctionType) and not type_.variadic:
        params = ", ".join(f"{each.name}: {each.type}" if each.name else str(each.type) for each in type_.params)
        return f"({params}) -> {type_.result}"
    if isinstance(type_, SchemaType | ModuleType):
        return str(type_)
    text = str(type_)
    return text if len(text) <= 400 else f"{text[:400]}..."


def _schema(found: Name, node: ast.Schema | ast.Rule, masking: Masking) -> str:
    assert found.module is not None
    text = found.module.source.text
    doc_or_body = [each.start for each in (node.doc, *getattr(node, "body", ()), *node.checks) if each is not None]
    head, at = "", node.name_start
    for param in node.params:
        head += text[at : param.start] + masking.code(text, param, "")
        at = param.end
    head += text[at : min(doc_or_body, default=node.end)]
    word = "rule" if isinstance(node, ast.Rule) else "schema"
    lines = [f"{word} {head.partition(chr(10))[0].rstrip().rstrip(':')}:"]
    for statement in getattr(node, "body", ()):
        if isinstance(statement, ast.SchemaAttr):
            optional = "?" if statement.optional else ""
            lines.append(f"    {statement.name}{optional}: {text[statement.type.start : statement.type.end]}")
    return "\n".join(lines[:40] + (["    ..."] if len(lines) > 40 else []))


def documentation(found: Name) -> str:
    """What was written about a name, "" if nothing was."""
    node = found.node
    if isinstance(node, ast.Schema | ast.Rule):
        return plain(node.doc.value) if node.doc is not None else ""
    if found.owner is not None and found.owner.doc is not None:
        return of_attribute(plain(found.owner.doc.value), found.text)
    return ""


def _place(view: View, found: Name) -> str:
    if found.declaration is None:
        return ""
    path = found.declaration.path
    text = found.module.source.text if found.module is not None else view.text
    line = SourceFile(path, text).position(found.declaration.start).line
    root = view.program.root
    shown_path = os.path.relpath(path, root) if path.startswith(root + os.sep) else path
    return f"{shown_path}:{line}"
