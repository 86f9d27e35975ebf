"""The syntax tree of KCL: one class for every construct, exactly as the user wrote it.

Shapes that are worth knowing before reading code that walks the tree:

* `start` and `end` are character offsets into the text of the file the node came from (`end` is
  exclusive). Lines and columns are computed from them only when something is shown to a person.
* Nodes are treated as immutable once parsed. They are not *frozen* because a frozen dataclass
  triples the cost of creating one, and a stack parses tens of thousands.
* Nodes compare and hash by identity, so they can key side tables (types, slots, sites).
* Dotted configuration keys are already nested here: `{a.b.c = 1}` is `{a: {b: {c = 1}}}`, whose
  inner `Config` nodes say `written=False`. Everything else keeps the form of the source.
* Closed families (`Expr`, `Stmt`, `Type`, `ListItem`, `ConfigItem`) are unions at the end of the
  module, for `match` with `assert_never`. What stands in nodes by its text is a member of one of `symbols`.
"""

from __future__ import annotations

from kcl.records import dataclass, field, fields
from kcl.syntax.symbols import AugOp as AugOp
from kcl.syntax.symbols import BasicTypeName as BasicTypeName
from kcl.syntax.symbols import BinaryOp as BinaryOp
from kcl.syntax.symbols import CompareOp as CompareOp
from kcl.syntax.symbols import ConfigOp as ConfigOp
from kcl.syntax.symbols import ConstantKind as ConstantKind
from kcl.syntax.symbols import QuantifierOp as QuantifierOp
from kcl.syntax.symbols import UnaryOp as UnaryOp
from kcl.unread import Unread

# --------------------------------------------------------------------------------------
# Base


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """Anything with a place in a file: characters `start` up to, not including, `end`."""

    start: int
    end: int

    def __repr__(self) -> str:
        """All fields, as a dataclass would; one for all, because generating sixty makes importing slow."""
        shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"{type(self).__name__}({shown})"


@dataclass(slots=True, eq=False, repr=False)
class Comment(Node):
    """A `#` comment to the end of its line; `text` includes the `#`."""

    text: str


# --------------------------------------------------------------------------------------
# Types, as written in annotations


@dataclass(slots=True, eq=False, repr=False)
class BasicType(Node):
    """One of the types that are built in."""

    name: BasicTypeName


@dataclass(slots=True, eq=False, repr=False)
class NamedType(Node):
    """A schema, rule, type alias or `pkg.Name`; `names` has one element a segment."""

    names: tuple[str, ...]


@dataclass(slots=True, eq=False, repr=False)
class LiteralType(Node):
    """The type of one value: `1`, `1.5`, `"a"`, `True`, or `1Ki` (then `suffix` is "Ki" and `value` the digits' 1)."""

    value: int | float | str | bool
    suffix: str | None = None


@dataclass(slots=True, eq=False, repr=False)
class ListType(Node):
    """`[T]`; `item` is None for `[]`, a list of anything."""

    item: Type | None


@dataclass(slots=True, eq=False, repr=False)
class DictType(Node):
    """`{K:V}`; `key` or `value` is None where left out, as in `{str:}` or `{:}`."""

    key: Type | None
    value: Type | None


@dataclass(slots=True, eq=False, repr=False)
class UnionType(Node):
    """`A | B | C`, at least two members."""

    members: list[Type]


@dataclass(slots=True, eq=False, repr=False)
class FunctionType(Node):
    """`(A, B) -> R`; `result` is None when no result is written."""

    params: list[Type]
    result: Type | None


# --------------------------------------------------------------------------------------
# Expressions


@dataclass(slots=True, eq=False, repr=False)
class Name(Node):
    """A bare identifier. The `$` that escapes a keyword is already gone from `id`."""

    id: str


@dataclass(slots=True, eq=False, repr=False)
class Constant(Node):
    """`True`, `False`, `None` or `Undefined`."""

    kind: ConstantKind


@dataclass(slots=True, eq=False, repr=False)
class Missing(Constant):
    """A value that the text leaves out, as Undefined; only in trees of texts with errors."""


@dataclass(slots=True, eq=False, repr=False)
class Int(Node):
    """An integer literal. With a unit (`1Ki`), `suffix` is the unit and `value` the number before it."""

    value: int
    suffix: str | None = None


@dataclass(slots=True, eq=False, repr=False)
class Float(Node):
    """A floating-point literal."""

    value: float


@dataclass(slots=True, eq=False, repr=False)
class Str(Node):
    """A string without interpolation; `value` is unescaped (and dedented if triple-quoted and the dialect says so)."""

    value: str
    raw: bool = False
    triple: bool = False


@dataclass(slots=True, eq=False, repr=False)
class FormattedValue(Node):
    """`${value}` or `${value: #json}` inside a string; `spec` is "json", "yaml" or None."""

    value: Expr
    spec: str | None


@dataclass(slots=True, eq=False, repr=False)
class JoinedStr(Node):
    """A string with interpolation: the literal pieces, unescaped, and the values between them, in order."""

    parts: list[str | FormattedValue]
    triple: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Paren(Node):
    """`(value)`."""

    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Unary(Node):
    """`op operand`."""

    op: UnaryOp
    operand: Expr


@dataclass(slots=True, eq=False, repr=False)
class Binary(Node):
    """`left op right`."""

    op: BinaryOp
    left: Expr
    right: Expr


@dataclass(slots=True, eq=False, repr=False)
class Compare(Node):
    """`left ops[0] comparators[0] ops[1] comparators[1] ...`, a chain as in Python."""

    left: Expr
    ops: list[CompareOp]
    comparators: list[Expr]


@dataclass(slots=True, eq=False, repr=False)
class IfExpr(Node):
    """`body if cond else orelse`."""

    body: Expr
    cond: Expr
    orelse: Expr


@dataclass(slots=True, eq=False, repr=False)
class Cast(Node):
    """`value as type`."""

    value: Expr
    type: Type


@dataclass(slots=True, eq=False, repr=False)
class Selector(Node):
    """`value.name`, or `value?.name` when `optional`. `name_start` is where the name begins."""

    value: Expr
    name: str
    optional: bool
    name_start: int


@dataclass(slots=True, eq=False, repr=False)
class Subscript(Node):
    """`value[index]`, or `value?[index]` when `optional`."""

    value: Expr
    index: Expr
    optional: bool


@dataclass(slots=True, eq=False, repr=False)
class Slice(Node):
    """`value[lower:upper:step]`; None where left out."""

    value: Expr
    lower: Expr | None
    upper: Expr | None
    step: Expr | None
    optional: bool


@dataclass(slots=True, eq=False, repr=False)
class Keyword(Node):
    """`name = value` in a call; `name` is dotted only in erroneous programs, and then kept as written."""

    name: str
    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Call(Node):
    """`func(args, keywords)`. A schema called without braces, `S(1)`, is also a Call: only evaluation can tell."""

    func: Expr
    args: list[Expr]
    keywords: list[Keyword]


@dataclass(slots=True, eq=False, repr=False)
class SchemaExpr(Node):
    """`name {...}` or `name(args) {...}`: a schema instance, or a variable united with a configuration."""

    name: Name | Selector
    args: list[Expr]
    keywords: list[Keyword]
    config: Config | ConfigComp


@dataclass(slots=True, eq=False, repr=False)
class Starred(Node):
    """`*value` in a list."""

    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class ListIf(Node):
    """`if cond: body else: orelse` among the items of a list; an `elif` is a ListIf alone in `orelse`."""

    cond: Expr
    body: list[ListItem]
    orelse: list[ListItem]


@dataclass(slots=True, eq=False, repr=False)
class List(Node):
    """`[items]`."""

    items: list[ListItem]


@dataclass(slots=True, eq=False, repr=False)
class CompClause(Node):
    """`for targets in iter if conds[0] if conds[1] ...`; one or two targets."""

    targets: list[Name]
    iter: Expr
    conds: list[Expr]


@dataclass(slots=True, eq=False, repr=False)
class ListComp(Node):
    """`[element for ... in ...]`."""

    element: Expr | Starred
    clauses: list[CompClause]


@dataclass(slots=True, eq=False, repr=False)
class Entry(Node):
    """`key op value`, or `key[index] op value`, in a configuration.

    `key` is usually a `Name` (the string key of that name, unless it is a loop variable of an
    enclosing comprehension), a `Str` or a `JoinedStr`; any other expression is kept as it is.
    """

    key: Expr
    index: Expr | None
    op: ConfigOp
    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Unpack(Node):
    """`**value` in a configuration."""

    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class ConfigIf(Node):
    """`if cond: body else: orelse` among the entries of a configuration; an `elif` is a ConfigIf alone in `orelse`."""

    cond: Expr
    body: list[ConfigItem]
    orelse: list[ConfigItem]


@dataclass(slots=True, eq=False, repr=False)
class Config(Node):
    """`{...}`. `written` is False for the inner levels that a dotted key stands for."""

    items: list[ConfigItem]
    written: bool = True


@dataclass(slots=True, eq=False, repr=False)
class ConfigComp(Node):
    """`{entry for ... in ...}`; the entry keeps its operator, so `{k += [v] for ...}` accumulates."""

    entry: Entry | Unpack
    clauses: list[CompClause]


@dataclass(slots=True, eq=False, repr=False)
class Quantifier(Node):
    """`op targets in iter {body if cond}`; one or two targets, `cond` None when there is none."""

    op: QuantifierOp
    targets: list[Name]
    iter: Expr
    body: Expr
    cond: Expr | None


@dataclass(slots=True, eq=False, repr=False)
class Param(Node):
    """`name: type = default`; type and default are None where not written."""

    name: str
    type: Type | None
    default: Expr | None


@dataclass(slots=True, eq=False, repr=False)
class Lambda(Node):
    """`lambda params -> result { body }`; the value of the last statement is its result."""

    params: list[Param]
    result: Type | None
    body: list[Stmt]


# --------------------------------------------------------------------------------------
# Statements


@dataclass(slots=True, eq=False, repr=False)
class Member(Node):
    """`.name` in an assignment target."""

    name: str


@dataclass(slots=True, eq=False, repr=False)
class Index(Node):
    """`[value]` in an assignment target."""

    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Target(Node):
    """What is assigned to: a name and the path below it, as `_a.b["c"]`. `name_end` is where the name itself ends."""

    name: str
    path: list[Member | Index]
    name_end: int


@dataclass(slots=True, eq=False, repr=False)
class Import(Node):
    """`import a.b.c as x`. `level` counts leading dots; `path` is as written, with them.

    `name` is what the file sees: the alias, else the last segment. `path_start` and `path_end`
    frame the path, for messages about a module that is missing.
    """

    path: str
    level: int
    names: tuple[str, ...]
    alias: str | None
    path_start: int
    path_end: int

    @property
    def name(self) -> str:
        return self.alias if self.alias is not None else self.names[-1]


@dataclass(slots=True, eq=False, repr=False)
class TypeAlias(Node):
    """`type name = value`."""

    name: str
    value: Type


@dataclass(slots=True, eq=False, repr=False)
class Assign(Node):
    """`a = b = value`, or `a: type = value`."""

    targets: list[Target]
    type: Type | None
    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class AugAssign(Node):
    """`target op value`, with an operator such as `+=`."""

    target: Target
    op: AugOp
    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Unification(Node):
    """`target: Schema {...}`: declares, and is merged with the other unifications of the same name."""

    target: Target
    value: SchemaExpr


@dataclass(slots=True, eq=False, repr=False)
class Assert(Node):
    """`assert test if cond, message`; cond and message are None where not written."""

    test: Expr
    cond: Expr | None
    message: Expr | None


@dataclass(slots=True, eq=False, repr=False)
class If(Node):
    """An `elif` is an If alone in `orelse`."""

    cond: Expr
    body: list[Stmt]
    orelse: list[Stmt]


@dataclass(slots=True, eq=False, repr=False)
class ExprStmt(Node):
    """An expression on a line of its own."""

    value: Expr


@dataclass(slots=True, eq=False, repr=False)
class Decorator(Node):
    """`@name` or `@name(args, keywords)`."""

    name: Name | Selector
    args: list[Expr]
    keywords: list[Keyword]


@dataclass(slots=True, eq=False, repr=False)
class SchemaAttr(Node):
    """`name?: type = value` in a schema body.

    `op` and `value` are both None when there is no default; `op` is `=`, `+=`, `|=` and so on
    otherwise. `name_end` is where the name itself ends.
    """

    name: str
    optional: bool
    type: Type
    op: AugOp | ConfigOp | None
    value: Expr | None
    decorators: list[Decorator]
    name_end: int


@dataclass(slots=True, eq=False, repr=False)
class IndexSignature(Node):
    """`[name: ...key_type]: value_type = default`; `any_other` is the `...`, `name` None where not written."""

    name: str | None
    key_type: Type
    any_other: bool
    value_type: Type
    default: Expr | None


@dataclass(slots=True, eq=False, repr=False)
class Check(Node):
    """One line under `check:` or in a rule: `test if cond, message`."""

    test: Expr
    cond: Expr | None
    message: Expr | None


class UnreadNode(Unread, Node):
    """A node of which the cache may hold back some fields."""

    __slots__ = ("_read",)


@dataclass(slots=True, eq=False, repr=False)
class Schema(UnreadNode):
    """`schema`, `mixin` or `protocol`.

    `is_mixin` and `is_protocol` are also set by the name ending in Mixin or Protocol, the older
    spelling. `name_start`/`name_end` frame the name. `doc` is the string that opens the body.
    """

    name: str
    name_start: int
    name_end: int
    doc: Str | None
    params: list[Param]
    parent: Name | Selector | None
    host: Name | Selector | None
    is_mixin: bool
    is_protocol: bool
    mixins: list[Name | Selector]
    decorators: list[Decorator]
    body: list[Stmt]
    index_signature: IndexSignature | None
    checks: list[Check]


@dataclass(slots=True, eq=False, repr=False)
class Rule(Node):
    """`rule name[params](parents) for host:` with its checks."""

    name: str
    name_start: int
    name_end: int
    doc: Str | None
    params: list[Param]
    parents: list[Name | Selector]
    host: Name | Selector | None
    decorators: list[Decorator]
    checks: list[Check]


@dataclass(slots=True, eq=False, repr=False)
class Module(Node):
    """One file. `doc` is the string that opens it, if any; comments are in order of appearance."""

    path: str
    doc: Str | None
    body: list[Stmt]
    comments: list[Comment] = field(default_factory=list)

    def imports(self) -> list[Import]:
        """The import statements of the file (they may stand only at the top level)."""
        return [statement for statement in self.body if isinstance(statement, Import)]


# --------------------------------------------------------------------------------------
# The closed families

Type = BasicType | NamedType | LiteralType | ListType | DictType | UnionType | FunctionType

Expr = (
    Name
    | Constant
    | Int
    | Float
    | Str
    | JoinedStr
    | Paren
    | Unary
    | Binary
    | Compare
    | IfExpr
    | Cast
    | Selector
    | Subscript
    | Slice
    | Call
    | SchemaExpr
    | List
    | ListComp
    | Config
    | ConfigComp
    | Quantifier
    | Lambda
)

ListItem = Expr | Starred | ListIf
ConfigItem = Entry | Unpack | ConfigIf

Stmt = Import | TypeAlias | Assign | AugAssign | Unification | Assert | If | ExprStmt | SchemaAttr | Schema | Rule
