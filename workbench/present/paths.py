"""Reading paths as people write them: the inverse of `runtimes.base.format_path`."""

from __future__ import annotations

import json
import re

from runtimes.base import FieldPath, ListKey, PathStep
from workbench.engine.errors import EngineError

_STEP = re.compile(
    r"""\.?(?P<name>[A-Za-z_$][\w$-]*)
      | \[(?P<index>-?\d+)\]
      | \[(?P<quoted>"(?:[^"\\]|\\.)*")\]
      | \[(?P<keys>[\w./-]+=[^\]]*)\]""",
    re.VERBOSE,
)


def parse(text: str) -> FieldPath:
    """Parses `spec.containers[name=web].ports[0]`; raises `EngineError` where it can't be read on."""
    steps: list[PathStep] = []
    position, wanted = 0, "" if text == "." else text.strip()
    while position < len(wanted):
        found = _STEP.match(wanted, position)
        if found is None:
            raise EngineError(
                f"the path {text!r} can't be read from {wanted[position:]!r} on",
                hint="write it as spec.template.spec.containers[name=web].image",
            )
        steps.append(_step(found))
        position = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> PathStep:
    if found["name"] is not None:
        return found["name"]
    if found["index"] is not None:
        return int(found["index"])
    if found["quoted"] is not None:
        return str(json.loads(found["quoted"]))
    pairs = (pair.partition("=") for pair in found["keys"].split(","))
    return ListKey(tuple((name, int(value) if value.isdigit() else value) for name, _, value in pairs))
