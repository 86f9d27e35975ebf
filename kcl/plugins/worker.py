"""The process that holds a plugin's code: `python -m kcl.plugins.worker`, started by host.py.

It is a process of its own so that a function that never returns can be ended, and so that nothing of it stays in the
program that asked. One JSON object a line in each direction:

    {"load": {"file": PATH, "text": CODE} | {"entryPoint": [GROUP, NAME]} | {"forked": true}, "settings": {...}}
        → {"functions": [{"signature": ..., "timeoutSeconds": ..., "what": ...}]}
    {"call": NAME, "args": [...], "named": {...}, "seconds": 5.0}
        → {"answer": VALUE}
    either → {"failed": MESSAGE, "hint": TEXT}

What the plugin prints goes to standard error, and from there into the log of the run. Of an exception that is no
`PluginError` only its type and its place are told: its text may hold data nobody meant to show.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, NoReturn, TextIO

from kcl.plugins.contract import Call, Plugin, PluginError
from kcl.plugins.guard import guarded

_OBJECT = "PLUGIN"


def main() -> NoReturn:
    """Answers requests until standard input ends, or whoever asks does: then all that the plugin started ends too."""
    alive, memory_bytes = (int(each) for each in sys.argv[1:3])
    guarded(answer_requests, alive, memory_bytes)


def answer_requests(forked: Plugin | None = None) -> int:
    """`forked` is a plugin that this process had when it was forked."""
    requests, answers = _own_channels()
    plugin = Plugin()
    settings: Mapping[str, str] = {}
    code_of = ""
    for line in requests:
        request = json.loads(line)
        if "load" in request:
            settings, code_of = request["settings"], request["load"].get("file", "")

            def load(wanted: dict[str, Any] = request["load"]) -> dict[str, Any]:
                nonlocal plugin
                plugin = forked if forked is not None and "forked" in wanted else _load(wanted)
                return {"functions": [_described(each) for each in plugin.functions.values()]}

            reply = _guarded(load, code_of)
        else:
            call = Call(settings, time.monotonic() + float(request["seconds"]))

            def answer(request: dict[str, Any] = request, call: Call = call) -> dict[str, Any]:
                function = plugin.functions[request["call"]].implementation
                return {"answer": function(call, *request["args"], **request["named"])}

            reply = _guarded(answer, code_of)
        answers.write(reply + "\n")
        answers.flush()
    return 0


def _own_channels() -> tuple[TextIO, TextIO]:
    """Keeps standard input and output for the protocol; the plugin's code gets an empty input and standard error."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    return requests, answers


def _load(wanted: Mapping[str, Any]) -> Plugin:
    if "entryPoint" in wanted:
        group, name = wanted["entryPoint"]
        found = entry_points(group=group, name=name)
        if not found:
            raise PluginError(
                f"no installed package offers the plugin {name}", hint=f"install one with an entry point of {group}"
            )
        plugin = next(iter(found)).load()
    else:
        scope: dict[str, Any] = {"__name__": "plugin", "__file__": wanted["file"]}
        exec(compile(wanted["text"], wanted["file"], "exec"), scope)
        plugin = scope.get(_OBJECT)
    if not isinstance(plugin, Plugin):
        raise PluginError(f"its code has no {_OBJECT}", hint=f"write {_OBJECT} = Plugin(), from kcl.plugins")
    return plugin


def _described(function: Any) -> dict[str, Any]:
    return {
        "signature": function.signature,
        "timeoutSeconds": function.timeout_seconds,
        "what": function.what,
        "isSecret": function.is_secret,
    }


def _guarded(work: Callable[[], dict[str, Any]], code_of: str) -> str:
    """Returns what to answer: what `work` gives, or why it gives nothing."""
    try:
        reply = work()
        try:
            return json.dumps(reply)
        except (TypeError, ValueError, RecursionError):
            raise PluginError("the answer is no plain data", hint="texts, numbers, lists and mappings are") from None
    except PluginError as error:
        return json.dumps({"failed": error.message, "hint": error.hint})
    except SyntaxError as error:
        return json.dumps({"failed": f"its code is no Python: {error.msg}", "hint": f"{error.filename}:{error.lineno}"})
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if each.filename == code_of] or frames[-1:]
        place = f"{own[-1].filename}:{own[-1].lineno}" if own and code_of else ""
        return json.dumps({"failed": f"ended by {type(error).__name__}", "hint": place})


if __name__ == "__main__":
    main()
