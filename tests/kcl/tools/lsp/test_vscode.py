"""The extension of VS Code: its files hold together, and its grammar colours what programs say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcl.source import SourceFile
from kcl.syntax import parse
from tests.kcl.conformance import ROOT

FOLDER = ROOT / "docs" / "vscode"
GRAMMAR = FOLDER / "syntaxes" / "kcl.tmLanguage.json"
MODULES = ROOT / "build" / "vscode" / "node_modules"
NODE = shutil.which("node")
KNOWN = ("comment", "constant", "entity", "keyword", "meta", "punctuation", "source", "storage", "string", "support")
"""What scopes of TextMate begin with; `variable` is another, and `invalid` would be a mistake here."""

needs_node = pytest.mark.skipif(
    NODE is None or not (MODULES / "vscode-textmate").is_dir(),
    reason="vscode-textmate is not in build/vscode/node_modules, or node is not installed: make vscode installs it",
)


def _json(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def _rules(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _rules(each)


def test_the_grammar_holds_together() -> None:
    grammar = _json("syntaxes/kcl.tmLanguage.json")
    assert grammar["scopeName"] == "source.kcl"
    included: set[str] = set()
    for rule in _rules(grammar):
        if isinstance(rule.get("include"), str):
            included.add(rule["include"].removeprefix("#"))
        for key in ("match", "begin", "end"):
            if isinstance(rule.get(key), str):
                # Oniguruma looks behind alternatives of several lengths, Python does not
                re.compile(rule[key].replace(r"(?<=[:|\[>]|[:|\[>]\s)", ""))
        if isinstance(rule.get("name"), str) and rule["name"] != grammar["name"]:
            assert rule["name"].endswith(".kcl") and rule["name"].startswith((*KNOWN, "variable")), rule["name"]
    assert included == grammar["repository"].keys(), "what is included is there, and what is there is included"


def test_the_extension_names_what_is_there() -> None:
    package = _json("package.json")
    contributes = package["contributes"]
    [language], [grammar] = contributes["languages"], contributes["grammars"]
    assert language["extensions"] == [".k"] and grammar["language"] == language["id"] == "kcl"
    for each in (language["configuration"], grammar["path"], *(one["path"] for one in contributes["snippets"])):
        assert (FOLDER / each).is_file()
        json.loads((FOLDER / each).read_text(encoding="utf-8"))
    settings = contributes["configuration"]["properties"]
    told = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in told for name in settings)
    for name in ("kcl.server.command", "kcl.server.arguments"):
        assert settings[name]["scope"] == "machine", "or a repository could have any program started"
    lock = (FOLDER / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock, "where packages come from is for each machine to say"
    locked = json.loads(lock)["packages"][""]["devDependencies"]
    assert locked == package["devDependencies"]


def test_snippets_are_kcl() -> None:
    for name, snippet in _json("snippets/kcl.json").items():
        body = "\n".join(snippet["body"]) if isinstance(snippet["body"], list) else snippet["body"]
        text = re.sub(r"\$\{\d+:?([^}]*)\}", r"\1", body).replace("$0", "")
        around = {
            "Check": "schema A:\n    a: int\n    " + text.replace("\n", "\n    "),
            "List comprehension": f"a = {text}",
        }
        text = around.get(name, text if name != "Conditional entries" else text + "a = 1")
        found = parse(SourceFile("main.k", text + "\n")).diagnostics
        assert not found, (name, text, found)


def _coloured(*files: Path) -> dict[str, list[tuple[str, list[str]]]]:
    done = subprocess.run(
        [str(NODE), str(Path(__file__).with_name("grammar.cjs")), str(MODULES), str(GRAMMAR), *map(str, files)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return dict(json.loads(done.stdout))


@needs_node
def test_the_grammar_knows_every_word_of_the_sample() -> None:
    files = sorted((ROOT / "sample-konfig").rglob("*.k"))
    found = _coloured(*files)
    assert len(found) == len(files) > 30
    for file, tokens in found.items():
        for text, scopes in tokens:
            assert all(each.startswith((*KNOWN, "variable")) for each in scopes), (file, text, scopes)
            assert len(scopes) > 1 or not text.strip(), f"{file}: nothing colours {text!r}"


@needs_node
def test_words_have_the_scopes_that_themes_know(tmp_path: Path) -> None:
    file = tmp_path / "main.k"
    file.write_text(
        'import a.b as c  # why\nschema Server(Base):\n    """Says."""\n    port?: int = 1Ki\n'
        '    check:\n        port > 0\nx = c.Server {name = "a\\n${y + 1}"}\n'
        'z = r"\\d" if not True else all k in [1] {k}\nf = lambda a { g(a).member }\n'
    )
    found = {text: scopes[-1] for text, scopes in _coloured(file)[str(file)]}
    assert found["import"] == "keyword.control.import.kcl" and found["a.b"] == "entity.name.namespace.kcl"
    assert found["schema"] == "storage.type.class.kcl" and found["Server"] == "entity.name.type.class.kcl"
    assert found["Says."] == "string.quoted.triple.double.kcl" and found["port"] == "variable.other.kcl"
    assert found["int"] == "support.type.primitive.kcl" and found["1Ki"] == "constant.numeric.integer.kcl"
    assert found["check"] == "keyword.control.kcl" and found["name"] == "variable.other.property.kcl"
    assert found["\\n"] == "constant.character.escape.kcl" and found["y"] == "variable.other.kcl"
    assert found["not"] == "keyword.operator.logical.kcl" and found["lambda"] == "storage.type.function.kcl"
    assert found["g"] == "entity.name.function.kcl" and found["member"] == "variable.other.member.kcl"


@needs_node
def test_an_open_string_ends_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "main.k"
    file.write_text("a = \"half\nimport b\nc = 'x${1\nd = 1\n")
    found = {text: scopes[-1] for text, scopes in _coloured(file)[str(file)]}
    assert found["import"] == "keyword.control.import.kcl" and found["d"] == "variable.other.property.kcl"
