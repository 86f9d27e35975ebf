"""`kcl fmt` loses nothing and is done at once: every file of all corpora, and generated programs.

KONFIG_WORKBENCH_FORMATTED=all reads every file and 2,000 generated programs; without, one in ten.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields

import pytest

from kcl.source import SourceFile
from kcl.syntax import ast, parse
from kcl.tools.fmt import Altered, Malformed, formatted
from tests.differential.programs import program
from tests.kcl.conformance import corpus
from tests.properties.fuzz import own_programs
from tests.properties.mutation import mutated
from tests.properties.readings import CORPORA, programs, sample, text_of
from tests.sizes import size

_EVERY = 1 if os.environ.get("KONFIG_WORKBENCH_FORMATTED") == "all" else 10
_GENERATED = 2_000 // _EVERY


@pytest.mark.parametrize("name", CORPORA)
def test_files_of_a_corpus_keep_tree_and_comments(name: str) -> None:
    corpus(name)
    assert _laid_out(text_of(path) for path in programs(name)[::_EVERY]) > 0


def test_files_of_the_sample_keep_tree_and_comments() -> None:
    assert _laid_out(map(text_of, sample())) > 10


def test_generated_programs_keep_tree_and_comments() -> None:
    assert _laid_out(program(seed) for seed in range(_GENERATED)) > _GENERATED * 0.9


def test_mutated_programs_are_laid_out_or_refused() -> None:
    rng, texts = random.Random(5), [*map(text_of, sample()), *own_programs()]
    found: Counter[str] = Counter()
    for _ in range(20_000 if _EVERY == 1 else size(400, 2_000)):
        text = mutated(rng, rng.choice(texts), texts)
        try:
            found["laid out"] += _laid_out([text])
        except Altered:
            found["left as it is"] += 1
    assert found["laid out"] > 80
    assert found["left as it is"] < found["laid out"] * 0.01


def _laid_out(texts: Iterable[str]) -> int:
    """How many of the texts were laid out, each held against itself before and after; the others are malformed."""
    count = 0
    for text in texts:
        try:
            made = formatted(text)
        except Malformed:
            assert parse(SourceFile("main.k", text)).diagnostics
            continue
        count += 1
        assert said(made) == said(text)
        assert _characters(made) == _characters(text)
        assert formatted(made) == made
    return count


def _characters(text: str) -> str:
    """What is no white space, of which a backslash that continues a line with nothing on it is a part."""
    return "".join(text.removesuffix("\\").replace("\\\n", "").split())


def said(text: str) -> tuple[object, list[str]]:
    """What a text says, without where: tree and comments."""
    module = parse(SourceFile("main.k", text)).module
    return _shape([module.doc, module.body]), [each.text for each in module.comments]


def _shape(part: object) -> object:
    if isinstance(part, list | tuple):
        return [_shape(each) for each in part]
    if isinstance(part, ast.Node):
        names = [each.name for each in fields(part) if not each.name.endswith(("start", "end"))]
        return type(part), [_shape(getattr(part, name)) for name in names]
    return part
