"""How the command line explains itself, and what it says to those who mistype."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.workbench.cli.command import Wb
from workbench.cli import main
from workbench.exit_codes import ExitCode

COMMANDS = ("ls", "compile", "diff", "plan", "apply", "watch", "explain", "release", "sandbox", "demo")


def test_help_lists_every_command_with_a_line_on_it(wb: Wb) -> None:
    ended = wb("--help")
    assert ended.code == 0
    listed = {words[0]: words[1:] for line in ended.out.splitlines() if len(words := line.split()) > 2}
    assert all(len(listed[name]) > 2 for name in COMMANDS)


@pytest.mark.parametrize(
    "command", [*([each] for each in COMMANDS), ["release", "list"], ["sandbox", "start"]], ids=" ".join
)
def test_every_command_explains_itself_and_its_flags(wb: Wb, command: list[str]) -> None:
    ended = wb(*command, "-h")
    assert ended.code == 0
    usage, _, rest = ended.out.partition("\n")
    assert usage.startswith(f"Usage: wb {' '.join(command)}")
    prose, _, options = rest.partition("Options:")
    assert len(prose.split()) > 5
    for line in options.splitlines():
        if line.startswith("  -") and "--help" not in line:
            name, _, meaning = line.strip().partition("  ")
            assert meaning or name in options, line
    # a flag without a word on it would end its line
    flags = [line.strip() for line in options.splitlines() if line.startswith("  -")]
    following = options.splitlines()
    for flag in flags:
        alone = "  " not in flag
        at = next(index for index, line in enumerate(following) if line.strip() == flag)
        assert not alone or (at + 1 < len(following) and following[at + 1].startswith("     ")), flag


def test_commands_that_end_in_several_ways_say_so(wb: Wb) -> None:
    for command, codes in {"diff": "013", "plan": "042", "apply": "04567", "watch": "05"}.items():
        text = wb(command, "--help").out
        assert "Exit code" in text and all(each in text for each in codes), command


def test_what_others_call_otherwise_leads_to_commands_that_are_there(wb: Wb) -> None:
    for called, meant in main._CALLED_OTHERWISE.items():
        assert called not in main._COMMANDS
        assert wb(*meant.split(), "--help").code == 0, meant


def test_version(wb: Wb) -> None:
    ended = wb("--version")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("wb ") and ended.out.strip() != "wb"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plam"], "Did you mean 'plan'?"),
        (["status"], "Did you mean 'watch'?"),
        (["history"], "Did you mean 'release list'?"),
        (["frobnicate"], "`wb --help` lists the commands"),
        (["ls", "--what"], "--what"),
        (["ls", "-o", "xml"], "'table', 'json', 'yaml', 'name'"),
        (["compile", "web/dev", "-D", "canary-text"], "NAME=VALUE"),
        (["compile", "web/dev", "-D", "=x"], "NAME=VALUE"),
        (["apply", "web/dev", "--timeout", "0"], "--timeout"),
        (["apply", "web/dev", "--timeout", "soon"], "--timeout"),
        (["explain", "web/dev"], "RESOURCE"),
        (["sandbox", "start"], "--kubeconfig"),
        (["sandbox", "start", "--kubeconfig", "f", "--token", "canary"], "USER=TOKEN"),
        (["compile", "web/nowhere"], "there is no stack 'web/nowhere'"),
        (["apply", "nowhere.plan"], "there is no stack 'nowhere.plan', and no saved plan at "),
        (["compile"], "no stack is named"),
        (["plan", "web/prd"], "did you mean web/prod"),
        (["plan", "wbe/*"], "there is no stack 'wbe/*'"),
        (["plan", "web/dev", "--stacks", "web/*"], "--stacks says which stacks are meant"),
        (["plan", "web/dev", "--skip-stack", "web/prod"], "--skip-stack goes with many stacks"),
        (["plan", "web/*", "--skip-stack", "web/prd"], "did you mean web/prod"),
        (["plan", "web/*", "--only", "kind=ConfigMap"], "--only: speaks of one stack"),
        (["plan", "web/dev", "--scheduler", "tcp://127.0.0.1:1"], "--scheduler goes with many stacks"),
        (["destroy", "web/dev", "--skip-stack", "web/prod"], "--skip-stack goes with many stacks"),
        (["apply", "web/*", "--no-watch"], "--no-watch: of many stacks"),
        (["rollback", "--stacks", "web/*"], "go with --of RUN"),
        (["rollback", "web/dev", "--of", "p-1"], "speaks of one stack"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_usage_errors_say_what_would_be_right(wb: Wb, root: Path, arguments: list[str], said: str) -> None:
    ended = wb(*arguments)
    assert ended.code == ExitCode.USAGE
    assert said in ended.err
    assert ended.out == ""
    assert "canary" not in ended.err or "canary-text" in arguments[-1]


@pytest.mark.parametrize(
    "arguments",
    ["diff web/dev", "impact", "release diff web/dev", "config diff stack=dev stack=prod", "drift", "fleet", "policy"],
)
def test_an_error_is_no_answer(wb: Wb, root: Path, arguments: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 would say that something differs, drifted, or is not well."""
    monkeypatch.setenv("WB_DEADLINE", "soon")
    ended = wb(*arguments.split())
    assert ended.code == ExitCode.DIFF_FAILED and "WB_DEADLINE" in ended.err, ended.text


def test_without_a_terminal_there_is_no_screen_but_a_hint(wb: Wb, root: Path) -> None:
    ended = wb()
    assert ended.code == ExitCode.USAGE
    assert "2 stacks" in ended.err and "wb ls" in ended.err
    assert ended.out == ""


def test_listing_needs_no_screen_no_client_and_no_parser_generator(root: Path) -> None:
    code = (
        "import sys; from workbench.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "bad = {'textual', 'kubernetes', 'lark', 'aiohttp'} & {each.partition('.')[0] for each in sys.modules}\n"
        "assert not bad, bad"
    )
    for arguments in (["--version"], ["ls"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


def test_colour_only_where_it_is_wanted(wb: Wb, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in wb("ls").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" in wb("ls").out
    assert "\x1b" not in wb("--no-style", "ls").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in wb("ls").out
