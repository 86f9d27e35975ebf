"""Regular expressions that are compiled when they are needed."""

from __future__ import annotations

import re

from kcl import patterns
from kcl.patterns import pattern


def test_a_pattern_answers_as_the_compiled_one() -> None:
    given = r"(?P<word>[a-z]+)\d", re.IGNORECASE
    lazy, compiled = pattern(*given), re.compile(*given)
    for _ in range(2):  # the second time nothing is compiled any more
        assert [each.span() for each in lazy.finditer("Ab1 c2")] == [
            each.span() for each in compiled.finditer("Ab1 c2")
        ]
        assert lazy.sub("-", "a1b2") == compiled.sub("-", "a1b2") and lazy.fullmatch("a") is None
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (compiled.pattern, compiled.flags, compiled.groupindex)


def test_nothing_is_compiled_before_it_is_needed() -> None:
    made = pattern("(")  # which is no pattern
    assert isinstance(made, patterns._Pattern)
    try:
        made.match("")
    except re.error:
        return
    raise AssertionError("a mistake goes unseen")
