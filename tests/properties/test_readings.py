"""What the grammar reads, the parser reads to the same tree, places included.

Every file of all corpora with KONFIG_WORKBENCH_PARSED_TEXTS=all, one in ten without; a number says how many mutated
programs to read.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from kcl.source import SourceFile
from kcl.syntax import parse
from tests.kcl.conformance import corpus
from tests.kcl.syntax.test_official import Oracle
from tests.kcl.syntax.trees import official as official_tree
from tests.kcl.syntax.trees import ours
from tests.properties.fuzz import own_programs
from tests.properties.mutation import mutated
from tests.properties.official import official
from tests.properties.readings import CORPORA, by_grammar, difference, disagreement, programs, sample, text_of

_SIZE = os.environ.get("KONFIG_WORKBENCH_PARSED_TEXTS", "")
_EVERY = 10 if not _SIZE else 1
_MUTATED = int(_SIZE) if _SIZE.isdecimal() else 20_000 if _SIZE else 250


@pytest.mark.parametrize("name", CORPORA)
def test_programs_of_a_corpus_are_read_as_the_grammar_reads_them(name: str) -> None:
    corpus(name)
    paths = programs(name)[::_EVERY]
    found = {str(path): disagreement(text_of(path)) for path in paths}
    assert paths and not {path: difference for path, difference in found.items() if difference}


def test_programs_of_the_sample_and_made_up_ones_are_read_as_the_grammar_reads_them() -> None:
    texts = [*map(text_of, sample()), *own_programs()[::_EVERY]]
    taken = [text for text in texts if by_grammar(text) is not None]
    assert len(taken) > len(texts) * 0.99
    assert not list(filter(None, map(disagreement, taken)))


def test_mutated_programs_that_the_grammar_takes_are_read_as_it_reads_them() -> None:
    """Where they part, the official parser is on the parser's side: of odd layout the grammar's lexer is too lax."""
    rng, texts = random.Random(17), [*map(text_of, sample()), *own_programs()]
    texts += [text for name in CORPORA for path in programs(name) if len(text := text_of(path)) < 3_000]
    taken, parted = 0, {}
    for _ in range(_MUTATED):
        text = mutated(rng, rng.choice(texts), texts)
        taken += by_grammar(text) is not None
        if where := disagreement(text):
            parted[text] = where
    assert taken > _MUTATED * 0.2
    assert len(parted) <= _MUTATED * 0.005
    found = [f"{where}\n{text}" for text, where in parted.items() if not _is_read_as_officially(text)]
    assert not found, "\n\n".join(found[:10])


def _is_read_as_officially(text: str) -> bool:
    source = SourceFile("main.k", text)
    result = parse(source)
    with official() as parser:
        refused = bool(parser.syntax(text).errors)
    if refused or result.diagnostics:
        return refused == bool(result.diagnostics)
    with NamedTemporaryFile(suffix=".k") as file:
        Path(file.name).write_text(text, newline="")
        tree, _ = Oracle.shared().parse(Path(file.name))
    return bool(ours(result.module, source) == official_tree(tree))


@pytest.mark.parametrize(
    "text",
    [
        "a: b.c.D {\n    x = 1\n}\n",
        "a: b.D(1) {x = 1}\n",
        "a: B | c.D = 1\n",
        "a = 1 < b and c == d\n",
        "a = [x for x in y\n]\n",
        "a = {k: v for k in y if k > 1\n}\n",
        "a = [\n    if b:\n        1\n    elif c:\n        2\n    else:\n        3\n]\n",
        "a = {\n    if b:\n        c = 1\n    else:\n        d = 2\n}\n",
        "schema A:\n    mixin [B, C]\n",
        'schema A:\n    """\n    Of ${b}.\n    """\n    b: int\n',
        "type A = b.C | 1\n",
    ],
)
def test_each_construct_has_one_place(text: str) -> None:
    assert by_grammar(text) is not None
    assert disagreement(text) is None


def test_a_difference_names_the_place_it_was_seen_at() -> None:
    one, other = by_grammar("a = 1\n"), by_grammar("a = 2\n")
    assert difference(one, one) is None
    assert difference(one, other) == "Int.value: 1 and 2"
    assert difference(one, by_grammar("a =  1\n")) == "Assign.end: 5 and 6"
