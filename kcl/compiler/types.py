"""What generated code knows of types before it runs."""

from __future__ import annotations

from kcl.compiler.writing import Kind, united
from kcl.diagnostics import KclError
from kcl.evaluator.runtime_types import (
    AnyType,
    BasicRuntimeType,
    DictRuntimeType,
    InstanceType,
    ListRuntimeType,
    LiteralRuntimeType,
    NumberMultiplierType,
    RuntimeType,
    UnionRuntimeType,
)
from kcl.evaluator.schemas import SchemaType
from kcl.evaluator.value import KDict, KList, Value


def allowed_items(type_: RuntimeType) -> tuple[type, frozenset[type], str] | None:
    """For lists and dicts of scalars: what surely fits (the container, the types in it), and how to get at them."""
    match type_:
        case ListRuntimeType(item=BasicRuntimeType() as item):
            return KList, item.accepted, ""
        case DictRuntimeType(value=BasicRuntimeType() as item):
            return KDict, item.accepted, ".values()"
        case _:
            return None


def fits(kind: Kind, type_: RuntimeType) -> bool:
    """Whether every value of a kind (`Writing.kinds`) is a member of the type as it is."""
    match type_:
        case AnyType():
            return True
        case BasicRuntimeType():
            base = kind.rstrip("?") if isinstance(kind, str) else kind
            return base in ("none", str(type_)) or (base == "int" and str(type_) == "float")
        case ListRuntimeType():
            return isinstance(kind, tuple) and kind[0] == "list" and fits(kind[1], type_.item)
        case DictRuntimeType():
            return isinstance(kind, tuple) and kind[0] == "config" and fits(kind[1], type_.value)
        case UnionRuntimeType():
            return not type_.converts and any(fits(kind, member) for member in type_.members)
        case InstanceType():
            return isinstance(kind, tuple) and kind[0] == "instance" and _is_base(type_, kind[1])
        case _:
            return False


def kind_of(type_: RuntimeType | None) -> Kind:
    """What is known of the values that have passed the type."""
    match type_:
        case BasicRuntimeType():
            return None if str(type_) == "float" else f"{type_}?"
        case LiteralRuntimeType():
            return _kind_of_literal(type_.value)
        case UnionRuntimeType():
            return united(map(kind_of, type_.members))
        case _:
            return None


def _kind_of_literal(value: Value) -> Kind:
    return f"{type(value).__name__}?"


def holds_instances(type_: RuntimeType | None) -> bool:
    """Whether there may be an instance in a value of the type."""
    match type_:
        case BasicRuntimeType() | LiteralRuntimeType() | NumberMultiplierType():
            return False
        case ListRuntimeType():
            return holds_instances(type_.item)
        case DictRuntimeType():
            return holds_instances(type_.value)
        case UnionRuntimeType():
            return any(map(holds_instances, type_.members))
        case _:
            return True


def _is_base(type_: InstanceType, schema: SchemaType) -> bool:
    try:
        return type_.schema.is_base_of(schema)
    except KclError:
        return False
