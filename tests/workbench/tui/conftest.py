"""A key that a test presses was acted on when `press` returns."""

from __future__ import annotations

import pytest

from tests.workbench.tui.pressing import until_acted_on


@pytest.fixture(autouse=True)
def _acted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    until_acted_on(monkeypatch)
