"""Looks for many texts at once, since most of what is looked through has none of them.

Two hundred secrets in some forms each, looked for one after the other in a picture, take a hundred times as long.
"""

from __future__ import annotations

from collections.abc import Iterable

import re2

_MOST_BYTES = 1 << 28
"""For the automaton: with less it would be thrown away and begun again."""


class Needles:
    """`Needles(texts).are_in(hay)` is `any(each in hay for each in texts)`, of non-empty texts."""

    def __init__(self, texts: Iterable[str | bytes]) -> None:
        options = re2.Options()
        options.max_mem = _MOST_BYTES
        # each byte is a sign of its own: what is looked through need not be UTF-8
        options.encoding = re2.Options.Encoding.LATIN1
        needles = sorted({_bytes(each) for each in texts})
        assert b"" not in needles
        # what matches nothing, where there are no texts
        self._pattern = re2.compile(b"|".join(map(re2.escape, needles)) or rb"[^\x00-\xff]", options)

    def are_in(self, hay: str | bytes) -> bool:
        return self._pattern.search(_bytes(hay)) is not None


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
