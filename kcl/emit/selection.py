"""Path selectors (`-S a.b[0]`): parts of a program's output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from kcl.patterns import pattern

_STEP: Final = pattern(r"""\.?(?:\[(-?\d+)\]|\[?"([^"]*)"\]?|\['([^']*)'\]|([^.\[\]]+))""")


def selector_path(selector: str) -> tuple[str | int, ...]:
    """The steps of `a.b[0]."x.y"`. An old `package:` prefix is dropped. Raises ValueError for text that is no path."""
    text = selector.partition(":")[2] if re.match(r"[\w.]*:", selector) else selector
    steps: list[str | int] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(f"invalid path selector '{selector}'")
        index, *names = match.groups()
        steps.append(int(index) if index is not None else next(name for name in names if name is not None))
        position = match.end()
    if not steps:
        raise ValueError(f"invalid path selector '{selector}'")
    return tuple(steps)


def select(value: Any, path: Sequence[str | int]) -> Any:
    """What is at `path` of plain data; a number is an item of a list also where it is written as a name.

    Raises LookupError naming the step that leads nowhere, ValueError for a step that fits no such value.
    """
    for step in path:
        known: bool
        if isinstance(value, list) and isinstance(step, str):
            if not step.isdecimal():
                raise ValueError("list variable can't be used with dict selector expression")
            step = int(step)
        elif isinstance(value, dict) and isinstance(step, int):
            raise ValueError("dict variable can't be used with list selector expression")
        if isinstance(step, int):
            known = isinstance(value, list) and -len(value) <= step < len(value)
        else:
            known = isinstance(value, dict) and step in value
        if not known:
            raise LookupError(str(step))
        value = value[step]
    return value
