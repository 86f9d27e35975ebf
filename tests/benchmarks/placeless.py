"""The language without provenance, to measure what provenance costs. Nothing else may use it: errors have no places.

    python -m tests.benchmarks.placeless with|without

There is no switch for it in the evaluator, which would cost what it saves. So this takes the evaluator's own source
when it is imported, and what it generates, and strikes out everything that notes, joins or hands on a place:
assignments to what holds sites, reads of them (which are then empty), functions that make them. What stays of
provenance is that some functions answer a pair of which one half is empty.

The first line of input is JSON, `{"runs": [keyword arguments of api.run, ...]}`, answered by `{"texts": [YAML, ...],
"placed": how many of the results know where something comes from}`. Each further line has all runs evaluated again, and
is answered by the seconds of the processor's time that this took, parsing and checking left out.
"""

from __future__ import annotations

import ast
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any, Final

_AT_RUN_TIME: Final = ("kcl.evaluator.", "kcl.compiler.values")
_BESIDE: Final = ("kcl.compiler.", "kcl.stdlib.")
"""What only prepares, and what notes next to nothing."""
_LOOK_UPS: Final = "kcl.evaluator.provenance"
"""Nothing is left to find there."""

_HOLDERS: Final = frozenset({"sites", "final_sites", "origins", "named_origins"})
_LOCAL_HOLDER: Final = re.compile(r"final_sites|places\d*$")
"""Variables of generated code."""
_HOLDERS_EMPTY: Final = {"origins": "()", "named_origins": "{}"}
_MAKERS: Final = frozenset({"item_sites", "joined_sites", "sites_of", "_record"})
_NOTERS: Final = frozenset({"site", "option_site"})
"""Methods that add a place to the table."""


def _is_runtime(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "runtime") or (
        isinstance(node, ast.Attribute) and node.attr == "runtime"
    )


def _nowhere() -> ast.expr:
    return ast.Tuple([], ast.Load())


def _is_nowhere(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and not node.elts


def _paired(node: ast.Assign, is_kept: Callable[[ast.expr, ast.expr], bool]) -> ast.Assign | None:
    """`a, b = x, y` as one assignment of the pairs that are kept; None for none, everything else as it is."""
    match node.targets, node.value:
        case [ast.Tuple(elts=targets)], ast.Tuple(elts=values) if len(targets) == len(values):
            kept = [pair for pair in zip(targets, values, strict=True) if is_kept(*pair)]
            if len(kept) == len(targets):
                return node
            if len(kept) < 2:
                return ast.Assign([kept[0][0]], kept[0][1]) if kept else None
            left, right = zip(*kept, strict=True)
            return ast.Assign([ast.Tuple(list(left), ast.Store())], ast.Tuple(list(right), ast.Load()))
    return node


class Forgetting(ast.NodeTransformer):
    """`names` are the globals of generated code, which calls objects by numbered names."""

    def __init__(self, names: Mapping[str, Any] | None = None) -> None:
        self.names = names or {}

    def _holds_places(self, node: ast.expr) -> bool:
        """Whether an expression is where sites are kept: `x.sites`, `final_sites`, `runtime.origin`, parts of them."""
        match node:
            case ast.Subscript(value=inner):
                return self._holds_places(inner) or (
                    isinstance(node.slice, ast.Attribute) and node.slice.attr == "sites_slot"
                )
            case ast.Attribute(value=owner, attr="origin"):
                return _is_runtime(owner) or (
                    isinstance(owner, ast.Name) and type(self.names.get(owner.id)).__name__ == "Runtime"
                )
            case ast.Attribute(attr=name):
                return name in _HOLDERS
            case ast.Name(id=name):
                return bool(self.names) and _LOCAL_HOLDER.match(name) is not None
            case _:
                return False

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.AST] | None:
        match node.targets, node.value:
            case [ast.Tuple(elts=atoms)], ast.Attribute(attr="all") if self.names:  # what follows from places
                return [ast.Assign([atom], _nowhere()) for atom in atoms]
        node.targets = [target for target in node.targets if not self._holds_places(target)]
        for target in node.targets:
            if isinstance(target, ast.Tuple) and not isinstance(node.value, ast.Tuple):
                target.elts = [ast.Name("_", ast.Store()) if self._holds_places(each) else each for each in target.elts]
        kept = _paired(node, lambda target, _: not self._holds_places(target)) if node.targets else None
        return self.generic_visit(kept) if kept is not None else None

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return None if self._holds_places(node.target) else self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> ast.AST | None:
        node.targets = [target for target in node.targets if not self._holds_places(target)]
        return node if node.targets else None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        match node.value:
            case ast.Call(func=ast.Name(id=name)) if name in _MAKERS:
                return None
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend")) if name in _HOLDERS:
                return None
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        match node.test:
            case ast.Compare(left=ast.Attribute(attr="key" | "first")) if self.names:  # are places the last ones?
                return None
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        match node.body:
            case ast.Attribute(attr="joined") | ast.Call(func=ast.Name(id="joined_sites")):
                return _nowhere()
            case ast.Call(func=ast.Attribute(value=owner, attr="get")) if self._holds_places(owner):
                return _nowhere()
            case ast.Subscript(value=ast.Name()) if self.names and _is_nowhere(node.orelse):  # of an item in a loop
                return _nowhere()
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and self._holds_places(node):
            return _nowhere()
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.attr == "origin" and self._holds_places(node):
            return _nowhere()
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node.func:
            case ast.Name(id=name) if name in _MAKERS or self._called(name) in _MAKERS:
                return _nowhere()
            case ast.Attribute(attr="sites_of"):
                return _nowhere()
            case ast.Attribute(value=owner, attr="get") if self._holds_places(owner):
                return _nowhere()
            case ast.Name(id=name) if name == "KList" or self._called(name) == "KList":
                node.args = node.args[:1]
            case ast.Name(id=name) if name in self.names:
                self._without_places(self.names[name], node)
        return self.generic_visit(node)

    def _called(self, name: str) -> str:
        return getattr(self.names.get(name), "__name__", "")

    def _without_places(self, called: Any, node: ast.Call) -> None:
        """Empties the argument for a parameter `sites`."""
        if not inspect.isfunction(called):
            return
        parameters = list(inspect.signature(called).parameters)
        if "sites" in parameters and parameters.index("sites") < len(node.args):
            node.args[parameters.index("sites")] = _nowhere()

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Objects whose slots for places are never filled have none: who asks finds the same emptiness in all."""
        self.generic_visit(node)
        for statement in list(node.body):
            match statement:
                case ast.Assign(targets=[ast.Name(id="__slots__")], value=ast.Tuple(elts=slots) as declared):
                    names = [ast.literal_eval(each) for each in slots]
                    declared.elts = [ast.Constant(name) for name in names if name not in _HOLDERS]
                    for name in _HOLDERS.intersection(names):
                        empty = ast.parse(_HOLDERS_EMPTY.get(name, "None"), mode="eval").body
                        node.body.append(ast.Assign([ast.Name(name, ast.Store())], empty))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        is_method = bool(node.args.args) and node.args.args[0].arg == "self"
        if node.name == "sites_of" or (is_method and node.name in _NOTERS):
            node.body = [ast.Return(_nowhere())]
        elif node.name == "is_tracked":
            node.body = [ast.Return(ast.Constant(False))]
        return node


class _Unfilled(ast.NodeTransformer):
    """Strikes out assignments to slots that there are none of any more, and nothing else."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        is_slot = [isinstance(target, ast.Attribute) and target.attr == "sites" for target in node.targets]
        return None if all(is_slot) else node


class _Filling(ast.NodeTransformer):
    """Where all of a block was struck out, a `pass` stands."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "finalbody"):
            if getattr(node, name, None) == [] and not (name == "finalbody" and getattr(node, "handlers", None)):
                setattr(node, name, [ast.Pass()])
        return node


class _Unused(ast.NodeTransformer):
    """Strikes out assignments of what costs nothing to names that nobody reads."""

    def __init__(self, tree: ast.AST) -> None:
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        self.read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        self.struck = 0

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        if len(node.targets) == 1 and self._is_unused(node.targets[0], node.value):
            kept = None
        else:
            kept = _paired(node, lambda target, value: not self._is_unused(target, value))
        self.struck += kept is not node
        return kept

    def _is_unused(self, target: ast.expr, value: ast.expr) -> bool:
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        costs_nothing = all(isinstance(each, ast.Name | ast.Constant) or _is_nowhere(each) for each in parts)
        return isinstance(target, ast.Name) and target.id not in self.read and costs_nothing


def without_places(text: str, names: Mapping[str, Any] | None = None) -> ast.Module:
    """Python source as a tree without what notes places; with `names`, source that the compiler generated."""
    tree = Forgetting(names).visit(ast.parse(text))
    while names is not None:
        unused = _Unused(tree)
        tree = unused.visit(tree)
        if not unused.struck:
            break
    made: ast.Module = ast.fix_missing_locations(_Filling().visit(tree))
    return made


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        source = self.get_source(fullname)
        assert source is not None
        if self.name.startswith(_AT_RUN_TIME):
            tree = without_places(source)
        else:
            tree = ast.fix_missing_locations(_Filling().visit(_Unfilled().visit(ast.parse(source))))
        code: CodeType = compile(tree, self.path, "exec", dont_inherit=True)
        return code


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_AT_RUN_TIME + _BESIDE) or fullname == _LOOK_UPS:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None or found.origin is None or not isinstance(found.loader, importlib.machinery.SourceFileLoader):
            return found
        found.loader = _Loader(fullname, found.origin)
        return found


def _forget() -> None:
    """From here on the language has no provenance."""
    sys.meta_path.insert(0, _Finder())
    from kcl.compiler.source import Source

    def function(self: Source, name: str, head: str, package: str, of: str, code_of: object) -> Callable[..., Any]:
        tree = without_places(self.text(head), self.names)
        exec(compile(tree, f"<{package}.{of}>", "exec", dont_inherit=True), self.names)
        made: Callable[..., Any] = self.names[name]
        return made

    Source.function = function  # type: ignore[method-assign]


def main() -> None:
    if sys.argv[1] == "without":
        _forget()
    from kcl.api import in_deep_thread

    in_deep_thread(_serve)  # all of it, as a session does: another thread may be woken where no cache has its data


def _serve() -> None:
    """Answers each line of input."""
    from kcl import api

    taken = 0.0
    evaluate = api.evaluate  # type: ignore[attr-defined]

    def timed(*arguments: Any, **named: Any) -> Any:
        nonlocal taken
        started = time.process_time()
        try:
            return evaluate(*arguments, **named)
        finally:
            taken += time.process_time() - started

    api.evaluate = timed  # type: ignore[attr-defined]
    runs, cache = json.loads(sys.stdin.readline())["runs"], api.ParseCache()
    results = [api.run(**each, cache=cache) for each in runs]
    places = sum(any(_places(each)) for each in results)
    sys.stdout.write(json.dumps({"texts": [each.yaml() for each in results], "placed": places}) + "\n")
    sys.stdout.flush()
    del results
    for _ in sys.stdin:
        gc.collect()
        taken = 0.0
        for each in runs:
            api.run(**each, cache=cache)
        sys.stdout.write(f"{taken}\n")
        sys.stdout.flush()


def _places(result: Any) -> Iterator[bool]:
    """For each entry of the first document whether something in the source is known to have decided it."""
    for key in result.documents[0]:
        yield bool(result.provenance.lookup(0, (key,)))


if __name__ == "__main__":
    main()
