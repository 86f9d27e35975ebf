"""The steps of an apply that a cluster carries out: one write each, with the uid and version read right before.

A write that is refused because only the version moved is tried again. Once asked, a cluster may have done it, and only
its answer tells: so a write is not abandoned. Where the answer was lost, or was none, or that to a creation was given
up as overdue, the object is read: what is as it was before is written again, bound to that very version, or to there
being none; what a dry run would change nothing of is done; anything else failed. Who interrupts an apply still gets an
end: a write whose answer does not come within some seconds is reported as one that may or may not have been done, and
the next plan looks.

A creation is bound to there being nothing, which another cluster has as well that answers in the place of this one by
now. So the cluster is asked which one it is: what it said a moment ago does before a creation, after a lost connection
and at the end it says so again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import assert_never

import anyio

from runtimes.base import (
    Address,
    ApplyRequest,
    Basis,
    DeleteRequest,
    Identifiable,
    Identity,
    KubernetesId,
    LiveResource,
    Moved,
    NotThere,
    PlanRequest,
    ReadRequest,
    Reference,
    Rejected,
    Resource,
    Runtime,
    RuntimeFailure,
    Sameness,
    Status,
    Unreachable,
    compare,
    format_path,
    limiter,
)
from runtimes.base.limiter import Limiter
from workbench.engine.changes import Change, Op
from workbench.engine.ending import why_ending
from workbench.engine.events import Action
from workbench.engine.masking import Seal
from workbench.engine.places.place import Apply, known, steps_of
from workbench.engine.plan import Plan
from workbench.engine.taken import not_as_approved
from workbench.engine.values import Value
from workbench.engine.workspace import value_now
from workbench.words import few

_WRITE_PATIENCE_SECONDS = 80.0
_GONE_PATIENCE_SECONDS = 120.0
_HELD_SECONDS = 2.0
"""What is still there so long after its deletion was accepted is said to be, with what holds it."""
_ESTABLISHED_PATIENCE_SECONDS = 30.0
_DRAIN_SECONDS = 4.0
"""So long an interrupted apply waits for answers to what was sent: with its record, an end takes 5 s."""
_MOST_MOVES = 5
"""So often a write is tried: each time bound to what was read right before, as it was planned."""
_GIVEN_UP_AFTER = {0: 1.0, 1: 3.0}
"""How many times overdue the answer to a creation may be, by the attempt. Later ones are waited for: with a slow
webhook none would ever come to its end."""
_AGAIN_SECONDS = 0.2
_CONFIRM_SECONDS = 10.0
_MOST_NAMED = 3
_WHO_PUTS_BACK = "an admission webhook or policy may let dry runs pass and change what is written"
AT_ONCE = 10
"""Writes to one cluster at a time."""


async def read(change: Change, runtime: Runtime) -> LiveResource | None:
    """A custom resource whose definition is not there yet is not there either."""
    try:
        return await runtime.read(ReadRequest(change.address.id))
    except NotThere:
        if change.identity is None:
            return None
        raise


def difference(change: Change, live: LiveResource | None, seal: Seal) -> str:
    """Says what is not as the plan saw it; empty if nothing."""
    if live is None:
        # Something to be deleted that is gone already is as it should be.
        return "" if change.identity is None or change.action is Action.DELETE else "is gone"
    if change.identity is None:
        return "exists now"
    if live.identity.uid != change.identity.uid:
        return "was deleted and made again"
    if live.identity.version != change.identity.version and seal.digest(live.body) != change.state:
        return "was changed"
    return ""


class ClusterSteps:
    """`identities` are those to write with, as they were found when the plan was checked."""

    fills_own_references = False

    def __init__(
        self,
        place: str,
        plan: Plan,
        runtime: Runtime,
        identities: Mapping[Address, Identity | None],
        apply: Apply,
    ) -> None:
        self._place, self._plan, self._runtime, self._identities = place, plan, runtime, identities
        self._apply, self._seal = apply, Seal(plan.salt)
        self._limiter = Limiter(AT_ONCE)
        self._writing: dict[Address, anyio.CancelScope] = {}
        self._held: dict[Address, str] = {}
        self._created: list[Change] = []

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            for change in steps_of(self._plan, self._place):
                tasks.start_soon(self._step, change)
        if self._created and not self._apply.is_stopping():
            await self._confirm_created()

    async def _confirm_created(self) -> None:
        """What was created is done only if it was created on the cluster that was planned for."""
        try:
            with anyio.fail_after(_CONFIRM_SECONDS):
                await self._refuse_another(again=True)
        except Moved as moved:
            for change in self._created:
                await self._apply.fail(change, moved)
        except (RuntimeFailure, TimeoutError):
            said = "done; whether it is the same cluster as before could not be asked again"
            await self._apply.progress(self._created[-1], said)

    async def _refuse_another(self, *, again: bool) -> None:
        """Raises `Moved` where another cluster answers than was planned for, `RuntimeFailure` where none does."""
        planned = self._plan.identities.get(self._place)
        if planned is None or not isinstance(self._runtime, Identifiable):
            return
        found = await self._runtime.identify(again=again)
        if compare(planned, found) is Sameness.OTHER:
            raise Moved(
                f"{self._place} is another cluster now: {found}; planned was {planned}",
                target=self._runtime.place,
                hint="look at what its address leads to: what was created last may be there",
            )

    async def interrupt(self, *, at_once: bool) -> None:
        """Each step looks whether it still may begin; a write that did has some seconds to be answered.

        A replacement has all the time it needs, unless `at_once`: what it deleted would not be there.
        """
        now = anyio.current_time()
        replaced = {each.address for each in steps_of(self._plan, self._place) if each.action is Action.REPLACE}
        for address, scope in self._writing.items():
            if at_once or address not in replaced:
                scope.deadline = min(scope.deadline, now if at_once else now + _DRAIN_SECONDS)

    async def value(self, reference: Reference) -> Value:
        return value_now(await self._runtime.read(ReadRequest(reference.id)), reference, self._plan.spec.rules)

    async def _step(self, change: Change) -> None:
        needs = sorted(self._plan.needs[change.address])
        for need in needs:
            await self._apply.settled(need)
        stopped = next((each for each in needs if not self._apply.is_done(each)), None)
        if stopped is not None or self._apply.is_stopping():
            await self._apply.skip(change, stopped)
        else:
            await self._begun(change)
        self._apply.settle(change.address)

    async def _begun(self, change: Change) -> None:
        try:
            resource = await self._ready(change)
        except RuntimeFailure as error:
            await self._apply.begin(change)
            await self._apply.fail(change, error)
            return
        async with self._limiter.slot():
            if self._apply.is_stopping():
                await self._apply.skip(change, None)
            else:
                # Once asked, a cluster may have done it; only its answer tells.
                with anyio.CancelScope(shield=True):
                    await self._perform(change, resource)

    async def _ready(self, change: Change) -> Resource | None:
        """Returns what is to be written, None for a deletion; raises `RuntimeFailure`."""
        if change.resource is None or change.resolved is None:
            return change.resource
        filled = await self._apply.resolve(change)
        assert filled is not None, "it waits"
        return filled.resource

    async def _perform(self, change: Change, resource: Resource | None) -> None:
        await self._apply.begin(change)
        if self._apply.is_stopping():  # it could not be recorded that it begins, or the lock was lost meanwhile
            await self._apply.skip(change, None)
            return
        is_new = self._identities.get(change.address) is None
        try:
            with anyio.fail_after(_patience_seconds(change)) as scope:
                self._writing[change.address] = scope
                try:
                    if is_new:
                        await self._refuse_another(again=False)
                    live = await self._write(change, resource)
                finally:
                    del self._writing[change.address]
        except RuntimeFailure as error:
            await self._apply.fail(change, error)
        except TimeoutError:
            held = self._held.get(change.address)
            await self._apply.fail(change, _silent(change) if held is None else _still_there(change, held))
        else:
            await self._apply.finish(change, live.identity.uid if live else "")
            if live is not None and (is_new or change.action is Action.REPLACE):
                self._created.append(change)

    async def _write(self, change: Change, resource: Resource | None) -> LiveResource | None:
        """Does what the change says; tries again if only the version moved and the content is as planned."""
        expected = self._identities.get(change.address)
        lost: RuntimeFailure | None = None
        for attempt in range(_MOST_MOVES):
            try:
                return await self._write_once(change, resource, expected, _GIVEN_UP_AFTER.get(attempt, math.inf))
            except RuntimeFailure as error:
                is_lost = _may_be_done(change, error) and not self._apply.is_stopping()
                if not is_lost and not isinstance(error, Moved):
                    raise
                lost = error if is_lost else lost
                try:
                    if is_lost and expected is None:
                        await self._refuse_another(again=True)
                    live = await self._runtime.read(ReadRequest(change.address.id))
                    is_as_planned = not difference(change, live, self._seal)
                    if not is_as_planned and lost is not None and live is not None:
                        if await self._is_done(known(resource)):  # by what was sent, whose answer was lost
                            return await self._established(live)
                except Moved:
                    raise  # another cluster answers
                except RuntimeFailure:
                    raise error from None  # so it is not known whether it was done
                if not is_as_planned or attempt == _MOST_MOVES - 1:
                    raise
                expected = live.identity if live else None
                if is_lost:
                    await limiter.pause(_AGAIN_SECONDS)
        raise AssertionError("the last attempt returns or raises")

    async def _is_done(self, resource: Resource) -> bool:
        """Tells whether the cluster, asked in a dry run, would change nothing any more."""
        found = await self._runtime.plan(PlanRequest(resource, dry_run=True))
        return found.before is not None and self._seal.digest(found.before) == self._seal.digest(found.after)

    async def _write_once(
        self, change: Change, resource: Resource | None, expected: Identity | None, gives_up_after: float
    ) -> LiveResource | None:
        match change.action:
            case Action.CREATE | Action.UPDATE:
                request = ApplyRequest(known(resource), expected, self._plan.force, change.takes_away, gives_up_after)
                live = await self._runtime.apply(request)
                self._refuse_other(change, request, live)
                return await self._established(live)
            case Action.REPLACE:
                await self._runtime.delete(DeleteRequest(change.address.id, expected))
                await self._gone_at_last(change)
                await self._refuse_another(again=True)  # on another cluster it is not there either
                request = ApplyRequest(known(resource), None, self._plan.force)
                live = await self._runtime.apply(request)
                self._refuse_other(change, request, live)
                return live
            case Action.DELETE:
                if expected is not None:
                    await self._runtime.delete(DeleteRequest(change.address.id, expected))
                    if self._plan.destroys:
                        await self._gone_at_last(change)
                    else:
                        await self._tell_what_holds_it(change, expected)
                return None
            case Action.IMPORT | Action.MOVE | Action.FORGET | Action.NONE:
                raise AssertionError(f"{change.action.value} is no step of a cluster")
            case _:
                assert_never(change.action)

    def _refuse_other(self, change: Change, request: ApplyRequest, live: LiveResource) -> None:
        """Raises `Rejected` where a write was answered well, and what is there now is not what was approved."""
        subject = str(change.address.id)
        is_unwritten = request.expected is not None and live.identity.version == request.expected.version
        if is_unwritten and _surely_changes(change):
            raise Rejected(
                "the API answered well, and wrote nothing",
                target=self._runtime.place,
                subject=subject,
                hint=f"{_WHO_PUTS_BACK}, or a proxy may answer in its place",
            )
        if others := [format_path(each) for each in not_as_approved(change, request.resource, live.body)]:
            raise Rejected(
                f"it was written, and not as approved: {few(others, _MOST_NAMED)}",
                target=self._runtime.place,
                subject=subject,
                hint=f"{_WHO_PUTS_BACK}; plan again to see what is there now",
            )

    async def _gone(self, change: Change) -> None:
        """Waits until a deleted object is no more: what replaces it cannot be made before."""
        old, pause = self._identities.get(change.address), 0.05
        began = anyio.current_time()
        with anyio.fail_after(_GONE_PATIENCE_SECONDS):
            while live := await self._runtime.read(ReadRequest(change.address.id)):
                if old is not None and live.identity.uid != old.uid:
                    raise Moved("somebody made it again", target=self._runtime.place, subject=str(change.address.id))
                if anyio.current_time() - began > _HELD_SECONDS:
                    await self._tell_what_it_waits_for(change, why_ending(live))
                await anyio.sleep(pause)
                pause = min(pause * 2, 2.0)
        self._held.pop(change.address, None)  # what follows, and gets no answer, is not held by it

    async def _tell_what_it_waits_for(self, change: Change, why: str) -> None:
        """Says it once, and again where it is another reason."""
        if self._held.get(change.address) != why:
            self._held[change.address] = why
            await self._apply.progress(change, f"is being deleted{f': {why}' if why else ''}")

    async def _gone_at_last(self, change: Change) -> None:
        """Where everything goes, what is said to be gone is gone: the next plan may make it again at once. So is what
        is replaced: nothing else can have its name before."""
        try:
            await self._gone(change)
        except TimeoutError:
            why = self._held.get(change.address)
            raise _still_there(change, why or "", f" after {_GONE_PATIENCE_SECONDS:.0f} s") from None

    async def _tell_what_holds_it(self, change: Change, expected: Identity) -> None:
        """A deletion is done when it was requested, and is not waited for; what is there still is not passed over.

        Raises `RuntimeFailure` where nothing of it can be seen: somebody in between answered instead of the cluster.
        """
        try:
            live = await self._runtime.read(ReadRequest(change.address.id))
        except RuntimeFailure:
            return  # the next plan looks
        if why := why_ending(live):
            await self._apply.progress(change, f"requested, and it is there until then: {why}")
        elif live is not None and live.identity.uid == expected.uid:
            raise RuntimeFailure(
                "its deletion was accepted, and it is there as before",
                target=self._runtime.place,
                subject=str(change.address.id),
                hint="a proxy or a gateway may be in between",
            )

    async def _established(self, live: LiveResource) -> LiveResource:
        """Waits until a definition is served: its custom resources would be refused before. Raises `Rejected` where it
        is refused, or takes too long."""
        if not (isinstance(live.id, KubernetesId) and live.id.kind == "CustomResourceDefinition"):
            return live
        seen: LiveResource | None = live
        with anyio.move_on_after(_ESTABLISHED_PATIENCE_SECONDS):
            while (seen := await self._runtime.read(ReadRequest(live.id))) and seen.health:
                if seen.health.status is Status.CURRENT:
                    return live
                if seen.health.status is Status.FAILED:
                    break
                await anyio.sleep(0.1)
        if seen is None or seen.health is None:
            return live
        raise Rejected(
            f"it was written, and is not served: {seen.health.message}",
            target=self._runtime.place,
            subject=str(live.id),
            hint="look at the conditions in its status",
        )


def _may_be_done(change: Change, error: RuntimeFailure) -> bool:
    """Tells whether an apply may have been done though it failed: what was refused was not."""
    is_uncertain = error.is_uncertain if isinstance(error, Unreachable) else type(error) is RuntimeFailure
    return is_uncertain and change.action in (Action.CREATE, Action.UPDATE)


def _still_there(change: Change, why: str, when: str = "") -> Rejected:
    """Its deletion was answered, and so is no write of which nobody knows."""
    return Rejected(
        f"it is still being deleted{when}{f': {why}' if why else ''}",
        target=change.address.cluster,
        subject=str(change.address.id),
        hint="look at its finalizers: who set them has to take them off",
    )


def _silent(change: Change) -> Unreachable:
    return Unreachable(
        "no answer in time; it may or may not have been done",
        target=change.address.cluster,
        subject=str(change.address.id),
        is_uncertain=True,
    )


def _surely_changes(change: Change) -> bool:
    """Whether a dry run said that the write changes something: what was not known then may come out as it was."""
    fields = [each for each in change.fields if each.op is not Op.KEPT]
    return change.basis is Basis.DRY_RUN and (not fields or any(not each.is_unknown for each in fields))


def _patience_seconds(change: Change) -> float:
    waits = change.action in (Action.REPLACE, Action.DELETE)
    return _WRITE_PATIENCE_SECONDS + (_GONE_PATIENCE_SECONDS if waits else 0.0)
