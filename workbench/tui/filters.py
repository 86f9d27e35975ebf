"""What people type after `/`: a regular expression, its inverse with `!`, or letters in order with `-f`.

web             rows in which the expression is found, whatever the case
!dev            rows in which it is not
-l owner=shop   rows with this label
-f ckprd        rows that have these letters in this order: checkout/prod
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

from workbench.present.rows import Row


class BadFilter(ValueError):
    """Text that is no regular expression; the message says where it goes wrong."""


def parse(text: str) -> Callable[[Row], bool] | None:
    """Returns what a row has to satisfy, None for no text; raises `BadFilter`."""
    wanted = text.strip()
    if not wanted:
        return None
    if wanted.startswith("-f"):
        letters = "".join(wanted[2:].split()).lower()
        return lambda row: _holds_in_order(letters, row.searched)
    if wanted.startswith("-l"):
        label = wanted[2:].strip().lower()
        return lambda row: label in row.searched.split()
    inverse = wanted.startswith("!")
    try:
        with warnings.catch_warnings():
            # what may mean something else in a later Python is a filter now; a warning would be drawn over the screen
            warnings.simplefilter("ignore", FutureWarning)
            pattern = re.compile(wanted[1:] if inverse else wanted, re.IGNORECASE)
    except re.error as error:
        raise BadFilter(f"not a regular expression: {error}") from error
    return lambda row: bool(pattern.search(row.searched)) != inverse


def _holds_in_order(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)
