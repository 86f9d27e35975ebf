"""`kcl query` and `kcl set`."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from kcl.cli import main

TEXT = """\
# about a
a = 1   # one
schema S:
    \"\"\"A server.

    Attributes
    ----------
    x : int
        how many
    \"\"\"
    x: int = 1
    y?: str
b = {c = {d = 1, "e.f" = 2}, l: [1, {k = 2}]}  # keep
p: S {
    x = 2  # two
}
o = option("opt", type="int", required=True, default=3, help="how many")
"""


class Kcl:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "main.k"
        self.file.write_text(TEXT)

    def __call__(self, *words: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        code = main(list(words), cwd=self.folder, stdin=io.StringIO(), stdout=out, stderr=err)
        return code, out.getvalue(), err.getvalue()


@pytest.fixture
def kcl(tmp_path: Path) -> Kcl:
    return Kcl(tmp_path)


def test_variables_are_found_by_path(kcl: Kcl) -> None:
    code, out, _ = kcl("query", "vars", 'b.c."e.f"', "b.l[1].k", "p.x", "-o", "json")
    assert code == 0
    assert {name: each[0]["value"] for name, each in json.loads(out).items()} == {
        'b.c."e.f"': "2",
        "b.l[1].k": "2",
        "p.x": "2",
    }
    code, out, err = kcl("query", "vars", "b.nope")
    assert code == 1 and "no variable 'b.nope'" in err and out == ""


def test_schemas_and_options_are_told_without_a_run(kcl: Kcl) -> None:
    kcl.file.write_text(TEXT + "fails = 1 / 0\n")
    _, out, _ = kcl("query", "schemas", "S", "-o", "json")
    (schema,) = json.loads(out)
    assert [(one["name"], one["type"], one["default"], one["optional"]) for one in schema["attributes"]] == [
        ("x", "int", "1", False),
        ("y", "str", None, True),
    ]
    assert schema["attributes"][0]["doc"] == "how many" and schema["doc"].startswith("A server.")
    assert kcl("query", "options")[1] == "opt = 3  int, required, how many  (main.k:17)\n"


def test_secrets_are_masked_wherever_their_text_is(kcl: Kcl) -> None:
    kcl.file.write_text('db = {password = "hunter22", name = "x"}\nsecrets = {A = "zzz-1"}\n')
    for format_ in ("text", "json", "yaml"):
        out = kcl("query", "vars", "-o", format_)[1]
        assert "hunter22" not in out and "zzz-1" not in out and "«masked»" in out


@pytest.mark.parametrize("name", ["nope.k", "empty", "pipe", "latin.k", "broken.k"])
def test_what_cannot_be_read_is_named(kcl: Kcl, name: str) -> None:
    (kcl.folder / "empty").mkdir()
    os.mkfifo(kcl.folder / "pipe")
    (kcl.folder / "latin.k").write_bytes(b"a = '\xe9'\n")
    (kcl.folder / "broken.k").write_text("a = {\n")
    for verb in (("query", "vars", "-f", name), ("set", name, "a=1")):
        code, out, err = kcl(*verb)
        assert code == 1 and name in err and out == "" and "Traceback" not in err, err


def test_a_set_changes_what_it_says_and_no_other_character(kcl: Kcl) -> None:
    code, _, err = kcl("set", "main.k", "b.c.d=5", "p.x=3", "a=[1]", "new=1")
    assert code == 0, err
    wanted = TEXT.replace("a = 1 ", "a = [1] ").replace("{d = 1", "{d = 5").replace("x = 2  #", "x = 3  #")
    assert kcl.file.read_text() == wanted + "new = 1\n"


def test_a_set_keeps_line_ends_and_mode(kcl: Kcl) -> None:
    kcl.file.write_bytes(TEXT.replace("\n", "\r\n").encode())
    kcl.file.chmod(0o640)
    assert kcl("set", "main.k", "p.x=3")[0] == 0
    assert kcl.file.read_bytes() == TEXT.replace("x = 2", "x = 3").replace("\n", "\r\n").encode()
    assert kcl.file.stat().st_mode & 0o777 == 0o640


def test_imports_are_added_once(kcl: Kcl) -> None:
    assert kcl("set", "main.k", "a=m.pi", "-i", "math as m", "-i", "math as m")[0] == 0
    assert kcl.file.read_text().startswith("import math as m\n\n# about a\na = m.pi   # one\n")
    assert kcl("set", "main.k", "-i", "math as m")[0] == 0
    assert kcl.file.read_text().count("import") == 1


@pytest.mark.parametrize("spec", ["a", "1=2", "a.b=1", "b.l+=3", "="])
def test_what_makes_no_sense_leaves_the_file(kcl: Kcl, spec: str) -> None:
    code, _, err = kcl("set", "main.k", spec)
    assert (code, kcl.file.read_text()) == (1, TEXT) and err.startswith("kcl set: "), (code, err)


def test_a_diff_writes_nothing(kcl: Kcl) -> None:
    code, out, _ = kcl("set", "main.k", "p.x=3", "--diff")
    assert code == 0 and "-    x = 2  # two\n+    x = 3  # two\n" in out and kcl.file.read_text() == TEXT
