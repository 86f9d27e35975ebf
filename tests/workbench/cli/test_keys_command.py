"""`wb keys`: what is listed, and what a terminal sends."""

from __future__ import annotations

import sys
from pathlib import Path

import pexpect
import pytest

from tests.workbench.cli.command import Wb
from workbench.tui.user_files import KEYMAP_FILE


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / KEYMAP_FILE).write_text(text)
    return folder


def test_the_keys_are_listed_as_they_are(wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WB_CONFIG_DIR", str(written(tmp_path / "config", "browse.mark: u\n")))
    ended = wb("keys")
    assert ended.code == 0
    row = next(each for each in ended.out.splitlines() if each.startswith("browse.mark "))
    assert row.split() == ["browse.mark", "browse", "u", "Mark", "space"]
    listed = wb("keys", "-o", "json").json()
    assert {"name": "browse.mark", "place": "browse", "keys": ["u"], "default": ["space"], "does": "Mark"} in listed
    written(tmp_path / "config", "browse.mark: d\n")
    ended = wb("keys")
    assert ended.code == 1 and "keymap.yaml:1:1" in ended.err and "browse.mark" in ended.out
    assert wb("keys", "--probe").code == 64


def test_the_probe_says_what_a_key_is_called_and_what_it_does(tmp_path: Path) -> None:
    """Each key in one piece, and escape, which begins what others send, by itself."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "workbench", "keys", "--probe"],
        env={"PATH": "", "TERM": "xterm", "WB_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)},
        encoding="utf-8",
        timeout=30,
        dimensions=(24, 120),
    )
    child.expect("ctrl.c ends")
    for sent, said in (("@", "at"), ("\x1b[A", "up .*tables.up"), ("X", "X .*plan.destroy"), ("\x1b", "escape .*back")):
        child.send(sent)
        child.expect(said)
    child.send("\x03")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
