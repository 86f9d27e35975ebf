"""What is wrong with an object, as Status causes in the order they are found.

Paths are texts as users read them: `spec.containers[0].image`, `data[key]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

Cause = dict[str, Any]
Object = dict[str, Any]


def shown(value: Any) -> str:
    """A value as messages show it: JSON, with the escapes that Go's encoder adds."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, dict | list):
        text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text


class Causes(list[Cause]):
    """A list that is added to by kind of error. `steps` counts what was compared to find them."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = [0]

    def add(self, reason: str, path: str, message: str) -> None:
        self.append({"reason": reason, "message": message, "field": path})

    def required(self, path: str, detail: str = "") -> None:
        self.add("FieldValueRequired", path, "Required value" + (f": {detail}" if detail else ""))

    def invalid(self, path: str, value: Any, detail: str) -> None:
        self.add("FieldValueInvalid", path, f"Invalid value: {shown(value)}" + (f": {detail}" if detail else ""))

    def invalid_whole(self, path: str, detail: str) -> None:
        """Without the value, where the server leaves it out."""
        self.add("FieldValueInvalid", path, f"Invalid value: {detail}")

    def invalid_each(self, path: str, value: Any, details: Iterable[str]) -> None:
        for detail in details:
            self.invalid(path, value, detail)

    def not_supported(self, path: str, value: Any, supported: Iterable[str]) -> None:
        listed = ", ".join(f'"{name}"' for name in supported)
        self.add("FieldValueNotSupported", path, f"Unsupported value: {shown(value)}: supported values: {listed}")

    def forbidden(self, path: str, detail: str) -> None:
        self.add("FieldValueForbidden", path, f"Forbidden: {detail}")

    def duplicate(self, path: str, value: Any, detail: str = "") -> None:
        text = f"Duplicate value: {shown(value)}"
        self.add("FieldValueDuplicate", path, f"{text}: {detail}" if detail else text)

    def not_found(self, path: str, value: Any) -> None:
        self.add("FieldValueNotFound", path, f"Not found: {shown(value)}")

    def too_long(self, path: str, limit: int) -> None:
        self.add("FieldValueTooLong", path, f"Too long: may not be more than {limit} bytes")

    def too_many(self, path: str, found: int, limit: int) -> None:
        noun = "item" if limit == 1 else "items"
        self.add("FieldValueTooMany", path, f"Too many: {found}: must have at most {limit} {noun}")

    def wrong_type(self, path: str, value: Any, detail: str) -> None:
        self.add("FieldValueTypeInvalid", path, f"Invalid value: {shown(value)}: {detail}")

    # --- rules that recur ---

    def nonnegative(self, path: str, value: int | None) -> None:
        if value is not None and value < 0:
            self.invalid(path, value, "must be greater than or equal to 0")

    def immutable(self, path: str, new: Any, old: Any, shown_as: Any = None) -> None:
        if new != old:
            self.invalid(path, new if shown_as is None else shown_as, "field is immutable")
