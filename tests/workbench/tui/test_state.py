"""Screens show what is known of a stack or recovery; only the app, and its part that runs recoveries, change it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import workbench.tui
from workbench.tui.state import RecoveryJob, StackState

TUI = Path(workbench.tui.__file__).parent
FIELDS = {each.name for state in (StackState, RecoveryJob) for each in fields(state)}
OWNERS = {TUI / "app.py", TUI / "stack_work.py", TUI / "recovering.py"}


def written(tree: ast.AST) -> Iterator[str]:
    """Yields what writes a field of a state. What `self` has is a widget's own."""
    for each in ast.walk(tree):
        match each:
            case ast.Attribute(attr=name, value=owner, ctx=ast.Store() | ast.Del()) if name in FIELDS:
                if ast.unparse(owner) != "self":
                    yield f"{each.lineno}: {ast.unparse(each)}"
            case ast.Call(func=ast.Name(id="setattr" | "delattr")) | ast.Call(func=ast.Attribute(attr="__setattr__")):
                yield f"{each.lineno}: {ast.unparse(each)}"


@pytest.mark.parametrize(
    "code",
    [
        "self.state.is_forced = True",
        "state.whatif = None",
        "state.busy, state.busy_since = 'x', 1.0",
        "state.watchers += 1",
        "self._stack_state.plan: object = None",
        "for state.plan in plans: pass",
        "with opened() as self.state.applying: pass",
        "del state.error",
        "setattr(state, 'busy', '')",
        "[0 for state.busy in names]",
        "job.report = None",
        "self.job.run, job.error = None, None",
    ],
)
def test_the_check_sees_each_way_to_write_a_state(code: str) -> None:
    assert [*written(ast.parse(code))]


@pytest.mark.parametrize("code", ["self.plan = made", "made = state.plan", "self.workbench.edit_stack(state, None)"])
def test_the_check_lets_be_what_writes_no_state(code: str) -> None:
    assert not [*written(ast.parse(code))]


def test_only_the_app_and_its_work_change_a_state() -> None:
    found = {
        f"{path.relative_to(TUI)}:{each}"
        for path in sorted(TUI.rglob("*.py"))
        if path not in OWNERS
        for each in written(ast.parse(path.read_bytes()))
    }
    assert found == set()


def test_what_runs_a_recovery_changes_no_stack() -> None:
    found = [*written(ast.parse((TUI / "recovering.py").read_bytes()))]
    assert found, "it changes the job it runs"
    assert all(each.split(": ")[1].startswith(("job.", "self.job.")) for each in found)
