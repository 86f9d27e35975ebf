"""One file of a checked unit, and what the checker thinks of each of its expressions (`tools.recorded`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kcl.caches import ParseCache
from kcl.evaluator.evaluate import rules_of
from kcl.loader.program import MAIN_PACKAGE, Module, Package, Program
from kcl.records import dataclass
from kcl.semantic.scopes import ModuleType, Scope
from kcl.semantic.types import ANY, SchemaInfo, Type
from kcl.syntax import ast
from kcl.syntax.walking import children
from kcl.tools.checked import Analysis
from kcl.tools.recorded import Recorder, recorded


@dataclass(slots=True, eq=False)
class View:
    """A file and the program around it."""

    path: str
    analysis: Analysis
    program: Program
    module: Module
    recorder: Recorder
    declared: dict[str, Mapping[str, tuple[tuple[Module, ast.Stmt, int], ...]]]
    """What packages declare, by path: each name's statements, with where the name begins."""

    @property
    def text(self) -> str:
        return self.module.source.text

    def package(self, path: str) -> Package | None:
        return self.program.packages.get(path or MAIN_PACKAGE)

    def declarations(self, package: str) -> Mapping[str, tuple[tuple[Module, ast.Stmt, int], ...]]:
        """The names of a package, each with the statements that declare it, in the order of files."""
        key = package or MAIN_PACKAGE
        known = self.declared.get(key)
        if known is None:
            found: dict[str, list[tuple[Module, ast.Stmt, int]]] = {}
            each = self.package(key)
            for module in () if each is None else each.modules:
                for name, statement, start in _declared(module.tree.body, module.source.text):
                    found.setdefault(name, []).append((module, statement, start))
            known = self.declared[key] = {name: tuple(items) for name, items in found.items()}
        return known

    def schema(self, info: SchemaInfo) -> tuple[Module, ast.Schema | ast.Rule] | None:
        """Where a schema is written."""
        for module, statement, _ in reversed(self.declarations(info.package).get(info.name, ())):
            if isinstance(statement, ast.Schema | ast.Rule):
                return module, statement
        return None

    def type_of(self, node: ast.Node, chain: Sequence[ast.Node]) -> Type:
        """The type of an expression; `chain` are the nodes around it."""
        found = self.recorder.types.get(id(node))
        if found is not None:
            return found
        if isinstance(node, ast.Name):
            return self.type_of_name(node.id, chain)
        if isinstance(node, ast.Selector):
            return self.member(self.type_of(node.value, chain), node.name) or ANY
        if isinstance(node, ast.Paren):
            return self.type_of(node.value, chain)
        return ANY

    def type_of_name(self, name: str, chain: Sequence[ast.Node]) -> Type:
        module = self.recorder.modules.get((self.module.source.path, name))
        scope = self.scope(chain)
        schema = next((each for node in reversed(chain) if (each := self.recorder.schemas.get(id(node)))), None)
        attribute = None if schema is None else schema.attribute(name)
        if attribute is not None:
            return attribute.type
        binding = scope.find(name)
        if binding is not None and not isinstance(binding.type, ModuleType):
            return binding.type
        return module or (ANY if binding is None else binding.type)

    def scope(self, chain: Sequence[ast.Node]) -> Scope:
        found = next((each for node in reversed(chain) if (each := self.recorder.scopes.get(id(node)))), None)
        return found or self.recorder.top

    def member(self, value: Type, name: str) -> Type | None:
        """The type of an attribute; nothing is reported."""
        return self.recorder.quiet_member(value, name)


def view_of(path: str, analysis: Analysis, cache: ParseCache) -> View | None:
    """The view of a file; None where it is not there, or cannot be read."""
    program = analysis.program
    if program is None:
        return None
    module = next((each for each in program.main.modules if each.source.path == path), None)
    if module is None:
        return None
    recorder = recorded(program, rules_of(analysis.dialect), cache.memo)
    return View(path, analysis, program, module, recorder, {})


def _declared(body: Sequence[ast.Stmt], text: str) -> Iterator[tuple[str, ast.Stmt, int]]:
    for statement in body:
        match statement:
            case ast.Schema() | ast.Rule():
                yield statement.name, statement, statement.name_start
            case ast.Assign():
                for target in statement.targets:
                    yield target.name, statement, target.start
            case ast.Unification():
                yield statement.target.name, statement, statement.target.start
            case ast.TypeAlias():
                yield statement.name, statement, max(text.find(statement.name, statement.start + 4), statement.start)
            case ast.If():
                yield from _declared(statement.body, text)
                yield from _declared(statement.orelse, text)
            case _:
                pass


def chain_at(root: ast.Node, offset: int) -> list[ast.Node]:
    """The nodes around an offset, from the file on inwards. What ends at the offset is around it as well."""
    chain = [root]
    while True:
        within = [each for each in children(chain[-1]) if each.start <= offset <= each.end]
        if not within:
            return chain
        starting = [each for each in within if each.end > offset] or within
        chain.append(starting[-1] if not isinstance(starting[-1], ast.Comment) else starting[0])
