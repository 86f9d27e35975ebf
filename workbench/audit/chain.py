"""The chain of hashes in an audit trail: which lines are entries, and whether one follows the other. Pure.

A line that is no entry is what a crash or a full disk left of a write that was never acknowledged: it is named, and
breaks nothing as long as the entries around it follow each other. Entries are followed by their numbers and not by the
files they are in, as a clock that was set back puts a later one into an earlier month. A trail may have millions of
them: what is held does not grow with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from kcl.records import dataclass, field
from runtimes.base.documents import load_json

FIRST = "0" * 64
MOST_RUNS: Final = 10_000
"""Pieces of which each follows no other in the files as they are: a clock that is set back makes one."""
MOST_TORN: Final = 1_000
BEGUN_AGAIN = "begun again"
"""The result of an entry that begins a new chain, because the one before it was broken and set aside."""


@dataclass(frozen=True, slots=True)
class Link:
    """An entry's place in the chain. `where` is `FILE:LINE`."""

    number: int
    previous: str
    hash: str
    where: str
    content: Mapping[str, Any]

    @property
    def begins(self) -> bool:
        is_new = self.content.get("action") == "audit" and self.content.get("result") == BEGUN_AGAIN
        return self.previous == FIRST and (self.number == 1 or is_new)


@dataclass(frozen=True, slots=True)
class Anchor:
    """What something beside the trail knows of it: that entry `number` had this hash. `where` says what knows it."""

    number: int
    hash: str
    where: str

    @classmethod
    def parse(cls, text: str, where: str) -> Anchor:
        """Reads `41:2f9c...`; raises `ValueError`."""
        number, _, hash_ = text.strip().partition(":")
        if not number.isdigit() or len(hash_) != len(FIRST) or set(hash_) - set("0123456789abcdef"):
            raise ValueError(f"an anchor is NUMBER:HASH with {len(FIRST)} hexadecimal digits, not {text!r}")
        return cls(int(number), hash_, where)

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


@dataclass(frozen=True, slots=True)
class Chain:
    """What follows each other from the first entry on. `broken` says where and how it ends before its last entry.

    `entries` counts them, `first` is the number they begin with, `tip` number and hash of the last. Of all of them it
    has those that were `sought` by their numbers. `torn` are the places of lines that are no entries, and `more_torn`
    how many there are besides.
    """

    entries: int = 0
    first: int = 1
    tip: tuple[int, str] = (0, FIRST)
    sought: Mapping[int, Link] = field(default_factory=dict)
    broken: str = ""
    torn: tuple[str, ...] = ()
    more_torn: int = 0

    def missed_by(self, anchors: Iterable[Anchor]) -> str:
        """Returns how the chain contradicts what is known of it elsewhere, empty if it does not. The numbers of the
        anchors have to be among those that were sought."""
        for anchor in sorted(anchors, key=lambda each: -each.number):
            if anchor.number < self.first:
                continue  # of a trail that was set aside
            if anchor.number not in self.sought:
                end = self.tip[0]
                return f"the trail ends at entry {end}, but {anchor.where} knows entry {anchor.number}: its end is cut"
            if self.sought[anchor.number].hash != anchor.hash:
                where = self.sought[anchor.number].where
                return f"{where} is another entry than {anchor.where} knows: the trail was written again"
        return ""


def link(line: bytes, where: str) -> Link | None:
    """Reads a line; None for one that is no entry. Its hash is not checked here."""
    try:
        content = load_json(line)
        number, previous, hash_ = content["number"], content["previous"], content["hash"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not isinstance(number, int) or not isinstance(previous, str) or not isinstance(hash_, str):
        return None
    return Link(number, previous, hash_, where, content)


def digest(content: Mapping[str, Any]) -> str:
    """Returns the hash of an entry: of everything in it but the hash."""
    without = {name: value for name, value in content.items() if name != "hash"}
    packed = json.dumps(without, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(slots=True)
class _Run:
    """Entries that follow each other line by line; of a million of them only the ends are held."""

    first: Link
    last: Link
    entries: int = 1
    sought: dict[int, Link] = field(default_factory=dict)

    def takes(self, other: Link) -> bool:
        return (other.number, other.previous) == (self.last.number + 1, self.last.hash)


def follow(lines: Iterable[tuple[str, bytes]], sought: Collection[int] = (), *, most_runs: int = MOST_RUNS) -> Chain:
    """Follows the chain over all lines of a trail, each with its place. Holds the entries with the `sought` numbers."""
    runs: list[_Run] = []
    torn: list[str] = []
    more_torn, changed = 0, ""
    for where, line in lines:
        read = link(line, where)
        if read is None:
            if len(torn) < MOST_TORN:
                torn.append(where)
            else:
                more_torn += 1
            continue
        if digest(read.content) != read.hash:
            changed = changed or f"{where} was changed: its hash does not fit its content"
            continue
        if runs and runs[-1].takes(read):
            runs[-1].last = read
            runs[-1].entries += 1
        elif len(runs) < most_runs:
            runs.append(_Run(read, read))
        else:
            changed = changed or f"{where} begins one piece more than the {most_runs} that are looked at"
            break
        if read.number in sought:
            runs[-1].sought[read.number] = read
    return _joined(runs, changed, tuple(torn), more_torn)


def _joined(runs: list[_Run], changed: str, torn: tuple[str, ...], more_torn: int) -> Chain:
    runs.sort(key=lambda each: each.first.number)
    found, broken = 0, changed
    for each in runs:
        follows = runs[found - 1].takes(each.first) if found else each.first.begins
        if not follows:
            broken = changed or f"{each.first.where} does not follow the entry before it: one is missing or new"
            break
        found += 1
    if not found:
        return Chain(broken=broken, torn=torn, more_torn=more_torn)
    last = runs[found - 1].last
    return Chain(
        entries=sum(each.entries for each in runs[:found]),
        first=runs[0].first.number,
        tip=(last.number, last.hash),
        sought={number: link for each in runs[:found] for number, link in each.sought.items()},
        broken=broken,
        torn=torn,
        more_torn=more_torn,
    )
