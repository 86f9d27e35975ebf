"""What follows from the content of a resource alone is found once: after an edit most resources say what they said.

Contents are told apart by what `marshal` writes of them, which takes a fraction of going through them in Python and,
unlike comparing, does not take `True` for `1`.
"""

from __future__ import annotations

import marshal
import threading
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

_MOST: Final = 1 << 10
_LARGEST_BYTES: Final = 1 << 14
"""Together with the number of entries what bounds the memory. What is larger is looked at each time."""


class ByContent(Generic[T]):
    """Remembers the answers to one question about contents. Safe to use from any thread."""

    def __init__(self) -> None:
        self._found: dict[Hashable, T] = {}
        self._changing = threading.Lock()

    def get(self, content: Any, settings: Hashable, find: Callable[[], T]) -> T:
        """Returns what `find` says, which depends on the content and the settings and on nothing else.

        What it returns must never be changed: others get it too.
        """
        try:
            written = marshal.dumps(content)
        except ValueError:  # more than plain data
            return find()
        if len(written) > _LARGEST_BYTES:
            return find()
        key = (written, settings)
        with self._changing:
            if key in self._found:
                self._found[key] = found = self._found.pop(key)  # to the end: what was not used for long goes first
                return found
        found = find()
        with self._changing:
            self._found[key] = found
            while len(self._found) > _MOST:
                del self._found[next(iter(self._found))]
        return found
