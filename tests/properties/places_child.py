"""Our compiler in a process of its own, for `places`: a JSON line in, a JSON line out."""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from typing import Any

_MEMORY = 3 << 30


def main() -> None:
    from kcl.api import ParseCache

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    cache = ParseCache()
    for line in sys.stdin:
        question = json.loads(line)
        answers.write(json.dumps(_answer(question, cache if question["cached"] else None)) + "\n")
        answers.flush()


def _answer(question: dict[str, Any], cache: Any) -> dict[str, Any]:
    from kcl.api import ProgramError, run
    from kcl.source import InMemoryFileSystem

    texts = {f"{question['folder']}/{path}": text for path, text in question["texts"].items()}
    found: dict[str, Any] = {"crash": "", "diagnostics": [], "rendered": "", "sources": {}}
    try:
        result = run(
            question["files"],
            work_dir=question["folder"],
            options=question["options"],
            file_system=InMemoryFileSystem(texts),
            cache=cache,
        )
        found["diagnostics"] = [_plain(each) for each in result.diagnostics]
        found["sources"] = {path: len(text) for path, text in result.sources.items()}
    except ProgramError as problem:
        found["diagnostics"] = [_plain(each) for each in problem.diagnostics]
        found["rendered"] = problem.render()
        found["sources"] = {path: len(text) for path, text in problem.sources.items()}
    except BaseException:  # whatever it is, the caller reports it
        found["crash"] = traceback.format_exc()[-3000:]
    return found


def _plain(diagnostic: Any) -> dict[str, Any]:
    spans = [diagnostic.primary, *(label.span for label in diagnostic.labels)]
    return {
        "title": diagnostic.code.title,
        "messages": [diagnostic.message, *(label.message for label in diagnostic.labels)],
        "spans": [None if span is None else [span.path, span.start, span.end] for span in spans],
    }


if __name__ == "__main__":
    main()
