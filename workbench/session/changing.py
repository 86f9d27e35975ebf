"""Comparing a stack with where it goes, planning what to do about it, and doing it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from kcl.records import replace
from workbench.project import (
    Stack,
    StackPath,
)
from workbench.session.browsing import Browsing
from workbench.session.compiling import Compiling

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import FieldPath, Resource
    from workbench.engine.changes import StackDiff
    from workbench.engine.compiled import CompiledStack, CompileInputs
    from workbench.engine.execute import Applying
    from workbench.engine.outputs import NoOutput, OutputUse, StackOutputs
    from workbench.engine.plan import Plan
    from workbench.engine.plan_file import SavedPlan
    from workbench.engine.policy.judging import Judge
    from workbench.engine.release_changes import ReleaseChanges
    from workbench.engine.spec import Spec
    from workbench.planner import Planner
    from workbench.release.contract import HeldLock
    from workbench.stack_outputs import OutputReader


class Changing(Browsing, Compiling):
    """Diff, plan and apply."""

    async def diff(
        self,
        stack: Stack,
        inputs: CompileInputs | None = None,
        *,
        compiled: CompiledStack | None = None,
        clusters: Iterable[str] = (),
        server_dry_run: bool = False,
        dry_run_all: bool = False,
    ) -> StackDiff:
        """Compares configuration and live in all clusters of the stack, or in those named. Writes nothing.

        `compiled` is what `compile` made of these inputs, by default it is made here.
        The clusters of an untrusted repository are asked only with `server_dry_run`. `dry_run_all` makes dry runs also
        of objects whose applied fields are this program's already, with the values that they have.
        A cluster that does not answer is a `Problem` in the result; so is a resource that the cluster refuses.
        Raises as `compile` does, and `UnknownCluster`.
        """
        self._connections.may_compare = self._connections.may_compare or server_dry_run
        from workbench.destinations import refuse_doubtful

        refuse_doubtful(stack)
        clusters = tuple(clusters)
        with self._expecting(stack, clusters):
            if compiled is None:
                compiled = await self.compile(stack, inputs)
            found = await self._planning().diff(stack, inputs, clusters, compiled, dry_run_all=dry_run_all)
        self._secrets |= found.spec.secrets
        return found

    async def plan(
        self,
        stack: Stack,
        inputs: CompileInputs | None = None,
        *,
        clusters: Iterable[str] = (),
        prune: bool = True,
        force: bool = False,
        accept_lost: bool = False,
        adopt: bool = False,
        dry_run_all: bool = False,
        take_away: bool = False,
        only: Iterable[str] = (),
        skip: Iterable[str] = (),
        replace: Iterable[str] = (),
    ) -> Plan:
        """As `diff`, with what will be done about it. Problems become guards that refuse the plan.

        `dry_run_all` as for `diff`.

        `prune` deletes what this stack owned and no longer has. `force` takes over fields in conflict. `accept_lost`
        takes for gone what Terraform's state has lost and nobody can look for. `adopt` also deletes what carries the
        stack's labels though no release here made it. `take_away` takes away what people put into live objects and no
        manager applies, which stays there otherwise. `clusters` may name `terraform`: where only some places are
        named, the plan is of that part alone.

        `only` and `skip` are selectors of resources (see `engine.choice`): all places are looked at, and what is not
        chosen is left as it is, but for what a chosen one needs. `replace` are selectors of what is deleted and made
        again although nothing calls for it. Raises `BadChoice` for one that fits nothing.
        """
        from workbench.engine.choice import Choice
        from workbench.project.readiness import read_readiness

        read_readiness(self._root)  # a broken file is found before anything is applied, not while it is waited for
        clusters = tuple(clusters)
        with self._expecting(stack, clusters, prune=prune):
            return await self._planning().plan(
                stack,
                inputs,
                clusters,
                prune=prune,
                force=force,
                accept_lost=accept_lost,
                adopts=adopt,
                dry_run_all=dry_run_all,
                takes_away=take_away,
                choice=Choice.of(only, skip),
                replaces=Choice.of(replace, ()),
            )

    @contextmanager
    def _expecting(self, stack: Stack, chosen: Iterable[str], *, prune: bool = True) -> Iterator[None]:
        """Has what a comparison needs made ready beside each other: a process that evaluates, the clusters it is with.

        They are asked for what carries the labels of the stack as well, where what is left of that is to be deleted.
        All of that begins once the evaluation was asked for and is waited for: before, it would be in its way. It is
        for the comparison inside of the block alone: the next one would be told what was there before it began.
        """
        import asyncio

        from workbench.engine.evaluators import evaluators

        is_over = not prune

        def labels() -> Mapping[str, str]:
            from workbench.engine.placement import ownership

            return {} if is_over else ownership(stack.path)

        evaluators.warm()
        clusters = [each for each in stack.clusters if not chosen or each in chosen]
        if clusters:
            begin = partial(self._begin_history, stack)
            asyncio.get_running_loop().call_soon(self._connections.prepare, clusters, labels, self._load_ahead, begin)
        try:
            yield
        finally:
            is_over = True
            self._connections.discard_prepared()
            if self._planner is not None:
                self._planner.ahead.discard()

    def _load_ahead(self) -> object:
        """What a comparison needs first, in a thread: its code, and what git says which repository this is."""
        import workbench.planner  # noqa: F401

        return self._releases

    def _begin_history(self, stack: Stack) -> None:
        self._planning().begin_history(stack)

    def waits_for(self) -> Mapping[str, float]:
        """Returns the places that a diff or plan has asked and that have not answered, with the seconds since then."""
        return self._planner.waiting.seconds() if self._planner is not None else {}

    def compared(self) -> Mapping[str, tuple[int, int]]:
        """Returns how many resources were compared in each place that is waited for, and of how many."""
        return self._planner.waiting.compared() if self._planner is not None else {}

    async def plan_destroy(
        self, stack: Stack, inputs: CompileInputs | None = None, *, accept_lost: bool = False, adopt: bool = False
    ) -> Plan:
        """Returns the plan that takes everything away that the stack has, wherever labels, releases or a state tell.

        What labels alone tell is a gap, as it may be another repository's, unless it is to be adopted.

        Needs no configuration: what there is is told by releases, labels and Terraform's state. Where the stack
        compiles, Terraform is told how its providers are configured there. A protected stack is refused by a guard.
        """
        return await self._planning().plan_destroy(stack, inputs, accept_lost=accept_lost, adopts=adopt)

    async def plan_rollback(
        self,
        stack: Stack,
        revision: int = 0,
        inputs: CompileInputs | None = None,
        *,
        clusters: Iterable[str] = (),
        force: bool = False,
        accept_lost: bool = False,
        adopt: bool = False,
        dry_run_all: bool = False,
        only: Iterable[str] = (),
        skip: Iterable[str] = (),
    ) -> Plan:
        """Returns the plan that gives a stack again what a release of it had; what came after is deleted.

        `revision` 0 is the last good one before the current one, or where an unfinished rollback went. The record is
        followed, not the configuration: that only says again what was secret, where its digest is the recorded one, and
        how providers are configured. Raises `ReleaseFailure` without such a release, `Refused` naming each field that
        nothing says any more. `only` and `skip` as for `plan`.
        """
        from workbench.engine.choice import Choice
        from workbench.project.readiness import read_readiness

        read_readiness(self._root)
        return await self._planning().plan_rollback(
            stack,
            inputs,
            clusters,
            revision=revision,
            force=force,
            accept_lost=accept_lost,
            adopts=adopt,
            dry_run_all=dry_run_all,
            choice=Choice.of(only, skip),
        )

    async def release_changes(
        self, stack: Stack, before: int = 0, after: int = 0, inputs: CompileInputs | None = None
    ) -> ReleaseChanges:
        """Returns what differs between two releases; with one, between it and what the configuration says now.

        Without any it is between the last two. Asks no cluster but for its releases. Raises `ReleaseFailure` where one
        is not there or not readable.
        """
        return await self._planning().release_changes(stack, before, after, inputs)

    def save_plan(self, plan: Plan, path: str | Path) -> None:
        """Writes what is needed to make the same plan again, without secrets; raises `EngineError`."""
        from workbench.engine import plan_file

        self.refuse_outside(Path(path))
        plan_file.save(plan, Path(path), self._root, self._settings.plan_age)

    async def load_plan(self, path: str | Path, inputs: CompileInputs | None = None) -> Plan:
        """Makes a saved plan again; raises `StalePlan` if it does not come out the same, saying what moved.

        One that is too old raises `ExpiredPlan` before anything is asked.
        Clusters that are not, or are not known to be, those it was made for raise `OtherCluster` before they are asked
        anything else.

        Options that look like secrets are not saved: hand them in again with `inputs`.
        """
        from workbench.engine import plan_file
        from workbench.engine.plan_age import refuse_old

        saved = plan_file.load(Path(path), self._root)
        limit = self._settings.plan_age
        refuse_old(saved.made_at, saved.expires_at, now=self._now(), limit=limit, where=str(path))
        plan = await self.plan_again(saved, inputs)
        plan_file.compare(saved, plan)
        return plan

    async def plan_again(self, saved: SavedPlan, inputs: CompileInputs | None) -> Plan:
        """Makes a saved plan again, whatever comes out."""
        from workbench.engine import plan_file
        from workbench.engine.choice import Choice

        stack = self.tree().stack(StackPath.parse(saved.stack))
        completed = plan_file.completed(saved, inputs)
        choice = Choice.of(saved.only_resources, saved.skipped)
        if saved.destroys:
            return await self._planning().plan_destroy(
                stack,
                completed,
                saved.salt,
                accept_lost=saved.accept_lost,
                adopts=saved.adopts,
                bound=saved.identities,
            )
        if saved.rolls_back_to:
            return await self._planning().plan_rollback(
                stack,
                completed,
                saved.only,
                revision=saved.rolls_back_to,
                force=saved.force,
                accept_lost=saved.accept_lost,
                adopts=saved.adopts,
                dry_run_all=saved.dry_run_all,
                choice=choice,
                salt=saved.salt,
                bound=saved.identities,
            )
        return await self._planning().plan(
            stack,
            completed,
            saved.only,
            prune=saved.prune,
            force=saved.force,
            accept_lost=saved.accept_lost,
            adopts=saved.adopts,
            dry_run_all=saved.dry_run_all,
            takes_away=saved.takes_away,
            choice=choice,
            replaces=Choice.of(saved.replaces, ()),
            salt=saved.salt,
            bound=saved.identities,
        )

    @asynccontextmanager
    async def apply(
        self,
        plan: Plan,
        *,
        confirm: str = "",
        rollout: str = "",
        held: Mapping[str, HeldLock] = MappingProxyType({}),
        reason: str = "",
    ) -> AsyncIterator[Applying]:
        """Executes a plan; the events are `ApplyStarted` first and `ApplyFinished` last.

        `rollout` is the id of the rollout that it is a part of, for its release. `held` are locks of the caller
        without which no step begins. `reason` is recorded instead of the session's.

        What is yielded is iterated for events, and can be interrupted: then what was begun ends, and so do the events.

        Entering raises `Refused`, `UnresolvedConflict`, `ConfirmationRequired`, `Locked`, `StalePlan`,
        `ReleaseFailure` or `RuntimeFailure`, each before anything is written. Failures of single steps are events.
        Leaving early, or cancelling, lets writes in flight finish, starts no other, and records the release as
        interrupted.
        """
        from workbench.applying import applying
        from workbench.destinations import release_places
        from workbench.engine.approval import approve

        stack = self.select(plan.stack)
        plan = await self._planning().judged(plan, stack)  # a window may have closed since it was made
        approve(plan, confirm)
        await self._refuse_other_outputs(plan)
        ids = [*(each.id for each in plan.spec), *(each.address.id for each in plan.changes)]
        async with applying(
            plan,
            self._releases,
            release_places(self._root, stack, ids, self._store()),
            self._connections.runtime,
            lambda: self._workspace().of(self.select(plan.stack)),
            self.audit(),
            self._actor(),
            self._now,
            confirm=confirm,
            reason=reason or self.reason,
            rollout=rollout,
            held=held,
        ) as events:
            yield events

    def not_declared(self, spec: Spec) -> list[tuple[OutputUse, NoOutput]]:
        """Returns each field of a compiled Spec that reads an output which no stack declares, and what to do."""
        from workbench.engine.outputs import uses
        from workbench.stack_outputs import not_declared

        return list(not_declared(self.tree(), spec)) if uses(spec) else []

    def output_origins(self, spec: Spec, resource: Resource, path: FieldPath) -> list[str]:
        """Returns where the outputs are declared that a field of a resource reads, or what is below it."""
        from workbench.engine.fields import plain_steps
        from workbench.engine.outputs import uses
        from workbench.stack_outputs import origins

        if not uses(spec):
            return []
        return list(origins(self.tree(), spec, resource.id, plain_steps(resource.attributes, path)))

    async def outputs(self, stack: Stack) -> StackOutputs:
        """Returns what a stack gives to others, each as it is now, or why that is not known. Compiles nothing.

        Secrets are in it as values that are not shown (`OutputValue.shown`).
        """
        from workbench.engine.outputs import StackOutputs

        found = await self._output_reader.of(stack, stack.outputs)
        return StackOutputs(str(stack.path), found, stack.unread_outputs)

    @cached_property
    def _output_reader(self) -> OutputReader:
        from workbench.stack_outputs import OutputReader

        return OutputReader(
            self._root,
            self.tree,
            self._releases,
            self._workspace(),
            self._connections.runtime,
            self._settings.host,
            self._now,
        )

    async def _refuse_other_outputs(self, plan: Plan) -> None:
        """Raises `StalePlan` where what other stacks give is not what the plan was made from."""
        from workbench.engine.errors import StalePlan
        from workbench.engine.outputs import moved

        if reads := plan.spec.reads:
            found = await self._output_reader.read([each.output for each in reads])
            if others := moved(reads, found):
                raise StalePlan(others, where=plan.stack)

    async def _with_outputs(self, stack: Stack, spec: Spec) -> Spec:
        """Returns the Spec with the secrets and the outputs that it refers to. Raises `SecretsUnavailable` and
        `OutputsUnavailable`."""
        import anyio.to_thread

        from workbench.engine import outputs
        from workbench.engine.secret_marks import asks, marked
        from workbench.stack_outputs import misdeclared

        spec = await self._resolved(stack, spec)
        spec = replace(spec, notes=tuple(misdeclared(stack, spec))) if stack.outputs else spec
        if every := outputs.uses(spec):
            notes = await self._order(stack, spec)
            found = await self._output_reader.read(tuple(dict.fromkeys(each.output for each in every)))
            spec = replace(outputs.resolved(spec, found), notes=(*notes, *spec.notes))
            self._secrets |= spec.secrets
        return await anyio.to_thread.run_sync(marked, spec) if asks(spec) else spec

    async def _order(self, stack: Stack, spec: Spec) -> tuple[str, ...]:
        """Returns what is to be said of the stacks that come before this one; raises `StackCycle`.

        Those are compiled, as only their KCL says what they read in turn.
        """
        from workbench.engine.stack_order import ranks, readings_of, refuse_cycle
        from workbench.project import WorkbenchError

        readings = {str(stack.path): readings_of(spec)}
        known = {str(each.path): each for each in self.tree().stacks()}
        unknown: list[str] = []
        todo = list(readings[str(stack.path)])
        while todo:
            name = todo.pop()
            if name in readings or name not in known:
                continue
            try:
                readings[name] = readings_of((await self.compile(known[name])).spec)
            except WorkbenchError as error:
                readings[name] = {}
                unknown.append(f"whether {name} reads this stack in turn is not known: {error.message}")
            todo += readings[name]
        refuse_cycle(readings)
        rank = ranks(readings, readings)
        before = sorted((each for each in readings if each != str(stack.path)), key=lambda each: rank[each])
        return (*([f"comes after {', '.join(before)}"] if before else []), *unknown)

    def _planning(self) -> Planner:
        from workbench.planner import Planner

        if self._planner is None:
            self._planner = Planner(
                self._root,
                self._releases,
                self._workspace(),
                compile=self.compile,
                resolve=self._with_outputs,
                connect=self._connections.runtime,
                now=self._now,
                judge=self._judge,
                read_only=self.read_only,
                rollouts=lambda path, history: self._rollouts().said_of(path, history),
                led_elsewhere=self._connections.led_elsewhere_meanwhile,
            )
        return self._planner

    def _judge(self) -> Judge:
        from workbench.engine.policy.judging import open_judge

        return open_judge(self._root, self._settings.policy, self._settings.allowance)
