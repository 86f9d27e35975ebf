"""Which line of the output comes of which variable, as the official service tells it.

It is a list of places and no mapping of the standard, though it says `"version": 3`: for each public variable the line
of YAML that it begins at, from 0, and the line, from 1, and column, from 0, of the statement that says it last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence

from kcl.api import RunResult
from kcl.emit import yaml_stream
from kcl.source import SourceFile
from kcl.syntax import ast


def sourcemap(result: RunResult, output: str, shown: Mapping[str, str], *, is_selected: bool) -> str:
    """JSON for a result. `shown` are other names for files; of what a selector chose nothing is known."""
    document = result.documents[0] if len(result.documents) == 1 else None
    if is_selected or result.emitted is not None or not isinstance(document, dict):
        document = {}
    places = _places(result, shown)
    files: list[str] = []
    names: list[str] = []
    mappings = []
    line = 0
    for name in sorted(document) if result.sort_keys else document:
        place = places.get(name)
        if place is not None:
            file, position = place
            if file not in files:
                files.append(file)
            names.append(name)
            mappings.append(
                {
                    "gen_line": line,
                    "src_index": files.index(file),
                    "src_line": position[0],
                    "src_col": position[1],
                    "name_index": len(names) - 1,
                }
            )
        line += yaml_stream([{name: document[name]}], sort_keys=result.sort_keys).count("\n")
    said = {
        "version": 3,
        "file": output,
        "sources": files,
        "sourcesContent": [None] * len(files),
        "names": names,
        "mappings": mappings,
    }
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def _places(result: RunResult, shown: Mapping[str, str]) -> dict[str, tuple[str, tuple[int, int]]]:
    """By variable, the file and the line and column of the last statement that says something of it."""
    found = {}
    for path, tree in result.trees.items():
        source = SourceFile(path, result.sources[path])
        for name, start in _said(tree.body):
            at = source.position(start)
            if not name.startswith("_"):
                found[name] = shown.get(path, os.path.abspath(path)), (at.line, at.column - 1)
    return found


def _said(body: Sequence[ast.Stmt]) -> Iterator[tuple[str, int]]:
    for statement in body:
        match statement:
            case ast.Assign(targets=targets):
                yield from ((each.name, each.start) for each in targets)
            case ast.AugAssign(target=target) | ast.Unification(target=target):
                yield target.name, target.start
            case ast.If():
                yield from _said(statement.body)
                yield from _said(statement.orelse)
            case _:
                pass
