"""KCL coloured by Pygments: valid programs have no error token, and every text comes back as it was."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path

import pytest

from kcl.source import SourceFile
from kcl.syntax import parse
from tests.kcl.conformance import ROOT, corpus
from tests.sizes import size

pytest.importorskip("pygments", reason="Pygments is not installed")

from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String, _TokenType

from kcl.tools.highlighting import KclLexer


def tokens(text: str) -> list[tuple[_TokenType, str]]:
    return [(kind, word) for _, kind, word in KclLexer().get_tokens_unprocessed(text)]


def _coloured(text: str) -> list[tuple[_TokenType, str]]:
    return [each for each in tokens(text) if each[1].strip()]


def _programs(folder: Path, most: int) -> Iterator[str]:
    """Texts below a folder that the parser takes, spread over all of them."""
    paths = sorted(folder.rglob("*.k"))
    for path in islice(paths, 0, None, max(1, len(paths) // most)):
        try:
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if not parse(SourceFile(str(path), text)).diagnostics:
            yield text


def test_words_are_what_they_are() -> None:
    text = (
        "import a.b as c  # why\n@info(x=1)\nschema Server[n: int](Base):\n    port?: int = 1Ki\n"
        'x = lambda y { c.f("a\\n${y}") if y not in [None] else 0x1F }\n'
    )
    found = {word: kind for kind, word in _coloured(text)}
    assert found["import"] is Keyword.Namespace and found["a.b"] is Name.Namespace
    assert found["# why"] is Comment.Single and found["@info"] is Name.Decorator
    assert found["schema"] is Keyword.Declaration and found["Server"] is Name.Class
    assert found["port"] is Name.Attribute and found["int"] is Keyword.Type and found["1Ki"] is Number.Integer
    assert found["lambda"] is Keyword and found["f"] is Name.Function
    assert found["\\n"] is String.Escape and found["${y}"] is String.Interpol
    assert found["not"] is Operator.Word and found["None"] is Keyword.Constant and found["0x1F"] is Number


@pytest.mark.parametrize("text", ["r'\\d'", '"""a\n"b" ${c}\n"""', "''", '""', "'a\\'b'", '"a#b"'])
def test_strings_are_strings(text: str) -> None:
    assert all(kind in String for kind, _ in tokens(text)), tokens(text)


def test_keywords_that_are_names_here_are_names() -> None:
    found = [(word, kind) for kind, word in _coloured("a = {check = 1, type = 2, filter: 3}\nb = a.check + a.type")]
    assert dict(found)["filter"] is Name.Attribute
    assert (Keyword, "check") in _coloured("schema A:\n    check:\n        a\n")
    assert (Keyword, "any") in _coloured("a = any x in b {x}")
    assert [kind for word, kind in found if word in ("check", "type")] == [Name.Attribute] * 2 + [Name] * 2


def test_programs_have_no_error_tokens() -> None:
    texts = list(_programs(ROOT / "sample-konfig", 1000))
    assert len(texts) > 30
    for text in texts:
        _holds(text)


@pytest.mark.parametrize("name", ["konfig-2023", "kcl-grammar", "kcl-modules", "konfig-2025"])
def test_programs_of_the_corpora_have_no_error_tokens(name: str) -> None:
    texts = list(_programs(corpus(name), size(150, 100_000)))
    assert len(texts) > 40
    for text in texts:
        _holds(text)


def _holds(text: str) -> None:
    found = tokens(text)
    assert "".join(word for _, word in found) == text
    assert [word for kind, word in found if kind is Error] == [], text[:200]


PIECES = ['"', "'", "\\", "${", "}", "\n", "\r\n", "a", "0x", "1.", "é", "\0", "#", '"""', " "]


def test_whatever_is_written_comes_back() -> None:
    rng = random.Random(1)
    for _ in range(size(300, 20_000)):
        text = "".join(
            rng.choices(['"', "'", "\\", "${", "}", "\n", "\r\n", "a", "0x", "1.", "é", "\0", "#", '"""', " "], k=30)
        )
        assert "".join(word for _, word in tokens(text)) == text


def test_pygments_finds_it() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    module, _, name = settings["project"]["entry-points"]["pygments.lexers"]["kcl"].partition(":")
    assert getattr(import_module(module), name) is KclLexer
    assert KclLexer.analyse_text("schema A:\n    b: int\n") > 0 == KclLexer.analyse_text("f:{x+y}\n")
