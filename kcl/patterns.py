"""Regular expressions that are compiled when they are needed first.

Python compiles them in Python: those of the language's modules took a fifth of what it takes to import it, and most
runs need few of them.
"""

from __future__ import annotations

import re
from typing import Any, cast


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, later; a mistake in it shows when it is used."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    """Has what the compiled pattern has, as attributes of its own once they were asked for."""

    def __init__(self, text: str, flags: int) -> None:
        self._asked = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._asked), name)
        setattr(self, name, found)
        return found
