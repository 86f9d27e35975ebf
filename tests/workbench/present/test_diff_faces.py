"""A change of a long text is seen in every face, in the room that it has."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.workbench.engine.world import World, config_map, namespace
from workbench.engine.changes import StackDiff
from workbench.present.diff import SOURCE_WIDTH, detail_rows, detail_text
from workbench.present.glyphs import UNICODE

ROOTS = (Path("/repo"),)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def config(cpu: int) -> str:
    return json.dumps({"hosts": [f"host-{index}.example.com" for index in range(8)], "limits": {"cpu": cpu}})


def script(port: int) -> str:
    return "\n".join(f"export SERVER_{each}=10.0.0.{each}:{port if each == 20 else 80}" for each in range(30))


TEXTS = {
    "json": (config(100), config(200)),
    "a long line": (
        f"{'--flag=x ' * 30}--cpu=100 {'--flag=y ' * 30}",
        f"{'--flag=x ' * 30}--cpu=200 {'--flag=y ' * 30}",
    ),
    "a line of many": (script(100), script(200)),
    "many lines": ("\n".join(["x = 1"] * 5000 + ["cpu = 100"]), "\n".join(["x = 1"] * 5000 + ["cpu = 200"])),
}


async def changed(before: str, after: str) -> StackDiff:
    there = World()
    await there.release(namespace(), config_map("app", {"config": before}))
    return await there.diff(namespace(), config_map("app", {"config": after}))


@pytest.mark.parametrize("width", [36, 58, 110])
@pytest.mark.parametrize("text", TEXTS)
async def test_rows_have_room_for_what_changed(text: str, width: int) -> None:
    found = await changed(*TEXTS[text])
    [change] = found.different()
    rows = detail_rows(change, found.spec, ROOTS, UNICODE, NOW, width=width)
    assert len(rows) <= 12
    longest = max(len(row.cells[1]) for row in rows)
    assert longest <= SOURCE_WIDTH
    visible = [str(row.cells[0])[: width - longest - 1 if len(row.cells[1]) else width] for row in rows]
    assert any("100" in each for each in visible) and any("200" in each for each in visible), visible
    assert any("main.k:" in str(row.cells[1]) for row in rows)


@pytest.mark.parametrize("text", TEXTS)
async def test_the_command_line_says_what_changed_and_where(text: str) -> None:
    found = await changed(*TEXTS[text])
    [change] = found.different()
    lines = [str(each) for each in detail_text(change, found.spec, ROOTS, UNICODE, NOW)]
    assert len(lines) <= 12
    assert any("100" in each for each in lines) and any("200" in each for each in lines)
    assert any("main.k:" in each for each in lines)


@pytest.mark.parametrize("text", TEXTS)
async def test_a_notebook_shows_what_changed_in_all_its_tabs(text: str) -> None:
    results: Any = pytest.importorskip("workbench.notebook.results")
    found = await changed(*TEXTS[text])
    unified, sides, _ = results.diff_tabs(tuple(found.different()), found, ROOTS, NOW)
    whole = "\n".join(str(row.cells[0]) for row in unified.table.rows)
    assert "100" in whole and "200" in whole and whole.count("\n") <= 14
    [row] = [each for each in sides.table.rows if each.depth]
    before, after = str(row.cells[1]), str(row.cells[2])
    assert "100" in before and "200" in after and "200" not in before
    assert max(before.count("\n"), after.count("\n")) <= 12
