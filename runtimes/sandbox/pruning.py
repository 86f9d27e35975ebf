"""Custom resources without what their schemas do not name.

A value of the wrong form is left to validation. What is in a member that goes is not named anywhere.
"""

from __future__ import annotations

from typing import Any

from runtimes.sandbox.store import Object

EMBEDDED, PRESERVE = "x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"
_OWN = ("apiVersion", "kind", "metadata")


def pruned(schema: Object, value: Any, *, at_root: bool = False) -> Any:
    """`at_root`: the value is an object, which has metadata whether the schema names it or not."""
    return Pruning().pruned(schema, value, at_root=at_root)


class Pruning:
    """`unknown` are the paths of what went, `embedded` the objects within the object and where they are."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.embedded: list[tuple[Object, str]] = []

    def pruned(self, schema: Object | None, value: Any, where: str = "", *, at_root: bool = False) -> Any:
        """None is the schema of a place that nothing is known of: members go."""
        if isinstance(value, list):
            element = _element(schema or {})
            return [self.pruned(element, item, f"{where}[{index}]") for index, item in enumerate(value)]
        return self._object(schema or {}, value, where, at_root) if isinstance(value, dict) else value

    def _object(self, schema: Object, value: Object, where: str, at_root: bool) -> Object:
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        is_object, out = at_root or bool(schema.get(EMBEDDED)), {}
        for name, inner in value.items():
            below = properties.get(name, additional if isinstance(additional, dict) else None)
            place = f"{where}.{name}" if where else name
            if is_object and name in _OWN:
                out[name] = inner
            elif isinstance(below, dict):
                out[name] = self.pruned(below, inner, place)
            elif schema.get(PRESERVE) or additional is True:
                out[name] = inner
            else:
                self.unknown.append(place)
        if is_object and not at_root:
            self.embedded.append((out, where))
        return out


def _element(schema: Object) -> Object | None:
    """The items of a list that may hold anything may, too."""
    items = schema.get("items")
    element = items if isinstance(items, dict) else None
    return {**(element or {}), PRESERVE: True} if schema.get(PRESERVE) else element
