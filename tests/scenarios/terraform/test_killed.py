"""wb, terraform or both are ended at moments of an apply: what was begun is found again, nothing exists twice.

Each life is a stack of its own in a world of its own, over an own cluster. A moment is told by what can be seen from
outside: files in the working folder, objects in the cluster and in the world.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from runtimes.sandbox.server import Sandbox
from runtimes.terraform import record
from runtimes.terraform.process import ProcessMark
from tests.scenarios.terraform.orders import NAMESPACE, SAMPLE, STACK, Orders, apply, ended
from workbench.engine.compiled import CompileInputs
from workbench.engine.events import ApplyFinished, Outcome, StepFailed

pytestmark = pytest.mark.slow

SEED = 20261121
LANES = 3
_REACHED_SECONDS = 90.0
_ATTEMPTS = 3

# A name in the cloud for what a cluster made of a name in the cloud: Terraform is run a second time for it.
SECOND_RUN = """
internal: cloud.Record {
    name = "orders-internal"
    zone = "${identity.STACK}.orchard.example"
    label = "internal"
    $type = "CNAME"
    values = [cloud.reference(
        "v1:Service:${identity.namespace(api.name)}:orders-database",
        "spec.externalName"
    )]
}
"""
WHOLE = {"sandbox_network": 1, "sandbox_database": 2, "sandbox_bucket": 1, "sandbox_dns_record": 3}


class Missed(Exception):
    """The apply was over before the moment was seen: this machine has other things to do."""


@dataclass(frozen=True)
class Life:
    """A stack with its world and cluster, looked at from outside while `wb` works on it."""

    orders: Orders

    @property
    def _folder(self) -> Path:
        (found,) = self.orders.state_dir.glob("terraform/*")
        return found / "orders/dev"

    def has(self, name: str) -> bool:
        return any(self.orders.state_dir.glob(f"terraform/*/orders/dev/{name}"))

    def told(self, what: str) -> int:
        """Returns how many events of a kind the running apply has told."""
        try:
            return (self._folder / "apply.jsonl").read_bytes().count(f'"type":"{what}"'.encode())
        except (OSError, ValueError):
            return 0

    def known(self) -> set[str]:
        return self.orders.recorded() if self.has("main.tf.json") else set()

    def applying(self) -> record.Record | None:
        if not self.has("run.json"):
            return None
        found = record.load(self.orders.folder)
        return found if found.is_open else None

    def in_cluster(self, resource: str, name: str) -> bool:
        space = "" if resource == "namespaces" else NAMESPACE
        return self.orders.sandbox.clusters[0].find(resource, space, name) is not None

    def made(self) -> int:
        return sum(self.orders.counts().values())

    def is_untold(self, kind: str) -> bool:
        """Whether the world has something of a kind, and no event told of it."""
        try:
            lines = (self._folder / "apply.jsonl").read_bytes().splitlines()
        except (OSError, ValueError):
            return False
        ended = any(b'"type":"apply_complete"' in each and f"sandbox_{kind}".encode() in each for each in lines)
        return not ended and len(self.orders.existing(kind)) > 0


def is_initialising(life: Life) -> bool:
    return life.has("main.tf.json")


def begun(count: int) -> Callable[[Life], bool]:
    return lambda life: life.told("apply_start") >= count


def finished(count: int) -> Callable[[Life], bool]:
    return lambda life: life.told("apply_complete") >= count


def there(resource: str, name: str) -> Callable[[Life], bool]:
    return lambda life: life.in_cluster(resource, name)


def planning_to_apply(life: Life) -> bool:
    return life.has("plan.jsonl") and life.in_cluster("namespaces", NAMESPACE)


def planning_the_second_run(life: Life) -> bool:
    return life.has("plan.jsonl") and life.in_cluster("services", "orders-database")


def between_runs(life: Life) -> bool:
    return life.in_cluster("services", "orders-database") and life.applying() is None


def in_the_second_run(life: Life) -> bool:
    return life.in_cluster("services", "orders-database") and life.told("apply_start") == 1


def about_to_start(life: Life) -> bool:
    return life.applying() is not None


def replaced_half(life: Life) -> bool:
    return "orders-dev" not in life.orders.existing("database")


def replaced_whole(life: Life) -> bool:
    return life.orders.existing("database").get("orders-dev", {}).get("zone") == "b"


@dataclass(frozen=True)
class Moment:
    """`who` is wb, terraform or both. `replaces`: what is applied makes the database again, over a stack that is whole.
    `jitter_seconds`: up to so long after what is waited for. `is_fresh`: the folder was not initialised before."""

    name: str
    who: str
    number: signal.Signals
    is_reached: Callable[[Life], bool]
    replaces: bool = False
    jitter_seconds: float = 0.0
    is_fresh: bool = False

    def __str__(self) -> str:
        return f"{self.name}, {self.number.name} to {self.who}"


KILL, INT, TERM = signal.SIGKILL, signal.SIGINT, signal.SIGTERM

ALL = os.environ.get("KONFIG_WORKBENCH_KILL_MOMENTS") == "all"
FEW = (12, 25)
"""By default two lives, in which wb, terraform and both are ended; random moments are in `test_random_kills`."""
MOMENTS = (
    Moment("as it starts", "wb", KILL, lambda life: True, jitter_seconds=0.5, is_fresh=True),
    Moment("initialising", "wb", KILL, is_initialising, is_fresh=True),
    Moment("initialising", "both", KILL, is_initialising, jitter_seconds=0.3, is_fresh=True),
    Moment("planning", "wb", KILL, lambda life: life.has("plan.jsonl"), jitter_seconds=0.5),
    Moment("planning", "terraform", KILL, lambda life: life.has("plan.jsonl")),
    Moment("the plan is saved", "wb", TERM, lambda life: life.has("plan.tfplan")),
    Moment("the first object is written", "wb", KILL, there("namespaces", NAMESPACE)),
    Moment("objects are written", "wb", TERM, there("ingresses.networking.k8s.io", "orders-api")),
    Moment("planning to apply", "terraform", KILL, planning_to_apply),
    Moment("planning to apply", "both", KILL, planning_to_apply, jitter_seconds=0.5),
    Moment("the record is opened", "wb", KILL, about_to_start),
    Moment("the record is opened", "both", KILL, about_to_start, jitter_seconds=0.3),
    Moment("1 begun", "terraform", KILL, begun(1)),
    Moment("3 begun", "terraform", KILL, begun(3), jitter_seconds=0.3),
    Moment("3 begun", "wb", KILL, begun(3)),
    Moment("5 begun", "both", KILL, begun(5), jitter_seconds=0.3),
    Moment("5 begun", "terraform", INT, begun(5)),
    Moment("1 finished", "wb", INT, finished(1)),
    Moment("3 finished", "both", KILL, finished(3)),
    Moment("4 finished", "terraform", TERM, finished(4)),
    Moment("5 finished", "terraform", KILL, finished(5)),
    Moment("made and not told", "terraform", KILL, lambda life: life.is_untold("network")),
    Moment("the state is written", "both", KILL, lambda life: life.has("terraform.tfstate")),
    Moment("between two runs", "wb", KILL, between_runs),
    Moment("planning the second run", "terraform", KILL, planning_the_second_run),
    Moment("in the second run", "both", KILL, in_the_second_run, jitter_seconds=0.3),
)
REPLACEMENTS = (
    Moment("the old one is gone", "terraform", KILL, replaced_half, replaces=True),
    Moment("the old one is gone", "both", KILL, replaced_half, replaces=True, jitter_seconds=0.3),
    Moment("the new one is there", "both", KILL, replaced_whole, replaces=True),
    Moment("the old one is gone", "wb", KILL, replaced_half, replaces=True),
)


async def test_whoever_is_killed_when_nothing_is_lost_and_nothing_exists_twice(
    tmp_path: Path, mirror: Path, cache: Path, initialised: Path
) -> None:
    root = tmp_path / "konfig"
    shutil.copytree(SAMPLE, root)
    base = root / "storefront/orders/base/base.k"
    text = base.read_text()
    for old, new in (('    name = "orders"\n    sizeGB', '    name = "orders"\n    zone = _zone\n    sizeGB'),):
        assert text.count(old) == 1
        text = text.replace(old, new)
    text = text.replace("\n_password", '\n_zone = option("zone", default="a")\n_password', 1)
    base.write_text(text + SECOND_RUN)

    lanes = asyncio.Semaphore(LANES)
    rng = random.Random(SEED)

    async def run(index: int, *moments: Moment) -> list[str]:
        """Returns what failed."""
        for attempt in range(_ATTEMPTS):
            with contextlib.suppress(Missed):
                return await live(f"{index}-{attempt}", *moments)
        return [f"{moments}: missed {_ATTEMPTS} times"]

    async def live(name: str, *moments: Moment) -> list[str]:
        waits = [rng.uniform(0, each.jitter_seconds) for each in moments]
        home = tmp_path / f"life-{name}"
        home.mkdir()
        async with lanes, Sandbox(clusters=2, seed=1) as sandbox:
            orders = Orders(root, home, mirror, sandbox, cache)
            if not moments[0].is_fresh:
                orders.initialise(initialised)
            try:
                for moment, wait in zip(moments, waits, strict=True):
                    try:
                        await _live(Life(orders), moment, wait)
                    except Missed:
                        raise
                    except Exception as error:  # each moment is to be told of, not only the first that fails
                        return [f"{moment} + {wait:.3f} s: {type(error).__name__}: {error}"]
            finally:
                await orders.close()
        return []

    last = len(MOMENTS) - len(REPLACEMENTS)
    lives = [[each] for each in MOMENTS]
    for life, replacement in zip(lives[last:], REPLACEMENTS, strict=True):
        life.append(replacement)
    lives = lives if ALL else [lives[index] for index in FEW]
    assert {moment.who for life in lives for moment in life} == {"wb", "terraform", "both"}
    ends = await asyncio.gather(*(run(index, *life) for index, life in enumerate(lives)))
    failed = [each for end in ends for each in end]
    count = sum(map(len, lives))
    assert not failed, f"{len(failed)} of {count} moments (seed {SEED}):\n" + "\n".join(failed)


async def _live(life: Life, moment: Moment, wait: float) -> None:
    orders = life.orders
    orders.order(
        {"operation": "create", "latency_seconds": 0.5},
        {"operation": "delete", "latency_seconds": 0.5},
        {"operation": "create", "type": "sandbox_network", "latency_seconds": 0.5},
        {"operation": "create", "id": "internal", "latency_seconds": 0.5},
    )
    options = ("-D", "zone=b") if moment.replaces else ()
    process = await orders.start("apply", STACK, "--yes", "--confirm", STACK, "--no-watch", *options)
    talk = asyncio.create_task(ended(process))
    try:
        await asyncio.to_thread(_end_at, life, moment, wait, process)
        end = await talk
        assert "Traceback" not in end.text, end.err[-2000:]
        if moment.who == "both":
            assert end.code == -KILL
    finally:
        if process.returncode is None:
            process.kill()
        await asyncio.gather(talk, return_exceptions=True)
    if (left := life.applying()) is not None and left.process is not None:
        await _gone(left.process)
    known, existing = life.known(), _identities(orders)

    # what went wrong is over; what was killed may have used it up or not
    orders.order()
    await _completed(orders, "b" if moment.replaces else "a")
    assert known <= life.known(), f"the state has lost {known - life.known()}"
    for key, identity in _identities(orders).items():
        is_replaced = moment.replaces and key == ("sandbox_database", "orders-dev") and identity[1] == "b"
        was_replaced = existing.get(key, ("", ""))[1] == "b"
        assert (is_replaced and not was_replaced) or existing.get(key, identity) == identity, (
            f"{key} was made again: {identity}"
        )
    _nothing_twice(orders, moment)


def _nothing_twice(orders: Orders, moment: Moment) -> None:
    content = orders.world.content()
    created = [(each["type"], each["id"]) for each in content.log if each["operation"] == "create"]
    deleted = [(each["type"], each["id"]) for each in content.log if each["operation"] == "delete"]
    if moment.replaces:
        created.remove(("sandbox_database", "orders-dev"))
        assert deleted == [("sandbox_database", "orders-dev")]
    else:
        assert not deleted, "what was there was deleted"
    assert len(created) == len(set(created)) == 7, created


async def _completed(orders: Orders, zone: str) -> None:
    """Plans and applies as the next one does; then the world is what the configuration says."""
    session = orders.session()
    stack = session.select(STACK)
    plan = await session.plan(stack, CompileInputs({"zone": zone}))
    assert not plan.is_refused, [*plan.problems, *(each for each in plan.guards if not each.passed)]
    if not plan.is_empty:
        events = await apply(session, plan)
        end = events[-1]
        failed = [each for each in events if isinstance(each, StepFailed)]
        assert isinstance(end, ApplyFinished) and end.outcome is Outcome.SUCCEEDED, (end, failed, plan.warnings)
    assert orders.counts() == WHOLE and not orders.absent()
    assert not record.load(orders.folder).is_open and not record.load(orders.folder).doubts
    database, reports = orders.one("database", "orders-dev"), orders.one("database", "reports-dev")
    assert (database["zone"], database["size_gb"], reports["size_gb"]) == (zone, 20, 10)
    assert orders.live("services", NAMESPACE, "orders-database")["spec"]["externalName"] == database["address"]
    assert orders.one("dns_record", "internal")["values"] == [database["address"]]
    assert orders.one("dns_record", "reports")["values"] == [reports["address"]]
    assert len(orders.recorded()) == 7
    document = json.loads(orders.folder.state.read_bytes())
    addresses = {
        instance["attributes"]["address"]
        for each in document["resources"]
        if each["type"] == "sandbox_database"
        for instance in each["instances"]
    }
    assert addresses == {database["address"], reports["address"]}, "the state knows what is there"


def _identities(orders: Orders) -> dict[tuple[str, str], tuple[str, str]]:
    """Returns by type and name what tells a thing from one that was recreated, and its zone."""
    return {
        (type_, f"{each['name']}-{each.get('type', '')}" if "values" in each else each["name"]): (
            f"{id_} {each.get('address', '')}",
            str(each.get("zone", "")),
        )
        for type_, objects in orders.world.content().objects.items()
        for id_, each in objects.items()
    }


def _end_at(life: Life, moment: Moment, wait: float, process: asyncio.subprocess.Process) -> None:
    """Runs in a thread of its own: moments are short, and the event loop plans other lives meanwhile."""
    deadline = time.monotonic() + _REACHED_SECONDS
    victims: Sequence[int] = ()
    while not moment.is_reached(life) or not (victims := _victims(moment, process.pid)):
        if process.returncode is not None:
            raise Missed
        assert time.monotonic() < deadline, "the moment did not come"
        time.sleep(0.003)
    if wait:
        time.sleep(wait)
        victims = _victims(moment, process.pid) or victims
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, moment.number)


def _victims(moment: Moment, wb: int) -> Sequence[int]:
    """Returns whom to end, wb first; nothing while terraform is to be ended and does not run."""
    terraforms = _terraforms(wb) if moment.who != "wb" else []
    match moment.who:
        case "wb":
            return (wb,)
        case "terraform":
            return terraforms
        case _:
            return (wb, *terraforms) if terraforms else ()


async def _gone(process: ProcessMark) -> None:
    """Waits until an apply that goes on alone has ended."""
    deadline = time.monotonic() + _REACHED_SECONDS
    while process.is_running():
        assert time.monotonic() < deadline, "terraform does not end"
        await asyncio.sleep(0.02)


def _terraforms(parent: int) -> list[int]:
    """Returns the children of a process that are terraform."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = status.read_text(errors="replace").partition("(")[2].rpartition(")")
        except OSError:
            continue
        if rest.split()[1] == str(parent) and name in ("terraform", "tofu"):
            found.append(int(status.parent.name))
    return found
