"""Regular expressions that are compiled when they are needed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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


def test_what_one_process_compiled_another_takes_over(tmp_path: Path) -> None:
    texts = [("(?P<a>x+)(y)?", re.IGNORECASE), (r"\s*(?:[^\W\d]\w*+|\u00e4)", re.VERBOSE), ("[a-ü]+$", re.MULTILINE)]
    script = f"""
import marshal, sys
sys.path[:] = {sys.path!r}
from kcl import patterns
from kcl.cache.entries import Entries
from kcl.cache.compiled import leave, share
from kcl.cache.store import Store
entries = Entries(Store({str(tmp_path / "kept")!r}))
share(entries)
texts = {[(text, int(flags)) for text, flags in texts]!r}
found = [patterns.pattern(*each).findall("XXy abc\\nüx ä") for each in texts]
compiled = len(patterns._compiled)
leave(entries)
entries.write()
print(found, compiled, patterns.pattern(*texts[0]).groupindex, patterns.pattern(*texts[1]).flags)
"""
    found = str([re.compile(*each).findall("XXy abc\nüx ä") for each in texts])
    about = f"{re.compile(*texts[0]).groupindex} {re.compile(*texts[1]).flags}\n"
    for compiled in (3, 0):  # the second process compiles nothing
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert ended.stdout == f"{found} {compiled} {about}"


def test_numbers_that_are_none_of_an_expression_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: list[Any] = [(32, [1, 2, 3], 0, {}, (None,)), (32, ["x"], 0, {}, (None,)), (32,)]
    for code in wrong:
        monkeypatch.setattr(patterns, "_learned", {("a+", 0): code})
        monkeypatch.setattr(patterns, "_compiled", set())
        assert pattern("a+").findall("aab") == ["aa"]
        assert patterns.codes()["a+", 0] != code, "it is worked out again"
