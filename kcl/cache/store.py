"""Entries in a folder that only its owner can write.

An entry is one file, written under another name and renamed, so that readers see all of it or nothing. It begins with
its key, the length and a checksum of the rest: what is cut short, foreign or of another version is not there as far as
anyone can tell, and the next run writes it again. The checksum is for what a disk does to a file, as that of an archive
is, and takes a seventh of the time of a digest: against somebody who writes entries there is only the folder. One that
others may write, or that belongs to somebody else, is not used at all, since reading what they put there could do
anything.
"""

from __future__ import annotations

import os
import stat
import sys
import time
import zlib
from contextlib import suppress

from kcl.memo.digest import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final

_DIGEST_BYTES: Final = 32
_MAGIC: Final = b"kclcache2\n"
MOST_BYTES: Final = 256 * 1024 * 1024
"""When a folder holds more, the entries that were used longest ago go."""
_CHECKED_EVERY: Final = 16
_USED_SECONDS: Final = 600.0
"""How exactly it is known when an entry was used last."""
VARIABLE: Final = "KCL_RUN_CACHE"
_FOLDER: Final = ("konfig-workbench", "kcl")


def folder_for(environment: Mapping[str, str]) -> str | None:
    """The folder of this user: what `KCL_RUN_CACHE` names, else one where the platform keeps caches.

    None when the variable says `off`, or no home is known.
    """
    said = environment.get(VARIABLE, "")
    if said.lower() == "off":
        return None
    if said:
        return os.path.abspath(said)
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    if sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches") if home else ""
    elif sys.platform == "win32":
        base = environment.get("LOCALAPPDATA", "")
    else:
        base = environment.get("XDG_CACHE_HOME") or (os.path.join(home, ".cache") if home else "")
    return os.path.join(base, *_FOLDER) if os.path.isabs(base) else None


class Store:
    """The entries of one folder. Nothing here raises for what is wrong with the disk: then nothing is kept."""

    def __init__(self, folder: str, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self.most_bytes = most_bytes

    def read(self, key: str) -> bytes | None:
        """The content of an entry; None when there is none that can be trusted."""
        if not self._is_private():
            return None
        path = self._path(key)
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        except OSError:
            return None
        try:  # without a file object, which takes five more calls of the system: a run reads a hundred entries
            found = os.fstat(handle)
            if not _is_own(found, stat.S_ISREG):
                return None
            head = os.read(handle, len(_MAGIC) + _DIGEST_BYTES)
            # by itself: it may be half a megabyte, and is not copied once more
            content = os.read(handle, max(found.st_size - len(head), 0))
        except OSError:
            return None
        finally:
            os.close(handle)
        if head != _MAGIC + _digest(key, content):
            return None
        if time.time() - found.st_mtime > _USED_SECONDS:
            with suppress(OSError):
                os.utime(path)
        return content

    def write(self, key: str, content: bytes) -> bool:
        """Keeps an entry; answers whether it could."""
        if len(content) > self.most_bytes or not self._make_folder():
            return False
        from kcl import whole_file  # who finds what is cached writes nothing

        try:  # not durable: an entry that the power took is found out by its digest, and made again
            whole_file.write(self._path(key), _MAGIC + _digest(key, content) + content, durable=False)
        except OSError:
            return False
        if os.urandom(1)[0] % _CHECKED_EVERY == 0 or len(content) * _CHECKED_EVERY > self.most_bytes:
            self.shrink()
        return True

    def shrink(self) -> None:
        """Removes entries, the one used longest ago first, until the rest is within the limit."""
        entries = self._entries()
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.most_bytes:
                return
            _remove(path)
            total -= size

    def usage(self) -> tuple[int, int]:
        """How many entries there are, and their bytes."""
        entries = self._entries()
        return len(entries), sum(size for _, size, _ in entries)

    def clear(self) -> tuple[int, int]:
        """Removes all entries; answers what they took."""
        before = self.usage()
        for _, _, path in self._entries():
            _remove(path)
        return before

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key + ".entry")

    def _entries(self) -> list[tuple[float, int, str]]:
        """When used, size and path of each file that was written here, unfinished ones included."""
        found = []
        try:
            with os.scandir(self.folder) as entries:
                for each in entries:
                    if ".entry" in each.name and each.is_file(follow_symlinks=False):
                        with suppress(FileNotFoundError):  # another thread or process has just removed or renamed it
                            facts = each.stat(follow_symlinks=False)
                            found.append((facts.st_mtime, facts.st_size, each.path))
        except OSError:
            return found
        return found

    def _make_folder(self) -> bool:
        try:
            os.makedirs(os.path.dirname(self.folder), exist_ok=True)
            if not os.path.isdir(self.folder):
                os.mkdir(self.folder, 0o700)
        except FileExistsError:
            return self._is_private()  # another process was faster
        except OSError:
            return False
        return self._is_private()

    def _is_private(self) -> bool:
        try:
            return _is_own(os.lstat(self.folder), stat.S_ISDIR)
        except OSError:
            return False


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _is_own(facts: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Whether a folder or file belongs to this user and nobody else may write, or look into, it."""
    if not kind(facts.st_mode):
        return False
    if not hasattr(os, "geteuid"):
        return True  # Windows: a user's own folders are private by their access lists
    return facts.st_uid == os.geteuid() and not facts.st_mode & 0o077


def _digest(key: str, content: bytes) -> bytes:
    checked = b"%d %d" % (len(content), zlib.crc32(content))
    return blake2b(checked, digest_size=_DIGEST_BYTES, key=key.encode()[:64]).digest()
