"""Diagnostics as an editor gets them, from the process it starts."""

from __future__ import annotations

import io
import random
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from kcl.source import OsFileSystem
from kcl.tools.lint import Finding, lint
from kcl.tools.lsp import main
from kcl.tools.lsp.advising import Advisor
from kcl.tools.lsp.documents import Edit, edited
from kcl.tools.lsp.positions import Lines, Place, Range, Unit
from kcl.tools.lsp.sessions import Session
from tests.kcl.conformance import ROOT, corpus
from tests.kcl.tools.lsp.editor import Editor, change
from tests.sizes import size


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


FILES: dict[str, str | bytes] = {
    "kcl.mod": '[package]\nname = "shop"\nversion = "0.1.0"\n',
    "models/server.k": "schema Server:\n    image: str\n    replicas: int = 1\n",
    "stack/main.k": 'import models.server\n\nweb = server.Server {\n    image = "nginx"\n}\n',
}


def test_an_error_is_told_and_taken_back(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    main_file = tmp_path / "stack" / "main.k"
    with Editor(tmp_path) as editor:
        editor.open(main_file)
        assert editor.diagnostics_of_version(main_file) == []
        editor.edit(main_file, change((3, 12), (3, 19), "5"))
        [wrong] = editor.diagnostics_of_version(main_file)
        assert wrong["message"] == 'expected str, got int(5)\nhelp: a text is written in quotes: `"5"`'
        assert wrong["code"] == "E2G22"
        assert wrong["range"]["start"] == {"line": 3, "character": 4}
        editor.edit(main_file, change((3, 12), (3, 13), '"nginx"'))
        assert editor.diagnostics_of_version(main_file) == []


def test_what_is_not_saved_counts_for_other_files(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    main_file, server = tmp_path / "stack" / "main.k", tmp_path / "models" / "server.k"
    with Editor(tmp_path) as editor:
        editor.open(main_file)
        editor.open(server)
        editor.edit(server, change((1, 11), (1, 14), "int"))
        assert [each["code"] for each in editor.diagnostics(main_file)] == ["E2G22"]
        editor.close(server)  # what is on disk counts again
        assert editor.diagnostics(main_file, lambda found: not found) == []


def test_files_that_change_on_disk_are_seen(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    main_file = tmp_path / "stack" / "main.k"
    with Editor(tmp_path) as editor:
        editor.open(main_file)
        assert editor.diagnostics_of_version(main_file) == []
        server = tmp_path / "models" / "server.k"
        server.write_text("schema Server:\n    other: str\n")
        editor.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": server.as_uri(), "type": 2}]})
        assert editor.diagnostics(main_file)
        (tmp_path / "models").rename(tmp_path / "moved")
        editor.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": server.as_uri(), "type": 3}]})
        missing = editor.diagnostics(main_file, lambda found: any(each["code"] == "E2F04" for each in found))
        assert missing


@pytest.mark.parametrize("encoding, column", [("utf-16", 11), ("utf-8", 13), ("utf-32", 10)])
def test_columns_are_in_the_unit_agreed_on(tmp_path: Path, encoding: str, column: int) -> None:
    write(tmp_path, FILES)
    file = tmp_path / "stack" / "emoji.k"
    with Editor(tmp_path, encoding) as editor:
        assert editor.capabilities["positionEncoding"] == encoding
        editor.open(file, 'a = "🙂" + nobody\n'.replace(" + ", "  +"))
        [wrong] = editor.diagnostics_of_version(file)
        assert wrong["range"]["start"] == {"line": 0, "character": column}


BROKEN = {
    "half written": "import \nschema A(\n  b: \na = A { b = ",
    "control characters": "\0\1\2 a = \x0b\x0c 1\u2028b",
    "carriage returns": "a = 1\r\nb = nobody\r\n",
    "imports itself": "import stack\n",
    "missing package": "import not.there\na = there.B {}\n",
    "empty": "",
    "deep": "a = " + "[" * 3000,
    "a surrogate": 'a = "\ud800"\n',
}


def test_whatever_is_opened_is_answered(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "stack/binary.k": b"\xff\xfe\x00"})
    main_file = tmp_path / "stack" / "main.k"
    with Editor(tmp_path) as editor:
        for text in BROKEN.values():
            editor.open(main_file, text)
            editor.diagnostics_of_version(main_file)
            editor.close(main_file)
        editor.open(tmp_path / "alone.k", "a = nobody\n")
        assert editor.diagnostics(tmp_path / "alone.k")
        editor.tell(
            "textDocument/didOpen",
            {"textDocument": {"uri": "untitled:1", "languageId": "kcl", "version": 1, "text": "a"}},
        )


@pytest.mark.parametrize("unit", list(Unit))
def test_edits_in_any_unit_are_those_of_the_text(unit: Unit) -> None:
    rng = random.Random(7)
    for _ in range(200):
        text = "".join(rng.choices("aé🙂\n\r\u2028 ", k=rng.randrange(30)))
        lines = Lines(text, unit)
        start, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        if any(text[at - 1 : at + 1] == "\r\n" for at in (start, end)):
            continue  # nobody can point between the two
        range_ = Range(lines.place(start), lines.place(end))
        assert (lines.offset(range_.start), lines.offset(range_.end)) == (start, end)
        assert edited(text, [Edit(range_, "X")], unit) == text[:start] + "X" + text[end:]


def test_places_that_do_not_exist_are_the_nearest() -> None:
    lines = Lines("ab\ncd")
    places = (Place(0, 9), Place(9, 0), Place(-1, 4), Place(1, -2))
    assert [lines.offset(place) for place in places] == [2, 5, 0, 3]


LINTED = (
    "_a = 1\n",
    "import math\n",
    "b = _a == _a\n",
    "# kcl-lint: allow W3002 because\n",
    "# kcl-lint: allow W3002 because x\n",
)


def _by_path(findings: Iterable[Finding]) -> dict[str, tuple[Finding, ...]]:
    found: dict[str, tuple[Finding, ...]] = {}
    for each in findings:
        found[each.span.path] = (*found.get(each.span.path, ()), each)
    return found


def _monkey(root: Path, files: list[Path], edits: int, seed: int) -> None:
    """Edits at random; after each the diagnostics are those of a session that begins with these texts, and what the
    linter finds is what `kcl lint` finds in them."""
    rng = random.Random(seed)
    session = Session(OsFileSystem())
    advisor = Advisor(session)
    for file in files:
        session.open(str(file), file.read_text(), 1)
    for version in range(edits):
        path = str(rng.choice(files))
        text = session.documents.opened[path].text
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 0, 1, 5, 40]))
        word = rng.choice(
            ["", "x", "\n", "    ", "{", "}", "import a.b\n", '"', "a = 1\n", "schema S:\n    b: int\n", *LINTED]
        )
        lines = Lines(text)
        session.change(path, [Edit(Range(lines.place(start), lines.place(end)), word)], version)
        found = session.diagnostics()
        cold = Session(OsFileSystem())
        cold.documents = session.documents
        expected = cold.diagnostics()
        assert found is not None and expected is not None
        assert found.by_path == expected.by_path, (path, version, word)
        advice = advisor.advice()
        linted = lint([*session.documents.opened], session.documents.files)
        assert advice is not None and not advice.left_out
        assert advice.by_path == _by_path(linted.findings), (path, version, word)
        if rng.random() < 0.3:
            original = Path(path).read_text()
            session.change(path, [Edit(None, original)], version)


def test_a_monkey_finds_no_stale_diagnostics(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sample-konfig", tmp_path / "sample")
    root = tmp_path / "sample"
    files = [
        root / "storefront/catalog/base/base.k",
        root / "storefront/catalog/prod/main.k",
        root / "models/frontend/server.k",
    ]
    for seed in range(size(1, 20)):
        _monkey(root, files, size(7, 200), seed)


def test_a_monkey_finds_no_stale_diagnostics_in_konfig_2023(tmp_path: Path) -> None:
    root = tmp_path / "konfig"
    shutil.copytree(corpus("konfig-2023"), root)
    guestbook = root / "appops" / "guestbook"
    files = [guestbook / "base/base.k", guestbook / "prod/main.k"]
    for seed in range(size(1, 20)):
        _monkey(root, files, size(4, 200), seed)


def test_stacks_of_konfig_2023_have_no_errors_and_get_some() -> None:
    root = corpus("konfig-2023")
    base, prod = root / "appops/guestbook/base/base.k", root / "appops/guestbook/prod/main.k"
    with Editor(root) as editor:
        editor.open(base)
        editor.open(prod)
        assert editor.diagnostics_of_version(prod) == []
        editor.edit(base, {"text": base.read_text() + "\nwrong: int = 'a'\n"})
        assert [each["code"] for each in editor.diagnostics_of_version(base)] == ["E2G22"]


def test_help_and_usage() -> None:
    out, err = io.StringIO(), io.StringIO()
    assert main(["--help"], cwd=".", stdin=sys.stdin, stdout=out, stderr=err) == 0
    assert main(["--socket"], cwd=".", stdin=sys.stdin, stdout=out, stderr=err) == 2
    assert "usage: kcl lsp" in out.getvalue() and "--stdio is the only option" in err.getvalue()
