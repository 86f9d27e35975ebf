"""Keys that tests press: acted on when `Pilot.press` returns, however busy the machine is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.pilot import Pilot

from workbench.tui.app import WorkbenchApp


def until_acted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets `Pilot.press` wait until the queue of keys is through.

    Textual waits until the process takes little of the processor, which one that does not get any does as well: a test
    went on before the screen was there that its key opens.
    """
    press = Pilot.press

    async def pressed(pilot: Pilot[Any], *keys: str) -> None:
        await press(pilot, *keys)
        app = pilot.app
        if isinstance(app, WorkbenchApp):
            while not app._typed.is_idle:  # noqa: ASYNC110  # the queue of keys has no event
                await asyncio.sleep(0.005)

    monkeypatch.setattr(Pilot, "press", pressed)
