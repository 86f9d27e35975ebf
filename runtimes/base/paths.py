"""Paths to fields inside a resource's body.

A path is a tuple of steps, so it can be compared, sorted and used as a dict key without parsing:

    ("spec", "replicas")
    ("spec", "template", "spec", "containers", ListKey((("name", "web"),)), "image")
    ("spec", "args", 0)

A list whose elements have an identity (Kubernetes calls its list type *map*, with map keys such as `name` or
`containerPort` + `protocol`) is stepped into by that identity, never by position: an element that moves is the same
element. Lists without identity are stepped into by index. `str` of a path follows the notation of `kubectl explain`
and of JSONPath filters: `spec.template.spec.containers[name=web].image`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kcl.records import dataclass

_WRITTEN_STEP = re.compile(
    r"""\.?(?P<name>[A-Za-z_$][\w$-]*)
      | \[(?P<index>-?\d+)\]
      | \[(?P<quoted>"(?:[^"\\]|\\.)*")\]
      | \[(?P<keys>[\w./-]+=[^\]]*)\]""",
    re.VERBOSE,
)
_PLAIN_NAME = re.compile(r"[A-Za-z_$][\w$-]*|«masked#[0-9a-f]+»")


@dataclass(frozen=True, slots=True, order=True)
class ListKey:
    """The identity of a list element: its map keys and their values, in the schema's order."""

    fields: tuple[tuple[str, str | int | bool], ...]

    def matches(self, element: Any) -> bool:
        return isinstance(element, Mapping) and all(element.get(name) == value for name, value in self.fields)

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.fields)


PathStep = str | int | ListKey
FieldPath = tuple[PathStep, ...]


def parse_path(text: str) -> FieldPath:
    """Parses `spec.containers[name=web].ports[0]`, as `format_path` writes it.

    Raises `ValueError` with the part that can't be read on.
    """
    steps: list[PathStep] = []
    position, wanted = 0, "" if text == "." else text.strip()
    while position < len(wanted):
        found = _WRITTEN_STEP.match(wanted, position)
        if found is None:
            raise ValueError(wanted[position:])
        steps.append(_read_step(found))
        position = found.end()
    return tuple(steps)


def _read_step(found: re.Match[str]) -> PathStep:
    if found["name"] is not None:
        return found["name"]
    if found["index"] is not None:
        return int(found["index"])
    if found["quoted"] is not None:
        return str(json.loads(found["quoted"]))
    pairs = (pair.partition("=") for pair in found["keys"].split(","))
    return ListKey(tuple((name, int(value) if value.isdigit() else value) for name, _, value in pairs))


def format_path(path: FieldPath) -> str:
    """Returns the path as people write it; the empty path is `.`."""
    return "".join(_format_steps(path)).removeprefix(".") or "."


def _format_steps(path: FieldPath) -> Iterator[str]:
    for step in path:
        match step:
            case int():
                yield f"[{step}]"
            case ListKey():
                yield f"[{step}]"
            case str() if _PLAIN_NAME.fullmatch(step):
                yield f".{step}"
            case str():
                yield f"[{json.dumps(step)}]"


def value_at(body: Any, path: FieldPath, default: Any = None) -> Any:
    """Returns the value the path leads to, or `default` where the body has none."""
    for step in path:
        match step:
            case str():
                if not isinstance(body, Mapping) or step not in body:
                    return default
                body = body[step]
            case int():
                if not isinstance(body, list) or not -len(body) <= step < len(body):
                    return default
                body = body[step]
            case ListKey():
                found = next((each for each in body if step.matches(each)), None) if isinstance(body, list) else None
                if found is None:
                    return default
                body = found
    return body


def starts_with(path: FieldPath, prefix: FieldPath) -> bool:
    return path[: len(prefix)] == prefix
