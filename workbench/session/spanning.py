"""Planning, applying and rolling back many stacks at once."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import dataclass, replace
from workbench.project import Stack
from workbench.project.discovery import one_look
from workbench.session.changing import Changing
from workbench.session.watching import Watching

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from workbench.engine.compiled import CompiledStack, CompileInputs
    from workbench.engine.errors import MovedObject
    from workbench.engine.execute import Applying
    from workbench.engine.fleet_plan.execute import FleetRun
    from workbench.engine.fleet_plan.file import SavedFleet
    from workbench.engine.fleet_plan.reverting import Concern
    from workbench.engine.fleet_plan.values import Deferred, FleetPlan
    from workbench.engine.plan import Plan
    from workbench.engine.spec import Spec
    from workbench.engine.status import StatusTree

_SALT_BYTES = 32


class Spanning(Changing, Watching):
    """See `workbench.engine.fleet_plan`."""

    async def plan_stacks(
        self,
        *globs: str,
        inputs: CompileInputs | None = None,
        skip_stacks: Iterable[str] = (),
        clusters: Iterable[str] = (),
        prune: bool = True,
        force: bool = False,
        accept_lost: bool = False,
        adopt: bool = False,
        dry_run_all: bool = False,
        take_away: bool = False,
        scheduler: str = "",
    ) -> FleetPlan:
        """Plans every stack that the globs cover, but for those named by `skip_stacks`; the rest as for `plan`.

        `scheduler` has them compiled on the workers of a dask scheduler; clusters are asked from here all the same.

        A stack that can't be planned is in the result, and refuses it. Raises `UnknownStack` for a glob or a name
        that means nothing. Writes nothing.
        """
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.fleet_plan.making import make

        given = inputs or CompileInputs()
        places = tuple(clusters)

        async def plan(stack: Stack) -> Plan:
            return await self.plan(
                stack,
                given,
                clusters=places,
                prune=prune,
                force=force,
                accept_lost=accept_lost,
                adopt=adopt,
                dry_run_all=dry_run_all,
                take_away=take_away,
            )

        chosen, skip = self.choose(*globs), self._named(skip_stacks)
        todo = [each for each in chosen if each.name not in skip]
        with one_look():
            async with self.compiled_ahead(scheduler, todo, given):
                fleet = await make(
                    chosen,
                    _Making(self, given, plan),
                    given,
                    self._now(),
                    secrets.token_bytes(_SALT_BYTES),
                    skip=skip,
                )
        return self._scrubbed(fleet)

    async def plan_rollback_stacks(
        self,
        run: str,
        *globs: str,
        inputs: CompileInputs | None = None,
        skip_stacks: Iterable[str] = (),
    ) -> FleetPlan:
        """Plans to give each stack that a run changed (`FleetPlan.run`) again what it had before, the readers first.

        Of all stacks, or of those that the globs cover. A stack that was new with the run has all of it taken away, as
        `plan_destroy` does. A stack that was released since, or of which that is not known, refuses it, and so does a
        new one that took over what was there before; one that is again as it was is left out. Raises `ReleaseFailure`
        where no stack has a release of that run.
        """
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.errors import ReleaseFailure
        from workbench.engine.fleet_plan.making import make

        given = inputs or CompileInputs()
        chosen = self.choose(*globs) if globs else tuple(self.tree().stacks())
        skip = self._named(skip_stacks)
        with one_look():
            concerned: dict[str, Concern] = {}
            for each in chosen:
                if (concern := await self._of_run(each, run)) is not None:
                    concerned[each.name] = concern
            if not concerned:
                hint = "wb release list STACK names the run of each release"
                raise ReleaseFailure(f"no stack has a release of the run {run} to take back", where=run, hint=hint)

            async def plan(stack: Stack) -> Plan:
                concern = concerned[stack.name]
                if concern.why:
                    raise ReleaseFailure(concern.why, where=stack.name, hint=f"wb release list {stack.name}")
                if concern.is_new:
                    return await self.plan_destroy(stack, given)
                return await self.plan_rollback(stack, 0, given)

            fleet = await make(
                [each for each in chosen if each.name in concerned],
                _Making(self, given, plan),
                given,
                self._now(),
                secrets.token_bytes(_SALT_BYTES),
                skip=skip,
                backwards=True,
            )
        notes = [
            f"{name} had no release before {run}: all that it has is taken away"
            for name in fleet.plans
            if concerned[name].is_new and not fleet.plans[name].is_empty
        ]
        return self._scrubbed(replace(fleet, rolls_back=True, reverts=(run,), notes=(*fleet.notes, *notes)))

    async def plan_destroy_stacks(
        self,
        *globs: str,
        inputs: CompileInputs | None = None,
        skip_stacks: Iterable[str] = (),
        accept_lost: bool = False,
        adopt: bool = False,
    ) -> FleetPlan:
        """Plans to take away everything that the stacks have, those that read others first; each as `plan_destroy`."""
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.fleet_plan.making import make

        given = inputs or CompileInputs()

        async def plan(stack: Stack) -> Plan:
            return await self.plan_destroy(stack, given, accept_lost=accept_lost, adopt=adopt)

        with one_look():
            fleet = await make(
                self.choose(*globs),
                _Making(self, given, plan),
                given,
                self._now(),
                secrets.token_bytes(_SALT_BYTES),
                skip=self._named(skip_stacks),
                backwards=True,
            )
        return self._scrubbed(replace(fleet, destroys=True))

    def _scrubbed(self, fleet: FleetPlan) -> FleetPlan:
        """Why a stack can't be planned may quote what a cluster was sent, or holds."""
        from workbench.engine.scrubbing import scrubbed
        from workbench.project.masking import read_masking

        rules = read_masking(self._root)
        unplanned = scrubbed(fleet.unplanned, self._secrets, rules)
        return replace(fleet, unplanned=unplanned, notes=scrubbed(fleet.notes, self._secrets, rules))

    async def _of_run(self, stack: Stack, run: str) -> Concern | None:
        """Returns None for a stack that the run did not change, or that is again as it was before."""
        from workbench.engine.errors import ReleaseFailure
        from workbench.engine.fleet_plan.reverting import Concern, concern_of

        try:
            history = await self.history(stack)
            history.refuse_unknown(stack.name)
            every = history.releases()
        except ReleaseFailure as error:
            return Concern(f"whether {run} changed it is not known: {error.message}")
        return concern_of(every, run)

    def save_fleet_plan(self, fleet: FleetPlan, path: str | Path) -> None:
        """As `save_plan`, for all of it; raises `EngineError`, also for a plan that is refused."""
        from workbench.engine.fleet_plan import file

        self.refuse_outside(Path(path))
        file.save(fleet, Path(path), self._root, self._settings.plan_age)

    async def load_fleet_plan(
        self, path: str | Path, inputs: CompileInputs | None = None, *, scheduler: str = ""
    ) -> FleetPlan:
        """Makes every plan of a saved one again, as `load_plan` does; raises `StalePlan` naming the stacks.

        What its run has done already has nothing to do, and what it left half-done is held to what was approved of it.
        `scheduler` as for `plan_stacks`.
        """
        from workbench.engine.errors import MovedObject, StalePlan
        from workbench.engine.fleet_plan import file
        from workbench.engine.fleet_plan.making import side_by_side
        from workbench.engine.plan_age import refuse_old

        saved = file.load(Path(path), self._root)
        limit = self._settings.plan_age
        refuse_old(saved.made_at, saved.expires_at, now=self._now(), limit=limit, where=str(path))
        given = saved.completed(inputs)
        moved: list[MovedObject] = []

        async def again(name: str) -> Plan | Deferred | None:
            try:
                if name in saved.deferred:
                    return await self._deferred_again(saved, name, given)
                return await self._one_again(saved, name, inputs)
            except StalePlan as error:
                moved.extend(MovedObject(None, f"{name}: {each}") for each in error.moved)
                return None

        names = (*saved.approved, *saved.deferred)
        with one_look():
            async with self.compiled_ahead(scheduler, [self.select(each) for each in names], given):
                found = await side_by_side(names, again)
            if moved:
                raise StalePlan(moved, where=str(path))
            return await self._fleet_again(saved, given, found)

    async def _fleet_again(
        self, saved: SavedFleet, given: CompileInputs, found: Mapping[str, Plan | Deferred | None]
    ) -> FleetPlan:
        from workbench.engine.fleet_plan.values import Deferred, FleetPlan
        from workbench.engine.plan import Plan

        names = (*saved.approved, *saved.deferred)
        configurations = {name: each.configuration for name, each in saved.approved.items() if each.configuration}
        for name in saved.deferred:
            if isinstance(plan := found[name], Plan):
                compiled = await self.compile(self.select(name), given)
                configurations[name] = compiled.spec.digest(plan.salt)
        return FleetPlan(
            {name: plan for name in names if isinstance(plan := found[name], Plan)},
            given,
            saved.made_at,
            saved.salt,
            {name: each for name in names if isinstance(each := found[name], Deferred)},
            skipped=saved.skipped,
            reads=saved.reads,
            after=saved.after,
            configurations=configurations,
            rolls_back=saved.rolls_back,
            destroys=saved.destroys,
            reverts=saved.reverts,
            resumes=saved.run,
        )

    async def _one_again(self, saved: SavedFleet, name: str, inputs: CompileInputs | None) -> Plan | Deferred:
        from workbench.engine import plan_file
        from workbench.engine.errors import OtherCluster, StalePlan
        from workbench.engine.fleet_plan.approved import hold, hold_rest
        from workbench.engine.fleet_plan.making import deferred_of
        from workbench.engine.outputs import OutputsUnavailable

        approved, stack = saved.approved[name], self.select(name)
        one, late = approved.saved, saved.late.get(name, ())
        try:
            plan = await self.plan_again(one, inputs)
        except OutputsUnavailable:
            if name not in saved.reads:
                raise
            # what it reads was left half-done: it is held to what was approved when that is ready
            spec = (await self.compile(stack, saved.completed(inputs))).spec
            return replace(deferred_of(stack, spec, saved.completed(inputs), one.salt), former=approved, late=late)
        try:
            plan_file.compare(one, plan)
            return plan
        except OtherCluster:
            raise
        except StalePlan:
            is_begun = plan.prior != one.prior and await self._is_last_of(name, plan.prior, saved.run)
            if not is_begun and (plan.prior != one.prior or not late):
                raise
        configuration = ""
        if late:
            configuration = (await self.compile(stack, plan.inputs)).spec.digest(plan.salt)
        if is_begun:
            hold_rest(approved, plan, configuration, late)
        else:
            hold(approved, plan, configuration, late)
        return plan

    async def _is_last_of(self, stack: str, revision: int, run: str) -> bool:
        """Tells whether the last release of a stack is this one, and was made by the run."""
        latest = (await self.history(self.select(stack))).latest
        return latest is not None and latest.revision == revision and latest.rollout == run

    async def _deferred_again(self, saved: SavedFleet, name: str, inputs: CompileInputs) -> Plan | Deferred:
        """Returns its plan where it can be made by now, as in a run that goes on."""
        from workbench.engine.errors import MovedObject, StalePlan
        from workbench.engine.fleet_plan.approved import hold_deferred
        from workbench.engine.outputs import OutputsUnavailable

        stack, deferred = self.select(name), saved.deferred[name]
        configuration = (await self.compile(stack, inputs)).spec.digest(saved.salt)
        if configuration != deferred.configuration:
            raise StalePlan([MovedObject(None, "the configuration compiles to something else now")], where=name)
        try:
            plan = await self.plan(stack, inputs)
        except OutputsUnavailable:
            return deferred
        hold_deferred(deferred, plan, configuration)
        return plan

    @asynccontextmanager
    async def apply_stacks(
        self, fleet: FleetPlan, *, confirm: str = "", timeout_seconds: float | None = None
    ) -> AsyncIterator[FleetRun]:
        """Carries a plan over many stacks out; the events end with `RunEnded`, which says what became of each.

        Each stack has `timeout_seconds` to become ready. Entering raises `Refused` or `ConfirmationRequired`, before
        anything is written. What is yielded can be interrupted; leaving early lets what was begun end.
        """
        from workbench.engine.fleet_plan.execute import execute

        fleet.approve(confirm)
        if not fleet.is_empty:
            self.audit().append(
                self._actor(), self._now(), action=f"{fleet.verb} many", plan=fleet.run,
                target=", ".join(fleet.stacks), reason=self._masked_reason(fleet), confirm=confirm,
            )  # fmt: skip
        stacks = _Stacks(self, fleet)
        seconds = timeout_seconds or self.settings.timeout_seconds
        async with execute(fleet, stacks, self._now, timeout_seconds=seconds) as events:
            yield events

    def _masked_reason(self, fleet: FleetPlan) -> str:
        from workbench.engine.scrubbing import scrubbed

        reason = self.reason
        for each in fleet.plans.values():
            reason = scrubbed(reason, each.spec.secrets, each.spec.rules)
        return reason

    async def is_unfinished(self, stack: str) -> bool:
        """Tells whether the last release of a stack did not end well, as when whoever made it was killed."""
        from workbench.engine.release import Phase

        latest = (await self.history(self.select(stack))).latest
        return latest is not None and latest.phase is not Phase.SUCCEEDED

    def _named(self, stacks: Iterable[str]) -> Collection[str]:
        """Returns the full names; a name that means no stack would skip nothing, and raises `UnknownStack`."""
        return frozenset(each.name for name in stacks for each in self.choose(name))


@dataclass(frozen=True, slots=True)
class _Making:
    """What planning asks of stacks, asked of a session; `planning` is how each of them is planned."""

    session: Spanning
    inputs: CompileInputs
    planning: Callable[[Stack], Awaitable[Plan]]

    async def plan(self, stack: Stack) -> Plan:
        return await self.planning(stack)

    async def compile(self, stack: Stack) -> CompiledStack:
        return await self.session.compile(stack, self.inputs)

    def is_declared(self, spec: Spec) -> bool:
        return not self.session.not_declared(spec)

    async def is_unfinished(self, stack: str) -> bool:
        return await self.session.is_unfinished(stack)


@dataclass(frozen=True, slots=True)
class _Stacks:
    """What a run asks of its stacks, asked of a session. What it applies was confirmed when it began."""

    session: Spanning
    fleet: FleetPlan

    async def plan(self, stack: str, approved: Plan | Deferred) -> tuple[Plan, str]:
        from workbench.engine import plan_file
        from workbench.engine.plan import Plan

        found, inputs = self.session.select(stack), self.fleet.inputs
        saved = None
        if isinstance(approved, Plan):
            saved = plan_file.saved_of(approved)
        elif approved.former is not None:
            saved = approved.former.saved
        if saved is None:
            plan, salt = await self.session.plan(found, inputs), self.fleet.salt
        else:
            plan, salt = await self.session.plan_again(saved, inputs), saved.salt
        configuration = (await self.session.compile(found, inputs)).spec.digest(salt)
        return plan, configuration

    async def is_unfinished(self, stack: str) -> bool:
        return await self.session.is_unfinished(stack)

    def apply(self, plan: Plan) -> AbstractAsyncContextManager[Applying]:
        return self.session.apply(plan, confirm=plan.confirmation.phrase, rollout=self.fleet.run)

    def watch(self, plan: Plan) -> AbstractAsyncContextManager[AsyncIterator[StatusTree]]:
        return self.session.watch(
            self.session.select(plan.stack), plan.inputs, spec=plan.spec, clusters=plan.only, addresses=plan.watched
        )
