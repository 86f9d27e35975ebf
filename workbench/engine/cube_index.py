"""What all stacks of a repository are configured with, as it was evaluated last: read by the next question.

A folder below the cache of this machine holds `head` (the stacks, and the stamps of all that they rest on) and a file
for each group of cells, so that a question about one variable reads that alone. What has another stamp than it had is
evaluated again, and nothing else. Entries that can't be read, or are another version's, are as good as none.

Nothing of the repository's own decides what is read or removed here: names of files are digests of what they hold.
"""

from __future__ import annotations

import marshal
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kcl import whole_file
from kcl.memo.digest import blake2b
from kcl.memo.inputs import Leads, Moment, Stamp, Ways, hold, settled_each, stamp_as_it_is
from kcl.records import dataclass, field
from kcl.regular import read_regular
from workbench.engine.cells import Configured, Steps
from workbench.engine.cube import Found, Subject
from workbench.engine.errors import EngineError

_FORMAT: Final = 1
_HEAD: Final = "head"
_LARGEST: Final = 1 << 30
_DIGEST: Final = 40
"""Characters of a digest, which a head begins with."""
_NAME: Final = re.compile(r"[0-9a-f]{40}")
_BROKEN: Final = (OSError, ValueError, TypeError, KeyError, IndexError, EOFError, AttributeError)

Group = dict[Steps, dict[int, Found]]
"""By path and number of the stack."""


class BrokenIndex(EngineError):
    """What was kept of the cube can't be read: it is made again."""


@dataclass(frozen=True, slots=True)
class Known:
    """A stack that was evaluated. `key` stands for what it is beside its files: name, folder, coordinates.

    It lasts, if its files alone decide what it is configured with.
    """

    name: str
    key: str
    is_lasting: bool
    dependencies: frozenset[str] = field(repr=False)


@dataclass
class CubeIndex:
    """The record of one repository. `tree` are the paths that say which stacks there are: `subjects`.

    Without `tree` nobody knows which there are. `stacks` are those that were evaluated, by number.
    """

    folder: Path
    version: str
    stacks: dict[int, Known] = field(default_factory=dict)
    subjects: tuple[Subject, ...] = ()
    tree: frozenset[str] = frozenset()
    stamps: dict[str, Stamp] = field(default_factory=dict, repr=False)
    ways: Ways | None = field(default=None, repr=False)
    files: dict[str, str] = field(default_factory=dict, repr=False)
    """The file of each group."""
    _groups: dict[str, Group] = field(default_factory=dict, repr=False)

    @classmethod
    def load(cls, folder: Path, version: str) -> CubeIndex:
        index = cls(folder, version)
        try:
            data = read_regular(folder / _HEAD, _LARGEST)
            if data[:_DIGEST] == _digest(data[_DIGEST:]).encode():
                index._take(marshal.loads(data[_DIGEST:]))
        except _BROKEN:
            return cls(folder, version)
        return index

    def _take(self, head: Any) -> None:
        format_, version, paths, stamps, ways, subjects, stacks, sets, tree, files = head
        if (format_, version) != (_FORMAT, self.version) or not all(map(_NAME.fullmatch, files.values())):
            return
        known = [frozenset(map(paths.__getitem__, each)) for each in sets]
        for number, (name, key, shared, own) in stacks.items():
            dependencies = known[shared].union(map(paths.__getitem__, own))
            self.stacks[number] = Known(name, key, True, dependencies)
        self.subjects = tuple(Subject(*each) for each in subjects)
        self.stamps = {paths[number]: found for number, found in stamps.items()}
        self.ways, self.files = ways, files
        self.tree = frozenset(map(paths.__getitem__, tree))

    # ---------------------------------------------------------------- what has changed

    def is_whole(self) -> bool:
        """Whether all that is recorded is as it was, and no stack is missing."""
        return bool(self.tree) and self.ways is not None and hold(self.stamps, self.ways)

    def drop_changed(self) -> None:
        """Forgets stacks that read what is another now, and which stacks there are if that may have changed."""
        if self.ways is None or not _lead(self.ways):
            self.__dict__.update(CubeIndex(self.folder, self.version).__dict__)
            return
        changed = {path for path, was in self.stamps.items() if stamp_as_it_is(path) != was}
        if not changed.isdisjoint(self.tree):
            self.tree, self.subjects = frozenset(), ()
        self.drop(n for n, each in self.stacks.items() if not changed.isdisjoint(each.dependencies))

    def drop(self, numbers: Iterable[int]) -> None:
        gone = set(numbers)
        for number in gone:
            del self.stacks[number]
        for name in list(self.files) if gone else ():
            for column in self.group(name).values():
                for number in gone & column.keys():
                    del column[number]

    # ---------------------------------------------------------------- groups

    def group(self, name: str) -> Group:
        """Returns a group of cells; nothing for one that is not there. Raises `BrokenIndex` where it can't be read."""
        if name not in self._groups:
            file = self.files.get(name)
            if file is None:
                return {}
            self._groups[name] = self._read_group(file)
        return self._groups[name]

    def _read_group(self, file: str) -> Group:
        try:
            data = read_regular(self.folder / file, _LARGEST)
            if _digest(data) != file:
                raise BrokenIndex("was changed", where=str(self.folder / file))
            found: Group = marshal.loads(data)
        except _BROKEN as error:
            raise BrokenIndex("can't be read", where=str(self.folder / file)) from error
        return found

    def names(self) -> Iterator[str]:
        yield from dict.fromkeys((*self.files, *self._groups))

    def put(self, key: str, found: Configured) -> int:
        """Adds a stack; it answers by the number that is returned."""
        stack = Known(found.stack, key, found.is_of_files, found.dependencies)
        number = max(self.stacks, default=-1) + 1
        self.stacks[number] = stack
        for group, path, value, places in found.cells:
            if group not in self._groups:
                self._groups[group] = self.group(group)
            self._groups[group].setdefault(path, {})[number] = (value, places)
        return number

    # ---------------------------------------------------------------- writing

    def save(self, tree: frozenset[str], started: Moment) -> None:
        """Writes what may be believed the next time: what did not change since `started`. `tree` as of the class.

        A folder that can't be written keeps nothing; that costs time and no answer.
        """
        lasting = {number: each for number, each in self.stacks.items() if each.is_lasting}
        every = tree.union(*(each.dependencies for each in lasting.values()))
        stamps = {path: found for path, found in settled_each(every, started).items() if found is not None}
        unsettled = every - stamps.keys()
        lasting = {n: each for n, each in lasting.items() if unsettled.isdisjoint(each.dependencies)}
        is_whole = unsettled.isdisjoint(tree)
        tree, subjects = (tree, self.subjects) if is_whole else (frozenset(), ())
        with suppress(OSError, ValueError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            files = {name: self._write_group(name, lasting.keys()) for name in self.names()}
            files = {name: file for name, file in files.items() if file}
            head = marshal.dumps((_FORMAT, self.version, *_head(lasting, tree, stamps, subjects), files))
            whole_file.write(self.folder / _HEAD, _digest(head).encode() + head, durable=False)
            for each in self.folder.iterdir():
                if _NAME.fullmatch(each.name) and each.name not in files.values():
                    each.unlink(missing_ok=True)

    def _write_group(self, name: str, lasting: Collection[int]) -> str:
        columns = {
            path: {number: found for number, found in column.items() if number in lasting}
            for path, column in self.group(name).items()
        }
        columns = {path: column for path, column in columns.items() if column}
        if not columns:
            return ""
        data = marshal.dumps(columns)
        file = _digest(data)
        if not (self.folder / file).is_file():
            whole_file.write(self.folder / file, data, durable=False)
        return file


def _head(
    lasting: Mapping[int, Known], tree: frozenset[str], stamps: Mapping[str, Stamp], subjects: Sequence[Subject]
) -> tuple[Any, ...]:
    """Paths are written once and meant by number; so are sets of files that many stacks have read."""
    paths = sorted(tree.union(*(each.dependencies for each in lasting.values())))
    numbers = {path: number for number, path in enumerate(paths)}
    uses = Counter(path for each in lasting.values() for path in each.dependencies)
    sets: dict[frozenset[str], int] = {}
    stacks: dict[int, Any] = {}
    for number, each in lasting.items():
        shared = frozenset(path for path in each.dependencies if uses[path] > 1)
        own = [numbers[path] for path in each.dependencies - shared]
        stacks[number] = (each.name, each.key, sets.setdefault(shared, len(sets)), own)
    told = {numbers[path]: stamps[path] for path in paths}
    plain = [(each.name, each.folder, each.project, dict(each.coordinates)) for each in subjects]
    every_set = [[numbers[path] for path in each] for each in sets]
    ways = Leads().ways({path: stamps[path] for path in paths})
    return paths, told, ways, plain, stacks, every_set, [numbers[path] for path in tree]


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=_DIGEST // 2).hexdigest()


def _lead(ways: Ways) -> bool:
    """Whether the ways to all paths lead where they led."""
    links, plain, stamped = ways
    return Leads().hold(links) and not any(Path(each).is_symlink() for each in (*plain, *stamped))
