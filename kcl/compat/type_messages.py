"""The messages of the official service that tell of types and symbols, as plain records."""

from __future__ import annotations

from kcl.compat.messages import Error, ExecProgramArgs, ParseProgramArgs
from kcl.records import dataclass, field


@dataclass(slots=True)
class Decorator:
    """`arguments` and the values of `keywords` are expressions as they are written."""

    name: str = ""
    arguments: list[str] = field(default_factory=list)
    keywords: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Example:
    summary: str = ""
    description: str = ""
    value: str = ""


@dataclass(slots=True)
class KclType:
    """`type` is schema, dict, list, union or function, else how the type is spelled.

    `line` counts the properties of a schema from 1. `default` is an expression.
    """

    type: str = ""
    union_types: list[KclType] = field(default_factory=list)
    default: str = ""
    schema_name: str = ""
    schema_doc: str = ""
    properties: dict[str, KclType] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    key: KclType | None = None
    item: KclType | None = None
    line: int = 0
    decorators: list[Decorator] = field(default_factory=list)
    filename: str = ""
    pkg_path: str = ""
    description: str = ""
    examples: dict[str, Example] = field(default_factory=dict)
    base_schema: KclType | None = None
    function: FunctionType | None = None
    index_signature: IndexSignature | None = None


@dataclass(slots=True)
class Parameter:
    name: str = ""
    ty: KclType = field(default_factory=KclType)


@dataclass(slots=True)
class FunctionType:
    params: list[Parameter] = field(default_factory=list)
    return_ty: KclType = field(default_factory=KclType)


@dataclass(slots=True)
class IndexSignature:
    key_name: str = ""
    key: KclType = field(default_factory=KclType)
    val: KclType = field(default_factory=KclType)
    any_other: bool = False


@dataclass(slots=True)
class SchemaTypes:
    schema_type: list[KclType] = field(default_factory=list)


@dataclass(slots=True)
class GetSchemaTypeMappingArgs:
    exec_args: ExecProgramArgs = field(default_factory=ExecProgramArgs)
    schema_name: str = ""


@dataclass(slots=True)
class GetSchemaTypeMappingResult:
    schema_type_mapping: dict[str, KclType] = field(default_factory=dict)


@dataclass(slots=True)
class GetSchemaTypeMappingUnderPathResult:
    schema_type_mapping: dict[str, SchemaTypes] = field(default_factory=dict)


@dataclass(slots=True)
class SymbolIndex:
    i: int = 0
    g: int = 0
    kind: str = ""


@dataclass(slots=True)
class ScopeIndex:
    i: int = 0
    g: int = 0
    kind: str = ""


@dataclass(slots=True)
class Symbol:
    ty: KclType = field(default_factory=KclType)
    name: str = ""
    owner: SymbolIndex | None = None
    attrs: list[SymbolIndex] = field(default_factory=list)
    is_global: bool = False


@dataclass(slots=True)
class Scope:
    kind: str = ""
    parent: ScopeIndex | None = None
    owner: SymbolIndex | None = None
    children: list[ScopeIndex] = field(default_factory=list)
    defs: list[SymbolIndex] = field(default_factory=list)


@dataclass(slots=True)
class LoadPackageArgs:
    parse_args: ParseProgramArgs = field(default_factory=ParseProgramArgs)
    resolve_ast: bool = False
    load_builtin: bool = False
    with_ast_index: bool = False


@dataclass(slots=True)
class LoadPackageResult:
    """Keys of `symbols` and `scopes` are the JSON of their index. There is no tree, so nothing is by its nodes."""

    paths: list[str] = field(default_factory=list)
    parse_errors: list[Error] = field(default_factory=list)
    type_errors: list[Error] = field(default_factory=list)
    scopes: dict[str, Scope] = field(default_factory=dict)
    symbols: dict[str, Symbol] = field(default_factory=dict)
    fully_qualified_name_map: dict[str, SymbolIndex] = field(default_factory=dict)
    pkg_scope_map: dict[str, ScopeIndex] = field(default_factory=dict)
