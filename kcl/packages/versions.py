"""Which of two versions is newer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kcl.patterns import pattern

_VERSION: Final = pattern(r"v?(\d+(?:\.\d+)*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
Order = tuple[bool, tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


def order(version: str) -> Order:
    """Something that sorts as semantic versioning does; what is no version comes before all that are."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (False, (), False, ((False, 0, version),))
    numbers = [int(part) for part in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    parts = () if match[2] is None else tuple(_identifier(part) for part in match[2].split("."))
    return (True, tuple(numbers), match[2] is None, parts)


def _identifier(text: str) -> tuple[bool, int, str]:
    """Numbers come before words."""
    return (False, int(text), "") if text.isdecimal() else (True, 0, text)


def newest(versions: Iterable[str]) -> str | None:
    """The newest release, the newest of what is tried out beforehand where there is no release, None for none."""
    known = [version for version in versions if _VERSION.fullmatch(version)]
    releases = [version for version in known if "-" not in version]
    return max(releases or known, key=order, default=None)
