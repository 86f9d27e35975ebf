"""Walking a file with the scopes in hand: at each name, what it is bound to.

The lookup is that of the evaluator (`kcl.evaluator.lexical`), answered from declarations: loop variables and a lambda's
parameters, then attributes of the enclosing schema, then keys of the configurations around that come before, then the
schema's parameters, the package's globals, imports and built-in functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Final

from kcl.loader.program import MAIN_PACKAGE, Module
from kcl.records import dataclass, field
from kcl.stdlib.builtins import BUILTINS
from kcl.syntax import ast
from kcl.syntax.walking import children
from kcl.tools.migrate.declarations import Declarations, SchemaView, dotted

NEVER_NAMES: Final = frozenset(("true", "false", "null", "none", "nil"))
"""Words of other languages: nobody calls an attribute so."""
_BUILTIN_NAMES: Final = frozenset((*BUILTINS.functions, *BUILTINS.constants))


class Binding(Enum):
    """What a name stands for where it is read."""

    LOCAL = auto()
    """A loop variable, or a lambda's parameter or variable."""
    ATTRIBUTE = auto()
    KEY = auto()
    """A key of a configuration around that has been evaluated."""
    PARAMETER = auto()
    """A parameter of the enclosing schema."""
    GLOBAL = auto()
    TYPE = auto()
    IMPORT = auto()
    BUILTIN = auto()
    UNKNOWN = auto()


class FrameKind(Enum):
    LOCAL = auto()
    SCHEMA = auto()
    CONFIG = auto()


@dataclass(slots=True)
class Frame:
    """One level of nesting.

    `names` are what it binds so far, for a configuration with the value of each entry. `instance` says that the
    configuration is a schema expression's.
    """

    kind: FrameKind
    names: dict[str, ast.Node | None] = field(default_factory=dict)
    instance: bool = False
    schema: SchemaView | None = None


class Walker:
    """Walks one file of one program. Subclasses override the `on_...` methods."""

    def __init__(self, declarations: Declarations, package: str, module: Module) -> None:
        self.declarations = declarations
        self.view = declarations.packages[package]
        self.package = package
        self.module = module
        self.frames: list[Frame] = []
        self._prints = package == MAIN_PACKAGE
        self.statement: ast.Stmt | None = None
        """The statement of a file or schema body that is being walked, the innermost."""

    def walk(self) -> None:
        self._statements(self.module.tree.body)

    # --- What is found ---

    def on_name(self, node: ast.Name, binding: Binding) -> None:
        """A name that is read."""

    def on_member(self, node: ast.Selector, head: ast.Name, binding: Binding) -> None:
        """`head.name`; called before the head itself."""

    def on_type(self, node: ast.NamedType) -> None:
        """A name where a type is expected."""

    def on_call(self, node: ast.Call) -> None: ...

    def on_instance(self, node: ast.SchemaExpr, schema: SchemaView | None, expected: SchemaView | None) -> None:
        """`Schema {...}`; `expected` is the schema that the place asks for, if it names one."""

    def on_entry(self, node: ast.Entry, owner: SchemaView | None) -> None:
        """An entry of a configuration that is, or becomes, an instance of `owner`."""

    def on_text(self, node: ast.Str | ast.JoinedStr) -> None: ...

    # --- Names ---

    def binding(self, name: str) -> Binding:
        attributes_seen = False
        for frame in reversed(self.frames):
            if frame.kind is FrameKind.LOCAL and name in frame.names:
                return Binding.LOCAL
            if frame.kind is FrameKind.SCHEMA:
                break
        for frame in reversed(self.frames):
            if frame.kind is FrameKind.SCHEMA and frame.schema is not None and not attributes_seen:
                attributes_seen = True
                if name in self.declarations.visible(frame.schema):
                    return Binding.ATTRIBUTE
        for frame in reversed(self.frames):
            if name in frame.names:
                return Binding.PARAMETER if frame.kind is FrameKind.SCHEMA else Binding.KEY
        if name in self.view.variables:
            return Binding.GLOBAL
        if self.view.declares(name):
            return Binding.TYPE
        if name in self.module.imports:
            return Binding.IMPORT
        if name in _BUILTIN_NAMES:
            return Binding.BUILTIN
        return Binding.ATTRIBUTE if self._may_be_attribute(name) else Binding.UNKNOWN

    def _may_be_attribute(self, name: str) -> bool:
        schemas = [frame.schema for frame in self.frames if frame.kind is FrameKind.SCHEMA and frame.schema is not None]
        return name not in NEVER_NAMES and any(self.declarations.is_open(schema) for schema in schemas)

    def module_binding(self, name: str) -> Binding:
        """What the head of `name.member` stands for: an import comes before all but local variables."""
        found = self.binding(name)
        local = found in (Binding.LOCAL, Binding.PARAMETER, Binding.GLOBAL)
        return Binding.IMPORT if not local and name in self.module.imports else found

    # --- Statements ---

    def _statements(self, statements: Iterable[ast.Stmt]) -> None:
        for statement in statements:
            outer, self.statement = self.statement, statement
            self._statement(statement)
            self.statement = outer

    def _statement(self, node: ast.Stmt) -> None:
        match node:
            case ast.Import():
                pass
            case ast.Schema():
                self._schema(node)
            case ast.Rule():
                self._rule(node)
            case ast.If():
                self._expression(node.cond)
                self._statements(node.body)
                self._statements(node.orelse)
            case ast.Assign():
                self._type(node.type)
                self._targets(node.targets)
                self._expression(node.value, self._named(node.type))
            case ast.AugAssign():
                self._targets([node.target])
                self._expression(node.value)
            case ast.Unification():
                self._expression(node.value)
            case ast.ExprStmt(value=ast.Str() | ast.JoinedStr()) if not self._prints:
                pass  # a text for readers
            case ast.SchemaAttr():
                for decorator in node.decorators:
                    self._plain(decorator)
                self._type(node.type)
                if node.value is not None:
                    self._expression(node.value, self._named(node.type))
            case _:
                self._plain(node)

    def _targets(self, targets: Sequence[ast.Target]) -> None:
        for target in targets:
            for step in target.path:
                if isinstance(step, ast.Index):
                    self._expression(step.value)
        if self.frames and self.frames[-1].kind is FrameKind.LOCAL:
            self.frames[-1].names.update(dict.fromkeys(target.name for target in targets))

    def _schema(self, node: ast.Schema) -> None:
        for name in (node.parent, node.host, *node.mixins):
            if name is not None:
                self._reference(name)
        for decorator in node.decorators:
            self._plain(decorator)
        frame = Frame(FrameKind.SCHEMA, schema=SchemaView(node, self.module, self.package))
        self.frames.append(frame)
        printing, self._prints = self._prints, False
        self._parameters(node.params, frame)
        if node.index_signature is not None:
            if node.index_signature.name is not None:
                frame.names[node.index_signature.name] = None
            self._plain(node.index_signature)
        self._statements(node.body)
        for check in node.checks:
            self._plain(check)
        self._prints = printing
        self.frames.pop()

    def _rule(self, node: ast.Rule) -> None:
        for name in (node.host, *node.parents):
            if name is not None:
                self._reference(name)
        host = None if node.host is None else self.declarations.schema(dotted(node.host), self.module, self.package)
        frame = Frame(FrameKind.SCHEMA, schema=host)
        self.frames.append(frame)
        self._parameters(node.params, frame)
        for check in node.checks:
            self._plain(check)
        self.frames.pop()

    def _parameters(self, params: Sequence[ast.Param], frame: Frame) -> None:
        for param in params:
            self._type(param.type)
            if param.default is not None:
                self._expression(param.default)
            frame.names[param.name] = None

    # --- Types ---

    def _type(self, node: ast.Node | None) -> None:
        if node is None:
            return
        if isinstance(node, ast.NamedType):
            self.on_type(node)
        for each in children(node):
            self._type(each)

    def _named(self, node: ast.Node | None) -> SchemaView | None:
        """The schema a type names, in a list of it too."""
        while isinstance(node, ast.ListType):
            node = node.item
        if isinstance(node, ast.DictType):
            return self._named(node.value)
        return (
            self.declarations.schema(node.names, self.module, self.package) if isinstance(node, ast.NamedType) else None
        )

    # --- Expressions ---

    def _reference(self, node: ast.Expr) -> None:
        """A name of a schema, read as an expression is."""
        self._expression(node)

    def _plain(self, node: ast.Node) -> None:
        """Everything below a node that opens no scope."""
        for each in children(node):
            if isinstance(each, ast.NamedType | ast.ListType | ast.DictType | ast.UnionType | ast.FunctionType):
                self._type(each)
            elif isinstance(each, ast.Stmt):
                self._statements([each])
            else:
                self._expression(each)

    def _expression(self, node: ast.Node, expected: SchemaView | None = None) -> None:
        match node:
            case ast.Name():
                self.on_name(node, self.binding(node.id))
            case ast.Selector(value=ast.Name() as head):
                binding = self.module_binding(head.id)
                self.on_member(node, head, binding)
                self.on_name(head, binding)
            case ast.Str() | ast.JoinedStr():
                self.on_text(node)
                self._plain(node)
            case ast.Call():
                self.on_call(node)
                self._plain(node)
            case ast.SchemaExpr():
                self._instance(node, expected)
            case ast.Config():
                self._config(node, expected, instance=False)
            case ast.ConfigComp() | ast.ListComp():
                self._comprehension(node, expected)
            case ast.Quantifier():
                self._expression(node.iter)
                self.frames.append(Frame(FrameKind.LOCAL, dict.fromkeys(target.id for target in node.targets)))
                self._expression(node.body)
                if node.cond is not None:
                    self._expression(node.cond)
                self.frames.pop()
            case ast.Lambda():
                frame = Frame(FrameKind.LOCAL)
                self.frames.append(frame)
                self._parameters(node.params, frame)
                self._type(node.result)
                self._statements(node.body)
                self.frames.pop()
            case ast.List():
                for item in node.items:
                    self._expression(item, expected)
            case ast.ListIf():
                self._expression(node.cond)
                for item in (*node.body, *node.orelse):
                    self._expression(item, expected)
            case ast.Paren():
                self._expression(node.value, expected)
            case ast.Binary(op=ast.BinaryOp.BIT_OR):
                self._expression(node.left, expected)
                self._expression(node.right, expected)
            case ast.IfExpr():
                self._expression(node.cond)
                self._expression(node.body, expected)
                self._expression(node.orelse, expected)
            case _:
                self._plain(node)

    def _instance(self, node: ast.SchemaExpr, expected: SchemaView | None) -> None:
        self._reference(node.name)
        schema = self.declarations.schema(dotted(node.name), self.module, self.package)
        self.on_instance(node, schema, expected)
        for argument in (*node.args, *node.keywords):
            self._expression(argument)
        if isinstance(node.config, ast.Config):
            self._config(node.config, schema, instance=True)
        else:
            self._comprehension(node.config, schema)

    def _config(self, node: ast.Config, owner: SchemaView | None, *, instance: bool) -> None:
        self.frames.append(Frame(FrameKind.CONFIG, instance=instance))
        for item in node.items:
            self._item(item, owner)
        self.frames.pop()

    def _item(self, item: ast.Node, owner: SchemaView | None) -> None:
        match item:
            case ast.Entry():
                self._entry(item, owner)
            case ast.ConfigIf():
                self._expression(item.cond)
                for each in (*item.body, *item.orelse):
                    self._item(each, owner)
            case _:
                self._plain(item)

    def _entry(self, item: ast.Entry, owner: SchemaView | None) -> None:
        name = static_key(item.key)
        if name is None or (isinstance(item.key, ast.Name) and self.binding(name) is Binding.LOCAL):
            self._expression(item.key)
        if item.index is not None:
            self._expression(item.index)
        self.on_entry(item, owner)
        expected = None
        if owner is not None and name is not None:
            declared = self.declarations.attribute(owner, name)
            if declared is not None:
                view, attribute = declared
                expected = Walker(self.declarations, view.package, view.module)._named(attribute.type)
        self._expression(item.value, expected)
        if name is not None:
            self.frames[-1].names[name] = item.value

    def _comprehension(self, node: ast.ConfigComp | ast.ListComp, expected: SchemaView | None) -> None:
        opened = 0
        for clause in node.clauses:
            self._expression(clause.iter)
            self.frames.append(Frame(FrameKind.LOCAL, dict.fromkeys(target.id for target in clause.targets)))
            opened += 1
            for condition in clause.conds:
                self._expression(condition)
        if isinstance(node, ast.ListComp):
            self._expression(node.element, expected)
        else:
            self.frames.append(Frame(FrameKind.CONFIG))
            opened += 1
            if isinstance(node.entry, ast.Entry):
                self._expression(node.entry.key)
                self._expression(node.entry.value)
            else:
                self._plain(node.entry)
        del self.frames[len(self.frames) - opened :]


def static_key(node: ast.Expr) -> str | None:
    """The key of an entry as far as it is written out."""
    if isinstance(node, ast.Name):
        return node.id
    return node.value if isinstance(node, ast.Str) else None
