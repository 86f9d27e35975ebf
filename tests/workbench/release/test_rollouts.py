"""What every place that keeps rollouts has to do, whichever it is: the folder of a machine, a cluster, a bucket."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from runtimes.base import RecordKeeper, StoredSecret, Unreachable
from tests.workbench.release.places import AT, NAMESPACE, REPOSITORY, Ticking, in_bucket, in_sandbox, timing
from workbench.engine.errors import Locked, ReleaseFailure
from workbench.engine.rollout.progress import Phase
from workbench.engine.rollout.values import Ask, Asked, BatchBegan, BatchReady, Began, Part, Record, Stage, Target
from workbench.release.contract import Holder, Overtaken
from workbench.release.encoding import BrokenRecord
from workbench.release.in_folder import FolderKeeper
from workbench.release.lease import Timing
from workbench.release.rollout_log import RolloutLog
from workbench.release.rollout_packing import MOST_BEGAN_BYTES, copy_name, name, pack
from workbench.release.stored_rollouts import Claim, Claims, StoredRollouts

NOW = datetime(2026, 11, 24, 9, tzinfo=UTC)
ID, OTHER = "r-00000001", "r-00000002"
WEB, API = (Target("shop/prod", "east", each) for each in ("web", "api"))
STAGE = Stage("all", ((WEB,), (API,)), 2, 0.0, False, 60.0)
ANN, BEN = Holder("ann", "laptop", os.getpid()), Holder("ben", "ci-7", os.getpid())
BEGUN, READY = BatchBegan(NOW, "all", 0, "ann", "laptop"), BatchReady(NOW, "all", 0)
PAUSE = Asked(NOW, Ask.PAUSE, "ben", "ci-7")


def began(id_: str = ID) -> Began:
    return Began(NOW, id_, "ann", "laptop", "", (STAGE,), (), {"shop/prod": Part(1, "d")}, b"salt", {"shop/prod": "hz"})


@dataclass
class Place:
    """`keeper` opens it once more, as another process has it."""

    keeper: Callable[[], RecordKeeper]

    def view(self, times: Timing | None = None, repository: str = REPOSITORY) -> StoredRollouts:
        return StoredRollouts(self.keeper(), NAMESPACE, repository, times or timing())

    def claims(self, repository: str = REPOSITORY) -> Claims:
        return Claims(self.keeper(), replace(AT, repository=repository))

    async def log(self, holder: Holder = ANN, times: Timing | None = None) -> RolloutLog:
        log = RolloutLog(self.view(times), ID, await self.view(times).lock(ID, holder))
        await log.take_over()
        return log

    async def secret(self, name_: str = "") -> StoredSecret:
        found = await self.keeper().secrets(NAMESPACE, {})
        return next(each for each in found if each.name == (name_ or name(REPOSITORY, ID)))

    async def names(self) -> list[str]:
        """Returns how the record and its copy are called, as far as they are there."""
        found = await self.keeper().secrets(NAMESPACE, {})
        wanted = (name(REPOSITORY, ID), copy_name(REPOSITORY, ID))
        return [each.name for each in found if each.name in wanted]

    async def put(self, secret: StoredSecret) -> None:
        """Has a secret in the place of the one of its name, whatever its type."""
        await self.keeper().delete_secret(NAMESPACE, secret.name, "")
        await self.keeper().create_secret(replace(secret, version=""))


@pytest.fixture(params=["folder", "sandbox", "bucket"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    match request.param:
        case "folder":
            yield Place(lambda: FolderKeeper(tmp_path / "state"))
        case "sandbox":
            async with in_sandbox(tmp_path) as opened:
                yield Place(lambda: opened.keeper)
        case _:
            async with in_bucket(request.getfixturevalue("bucket_server")) as opened:
                yield Place(lambda: opened.keeper)


async def records(place: Place) -> tuple[Record, ...]:
    found = await place.view().find(ID)
    assert found is not None
    return found.load()


async def test_what_one_machine_writes_every_other_one_reads(place: Place) -> None:
    assert list(await place.view().all()) == [] and await place.view().find(ID) is None
    await place.view().create((began(),))
    await place.view().create((began(OTHER),))
    assert sorted(each.id for each in await place.view().all()) == [ID, OTHER]
    assert await records(place) == (began(),)
    with pytest.raises(Overtaken):
        await place.view().create((began(),))


async def test_another_repository_has_its_own(place: Place) -> None:
    await place.view().create((began(),))
    assert list(await place.view(repository="elsewhere").all()) == []
    await place.view(repository="elsewhere").create((began(), PAUSE))
    assert await records(place) == (began(),)


async def test_of_two_that_write_at_the_same_time_one_is_refused(place: Place) -> None:
    await place.view().create((began(),))
    found = await place.view().find(ID)
    assert found is not None
    await place.view().replace((began(), PAUSE), 1, found)
    with pytest.raises(Overtaken):
        await place.view().replace((began(), BEGUN), 1, found)
    with pytest.raises(Overtaken):
        await place.view().delete(found)
    assert await records(place) == (began(), PAUSE)


async def test_whoever_carries_it_out_hears_what_another_machine_asks(place: Place) -> None:
    await place.view().create((began(),))
    log = await place.log()
    await log.add(BEGUN)
    found = await place.view().find(ID)
    assert found is not None
    await place.view().replace((*found.load(), PAUSE), found.fence, found)
    await log.add(READY)
    assert await records(place) == (began(), BEGUN, PAUSE, READY)
    assert (await log.read()).phase is Phase.PAUSED


async def test_one_carries_it_out_and_the_others_are_told_who(place: Place) -> None:
    await place.view().create((began(),))
    assert await place.view().runner(ID) is None
    log = await place.log()
    with pytest.raises(Locked, match="ann@laptop pid"):
        await place.view().lock(ID, BEN)
    runner = await place.view().runner(ID)
    assert runner is not None and runner.who.startswith("ann@laptop pid") and runner.heard is not None
    assert runner.is_heard(runner.heard + timedelta(seconds=44))
    assert not runner.is_heard(runner.heard + timedelta(seconds=46))
    await log.lock.release()
    assert await place.view().runner(ID) is None


async def test_who_was_replaced_writes_nothing_more(place: Place) -> None:
    """It slept: its own clock does not tell, and the lock was given to another machine meanwhile."""
    await place.view().create((began(),))
    slept = await place.log()
    await slept.add(BEGUN)
    await place.view().unlock(ID, await place.view().unlock(ID, ""))
    after = await place.log(BEN)
    for attempt in (slept.add(READY), slept.add(READY), slept.read(), slept.add(BEGUN)):
        with pytest.raises(ReleaseFailure, match="somebody else carries it out"):
            await attempt
    await after.add(PAUSE)
    assert await records(place) == (began(), BEGUN, PAUSE)


@pytest.mark.parametrize("is_taken_over", [False, True], ids=["before it was taken over", "after it was taken over"])
async def test_a_record_that_was_set_back_is_no_process_that_was_held_up(place: Place, is_taken_over: bool) -> None:
    await place.view().create((began(),))
    before = [await place.secret(each) for each in await place.names()]
    log = await place.log()
    if is_taken_over:
        before = [await place.secret(each) for each in await place.names()]
    await log.add(BEGUN)
    await log.add(READY)
    for each in await place.names():
        await place.keeper().delete_secret(NAMESPACE, each, "")
    for secret in before:
        await place.put(secret)
    with pytest.raises(ReleaseFailure, match="was set back while this went on: it had 3 entries and has 1") as raised:
        await log.read()
    assert "held up" not in raised.value.hint and "wb rollout resume" in raised.value.hint
    with pytest.raises(ReleaseFailure, match="was set back"):
        await log.add(PAUSE)
    assert await records(place) == (began(),), "nothing more was written"


async def test_who_could_not_renew_for_long_writes_nothing_more(place: Place) -> None:
    clock = Ticking(step=0.0)
    await place.view().create((began(),))
    log = await place.log(times=timing(clock))
    clock.seconds += 31
    with pytest.raises(ReleaseFailure, match="could not be renewed for 31 s"):
        await log.add(BEGUN)
    assert await records(place) == (began(),)


async def test_a_process_that_is_gone_is_followed_after_its_time(place: Place) -> None:
    clock = Ticking()
    await place.view().create((began(),))
    await place.log(times=timing(wall=datetime.now(UTC) - timedelta(minutes=4)))
    log = await place.log(BEN, timing(clock))
    assert clock.seconds > 45
    await log.add(PAUSE)


async def test_a_stack_is_claimed_once_whoever_comes_first(place: Place) -> None:
    assert await place.claims().read() is None
    done: list[str] = []

    async def claim(id_: str) -> None:
        try:
            await place.claims().write(Claim(id_, "hz", "ann@laptop"))
        except Overtaken:
            return
        done.append(id_)

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(claim, f"r-0000000{number}")
    found = await place.claims().read()
    assert found is not None and done == [found.rollout]
    assert await place.claims("elsewhere").read() is None
    await place.claims().free("r-ffffffff")
    assert await place.claims().read() == found
    await place.claims().free(found.rollout)
    assert await place.claims().read() is None


async def test_releases_and_claims_do_not_mistake_each_other(place: Place) -> None:
    from tests.workbench.release.places import released
    from workbench.release.remote_records import RemoteRecords

    view = RemoteRecords(place.keeper(), AT, timing())
    await place.claims().write(Claim(ID, "hz", "ann@laptop"))
    await view.create(released(1))
    assert [each.revision for each in await view.entries()] == [1]
    await view.delete((await view.entries())[0])
    assert await place.claims().read() is not None


def harmed(secret: StoredSecret, damage: str) -> StoredSecret | None:
    """Returns what is left of a record, None for nothing."""
    data, about = dict(secret.data), json.loads(secret.data["about"])
    match damage:
        case "records":
            data["records"] = data["records"][:-9] + b"\0" + data["records"][-8:]
        case "torn":
            data["records"] = data["records"][: len(data["records"]) // 2]
        case "chunk missing":
            del data["records"]
        case "about":
            data["about"] = b"{"
        case "another repository":
            data["about"] = json.dumps({**about, "repository": "elsewhere"}).encode()
        case "empty":
            data = {}
        case "huge":
            data["records"] = b"\0" * 2_000_000
        case "type":
            return replace(secret, type="Opaque")
        case "labels":
            return replace(secret, labels={})
        case _:
            return None
    return replace(secret, data=data)


DAMAGES = ("records", "torn", "chunk missing", "about", "another repository", "empty", "huge", "type", "gone")


@pytest.mark.parametrize("damage", DAMAGES)
async def test_of_a_damaged_record_the_last_good_revision_is_read_and_written_again(place: Place, damage: str) -> None:
    if damage == "huge" and not isinstance(place.keeper(), FolderKeeper):
        pytest.skip("no such secret is taken")
    await place.view().create((began(),))
    log = await place.log()
    await log.add(BEGUN)
    await log.lock.release()
    left = harmed(await place.secret(), damage)
    if left is not None:
        await place.put(left)
    else:
        await place.keeper().delete_secret(NAMESPACE, name(REPOSITORY, ID), "")
    (found,) = await place.view().all()
    assert (found.id, found.load()) == (ID, (began(), BEGUN)) and found.damage
    assert ("what was recorded last may be missing" in found.damage) == (damage in ("about", "empty", "type", "gone"))
    log = await place.log()
    await log.add(READY)
    (found,) = await place.view().all()
    assert (found.load(), found.damage) == ((began(), BEGUN, READY), "")
    assert (await place.secret()).data == (await place.secret(f"{name(REPOSITORY, ID)}-copy")).data
    await place.view().delete(found)
    assert list(await place.view().all()) == []


async def test_who_carries_out_what_has_no_record_any_more_writes_nothing_and_says_what_to_do(place: Place) -> None:
    await place.view().create((began(), BEGUN))
    log = await place.log()
    for secret in await place.keeper().secrets(NAMESPACE, {}):
        await place.keeper().delete_secret(NAMESPACE, secret.name, "")
    with pytest.raises(ReleaseFailure, match="its record is gone") as refused:
        await log.add(READY)
    assert "wb release list STACK" in refused.value.hint and "wb rollback STACK" in refused.value.hint
    assert await place.view().find(ID) is None


async def test_a_record_that_was_set_back_is_not_believed(place: Place) -> None:
    await place.view().create((began(),))
    before = await place.secret()
    log = await place.log()
    await log.add(BEGUN)
    await place.put(before)
    (found,) = await place.view().all()
    assert found.load() == (began(), BEGUN) and "was set back" in found.damage
    await log.add(READY)
    assert await records(place) == (began(), BEGUN, READY), "who carries it out knows what it wrote"


@pytest.mark.parametrize("damage", ["records", "torn", "about", "type", "empty"])
async def test_a_record_that_is_damaged_with_its_copy_is_said_and_never_passed_over(place: Place, damage: str) -> None:
    await place.view().create((began(), PAUSE))
    for secret in await place.keeper().secrets(NAMESPACE, {}):
        left = harmed(secret, damage)
        assert left is not None
        await place.put(left)
    (found,) = await place.view().all()
    assert found.id == ID
    with pytest.raises(BrokenRecord):
        found.load()
    log = RolloutLog(place.view(), ID, await place.view().lock(ID, ANN))
    with pytest.raises(ReleaseFailure, match="the record") as refused:
        await log.take_over()
    for named in (name(REPOSITORY, ID), f"{name(REPOSITORY, ID)}-copy", place.view().where):
        assert named in refused.value.hint
    for secret in await place.keeper().secrets(NAMESPACE, {}):
        await place.keeper().delete_secret(NAMESPACE, secret.name, "")  # as the hint says
    await place.view().create((began(),))
    assert await records(place) == (began(),)


async def test_what_a_newer_version_wrote_is_neither_read_from_the_copy_nor_written_over(place: Place) -> None:
    await place.view().create((began(),))
    secret = await place.secret()
    about = json.dumps({**json.loads(secret.data["about"]), "format": 2}).encode()
    await place.put(replace(secret, data={**secret.data, "about": about}))
    (found,) = await place.view().all()
    with pytest.raises(BrokenRecord, match="has format 2, this version reads 1"):
        found.load()
    log = RolloutLog(place.view(), ID, await place.view().lock(ID, ANN))
    with pytest.raises(ReleaseFailure) as refused:
        await log.take_over()
    assert refused.value.hint == "use that version of wb"
    assert (await place.secret()).data["about"] == about


async def test_a_foreign_object_with_the_labels_of_a_rollout_hides_none(place: Place) -> None:
    await place.view().create((began(),))
    secret = await place.secret()
    await place.keeper().create_secret(replace(secret, name="a-backup", data={"about": b"x"}, version=""))
    found = await place.view().find(ID)
    assert found is not None and found.load() == (began(),) and not found.is_stray
    (stray,) = [each for each in await place.view().all() if each.is_stray]
    assert stray.where.endswith("/a-backup")


async def test_a_copy_under_another_name_is_no_rollout_of_that_name(place: Place) -> None:
    await place.view().create((began(),))
    secret = await place.secret()
    labels = {key: OTHER if value == ID else value for key, value in secret.labels.items()}
    copy = replace(secret, name=name(REPOSITORY, OTHER), labels=labels, version="")
    await place.keeper().create_secret(copy)
    found = await place.view().find(OTHER)
    assert found is not None
    with pytest.raises(BrokenRecord, match="is a copy"):
        found.load()


def test_what_would_never_fit_is_refused_before_anything_is_begun() -> None:
    targets = tuple(Target("shop/prod", "east", os.urandom(40).hex()) for _ in range(MOST_BEGAN_BYTES // 40))
    large = replace(began(), stages=(replace(STAGE, batches=(targets,)),))
    with pytest.raises(ReleaseFailure, match=r"its record is too large: \d+ bytes compressed, and 350000 are kept"):
        pack((large,), 0, namespace=NAMESPACE, repository=REPOSITORY)


async def test_an_answer_that_was_lost_is_no_second_record(tmp_path: Path) -> None:
    class Losing(FolderKeeper):
        lost = 0

        async def replace_secret(self, secret: StoredSecret) -> str:
            version = await super().replace_secret(secret)
            if self.lost:
                self.lost -= 1
                raise Unreachable("connection reset", target="hz", is_uncertain=True)
            return version

    keeper = Losing(tmp_path)
    kept = StoredRollouts(keeper, NAMESPACE, REPOSITORY, timing())
    await kept.create((began(),))
    log = RolloutLog(kept, ID, await kept.lock(ID, ANN))
    await log.take_over()
    keeper.lost = 1
    await log.add(BEGUN)
    await log.add(READY)
    found = await kept.find(ID)
    assert found is not None and found.load() == (began(), BEGUN, READY)
