"""What a machine knows of a repository: trust in plugins, practice clusters that are served."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.local import AlreadyServed, LocalState, LocalStateFailure, ServedPractice

PRACTICE = ServedPractice("/k", "/s", {"cmdb": {"token": "canary-token"}}, {"cmdb": "d1"}, "INC-1", ("h-1", "h-2"))


@pytest.fixture
def local(tmp_path: Path) -> LocalState:
    return LocalState(tmp_path / "state", tmp_path / "repository")


def files(tmp_path: Path, name: str) -> Path:
    (found,) = (tmp_path / "state").rglob(name)
    return found


def digests(local: LocalState, kind: str = "plugin") -> set[str]:
    return {each.digest for each in local.trusted(kind)}


def test_trust_is_kept_by_kind_and_can_be_taken_back(local: LocalState, tmp_path: Path) -> None:
    assert digests(local) == set()
    local.trust("plugin", "d1", "cmdb")
    local.trust("plugin", "d2", "other", about="x")
    local.trust("backend", "d3", "s3")
    again = LocalState(tmp_path / "state", tmp_path / "repository")
    assert digests(again) == {"d1", "d2"} and digests(again, "backend") == {"d3"}
    assert [(each.name, each.about, bool(each.since)) for each in again.trusted("plugin")] == [
        ("cmdb", "", True),
        ("other", "x", True),
    ]
    local.revoke("plugin", "d1")
    local.revoke("plugin", "d3")
    assert digests(local) == {"d2"} and digests(local, "backend") == {"d3"}


def test_repositories_keep_apart(local: LocalState, tmp_path: Path) -> None:
    local.trust("plugin", "d1", "cmdb")
    elsewhere = LocalState(tmp_path / "state", tmp_path / "elsewhere" / "repository")
    assert digests(elsewhere) == set()
    with local.serve(PRACTICE):
        assert elsewhere.practice() is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"plugin": 3}', '{"plugin": ["d1"]}', '{"plugin": {"d1": null}}'])
def test_a_broken_record_trusts_nothing(local: LocalState, tmp_path: Path, content: str) -> None:
    local.trust("plugin", "d1", "cmdb")
    files(tmp_path, "trust.json").write_text(content)
    assert digests(local) == set()
    local.trust("plugin", "d2", "cmdb")
    assert digests(local) == {"d2"}


def test_a_record_that_others_may_write_trusts_nothing(local: LocalState, tmp_path: Path) -> None:
    local.trust("plugin", "d1", "cmdb")
    files(tmp_path, "trust.json").chmod(0o666)
    assert digests(local) == set()


def test_practice_clusters_are_known_while_they_are_served(local: LocalState, tmp_path: Path) -> None:
    assert local.practice() is None
    with local.serve(PRACTICE):
        assert local.practice() == PRACTICE
        assert files(tmp_path, "practice.json").stat().st_mode & 0o777 == 0o600
    assert local.practice() is None


def test_they_are_served_once_at_a_time(local: LocalState) -> None:
    with local.serve(PRACTICE):
        with pytest.raises(AlreadyServed), local.serve(PRACTICE):
            pass
        assert local.practice() == PRACTICE


def test_what_a_killed_server_leaves_behind_is_no_practice(local: LocalState, tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from workbench.local import LocalState, ServedPractice\n"
        "with LocalState(Path(sys.argv[1]), Path(sys.argv[2])).serve(ServedPractice('/k', '/s')): os._exit(9)"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "state"), str(tmp_path / "repository")]
    ended = subprocess.run(arguments, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=60)
    assert ended.returncode == 9
    assert files(tmp_path, "practice.json").is_file()
    assert local.practice() is None
    with local.serve(PRACTICE):
        assert local.practice() == PRACTICE


def test_tokens_are_not_shown(local: LocalState) -> None:
    with local.serve(PRACTICE):
        assert "canary" not in repr(local.practice())


def test_a_state_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    local = LocalState(tmp_path / "state", tmp_path / "repository")
    with pytest.raises(LocalStateFailure, match="cannot be made"):
        local.trust("plugin", "d1", "cmdb")
    assert local.practice() is None and digests(local) == set()
