"""Stopped by a signal: the next run goes on, also where the KCL no longer compiles."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable

import pytest

from tests.scenarios.terraform.orders import ended
from tests.scenarios.terraform_adopting.shop import FILE, NETWORK, STACK, Shop, bucket, database
from workbench.exit_codes import ExitCode

pytestmark = pytest.mark.slow

_STOPPED = 130
_PATIENCE_SECONDS = 60.0


async def until(happened: Callable[[], object]) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.05)


def slow(shop: Shop, operation: str) -> None:
    with shop.world.change() as content:
        content.faults = [
            {"operation": operation, "type": "sandbox_database", "latency_seconds": 5},
        ]


async def test_a_stack_is_stopped_in_the_middle_and_goes_on_whichever_way(shop: Shop) -> None:
    shop.write(NETWORK, database(), bucket())
    slow(shop, "create")
    applying = await shop.start("apply", STACK, "--yes", "--no-watch")
    await until(lambda: shop.existing("network"))
    await asyncio.sleep(1)  # the database is begun as soon as its network is there
    applying.send_signal(signal.SIGTERM)
    stopped = await ended(applying)
    assert stopped.code == _STOPPED, stopped.text
    assert f"wb apply {STACK} goes on" in " ".join(stopped.err.split())
    assert len(shop.recorded()) == sum(len(shop.existing(each)) for each in ("network", "database", "bucket"))
    went_on = await shop.wb("apply", STACK, "--yes", "--no-watch")
    assert went_on.code == ExitCode.OK, went_on.text
    assert [operation for operation, _ in shop.done()] == ["create"] * 3, "nothing was made twice"

    slow(shop, "delete")
    (shop.root / FILE).write_text("a = = 1\n")
    assert (await shop.wb("plan", STACK)).code != ExitCode.OK, "it does not compile"
    destroying = await shop.start("destroy", STACK, "--confirm", STACK)
    await until(lambda: not shop.existing("bucket"))
    destroying.send_signal(signal.SIGINT)
    stopped = await ended(destroying)
    assert stopped.code == _STOPPED, stopped.text
    assert shop.existing("network") and "sandbox_network.shop" in shop.recorded()
    went_on = await shop.wb("destroy", STACK, "--confirm", STACK)
    assert went_on.code == ExitCode.OK, went_on.text
    assert not shop.existing("network") and shop.recorded() == set()
    assert sorted(operation for operation, _ in shop.done()) == ["create"] * 3 + ["delete"] * 3
