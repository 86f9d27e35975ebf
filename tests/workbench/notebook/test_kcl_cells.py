"""`%%kcl` in a shell of IPython, and what tells JupyterLab that such a cell is a program in KCL."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcl.tools.lsp.jupyter import specification
from tests.kcl.conformance import ROOT

pytest.importorskip("IPython", reason="IPython is not installed: pip install 'konfig-workbench[notebook]'")

EXTENSION = ROOT / "workbench" / "notebook" / "labextension"
NODE = shutil.which("node")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
    (tmp_path / "kcl.mod").write_text('[package]\nname = "shop"\n')
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "server.k").write_text("schema Server:\n    image: str\n    replicas: int = 1\n")
    monkeypatch.chdir(tmp_path)
    made: Any = InteractiveShell()
    made.history_manager.enabled = False
    made.run_line_magic("load_ext", "workbench")
    yield made
    made.run_line_magic("unload_ext", "workbench")


def test_a_cell_is_run_among_the_packages_around_and_fills_a_variable(shell: Any) -> None:
    cell = 'import models.server\n\nweb = server.Server {image = option("tag")}\n'
    found = shell.run_cell_magic("kcl", "config -D tag=nginx", cell)
    assert str(found) == "web:\n  image: nginx\n  replicas: 1\n"
    assert "<pre>web:" in found._repr_html_()
    assert shell.user_ns["config"] == {"web": {"image": "nginx", "replicas": 1}}


def test_what_is_wrong_is_told_with_its_line_and_without_secrets(shell: Any, capsys: Any) -> None:
    done = shell.run_cell('%%kcl\npassword = "hunter2hunter2"\na: int = password + nobody\n')
    assert not done.success
    told = capsys.readouterr().out
    assert "cell.k:2" in told and "name 'nobody' is not defined" in told
    assert "hunter2" not in told and "Traceback" not in told
    assert not shell.run_cell("%%kcl 1st\na = 1\n").success
    assert "that is no name" in capsys.readouterr().out


def test_secrets_are_masked_in_what_is_shown_and_not_in_the_values(shell: Any) -> None:
    cell = 'db = {password = "hunter2hunter2", url = "x://u:hunter2hunter2@h"}\nprint("hunter2hunter2")\n'
    found = shell.run_cell_magic("kcl", "config", cell)
    assert "hunter2" not in f"{found} {found!r} {found._repr_html_()}"
    assert "password: «masked" in str(found)
    assert shell.user_ns["config"]["db"]["password"] == "hunter2hunter2"


def test_jupyter_is_told_how_the_server_is_started() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = project["project"]["entry-points"]["jupyter_lsp_spec_v1"]["kcl"].partition(":")
    assert (module, name) == (specification.__module__, specification.__name__)
    jsonschema = pytest.importorskip("jsonschema")
    schema = pytest.importorskip("jupyter_lsp.schema", reason="jupyter_lsp is not installed: pip install jupyterlab")
    schema.LANGUAGE_SERVER_SPEC_MAP.validate(specification(None))
    assert jsonschema
    named = project["tool"]["setuptools"]["data-files"]["share/jupyter/labextensions/konfig-workbench-kcl"]
    assert {Path(each).name for each in named} == {each.name for each in EXTENSION.iterdir()}
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == project["project"]["version"]
    assert (EXTENSION / package["jupyterlab"]["_build"]["load"]).is_file()


_LOADED = """
const fs = require("fs");
globalThis.window = {};
(0, eval)(fs.readFileSync(process.argv[1], "utf8"));
const container = window._JUPYTERLAB["konfig-workbench-kcl"];
const token = { LSP: {}, LANGUAGES: {} };
container.init({
  "@jupyterlab/lsp": { "4.9.9": { get: async () => () => ({ ILSPCodeExtractorsManager: token.LSP }) } },
  "@jupyterlab/codemirror": { "4.9.9": { get: async () => () => ({ IEditorLanguageRegistry: token.LANGUAGES }) } },
});
container.get("./extension").then((factory) => {
  const plugin = factory().default;
  const out = { languages: [], types: [], found: [] };
  const isAsked = plugin.requires[0] === token.LANGUAGES && plugin.optional[0] === token.LSP;
  plugin.activate(
    { docRegistry: { addFileType: (each) => out.types.push(each) } },
    { addLanguage: (each) => out.languages.push(each) },
    { register: (each, host) => { out.host = host; out.extractor = each; } },
  );
  for (const cell of JSON.parse(process.argv[2])) {
    out.found.push(out.extractor.hasForeignCode(cell, "code") ? out.extractor.extractForeignCode(cell)[0] : null);
  }
  console.log(JSON.stringify({ ...out, isAsked }));
});
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_jupyterlab_is_told_what_kcl_is() -> None:
    cells = ["%%kcl web -D a=1\na = 1\nb = [\n", "%%kcl\n", "%%kcl", "%%kclx\na = 1", "a = 1\n%%kcl\n", ""]
    done = subprocess.run(
        [str(NODE), "-e", _LOADED, str(EXTENSION / "remoteEntry.js"), json.dumps(cells)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    told = json.loads(done.stdout)
    assert told["isAsked"] and told["host"] is None
    assert told["types"][0]["mimeTypes"] == specification(None)["kcl"]["mime_types"] == [told["languages"][0]["mime"]]
    assert told["extractor"]["language"] in specification(None)["kcl"]["languages"]
    first, empty, alone, *others = told["found"]
    assert first["foreignCode"] == "a = 1\nb = [\n" and first["hostCode"] == ""
    assert first["range"] == {"start": {"line": 1, "column": 0}, "end": {"line": 3, "column": 0}}
    assert empty["foreignCode"] == "" and alone["foreignCode"] is None
    assert others == [None, None, None]
