"""Records of which some fields are read only when somebody asks for one of them.

Models declare thousands of schemas of which a run needs ten, and a process that takes them from the cache reads the
others' names and places alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Final

from kcl.records import fields

_reading: Final = RLock()


class Unread:
    """For records with slots, which have one more for `_read`."""

    __slots__ = ()
    _read: Callable[[], Mapping[str, object]]
    """Returns the fields that have no value yet; there until the first of them is missed."""

    def leave_unread(self, read: Callable[[], Mapping[str, object]]) -> None:
        """Has the fields that have no value yet be those that `read` returns, when one of them is missed."""
        self._read = read

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or all(each.name != name for each in fields(self)):  # type: ignore[arg-type]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        with _reading:  # two threads must not see two trees
            try:
                return object.__getattribute__(self, name)
            except AttributeError:
                for field, value in self._read().items():
                    setattr(self, field, value)
                del self._read
                return object.__getattribute__(self, name)
