"""Names and folders that no editor makes: what they hide is said, and one of them stops nothing of the others."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.conftest import Hostile
from tests.workbench.cli.command import Wb
from workbench.project import discover

NAMES: dict[str, bytes] = {
    "no UTF-8": b"\xff\xfe",
    "half of a character": b"caf\xc3",
    "a line break": b"new\nline",
    "an order": b"\x1b]52;c;x\x07",
    "bidirectional": "\u202etxt".encode(),
    "an option": b"--help",
    "HTML": b"<img src=x onerror=alert(1)>",
    "a command": b"$(touch x)`touch x`;touch x",
    "quotes": b"'\"\\",
    "long": b"a" * 200,
    "a space": b" ",
    "a glob": b"*[!a]?{a,b}",
}
_COMMANDS = ("ls", "ls -o json", "compile --all --into specs --jobs 1", "trust list", "compile web/dev", "diff web/dev")


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_folder_stops_a_command(hostile: Hostile, wb: Wb, name: str) -> None:
    folder = Path(os.fsdecode(bytes(hostile.root) + b"/" + NAMES[name] + b"/" + NAMES[name]))
    folder.mkdir(parents=True)
    (folder.parent / "project.yaml").write_text("labels: {a: b}\n")
    (folder / "stack.yaml").write_text("labels: {a: b}\n")
    (folder / "main.k").write_text((hostile.stack / "main.k").read_text())
    for command in _COMMANDS:
        ended = wb(*command.split())
        assert "this is a bug" not in ended.text and "Traceback" not in ended.text, ended.text
        assert "\x1b]" not in ended.text and "\u202e" not in ended.text
    assert len(list((hostile.root / "specs").rglob("*.yaml"))) == 2
    hostile.assert_untouched()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others may look into, those of pytest are closed."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for each in folder.rglob("*"):
        each.chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="folders are closed otherwise there")
@pytest.mark.parametrize("closed", ["web/dev", "web", "docs/deeper"])
def test_a_folder_that_cannot_be_looked_into_is_said(open_folder: Path, closed: str) -> None:
    """There may be stacks in it: a list without it is not all there is."""
    for name in ("web/project.yaml", "web/dev/stack.yaml", "web/pre/stack.yaml", "docs/deeper/notes", "kcl.mod"):
        (open_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (open_folder / name).write_text("labels: {a: b}\n" if name.endswith(".yaml") else "")
    (open_folder / closed).chmod(0)
    is_root = os.geteuid() == 0
    if is_root:  # who may look everywhere
        ctypes.CDLL(None).setfsuid(65534)
    try:
        tree = discover(open_folder)
    finally:
        if is_root:
            ctypes.CDLL(None).setfsuid(0)
    (found,) = tree.all_findings()
    assert found.where == str(open_folder / closed) and "cannot be looked into" in found.message
    hidden = {each for each in ("web/dev", "web/pre") if each.startswith(closed)}
    assert {str(each.path) for each in tree.stacks()} == {"web/dev", "web/pre"} - hidden
