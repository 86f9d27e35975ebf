"""The texts of a cached result's files, read when they are used: few results are ever asked for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kcl.memo.inputs import Stamp, stamp_as_it_is
from kcl.source import OsFileSystem


class SourceChanged(Exception):
    """A file is no longer what a kept result was made of. No LookupError, so that nobody takes it for "not there"."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} has changed since the result was made that it is asked for; run the program again")
        self.path = path


class CachedTexts(Mapping[str, str]):
    """The texts of files by path, as long as each has the stamp that it had when the result was made."""

    def __init__(self, names: tuple[str, ...], stamps: Mapping[str, Stamp]) -> None:
        self._names = dict.fromkeys(names)
        self._stamps = stamps
        self._read: dict[str, str] = {}

    def __getitem__(self, path: str) -> str:
        """Raises SourceChanged for a file that is another by now, KeyError for one that is none of the program's."""
        if path not in self._read:
            if path not in self._names:
                raise KeyError(path)
            self._read[path] = self._text(path)
        return self._read[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, path: object) -> bool:
        return path in self._names

    def _text(self, path: str) -> str:
        try:
            text = OsFileSystem().read_text(path)
        except (OSError, UnicodeDecodeError):
            raise SourceChanged(path) from None
        if stamp_as_it_is(path) != self._stamps[path]:  # after reading: then it was the same while it was read
            raise SourceChanged(path)
        return text
