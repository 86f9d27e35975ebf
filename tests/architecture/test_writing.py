"""Files are replaced in one place, `kcl/whole_file.py`; everything else that renames says here what for."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]

RENAMES = {
    "kcl/stdlib/files.py": "file.mv of a program",
    "kcl/packages/resolving.py": "a checked-out folder",
    "kcl/packages/store.py": "an unpacked folder",
    "runtimes/terraform/moving.py": "a state that is elsewhere already is set aside",
    "runtimes/terraform/restoring.py": "a torn state is set aside",
    "workbench/audit/trail.py": "a broken trail is set aside",
    "workbench/release/checkouts.py": "records move to another checkout",
}
_MAKES_BESIDE = {"mkstemp", "NamedTemporaryFile"}


def renames(tree: ast.AST) -> bool:
    return any(map(_renames, ast.walk(tree)))


def _renames(node: ast.AST) -> bool:
    """Besides those of `os`, a path's `replace` has one argument: a text's has two, those of a date have names."""
    match node:
        case ast.Attribute(value=ast.Name(id="os"), attr="replace" | "rename" | "renames"):
            return True
        case ast.Call(func=ast.Attribute(attr="replace" | "rename"), args=[_], keywords=[]):
            return True
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in _MAKES_BESIDE
        case _:
            return False


def test_the_check_sees_each_way_to_rename() -> None:
    for way in ("os.replace(a, b)", "os.rename(a, b)", "a.replace(b)", "a.parent.rename(b)", "tempfile.mkstemp()"):
        assert renames(ast.parse(way)), way
    for way in ('a.replace("x", "y")', "now.replace(tzinfo=None)", "dataclasses.replace(a, b=c)", "replace(a, b=c)"):
        assert not renames(ast.parse(way)), way


def test_files_are_replaced_in_one_place() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("kcl", "runtimes", "workbench")
        for path in (ROOT / folder).rglob("*.py")
        if any(each in (text := path.read_text("utf-8")) for each in (".replace", "rename", *_MAKES_BESIDE))
        if renames(ast.parse(text))
    }
    assert found == {"kcl/whole_file.py", *RENAMES}
