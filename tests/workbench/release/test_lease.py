"""The lock between machines: taken only from who was seen to be gone, lost by who slept, and never by a clock alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runtimes.base import Lease
from tests.workbench.release.places import NAMESPACE, Opened, Ticking, in_bucket, in_sandbox, timing
from workbench.engine.errors import Locked, ReleaseFailure
from workbench.release.contract import Holder
from workbench.release.lease import acquire, described, take_away

ANN, BEN = Holder("ann", "laptop", 7, token="token-of-ann"), Holder("ben", "ci", 8)
NOW = datetime(2026, 11, 23, tzinfo=UTC)
NAME = "wb-release-x"


@pytest.fixture(params=["cluster", "bucket"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opened]:
    made = in_sandbox(tmp_path) if request.param == "cluster" else in_bucket(request.getfixturevalue("bucket_server"))
    async with made as found:
        yield found


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Opened]:
    async with in_sandbox(tmp_path) as found:
        yield found


def later(**by: float) -> datetime:
    return NOW + timedelta(**by)


async def test_one_that_is_seen_unchanged_for_its_lifetime_is_taken(place: Opened) -> None:
    keeper, clock = place.keeper, Ticking(step=0.0)
    first = await acquire(keeper, NAMESPACE, NAME, ANN, timing(clock, NOW))
    second = await acquire(keeper, NAMESPACE, NAME, BEN, timing(Ticking(), later(minutes=5)))
    assert second.fence == first.fence + 1
    with pytest.raises(ReleaseFailure, match="ben@ci"):
        await first.renew()
    with pytest.raises(ReleaseFailure, match="ben@ci"):
        first.verify()
    await first.release()
    await second.renew()


@pytest.mark.parametrize("skew", [timedelta(minutes=5), timedelta(days=400), -timedelta(minutes=5)])
async def test_a_holder_that_renews_keeps_it_whatever_the_clocks_say(place: Opened, skew: timedelta) -> None:
    keeper = place.keeper
    held = await acquire(keeper, NAMESPACE, NAME, ANN, timing())

    class Renewing:
        """Renews for the holder whenever the one who waits looks at the clock."""

        looks = 0

        def __call__(self) -> float:
            self.looks += 1
            return float(self.looks)

    async def lease(namespace: str, name: str) -> Lease | None:
        await held.renew()
        return await keeper.lease(namespace, name)

    class Watched:
        within = staticmethod(keeper.within)
        place = keeper.place
        write_lease = staticmethod(keeper.write_lease)
        make_namespace = staticmethod(keeper.make_namespace)

    Watched.lease = staticmethod(lease)  # type: ignore[attr-defined]  # what is asked while the holder goes on
    with pytest.raises(Locked, match="ann@laptop pid 7"):
        await acquire(Watched(), NAMESPACE, NAME, BEN, timing(Renewing(), datetime.now(UTC) + skew))  # type: ignore[arg-type]


async def test_one_of_a_process_known_to_be_gone_is_taken_at_once(place: Opened) -> None:
    keeper = place.keeper
    await acquire(keeper, NAMESPACE, NAME, ANN, timing())
    with pytest.raises(Locked):
        await acquire(keeper, NAMESPACE, NAME, replace(BEN, ended="another"), timing())
    await acquire(keeper, NAMESPACE, NAME, replace(BEN, ended="token-of-ann"), timing())


async def test_who_slept_too_long_starts_nothing_more(place: Opened) -> None:
    clock = Ticking(step=0.0)
    held = await acquire(place.keeper, NAMESPACE, NAME, ANN, timing(clock, NOW))
    clock.seconds = 29.0
    held.verify()
    await held.renew()
    clock.seconds = 58.0
    held.verify()
    clock.seconds = 60.0
    with pytest.raises(ReleaseFailure, match="could not be renewed for 31 s"):
        held.verify()
    with pytest.raises(ReleaseFailure, match="could not be renewed"):
        await held.renew()


async def test_others_who_write_on_it_do_not_take_it(cluster: Opened) -> None:
    assert cluster.runtime is not None and cluster.sandbox is not None
    held = await acquire(cluster.runtime.records, NAMESPACE, NAME, ANN, timing())
    patch = {"metadata": {"annotations": {"seen": "yes"}}}
    cluster.sandbox.clusters[0].patch("leases.coordination.k8s.io", NAMESPACE, NAME, patch, "merge")
    await held.renew()
    cluster.sandbox.clusters[0].delete("leases.coordination.k8s.io", NAMESPACE, NAME)
    await held.renew()  # a cluster makes a lease that is written and not there
    with pytest.raises(Locked):
        await acquire(cluster.runtime.records, NAMESPACE, NAME, BEN, timing())
    cluster.sandbox.clusters[0].delete("leases.coordination.k8s.io", NAMESPACE, NAME)
    await acquire(cluster.runtime.records, NAMESPACE, NAME, BEN, timing())
    with pytest.raises(ReleaseFailure, match="ben@ci"):
        await held.renew()


@pytest.mark.parametrize("renewed", ["", "2026-13-45T99:99:99.000000Z", "9999-12-31T23:59:59.000000Z"])
@pytest.mark.parametrize("holder", ["x", "\x1b]0;pwned\x07/\x1b[2J/t", "a" * 5_000, "//", "ann@laptop/7/\n"])
def test_who_holds_it_is_plain_text_whatever_is_written_there(holder: str, renewed: str) -> None:
    lease = Lease(NAMESPACE, NAME, holder, 1, renewed, renewed, 10**9, "1")
    shown = described(lease)
    assert shown.isprintable() and len(shown) <= 120


async def test_it_is_taken_from_the_one_who_was_named_only(place: Opened) -> None:
    keeper = place.keeper
    assert await take_away(keeper, NAMESPACE, NAME, "") == ""
    held = await acquire(keeper, NAMESPACE, NAME, ANN, timing(wall=NOW))
    who = "ann@laptop pid 7 since 2026-11-23T00:00:00.000000Z"
    assert await take_away(keeper, NAMESPACE, NAME, "") == who
    with pytest.raises(Locked):
        await take_away(keeper, NAMESPACE, NAME, "ben@ci pid 8")
    assert await take_away(keeper, NAMESPACE, NAME, who) == who
    with pytest.raises(ReleaseFailure, match="was taken away"):
        await held.renew()
