"""Renames a name of a package in its files, on disk or given as texts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from kcl.compat.programs import ServiceError
from kcl.source import InMemoryFileSystem, OsFileSystem, SourceFile
from kcl.syntax import ast, parse


def renamed_texts(root: str, symbol: str, texts: Mapping[str, str], new: str, *, on_disk: bool) -> dict[str, str]:
    """The files of a package that change. `symbol` is a variable or schema, `folder:name` one of a folder below."""
    from kcl.tools.lsp.documents import edited
    from kcl.tools.lsp.referring import Refusal, renamed
    from kcl.tools.lsp.sessions import Session

    package, _, path = symbol.rpartition(":")
    name, _, rest = path.partition(".")
    if rest:
        raise ServiceError(f"{symbol}: only variables and schemas of a package are renamed")
    base: Any = OsFileSystem() if on_disk else InMemoryFileSystem({f"{root}/kcl.mod": "", **texts})
    session = Session(base)
    for file, text in texts.items():
        session.open(file, text, None)
    folder = os.path.join(root, *package.split(".")) if package else root
    for file, text in texts.items():
        if os.path.dirname(file) != folder:
            continue
        for offset in _declarations(file, text, name):
            edits = renamed(session, file, offset, new)
            if isinstance(edits, Refusal):
                raise ServiceError(f"{symbol} is not renamed: {edits.reason}")
            return {
                each: edited(session.documents.text(each) or "", made, session.columns) for each, made in edits.items()
            }
    raise ServiceError(f"{symbol} is not declared in the files given")


def _declarations(path: str, text: str, name: str) -> Iterator[int]:
    """Where a variable, schema or type of the file is declared, under conditions too."""
    pending: list[ast.Stmt] = list(reversed(parse(SourceFile(path, text)).module.body))
    while pending:
        match pending.pop():
            case ast.Assign(targets=targets):
                yield from (each.start for each in targets if each.name == name)
            case ast.Unification(target=target) if target.name == name:
                yield target.start
            case (ast.Schema() | ast.Rule()) as statement if statement.name == name:
                yield statement.name_start
            case ast.TypeAlias(name=alias, start=start) if alias == name:
                yield text.index(name, start + len("type"))
            case ast.If(body=body, orelse=orelse):
                pending += [*reversed(orelse), *reversed(body)]
            case _:
                pass
