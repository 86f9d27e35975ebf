"""The chain of hashes in an audit trail: which lines are entries, and whether one follows the other. Pure.

A line that is no entry is what a crash or a full disk left of a write that was never acknowledged: it is named, and
breaks nothing as long as the entries around it follow each other. Entries are followed by their numbers and not by the
files they are in, as a clock that was set back puts a later one into an earlier month.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.base.documents import load_json

FIRST = "0" * 64
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

    `torn` are the places of lines that are no entries.
    """

    links: tuple[Link, ...] = ()
    broken: str = ""
    torn: tuple[str, ...] = ()

    @property
    def first(self) -> int:
        return self.links[0].number if self.links else 1

    @property
    def tip(self) -> tuple[int, str]:
        """Number and hash of the last entry that follows the others."""
        return (self.links[-1].number, self.links[-1].hash) if self.links else (0, FIRST)

    def missed_by(self, anchors: Iterable[Anchor]) -> str:
        """Returns how the chain contradicts what is known of it elsewhere, empty if it does not."""
        known = {each.number: each for each in self.links}
        for anchor in sorted(anchors, key=lambda each: -each.number):
            if anchor.number < self.first:
                continue  # of a trail that was set aside
            if anchor.number not in known:
                end = self.tip[0]
                return f"the trail ends at entry {end}, but {anchor.where} knows entry {anchor.number}: its end is cut"
            if known[anchor.number].hash != anchor.hash:
                where = known[anchor.number].where
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


def follow(lines: Iterable[tuple[str, bytes]]) -> Chain:
    """Follows the chain over all lines of a trail, each with its place."""
    found: list[Link] = []
    torn: list[str] = []
    changed = ""
    for where, line in lines:
        read = link(line, where)
        if read is None:
            torn.append(where)
        elif digest(read.content) != read.hash:
            changed = changed or f"{where} was changed: its hash does not fit its content"
        else:
            found.append(read)
    found.sort(key=lambda each: each.number)
    for index, each in enumerate(found):
        before = found[index - 1] if index else None
        follows = each.begins if before is None else (each.number, each.previous) == (before.number + 1, before.hash)
        if not follows:
            broken = changed or f"{each.where} does not follow the entry before it: one is missing or new"
            return Chain(tuple(found[:index]), broken, tuple(torn))
    return Chain(tuple(found), changed, tuple(torn))
