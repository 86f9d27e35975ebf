"""Our compiler in a process of its own, for fuzzing: a JSON line in, a JSON line out.

Its memory is limited, so that a program which asks for too much fails here and does not take the machine along.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

_MEMORY = 3 << 30
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\d+|\b[a-z_]\w{0,2}\b")


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        question = json.loads(line)
        answers.write(
            json.dumps(_answer(question["text"], bool(question.get("profile")), question.get("shown"))) + "\n"
        )
        answers.flush()


def _answer(text: str, profile: bool, shown: int | None) -> dict[str, Any]:
    """With `shown` only so many characters of the result, and no features."""
    from kcl.api import ProgramError, run
    from kcl.diagnostics import Severity

    calls: set[tuple[str, str]] = set()
    found: dict[str, Any] = {"crash": None, "yaml": None, "complaints": [], "features": []}
    features: set[str] = set()
    try:
        if shown is None:
            features |= _shapes(text)
        if profile:
            sys.setprofile(_recorder(calls))
        try:
            result = run(["main.k"], work_dir="/nowhere", texts={"main.k": text})
            found["yaml"] = result.yaml()[:shown]
            result.provenance.lookup(0, ())
        except ProgramError as problem:
            problem.render()
            lines = {path: _line_starts(source) for path, source in problem.sources.items()}
            for item in problem.diagnostics:
                if item.severity is Severity.ERROR:
                    line = _line(lines, item.primary.path, item.primary.start) if item.primary else 0
                    found["complaints"].append([item.code.name, line, item.message])
                    features.add(f"{item.code.name}:{_QUOTED.sub('', item.message)[:80]}")
    except BaseException:  # a crash is what is looked for, of whatever kind
        found["crash"] = traceback.format_exc()[-3000:]
    finally:
        sys.setprofile(None)
    features |= {f"{caller}>{callee}" for caller, callee in calls}
    found["features"] = sorted(features)
    return found


def _line_starts(text: str) -> list[int]:
    return [0, *(place + 1 for place, character in enumerate(text) if character == "\n")]


def _line(starts: dict[str, list[int]], path: str, offset: int) -> int:
    return sum(1 for start in starts.get(path, [0]) if start <= offset)


def _shapes(text: str) -> set[str]:
    """Which node stands in which: the part of coverage that costs next to nothing."""
    from kcl.api import parse

    def nodes(parent: str, value: Any) -> Iterator[str]:
        pending = [(parent, value)]
        while pending:
            above, node = pending.pop()
            if isinstance(node, (list, tuple)):
                pending += ((above, item) for item in node)
            elif type(node).__module__ == "kcl.syntax.ast":
                name = type(node).__name__
                yield f"{above}/{name}"
                for field in getattr(type(node), "__slots__", ()):
                    inner = getattr(node, field, None)
                    if isinstance(inner, (list, tuple)) or type(inner).__module__ == "kcl.syntax.ast":
                        pending.append((f"{name}.{field}", inner))

    return set(nodes("", parse(text).module))


def _recorder(calls: set[tuple[str, str]]) -> Any:
    def record(frame: FrameType, event: str, _: Any) -> None:
        code, caller = frame.f_code, frame.f_back
        if event == "call" and "/kcl/" in code.co_filename and caller is not None:
            calls.add((caller.f_code.co_qualname, code.co_qualname))

    return record


if __name__ == "__main__":
    main()
