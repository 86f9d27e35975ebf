"""`kcl vet`: every finding, with its place in the data and in KCL, and no success without a document."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest

from kcl.cli import main

SCHEMA = """schema Port:
    port: int
    check:
        0 < port < 65536, "a port"
schema A:
    a: int
    b?: str
    ports?: [Port]
    check:
        a > 0, "positive"
        a % 2 == 0
"""


def _vet(folder: Path, *argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    status = main(["vet", *argv], cwd=folder, stdin=io.StringIO(), stdout=out, stderr=err, environment={})
    return status, out.getvalue(), err.getvalue()


def _found(folder: Path, data: str, name: str = "d.yaml", *argv: str) -> list[tuple[str, str]]:
    """The places of each finding, in the data and in KCL, as `line:column`; "" where there is none."""
    (folder / "s.k").write_text(SCHEMA)
    (folder / name).write_text(data)
    status, out, err = _vet(folder, name, "s.k", "-s", "A", *argv)
    assert (status == 0) == (not err) == bool(out)
    blocks = re.split(r"^error\[", err, flags=re.MULTILINE)[1:]
    places = [(re.search(rf"--> {name}:(\S+)", each), re.search(r"--> \S*s\.k:(\S+)", each)) for each in blocks]
    return [(one[1] if one else "", other[1] if other else "") for one, other in places]


@pytest.mark.parametrize(
    ("data", "places"),
    [
        ("a: 2\n", []),
        ("a: 2\nb: '${x} \\ \"'\n", []),
        ("a: x\nc: 3\nb: 2\n", [("1:1", "6:5"), ("2:1", ""), ("3:1", "7:5")]),
        ("a: -1\n", [("1:1", "10:9"), ("1:1", "11:9")]),
        ("a: 2\nports:\n  - port: 1\n  - port: 0\n  - port: 70000\n", [("4:5", "4:9"), ("5:5", "4:9")]),
        ("a: 2\n---\na: -2\n---\na: x\n", [("3:1", "10:9"), ("5:1", "6:5")]),
        ("- a: 2\n- a: -2\n", [("2:3", "10:9")]),
        ("# nothing but a comment\nb: x\n", [("2:1", "")]),
        ("- a: 2\n- 3\n", [("2:3", "")]),
        ("3\n", [("1:1", "")]),
        ("a: 2\na: 4\n", [("2:1", "")]),
        ("a: [\n", [("2:1", "")]),
        ("", [("", "")]),
    ],
)
def test_findings_of_yaml(data: str, places: list[tuple[str, str]], tmp_path: Path) -> None:
    assert _found(tmp_path, data) == places


@pytest.mark.parametrize(
    ("data", "places"),
    [
        ('{"a": 2, "ports": [{"port": 5}]}', []),
        ('{"a": 2,\n "ports": [{"port": 5},\n  {"port": 0}]}', [("3:4", "4:9")]),
        ('{"b": "x\\"", "a"\n: "n"}', [("1:14", "6:5")]),
        ('{"a": 2, "a": 4}', [("1:10", "")]),
        ('{"a" 2}', [("1:6", "")]),
        ('{"a": NaN}', [("", "")]),
        ("[" * 300 + "]" * 300, [("1:2", "")]),
    ],
)
def test_findings_of_json(data: str, places: list[tuple[str, str]], tmp_path: Path) -> None:
    assert _found(tmp_path, data, "d.json") == places


def test_other_statements_may_name_the_data(tmp_path: Path) -> None:
    (tmp_path / "s.k").write_text("schema A:\n    a: int\nassert config.a > 0\n")
    (tmp_path / "d.yaml").write_text("a: 1\n")
    assert _vet(tmp_path, "d.yaml", "s.k", "-n", "config") == (0, "Validate success! 1 document\n", "")
    assert _vet(tmp_path, "d.yaml", "s.k")[0] == 1


def test_files_of_the_package_are_there(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text('[package]\nname = "p"\n')
    (tmp_path / "s.k").write_text("schema A:\n    b: B\n")
    (tmp_path / "other.k").write_text("schema B:\n    n: int\n")
    (tmp_path / "d.yaml").write_text("b: {n: 1}\n")
    assert _vet(tmp_path, "d.yaml", "s.k")[0] == 0


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [
        (["none.yaml", "s.k"], 1, "cannot read none.yaml"),
        (["bytes.yaml", "s.k"], 1, "bytes.yaml: it is not UTF-8 at byte 3"),
        (["d.yaml", "none.k"], 1, "cannot read none.k"),
        (["d.yaml", "empty.k"], 1, "empty.k has no schema"),
        (["d.yaml", "s.k", "-s", "Unknown"], 1, "name 'Unknown' is not defined"),
        (["d.yaml", "s.k", "-s", "A {}\nx"], 2, "is no name"),
        (["d.yaml"], 2, "name files of data"),
        (["s.k"], 2, "name files of data"),
        ([], 2, "usage: kcl vet"),
        ([".", "s.k"], 1, "cannot read ."),
    ],
)
def test_what_cannot_be_validated_is_said(argv: list[str], status: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "s.k").write_text("schema A:\n    a: int\n")
    (tmp_path / "empty.k").write_text("")
    (tmp_path / "d.yaml").write_text("a: 1\n")
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff\n")
    found, out, err = _vet(tmp_path, *argv)
    assert (found, out) == (status, "")
    assert said in err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "d.yaml")
    (tmp_path / "s.k").write_text("schema A:\n    a: int\n")
    assert "not a regular file" in _vet(tmp_path, "d.yaml", "s.k")[2]


def test_aliases_of_aliases_are_refused(tmp_path: Path) -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    assert len(_found(tmp_path, f"a0: &a0 [x]\n{levels}")) == 1


def test_secrets_and_orders_are_not_shown(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    (tmp_path / "s.k").write_text("schema A:\n    a: int\n    b?: int\n")
    (tmp_path / "d.json").write_text('{"a": "' + token + '",\n"b": "\\u001b]0;x\\u0007"}')
    _, _, err = _vet(tmp_path, "d.json", "s.k")
    assert token not in err
    assert "\x1b" not in err
    assert "«masked»" in err


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("[]\n", "Validate success! 1 document, it is an empty list: nothing in it was validated\n"),
        ("a: 2\n---\n[]\n", "Validate success! 2 documents, 1 of them is an empty list: nothing in it was validated\n"),
        ("a: 2\n", "Validate success! 1 document\n"),
    ],
)
def test_a_list_without_objects_is_not_said_to_be_validated(tmp_path: Path, data: str, said: str) -> None:
    (tmp_path / "s.k").write_text(SCHEMA)
    (tmp_path / "d.yaml").write_text(data)
    assert _vet(tmp_path, "d.yaml", "s.k", "-s", "A") == (0, said, "")


@pytest.mark.parametrize(
    ("number", "in_json", "in_yaml"),
    [
        (2**63 - 1, 0, 0),
        (2**63, 1, 1),
        (2**64 - 1, 1, 1),
        (2**64, 0, 1),
        (-(2**63), 0, 0),
        (-(2**63) - 1, 0, 1),
    ],
)
def test_integers_past_64_bits_are_refused_as_officially(
    number: int, in_json: int, in_yaml: int, tmp_path: Path
) -> None:
    (tmp_path / "f.k").write_text("schema F:\n    f: float\n")
    (tmp_path / "d.json").write_text(f'{{"f": {number}}}')
    (tmp_path / "d.yaml").write_text(f"f: {number}\n")
    status, _, err = _vet(tmp_path, "d.json", "f.k")
    assert status == in_json and (not in_json or ("d.json:1:7" in err and f"{number} is no integer of 64 bits" in err))
    status, _, err = _vet(tmp_path, "d.yaml", "f.k")
    assert status == in_yaml and (not in_yaml or f"{number} is no integer of 64 bits" in err)
