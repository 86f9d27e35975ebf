"""What is printed can be read on any terminal."""

from __future__ import annotations

import io

import pytest

from workbench.cli.output import Output
from workbench.engine.masking import Masked


def test_where_only_ascii_can_be_shown_signs_are_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WB_ASCII", raising=False)
    written = io.BytesIO()
    output = Output(stdout=io.TextIOWrapper(written, encoding="ascii"), stderr=io.StringIO())
    output.line(f"~ {Masked('a9c3ffff')} ", output.glyphs.arrow, " two\nlines… ±1")
    assert written.getvalue() == b"~ <masked#a9c3> -> two\\nlines... +-1\n"


def test_or_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WB_ASCII", "1")
    out, err = io.StringIO(), io.StringIO()
    output = Output(stdout=out, stderr=err)
    output.line(str(Masked("a9c3ffff")))
    output.talk(str(Masked("a9c3ffff")))
    assert out.getvalue() == err.getvalue() == "<masked#a9c3>\n"
