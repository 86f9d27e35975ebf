"""Release records: complete or not there, sealed, and never lost to one bad file."""

from __future__ import annotations

import errno
import os
import random
import stat
import tracemalloc
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from runtimes.base import Address, KubernetesId, RuntimeType, TerraformId
from tests.sizes import size
from tests.workbench.engine.fake_cluster import EPOCH
from tests.workbench.engine.world import STACK
from workbench.engine.errors import ReleaseFailure
from workbench.engine.events import Action, ApplyFinished, Event, Outcome, StepFailed, StepFinished, StepSkipped
from workbench.engine.masking import Seal
from workbench.engine.release import Folding, Phase, Release, ReleasedResource, StepEnd, StepState, fold
from workbench.project import ProjectName, StackName, StackPath
from workbench.release import ReleaseStore, files
from workbench.release.encoding import MOST_EVENT_BYTES, BrokenRecord, decode, encode

A = Address("hz", KubernetesId("v1", "ConfigMap", "shop", "a"))
B = Address("hz", KubernetesId("apps/v1", "Deployment", "shop", "b"))
T = Address("tf", TerraformId("hashicorp", "aws", "aws_s3_bucket", "logs"))


def release(revision: int = 1) -> Release:
    resources = [
        ReleasedResource(A, RuntimeType.KUBERNETES, Action.CREATE, StepState.INTENDED, attributes={"data": {"ä": "1"}}),
        ReleasedResource(
            B,
            RuntimeType.KUBERNETES,
            Action.UPDATE,
            StepState.INTENDED,
            "uid-b",
            {"spec": {"replicas": 2}},
            {"spec": {"replicas": 1}},
            (A.id, T.id),
        ),
        ReleasedResource(T, RuntimeType.TERRAFORM, Action.DELETE, StepState.INTENDED, "uid-t"),
    ]
    return Release(
        str(STACK),
        revision,
        Phase.APPLYING,
        "p-1",
        "ann",
        "box",
        EPOCH,
        None,
        {each.address: each for each in resources},
    )


@pytest.fixture
def store(tmp_path: Path) -> ReleaseStore:
    return ReleaseStore(tmp_path / "state", Path("/repo"))


def written(store: ReleaseStore, revision: int) -> Path:
    lock = store.lock(STACK, user="ann", host="box")
    store.journal(STACK, release(revision), lock)
    lock.release()
    return store.folder(STACK) / f"{revision}.json"


def test_a_release_survives_being_written() -> None:
    assert decode(encode(release())) == release()
    done = ApplyFinished(EPOCH + timedelta(seconds=5), Outcome.SUCCEEDED, 1, 5.0, 1, 0, 0)
    assert decode(encode(fold(release(), done))).finished == EPOCH + timedelta(seconds=5)


def test_events_amount_to_the_same_one_by_one_and_at_once() -> None:
    rng = random.Random(5)
    for _ in range(200):
        events: list[StepEnd] = []
        for address, action in ((A, Action.CREATE), (B, Action.UPDATE), (T, Action.DELETE)):
            ends: list[StepEnd] = [
                StepFinished(EPOCH, address, action, 0.1, "uid"),
                StepFailed(EPOCH, address, action, 0.1, "Rejected", "no"),
                StepSkipped(EPOCH, address, action, None),
            ]
            events.append(rng.choice(ends))
        # what was done may be found not to be recorded where it was
        events += [StepFailed(EPOCH, each.address, each.action, 0.2, "Lost", "gone") for each in events
                   if isinstance(each, StepFinished) and rng.random() < 0.5]  # fmt: skip
        one_by_one, folding = release(), Folding(release())
        for each in events:
            one_by_one = fold(one_by_one, each)
            folding.take(each)
        assert folding.release == fold(release(), *events) == one_by_one
        failed = {each.address for each in events if isinstance(each, StepFailed)}
        assert {each.address for each in one_by_one.events} == {each.address for each in events}
        assert failed <= {each.address for each in one_by_one.events if isinstance(each, StepFailed)}


def test_the_journal_follows_the_events(store: ReleaseStore) -> None:
    lock = store.lock(STACK, user="ann", host="box")
    journal = store.journal(STACK, release(), lock)
    intent = store.latest(STACK)
    assert intent is not None and intent.phase is Phase.APPLYING
    assert {each.state for each in intent.resources.values()} == {StepState.INTENDED}
    journal.record(StepFinished(EPOCH, A, Action.CREATE, 0.1, "uid-a"))
    journal.record(StepFailed(EPOCH, B, Action.UPDATE, 0.1, "Rejected", "no"))
    journal.record(StepFinished(EPOCH, T, Action.DELETE, 0.1))
    journal.record(ApplyFinished(EPOCH, Outcome.PARTIAL, 1, 1.0, 2, 1, 0))
    lock.release()
    found = store.latest(STACK)
    assert found == journal.release
    assert found is not None and found.phase is Phase.PARTIAL
    assert set(found.resources) == {A, B}, "what is deleted is no longer owned"
    assert (found.resources[A].uid, found.resources[A].applied) == ("uid-a", {"data": {"ä": "1"}})
    assert found.resources[B].applied == {"spec": {"replicas": 1}}, "a refused change leaves what was there"
    assert found.resources[B].error == "no"


def test_a_step_that_was_not_tried_leaves_things_as_they_were(store: ReleaseStore) -> None:
    lock = store.lock(STACK, user="ann", host="box")
    journal = store.journal(STACK, release(), lock)
    journal.record(StepSkipped(EPOCH, A, Action.CREATE, None))
    journal.record(StepSkipped(EPOCH, B, Action.UPDATE, A))
    lock.release()
    assert A not in journal.release.resources
    assert journal.release.resources[B].applied == {"spec": {"replicas": 1}}


def test_stacks_and_check_outs_are_kept_apart(tmp_path: Path) -> None:
    one, other = ReleaseStore(tmp_path, Path("/a/repo")), ReleaseStore(tmp_path, Path("/b/repo"))
    written(one, 1)
    assert other.latest(STACK) is None
    assert one.latest(StackPath(STACK.project, StackName("dev"))) is None
    names = ["../../etc", "a/b", "a-b", ".", "x" * 300, "päy", "a b"]
    folders = {one.folder(StackPath(ProjectName(name), StackName("s"))) for name in names}
    assert len(folders) == len(names)
    assert all(
        each.parent.parent == one.folder(STACK).parent.parent and len(each.parent.name) < 120 for each in folders
    )


def test_only_the_owner_may_read_records_and_key(store: ReleaseStore, tmp_path: Path) -> None:
    path = written(store, 1)
    store.seal()
    for each in (path, tmp_path / "state" / "release.key"):
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0


def test_the_key_is_made_once(store: ReleaseStore, tmp_path: Path) -> None:
    assert store.seal().digest("x") == store.seal().digest("x") != Seal.random().digest("x")
    (tmp_path / "state" / "release.key").write_bytes(b"short")
    with pytest.raises(ReleaseFailure, match="is not a key"):
        store.seal()


def test_any_damage_to_the_newest_record_is_named_and_the_one_before_is_used(store: ReleaseStore) -> None:
    written(store, 1)
    path = written(store, 2)
    whole = path.read_bytes()
    dice = random.Random(1)
    passed_over = 0
    for _ in range(size(300, 5_000)):
        damaged = bytearray(whole)
        if dice.random() < 0.5:
            del damaged[dice.randrange(len(damaged)) :]
        else:
            damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
        path.write_bytes(bytes(damaged))
        found = store.latest(STACK)
        assert found is not None
        if found.revision == 2:
            assert found == release(2), "damage that changes nothing, such as in a blank"
        else:
            assert found == replace(release(1), warnings=found.warnings)
            assert "2.json" in found.warnings[0] and "passed over" in found.warnings[0]
            passed_over += 1
    assert passed_over > size(200, 3_000), "most damage is no blank"
    assert store.next_revision(STACK) == 3, "the number of a damaged record is not used again"


def test_when_no_record_can_be_read_it_is_a_failure_not_a_fresh_start(store: ReleaseStore) -> None:
    written(store, 1).write_bytes(b"{}")
    with pytest.raises(ReleaseFailure, match="is not a release record"):
        store.latest(STACK)


def test_a_record_of_another_format_is_not_misread() -> None:
    with pytest.raises(BrokenRecord, match="has format 9"):
        decode(encode(release()).replace(b'"format": 1', b'"format": 9'))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("call", ["fsync", "replace", "open", "open of the log"])
def test_a_disk_that_fails_leaves_what_was_there_and_says_what_to_do(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch, code: int, call: str
) -> None:
    lock = store.lock(STACK, user="ann", host="box")
    journal = store.journal(STACK, release(), lock)
    before = (store.folder(STACK) / "1.json").read_bytes()
    is_end = call in ("replace", "open")
    event: Event = (
        ApplyFinished(EPOCH, Outcome.PARTIAL, 1, 1.0, 1, 0, 0)
        if is_end
        else StepFinished(EPOCH, A, Action.CREATE, 0.1, "uid-a")
    )
    real = os.open

    def broken(*args: object, **kwargs: object) -> int:
        if call.startswith("open") and str(args[0]).endswith(".log") != (call == "open of the log"):
            return real(*args, **kwargs)  # type: ignore[arg-type]
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, call.removesuffix(" of the log"), broken)
        with pytest.raises(ReleaseFailure) as failure:
            journal.record(event)
    assert os.strerror(code) in failure.value.message
    assert "WB_STATE_DIR" in failure.value.hint
    assert (store.folder(STACK) / "1.json").read_bytes() == before
    assert not {*os.listdir(store.folder(STACK))} - {"1.json", "1.log", "lock", "lock.guard"}, "no litter"
    journal.record(StepFinished(EPOCH, T, Action.DELETE, 0.1))
    assert store.latest(STACK) == journal.release, "the next write holds what the failed one did not"
    lock.release()


def test_a_crash_at_any_byte_of_the_log_loses_at_most_the_step_being_written(store: ReleaseStore) -> None:
    lock = store.lock(STACK, user="ann", host="box")
    journal = store.journal(STACK, release(), lock)
    states = [journal.release]
    for event in (
        StepFinished(EPOCH, A, Action.CREATE, 0.1, "uid-a"),
        StepFailed(EPOCH, B, Action.UPDATE, 0.1, "Rejected", "nö", "hint"),
        StepFinished(EPOCH, T, Action.DELETE, 0.1),
    ):
        journal.record(event)
        states.append(journal.release)
    log = store.folder(STACK) / "1.log"
    whole = log.read_bytes()
    for length in range(len(whole) + 1):
        log.write_bytes(whole[:length])
        found = store.latest(STACK)
        assert found == states[(whole[:length] + b"\n").count(b"}\n")]
    log.write_bytes(whole)
    journal.record(ApplyFinished(EPOCH, Outcome.PARTIAL, 1, 1.0, 2, 1, 0))
    assert not log.exists()
    log.write_bytes(whole)  # the crash came between writing the record and removing the log
    assert store.latest(STACK) == journal.release
    lock.release()


def test_a_log_without_line_ends_is_not_held_to_find_out_that_it_says_nothing(store: ReleaseStore) -> None:
    lock = store.lock(STACK, user="ann", host="box")
    journal = store.journal(STACK, release(), lock)
    journal.record(StepFinished(EPOCH, A, Action.CREATE, 0.1, "uid-a"))
    length = 12 * MOST_EVENT_BYTES
    with (store.folder(STACK) / "1.log").open("r+b") as log:
        log.truncate(length)
    tracemalloc.start()
    try:
        assert store.latest(STACK) == journal.release
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < length / 2
    lock.release()


@pytest.mark.parametrize("end", [b"", b"x" * 9, b"x" * 40])
def test_half_a_line_is_cut_however_long_it_is_and_half_one_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes
) -> None:
    monkeypatch.setattr(files, "_TAIL_BYTES", 8)
    path = tmp_path / "lines"
    for begin in (b"", b"one\n", b"one\ntwo\n"):
        path.write_bytes(begin + end)
        handle = files.open_to_append(path)
        files.append_line(handle, b"last\n", path)
        assert path.read_bytes() == begin + end + (b"\n" if end else b"") + b"last\n"
        path.write_bytes(begin + end)
        files.end_torn_line(handle)
        os.close(handle)
        assert path.read_bytes() == begin
        assert list(files.lines(path, 2)) == [each[:2] for each in begin.split(b"\n") if each]


def test_a_revision_is_never_written_over(store: ReleaseStore) -> None:
    written(store, 1)
    with pytest.raises(ReleaseFailure, match="such a release already"):
        written(store, 1)
