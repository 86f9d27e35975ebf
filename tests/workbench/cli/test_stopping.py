"""^C while something is carried out: it is told once to end in order, and once more to end at once."""

from __future__ import annotations

import signal
from io import StringIO

import anyio

from workbench.cli.output import Output
from workbench.cli.stopping import to_its_end


class Run:
    """Ends when it is told to end at once."""

    def __init__(self) -> None:
        self.told: list[bool] = []
        self.heard = anyio.Event()
        self.has_ended = anyio.Event()

    async def interrupt(self, *, at_once: bool = False) -> None:
        self.told.append(at_once)
        self.heard.set()
        if at_once:
            self.has_ended.set()


async def test_a_second_interrupt_drops_what_the_first_one_let_end() -> None:
    run, said = Run(), StringIO()

    async def shown() -> str:
        signal.raise_signal(signal.SIGINT)
        await run.heard.wait()
        signal.raise_signal(signal.SIGINT)
        await run.has_ended.wait()
        return "its end"

    with anyio.fail_after(20):
        assert await to_its_end(run, shown(), Output(stdout=StringIO(), stderr=said)) == ("its end", True)
    assert run.told == [False, True]
    first, second = said.getvalue().splitlines()
    assert "^C again" in first and "wb plan" in second


async def test_what_nobody_interrupts_is_not_said_to_be_stopped() -> None:
    run, said = Run(), StringIO()

    async def shown() -> str:
        return "its end"

    assert await to_its_end(run, shown(), Output(stdout=StringIO(), stderr=said)) == ("its end", False)
    assert (run.told, said.getvalue()) == ([], "")
