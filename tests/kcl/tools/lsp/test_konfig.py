"""Every feature that an editor asks for, in konfig-2023, by a client of the protocol: one server, one test a feature.

Stacks and what is live of them: `tests/workbench/cli/test_editing.py` and `test_editing_live.py`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcl.tools.lsp.positions import Lines
from tests.kcl.conformance import corpus
from tests.kcl.tools.lsp.editor import Editor

_MODEL = "base/pkg/kusion_models/kube/frontend/server.k"
_BASE, _PROD = "appops/guestbook/base/base.k", "appops/guestbook/prod/main.k"


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    root = corpus("konfig-2023")
    with Editor(root) as editor:
        for name in (_BASE, _PROD, _MODEL):
            editor.open(root / name)
        yield editor


class Typed:
    """A text in the editor with a mark `|`, which is the cursor; the file is what it was afterwards."""

    def __init__(self, editor: Editor, name: str, before: str, after: str) -> None:
        self.editor, self.path = editor, editor.root / name
        self.text = self.path.read_text(encoding="utf-8")
        assert before in self.text
        marked = self.text.replace(before, after, 1)
        at = marked.index("|", self.text.index(before))
        self.written = marked[:at] + marked[at + 1 :]
        place = Lines(self.written).place(at)
        self.position = {"line": place.line, "character": place.column}

    def __enter__(self) -> Typed:
        self.editor.edit(self.path, {"text": self.written})
        return self

    def __exit__(self, *_: object) -> None:
        self.editor.edit(self.path, {"text": self.text})

    def ask(self, method: str, **more: Any) -> Any:
        at = {} if "range" in more or "item" in more else {"position": self.position}
        return self.editor.ask(f"textDocument/{method}", {"textDocument": {"uri": self.path.as_uri()}, **at, **more})

    @property
    def here(self) -> dict[str, Any]:
        return {"start": self.position, "end": self.position}

    def whole(self) -> dict[str, Any]:
        return {"start": {"line": 0, "character": 0}, "end": {"line": self.written.count("\n") + 1, "character": 0}}


def _labels(found: Any) -> list[str]:
    return [each["label"] for each in sorted(found, key=lambda each: each["sortText"])]


def test_diagnostics_in_every_open_file_of_the_program(editor: Editor) -> None:
    with Typed(editor, _MODEL, "needNamespace?: bool =", "needNamespace?: int| ="):
        found = editor.diagnostics_of_version(editor.root / _MODEL)
    assert [each["code"] for each in found] == ["E2G22"]


def test_hover(editor: Editor) -> None:
    with Typed(editor, _PROD, "image =", "ima|ge =") as typed:
        said = typed.ask("hover")["contents"]["value"]
    assert said.startswith("```kcl\nimage: str") and "Container image name." in said and _MODEL in said


def test_definition_references_and_rename_over_many_files(editor: Editor) -> None:
    with Typed(editor, _MODEL, "schema Server:", "schema Ser|ver:") as typed:
        places = typed.ask("references", context={"includeDeclaration": True})
        edits = typed.ask("rename", newName="Website")["changes"]
        item = typed.ask("prepareTypeHierarchy")[0]
    assert len({each["uri"] for each in places}) > 12
    assert {uri: len(each) for uri, each in edits.items()} == {
        uri: sum(one["uri"] == uri for one in places) for uri in {each["uri"] for each in places}
    }
    with Typed(editor, _PROD, "frontend.Server", "frontend.Ser|ver") as typed:
        found = typed.ask("definition")
    assert (found["uri"], found["range"]) == (places[0]["uri"], places[0]["range"])
    assert item["selectionRange"] == found["range"]


def test_completion_of_attributes_begins_with_what_must_be_set_and_ends_with_what_is(editor: Editor) -> None:
    with Typed(editor, _PROD, "    image =", "    |\n    image =") as typed:
        found = _labels(typed.ask("completion"))
    assert found[0] == "mainContainer", "the only one that has no default and no question mark"
    assert found[-1] == "image" and "replicas" in found


def test_completion_of_import_paths(editor: Editor) -> None:
    with Typed(
        editor, _PROD, "import base.pkg.kusion_models.kube.frontend\n", "import base.pkg.kusion_models.kube.fr|\n"
    ) as typed:
        found = _labels(typed.ask("completion"))
    assert {"frontend", "metadata", "templates"} <= set(found)


def test_completion_of_members_and_of_values(editor: Editor) -> None:
    with Typed(editor, _BASE, "res_tpl.tiny", "res_tpl.|") as typed:
        assert {"tiny", "small", "large"} <= set(_labels(typed.ask("completion")))
    with Typed(editor, _PROD, "    image =", "    workloadType = |\n    image =") as typed:
        assert set(_labels(typed.ask("completion"))[:2]) == {'"Deployment"', '"StatefulSet"'}


def test_completion_of_options(editor: Editor) -> None:
    with Typed(editor, _PROD, 'image = "gcr.io/google-samples/gb-frontend:v3"', 'image = option("|")') as typed:
        found = _labels(typed.ask("completion"))
    assert {"replicas", "image", "env", "cluster"} <= set(found)


def test_signature_help(editor: Editor) -> None:
    with Typed(editor, _BASE, "# Application Configuration", "_size = pow(2, |)") as typed:
        found = typed.ask("signatureHelp")
    assert found["signatures"][0]["label"].startswith("pow(") and found["activeParameter"] == 1


def test_symbols_folding_selection_and_colours(editor: Editor) -> None:
    with Typed(editor, _MODEL, "schema Server:", "schema Ser|ver:") as typed:
        uri = {"textDocument": {"uri": typed.path.as_uri()}}
        [schema] = editor.ask("textDocument/documentSymbol", uri)
        folds = editor.ask("textDocument/foldingRange", uri)
        [selection] = editor.ask("textDocument/selectionRange", {**uri, "positions": [typed.position]})
        numbers = editor.ask("textDocument/semanticTokens/full", uri)["data"]
    assert schema["name"] == "Server" and "mainContainer" in [each["name"] for each in schema["children"]]
    assert {"startLine": 0, "endLine": 10, "kind": "imports"} in folds
    assert selection["parent"]["range"]["start"]["line"] <= selection["range"]["start"]["line"]
    assert len(numbers) % 5 == 0 and len(numbers) > 300
    found = editor.ask("workspace/symbol", {"query": "ServerBackend"})
    assert "ServerBackend" in [each["name"] for each in found]


def test_inlay_hints(editor: Editor) -> None:
    with Typed(editor, _BASE, "# Application Configuration", "_tiny = res_tpl.tiny|") as typed:
        found = typed.ask("inlayHint", range=typed.whole())
    assert [each["position"] for each in found] == [{"line": 5, "character": 5}]
    assert found[0]["label"].startswith(": ")


def test_code_actions(editor: Editor) -> None:
    def titles(before: str, after: str, name: str = _PROD, only: list[str] | None = None) -> dict[str, str]:
        with Typed(editor, name, before, after) as typed:
            context: dict[str, Any] = {"diagnostics": [], **({} if only is None else {"only": only})}
            found = typed.ask("codeAction", range=typed.here, context=context)
        return {each["title"]: each["edit"]["changes"][typed.path.as_uri()][0]["newText"] for each in found}

    first = "import base.pkg.kusion_models.kube.frontend\n"
    assert titles(first, f"import ma|th\n{first}")["Remove the unused import 'math'"] == ""
    mended = titles(first, f"import ma|th\n{first}", only=["source.fixAll"])
    assert list(mended) == ["Mend all that kcl lint can mend"]
    missing = titles("frontend.Server {", "frontend.Ser|ver {")
    assert any("mainContainer = " in each for each in missing.values()), missing
    allowed = titles("# The application", "_idle| = 1\n# The application")
    assert "Allow W3002 here, for a reason that you write" in allowed


def test_formatting(editor: Editor) -> None:
    with Typed(editor, _PROD, "    image =", "    image=|") as typed:
        options = {"options": {"tabSize": 4, "insertSpaces": True}}
        whole = editor.ask("textDocument/formatting", {"textDocument": {"uri": typed.path.as_uri()}, **options})
        lines = typed.ask("rangeFormatting", range=typed.here, **options)
    assert any(" = " in each["newText"] or each["newText"] == " " for each in whole) and lines


def test_hierarchies(editor: Editor) -> None:
    with Typed(editor, _MODEL, "schema Server:", "schema Ser|ver:") as typed:
        [called] = typed.ask("prepareCallHierarchy")
        [item] = typed.ask("prepareTypeHierarchy")
    calls = editor.ask("callHierarchy/incomingCalls", {"item": called})
    assert len({each["from"]["uri"] for each in calls}) > 8
    assert editor.ask("callHierarchy/outgoingCalls", {"item": called})
    assert editor.ask("typeHierarchy/supertypes", {"item": item}) == []


def test_what_stacks_have_from_a_line(tmp_path: Path) -> None:
    """The lenses and the hover of `wb lsp`, for the stacks of one project of konfig-2023."""
    source, root = corpus("konfig-2023"), tmp_path / "konfig"
    for name in ("base/pkg", "appops/guestbook"):
        shutil.copytree(source / name, root / name)
    shutil.copy(source / "kcl.mod", root)
    base = root / _BASE
    text = base.read_text(encoding="utf-8")
    line = text[: text.index("containerPort = 80")].count("\n")
    with Editor(root, command=("workbench", "-w", str(root), "lsp")) as editor:
        editor.open(base)
        titles = editor.lenses(base, lambda told: line in told)
        assert titles[line].startswith("sets "), titles
        where = {"line": line, "character": text.split("\n")[line].index("80")}
        asked = {"textDocument": {"uri": base.as_uri()}, "position": where}
        said: str = editor.once(
            lambda: editor.ask("textDocument/hover", asked)["contents"]["value"],
            lambda told: "all 3 stacks looked at" in told,
        )
        assert "sets 3 fields in 3 stacks" in said and "guestbook/prod" in said and "containerPort`" in said
