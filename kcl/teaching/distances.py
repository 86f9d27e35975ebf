"""How far one word is from another."""

from __future__ import annotations


def distance(left: str, right: str) -> int:
    """Letters to insert, to leave out, to change or to swap with the next, to make one word of the other."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for place, letter in enumerate(left, 1):
        above, row = row, [place]
        for index, other in enumerate(right, 1):
            cost = min(above[index] + 1, row[index - 1] + 1, above[index - 1] + (letter != other))
            if place > 1 and index > 1 and letter == right[index - 2] and left[place - 2] == other:
                cost = min(cost, before[index - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]
