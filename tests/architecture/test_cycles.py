"""No module of the language and of the engine needs another that needs it, not even for its types.

An import under `TYPE_CHECKING` costs nothing when a program runs, so it is welcome where a start should be quick. Where
it is there because the import would fail otherwise, the layers are wrong: the type belongs further down.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

KNOWN: Mapping[str, frozenset[str]] = {
    "kcl": frozenset(
        {
            "kcl.evaluator.runtime -> kcl.evaluator.functions",
            "kcl.evaluator.runtime -> kcl.evaluator.lexical",
            "kcl.evaluator.runtime -> kcl.evaluator.schemas",
            "kcl.evaluator.runtime -> kcl.evaluator.scopes",
            "kcl.evaluator.runtime_types -> kcl.evaluator.schemas",
            "kcl.evaluator.schemas -> kcl.evaluator.lexical",
            "kcl.evaluator.schemas -> kcl.evaluator.statements",
            "kcl.evaluator.scopes -> kcl.evaluator.schemas",
            "kcl.evaluator.type_lowering -> kcl.evaluator.schemas",
        }
    )
}
"""What is wrong, and is to become less: an evaluation, its scopes and its schemas know each other."""


def modules(folder: str) -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.Module, known: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yields the modules that one imports when it is loaded, and whether only the type checker does."""
    known = frozenset(known)

    def within(statements: Iterable[ast.stmt], is_type_only: bool) -> Iterator[tuple[str, bool]]:
        for each in statements:
            match each:
                case ast.Import(names=names):
                    yield from ((name.name, is_type_only) for name in names)
                case ast.ImportFrom(module=str() as module, names=names, level=0):
                    for name in names:
                        inner = f"{module}.{name.name}"
                        yield (inner if inner in known else module), is_type_only
                case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=other):
                    yield from within(body, True)
                    yield from within(other, is_type_only)
                case ast.If(body=body, orelse=other):
                    yield from within([*body, *other], is_type_only)
                case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=last):
                    caught = [inner for handler in handlers for inner in handler.body]
                    yield from within([*body, *caught, *other, *last], is_type_only)
                case _:
                    pass

    for module, is_type_only in within(tree.body, False):
        if module in known:
            yield module, is_type_only


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


def hidden(sources: Mapping[str, str]) -> set[str]:
    """Returns the imports for types only that are part of a cycle."""
    found = {name: [*imports(ast.parse(text), sources)] for name, text in sources.items()}
    graph = {name: {each for each, _ in every if each != name} for name, every in found.items()}
    return {
        f"{name} -> {each}"
        for cycle in cycles(graph)
        for name in cycle
        for each, is_type_only in found[name]
        if is_type_only and each in cycle
    }


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"a": "import b", "b": ""}, set()),
        ({"a": "if TYPE_CHECKING:\n    import b", "b": ""}, set()),
        ({"a": "if TYPE_CHECKING:\n    import b", "b": "import a"}, {"a -> b"}),
        ({"a": "if TYPE_CHECKING:\n    from b import X", "b": "import c", "c": "from a import Y"}, {"a -> b"}),
        ({"a": "if TYPE_CHECKING:\n    import b", "b": "if TYPE_CHECKING:\n    import a"}, {"a -> b", "b -> a"}),
        ({"a": "if TYPE_CHECKING:\n    from p import b", "p": "", "p.b": "import a"}, {"a -> p.b"}),
        ({"a": "if not TYPE_CHECKING:\n    import b", "b": "import a"}, set()),
    ],
)
def test_the_check_sees_a_hidden_cycle(sources: Mapping[str, str], expected: set[str]) -> None:
    assert hidden(sources) == expected


@pytest.mark.parametrize("folder", ["kcl", "runtimes", "workbench/engine"])
def test_no_import_for_types_hides_a_cycle(folder: str) -> None:
    sources = {name: path.read_text(encoding="utf-8") for name, path in modules(folder).items()}
    assert hidden(sources) - KNOWN.get(folder, frozenset()) == set()
