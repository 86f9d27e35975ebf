"""What every place that keeps releases has to do, whichever it is: the folder of a machine, a cluster, a bucket.

A real cluster is asked too where KONFIG_WORKBENCH_KUBECONFIG names its kubeconfig (one to throw away).
"""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from runtimes.base import Address, KubernetesId, RuntimeType
from tests.workbench.release.places import Opened, at_kubeconfig, in_bucket, in_folder, in_sandbox, released
from workbench.engine.errors import Locked, ReleaseFailure
from workbench.engine.events import Action
from workbench.engine.release import Phase, ReleasedResource, StepState
from workbench.release.contract import Holder, Overtaken

REAL = os.environ.get("KONFIG_WORKBENCH_KUBECONFIG", "")
ANN, BEN = Holder("ann", "laptop", os.getpid()), Holder("ben", "ci-7", os.getpid())


@pytest.fixture(
    params=[
        "folder",
        "sandbox",
        "bucket",
        pytest.param("real", marks=pytest.mark.skipif(not REAL, reason="no real cluster")),
    ]
)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opened]:
    match request.param:
        case "folder":
            opened = in_folder(tmp_path)
        case "sandbox":
            opened = in_sandbox(tmp_path)
        case "bucket":
            opened = in_bucket(request.getfixturevalue("bucket_server"))
        case _:
            opened = at_kubeconfig(Path(REAL))
    async with opened as found:
        yield found
        for each in await found.view().entries():
            await found.view().delete(each)


async def test_what_is_written_is_read_by_others_newest_first(place: Opened) -> None:
    assert list(await place.view().entries()) == []
    for revision in (1, 2, 10):
        await place.view().create(released(revision))
    entries = await place.view().entries()
    assert [each.revision for each in entries] == [10, 2, 1]
    assert [each.load() for each in entries] == [released(10), released(2), released(1)]


async def test_a_release_is_made_once(place: Opened) -> None:
    await place.view().create(released(1))
    with pytest.raises(Overtaken):
        await place.view().create(released(1, Phase.SUCCEEDED))
    (entry,) = await place.view().entries()
    assert entry.load().phase is Phase.APPLYING


async def test_of_two_that_replace_the_same_the_second_is_refused(place: Opened) -> None:
    first = await place.view().create(released(1))
    second = await place.view().replace(released(1, Phase.PARTIAL), first)
    with pytest.raises(Overtaken):
        await place.view().replace(released(1, Phase.SUCCEEDED), first)
    assert (await place.view().entries())[0].load().phase is Phase.PARTIAL
    await place.view().replace(released(1, Phase.SUCCEEDED), second)
    assert (await place.view().entries())[0].load().phase is Phase.SUCCEEDED


async def test_what_is_gone_is_not_replaced(place: Opened) -> None:
    version = await place.view().create(released(1))
    await place.view().delete((await place.view().entries())[0])
    with pytest.raises(Overtaken):
        await place.view().replace(released(1), version)
    assert list(await place.view().entries()) == []


async def test_what_was_written_since_is_not_deleted(place: Opened) -> None:
    version = await place.view().create(released(1))
    (seen,) = await place.view().entries()
    await place.view().replace(released(1, Phase.SUCCEEDED), version)
    with pytest.raises(Overtaken):
        await place.view().delete(seen)
    assert (await place.view().entries())[0].load().phase is Phase.SUCCEEDED


async def test_of_many_that_make_the_next_release_one_does(place: Opened) -> None:
    done: list[str] = []

    async def make(user: str) -> None:
        try:
            await place.view().create(released(1, user=user))
        except Overtaken:
            return
        done.append(user)

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(make, f"user-{number}")
    (entry,) = await place.view().entries()
    assert done == [entry.load().user]


async def test_a_release_larger_than_one_object_may_be_is_whole(place: Opened) -> None:
    noise = random.Random(1).randbytes(1_600_000).hex()
    body = {"data": {str(at): noise[at : at + 50_000] for at in range(0, len(noise), 50_000)}}
    address = Address("hz", KubernetesId("v1", "ConfigMap", "shop", "a"))
    large = ReleasedResource(address, RuntimeType.KUBERNETES, Action.CREATE, StepState.INTENDED, "", body)
    version = await place.view().create(released(1, resources=[large]))
    (entry,) = await place.view().entries()
    assert entry.load() == released(1, resources=[large])
    await place.view().replace(released(1, Phase.SUCCEEDED, [replace(large, state=StepState.DONE)]), version)
    (entry,) = await place.view().entries()
    assert entry.load().phase is Phase.SUCCEEDED


async def test_who_is_kept_out_is_told_by_whom(place: Opened) -> None:
    held = await place.view().lock(ANN)
    with pytest.raises(Locked, match="ann@laptop pid"):
        await place.view().lock(BEN)
    await held.release()
    await (await place.view().lock(BEN)).release()


async def test_a_holder_keeps_its_lock_by_renewing(place: Opened) -> None:
    held = await place.view().lock(ANN)
    for _ in range(3):
        await held.renew()
        held.verify()
    with pytest.raises(Locked):
        await place.view().lock(BEN)
    await held.release()


async def test_of_many_that_take_the_lock_one_has_it(place: Opened) -> None:
    at_work, most, turns = 0, 0, 0

    async def work(number: int) -> None:
        nonlocal at_work, most, turns
        for _ in range(6):
            try:
                held = await place.view().lock(Holder(f"user-{number}", "box", os.getpid()))
            except Locked:
                await anyio.sleep(0.001)
                continue
            at_work += 1
            most, turns = max(most, at_work), turns + 1
            await anyio.sleep(0.001)
            held.verify()
            at_work -= 1
            await held.release()

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(work, number)
    assert most == 1 and turns > 1


async def test_a_lock_given_up_is_no_longer_anybodys_to_renew(place: Opened) -> None:
    first = await place.view().lock(ANN)
    await first.release()
    second = await place.view().lock(BEN)
    with pytest.raises(ReleaseFailure, match="ben@ci-7"):
        await first.renew()
    await first.release()
    await second.renew()
    second.verify()
    await second.release()
