"""Which elements of two sequences are the same: the shortest edit where it is short, anchors where it is long.

Myers' greedy algorithm (https://doi.org/10.1007/BF01840446) finds the fewest insertions and deletions, in time that
grows with their number and hardly with the length. Past `MOST_EDITS` it would grow with the square of the change, so
there elements that occur once on each side are taken as anchors first, as in patience diff, and the stretches between
them are edited `MOST_EDITS` at a time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise

from kcl.records import dataclass

MOST_EDITS = 200


@dataclass(frozen=True, slots=True)
class Block:
    """`before[start:end]` and `after[new_start:new_end]`: the same elements where `is_equal`, else a replacement."""

    start: int
    end: int
    new_start: int
    new_end: int
    is_equal: bool


_Match = tuple[int, int]


def align(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Block]:
    """Returns blocks that cover both sequences in order; equal ones and others alternate."""
    shortest = min(len(before), len(after))
    head = next((index for index in range(shortest) if before[index] != after[index]), shortest)
    most_tail = shortest - head
    tail = next((each for each in range(most_tail) if before[-1 - each] != after[-1 - each]), most_tail)
    end, new_end = len(before) - tail, len(after) - tail
    matches: list[_Match] = [(index, index) for index in range(head)]
    matches += [(head + one, head + two) for one, two in _matches(before[head:end], after[head:new_end])]
    matches += [(end + index, new_end + index) for index in range(tail)]
    return _blocks(matches, len(before), len(after))


def _blocks(matches: Sequence[_Match], length: int, new_length: int) -> list[Block]:
    found: list[Block] = []
    at = new_at = index = 0
    while index < len(matches):
        start, new_start = matches[index]
        if (start, new_start) != (at, new_at):
            found.append(Block(at, start, new_at, new_start, False))
        last = index
        while last + 1 < len(matches) and matches[last + 1] == (matches[last][0] + 1, matches[last][1] + 1):
            last += 1
        at, new_at = matches[last][0] + 1, matches[last][1] + 1
        found.append(Block(start, at, new_start, new_at, True))
        index = last + 1
    if (at, new_at) != (length, new_length):
        found.append(Block(at, length, new_at, new_length, False))
    return found


def _matches(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[_Match]:
    if not before or not after:
        return []
    found, end, new_end = _stretch(before, after)
    if (end, new_end) == (len(before), len(after)):
        return found
    anchors = [(-1, -1), *_anchors(before, after), (len(before), len(after))]
    matches: list[_Match] = []
    for (start, new_start), (end, new_end) in pairwise(anchors):
        between = _in_stretches(before[start + 1 : end], after[new_start + 1 : new_end])
        matches += [(start + 1 + one, new_start + 1 + two) for one, two in between]
        matches.append((end, new_end))
    return matches[:-1]


def _in_stretches(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[_Match]:
    """Goes on from where `MOST_EDITS` edits lead furthest, so that the time grows with the edits, not their square."""
    matches: list[_Match] = []
    at = new_at = 0
    while at < len(before) and new_at < len(after):
        found, end, new_end = _stretch(before[at:], after[new_at:])
        matches += [(at + one, new_at + two) for one, two in found]
        at, new_at = at + end, new_at + new_end
    return matches


def _stretch(before: Sequence[Hashable], after: Sequence[Hashable]) -> tuple[list[_Match], int, int]:
    """Returns the matches of a shortest edit, and how far in both it came with at most `MOST_EDITS` edits."""
    length, new_length = len(before), len(after)
    most = min(MOST_EDITS, length + new_length)
    reached = [0] * (2 * most + 3)
    zero = most + 1
    trace: list[list[int]] = []
    for edits in range(most + 1):
        trace.append(reached[zero - edits - 1 : zero + edits + 2])
        for diagonal in range(-edits, edits + 1, 2):
            below, right = reached[zero + diagonal - 1], reached[zero + diagonal + 1]
            at = right if diagonal == -edits or (diagonal != edits and below < right) else below + 1
            new_at = at - diagonal
            while at < length and new_at < new_length and before[at] == after[new_at]:
                at, new_at = at + 1, new_at + 1
            reached[zero + diagonal] = at
            if at >= length and new_at >= new_length:
                return _walked_back(trace, length, new_length), length, new_length
    ends = ((reached[zero + each], reached[zero + each] - each) for each in range(-most, most + 1, 2))
    inside = [(at, new_at) for at, new_at in ends if at <= length and 0 <= new_at <= new_length]
    at, new_at = max(inside, key=lambda end: (sum(end), -abs(end[0] - end[1])))
    return _walked_back(trace, at, new_at), at, new_at


def _walked_back(trace: list[list[int]], at: int, new_at: int) -> list[_Match]:
    matches: list[_Match] = []
    for edits in range(len(trace) - 1, -1, -1):
        reached, zero = trace[edits], edits + 1
        diagonal = at - new_at
        below, right = reached[zero + diagonal - 1], reached[zero + diagonal + 1]
        came_down = diagonal == -edits or (diagonal != edits and below < right)
        start = right if came_down else below
        new_start = start - (diagonal + 1 if came_down else diagonal - 1)
        if edits == 0:
            start = new_start = 0
        while at > start and new_at > new_start:
            at, new_at = at - 1, new_at - 1
            matches.append((at, new_at))
        at, new_at = start, new_start
    return matches[::-1]


def _anchors(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[_Match]:
    """Returns matches of what occurs once on each side, as many as there are in one order."""
    once, new_once = Counter(before), Counter(after)
    place = {each: index for index, each in enumerate(after) if new_once[each] == 1}
    pairs = [(index, place[each]) for index, each in enumerate(before) if once[each] == 1 and each in place]
    ends: list[int] = []
    chain: list[int] = []
    former: list[int] = []
    for number, (_, new_index) in enumerate(pairs):
        at = bisect_left(ends, new_index)
        former.append(chain[at - 1] if at else -1)
        ends[at : at + 1] = [new_index]
        chain[at : at + 1] = [number]
    found: list[_Match] = []
    number = chain[-1] if chain else -1
    while number >= 0:
        found.append(pairs[number])
        number = former[number]
    return found[::-1]
