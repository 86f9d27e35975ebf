"""`import runtime`."""

from __future__ import annotations

from typing import Final

from kcl.diagnostics import KclError
from kcl.evaluator.value import UNDEFINED, CallContext, Value, ValueFailure
from kcl.stdlib.declaration import Module

MODULE: Final = Module("runtime")
_CHECK_FAILED: Final = "Check failed on the condition: "


@MODULE.function("catch(func: any) -> str", contextual=True)
def catch(context: CallContext, func: Value) -> Value:
    """Calls `func` and answers the message of what went wrong, Undefined when nothing did."""
    try:
        context.call(func, ())
    except KclError as problem:
        found = problem.diagnostics[0]
        # A failed check is told at the instance; what failed is told at the check.
        check = found.labels[0].message if found.labels and found.labels[0].line_only else found.message
        return "" if check == _CHECK_FAILED.rstrip(": ") else check.removeprefix(_CHECK_FAILED)
    except ValueFailure as problem:
        return problem.message
    return UNDEFINED
