"""`wb compile --all`: what is said, what is written, which code."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kcl.clocks import wait_until_settled
from tests.workbench.cli.command import Wb
from workbench.exit_codes import ExitCode


def test_all_stacks_are_written_once(wb: Wb, root: Path, tmp_path: Path) -> None:
    into = tmp_path / "specs"
    # a file written just now is compiled again the next time: its times could not tell another write
    wait_until_settled()
    ended = wb("compile", "--all", "--into", into, "--jobs", "1")
    assert ended.code == 0, ended.text
    assert ended.out.splitlines()[0].startswith("2 compiled in ")
    assert f"lines of YAML in {into}" in ended.out
    for stack in ("web/dev", "web/prod"):
        assert (into / f"{stack}.yaml").read_text() == wb("compile", stack).out
    again = wb("compile", "--all", "--into", into, "--jobs", "1")
    assert again.out.startswith("0 compiled in ") and "2 up to date" in again.out
    (root / "web/prod/main.k").write_text((root / "web/prod/main.k").read_text() + "# seen\n")
    assert wb("compile", "--all", "--into", into, "--jobs", "1").out.startswith("1 compiled in ")
    assert wb("compile", "--all", "--into", into, "--jobs", "1", "--force").out.startswith("2 compiled in ")


def test_without_a_folder_it_is_one_of_the_cache(wb: Wb, root: Path, tmp_path: Path) -> None:
    ended = wb("compile", "--all", "--jobs", "1", "-o", "json")
    assert ended.code == 0, ended.text
    (folder,) = (tmp_path / "cache" / "specs").iterdir()
    assert str(folder) in ended.out
    assert (folder / "web/dev.json").read_text() == wb("compile", "web/dev", "-o", "json").out


def test_every_failure_is_listed_at_the_end(wb: Wb, root: Path, tmp_path: Path) -> None:
    (root / "web/prod/main.k").write_text("import models.server\nweb: server.Server {replicas = 'three'}\n")
    (root / "web/late").mkdir()
    (root / "web/late/stack.yaml").write_text("name: late\n")
    (root / "web/late/main.k").write_text("}{\n")
    ended = wb("compile", "--all", "--into", tmp_path / "specs", "--jobs", "2")
    assert ended.code == ExitCode.ERROR
    told = [line for line in ended.err.splitlines() if " failed: " in line]
    assert [line.split(" failed: ")[0] for line in told] == ["web/late", "web/prod"]
    assert f"{root}/web/prod/main.k:2:" in told[1]
    assert ended.out.startswith("1 compiled in ") and "2 failed" in ended.out
    assert (tmp_path / "specs/web/dev.yaml").exists() and not (tmp_path / "specs/web/prod.yaml").exists()


@pytest.mark.parametrize("file", ["web/dev/stack.yaml", "web/project.yaml", "clusters.yaml"])
def test_a_broken_file_of_the_repository_may_hide_stacks(wb: Wb, root: Path, tmp_path: Path, file: str) -> None:
    (root / file).write_text("name: [\n")
    ended = wb("compile", "--all", "--into", tmp_path / "specs", "--jobs", "1")
    assert ended.code == ExitCode.ERROR, ended.text
    assert f"{root / file}:2:1: is not valid YAML" in ended.err
    assert ended.out.startswith("2 compiled in "), "the others are compiled all the same"


def test_projects_that_share_a_name_hide_none(wb: Wb, root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "web", root / "other")
    for folder in ("web", "other"):
        (root / folder / "project.yaml").write_text("name: web\n")
    ended = wb("compile", "--all", "--into", tmp_path / "specs", "--jobs", "1")
    assert ended.code == ExitCode.OK and ended.out.startswith("4 compiled in "), ended.text
    assert "another project is called web too, so this one goes by its folder, other" in ended.err


def test_a_repository_without_stacks_is_not_compiled(wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    Path("kcl.mod").write_text('[package]\nname = "empty"\n')
    ended = wb("compile", "--all", "--into", tmp_path / "specs", "--jobs", "1")
    assert ended.code == ExitCode.ERROR and "no stacks here" in ended.err and not ended.out, ended.text


def test_secrets_of_options_are_in_no_message(wb: Wb, root: Path, tmp_path: Path) -> None:
    (root / "web/prod/main.k").write_text("web = 1 + option('token')\n")
    ended = wb("compile", "--all", "--into", tmp_path / "specs", "--jobs", "1", "-D", "token=canary-77f")
    assert ended.code == ExitCode.ERROR
    assert "canary-77f" not in ended.text


def test_only_what_files_touch(wb: Wb, root: Path, tmp_path: Path) -> None:
    into = tmp_path / "specs"
    ended = wb("compile", "--all", "--into", into, "--jobs", "1", "--changed", "web/prod/main.k")
    assert ended.out.startswith("1 compiled in ") and "1 out of date and left so, without a Spec" in ended.out
    assert ended.code == ExitCode.OK
    assert (into / "web/prod.yaml").exists() and not (into / "web/dev.yaml").exists()
    refused = wb("compile", "--all", "--into", into, "--since", "HEAD")
    assert refused.code == ExitCode.ERROR and "git cannot tell what changed" in refused.err


def test_what_is_left_out_of_date_is_named_and_goes_on_being_known(wb: Wb, root: Path, tmp_path: Path) -> None:
    main = root / "web/prod/main.k"
    (root / "size.txt").write_text("3")
    main.write_text(
        "import file\n" + main.read_text().replace("replicas = 3", 'replicas = int(file.read("../../size.txt"))')
    )
    run = ("compile", "--all", "--into", tmp_path / "specs", "--jobs", "1")
    assert wb(*run).code == ExitCode.OK
    (root / "size.txt").write_text("4")
    dev = root / "web/dev/main.k"
    dev.write_text(dev.read_text().replace("replicas = 1", "replicas = 2"))
    for number in (1, 0):
        ended = wb(*run, "--changed", "web/dev/main.k")
        assert ended.code == ExitCode.PARTIAL and ended.out.startswith(f"{number} compiled in "), ended.text
        assert "1 out of date and left so, 1 of them with a Spec of before: web/prod" in ended.out
    # by its place, no stack would read it
    ended = wb(*run, "--changed", "size.txt")
    assert ended.code == ExitCode.OK and ended.out.startswith("1 compiled in "), ended.text


def test_what_failed_is_tried_again_whatever_is_named(wb: Wb, root: Path, tmp_path: Path) -> None:
    run = ("compile", "--all", "--into", tmp_path / "specs", "--jobs", "1")
    (root / "web/prod/main.k").write_text("}{\n")
    assert wb(*run).code == ExitCode.ERROR
    ended = wb(*run, "--changed", "web/dev/main.k")
    assert ended.code == ExitCode.ERROR and "web/prod failed" in ended.err, ended.text


def test_a_link_that_leads_elsewhere_touches_who_reads_through_it(wb: Wb, root: Path, tmp_path: Path) -> None:
    (root / "models").rename(root / "one")
    shutil.copytree(root / "one", root / "two")
    (root / "models").symlink_to("one")
    run = ("compile", "--all", "--into", tmp_path / "specs", "--jobs", "1")
    assert wb(*run).out.startswith("2 compiled in ")
    (root / "models").unlink()
    (root / "models").symlink_to("two")
    assert wb(*run, "--changed", "models").out.startswith("2 compiled in ")


def test_a_name_that_is_misspelt_is_no_file_that_concerns_no_stack(wb: Wb, root: Path, tmp_path: Path) -> None:
    ended = wb("compile", "--all", "--into", tmp_path / "specs", "--jobs", "1", "--changed", "web/dev/mian.k")
    assert "warning: web/dev/mian.k is not there, and counts as deleted" in ended.err, ended.text


@pytest.mark.parametrize(
    "arguments",
    [
        ["--all", "web/dev"],
        ["--all", "-o", "table"],
        ["--all", "--jobs", "0"],
        ["--all", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"],
        ["web/dev", "--into", "x"],
        ["web/dev", "--jobs", "2"],
        ["web/dev", "--since", "HEAD"],
        ["web/dev", "--force"],
        ["web/dev", "--changed", "x"],
        ["web/dev", "--scheduler", "tcp://127.0.0.1:1"],
    ],
)
def test_options_that_do_not_go_together(wb: Wb, root: Path, arguments: list[str]) -> None:
    assert wb("compile", *arguments).code == ExitCode.USAGE


def test_to_a_terminal_there_is_a_bar(root: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "workbench", "compile", "--all", "--into", str(tmp_path / "specs"), "--jobs", "1"]
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(command, cwd=root, stderr=theirs, stdout=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # the other end is closed
            pass
        assert process.wait(60) == 0
    os.close(ours)
    assert b"2/2" in shown and b"compiling" in shown
