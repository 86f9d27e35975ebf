"""No module needs another that needs it, whether for its types or inside a function: in all below the faces.

An import under `TYPE_CHECKING`, or where it is used, is welcome where a start should be quick. Where it is there
because the import would fail otherwise, the layers are wrong: the type belongs further down.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def modules(folder: str) -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.Module, known: Iterable[str]) -> Iterator[str]:
    """Yields the modules that one imports, wherever in it."""
    known = frozenset(known)
    for each in ast.walk(tree):
        match each:
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name in known)
            case ast.ImportFrom(module=str() as module, names=names, level=0):
                for name in names:
                    inner = f"{module}.{name.name}"
                    if inner in known or module in known:
                        yield inner if inner in known else module
            case _:
                pass


def cycles(graph: Mapping[str, set[str]]) -> Iterator[frozenset[str]]:
    """Yields the sets of modules that all need each other (Tarjan), those of one module left out."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []

    def visit(node: str) -> Iterator[frozenset[str]]:
        index[node] = low[node] = len(index)
        path.append(node)
        for each in sorted(graph[node]):
            if each not in index:
                yield from visit(each)
                low[node] = min(low[node], low[each])
            elif each in path:
                low[node] = min(low[node], index[each])
        if low[node] == index[node]:
            start = path.index(node)
            members = frozenset(path[start:])
            del path[start:]
            if len(members) > 1:
                yield members

    for each in sorted(graph):
        if each not in index:
            yield from visit(each)


def circles(sources: Mapping[str, str]) -> set[frozenset[str]]:
    found = {name: {*imports(ast.parse(text), sources)} for name, text in sources.items()}
    return set(cycles({name: every - {name} for name, every in found.items()}))


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"a": "import b", "b": ""}, ""),
        ({"a": "if TYPE_CHECKING:\n    import b", "b": ""}, ""),
        ({"a": "import b", "b": "import a"}, "a b"),
        ({"a": "if TYPE_CHECKING:\n    import b", "b": "import a"}, "a b"),
        ({"a": "if TYPE_CHECKING:\n    from b import X", "b": "import c", "c": "from a import Y"}, "a b c"),
        ({"a": "if TYPE_CHECKING:\n    import b", "b": "if TYPE_CHECKING:\n    import a"}, "a b"),
        ({"a": "if TYPE_CHECKING:\n    from p import b", "p": "", "p.b": "import a"}, "a p.b"),
        ({"a": "def f():\n    import b", "b": "import a"}, "a b"),
        ({"a": "class A:\n    def f(self):\n        from b import X", "b": "import a"}, "a b"),
    ],
)
def test_the_check_sees_a_cycle(sources: Mapping[str, str], expected: str) -> None:
    assert circles(sources) == ({frozenset(expected.split())} if expected else set())


@pytest.mark.parametrize(
    "folder",
    [
        *("kcl", "runtimes", "workbench/project", "workbench/engine", "workbench/release", "workbench/session"),
        *("workbench/present", "workbench/cli", "workbench/serving", "workbench/audit", "workbench/trust"),
    ],
)
def test_no_modules_need_each_other(folder: str) -> None:
    sources = {name: path.read_text(encoding="utf-8") for name, path in modules(folder).items()}
    assert {" ".join(sorted(each)) for each in circles(sources)} == set()
