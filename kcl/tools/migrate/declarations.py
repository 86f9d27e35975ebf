"""What names mean in the programs being migrated: packages, their variables, schemas with bases and mixins.

One world is one program. It answers from declarations alone; nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcl.loader.program import Import, ImportKind, Module, Package, Program
from kcl.records import dataclass, field
from kcl.syntax import ast


@dataclass(frozen=True, slots=True, eq=False)
class SchemaView:
    """A schema's declaration, and the file it stands in."""

    node: ast.Schema
    module: Module
    package: str


@dataclass(slots=True)
class PackageView:
    """The names a package declares."""

    package: Package
    variables: dict[str, list[tuple[Module, ast.Stmt]]] = field(default_factory=dict)
    schemas: dict[str, SchemaView] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    """Rules and type aliases."""

    def declares(self, name: str) -> bool:
        return name in self.variables or name in self.schemas or name in self.others


class Declarations:
    """The packages of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.packages = {path: _view(package) for path, package in program.packages.items()}
        self._attributes: dict[int, frozenset[str]] = {}
        self._hosts: dict[int, list[SchemaView]] | None = None

    def imported(self, module: Module, alias: str) -> Import | None:
        return module.imports.get(alias)

    def imported_beside(self, module: Module, package: PackageView, alias: str) -> Module | None:
        """The file of the same package that imports `alias`, where `module` does not do so itself."""
        for sibling in package.package.modules:
            if sibling is not module and alias in sibling.imports:
                return sibling
        return None

    def schema(self, names: tuple[str, ...], module: Module, package: str) -> SchemaView | None:
        """The schema that a dotted name means in a file; None for anything else."""
        if len(names) == 1:
            return self.packages[package].schemas.get(names[0])
        found = module.imports.get(names[0])
        if len(names) != 2 or found is None or found.kind is not ImportKind.PACKAGE:
            return None
        target = self.packages.get(found.package)
        return None if target is None else target.schemas.get(names[1])

    def lineage(self, schema: SchemaView) -> list[SchemaView]:
        """The schema and its bases, nearest first."""
        chain = [schema]
        while (parent := chain[-1].node.parent) is not None:
            found = self.schema(dotted(parent), chain[-1].module, chain[-1].package)
            if found is None or found in chain:
                break
            chain.append(found)
        return chain

    def attribute(self, schema: SchemaView, name: str) -> tuple[SchemaView, ast.SchemaAttr] | None:
        """The nearest declaration of an attribute in the schema, its mixins and its bases."""
        for level in self.lineage(schema):
            for each in (level, *self._mixed_into(level)):
                for statement in each.node.body:
                    if isinstance(statement, ast.SchemaAttr) and statement.name == name:
                        return each, statement
        return None

    def required(self, schema: SchemaView) -> list[str]:
        """The attributes an instance must be given: declared without `?` and without a value anywhere."""
        declared: dict[str, bool] = {}
        given: set[str] = set()
        for level in reversed(self.lineage(schema)):
            for each in (level, *self._mixed_into(level)):
                for node in below(each.node.body):
                    match node:
                        case ast.SchemaAttr():
                            declared[node.name] = not node.optional
                            if node.value is not None or isinstance(node.type, ast.LiteralType):
                                given.add(node.name)
                        case ast.Assign() | ast.Unification() | ast.AugAssign():
                            given.update(name for name in assigned_names([node]))
                        case _:
                            pass
        return [name for name, is_required in declared.items() if is_required and name not in given]

    def visible(self, schema: SchemaView) -> frozenset[str]:
        """Names its body can read as attributes: its own, its bases' and mixins', its hosts' and heirs'."""
        found = self._attributes.get(id(schema.node))
        if found is None:
            names: set[str] = set()
            for each in self._reach(schema, set()):
                names.update(assigned_names(each.node.body))
            found = self._attributes[id(schema.node)] = frozenset(names)
        return found

    def is_open(self, schema: SchemaView) -> bool:
        """Whether its body may read attributes that no declaration names: keys an index signature admits, or those of
        a mixin's hosts, which are not all known."""
        return any(each.node.index_signature is not None or each.node.is_mixin for each in self._reach(schema, set()))

    def _reach(self, schema: SchemaView, seen: set[int]) -> Iterator[SchemaView]:
        if id(schema.node) in seen:
            return
        seen.add(id(schema.node))
        yield schema
        for name in (schema.node.parent, schema.node.host, *schema.node.mixins):
            if name is not None and (found := self.schema(dotted(name), schema.module, schema.package)) is not None:
                yield from self._reach(found, seen)
        for host in self._hosts_of(schema):
            yield from self._reach(host, seen)

    def _mixed_into(self, schema: SchemaView) -> list[SchemaView]:
        found = [self.schema(dotted(name), schema.module, schema.package) for name in schema.node.mixins]
        return [each for each in found if each is not None]

    def _hosts_of(self, schema: SchemaView) -> list[SchemaView]:
        """The schemas built on this one: a mixin or base also reads what its hosts and heirs declare."""
        if self._hosts is None:
            self._hosts = {}
            for view in self.packages.values():
                for each in view.schemas.values():
                    for beneath in (*self._mixed_into(each), *self.lineage(each)[1:2]):
                        self._hosts.setdefault(id(beneath.node), []).append(each)
        return self._hosts.get(id(schema.node), [])


def _view(package: Package) -> PackageView:
    view = PackageView(package)
    for module in package.modules:
        for statement in module.tree.body:
            match statement:
                case ast.Schema():
                    view.schemas[statement.name] = SchemaView(statement, module, package.path)
                case ast.Rule() | ast.TypeAlias():
                    view.others.add(statement.name)
                case _:
                    for name in assigned_names([statement]):
                        view.variables.setdefault(name, []).append((module, statement))
    return view


def assigned_names(statements: list[ast.Stmt]) -> list[str]:
    """The variables or attributes that statements give a value, those under an `if` included."""
    found: list[str] = []
    for statement in statements:
        match statement:
            case ast.SchemaAttr():
                found.append(statement.name)
            case ast.Assign():
                found += [target.name for target in statement.targets]
            case ast.AugAssign() | ast.Unification():
                found.append(statement.target.name)
            case ast.If():
                found += assigned_names(statement.body) + assigned_names(statement.orelse)
            case _:
                pass
    return found


def dotted(name: ast.Expr) -> tuple[str, ...]:
    """The segments of `a.b.c`; empty for an expression of another shape."""
    if isinstance(name, ast.Selector):
        head = dotted(name.value)
        return (*head, name.name) if head else ()
    return (name.id,) if isinstance(name, ast.Name) else ()


def below(roots: list[ast.Stmt]) -> Iterator[ast.Node]:
    """Statements at any depth of `if`, without those inside expressions."""
    pending: list[ast.Node] = list(reversed(roots))
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If):
            pending.extend(reversed([*node.body, *node.orelse]))
