"""What a path held, to be held against what it holds now: by its stamp, and where that is another by its content.

For a record that outlives the files' times, as after a fresh checkout: there every stamp is another and hardly a
content is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final, Protocol

from kcl.memo.inputs import Clock, Stamp, now, stamp
from kcl.records import dataclass

_MISSING: Final = "missing"


class Files(Protocol):
    """Of a file system what it takes to know what a path holds."""

    def read_bytes(self, path: str) -> bytes: ...

    def is_file(self, path: str) -> bool: ...

    def is_dir(self, path: str) -> bool: ...

    def exists(self, path: str) -> bool: ...

    def list_dir(self, path: str) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class State:
    """What a path held. `stamp` is None where only reading tells whether it is still the same."""

    stamp: Stamp | None
    digest: str
    is_reliable: bool = True
    """Whether this is certainly what a compilation read."""
    lead: str | None = ""
    """Where the path led, "" for to itself, None for where nobody may read."""

    def plain(self) -> tuple[Stamp | None, str, bool, str | None]:
        """As JSON can tell it."""
        return (self.stamp, self.digest, self.is_reliable, self.lead)

    def says(self, other: State) -> bool:
        """Whether a compilation that read the one would have read the other."""
        return self.is_reliable and (self.digest, self.lead) == (other.digest, other.lead)


UNRELIABLE: Final = State(None, "moved", is_reliable=False)
"""Of what may have been another when it was read."""


def state_of(stamp: Any, digest: str, is_reliable: bool, lead: str | None) -> State:
    """The inverse of `State.plain`. Raises ValueError or TypeError for a stamp that is none."""
    if not stamp:
        return State(stamp, digest, is_reliable, lead)
    written, changed, size, inode, device = stamp
    return State((written, changed, size, inode, device), digest, is_reliable, lead)


def look_again(path: str, before: State, files: Files, clock: Clock = now) -> State:
    """What a path holds now; what it held before is believed where it has the stamp it had."""
    found = stamp(path, clock)
    if found is not None and found == before.stamp:
        return before
    return State(found, digest_of_path(path, files))


def digest_of_path(path: str, files: Files) -> str:
    """What stands for the content of a file, for the names in a folder, or for nothing there."""
    try:
        if files.is_dir(path):
            return digest_of(["folder", *files.list_dir(path)])
        if files.is_file(path):
            return digest_of_bytes(files.read_bytes(path))
        return "neither file nor folder" if files.exists(path) else _MISSING  # of a pipe there may be no end
    except OSError:
        return _MISSING


def digest_of_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digest_of(parts: Iterable[str]) -> str:
    return digest_of_bytes("\0".join(parts).encode("utf-8", "surrogatepass"))
