"""What cannot be imported."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class ImportFailure(Exception):
    """Says which file (and line, where it is known), what is wrong with it and what to do."""


@contextlib.contextmanager
def placed(where: str) -> Iterator[None]:
    """Failures inside are about this place."""
    try:
        yield
    except ImportFailure as problem:
        raise ImportFailure(f"{where}: {problem}") from None
