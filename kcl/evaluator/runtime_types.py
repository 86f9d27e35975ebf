"""Types as the evaluator checks values against them.

A type can do two things: tell whether a value belongs to it, and convert a plain config to the schema it asks for.
`pack` does both, and says what is wrong when the value does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from kcl.diagnostics import Span
from kcl.evaluator.numbers import float_display
from kcl.evaluator.operations import type_name
from kcl.evaluator.provenance import SiteTable
from kcl.evaluator.runtime import ModuleContext, evaluation_error
from kcl.evaluator.value import (
    UNDEFINED,
    Builtin,
    KDict,
    KList,
    Method,
    NumberMultiplier,
    SchemaDescription,
    SchemaInstance,
    Sites,
    Value,
    ValueFailure,
)
from kcl.syntax import ast


class RuntimeType(Protocol):
    """`converts` is False when `convert` always answers its argument."""

    @property
    def converts(self) -> bool: ...

    def accepts(self, value: Value) -> bool:
        """Whether the value, already converted, belongs to the type. None and Undefined belong to every type."""
        ...

    def convert(self, value: Value, origin: Span | None) -> Value: ...

    def __str__(self) -> str:
        """The type as run-time messages spell it."""
        ...


class Schema(SchemaDescription, Protocol):
    """What a type needs to know of the schema that it names; `schemas.SchemaType` is one."""

    @property
    def is_schema(self) -> bool:
        """Not so of a rule, which is declared and imported as a schema is."""

    @property
    def node(self) -> ast.Schema: ...

    @property
    def module(self) -> ModuleContext:
        """The file that it stands in."""

    def is_base_of(self, other: object) -> bool: ...

    def fits(self, config: KDict) -> bool:
        """Whether a config may become an instance."""

    def misfits(self, value: KDict, text: str) -> list[str]:
        """Why a config or an instance of another schema cannot be one of this, which is called `text`."""


def pack(type_: RuntimeType, value: Value, origin: Span | None) -> Value:
    """The value as a member of the type. Raises ValueFailure if it is not one."""
    if value is None or value is UNDEFINED:
        return value
    if type(value) is SchemaInstance and type(type_) is InstanceType and value.schema is type_.found:
        return value
    converted = type_.convert(value, origin) if type_.converts else value
    if type_.accepts(converted):
        return converted
    details = type_.explain(value) if isinstance(type_, InstanceType) else []
    tail = ". For details:\n" + "\n".join(details) if details else ""
    raise ValueFailure(f"expect {type_}, got {type_name(value, full=True)}{tail}")


def pack_whole(type_: RuntimeType, value: Value, origin: Span | None) -> Value:
    """As `pack`, for a place where a config must give an instance at once all that its schema requires.

    Raises KclError, at the last line of the schema, where the official compiler has got to by then.
    """
    if not isinstance(type_, InstanceType) or not isinstance(value, KDict) or isinstance(value, SchemaInstance):
        return pack(type_, value, origin)
    schema = type_.schema
    runtime = schema.module.runtime
    runtime.schema_depth += 1  # what is missing is told here, and not as of an instance somebody wrote
    try:
        packed = pack(type_, value, origin)
    finally:
        runtime.schema_depth -= 1
    if isinstance(packed, SchemaInstance):
        missing = [name for name in packed.required if packed.get(name, UNDEFINED) is UNDEFINED]
        if missing:
            lines = [f"Schema {type_}'s attribute {name} is missing" for name in missing]
            last = (schema.node.checks or schema.node.body or [schema.node])[-1]
            message = "\n".join([f"expect {type_}, got {type_name(value, full=True)}. For details:", *lines])
            raise evaluation_error(message, schema.module.where(last).span)
    return packed


class AnyType:
    """Everything. `text` is how it was written: "any", or nothing at all as in `[]` and `{str:}`."""

    __slots__ = ("_text",)
    converts = False

    def __init__(self, text: str) -> None:
        self._text = text

    def accepts(self, value: Value) -> bool:
        return True

    def convert(self, value: Value, origin: Span | None) -> Value:
        return value

    def __str__(self) -> str:
        return self._text


ANY = AnyType("any")
UNWRITTEN = AnyType("")


class BasicRuntimeType:
    """`int`, `float`, `str` or `bool`; an int is also a float."""

    __slots__ = ("_name", "accepted", "members")
    converts = False

    def __init__(self, name: str) -> None:
        self._name = name
        self.members: tuple[type, ...] = {
            "int": (int,),
            "float": (float, int),
            "str": (str,),
            "bool": (bool,),
        }[name]
        self.accepted = frozenset({*self.members, type(None), type(UNDEFINED)})

    def accepts(self, value: Value) -> bool:
        return type(value) in self.accepted

    def convert(self, value: Value, origin: Span | None) -> Value:
        return value

    def __str__(self) -> str:
        return self._name


class NumberMultiplierType:
    """`units.NumberMultiplier`, or one such number when `text` is given."""

    __slots__ = ("_text",)
    converts = False

    def __init__(self, text: str | None = None) -> None:
        self._text = text

    def accepts(self, value: Value) -> bool:
        if value is None or value is UNDEFINED:
            return True
        return isinstance(value, NumberMultiplier) and self._text in (None, str(value))

    def convert(self, value: Value, origin: Span | None) -> Value:
        return value

    def __str__(self) -> str:
        return self._text or "units.NumberMultiplier"


class LiteralRuntimeType:
    """The type of one string, number or truth value."""

    __slots__ = ("value",)
    converts = False

    def __init__(self, value: int | float | str | bool) -> None:
        self.value = value

    def accepts(self, value: Value) -> bool:
        if value is None or value is UNDEFINED:
            return True
        return type(value) is type(self.value) and bool(value == self.value)

    def convert(self, value: Value, origin: Span | None) -> Value:
        return value

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return f'"{self.value}"'
        return float_display(self.value) if isinstance(self.value, float) else str(self.value)


_UNCHANGED: Final = frozenset({str, int, float, bool, type(None), type(UNDEFINED), SchemaInstance})
"""What every type's `convert` answers as it is."""


def _place(table: SiteTable, sites: Sites, otherwise: Span | None) -> Span | None:
    return table.span(sites[-1]) if sites else otherwise


def _accept_all(type_: RuntimeType, values: Iterable[Value]) -> bool:
    if type(type_) is BasicRuntimeType:
        return type_.accepted.issuperset(map(type, values))
    return isinstance(type_, AnyType) or all(map(type_.accepts, values))


class ListRuntimeType:
    __slots__ = ("_table", "converts", "item")

    def __init__(self, item: RuntimeType, table: SiteTable) -> None:
        self.item = item
        self._table = table
        self.converts = item.converts

    def accepts(self, value: Value) -> bool:
        if value is None or value is UNDEFINED:
            return True
        if not isinstance(value, list):
            return False
        return _accept_all(self.item, value)

    def convert(self, value: Value, origin: Span | None) -> Value:
        if not isinstance(value, list) or _UNCHANGED.issuperset(map(type, value)):
            return value
        convert, table = self.item.convert, self._table
        sites = value.sites if isinstance(value, KList) else None
        if sites is None:
            return KList([convert(item, origin) for item in value])
        return KList(
            [convert(item, _place(table, site, origin)) for item, site in zip(value, sites, strict=True)], sites
        )

    def __str__(self) -> str:
        return f"[{self.item}]"


class DictRuntimeType:
    __slots__ = ("_key", "_table", "converts", "value")

    def __init__(self, key: RuntimeType, value: RuntimeType, table: SiteTable) -> None:
        self._key = key
        self._table = table
        self.value = value
        self.converts = value.converts

    def accepts(self, value: Value) -> bool:
        if value is None or value is UNDEFINED:
            return True
        if not isinstance(value, dict) or isinstance(value, SchemaInstance):
            return False
        return _accept_all(self.value, value.values())

    def convert(self, value: Value, origin: Span | None) -> Value:
        if not isinstance(value, KDict) or isinstance(value, SchemaInstance):
            return value
        if _UNCHANGED.issuperset(map(type, value.values())):
            return value
        convert, table = self.value.convert, self._table
        result = KDict(
            [(key, convert(item, _place(table, value.sites_of(key), origin))) for key, item in value.items()]
        )
        result.operators, result.indexes, result.sites = value.operators, value.indexes, value.sites
        return result

    def __str__(self) -> str:
        return f"{{{self._key}:{self.value}}}"


class UnionRuntimeType:
    __slots__ = ("converts", "members")

    def __init__(self, members: Sequence[RuntimeType]) -> None:
        self.members = members
        self.converts = any(member.converts for member in members)

    def accepts(self, value: Value) -> bool:
        return any(member.accepts(value) for member in self.members)

    def convert(self, value: Value, origin: Span | None) -> Value:
        if not isinstance(value, (list, dict)) or isinstance(value, SchemaInstance):
            return value
        for member in self.members:
            if not member.converts:
                if member.accepts(value):
                    return value
                continue
            converted = member.convert(value, origin)
            if member.accepts(converted):
                return converted
        return value

    def __str__(self) -> str:
        return " | ".join(map(str, self.members))


class FunctionRuntimeType:
    __slots__ = ("_params", "_result")
    converts = False

    def __init__(self, params: Sequence[RuntimeType], result: RuntimeType | None) -> None:
        self._params = params
        self._result = result

    def accepts(self, value: Value) -> bool:
        if value is None or value is UNDEFINED or isinstance(value, (Builtin, Method)):
            return True
        return bool(getattr(value, "is_function", False))

    def convert(self, value: Value, origin: Span | None) -> Value:
        return value

    def __str__(self) -> str:
        return f"({', '.join(map(str, self._params))}) -> {self._result or ANY}"


class InstanceType:
    """A schema named in an annotation, looked up when the first value is checked."""

    __slots__ = ("_find", "_text", "found")
    converts = True

    def __init__(self, text: str, find: Callable[[], Schema]) -> None:
        self._text = text
        self._find = find
        self.found: Schema | None = None

    @property
    def schema(self) -> Schema:
        if self.found is None:
            self.found = self._find()
        return self.found

    def accepts(self, value: Value) -> bool:
        if value is None or value is UNDEFINED:
            return True
        if not isinstance(value, SchemaInstance):
            return False
        # An instance of an unrelated schema passes if it has what this one asks for and nothing else.
        return self.schema.is_base_of(value.schema) or not self.schema.misfits(value, self._text)

    def convert(self, value: Value, origin: Span | None) -> Value:
        if not isinstance(value, KDict) or isinstance(value, SchemaInstance) or not self.schema.fits(value):
            return value
        if value and origin is not None:
            # Officially an instance made of a config written here stands where the last of its entries does.
            sites = value.sites_of(next(reversed(value)))
            last = self.schema.module.runtime.table.span(sites[0]) if sites else None
            if last is not None and last.path == origin.path and origin.start <= last.start < origin.end:
                origin = last
        return self.schema.rebuild(value, (), {}, origin)

    def explain(self, value: Value) -> list[str]:
        """What keeps a config or instance from being an instance of the schema, a line each."""
        if not isinstance(value, KDict):
            return []
        return self.schema.misfits(value, self._text)

    def __str__(self) -> str:
        return self._text
