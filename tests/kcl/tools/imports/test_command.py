"""`kcl import`: what it refuses, what it writes and what it leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from tests.kcl.tools.imports.importing import imported, ours, theirs

_DATA = {"a": 1, "b": {"x-y": [1, 2.5, None, True], "type": "q\"'${z}\n"}, "type": "t"}


def test_data_prints_as_it_was(tmp_path: Path) -> None:
    from kcl.api import run

    odd: list[object] = [
        _DATA,
        [1, {"a": []}],
        "text",
        {"not a name": 1},
        {"_hidden": 1},
        {"a": [{"_b": None}]},
        {"a": {"b": {}}},
        {"schema": {"if": 1}, "import": "x"},
        {"big": 2**63 - 1, "small": -(2**63) + 1, "e": 0.25, "é": "ü\t\x07"},
    ]
    for at, each in enumerate(odd):
        (tmp_path / f"d{at}.yaml").write_text(yaml.safe_dump(each, allow_unicode=True))
        assert imported(tmp_path, "-m", "yaml", f"d{at}.yaml").status == 0
        made = tmp_path / "models" / f"d{at}.k"
        assert yaml.safe_load(run([str(made)], work_dir=tmp_path).yaml()) == each, made.read_text()
        assert theirs([made], tmp_path, {}) == ""


def test_several_documents_stay_several(tmp_path: Path) -> None:
    from kcl.api import run

    (tmp_path / "all.yaml").write_text("a: 1\n---\nb: 2\n")
    assert imported(tmp_path, "all.yaml").status == 0
    text = run([str(tmp_path / "models/all.k")], work_dir=tmp_path).yaml()
    assert list(yaml.safe_load_all(text)) == [{"a": 1}, {"b": 2}]


def test_toml_and_json_are_data_too(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("x = 1\nd = 2024-01-01\n[t]\ny = 'z'\n")
    (tmp_path / "b.json").write_text('{"x": [1]}')
    assert imported(tmp_path, "-m", "toml", "a.toml").status == 0
    assert imported(tmp_path, "b.json").status == 0
    assert 'd = "2024-01-01"' in (tmp_path / "models/a.k").read_text()
    assert ours([tmp_path / "models/a.k", tmp_path / "models/b.k"], tmp_path, {}) != ""  # x is set twice
    assert ours([tmp_path / "models/b.k"], tmp_path, {}) == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"# nothing\n", "holds no document"),
        (b"a: [1\n", "is not YAML"),
        (b"a: \xff\n", "x.yaml:1: is not UTF-8"),
        ("a: 1".encode("utf-16"), "is UTF-16"),
        (b"a: &a [*a]\n", "alias"),
        (b"[" * 5000, "nested"),
        (b"a: {{ .Values.x }}\n", "render the template first"),
        (b"a: .inf\n", "no literal"),
    ],
)
def test_bad_input_is_told_by_file(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(content)
    ran = imported(tmp_path, "-m", "yaml", "x.yaml")
    assert ran.status == 1
    assert message in ran.err
    assert ran.err.startswith("kcl import: x.yaml")
    assert not (tmp_path / "models").exists()


def test_missing_files_empty_folders_and_pipes(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    for name, message in (
        ("none.yaml", "there is no such file"),
        ("empty", "holds no"),
        ("pipe.yaml", "not a regular"),
    ):
        ran = imported(tmp_path, name)
        assert ran.status == 1
        assert message in ran.err
    assert imported(tmp_path).status == 2
    assert imported(tmp_path, "-m", "nothing", "x").status == 2
    assert imported(tmp_path, "--help").status == 0


def test_other_content_is_refused_skipped_or_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x: 1\n")
    (tmp_path / "b.yaml").write_text("y: 1\n")
    made = tmp_path / "models" / "b.k"
    made.parent.mkdir()
    made.write_text("mine = 1\n")
    refused = imported(tmp_path, "a.yaml", "b.yaml")
    assert refused.status == 1
    assert "--force replaces, --skip-existing keeps" in refused.err
    assert sorted(path.name for path in made.parent.iterdir()) == ["b.k"]
    assert imported(tmp_path, "-s", "a.yaml", "b.yaml").status == 0
    assert made.read_text() == "mine = 1\n"
    assert (made.parent / "a.k").exists()
    assert imported(tmp_path, "-f", "a.yaml", "b.yaml").status == 0
    assert "y = 1" in made.read_text()
    again = imported(tmp_path, "a.yaml", "b.yaml")
    assert (again.status, again.out) == (0, "")


def test_nothing_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x: 1\n")
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    assert imported(tmp_path, "-o", "out", "-p", "../elsewhere", "a.yaml").status == 0
    assert list(elsewhere.iterdir()) == []
    (out / "linked").symlink_to(elsewhere)
    (out / "models").mkdir()
    (out / "models" / "a.k").symlink_to(elsewhere / "a.k")
    assert imported(tmp_path, "-o", "out", "a.yaml").status == 1
    assert imported(tmp_path, "-o", "out", "-p", "linked", "a.yaml").status == 1
    assert list(elsewhere.iterdir()) == []


def test_writing_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x: 1\n")
    (tmp_path / "b.yaml").write_text("x: 1\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "b.k").mkdir()
    ran = imported(tmp_path, "a.yaml", "b.yaml")
    assert ran.status == 1
    assert "b.k: cannot be replaced" in ran.err
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["b.k"]


def test_remote_references_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"type": "object", "properties": {"x": {"$ref": "https://example.com/s.json#/a"}}}'
    )
    ran = imported(tmp_path, "a.json")
    assert ran.status == 1
    assert "https://example.com/s.json#/a is in another document, and nothing is fetched" in ran.err


@pytest.mark.parametrize("ref", ["#/$defs/a", "other.json", "#/nowhere", "#anchor", "../../etc/passwd"])
def test_references_that_lead_nowhere_are_refused(ref: str, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": ref}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}
    (tmp_path / "a.json").write_text(json.dumps(schema))
    ran = imported(tmp_path, "a.json")
    assert ran.status == 1
    assert ran.err.startswith("kcl import: a.json: ")


def test_all_of_that_takes_in_itself_ends(tmp_path: Path) -> None:
    node = {
        "type": "object",
        "properties": {"next": {"allOf": [{"$ref": "#/$defs/node"}, {"required": ["v"]}]}, "v": {}},
    }
    (tmp_path / "a.json").write_text(json.dumps({**node, "$defs": {"node": node}}))
    assert imported(tmp_path, "a.json").status == 0
    assert theirs([tmp_path / "models/a.k"], tmp_path, {}) == ""
    assert ours([tmp_path / "models/a.k"], tmp_path, {}) == ""
