"""Commands of the user's own: what the file may say, what they get, and what can't be done by them or to them."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, SIZES, SMALL, opened, says, shown, until, workbench
from workbench.project import BrokenFile
from workbench.tui import custom
from workbench.tui.screens.browse import BrowseScreen
from workbench.tui.screens.output import OutputScreen
from workbench.tui.user_files import COMMANDS_FILE
from workbench.tui.widgets.prompt import Prompt


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / COMMANDS_FILE).write_text(text)
    return folder


def said(app: Any) -> str:
    return "\n".join(each.message for each in app._notifications)


def asked(app: Any) -> bool:
    return getattr(app.focused, "id", None) == "phrase"


def one(tmp_path: Path, text: str) -> custom.CustomCommand:
    (found,) = custom.read(written(tmp_path, text), ("diff",)).values()
    return found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("diff: {run: [x]}\n", "commands.yaml:1:1: :diff means something already"),
        ("A: {run: [x]}\n", "'A' is no name of a command"),
        ("ab: [x]\n", "ab needs a mapping with `run`"),
        ("ab: {run: x}\n", "run needs to be a list of texts"),
        ("ab: {run: [x, 7]}\n", "run needs to be a list of texts"),
        ("ab: {run: []}\n", "run needs to be a list of texts"),
        ("ab: {run: [x], shell: true}\n", "run needs to be a text for the shell"),
        ("ab: {run: 'x {name}', shell: true}\n", "a text for a shell gets no {name}"),
        ("ab: {run: [x, '{nmae}']}\n", "nothing fills {nmae}"),
        ("ab: {run: ['{name}', x]}\n", "the program itself can't be a placeholder"),
        ("ab: {run: [x], confirm: maybe}\n", "confirm needs to be true or false"),
        ("ab: {run: [x], output: window}\n", "output needs to be screen or terminal"),
        ("ab: {run: [x], inputs: {name: a}}\n", "'name' is no name for an input"),
        ("ab: {run: [x], inputs: {since: 1}}\n", "since needs to be text or null"),
        ("ab: {run: [x], danger: true}\n", "unknown key 'danger'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BrokenFile) as caught:
        custom.read(written(tmp_path, text), ("diff",))
    assert told in str(caught.value) and COMMANDS_FILE in str(caught.value)


def test_values_are_whole_arguments_whatever_they_hold(tmp_path: Path) -> None:
    command = one(tmp_path, "ab: {run: [/bin/echo, 'n={name}', '{stack}', plain], inputs: {since: 1h}}\n")
    values = {"name": "$(reboot); `x` 'y' {stack}", "stack": "web/a b"}
    made = custom.invocation(command, "", values, tmp_path / "shop", {})
    assert made.arguments == ("/bin/echo", "n=$(reboot); `x` 'y' {stack}", "web/a b", "plain")


@pytest.mark.parametrize("value", ["-rf", "--kubeconfig=/tmp/x", "a\x1b[2J", "a\nb"])
def test_a_value_that_would_be_an_option_or_an_order_is_refused(tmp_path: Path, value: str) -> None:
    command = one(tmp_path, "ab: {run: [/bin/echo, '{name}']}\n")
    with pytest.raises(custom.CannotRun):
        custom.invocation(command, "", {"name": value}, tmp_path / "shop", {})


def test_a_program_of_the_repository_is_not_run_however_it_is_found(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    (root / "bin").mkdir(parents=True)
    tool = root / "bin" / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "link").symlink_to(tool)
    for name in ("tool", str(tool), str(tmp_path / "link"), "./tool", "bin/tool"):
        command = custom.CustomCommand("ab", (name,))
        for path in (str(root / "bin"), ".", ""):
            with pytest.raises(custom.CannotRun):
                custom.invocation(command, "", {}, root, {"PATH": path})


def test_secrets_of_the_environment_are_not_handed_on(tmp_path: Path) -> None:
    environment = {
        "PATH": "/bin:/usr/bin",
        "HOME": "/home/ann",
        "VAULT_TOKEN": "s",
        "WB_SECRET_DB": "s",
        "WB_PLUGIN_CMDB_KEY": "s",
    }
    made = custom.invocation(custom.CustomCommand("ab", ("sh",)), "", {}, tmp_path, environment)
    assert set(made.environment) == {"PATH", "HOME"} and "s" not in repr(made).split()


PRINTS = 'import sys; print(sys.argv[1:]); print(chr(27) + "[31mr"); sys.exit(3)'
COMMANDS = f"""
hello:
  run: [{sys.executable}, -c, {json.dumps(PRINTS)}, "{{stack}}", "{{since}}"]
  inputs: {{since: null}}
  key: ctrl+e
wipe:
  run: [{sys.executable}, -c, 'import pathlib, sys; pathlib.Path(sys.argv[1], "wiped").touch()', TARGET, "{{stack}}"]
  dangerous: true
sure:
  run: 'echo "stack $WB_STACK"'
  shell: true
  confirm: true
objects:
  run: [/bin/echo, "{{cluster}} {{namespace}} {{kind}} {{name}}"]
"""


@SIZES
async def test_a_command_asks_for_its_input_and_shows_what_it_prints(tmp_path: Path, size: tuple[int, int]) -> None:
    config = written(tmp_path / "config", COMMANDS)
    app = workbench(tmp_path, Clusters("hz", "sh"), config_dir=config)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+e")
        prompt = app.screen.query_one(Prompt)
        assert prompt.has_focus and prompt.value == "hello since="
        await pilot.press("1", "h", "enter")
        await until(pilot, lambda: says(app, "ended with exit code 3"))
        assert says(app, "['web/prod', '1h']") and shown(app)[-2] == "r"
        assert not any("\x1b" in line for line in shown(app))
        log = app.command_log.acts[-1]
        assert log.what == "ran hello" and log.line.endswith("web/prod 1h")
        await pilot.press("escape")
        assert isinstance(app.screen, BrowseScreen)


async def test_what_is_dangerous_takes_the_phrase_and_nothing_else(tmp_path: Path) -> None:
    config = written(tmp_path / "config", COMMANDS.replace("TARGET", str(tmp_path)))
    app = workbench(tmp_path, Clusters("hz", "sh"), config_dir=config)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        app.run_command("wipe", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: isinstance(app.screen, OutputScreen) and says(app, "wipe web/prod") and asked(app))
        await pilot.press("enter", "y", "enter")
        assert not (tmp_path / "wiped").exists() and "ran wipe" not in [each.what for each in app.command_log.acts]
        app.screen.query_one("#phrase", Input).value = "wipe web/prod"
        await pilot.press("enter")
        await until(pilot, lambda: says(app, "exit code 0"))
        assert (tmp_path / "wiped").exists()
        await pilot.press("escape")
        app.run_command("sure", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: asked(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, BrowseScreen))
        app.run_command("sure", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: asked(app))
        await pilot.press(*"yes", "enter")
        await until(pilot, lambda: says(app, "stack web/prod"))


async def test_a_read_only_session_runs_nothing_dangerous(tmp_path: Path) -> None:
    config = written(tmp_path / "config", COMMANDS.replace("TARGET", str(tmp_path)))
    app = workbench(tmp_path, Clusters("hz", "sh"), config_dir=config, is_read_only=True)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        app.run_command("wipe", app.screen)  # type: ignore[arg-type]
        await pilot.pause()
        assert "wipe is dangerous, and this session is read-only" in said(app)
        assert isinstance(app.screen, BrowseScreen)


async def test_the_object_under_the_cursor_is_what_a_command_is_about(tmp_path: Path) -> None:
    config = written(tmp_path / "config", COMMANDS)
    app = workbench(tmp_path, Clusters("hz", "sh"), config_dir=config)
    async with app.run_test(size=LARGE) as pilot:
        await opened(pilot)
        app.run_command("objects", app.screen)  # type: ignore[arg-type]
        await pilot.pause()
        assert "objects needs a cluster, and none is known here" in said(app)
        app.run_command("diff web/prod", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: says(app, "Deployment front @hz"))
        await pilot.press("G", "k")
        app.run_command("objects", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: says(app, "hz web-prod deployment.v1.apps front"))


async def test_what_is_left_is_ended_also_where_it_does_not_listen(tmp_path: Path) -> None:
    deaf = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    program = f"{deaf}; print('up', os.getpid(), flush=True); time.sleep(300)"
    config = written(tmp_path / "config", f"stubborn: {{run: [{sys.executable}, -c, {json.dumps(program)}]}}\n")
    app = workbench(tmp_path, Clusters("hz", "sh"), config_dir=config)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        app.run_command("stubborn", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: says(app, "up "))
        screen = app.screen
        assert isinstance(screen, OutputScreen) and screen._process is not None
        process = screen._process
        await pilot.press("escape")
        await until(pilot, lambda: process.returncode == -signal.SIGKILL)


async def test_what_is_left_while_it_is_started_is_ended(tmp_path: Path) -> None:
    config = written(tmp_path / "config", f"slow: {{run: [{sys.executable}, -c, 'import time; time.sleep(300)']}}\n")
    app = workbench(tmp_path, Clusters("hz", "sh"), config_dir=config)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        app.run_command("slow", app.screen)  # type: ignore[arg-type]
        await until(pilot, lambda: isinstance(app.screen, OutputScreen) and app.screen._reading is not None)
        screen = app.screen
        assert isinstance(screen, OutputScreen)
        reading = screen._reading
        assert reading is not None
        await pilot.press("escape")
        await until(pilot, reading.done)
        assert screen._process is not None and screen._process.returncode in (-signal.SIGTERM, -signal.SIGKILL)


async def test_a_wrong_file_and_a_key_with_another_use_are_said(tmp_path: Path) -> None:
    config = written(tmp_path / "config", "hello: {run: [echo], key: d}\n")
    app = workbench(tmp_path, Clusters("hz", "sh"), config_dir=config)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        assert "commands.yaml:1:1" in said(app) and "No command of yours is there" in said(app)
        assert "d is browse.diff" in said(app)
        assert app.custom == {}


async def test_a_repository_adds_no_command(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"), config_dir=tmp_path / "config")
    written(app.session.root, "hello: {run: [echo]}\n")
    (app.session.root / ".config").mkdir()
    written(app.session.root / ".config", "hello: {run: [echo]}\n")
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        assert app.custom == {} and os.environ.get("WB_CONFIG_DIR") is None
