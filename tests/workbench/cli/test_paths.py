"""Relative paths of a command line start at one folder: `-w`, else where one stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.workbench.cli.command import Wb
from tests.workbench.cli.conftest import Place
from workbench.cli.main import wb as group
from workbench.cli.stacks import WorkPath


def _commands(command: click.Command, name: str = "wb") -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from _commands(found, f"{name} {each}")


def test_every_path_of_every_command_starts_there() -> None:
    seen = 0
    for name, command in _commands(group):
        for parameter in command.params:
            if not isinstance(parameter.type, click.Path):
                continue
            is_base = parameter.name == "workdir"
            is_late = (name, parameter.name) == (
                "wb",
                "kubeconfig",
            )  # read before the `-w` of a command, and joined later
            assert is_base or is_late or isinstance(parameter.type, WorkPath), f"{name}: {parameter.name}"
            assert not is_base or name == "wb" or parameter.is_eager
            seen += 1
    assert seen > 15


@pytest.mark.parametrize("stand", ["root", "elsewhere"])
@pytest.mark.parametrize("where", ["before", "after", "nested"])
async def test_a_plan_is_applied_by_the_name_it_was_saved_under(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand: str, where: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(place.root if stand == "root" else tmp_path / "elsewhere")
    base = "." if stand == "root" else f"../{place.root.name}"
    (place.root / "plans").mkdir()

    def given(*arguments: str) -> tuple[str, ...]:
        if where == "nested":
            return ("-w", f"{base}/web", *arguments, "-w", "..")
        return ("-w", base, *arguments) if where == "before" else (*arguments, "-w", base)

    planned = await place(*given("plan", "web/dev", "--out", "plans/saved"))
    assert planned.code == 0, planned.text
    assert (place.root / "plans/saved").is_file()
    applied = await place(*given("apply", "plans/saved", "--confirm", "yes", "--no-watch"))
    assert applied.code == 0, applied.text
    assert "front" in place.names("configmaps")


async def test_a_kubeconfig_starts_there_too(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place.root / "its").write_text((tmp_path / "kubeconfig").read_text())
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.chdir(tmp_path)
    before = await place("-w", "repo", "--kubeconfig", "its", "plan", "web/dev")
    after = await place("--kubeconfig", "its", "plan", "-w", "repo", "web/dev")
    assert (before.code, after.code) == (0, 0), before.text + after.text


def test_files_of_all_stacks_are_written_there(
    wb: Wb, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = wb("compile", "--all", "--into", "specs", "-w", root.name)
    assert ended.code == 0, ended.text
    assert (root / "specs").is_dir() and not (tmp_path / "specs").exists()
