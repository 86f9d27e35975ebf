"""What people type after `/`: a regular expression, letters in order with `-f`, labels with `-l`; `!` inverts each.

web                 rows in which the expression is found, whatever the case
-f ckprd            rows that have these letters in this order: checkout/prod
-l owner=shop       rows with this label; key!=value, key and !key too, several with commas between them
!dev                rows in which it is not; !-f and !-l as well
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping

from workbench.present.rows import Row

_TERM = re.compile(r"(?P<not>!?)(?P<key>[\w./-]+)|(?P<name>[\w./-]+)\s*(?P<how>==?|!=)\s*(?P<value>[\w.-]*)")
NO_LABELS = "nothing that is listed here has labels: -l finds nothing"


class BadFilter(ValueError):
    """Text that is no regular expression, or no labels; the message says where it goes wrong."""


def parse(text: str) -> Callable[[Row], bool] | None:
    """Returns what a row has to satisfy, None for no text; raises `BadFilter`."""
    wanted = text.strip()
    is_inverse = wanted.startswith("!")
    asked = wanted[1:].lstrip() if is_inverse else wanted
    if not asked:
        return None
    if asked.startswith("-l"):
        return _by_labels(asked[2:], is_inverse=is_inverse)
    found = _in_order(asked[2:]) if asked.startswith("-f") else _by_expression(asked)
    return lambda row: found(row.searched) != is_inverse


def is_by_labels(text: str) -> bool:
    """Whether a filter is about labels, which not all rows have."""
    return text.strip().removeprefix("!").lstrip().startswith("-l")


def _by_expression(text: str) -> Callable[[str], bool]:
    try:
        with warnings.catch_warnings():
            # what may mean something else in a later Python is a filter now; a warning would be drawn over the screen
            warnings.simplefilter("ignore", FutureWarning)
            pattern = re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise BadFilter(f"not a regular expression: {error}") from error
    return lambda searched: bool(pattern.search(searched))


def _in_order(text: str) -> Callable[[str], bool]:
    letters = "".join(text.split()).lower()

    def found(searched: str) -> bool:
        rest = iter(searched)
        return all(letter in rest for letter in letters)

    return found


def _by_labels(text: str, *, is_inverse: bool) -> Callable[[Row], bool] | None:
    """A row of several things is found by any of them; one of something without labels is found by none, inverse or
    not: a heading is no stack without an owner."""
    wanted = [_term(each) for each in text.lower().split(",") if each.strip()]
    if not wanted:
        return None

    def found(every: Iterable[Mapping[str, str]]) -> bool:
        lowered = ({key.lower(): value.lower() for key, value in each.items()} for each in every)
        return any(all(term(labels) for term in wanted) for labels in lowered)

    return lambda row: row.labels is not None and found(row.labels) != is_inverse


def _term(text: str) -> Callable[[Mapping[str, str]], bool]:
    found = _TERM.fullmatch(text.strip())
    if found is None:
        raise BadFilter(f"{text.strip()!r} is no label: key=value, key!=value, key or !key")
    if key := found["key"]:
        is_there = not found["not"]
        return lambda labels: (key in labels) == is_there
    name, value, is_same = found["name"], found["value"], found["how"] != "!="
    return lambda labels: (labels.get(name) == value) == is_same
