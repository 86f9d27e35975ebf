"""Random keys over every screen, on clusters that fail: no traceback, no standstill, no write without its phrase.

`KONFIG_WORKBENCH_MONKEY_KEYS=50000` says how many keys, `KONFIG_WORKBENCH_MONKEY_SEED` which; a run prints both, and a
failure the last keys that were pressed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
import traceback
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from runtimes.sandbox.api.disturbances import Disturbance
from runtimes.sandbox.server import Sandbox
from runtimes.sandbox.store import Change
from tests.sizes import size
from tests.workbench.tui.test_keys import burst
from tests.workbench.tui.test_live import sandbox, workbench
from tests.workbench.tui.test_screens import LARGE, SMALL, shown
from tests.workbench.tui.ways import WAYS, every_screen
from workbench.audit.trail import AuditEntry
from workbench.present import errors
from workbench.tui.app import WorkbenchApp
from workbench.tui.custom import CustomCommand
from workbench.tui.frame import DRAW_SECONDS
from workbench.tui.keymap import entries
from workbench.tui.widgets.resource_table import ResourceTable
from workbench.tui.widgets.typed_confirmation import TypedConfirmation

__all__ = ["sandbox"]

KEYS = int(os.environ.get("KONFIG_WORKBENCH_MONKEY_KEYS", size(120, 50_000)))
SEED = int(os.environ.get("KONFIG_WORKBENCH_MONKEY_SEED", "1"))
MANY = 1_000
"""From so many keys on, every screen there is has to be among those that were come to."""
LONGEST_SECONDS = 1.0
"""So much of the processor may one thing take on the loop that draws. The long form holds it: in the suite a search for
garbage of other tests takes longer."""
SETTLING_SECONDS = 30.0
HUNG_SECONDS = 300.0
"""Of the clock, which other programs spend as well."""


COMMANDS = """
fleet; drift; rollouts; log; bookmarks; forwards; releases web/prod; releases; diff web/dev; plan web/prod
plan web/dev; destroy web/dev; watch web/prod; whatif web/prod; whatif web/dev; spec web/prod; pods; pods@hz
deploy@hz web-prod; secrets; configmaps; nodes; services@nowhere; events; export md; export patch; ignore they may
who; who spec; explain; explain spec; explain Deployment/front spec.replicas; explain a/b c d
scale 3; restart; delete; cordon; drain; evict; bookmark here; go here; unbookmark here; find replicas; shout
replace /replicas = 3/replicas = 4/; replace /a/b/; commit a change; recover a=b; allow-writes web/prod; forward 80
stack web/; nonsense; [/]; stack [b]x[/]; quit
"""
FAR = ("StepScreen", "AdoptScreen", "IgnoreScreen", "ReleaseChangesScreen")
"""Screens that keys at random do not come to: each is gone to before anything else."""
TEXTS = ("write", "drop", "reveal", "yes", "a [b]word[/]", "\u202e", "front", "!x", "-f fr", "-l app=front", "[")


@dataclass
class Witness:
    """What one cluster saw of the objects that stacks have: made, deleted, or given another spec, data or labels."""

    cluster: str
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    _last: dict[str, str] = field(default_factory=dict)

    def look(self, change: Change) -> None:
        body = change.object
        namespace = body["metadata"].get("namespace", "")
        name = body["metadata"]["name"]
        kind = change.resource[1]
        if not (namespace.startswith("web-") or (kind == "namespaces" and name.startswith("web-"))):
            return
        if kind not in _KINDS or (kind == "configmaps" and name == "kube-root-ca.crt"):
            return
        target = ":".join((*_KINDS[kind], *([namespace] if namespace else []), name))
        said = json.dumps([body.get("spec"), body.get("data"), body["metadata"].get("labels")], sort_keys=True)
        if change.type == "DELETED":
            self._last.pop(target, None)
            self.seen.append((self.cluster, target, "deleted"))
        elif self._last.get(target) != said:
            self.seen.append((self.cluster, target, "changed" if target in self._last else "made"))
            self._last[target] = said


_KINDS = {
    "configmaps": ("v1", "ConfigMap"),
    "secrets": ("v1", "Secret"),
    "deployments": ("apps/v1", "Deployment"),
    "namespaces": ("v1", "Namespace"),
}


@dataclass
class Watch:
    """How long the loop was kept, and what of ours was a mistake."""

    longest: float = 0.0
    what: str = ""
    bugs: list[str] = field(default_factory=list)


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Measures every callback of the loop in processor time of its thread, and notes each `Bug` that is said."""
    watch, thread = Watch(), time.thread_time
    run, told = asyncio.Handle._run, errors.Bug.__init__

    def measured(self: Any) -> None:
        began = thread()
        run(self)
        if (spent := thread() - began) > watch.longest:
            watch.longest, watch.what = spent, repr(self)

    def noted(self: errors.Bug, error: BaseException) -> None:
        watch.bugs.append("".join(traceback.format_exception(error)))
        told(self, error)

    with monkeypatch.context() as patch:
        patch.setattr(asyncio.Handle, "_run", measured)
        patch.setattr(errors.Bug, "__init__", noted)
        yield watch


class Monkey:
    """Presses keys. Where `confirms`, it types the phrase that is asked for now and then; else never."""

    def __init__(self, rng: random.Random, *, confirms: bool) -> None:
        self._rng, self._confirms = rng, confirms
        bound = [key for each in entries() for key in each.keys if each.name != "everywhere.quit-from-anywhere"]
        self._keys = [*dict.fromkeys(bound), *bound, "enter", "enter", "escape", "tab", "backspace", "ctrl+z", "j", "k"]
        self._commands = [each.strip() for line in COMMANDS.strip().splitlines() for each in line.split(";")]
        self.pressed: deque[str] = deque(maxlen=120)
        self.screens: Counter[str] = Counter()
        self.confirmed: list[str] = []

    async def presses(self, pilot: Pilot[Any], count: int) -> int:
        """Presses until so many keys are pressed or the screens are left; returns how many were."""
        app, done = pilot.app, 0
        while done < count and not is_left(app):
            keys = self._next(app)
            self.pressed.extend(keys)
            self.screens[type(app.screen).__name__] += 1
            burst(app, keys)
            done += len(keys)
            await asyncio.sleep(self._rng.choice((0, 0, 0, 0.02)))
            await taken(app, self.pressed)
            if self._rng.random() < 0.03:
                await self._patience(app)
            if self._rng.random() < 0.005:
                await pilot.resize_terminal(*self._rng.choice((SMALL, LARGE, (40, 12), (200, 60))))
        return done

    async def _patience(self, app: Any) -> None:
        """Waits a moment for what is under way: much is there to be pressed only then, such as the steps of a plan."""
        for _ in range(self._rng.randrange(60)):
            if not any(each.busy for each in app.states.values()):
                break
            await asyncio.sleep(0.02)

    async def _rows(self, app: Any) -> None:
        """Waits a moment for what a table lists: of an empty one no key leads on."""
        for _ in range(100):
            tables = [each for each in app.screen.query(ResourceTable) if each.display]
            if not tables or any(each.shown for each in tables):
                break
            await asyncio.sleep(0.02)

    async def goes(self, app: Any, screen: str) -> None:
        """Goes the way to a screen, again where a cluster failed meanwhile; nowhere once the screens are left.

        What stands in the way by intent, edits and an apply that keys at random began, is put aside first.
        """
        await ended(app)
        for state in app.states.values():
            state.skipped = frozenset()
            if state.edits:
                app.edit_stack(state, None)
        for _ in range(9):
            for keys in WAYS[screen]:
                self.pressed.extend(keys)
                sent = app._typed._sent + len(keys)
                burst(app, [*keys])
                while app._typed._sent < sent and not is_left(app):  # noqa: ASYNC110  # the queue of keys has no event
                    await asyncio.sleep(0.005)
                if is_left(app):
                    return
                await taken(app, self.pressed)
                await worked_out(app)
                await self._rows(app)
            self.screens[type(app.screen).__name__] += 1
            if self.screens[screen]:
                return
        if KEYS > MANY:
            return  # what keys at random chose is in the way; whether it was ever come to is asked in the end
        raise AssertionError("\n".join([f"no way to {screen}:", *shown(app), *self.pressed]))

    def _next(self, app: Any) -> list[str]:
        asked = app.screen.query(TypedConfirmation)
        phrase = asked.first()._phrase if asked and asked.first().is_asked else ""
        if phrase and self._confirms and self._rng.random() < 0.5:
            self.confirmed.append(phrase)
            app.screen.query_one("#phrase", Input).value = phrase
            return ["enter"]
        if self._rng.random() < 0.12:
            return ["escape", "colon", *self._rng.choice(self._commands), "enter"]
        if self._rng.random() < 0.06:
            return [*self._rng.choice([text for text in TEXTS if self._confirms or text != phrase]), "enter"]
        return [self._rng.choice(self._keys)]


def is_left(app: Any) -> bool:
    """Whether a key that quits was pressed: what is typed after it is for the shell, and taken by nobody here."""
    return app.return_code is not None or not app.is_running


async def taken(app: Any, pressed: Iterable[str]) -> None:
    """Waits until the keys are acted on; fails, with what every task waits for, where that takes too long."""
    until = time.monotonic() + HUNG_SECONDS
    while not app._typed.is_idle:  # the queue of keys has no event, and no other user than this
        await asyncio.sleep(0.005)
        if time.monotonic() > until:
            waiting = [f"{each.get_name()}: {each.get_stack(limit=2)}" for each in asyncio.all_tasks()]
            raise AssertionError("\n".join([*waiting, type(app.screen).__name__, *pressed]))


async def worked_out(app: Any) -> None:
    """Waits until what was asked for is there, or could not be had, and is drawn."""
    groups = ("diff ", "plan ", "drift", "adopt", "releases", "release changes")
    until, quiet = time.monotonic() + HUNG_SECONDS, 0
    while quiet < 2:  # what a key leads to begins when its screen is there
        await asyncio.sleep(DRAW_SECONDS)
        is_at_work = any(each.group.startswith(groups) and not each.is_finished for each in app.workers)
        quiet = 0 if is_at_work else quiet + 1
        assert time.monotonic() < until, [each.group for each in app.workers]


async def two_releases_and_drift(folder: Path, sandbox: Sandbox) -> None:
    """What there is to come to: two releases of a stack, and one field that somebody changed since."""
    session = workbench(folder).session
    async with session:
        stack, base = session.select("web/prod"), session.root / "web/base/base.k"
        now = base.read_text()
        for text in (now.replace("front:1", "front:0"), now):
            base.write_text(text)
            plan = await session.plan(stack)
            async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
                async for _ in events:
                    pass
    scaled = {"spec": {"replicas": 7}}
    sandbox.clusters[0].patch("deployments.apps", "web-prod", "front", scaled, "merge", manager="kubectl-scale")


def fails(sandbox: Sandbox, rng: random.Random) -> None:
    for each in sandbox.disturbances:
        each.rng.seed(rng.random())
        each.add(Disturbance("internal-error", probability=0.01))
        each.add(Disturbance("unavailable", probability=0.01, retry_seconds=0))
        each.add(Disturbance("too-many-requests", probability=0.01, retry_seconds=0))
        each.add(Disturbance("delay", probability=0.02, seconds=0.3))
        each.add(Disturbance("drop", verbs=("watch",), probability=0.05, seconds=0.5))
        each.add(Disturbance("conflict", verbs=("patch", "create", "update", "delete"), probability=0.02))
    for faults in sandbox.faults:
        faults.fail_image("front:*", rng.choice(("missing", "crash")))


@pytest.mark.parametrize("confirms", [False, True], ids=["confirms nothing", "confirms"])
async def test_keys_at_random_break_nothing_and_write_only_what_was_confirmed(
    tmp_path: Path,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    confirms: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    rng = random.Random(f"{SEED} {confirms}")
    witnesses = [Witness(name) for name in ("hz", "sh")]
    for cluster, witness in zip(sandbox.clusters, witnesses, strict=True):
        cluster.subscribe(witness.look)
    await two_releases_and_drift(tmp_path, sandbox)
    for witness in witnesses:
        witness.seen.clear()
    fails(sandbox, rng)
    monkey = Monkey(rng, confirms=confirms)
    left = KEYS // 2
    app = workbench(tmp_path)
    begun_with = len(app.session.audit().entries())
    before = {each: each.read_bytes() for each in app.konfig.root.rglob("*") if each.is_file()}
    with watched(monkeypatch) as watch:
        while left > 0:
            app = workbench(tmp_path)
            for path, content in before.items() if confirms else ():
                if ".git" not in path.parts:
                    path.write_bytes(content)  # of files that no longer compile, or say something else, no way is known
            async with app.session, app.run_test(size=rng.choice((SMALL, LARGE))) as pilot:
                app.custom["shout"] = CustomCommand("shout", ("echo", "{stack}"))
                for screen in WAYS if KEYS > MANY else FAR:
                    if not is_left(app) and (rng.random() < 0.2 or not monkey.screens[screen]):
                        await monkey.goes(app, screen)
                        left -= await monkey.presses(pilot, min(left, 10))
                left -= await monkey.presses(pilot, left)
                await ended(app)
                assert app._exception is None and not watch.bugs, (watch.bugs, [*monkey.pressed])
    with capsys.disabled():
        if KEYS > MANY:
            print(f"{KEYS // 2} keys, seed {SEED}: {watch.longest:.2f} s at most, {dict(monkey.screens)}")  # noqa: T201
            assert {*monkey.screens} >= every_screen()
            assert watch.longest < LONGEST_SECONDS, (watch.what, [*monkey.pressed])
    seen = [each for witness in witnesses for each in witness.seen]
    entries = app.session.audit().entries()
    entries = entries[: len(entries) - begun_with]  # the newest come first
    check(entries, seen)
    if not confirms:
        assert seen == [] and {each.action for each in entries} <= {"live forward"}, "a forwarded port writes nothing"
        assert {each: each.read_bytes() for each in app.konfig.root.rglob("*") if each.is_file()} == before


async def ended(app: WorkbenchApp) -> None:
    """Waits until what was confirmed has ended, in order: what is cut off has no end in the audit trail."""
    until = time.monotonic() + SETTLING_SECONDS
    for state in app.states.values():
        if state.is_applying:
            app.stop_apply(state)
    while time.monotonic() < until and (  # noqa: ASYNC110  # of workers of several kinds there is no one event
        any(each.is_applying for each in app.states.values())
        or any(each.group.startswith("act on ") and not each.is_finished for each in app.workers)
    ):
        await asyncio.sleep(0.05)


def check(entries: Sequence[AuditEntry], seen: list[tuple[str, str, str]]) -> None:
    """Whatever a cluster saw is in the audit trail, and what that calls made or deleted was seen."""
    told = {(each.cluster, each.target) for each in entries if each.result != "begun"}
    assert {(cluster, target) for cluster, target, _ in seen} <= told
    done = {(each.cluster, each.target, each.action) for each in entries if each.result == "done"}
    words = {"create": "made", "delete": "deleted"}
    assert {(cluster, target, words[action]) for cluster, target, action in done if action in words} <= {*seen}
