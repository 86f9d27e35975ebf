"""`wb migrate` reads and compiles what nobody may have read: each within limits, and it ends when it is told to."""

from __future__ import annotations

import os
import signal

import pytest

from tests.attacks.conftest import Hostile
from tests.attacks.hostile_programs import PROGRAMS, files_of
from tests.attacks.signalled import SIGNALS, ends_when_signalled
from tests.workbench.cli.command import Wb
from workbench.exit_codes import ExitCode

_GOOD = (
    "import manifests\n__a = 1\n"
    'manifests.yaml_stream([{apiVersion = "v1", kind = "ConfigMap", metadata = {name = "a", namespace = "n"}}])\n'
)
_EVALUATED = {
    "endless": ("f = lambda n {\n    0 if n == 0 else f(n - 1) + f(n - 1)\n}\na = f(60)\n", "deadline of 1 s"),
    "stuck in C": (PROGRAMS["ten repetitions in one another"], "deadline of 1 s"),
    "large": (PROGRAMS["thirty strings that are kept"], "limit of 256 MB"),
    "wide": (PROGRAMS["maps without end"], "limit of 256 MB"),
}
_READ = ("a line of 50 MB", "a file of 20 MB of data", "a million statements")
_ALL = os.environ.get("HOSTILE_PROGRAMS") == "all"
_LIMITS = ("--deadline", "1", "--max-memory", "256M")


@pytest.fixture
def old(hostile: Hostile) -> Hostile:
    """Two stacks of 2023."""
    hostile.write("kcl.mod", '[expected]\nkclvm_version = "v0.4.6"\n')
    hostile.write("web/dev/main.k", _GOOD)
    hostile.write("web/prod/stack.yaml", "name: prod\n")
    hostile.write("web/prod/main.k", _GOOD)
    return hostile


@pytest.mark.parametrize("name", _EVALUATED)
def test_what_exceeds_its_limits_is_not_proven_and_the_rest_is(name: str, old: Hostile, wb: Wb) -> None:
    text, limit = _EVALUATED[name]
    file = old.root / "web/dev/main.k"
    old.write("web/dev/main.k", _GOOD + text)
    before = file.read_text()
    seconds = "1" if "deadline" in limit else "60"
    ended = wb("migrate", "--write", "--deadline", seconds, "--max-memory", "256M")
    assert ended.code != ExitCode.OK
    assert "= web/prod" in ended.err
    assert "web/dev" in ended.err and limit in ended.err
    assert "Traceback" not in ended.err
    assert file.read_text() == before and (old.root / "web/prod/main.k").read_text() == _GOOD


@pytest.mark.parametrize("name", _READ if _ALL else _READ[:1])
def test_what_takes_too_long_to_read_is_named(name: str, old: Hostile, wb: Wb) -> None:
    old.write("web/dev/main.k", files_of(name)["main.k"])
    ended = wb("migrate", *_LIMITS)
    assert ended.code not in (ExitCode.OK, None)
    assert "took longer than its deadline of 1 s" in ended.err or "limit of 256 MB" in ended.err
    assert "--deadline SECONDS or WB_DEADLINE raises it" in ended.err or "WB_MAX_MEMORY raises it" in ended.err
    assert "Traceback" not in ended.err


def test_circles_are_found_out(old: Hostile, wb: Wb) -> None:
    for path, text in files_of("a ring of 300 packages").items():
        if path.endswith(".k"):
            old.write(path if "/" in path else f"web/dev/{path}", text)
    ended = wb("migrate", *_LIMITS)
    assert "Traceback" not in ended.err and ended.err


@pytest.mark.parametrize("number", SIGNALS if _ALL else SIGNALS[:1])
def test_a_signal_ends_it_while_a_program_is_stuck(number: signal.Signals, old: Hostile) -> None:
    old.write("web/dev/main.k", _GOOD + PROGRAMS["ten repetitions in one another"])
    ends_when_signalled(["workbench", "migrate"], number, old)
