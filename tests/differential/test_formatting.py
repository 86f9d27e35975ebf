"""`kcl fmt` beside the official formatter: how often they agree, and of which kind the differences are.

KONFIG_WORKBENCH_FORMATTED=all takes every file of the corpora, one in ten otherwise; `python -m
tests.differential.test_formatting` prints the counts. docs/fmt.md says of each kind why it is there.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum

from kcl.source import SourceFile
from kcl.syntax import parse
from kcl.tools.fmt import Malformed, formatted
from tests.kcl.conformance import corpus
from tests.properties.official import Gone, Official, official
from tests.properties.readings import CORPORA, programs, sample, text_of
from tests.properties.test_formatting import said

_EVERY = 1 if os.environ.get("KONFIG_WORKBENCH_FORMATTED") == "all" else 10


class Kind(StrEnum):
    EQUAL = "equal"
    BLANK_LINES = "only blank lines differ"
    LINE_BREAKS = "only line breaks and blanks differ"
    COMMAS = "only these and commas differ"
    REWRITTEN = "the official one writes tokens another way, or comments or statements elsewhere"
    OTHER = "the official one changes what the program says, or breaks it"
    NOTHING = "the official one gives nothing"


def kind(text: str, ours: str, theirs: str) -> Kind:
    """How the two differ."""
    if ours == theirs:
        return Kind.EQUAL
    if text.strip() and not theirs.strip():
        return Kind.NOTHING
    if _full_lines(ours) == _full_lines(theirs):
        return Kind.BLANK_LINES
    if re.sub(r"\s", "", ours) == re.sub(r"\s", "", theirs):
        return Kind.LINE_BREAKS
    if re.sub(r"[\s,]", "", ours) == re.sub(r"[\s,]", "", theirs):
        return Kind.COMMAS
    result = parse(SourceFile("main.k", theirs))
    tree, comments = said(theirs)
    expected_tree, expected_comments = said(text)
    is_same = tree == expected_tree and sorted(comments) == sorted(expected_comments)
    return Kind.REWRITTEN if is_same and not result.diagnostics else Kind.OTHER


def _full_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _compared(peer: Official, every: int) -> Iterator[tuple[str, str, str]]:
    """A text, ours and theirs, for each text that has no errors."""
    paths = [*(path for name in CORPORA for path in programs(name)), *sample()]
    for path in paths[::every]:
        text = text_of(path)
        try:
            ours = formatted(text)
        except Malformed:
            continue
        try:
            yield text, ours, peer.formatted(text)
        except Gone:
            yield text, ours, ""


def counts(every: int) -> tuple[Counter[Kind], int, int]:
    """Texts by kind of difference; official layouts that ours leaves as they are, and all that are programs."""
    found: Counter[Kind] = Counter()
    kept = laid_out = 0
    with official() as peer:
        for text, ours, theirs in _compared(peer, every):
            found[kind(text, ours, theirs)] += 1
            if not theirs.strip() or parse(SourceFile("main.k", theirs)).diagnostics:
                continue
            laid_out += 1
            kept += formatted(theirs) == theirs
    return found, kept, laid_out


def test_agreement_with_the_official_formatter() -> None:
    for name in CORPORA:
        corpus(name)
    found, kept, laid_out = counts(_EVERY)
    total = found.total()
    assert total > 250
    assert found[Kind.EQUAL] > total * 0.35, found
    assert found[Kind.EQUAL] + found[Kind.BLANK_LINES] > total * 0.8, found
    # Who uses both has no change from ours after theirs.
    assert kept > laid_out * 0.96, (kept, laid_out)


def test_what_the_official_formatter_changes_stays_as_it_is() -> None:
    """`0.0` becomes `0` there, which is another type, and a comment moves out of the schema that it is about."""
    with official() as peer:
        assert peer.formatted("x: float = 2.0\n") == "x: float = 2\n"
        moved = peer.formatted("schema A:\n    x: int\n    # of A\ny = 1\n")
    assert formatted("x: float = 2.0\n") == "x: float = 2.0\n"
    assert moved == "schema A:\n    x: int\n\n# of A\ny = 1\n"
    assert formatted("schema A:\n    x: int\n    # of A\ny = 1\n") == "schema A:\n    x: int\n    # of A\n\ny = 1\n"


def test_kinds_of_differences() -> None:
    assert kind("x=1\n", "x = 1\n", "x = 1\n") is Kind.EQUAL
    assert kind("", "a = 1\n\nb = 1\n", "a = 1\nb = 1\n") is Kind.BLANK_LINES
    assert kind("", "a = {b = 1}\n", "a = {\n    b = 1\n}\n") is Kind.LINE_BREAKS
    assert kind("", "a = [\n    1,\n    2\n]\n", "a = [\n    1\n    2\n]\n") is Kind.COMMAS
    assert kind("a = 0x1F\n", "a = 0x1F\n", "a = 31\n") is Kind.REWRITTEN
    assert kind("a = 0.0\n", "a = 0.0\n", "a = 0\n") is Kind.OTHER
    assert kind("# a\nb = 1.5e1 # c\n", "# a\nb = 1.5e1 # c\n", "b = 15.0\n# c\n") is Kind.OTHER


if __name__ == "__main__":
    by_kind, same, programs_of_theirs = counts(1)
    for each, count in by_kind.most_common():
        print(f"{count:6} {count / by_kind.total():6.1%}  {each.value}")  # noqa: T201
    print(f"{same} of {programs_of_theirs} official layouts are left as they are")  # noqa: T201
