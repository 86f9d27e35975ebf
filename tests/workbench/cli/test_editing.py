"""`wb lsp`: the language server, with the stacks of the repository."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.kcl.tools.lsp.editor import Editor, change

ROOT = Path(__file__).parents[3]


def _hover(editor: Editor, path: Path, line: int, character: int) -> str:
    where = {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": character}}
    found = editor.ask("textDocument/hover", where)
    return "" if found is None else str(found["contents"]["value"])


def _surveyed(editor: Editor, path: Path, line: int, character: int) -> str:
    """What is told once all stacks were looked at."""

    def is_it(told: str) -> bool:
        if "(all 14 stacks looked at)" in told:
            return True
        assert "nothing" not in told or "nothing is known yet" in told
        return False

    return editor.once(lambda: _hover(editor, path, line, character), is_it)


def test_an_editor_is_told_what_lines_do_in_the_stacks(tmp_path: Path) -> None:
    root = tmp_path / "sample"
    shutil.copytree(ROOT / "sample-konfig", root)
    catalog = root / "storefront/catalog"
    main, server = catalog / "prod/main.k", root / "models/frontend/server.k"
    line = main.read_text().splitlines().index("    replicas = 6")
    with Editor(root, command=("workbench", "-w", str(root), "lsp")) as editor:
        editor.open(main)
        assert editor.diagnostics_of_version(main) == []
        assert "not known" in _hover(editor, main, line, 6), "nobody looked yet"
        told = _surveyed(editor, main, line, 6)
        assert "- `catalog/prod`: `spec.replicas` of `apps/v1:Deployment:catalog-prod:catalog-api`" in told
        assert editor.lenses(main)[line].startswith("sets ")
        editor.open(server)
        declared = next(at for at, each in enumerate(server.read_text().splitlines()) if "replicas: int" in each)
        assert "`storefront/catalog/prod/main.k:5` decides in `catalog/prod`" in _hover(editor, server, declared, 5)
        assert "set at " in editor.lenses(server)[declared]
        editor.edit(main, change((line, 0), (line + 1, 0), ""))
        assert "catalog/prod" not in _hover(editor, server, declared, 5), "of a text that is no more nothing is told"
        assert "13 of 14 stacks looked at so far" in _hover(editor, server, declared, 5)
        assert "catalog/prod/main.k:5" not in _surveyed(editor, server, declared, 5)


def test_what_unsaved_edits_change_is_told_when_somebody_asks(tmp_path: Path) -> None:
    root = tmp_path / "sample"
    shutil.copytree(ROOT / "sample-konfig", root)
    main = root / "storefront/catalog/prod/main.k"
    text = main.read_text()
    asked = {"command": "kcl.effect", "arguments": []}
    with Editor(root, command=("workbench", "-w", str(root), "lsp")) as editor:
        commands = editor.capabilities["executeCommandProvider"]["commands"]
        assert "kcl.effect" in commands and "kcl.live" not in commands, "no cluster is asked unless somebody wants it"
        editor.open(main)
        assert "everything is saved" in editor.ask("workspace/executeCommand", asked)
        editor.edit(main, {"text": text.replace("replicas = 6", "replicas = 7")})
        told = editor.ask("workspace/executeCommand", asked)
        assert "catalog/prod" in told and "replicas" in told and "6" in told and "7" in told, told
        editor.edit(main, {"text": text.replace("replicas = 6", "replicas = (")})
        told = editor.ask("workspace/executeCommand", asked)
        assert "catalog/prod" in told and "syntax" in told.lower(), told
        assert main.read_text() == text, "nothing is written"
        outside = tmp_path / "outside.k"
        editor.open(outside, "a = 1\n")
        told = editor.ask("workspace/executeCommand", asked)
        assert "catalog/prod" in told and f"{outside}: not in the repository, and not compared\n" in told
