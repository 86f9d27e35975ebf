"""`import runtime`."""

from __future__ import annotations

from typing import Final

from kcl.diagnostics import KclError
from kcl.evaluator.value import UNDEFINED, CallContext, Value, ValueFailure
from kcl.stdlib.declaration import Module

MODULE: Final = Module("runtime")


@MODULE.function("catch(func: any) -> str", contextual=True)
def catch(context: CallContext, func: Value) -> Value:
    """Calls `func` and answers the message of what went wrong, Undefined when nothing did."""
    try:
        context.call(func, ())
    except KclError as problem:
        return problem.diagnostics[0].message
    except ValueFailure as problem:
        return problem.message
    return UNDEFINED
