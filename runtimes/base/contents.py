"""A quick look at plain data as a whole, before anybody goes through it part by part."""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from typing import Any, Final

MAPPINGS: Final = (dict, Mapping)
"""What is read like a dict, for `isinstance` where everything passes: `dict | Mapping` is made again by each look,
which takes ten times as long as the look; most are dicts, which the abstract class would be asked about at length."""

_AT_ONCE: Final = 500


def may_hold(content: Any, *signs: bytes) -> bool:
    """Whether one of these ASCII texts may occur in a text or name of the content; False where none does.

    `marshal` writes texts as they are, in C. What it does not write, as it is more than plain data, may hold anything.
    """
    try:
        written = marshal.dumps(content)
    except ValueError:
        return True
    return any(sign in written for sign in signs)


def may_any_hold(contents: Sequence[Any], *signs: bytes) -> bool:
    """The same of many: looked at together they take a fraction of the time; so many that little is written at once."""
    return any(may_hold(contents[at : at + _AT_ONCE], *signs) for at in range(0, len(contents), _AT_ONCE))
