"""Formatting in an editor: edits of white space, and none for a text that is half-written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcl.tools.lsp.positions import Lines, Place
from tests.kcl.tools.lsp.editor import Editor

TEXT = 'a="𝔘"+1\nschema A:\n  x:int=1\n  y:int\nb=2\n'


def test_documents_and_ranges_are_laid_out(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="pygls is not installed")
    path = tmp_path / "main.k"
    path.write_text(TEXT)
    with Editor(tmp_path) as editor:
        assert editor.capabilities["documentFormattingProvider"]
        assert editor.capabilities["documentRangeFormattingProvider"]
        editor.open(path, TEXT)
        whole = _asked(editor, path, "formatting", {})
        part = _asked(editor, path, "rangeFormatting", {"range": _range(3, 0, 4, 0)})
        editor.edit(path, {"text": "a = (\n"})
        nothing = _asked(editor, path, "formatting", {})
    assert _applied(TEXT, whole) == 'a = "𝔘" + 1\nschema A:\n    x: int = 1\n    y: int\n\nb = 2\n'
    assert _applied(TEXT, part) == 'a="𝔘"+1\nschema A:\n    x: int = 1\n    y: int\nb=2\n'
    assert nothing is None


def _asked(editor: Editor, path: Path, what: str, more: dict[str, Any]) -> Any:
    options = {"tabSize": 2, "insertSpaces": True}
    return editor.ask(f"textDocument/{what}", {"textDocument": {"uri": path.as_uri()}, "options": options, **more})


def _range(*numbers: int) -> dict[str, Any]:
    line, character, end_line, end_character = numbers
    return {"start": {"line": line, "character": character}, "end": {"line": end_line, "character": end_character}}


def _applied(text: str, edits: list[dict[str, Any]]) -> str:
    lines = Lines(text)
    for edit in reversed(edits):
        start, end = (Place(edit["range"][each]["line"], edit["range"][each]["character"]) for each in ("start", "end"))
        text = text[: lines.offset(start)] + edit["newText"] + text[lines.offset(end) :]
    return text
