"""A state that is empty, torn, gone, older or another's is put back, or what it lost is looked for: nothing is twice.

Which damage and which copies are left are the two axes; the law for all of them: nothing that exists is planned to be
created, and what can't be found out is an error with the count.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runtimes.base import PlannedAction, Resource, RuntimeFailure, TerraformId, WorkspacePlan, WorkspacePlanRequest
from runtimes.terraform import last_state, restoring
from runtimes.terraform import record as run_record
from runtimes.terraform.folder import Folder
from runtimes.terraform.last_state import Condition, LastState
from runtimes.terraform.process import ProcessMark
from runtimes.terraform.record import Record
from runtimes.terraform.runtime import TerraformRuntime
from runtimes.terraform.state import PriorState, Recorded, read_prior
from tests.runtimes.terraform.direct import data
from tests.runtimes.terraform.practice import TERRAFORM, Place, actions, anything, bucket, needs_terraform, network

pytestmark = needs_terraform

NONE, CREATE, IMPORT = PlannedAction.NONE, PlannedAction.CREATE, PlannedAction.IMPORT
DATA = tuple(data(name, input=name) for name in ("a", "b", "c"))
EMPTY_OF_ANOTHER = '{"version": 4, "terraform_version": "1.11.4", "serial": 9, "lineage": "other", "resources": []}'


def emptied(state: Path) -> None:
    state.write_bytes(b"")


def torn(state: Path) -> None:
    content = state.read_bytes()
    state.write_bytes(content[: len(content) // 2])


def deleted(state: Path) -> None:
    state.unlink()


def garbled(state: Path) -> None:
    state.write_bytes(b"\x00\xff<<<<<<< ours\n")


def older(state: Path) -> None:
    state.write_bytes((state.parent / "older.tfstate").read_bytes())


def foreign(state: Path) -> None:
    state.write_text(EMPTY_OF_ANOTHER)


def edited(state: Path) -> None:
    document = json.loads(state.read_bytes())
    document["resources"] = document["resources"][:1]
    state.write_text(json.dumps(document))


DAMAGES: tuple[Callable[[Path], None], ...] = (emptied, torn, deleted, garbled, older, foreign, edited)


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory, mirror: Path) -> Folder:
    """Two resources were applied, then a third."""
    import asyncio

    folder = tmp_path_factory.mktemp("applied") / "folder"

    async def prepare() -> None:
        runtime = TerraformRuntime.connect(folder=folder)
        for resources in (DATA[:2], DATA):
            if (folder / "terraform.tfstate").exists():
                shutil.copy(folder / "terraform.tfstate", folder / "older.tfstate")
            async with runtime.apply_all(WorkspacePlanRequest(resources), anything) as run:
                await run.outcome()

    asyncio.run(prepare())
    return Folder(folder)


def copied(applied: Folder, tmp_path: Path, *, copy: bool = True, backup: bool = True, look: bool = True) -> Folder:
    shutil.copytree(applied.path, tmp_path / "folder", symlinks=True)
    folder = Folder(tmp_path / "folder")
    if not copy:
        folder.state_copy.unlink()
    if not backup:
        folder.path.joinpath("terraform.tfstate.backup").unlink()
    if not look:
        folder.seen.unlink()
    return folder


async def planned(folder: Folder, *resources: Resource, **request: object) -> WorkspacePlan:
    runtime = TerraformRuntime.connect(folder=folder.path)
    return await runtime.survey(WorkspacePlanRequest(resources, **request))  # type: ignore[arg-type]  # as handed in


RELEASED = {each.id: "" for each in DATA}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_state_is_put_back_from_the_copy_and_said_to_be(
    applied: Folder, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    folder = copied(applied, tmp_path)
    whole = folder.state.read_bytes()
    damage(folder.state)
    found = await planned(folder, *DATA, released=RELEASED)
    assert actions(found) == {"a": NONE, "b": NONE, "c": NONE}
    assert folder.state.read_bytes() == whole
    assert len(found.cautions) == 1 and "with 3 resources" in found.cautions[0], found.cautions
    again = await planned(folder, *DATA, released=RELEASED)
    assert again.cautions == found.cautions, "it is said until an apply has ended well"


async def test_where_only_terraforms_backup_is_left_what_came_after_it_is_looked_for(
    applied: Folder, tmp_path: Path
) -> None:
    folder = copied(applied, tmp_path, copy=False)
    emptied(folder.state)
    found = await planned(folder, *DATA, released=RELEASED)
    assert actions(found) == {"a": NONE, "b": NONE, "c": IMPORT}
    assert "from terraform.tfstate.backup" in found.cautions[0] and "1 of 3 resources" in found.cautions[1]


@pytest.mark.parametrize("is_seen", [True, False], ids=["seen", "never seen"])
async def test_what_no_copy_has_is_looked_for_under_the_ids_it_had(
    applied: Folder, tmp_path: Path, is_seen: bool
) -> None:
    uids = {each.id: uid for each in DATA for uid in [(last_state.load(applied) or LastState()).resources[as_id(each)]]}
    folder = copied(applied, tmp_path, copy=False, backup=False, look=is_seen)
    emptied(folder.state)
    found = await planned(folder, *DATA, released=RELEASED if is_seen else uids)
    assert actions(found) == {"a": IMPORT, "b": IMPORT, "c": IMPORT}
    assert {each.id: each.import_id for each in found.resources} == uids
    assert "lost 3 of 3 resources" in found.cautions[0]


async def test_what_cannot_be_looked_for_is_refused_with_the_count_until_it_is_accepted(
    applied: Folder, tmp_path: Path
) -> None:
    folder = copied(applied, tmp_path, copy=False, backup=False, look=False)
    deleted(folder.state)
    for _ in range(2):  # what is refused once is refused again
        found = await planned(folder, *DATA, released=RELEASED)
        assert not found.resources
        (error,) = [each for each in found.findings if each.is_error]
        assert "lost 3 of 3 resources" in error.message and "--accept-lost" in error.detail
    accepted = await planned(folder, *DATA, released=RELEASED, accepts_lost=True)
    assert actions(accepted) == {"a": CREATE, "b": CREATE, "c": CREATE}
    assert "3 of 3 resources" in accepted.cautions[0]


async def test_what_the_stack_no_longer_has_and_the_state_lost_is_not_nothing_to_do(
    applied: Folder, tmp_path: Path
) -> None:
    folder = copied(applied, tmp_path, copy=False, backup=False)
    emptied(folder.state)
    for _ in range(2):
        found = await planned(folder)
        (error,) = [each for each in found.findings if each.is_error]
        assert "lost 3 of 3 resources" in error.message
    assert not [each for each in (await planned(folder, accepts_lost=True)).findings if each.is_error]


async def test_a_torn_state_without_a_copy_is_said_to_be_torn_and_left_for_a_person(
    applied: Folder, tmp_path: Path
) -> None:
    folder = copied(applied, tmp_path, copy=False, backup=False)
    torn(folder.state)
    before = folder.state.read_bytes()
    with pytest.raises(RuntimeFailure, match="the state can't be read") as caught:
        await planned(folder, *DATA)
    assert str(folder.path) in caught.value.hint
    assert folder.state.read_bytes() == before
    with pytest.raises(RuntimeFailure):
        await TerraformRuntime.connect(folder=folder.path).owned({})


async def test_a_state_of_a_newer_format_is_not_torn_and_stays(applied: Folder, tmp_path: Path) -> None:
    """Somebody's newer terraform wrote it, and knows more than any copy."""
    folder = copied(applied, tmp_path)
    document = json.loads(folder.state.read_bytes())
    folder.state.write_text(json.dumps({**document, "version": 5, "serial": document["serial"] + 1}))
    before = folder.state.read_bytes()
    with pytest.raises(RuntimeFailure, match="of format 5, not 4"):
        await planned(folder, *DATA, released=RELEASED)
    assert folder.state.read_bytes() == before


@pytest.mark.parametrize(
    ("swallowed", "message"),
    [
        ('[ "$1" = plan ] && exit 0', "asked to plan and ended with code 0"),
        ("""[ "$1" = show ] && { echo '{"format_version": "1.2"}'; exit 0; }""", "lacks what it planned"),
        ("""[ "$1" = show ] && { echo hello; exit 0; }""", "can't be read"),
    ],
)
async def test_a_terraform_whose_words_are_lost_has_not_said_that_nothing_changes(
    applied: Folder, tmp_path: Path, swallowed: str, message: str
) -> None:
    """As by a wrapper that is called terraform."""
    folder, wrapper = copied(applied, tmp_path), tmp_path / "terraform"
    wrapper.write_text(f'#!/bin/sh\n{swallowed}\nexec {TERRAFORM} "$@"\n')
    wrapper.chmod(0o755)
    runtime = TerraformRuntime.connect(folder=folder.path, binary=str(wrapper))
    with pytest.raises(RuntimeFailure, match=message):
        await runtime.survey(WorkspacePlanRequest(DATA[:2], released=RELEASED))


@pytest.mark.parametrize("said", ["", '{"format_version": "1.0", "provi', "[]", '{"provider_schemas": {"x": 1}}'])
async def test_schemas_that_are_cut_off_are_schemas_that_could_not_be_asked_for(
    applied: Folder, tmp_path: Path, said: str
) -> None:
    folder, wrapper = copied(applied, tmp_path), tmp_path / "terraform"
    folder.schemas.unlink(missing_ok=True)
    (tmp_path / "said").write_text(said)
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = providers ] && {{ touch {tmp_path}/asked; cat {tmp_path}/said; exit 0; }}\n'
        f'exec {TERRAFORM} "$@"\n'
    )
    wrapper.chmod(0o755)
    runtime = TerraformRuntime.connect(folder=folder.path, binary=str(wrapper))
    found = await runtime.survey(WorkspacePlanRequest(DATA, released=RELEASED))
    assert (tmp_path / "asked").exists() and not folder.schemas.exists()
    assert {each.action for each in found.resources} == {PlannedAction.NONE}


async def test_a_state_that_is_read_while_it_is_damaged_is_not_read_as_nothing(applied: Folder, tmp_path: Path) -> None:
    folder = copied(applied, tmp_path)
    emptied(folder.state)
    with pytest.raises(RuntimeFailure, match="had 3 resources"):
        await TerraformRuntime.connect(folder=folder.path).owned({})


async def test_what_terraform_itself_took_out_of_a_whole_state_is_no_damage(applied: Folder, tmp_path: Path) -> None:
    folder = copied(applied, tmp_path)
    document = json.loads(folder.state.read_bytes())
    document["resources"] = document["resources"][:2]
    document["serial"] += 1
    folder.state.write_text(json.dumps(document))
    found = await planned(folder, *DATA[:2], released=RELEASED)
    assert actions(found) == {"a": NONE, "b": NONE} and not found.cautions
    assert [each.is_error for each in found.findings] == [False]
    back = await planned(folder, *DATA, released=RELEASED)
    assert "c" not in actions(back), "the release has it, and by what to look for it is not known"


def as_id(resource: Resource) -> TerraformId:
    assert isinstance(resource.id, TerraformId)
    return resource.id


@pytest.mark.slow
async def test_what_exists_in_the_cloud_is_taken_over_and_what_does_not_is_made(place: Place) -> None:
    stack = (network("main"), bucket("invoices"))
    await place.apply(*stack)
    for path in (place.folder.state_copy, place.folder.state.with_name("terraform.tfstate.backup"), place.folder.state):
        path.unlink(missing_ok=True)
    with place.world.change() as content:
        (gone,) = content.objects["sandbox_bucket"]
        del content.objects["sandbox_bucket"][gone]
    found = await place.plan(*stack)
    assert actions(found) == {"main": IMPORT, "invoices": CREATE}
    assert "nothing exists any more" in next(each.reason for each in found.resources if each.id.name == "invoices")
    await place.apply(*stack)
    created = [(each["type"], each["id"]) for each in place.world.content().log if each["operation"] == "create"]
    assert sorted(type_ for type_, _ in created) == [
        "sandbox_bucket", "sandbox_bucket", "sandbox_network",
    ]  # fmt: skip


# What a state is against the one before


ONE = TerraformId("builtin", "terraform", "terraform_data", "one")
TWO = TerraformId("builtin", "terraform", "terraform_data", "two")


def state(lineage: str, serial: int, *ids: TerraformId) -> PriorState:
    from runtimes.terraform.names import BUILT_IN

    return PriorState({id_: Recorded(id_, f"terraform_data.{id_.name}", BUILT_IN, {}) for id_ in ids}, serial, lineage)


@pytest.mark.parametrize(
    ("found", "before", "expected", "is_damaged"),
    [
        (PriorState(), None, Condition.NOTHING, True),
        (PriorState(), LastState(), Condition.NOTHING, False),
        (PriorState(), LastState("l", 1), Condition.NOTHING, True),
        (None, None, Condition.UNREADABLE, True),
        (state("l", 3, ONE), None, Condition.WHOLE, False),
        (state("l", 3, ONE), LastState(), Condition.WHOLE, False),
        (state("l", 3, ONE), LastState("l", 3, {ONE: ""}), Condition.WHOLE, False),
        (state("l", 4), LastState("l", 3, {ONE: ""}), Condition.WHOLE, False),
        (state("l", 3), LastState("l", 3, {ONE: ""}), Condition.OLDER, True),
        (state("l", 2, ONE, TWO), LastState("l", 3, {ONE: ""}), Condition.OLDER, True),
        (state("m", 9, ONE), LastState("l", 3, {ONE: ""}), Condition.FOREIGN, True),
    ],
)
def test_a_state_is_judged_by_lineage_serial_and_what_it_has(
    found: PriorState | None, before: LastState | None, expected: Condition, is_damaged: bool
) -> None:
    assert last_state.condition(found, before) is expected
    assert last_state.is_damaged(expected, before) is is_damaged


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("backend s3 22aa", Condition.DIVERGED),
        ("terraform.tfstate", Condition.DIVERGED),
        ("backend s3 11ff", Condition.WHOLE),
        ("", Condition.WHOLE),
    ],
)
def test_what_is_gone_in_another_place_is_not_taken_for_deleted(place: str, expected: Condition) -> None:
    seen = LastState("l", 3, {ONE: ""}, place="backend s3 11ff")
    assert last_state.condition(state("l", 9, TWO), seen, place) is expected
    assert last_state.condition(state("l", 9, ONE), seen, place) is Condition.WHOLE, "all is there"
    assert not last_state.is_elsewhere(LastState("l", 3, place="backend s3"), "backend s3 11ff"), "of older versions"


def test_what_an_apply_deleted_is_not_put_back() -> None:
    document = {
        "version": 4,
        "resources": [
            {"mode": "managed", "type": "t", "name": "a", "instances": [{"attributes": {}}]},
            {"mode": "managed", "type": "t", "name": "b", "instances": [{"index_key": "x"}, {"index_key": 1}]},
            {"mode": "data", "type": "t", "name": "a", "instances": [{}]},
        ],
    }
    left = json.loads(restoring.without(json.dumps(document).encode(), {"t.a", 't.b["x"]'}))
    assert [(each["mode"], each["name"], each["instances"]) for each in left["resources"]] == [
        ("managed", "b", [{"index_key": 1}]),
        ("data", "a", [{}]),
    ]


def test_what_an_apply_deleted_before_it_was_killed_is_not_missed(applied: Folder, tmp_path: Path) -> None:
    folder = copied(applied, tmp_path)
    emptied(folder.state)
    restoring.put_back(folder, folder.state, {"terraform_data.c"})
    before, found = last_state.load(folder), read_prior(folder.state.read_bytes())
    assert {each.name for each in found.resources} == {"a", "b"}
    assert last_state.condition(found, before) is Condition.WHOLE


async def test_what_was_made_after_the_old_one_was_gone_is_looked_for_though_the_copy_has_the_old_one(
    applied: Folder, tmp_path: Path
) -> None:
    """An apply found `c` gone, made it again and was killed before the state said so; then the state was emptied."""
    folder = copied(applied, tmp_path)
    old = (last_state.load(folder) or LastState()).resources[as_id(DATA[2])]
    made = run_record.Creation(as_id(DATA[2]), "terraform_data.c", ("c",), former=old)
    serial = read_prior(folder.state.read_bytes()).serial
    dead = ProcessMark(2**22 + 1, "", socket.gethostname())
    run_record.save(folder, Record(dead, "then", (made,), {"terraform_data.c": as_id(DATA[2])}, (), serial))
    hooks = [("apply_start", ""), ("apply_complete", "11111111-2222-3333-4444-555555555555")]
    events = [
        {"type": type_, "hook": {"resource": {"addr": "terraform_data.c"}, "action": "create", "id_value": id_value}}
        for type_, id_value in hooks
    ]
    folder.apply_events.write_text("".join(json.dumps(each) + "\n" for each in events))
    emptied(folder.state)
    found = await planned(folder, *DATA, released=RELEASED)
    assert actions(found) == {"a": NONE, "b": NONE, "c": IMPORT}
    assert next(each.import_id for each in found.resources if each.import_id) == hooks[1][1]


async def test_what_a_killed_apply_made_is_in_the_copy_before_its_events_are_gone(
    applied: Folder, tmp_path: Path
) -> None:
    folder = copied(applied, tmp_path)
    document = json.loads(folder.state.read_bytes())
    folder.state.write_text(json.dumps({**document, "serial": document["serial"] + 1}))
    dead = ProcessMark(2**22 + 1, "", socket.gethostname())
    run_record.save(folder, replace(run_record.load(folder), process=dead))
    broken = tmp_path / "terraform"
    broken.write_text(f'#!/bin/sh\n[ "$1" = plan ] && exit 1\nexec {TERRAFORM} "$@"\n')
    broken.chmod(0o755)
    runtime = TerraformRuntime.connect(folder=folder.path, binary=str(broken))
    with pytest.raises(RuntimeFailure):
        await runtime.survey(WorkspacePlanRequest(DATA))
    assert not run_record.load(folder).is_open
    assert folder.state_copy.read_bytes() == folder.state.read_bytes()


def test_what_was_seen_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert last_state.load(folder) is None
    written = LastState("l", 3, {ONE: "i-1"}, {TWO: ""}, "put back")
    last_state.save(folder, written)
    assert last_state.load(folder) == written
    assert os.stat(folder.seen).st_mode & 0o077 == 0


SECRET = "-----BEGIN KEY-----\ncanary-one\ncanary-two\n-----END KEY-----"


@pytest.mark.parametrize(("before", "size"), [("panic: ", 0), ("x " * 990, 0), ("goroutine 1 [running]\n", 20_000_000)])
async def test_the_last_words_of_a_terraform_that_crashes_are_short_and_hold_no_secret(
    tmp_path: Path, before: str, size: int
) -> None:
    """Wherever the secret is cut off, and whatever it becomes when lines are joined."""
    wrapper, words = tmp_path / "terraform", tmp_path / "words"
    words.write_text(before * max(1, size // len(before)) + SECRET + "\nexit status 2\n")
    wrapper.write_text(f'#!/bin/sh\n[ "$1" = plan ] && {{ cat {words} >&2; exit 2; }}\nexec {TERRAFORM} "$@"\n')
    wrapper.chmod(0o755)
    runtime = TerraformRuntime.connect(folder=tmp_path / "folder", binary=str(wrapper))
    request = WorkspacePlanRequest((data("a", input=SECRET),), secrets=frozenset({SECRET}))
    with pytest.raises(RuntimeFailure, match="asked to plan and ended with code 2") as raised:
        await runtime.survey(request)
    assert "canary" not in str(raised.value) and "KEY" not in str(raised.value)
    assert 60 < len(str(raised.value)) < 2200
