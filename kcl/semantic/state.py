"""What the checker knows at a moment of its walk, and how it reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kcl.diagnostics import Code, Diagnostic, Label, Severity, Span
from kcl.records import dataclass
from kcl.semantic.scopes import Binding, Kind, Scope
from kcl.semantic.signatures import LibraryTypes, function_type
from kcl.semantic.types import FunctionType, SchemaInfo, Type
from kcl.syntax import ast

Place = tuple[str, int, int]
"""A path and two offsets of that file, together always: what becomes a `Span` where something is reported."""

Context = tuple[Type, Span | None]
"""What a configuration is checked against, and where that type was written."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is let pass that the official compiler of today rejects."""

    unknown_names: bool = False
    """Names nobody defines, in a package and as members of one."""
    missing_arguments: bool = False
    file_scoped_imports: bool = False
    """Files of a package may import different modules by one name; in `a.b`, an import `a` of the file is meant even
    where an attribute of that name is nearer."""
    private_members: bool = False
    """Members of other packages whose names begin with `_`."""
    missing_attributes: bool = False
    """Instances written without attributes they need."""


class State:
    """Where the walk is. The classes that derive from it know what to do with each kind of node."""

    def __init__(self, library: LibraryTypes, rules: Rules) -> None:
        self.library: Final = library
        self.rules: Final = rules
        self.findings: dict[Diagnostic, None] = {}
        self.path = ""
        self.text = ""
        """The path and the text of the file."""
        self.package = ""
        self.imports: Mapping[str, Any] = {}
        """Aliases the file imports."""
        builtins = Scope(None)
        for name, signature in library.builtins.items():
            builtins.names[name] = Binding(function_type(signature), None, Kind.DEFINITION)
        self.builtins: Final = builtins
        self.modules: dict[tuple[str, str], Type] = {}
        """What a file, by path, imports by a name."""
        self.top = Scope(builtins)
        """The scope of the package."""
        self.scope = self.top
        self.level = 0
        self.declared: dict[str, Span] = {}
        """Names the package has assigned so far, with where."""
        self.lambdas: dict[str, FunctionType] = {}
        """Parameters of the lambdas that are assigned to variables of the package, whether reached yet or not."""
        self.schema: SchemaInfo | None = None
        self.assigned: dict[str, Type] = {}
        """Types that assignments in the body of `schema` gave to its attributes."""
        self.loop_names: set[str] = set()
        self.contexts: list[Context | None] = []
        self.here: Place = ("", 0, 0)
        """The place of the statement or identifier last come to."""

    # ------------------------------------------------------------ reporting

    def span(self, node: ast.Node) -> Span:
        return Span(self.path, node.start, node.end)

    def place(self, node: ast.Node) -> Place:
        return (self.path, node.start, node.end)

    def report(
        self,
        code: Code,
        message: str,
        place: Span,
        labels: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> None:
        """Notes a finding once, however often the walk comes by."""
        self.findings.setdefault(Diagnostic(code, Severity.ERROR, message, place, labels, notes))

    def compile_error(self, message: str, place: Span) -> None:
        self.report(Code.COMPILE, message, place)

    def type_error(self, message: str, place: Span) -> None:
        self.report(Code.TYPE, message, place)

    # ------------------------------------------------------------ scopes

    def enter(self) -> None:
        self.scope = Scope(self.scope)
        self.level += 1

    def leave(self) -> None:
        assert self.scope.parent is not None
        self.loop_names.clear()
        self.scope = self.scope.parent
        self.level -= 1

    def bind(self, name: str, type_: Type, place: Span | None, kind: Kind = Kind.VALUE) -> None:
        self.scope.names[name] = Binding(type_, place, kind)

    def attribute_type(self, name: str) -> Type | None:
        """The type of an attribute of the schema around, None where it has none of that name."""
        found = self.assigned.get(name)
        if found is not None or self.schema is None:
            return found
        attribute = self.schema.attribute(name)
        return None if attribute is None else attribute.type

    @property
    def context(self) -> Context | None:
        return self.contexts[-1] if self.contexts else None

    # ------------------------------------------------------------ what the later classes do

    def expression(self, node: ast.Expr | ast.ListItem) -> Type:
        """The type of an expression; whatever is wrong with it is reported."""
        raise NotImplementedError

    def expression_within(self, node: ast.Expr, context: Context | None) -> Type:
        """The type of an expression, its configurations checked against a type."""
        self.contexts.append(context)
        found = self.expression(node)
        self.contexts.pop()
        return found
