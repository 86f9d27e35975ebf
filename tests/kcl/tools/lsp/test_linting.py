"""What the linter finds, in an editor: below the diagnostics, of the open files alone, and with edits against it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from kcl.cli import main
from kcl.source import OsFileSystem
from kcl.tools.lsp.advising import Advisor
from kcl.tools.lsp.sessions import MOST_CHARACTERS, Session
from tests.kcl.tools.lsp.editor import Editor, change

TEXT = "import math\n\n_limit = 1\na = [1, 2]\nb = a == a\n"


def _repository(root: Path, **files: str) -> Path:
    (root / "kcl.mod").write_text("")
    for name, text in files.items():
        (root / f"{name}.k").write_text(text)
    return root / "main.k"


def _linted(found: list[Any]) -> bool:
    return any(each["source"] == "kcl lint" for each in found)


def _advisor(path: Path, text: str) -> Advisor:
    session = Session(OsFileSystem())
    session.open(str(path), text, 1)
    return Advisor(session)


def test_findings_follow_the_errors_and_have_a_severity_of_their_own(tmp_path: Path) -> None:
    path = _repository(tmp_path, main=TEXT)
    with Editor(tmp_path) as editor:
        editor.open(path)
        assert editor.diagnostics_of_version(path) == []
        found = editor.diagnostics(path)
        assert [(each["code"], each["severity"], each["range"]["start"]["line"]) for each in found] == [
            ("W0411", 3, 0),
            ("W3002", 3, 2),
            ("W3003", 3, 4),
        ]
        assert [each.get("tags") for each in found] == [[1], [1], None]
        editor.edit(path, change((4, 0), (4, 0), "c: int = 'x'\n"))
        assert [each["code"] for each in editor.diagnostics_of_version(path)] == ["E2G22"], "nothing of the text before"
        both = editor.diagnostics(path, _linted)
        assert [each["code"] for each in both] == ["E2G22", "W0411", "W3002", "W3003"]
        editor.edit(path, {"text": "a = 1\n"})
        assert editor.diagnostics_of_version(path) == []


def test_only_open_files_are_linted_and_a_closed_one_shows_nothing(tmp_path: Path) -> None:
    path = _repository(tmp_path, main=TEXT, beside="_idle = 1\n")
    with Editor(tmp_path) as editor:
        editor.open(path)
        editor.diagnostics(path, _linted)
        editor.close(path)
        assert editor.diagnostics(path, lambda found: not found) == []
        assert {each["uri"] for each in editor.published} == {path.as_uri()}


def test_a_name_that_only_an_unsaved_file_reads_is_read(tmp_path: Path) -> None:
    path = _repository(tmp_path, main="_limit = 1\n", other="b = 1\n")
    advisor = _advisor(path, "_limit = 1\n")
    assert [each.diagnostic.code.number for each in advisor.findings(str(path))] == ["W3002"]
    advisor.session.open(str(tmp_path / "other.k"), "b = _limit\n", 1)
    assert advisor.findings(str(path)) == ()
    advisor.session.close(str(tmp_path / "other.k"))
    advisor.session.open(str(tmp_path / "nowhere.k"), "b = _limit\n", 1)
    assert advisor.findings(str(path)) == (), "a file that is not on disk yet"
    advisor.session.close(str(tmp_path / "nowhere.k"))
    assert len(advisor.findings(str(path))) == 1


def test_an_edit_ends_the_linter(tmp_path: Path) -> None:
    path = _repository(tmp_path, main=TEXT)
    advisor = _advisor(path, TEXT)
    assert advisor.advice(lambda: True) is None
    found = advisor.advice()
    assert found is not None and len(found.by_path[str(path)]) == 3, "what was given up is not taken for nothing"


def _after(advisor: Advisor, path: Path, text: str, word: str, title: str) -> str:
    at = text.index(word)
    found = [each for each in advisor.actions(str(path), at, at) if each.title.startswith(title)]
    assert len(found) == 1, found
    return text[: found[0].start] + found[0].text + text[found[0].end :]


def test_findings_are_mended_and_allowed(tmp_path: Path) -> None:
    path = _repository(tmp_path, main=TEXT)
    advisor = _advisor(path, TEXT)
    assert _after(advisor, path, TEXT, "import", "Remove the unused import 'math'") == TEXT.partition("\n")[2]
    allowed = _after(advisor, path, TEXT, "_limit", "Allow W3002")
    assert "_limit = 1  # kcl-lint: allow W3002 because \n" in allowed
    out = io.StringIO()
    path.write_text(allowed)
    status = main(["lint", "--error_format=short", "main.k"], cwd=tmp_path, stdin=io.StringIO(), stdout=out, stderr=out)
    assert status == 1 and "a finding is allowed for a reason: add 'because ...'" in out.getvalue()
    path.write_text(allowed.replace("because ", "because a script reads it"))
    assert "W3002" not in (again := _lint(tmp_path)) and "W3900" not in again


def _lint(folder: Path) -> str:
    out = io.StringIO()
    main(["lint", "--error_format=short", "main.k"], cwd=folder, stdin=io.StringIO(), stdout=out, stderr=out)
    return out.getvalue()


@pytest.mark.parametrize(
    "text, after",
    [
        ("_a = 1  # why\n", "# kcl-lint: allow W3002 because \n_a = 1  # why\n"),
        ("_a = 1", "_a = 1  # kcl-lint: allow W3002 because "),
        ("_a = 1\r\nb = 2\r\n", "_a = 1  # kcl-lint: allow W3002 because \r\nb = 2\r\n"),
        ('_a = """\n"""\n', '# kcl-lint: allow W3002 because \n_a = """\n"""\n'),
        (
            "x = lambda {\n    _a = 1\n    2\n}\n",
            "x = lambda {\n    _a = 1  # kcl-lint: allow W3002 because \n    2\n}\n",
        ),
    ],
)
def test_the_comment_that_allows_is_a_comment(tmp_path: Path, text: str, after: str) -> None:
    path = _repository(tmp_path, main=text)
    path.write_bytes(text.encode())
    assert _after(_advisor(path, text), path, text, "_a", "Allow W3002") == after
    path.write_bytes(after.replace("because ", "because it is so").encode())
    assert _lint(tmp_path).startswith("1 files: 0 errors, 0 warnings")


def test_no_comment_is_offered_within_a_string(tmp_path: Path) -> None:
    text = 'a = 1\nb = """\n${a == a}\n"""\n'
    path = _repository(tmp_path, main=text)
    advisor = _advisor(path, text)
    assert [each.diagnostic.code.number for each in advisor.findings(str(path))] == ["W3003"]
    assert advisor.actions(str(path), text.index("=="), text.index("==")) == []


def test_everything_is_mended_at_once_where_that_is_asked_for(tmp_path: Path) -> None:
    text = "import math\nimport json\nimport math as m\na = m.ceil(0.5)\n"
    path = _repository(tmp_path, main=text)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 4, "character": 0}}
    with Editor(tmp_path) as editor:
        editor.open(path, text)
        document = {"textDocument": {"uri": path.as_uri()}, "range": whole}
        only = {"context": {"diagnostics": [], "only": ["source.fixAll"]}}
        [action] = editor.ask("textDocument/codeAction", document | only)
        assert action["kind"] == "source.fixAll.kcl"
        [[edit]] = action["edit"]["changes"].values()
        assert edit["newText"] == "import math as m\na = m.ceil(0.5)\n"
        offered = editor.ask("textDocument/codeAction", document | {"context": {"diagnostics": []}})
        assert {each["kind"] for each in offered} == {"quickfix"}
        assert all(each["diagnostics"][0]["source"] == "kcl lint" for each in offered)


def test_a_finding_is_explained_where_it_stands(tmp_path: Path) -> None:
    path = _repository(tmp_path, main=TEXT)
    with Editor(tmp_path) as editor:
        editor.open(path, "a: int = 'x'\n_b = 1\n")
        document = {"textDocument": {"uri": path.as_uri()}}
        said = editor.ask("textDocument/hover", document | {"position": {"line": 1, "character": 1}})
        assert "**W3002 UnusedVariable**" in said["contents"]["value"]
        said = editor.ask("textDocument/hover", document | {"position": {"line": 0, "character": 0}})
        assert "**E2G22" in said["contents"]["value"]


def test_of_a_large_text_errors_are_told_and_what_is_left_out(tmp_path: Path) -> None:
    text = "limit: int = 1\n_a: int = 'x'\n" + ("#" * 80 + "\n") * (MOST_CHARACTERS // 81 + 1)
    path = _repository(tmp_path)
    with Editor(tmp_path) as editor:
        editor.open(path, text)
        assert [each["code"] for each in editor.diagnostics_of_version(path)] == ["E2G22"]
        _, said = editor.diagnostics(path, _linted)
        assert "in the editor it is not linted" in said["message"] and said["severity"] == 3
        document = {"textDocument": {"uri": path.as_uri()}}
        assert editor.ask("textDocument/semanticTokens/full", document) is None
        at = {"position": {"line": 0, "character": 2}}
        offered = editor.ask("textDocument/completion", document | at)
        assert offered["isIncomplete"] and [each["label"] for each in offered["items"]] == ["limit"]
        assert "limit: int" in editor.ask("textDocument/hover", document | at)["contents"]["value"]
        editor.edit(path, {"text": "a = 1\n"})
        assert editor.diagnostics_of_version(path) == []
        assert editor.ask("textDocument/semanticTokens/full", document)["data"]


def test_a_text_with_errors_of_syntax_gets_those_alone(tmp_path: Path) -> None:
    path = _repository(tmp_path)
    advisor = _advisor(path, "import math\n_a = (\n")
    assert advisor.findings(str(path)) == ()
    assert advisor.actions(str(path), 0, 0) == []
