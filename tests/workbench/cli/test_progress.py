"""A long step is told of now and then, not at every sign of life."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from runtimes.base import Address, TerraformId
from workbench.cli.output import Output
from workbench.cli.progress import show_events
from workbench.engine.events import Action, Event, StepProgress

AT = datetime(2026, 1, 1, tzinfo=UTC)
DATABASE = Address("terraform", TerraformId("acme", "cloud", "thing", "db"))


async def test_progress_is_thinned_out_but_news_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    async def events() -> AsyncIterator[Event]:
        for seconds in range(2, 31, 2):
            message = "the old one is gone" if seconds == 6 else ""
            yield StepProgress(AT, DATABASE, Action.REPLACE, float(seconds), message)

    assert await show_events(events(), Output()) is None
    said = [line.rsplit(maxsplit=1)[-1] for line in capsys.readouterr().out.splitlines()]
    assert said == ["2s", "6s", "16s", "26s"]
