"""A value that does not fit the type asked of it, found while the program runs.

What declarations show is told before; here are values whose type only the run knows. They are told at the statement
that asked for the type.
"""

from __future__ import annotations

from kcl.diagnostics import KclError, Span
from kcl.evaluator.operations import kind, type_name
from kcl.evaluator.provenance import SiteTable
from kcl.evaluator.runtime import evaluation_error
from kcl.evaluator.runtime_types import RuntimeType, pack
from kcl.evaluator.value import Sites, Value


def pack_entry(
    type_: RuntimeType, value: Value, sites: Sites, table: SiteTable, declared: Span | None, origin: Span | None
) -> Value:
    """The value as a member of the type. Raises ValueFailure if it is not one."""
    return pack(type_, value, origin)


def wrong_type(type_: RuntimeType, value: Value, literal: bool, table: SiteTable, place: Span) -> KclError:
    """The error for a value assigned at `place`."""
    return evaluation_error(f"expect {type_}, got {type_name(value, full=True)}", place)


def operator_mismatch(*operands: object) -> KclError | None:
    """Nothing: operands whose types declarations show are told of before the program runs."""
    return None


def spelled(value: Value, literal: bool, table: SiteTable) -> str:
    return kind(value)
