"""Reading paths as people type them."""

from __future__ import annotations

from runtimes.base import FieldPath, parse_path
from workbench.engine.errors import EngineError


def parse(text: str) -> FieldPath:
    """Parses `spec.containers[name=web].ports[0]`; raises `EngineError` where it can't be read on."""
    try:
        return parse_path(text)
    except ValueError as error:
        raise EngineError(
            f"the path {text!r} can't be read from {str(error)!r} on",
            hint="write it as spec.template.spec.containers[name=web].image",
        ) from None
