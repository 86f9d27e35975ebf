"""A command that is run in a process of its own leaves the caller as it was."""

from __future__ import annotations

import signal
import sys

import pytest

from kcl.bounded.supervising import supervised


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not forked there")
def test_who_goes_on_after_a_command_listens_to_signals_as_before() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(each) for each in numbers]
    assert supervised(lambda _: 7, sys.stderr, lambda: "") == 7
    assert [signal.getsignal(each) for each in numbers] == before
