"""Reading a configuration by paths that come from a live object.

Live objects have their defaults filled in, and so have the keys of their list elements: a port `{containerPort: 80}` of
the configuration is `[containerPort=80,protocol=TCP]` there. So an element is also found by those keys it does say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtimes.base import FieldPath, ListKey, is_unknown, refers

MISSING: Final = object()


def find(body: Any, path: FieldPath) -> Any:
    """Returns the value at a path, `MISSING` where there is none."""
    for step in path:
        match step:
            case str():
                if not isinstance(body, Mapping) or step not in body:
                    return MISSING
                body = body[step]
            case _:
                index = position(body, step)
                if index is None:
                    return MISSING
                body = body[index]
    return body


def plain_steps(body: Any, path: FieldPath) -> tuple[str | int, ...]:
    """Returns the path with list identities turned into indexes, as far as the body has what it names."""
    steps: list[str | int] = []
    for step in path:
        plain = step if isinstance(step, str) else position(body, step)
        if plain is None:
            break
        steps.append(plain)
        body = find(body, (plain,))
        if body is MISSING:
            body = None
    return tuple(steps)


def position(items: Any, step: int | ListKey) -> int | None:
    """Returns the index of an element, None where the list (or anything else) has none such."""
    if not isinstance(items, list):
        return None
    if isinstance(step, int):
        return step if 0 <= step < len(items) else None
    exact = next((index for index, each in enumerate(items) if step.matches(each)), None)
    if exact is not None:
        return exact
    return next((index for index, each in enumerate(items) if _agrees(step, each)), None)


def _agrees(key: ListKey, element: Any) -> bool:
    if not isinstance(element, Mapping):
        return False
    said = [(name, value) for name, value in key.fields if name in element]
    return bool(said) and all(element[name] == value or _is_open(element[name]) for name, value in said)


def _is_open(value: Any) -> bool:
    """Whether what stands there may turn out to be anything."""
    return is_unknown(value) or refers(value)
