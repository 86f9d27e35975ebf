"""Hostile programs × small limits: each ends within them, with a message that says which limit it was, and where.

`HOSTILE_PROGRAMS=all` runs the whole table, and every signal on every command; by default it is some of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from kcl.bounded import Allowance
from tests.attacks.conftest import Hostile
from tests.attacks.hostile_programs import NAMES, PROGRAMS, files_of, write
from tests.attacks.signalled import SIGNALS, ends_when_signalled
from tests.workbench.cli.command import Wb
from workbench.engine.compiled import CompileFailed
from workbench.engine.errors import SpecInvalid
from workbench.engine.evaluators import evaluators
from workbench.session import Session
from workbench.settings import Settings

_ROOT = Path(__file__).parents[2]
_MEMORY = "256M"
_ALL = os.environ.get("HOSTILE_PROGRAMS") == "all"
_CHOSEN = NAMES if _ALL else (*NAMES[::30], "a union of 20,000 strings of 1,000 letters", "a ring of 300 packages")
_BY_COMMAND = NAMES if _ALL else ("a list extended", "an identifier of a million letters")
"""Where no memory is left to say so, and where what is to be said is a million letters long."""
_COMMANDS = ("kcl run", "wb compile", "wb compile --all", "wb diff")
_ENDED_BY = [(command, number) for command in _COMMANDS for number in SIGNALS]
_ENDED_BY = _ENDED_BY if _ALL else [_ENDED_BY[each] for each in (0, 4, 8)]
_ENDLESS = "f = lambda n {\n    0 if n == 0 else f(n - 1) + f(n - 1)\n}\na = f(60)\n"
_STUCK = PROGRAMS["ten repetitions in one another"]
"""One call into C that lasts for hours, in which no other thread of the process has a turn."""


@pytest.fixture(scope="module")
def all_outcomes() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.programs_run", "1", _MEMORY, *_CHOSEN],
        cwd=_ROOT, capture_output=True, text=True, timeout=900, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", _CHOSEN)
def test_a_hostile_program_is_evaluated_refused_or_ended(name: str, all_outcomes: dict[str, Any]) -> None:
    outcome: dict[str, str] = all_outcomes["outcomes"][name]
    assert outcome.keys() & {"value", "finding", "ended"}, outcome
    if "ended" in outcome:
        assert "deadline of 1 s" in outcome["ended"] or "limit of 256 MB" in outcome["ended"]
        assert "--deadline SECONDS or WB_" in outcome["hint"] or "--max-memory SIZE or WB_" in outcome["hint"]
        assert outcome["where"] == "" or "main.k" in outcome["where"]


def test_no_hostile_program_has_more_memory_than_it_is_allowed(all_outcomes: dict[str, Any]) -> None:
    assert 0 < all_outcomes["most"] <= 256 << 20


# --- the commands


def kcl(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "kcl", "run", "main.k", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("text", "line"), [(_ENDLESS, 2), (_STUCK, 0)], ids=["endless", "stuck in C"])
def test_kcl_run_ends_at_its_deadline(text: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text(text)
    done = kcl(tmp_path, "--deadline", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: the evaluation took longer than its deadline of 1 s\n" in done.stderr
    assert "--deadline SECONDS or KCL_DEADLINE raises it" in done.stderr
    if line:
        assert f" --> {tmp_path / 'main.k'}:{line}\n" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["thirty strings of 200 MB", "a text split into characters"])
def test_kcl_run_ends_at_its_limit_of_memory(name: str, tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text(PROGRAMS[name])
    done = kcl(tmp_path, "--max-memory", _MEMORY)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the evaluation needs more memory than its limit of 256 MB" in done.stderr
    assert f"--> {tmp_path / 'main.k'}:1" in done.stderr
    assert "--max-memory SIZE or KCL_MAX_MEMORY raises it" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", _BY_COMMAND)
@pytest.mark.parametrize("command", ["kcl run", "wb compile"])
def test_a_command_ends_with_a_message(command: str, name: str, tmp_path: Path, wb: Wb, hostile: Hostile) -> None:
    limits = ("--deadline", "2", "--max-memory", _MEMORY)
    if command == "kcl run":
        done = kcl(write(name, tmp_path / "app").parent, *limits)
        code, err = done.returncode, done.stderr
    else:
        write(name, hostile.stack)
        ended = wb("compile", "web/dev", *limits)
        code, err = ended.code, ended.err
    assert code in (0, 1, 3), err[:2_000]
    assert not code or err
    assert "Traceback" not in err and "MemoryError" not in err and "Exception" not in err
    assert max(map(len, err.splitlines()), default=0) < 10_000


@pytest.mark.parametrize(
    ("option", "value"),
    [("--deadline", "soon"), ("--deadline", "0"), ("--deadline", "nan"), ("--deadline", "inf"), ("--max-memory", "1M")],
)
def test_a_limit_that_is_none_is_refused(option: str, value: str, tmp_path: Path, wb: Wb, hostile: Hostile) -> None:
    (tmp_path / "main.k").write_text("a = 1\n")
    done = kcl(tmp_path, option, value)
    assert done.returncode == 2 and option in done.stderr
    ended = wb("compile", "web/dev", option, value)
    assert ended.code == 64 and option in ended.err


@pytest.mark.parametrize(("command", "number"), _ENDED_BY)
def test_a_signal_ends_a_program_that_is_stuck(command: str, number: signal.Signals, hostile: Hostile) -> None:
    hostile.write("web/dev/main.k", _STUCK)
    words = {
        "kcl run": ["kcl", "run", "web/dev/main.k"],
        "wb compile": ["workbench", "compile", "web/dev"],
        "wb compile --all": ["workbench", "compile", "--all", "--into", str(hostile.outside.parent / "specs")],
        "wb diff": ["workbench", "diff", "web/dev"],
    }[command]
    ends_when_signalled(words, number, hostile)


def test_wb_names_limit_place_and_what_raises_it(wb: Wb, hostile: Hostile) -> None:
    hostile.write("web/dev/main.k", _ENDLESS)
    for words in (("compile",), ("explain", "v1:ConfigMap:shop:web")):
        ended = wb(words[0], "web/dev", *words[1:], "--deadline", "1")
        assert ended.code in (1, 3)
        assert "took longer than its deadline of 1 s" in ended.err
        assert f"{hostile.stack / 'main.k'}:2" in ended.err
        assert "--deadline SECONDS or WB_DEADLINE raises it" in ended.err
        assert "Traceback" not in ended.err


def test_compiling_everything_goes_on_without_the_stacks_that_are_ended(wb: Wb, hostile: Hostile) -> None:
    good = hostile.stack.joinpath("main.k").read_text()
    texts = {"endless": _ENDLESS, "stuck": _STUCK, "huge": PROGRAMS["thirty strings of 200 MB"]}
    for name in ("a", *texts, "z"):
        hostile.write(f"web/{name}/stack.yaml", f"name: {name}\n")
        hostile.write(f"web/{name}/main.k", texts.get(name, good))
    specs = hostile.root.parent / "specs"
    ended = wb("compile", "--all", "--into", str(specs), "--jobs", "2", "--deadline", "1", "--max-memory", _MEMORY)
    assert ended.code == 1
    assert sorted(each.name for each in specs.rglob("*.yaml")) == ["a.yaml", "dev.yaml", "z.yaml"]
    assert f"web/endless failed: {hostile.root}/web/endless/main.k:2: the evaluation took longer" in ended.err
    assert "web/stuck failed: " in ended.err
    assert "web/huge failed: " in ended.err and "limit of 256 MB" in ended.err


# --- sessions: what screens and notebooks work through


def _session(hostile: Hostile, tmp_path: Path, seconds: float) -> Session:
    settings = Settings(tmp_path / "state", tmp_path / "cache", allowance=Allowance(seconds, 256 << 20, "wb"))
    return Session.open(hostile.root, settings=settings)


async def test_the_event_loop_goes_on_while_a_program_is_stuck(hostile: Hostile, tmp_path: Path) -> None:
    hostile.write("web/dev/main.k", _STUCK)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.05)
            ticks += 1

    async with _session(hostile, tmp_path, 1) as session, anyio.create_task_group() as group:
        group.start_soon(tick)
        with pytest.raises(CompileFailed, match="deadline of 1 s") as raised:
            await session.compile(session.select("web/dev"))
        group.cancel_scope.cancel()
    assert ticks >= 5
    assert raised.value.where.startswith(str(hostile.stack))


async def test_a_long_text_in_many_places_is_not_handed_over(hostile: Hostile, tmp_path: Path) -> None:
    text = hostile.stack.joinpath("main.k").read_text()
    data = 'data = {"k${i}": _x for i in range(300)}'
    hostile.write("web/dev/main.k", '_x = "x" * 1000000\n' + text.replace('kind = "', f'{data}, kind = "', 1))
    async with _session(hostile, tmp_path, 60) as session:
        with pytest.raises(SpecInvalid, match="written out, is larger than the limit of 128 MB"):
            await session.compile(session.select("web/dev"))


async def test_leaving_a_session_ends_what_nobody_waits_for(hostile: Hostile, tmp_path: Path) -> None:
    hostile.write("web/dev/main.k", _STUCK)
    async with _session(hostile, tmp_path, 3_000) as session:
        with anyio.move_on_after(2):
            await session.compile(session.select("web/dev"))
    for _ in range(600):
        if not evaluators.busy:
            break
        await anyio.sleep(0.1)
    assert evaluators.busy == 0


async def test_what_was_learned_stays_when_another_program_is_ended(hostile: Hostile, tmp_path: Path) -> None:
    hostile.write("web/bad/stack.yaml", "name: bad\n")
    hostile.write("web/bad/main.k", _ENDLESS)
    async with _session(hostile, tmp_path, 1) as session:
        first = await session.compile(session.select("web/dev"))
        with pytest.raises(CompileFailed):
            await session.compile(session.select("web/bad"))
        again = await session.compile(session.select("web/dev"))
    assert again.spec == first.spec
    resource = next(iter(again.spec))
    assert again.spec.chain(resource.id, ("kind",)) == first.spec.chain(resource.id, ("kind",)) != ()


@pytest.mark.parametrize("name", ["50 MB of empty lines", "an import of 20,000 folders"])
def test_listing_and_compiling_end_for_what_is_absurdly_large(name: str, wb: Wb, hostile: Hostile) -> None:
    """Listing looks at the text of every stack, and has no deadline of its own."""
    text = files_of(name)["main.k"]
    hostile.write("web/dev/main.k", text)
    listed = wb("ls")
    assert listed.code == 0 and "dev" in listed.out
    ended = wb("compile", "web/dev", "--deadline", "2", "--max-memory", _MEMORY)
    assert ended.code in (1, 3) and ended.err
    assert "Traceback" not in ended.err and "this is a bug" not in ended.err
