"""Entries of a store that belong to one version of the compiler, and are written once the run is over."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcl.cache.runs import compiler
from kcl.memo.digest import blake2b

if TYPE_CHECKING:
    from kcl.cache.store import Store


def entry_name(kind: str, *facts: Any) -> str:
    """The name of an entry of this compiler that rests on these facts alone, which are what `marshal` can write."""
    return f"{kind}-{blake2b(marshal.dumps((compiler(), *facts), 2), digest_size=20).hexdigest()}"


class Entries:
    """The entries of a store, and those that are to be written there. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unwritten: dict[str, Callable[[], bytes | None]] = {}

    def read(self, name: str) -> bytes | None:
        return self._store.read(name)

    def note(self, name: str, content: Callable[[], bytes | None]) -> None:
        """Lets an entry be written later, unless its content turns out to be None."""
        self._unwritten[name] = content

    def write(self) -> None:
        """Writes what was noted, each entry by one of the threads that may be at it."""
        while self._unwritten:
            try:
                name, content = self._unwritten.popitem()
            except KeyError:  # another thread was faster
                return
            data = content()
            if data is not None:
                self._store.write(name, data)
