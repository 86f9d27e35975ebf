"""Records that somebody edited by hand, with every checksum right again: each value in turn is replaced by what nobody
would write there. Whoever reads them says that they are broken, or works with them; nothing else is raised."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Address, ClusterIdentity, KubernetesId, RuntimeType, StoredSecret
from tests.workbench.engine.fake_cluster import EPOCH
from tests.workbench.release.places import AT, REPOSITORY
from tests.workbench.release.places import released as released_as
from tests.workbench.session.shop import Clusters, session, shop
from workbench.engine import plan_file
from workbench.engine.errors import EngineError, Locked, ReleaseFailure, StalePlan
from workbench.engine.events import Action, StepFailed, StepFinished, StepSkipped
from workbench.engine.plan_age import refuse_old
from workbench.engine.recovery.ledger import RunBegan, encode_run, encode_step
from workbench.engine.recovery.values import PodKey, Step, StepResult, StepState, Verb
from workbench.engine.release import ReleasedResource
from workbench.engine.release import StepState as ResourceState
from workbench.local import LocalState
from workbench.present import releases as present
from workbench.present.glyphs import ASCII
from workbench.project import ProjectName, StackName, StackPath
from workbench.release import ReleaseStore
from workbench.release.encoding import BrokenRecord, decode, decode_events, encode, encode_event
from workbench.release.lock import Lock
from workbench.release.recoveries import RecoveryStore
from workbench.release.stored_rollouts import _claim_name, claim_of
from workbench.tui.memory import DRAFTS, SCREENS, Memory

NOW = EPOCH + timedelta(days=1)
IDENTITY = ClusterIdentity(context="one", server="https://one", user="ann", uid="u-1", authority="a")
SETTINGS_TYPE = RuntimeType.KUBERNETES
SETTINGS = Address("hz", KubernetesId("v1", "ConfigMap", "shop", "settings"))
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    1e400,  # Infinity in JSON
    float("nan"),
    "",
    "x\x1b[2J",
    "2026-01-01T00:00:00",  # in no time zone
    "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+14:00",
    [],
    [[]],
    {},
    {"": {}},
)


def edits(content: Any) -> Iterator[Any]:
    """Yields the document with one of its values replaced, or left out."""
    for path in list(_paths(content)):
        for odd in ODD:
            changed = copy.deepcopy(content)
            _at(changed, path[:-1])[path[-1]] = odd
            yield changed
        if isinstance(path[-1], str):
            changed = copy.deepcopy(content)
            del _at(changed, path[:-1])[path[-1]]
            yield changed


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in entries:
        yield (*path, key)
        yield from _paths(below, (*path, key))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for each in path:
        value = value[each]
    return value


def test_a_release(tmp_path: Path) -> None:
    resource = ReleasedResource(
        SETTINGS,
        SETTINGS_TYPE,
        Action.CREATE,
        ResourceState.DONE,
        "u-7",
        {"data": {"a": "1"}},
        None,
        (SETTINGS.id,),
        "",
    )
    ends = (
        StepFinished(EPOCH, SETTINGS, Action.CREATE, 1.5, "u-7"),
        StepFailed(EPOCH, SETTINGS, Action.UPDATE, 1.5, "Rejected", "no", "why"),
        StepSkipped(EPOCH, SETTINGS, Action.UPDATE, SETTINGS),
    )
    made = released_as(
        resources=[resource], finished=NOW, clusters={"hz": IDENTITY}, salt=b"s" * 32, events=ends, reason="r"
    )
    for content in edits(json.loads(encode(made))["release"]):
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        record = {"format": 1, "checksum": hashlib.sha256(text.encode()).hexdigest(), "release": content}
        try:
            found = decode(json.dumps(record).encode())
        except BrokenRecord:
            continue
        present.rows([found], [found.revision], ASCII, NOW)
        list(present.about_lines(found, ASCII))
        encode(found)


def test_the_log_of_an_apply() -> None:
    for event in (
        StepFinished(EPOCH, SETTINGS, Action.CREATE, 1.5, "u-7"),
        StepSkipped(EPOCH, SETTINGS, Action.UPDATE, SETTINGS),
    ):
        for content in edits(json.loads(encode_event(event).partition(b" ")[2])):
            text = json.dumps(content).encode()
            line = hashlib.sha256(text).hexdigest()[:16].encode() + b" " + text + b"\n"
            try:
                list(decode_events(line.split(b"\n")))
            except BrokenRecord:
                continue


def test_a_release_that_was_put_into_the_place_of_another(tmp_path: Path) -> None:
    store = ReleaseStore(tmp_path / "state", tmp_path / "repo")
    other = StackPath(ProjectName("web"), StackName("other"))
    for stack, revision in ((other, 1), (StackPath(ProjectName("shop"), StackName("prod")), 2)):
        path = store.record_path(stack, revision)
        path.parent.mkdir(parents=True)
        path.write_bytes(encode(released_as(1)))
        with pytest.raises(ReleaseFailure, match="somebody put it there"):
            store.latest(stack)
        with pytest.raises(ReleaseFailure, match="somebody put it there"):
            store.release(stack, revision)


async def test_a_saved_plan(tmp_path: Path) -> None:
    root, file = shop(tmp_path / "repo"), tmp_path / "plan.json"
    async with session(root, Clusters("hz")) as opened:
        opened.save_plan(await opened.plan(opened.select("web/dev")), file)
    for content in edits(json.loads(file.read_text())):
        file.write_text(json.dumps(content))
        try:
            saved = plan_file.load(file, root)
            plan_file.completed(saved, None)
            refuse_old(saved.made_at, saved.expires_at, now=NOW, limit=timedelta(days=1), where=saved.stack)
        except (EngineError, StalePlan):
            continue


STEP = Step(
    id="hz/shop/web-1", cluster="hz", verb=Verb.EVICT, namespace="shop", kind="Pod", name="web-1", uid="u-1",
    pods=(PodKey("hz", "shop", "web-1"),), hostnames=("web.example",), identity=IDENTITY,
)  # fmt: skip
RUN = RunBegan(
    id="r-1", by="ann@box", at=EPOCH, phrase="recover", originals={"hz/shop/Deployment/web": frozenset({"u-1"})},
    left={"web.example": ("web-1",)}, open_until=NOW, clusters={"hz": IDENTITY},
)  # fmt: skip


@pytest.mark.parametrize("kind", ["step", "run"])
def test_the_ledger_of_a_recovery(kind: str, tmp_path: Path) -> None:
    store = RecoveryStore(tmp_path, tmp_path / "repo")
    path = store._path("0123456789abcdef")
    path.parent.mkdir(parents=True)
    step = encode_step(StepResult(STEP, StepState.STARTED, EPOCH, NOW, "web-2", 3.5))
    good = [json.dumps({"run": encode_run(RUN)}), json.dumps(step)]
    for content in edits(json.loads(good[0])["run"] if kind == "run" else json.loads(good[1])):
        line = json.dumps({"run": content} if kind == "run" else content)
        path.write_text("\n".join([*good, line, ""]))
        try:
            found = store.ledger("0123456789abcdef")
        except ReleaseFailure:
            continue
        recent = found.since(NOW)
        assert recent.originals is not None
        for each in found.runs:
            assert each.open_until is None or isinstance(each.open_until > NOW, bool)
        for result in found.steps:
            json.dumps(encode_step(result))


def test_a_claim_of_a_rollout() -> None:
    told = {"rollout": "r-1", "home": "hz", "by": "ann", "repository": REPOSITORY}
    for content in edits(told):
        secret = StoredSecret(AT.namespace, _claim_name(AT), "t", {}, {"claim": json.dumps(content).encode()})
        assert claim_of([secret], AT) is not None


def test_a_lock(tmp_path: Path) -> None:
    folder = tmp_path / "stack"
    Lock.acquire(folder, user="ann", host="box", clusters={"hz": IDENTITY})
    file = folder / "lock"
    for host in ("box", "elsewhere"):
        for content in edits({**json.loads(file.read_text()), "host": host}):
            file.write_text(json.dumps(content))
            try:
                Lock.acquire(folder, user="bob", host="box").release()
            except Locked as error:
                assert "\x1b" not in str(error)
            Lock.gone(folder, "box")


@pytest.mark.parametrize("name", [SCREENS, DRAFTS])
def test_what_the_screens_remember(name: str, tmp_path: Path) -> None:
    local = LocalState(tmp_path / "state", tmp_path / "repo")
    (tmp_path / "repo").mkdir()
    memory = Memory(local)
    local.store("first.json", {})
    at = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
    content: dict[str, Any] = {
        SCREENS: {"version": 1, "place": {"command": "diff web/dev", "filter": "a", "order": "b"},
                  "bookmarks": {"home": {"command": "fleet", "filter": "", "order": ""}}},
        DRAFTS: {"version": 1, "stacks": {"web/dev": {"at": at, "texts": {"a.k": "x"}, "originals": {"a.k": None}}}},
    }[name]  # fmt: skip
    for each in edits(content):
        local.path(name).write_text(json.dumps(each))
        memory.remembered()
        memory.drafts()
