"""The line of keys: a click presses a key, the wheel moves on, and nothing is drawn again where nothing is new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import opened, until, workbench
from workbench.tui.widgets.key_line import KeyLine


def shown(line: KeyLine) -> str:
    return "".join(segment.text for segment in line.render_line(0))


def line_of(pilot: Pilot[Any]) -> KeyLine:
    return pilot.app.screen.query_one(KeyLine)


async def test_a_click_presses_the_key_it_falls_on(tmp_path: Path) -> None:
    async with workbench(tmp_path, Clusters("hz", "sh")).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: "? Keys" in shown(line_of(pilot)))
        await pilot.click(KeyLine, offset=(shown(line_of(pilot)).index("/ Filter") + 2, 0))
        await until(pilot, lambda: getattr(pilot.app.focused, "id", "") == "prompt")


async def test_the_wheel_shows_what_has_no_room_and_no_more(tmp_path: Path) -> None:
    async with workbench(tmp_path, Clusters("hz", "sh")).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        line = line_of(pilot)
        await until(pilot, lambda: "? Keys" in shown(line))
        whole = [shown(line)]
        for _ in range(40):
            line.post_message(
                events.MouseScrollDown(
                    line, x=1, y=0, delta_x=0, delta_y=1, button=0, shift=False, meta=False, ctrl=False
                )
            )
            await pilot.pause()
            whole.append(shown(line))
        assert all(each.rstrip().endswith(tuple(key.description for key in line._keys)) for each in whole)
        keys = {key.display for key in line._keys}
        assert all(any(f"{key} " in each for each in whole) for key in keys)
        assert whole[-1].strip() and whole[-1] == whole[-2], "the last key stays in sight"


async def test_what_is_as_before_is_not_drawn_again(tmp_path: Path, monkeypatch: Any) -> None:
    async with workbench(tmp_path, Clusters("hz", "sh")).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        line = line_of(pilot)
        await until(pilot, lambda: "? Keys" in shown(line))
        drawn: list[None] = []
        monkeypatch.setattr(line, "refresh", lambda *_, **__: drawn.append(None))
        for _ in range(3):
            line._changed(pilot.app.screen)
        assert not drawn
