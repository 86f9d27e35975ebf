"""Calls of the official service in a process of its own: `python -m kcl.compat.worker`.

It reads one JSON object a line, `{"method", "params", "folder", "seconds", "bytes"}`, and writes one a line:
`{"result": ...}`, or `{"error": KIND, "message": TEXT}`. KIND is `method` where there is no such method, `params` where
they are not its message, `limit` where it took more than it may, `failed` where the call says no, and `bug`. After
`limit` it ends. Whoever started it may end it at any moment; it ends itself when nobody waits any more.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Final

from kcl.bounded import Allowance
from kcl.bounded.watchdog import Exceeded, Watchdog, give_room_to_report, is_out_of_memory, problem

_PROGRAM: Final = "wb"


def main() -> int:
    import kcl.compat.service  # noqa: F401 - before a call comes: loading it takes longer than most calls

    answers = os.dup(1)
    os.dup2(2, 1)  # what is printed on the way is no answer
    parent = os.getppid()

    def write(answer: dict[str, Any]) -> None:
        line = json.dumps(answer).encode() + b"\n"
        while line:
            line = line[os.write(answers, line) :]

    def exceeded(what: Exceeded, allowed: Allowance, where: str) -> None:
        said, hint = problem(what, allowed)
        write({"error": "limit", "message": f"{said} ({hint})"})

    watchdog = Watchdog(exceeded, lambda: "", lambda: os.getppid() != parent)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        allowance = Allowance(float(asked["seconds"]), int(asked["bytes"]), _PROGRAM)
        watchdog.begin(allowance)
        try:
            answer = answered(asked["method"], asked["params"], asked["folder"])
        except Exception as error:
            if is_out_of_memory(error, allowance):
                give_room_to_report()
                exceeded(Exceeded.MEMORY, allowance, "")
                return 1
            # its text may quote data, and its place says enough to find it
            answer = {"error": "bug", "message": f"{type(error).__name__} {_place(error)}"}
        watchdog.end()
        write(answer)
    return 0


def answered(method: str, params: object, folder: str) -> dict[str, Any]:
    """The answer to one call in a folder, failures that a caller can do something about included."""
    from kcl.compat.api import API, ServiceError
    from kcl.compat.json_form import BadMessage
    from kcl.compat.plugin import Registered
    from kcl.compat.service import UnknownMethod, call
    from kcl.diagnostics import KclError
    from kcl.tools.query.reading import Unreadable

    try:
        os.chdir(folder)
        return {"result": call(method, params, API(Registered()))}
    except UnknownMethod as error:
        return {"error": "method", "message": str(error)}
    except BadMessage as error:
        return {"error": "params", "message": str(error)}
    except (ServiceError, Unreadable, KclError) as error:
        return {"error": "failed", "message": str(error)}
    except OSError as error:
        return {"error": "failed", "message": f"{error.filename or method}: {error.strerror}"}


def _place(error: BaseException) -> str:
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return "" if at is None else f"at {os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}"


if __name__ == "__main__":
    sys.exit(main())
