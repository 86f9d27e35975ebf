"""What Python shows of the objects that a notebook or a program has in hand: `repr`, a failed assertion, a traceback.

A body (a plain dictionary) says what it holds to who asks for it. Objects of this product do not, wherever they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.opened_vault import Opened, opened_vault
from tests.workbench.cli.command import Wb
from workbench.engine.compiled import CompileInputs
from workbench.session import Session

OURS = ("kcl.", "runtimes.", "workbench.")


@pytest.fixture
async def opened(wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Opened]:
    async with opened_vault(wb, tmp_path, monkeypatch) as found:
        yield found


def reachable(start: list[Any]) -> Iterator[Any]:
    """Yields every object of a class of ours that is reachable over fields and elements of such."""
    seen: set[int] = set()
    pending = list(start)
    while pending:
        each = pending.pop()
        if id(each) in seen or isinstance(each, str | bytes | int | float | type | None):
            continue
        seen.add(id(each))
        if type(each).__module__.startswith(OURS):
            yield each
            if dataclasses.is_dataclass(each):
                pending += [getattr(each, field.name, None) for field in dataclasses.fields(each)]
            pending += vars(each).values() if hasattr(each, "__dict__") else []
            pending += [getattr(each, name, None) for name in getattr(type(each), "__slots__", ())]
        elif isinstance(each, dict):
            pending += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set | frozenset):
            pending += each


async def test_no_object_shows_a_secret(opened: Opened) -> None:
    opened.log_in_by_program()
    options = dict(each.split("=", 1) for each in opened.vault.arguments if "=" in each)
    inputs = CompileInputs(options, ("settings.yaml",))
    async with Session.open(opened.home / "repo", settings=opened.settings()) as session:
        stack = session.select("vault/dev")
        compiled = await session.compile(stack, inputs)
        plan = await session.plan(stack, inputs)
        async with session.apply(plan, confirm="yes") as events:
            happened = [each async for each in events]
        opened.change_by_hand()
        drifted = await session.diff(stack, inputs)
        held = [inputs, session, compiled, plan, drifted, happened, session.releases(stack)]
        objects = list(reachable(held))
        leaking: dict[str, set[str]] = {}
        for each in objects:
            if found := opened.leaks(repr(each) + str(each)):
                leaking.setdefault(type(each).__name__, set()).update(found)
    names = {type(each).__name__ for each in objects}
    assert {"Session", "Resource", "Change", "Plan", "Spec", "Release"} <= names and len(names) > 40
    assert not leaking
