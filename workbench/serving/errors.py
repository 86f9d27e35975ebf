"""What goes wrong as errors of JSON-RPC: a code, a sentence, and as data what a program can act on."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from workbench.exit_codes import exit_code
from workbench.project import WorkbenchError

if TYPE_CHECKING:
    from workbench.engine.compiled import CompileFailed

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
FAILED: Final = -32000
"""The call says no; `data.kind` names why, as on the command line."""
BUSY: Final = -32001
NOT_ALLOWED: Final = -32002
"""The server was not started with what this takes."""
TIMED_OUT: Final = -32003
CANCELLED: Final = -32800
"""As the protocol of language servers has it."""


class CallFailed(Exception):
    """The answer to a call is an error. Its text is safe to show."""

    def __init__(self, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = {"code": self.code, "message": self.message}
        return {**found, "data": self.data} if self.data else found


def call_failed(error: BaseException) -> CallFailed:
    """What to answer for whatever a verb raised."""
    from runtimes.base import RuntimeFailure
    from workbench.engine.compiled import CompileFailed
    from workbench.engine.errors import ConfirmationRequired, StalePlan
    from workbench.present.errors import Bug

    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    match error:
        case CallFailed():
            return error
        case CompileFailed():
            more: dict[str, Any] = {"diagnostics": _diagnostics(error), "report": error.rendered}
        case ConfirmationRequired():
            more = {"phrase": error.phrase}
        case StalePlan():
            more = {"moved": [str(each) for each in error.moved]}
        case WorkbenchError():
            more = {}
        case RuntimeFailure():
            more = {"where": error.target}
        case OSError() if error.filename:
            return CallFailed(
                FAILED, f"the system refuses: {error.strerror}", kind="OSError", where=str(error.filename)
            )
        case _:
            bug = Bug(error)
            return CallFailed(INTERNAL_ERROR, bug.message, kind="Bug", hint=bug.hint)
    told = {"kind": type(error).__name__, "hint": error.hint, "exitCode": int(exit_code(error))}
    where = {"where": error.where} if isinstance(error, WorkbenchError) else {}
    return CallFailed(FAILED, str(error), **told, **where, **more)


def _diagnostics(error: CompileFailed) -> list[dict[str, Any]]:
    found = []
    for each, place in zip_longest(error.diagnostics, error.places):
        told: dict[str, Any] = {"code": each.code.number, "severity": each.severity.value, "message": each.message}
        if each.primary is not None:
            told["file"] = each.primary.path
        if place is not None:
            told |= {"line": place.line, "column": place.column}
        found.append(told)
    return found
