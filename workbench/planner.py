"""From a stack to its diff and its plans: compiled, compared with every place it goes to, and what is to be done.

The engine compares and decides; here is gathered what it does that from: the Spec, the last release, the clusters and
the workspace that answer, and why the others do not. Writes nothing to any of them.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from kcl.records import dataclass, field, replace
from runtimes.base import (
    Address,
    Body,
    ClusterIdentity,
    LiveResource,
    Misconfigured,
    ReadRequest,
    Resource,
    ResourceId,
    Runtime,
    RuntimeFailure,
    RuntimeType,
    Unauthenticated,
    Unreachable,
)
from workbench import cautions
from workbench.destinations import (
    Places,
    destinations,
    goes_to_clusters,
    refuse_doubtful,
    release_places,
    release_places_of_objects,
)
from workbench.engine.changes import Gap, StackDiff
from workbench.engine.choice import EVERYTHING, Choice, Subject
from workbench.engine.compiled import CompiledStack, CompileInputs
from workbench.engine.errors import EngineError, Refused, ReleaseFailure
from workbench.engine.identities import Followed, Reached, Waiting, follow, identify, refuse_others
from workbench.engine.masking import Seal
from workbench.engine.narrowing import Narrowed, to_clusters, to_workspace, without
from workbench.engine.place_kinds import WORKSPACE, kind_of
from workbench.engine.placement import ownership, place
from workbench.engine.places import ClusterPlace, Place
from workbench.engine.places.surveying import Seals
from workbench.engine.plan import Plan
from workbench.engine.planning import make_plan
from workbench.engine.policy.judging import Judge
from workbench.engine.recorded import Known, only_in, rebuild, refusal
from workbench.engine.release import Release, held
from workbench.engine.release_changes import ReleaseChanges, compare_versions, of_release, of_spec
from workbench.engine.spec import Spec
from workbench.engine.survey import survey
from workbench.engine.workspace import terraform
from workbench.history_ahead import HistoryAhead
from workbench.project import Stack, StackPath, UnknownCluster, discover
from workbench.project.ignores import read_ignores
from workbench.project.masking import read_masking
from workbench.release.history import History
from workbench.release.shared import Releases
from workbench.workspaces import Workspaces

_SALT_BYTES = 32
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Planner:
    """`connect` gives the runtime of a cluster or raises `RuntimeFailure`; `compile` raises as `Session.compile` does.

    `resolve` puts secrets and outputs of other stacks in place of references to them, or raises `EngineError`.

    `judge` reads the policies, and raises what is wrong with their files.
    `read_only` says why nothing may be written to a stack, empty where it may.
    `rollouts` says which rollouts of a stack have not ended, `led_elsewhere` which names of clusters lead to others now
    than those that are connected.
    `screen` seals what is shown: one for as long as the planner lives, so that a secret looks the same in all it shows.
    """

    root: Path
    releases: Releases
    workspaces: Workspaces
    compile: Callable[[Stack, CompileInputs], Awaitable[CompiledStack]]
    resolve: Callable[[Stack, Spec], Awaitable[Spec]]
    connect: Callable[[str], Awaitable[Runtime]]
    now: Callable[[], datetime]
    judge: Callable[[], Judge]
    read_only: Callable[[Stack], str]
    rollouts: Callable[[StackPath, History], AsyncIterator[str]]
    led_elsewhere: Callable[[], tuple[str, ...]]
    screen: Seal = field(default_factory=Seal.random, repr=False)
    waiting: Waiting = field(default_factory=Waiting)
    ahead: HistoryAhead = field(default_factory=HistoryAhead)

    async def diff(
        self,
        stack: Stack,
        inputs: CompileInputs | None,
        clusters: Iterable[str],
        compiled: CompiledStack | None = None,
        *,
        dry_run_all: bool = False,
    ) -> StackDiff:
        refuse_doubtful(stack)
        spec = await self._spec(stack, inputs, compiled)
        try:
            history = await self._history(stack, spec)
            record = self.releases.seal(history.latest)
        except ReleaseFailure as error:
            # Nothing is written, so this is no reason to show nothing; drift is then told from owners alone.
            history = History(None, 0, warnings=(f"release records are not used: {error}",))
            record = Seal.random()
        prior = history.latest
        places = destinations(self.root, stack, clusters, spec, prior)
        at = await self._reach(places, history)
        found, _ = await self._survey(stack, spec, places, at, Seals(self.screen, record), dry_run_all=dry_run_all)
        found = cautions.with_history(found, history)
        said = (*(prior.warnings if prior else ()), *cautions.emptiness(spec))
        return replace(found, warnings=(*said, *found.warnings))

    async def _spec(self, stack: Stack, inputs: CompileInputs | None, compiled: CompiledStack | None = None) -> Spec:
        """Returns what a stack is configured to be, with the secrets that it refers to."""
        found = compiled or await self.compile(stack, inputs or CompileInputs())
        return await self.resolve(stack, found.spec)

    async def release_changes(
        self, stack: Stack, before: int, after: int, inputs: CompileInputs | None
    ) -> ReleaseChanges:
        """See `Session.release_changes`."""
        refuse_doubtful(stack)
        history = await self._history(stack, ())
        history.refuse_unknown(stack.name)
        compares_configuration = bool(before) and not after
        if not before:
            last = history.recorded()[:2]  # one of them that can't be read is not passed over: they would be others
            if len(last) < 2:
                said = f"there {'is one release' if last else 'is no release'}, and comparing takes two"
                hint = f"wb release diff {stack.name} {last[0]} compares it with the configuration" if last else ""
                raise ReleaseFailure(said, where=stack.name, hint=hint)
            after, before = last
        first = history.find(before, stack.name)
        rules = read_masking(self.root)
        screen, seal = self.screen, self.releases.seal(first)
        if compares_configuration:
            spec = await self._spec(stack, inputs)
            spec = place(spec, stack.path, stack.placement.namespace if stack.placement else None)
            screen = screen.knowing(spec.secrets, spec.rules)
            other = of_spec(spec, stack.clusters, seal, first.salt)
        else:
            second = history.find(after, stack.name)
            seal, other = self.releases.seal(second), of_release(second)
        found = compare_versions(str(stack.path), of_release(first), other, seal=seal, screen=screen, rules=rules)
        return replace(found, remarks=(*history.warnings, *found.remarks))

    async def plan(
        self,
        stack: Stack,
        inputs: CompileInputs | None,
        clusters: Iterable[str],
        *,
        prune: bool,
        force: bool,
        accept_lost: bool = False,
        adopts: bool = False,
        dry_run_all: bool = False,
        takes_away: bool = False,
        choice: Choice = EVERYTHING,
        replaces: Choice = EVERYTHING,
        forgets: frozenset[ResourceId] = frozenset(),
        salt: bytes | None = None,
        bound: Mapping[str, ClusterIdentity] | None = None,
    ) -> Plan:
        """`salt` is that of a plan to be made again, `bound` the clusters it is for; both None for a new one.

        Raises `OtherCluster` before anything else is asked of clusters that are not those it is bound to.
        """
        refuse_doubtful(stack)
        inputs = inputs or CompileInputs()
        spec = await self._spec(stack, inputs)
        history = await self._history(stack, spec)
        places = destinations(self.root, stack, clusters, spec, history.latest)
        if forgets:
            spec = without(spec, forgets)
        return await self._plan(
            stack,
            spec,
            places,
            history,
            inputs,
            salt,
            prune=prune,
            force=force,
            accept_lost=accept_lost,
            adopts=adopts,
            dry_run_all=dry_run_all,
            takes_away=takes_away,
            choice=choice,
            replaces=replaces,
            forgets=forgets,
            bound=bound,
        )

    async def plan_destroy(
        self,
        stack: Stack,
        inputs: CompileInputs | None,
        salt: bytes | None = None,
        *,
        accept_lost: bool = False,
        adopts: bool = False,
        bound: Mapping[str, ClusterIdentity] | None = None,
    ) -> Plan:
        """See `plan`."""
        refuse_doubtful(stack)
        inputs = inputs or CompileInputs()
        nothing = Spec(str(stack.path), (), rules=read_masking(self.root))
        try:
            compiled: Spec | None = await self._spec(stack, inputs)
        except EngineError:
            compiled = None  # what is there is told by the state and the releases
        if compiled is not None:
            nothing = replace(nothing, former=terraform(compiled), secrets=compiled.secrets)
        history = await self._history(stack, compiled or ())
        return await self._plan(
            stack,
            nothing,
            self._everywhere(stack, compiled, history.latest),
            history,
            inputs,
            salt,
            prune=True,
            force=False,
            accept_lost=accept_lost,
            adopts=adopts,
            destroys=True,
            gaps=tuple(self._unrecorded(stack, compiled, history)),
            bound=bound,
        )

    async def plan_rollback(
        self,
        stack: Stack,
        inputs: CompileInputs | None,
        clusters: Iterable[str],
        *,
        revision: int = 0,
        force: bool = False,
        accept_lost: bool = False,
        adopts: bool = False,
        dry_run_all: bool = False,
        choice: Choice = EVERYTHING,
        salt: bytes | None = None,
        bound: Mapping[str, ClusterIdentity] | None = None,
    ) -> Plan:
        """See `plan`. `revision` is the release to return to, 0 for the one that `rollback_target` finds.

        Raises `ReleaseFailure` where there is no such release, `Refused` where it cannot be returned to as a whole.
        """
        refuse_doubtful(stack)
        inputs, clusters = inputs or CompileInputs(), tuple(clusters)
        compiled, notes = await self._as_configured(stack, inputs)
        history = await self._history(stack, compiled or ())
        history.refuse_unknown(stack.name)
        target = history.find(revision, stack.name) if revision else history.rollback_target(stack.name)
        if history.latest is not None and target.revision == history.latest.revision:
            notes = (*notes, f"release {target.revision} is the last one: what differs from it live is put back")
        if not revision and (gone := history.unrecorded_after(target.revision)):
            which = ", ".join(map(str, gone)) if len(gone) <= _MOST_NAMED else f"{gone[0]} to {gone[-1]}"
            notes = (*notes, f"release {which} is not recorded any more: whether that was a good one is not known")
        ids = tuple(Resource(address.id, each.type, {}) for address, each in target.resources.items())
        places = destinations(self.root, stack, clusters, Spec(str(stack.path), ids), history.latest)
        at = await self._reach(places, history)
        recorded = follow(target, at.clusters.identities).release
        assert recorded is not None, "there is one to follow"
        recorded = only_in(recorded, places.clusters) if places.only else recorded
        if why := refusal(recorded, places.clusters):
            hint = f"choose another one (wb release list {stack.name}), or part of the places with --cluster"
            raise Refused([why], where=stack.name, hint=hint)
        spec = await self._rebuilt(stack, recorded, compiled, at)
        plan = await self._plan(
            stack,
            spec,
            places,
            history,
            inputs,
            salt,
            prune=True,
            force=force,
            accept_lost=accept_lost,
            adopts=adopts,
            dry_run_all=dry_run_all,
            choice=choice,
            bound=bound,
            rolls_back_to=target.revision,
        )
        return replace(plan, notes=(*notes, *plan.notes))

    async def _as_configured(self, stack: Stack, inputs: CompileInputs) -> tuple[Spec | None, tuple[str, ...]]:
        """Returns what the configuration says now, as it is placed, and what to say where it says nothing."""
        try:
            spec = await self._spec(stack, inputs)
            return place(spec, stack.path, stack.placement.namespace if stack.placement else None), ()
        except EngineError as error:
            return None, (f"the configuration does not compile, and is not needed: {error.message}",)

    async def _rebuilt(self, stack: Stack, recorded: Release, configured: Spec | None, at: _Reached) -> Spec:
        """Returns what a release had. Raises `Refused` naming each field that its record does not hold."""
        known = Known({each.id: (each.attributes,) for each in configured or ()})
        seal = self.releases.seal(recorded)
        found = rebuild(recorded, seal, known, configured)
        silent: list[str] = []
        if found.missing:
            wanted = {each.id for each in found.missing}
            live = [each async for each in self._live(stack, recorded, wanted, at, silent)]
            found = rebuild(recorded, seal, known.with_live(live), configured)
        if found.missing:
            hint = "have the configuration say again what it said then in these fields, and roll back"
            raise Refused([*map(str, found.missing), *silent], where=stack.name, hint=hint)
        spec = found.spec(str(stack.path), read_masking(self.root), configured.secrets if configured else frozenset())
        if configured is not None:
            spec = replace(spec, former=terraform(configured))
        if any(kind_of(each.id) is WORKSPACE for each in spec):
            spec = spec.with_sensitive(self.workspaces.recorded_sensitive(stack, spec))
        return spec

    async def _live(
        self, stack: Stack, recorded: Release, wanted: Container[ResourceId], at: _Reached, silent: list[str]
    ) -> AsyncIterator[tuple[ResourceId, Body]]:
        """Yields what is live of these resources; adds to `silent` why it is not known."""
        for address in recorded.resources:
            runtime = at.clusters.runtimes.get(address.cluster)
            if address.id not in wanted or runtime is None:
                continue
            try:
                if isinstance(runtime, RuntimeFailure):
                    raise runtime
                live = await runtime.read(ReadRequest(address.id))
            except RuntimeFailure as failure:
                silent.append(f"{address}: what is live is not known: {failure.message}")
            else:
                if live is not None:
                    yield address.id, live.body
        if any(kind_of(each.id) is WORKSPACE and each.id in wanted for each in recorded.resources):
            try:
                for each in (await (await self.workspaces.of(stack)).owned({})).resources:
                    yield each.id, each.body
            except RuntimeFailure as failure:
                silent.append(f"{WORKSPACE.only_name}: what its state has is not known: {failure.message}")

    def _everywhere(self, stack: Stack, compiled: Spec | None, prior: Release | None) -> Places:
        """Returns where a stack may have something: where it goes, where its release was, and without one anywhere."""
        mapping = discover(self.root).clusters
        declared = tuple(each.name for each in mapping.clusters)
        written = {each.cluster for each in held(prior, RuntimeType.KUBERNETES)}
        own = tuple(dict.fromkeys((*stack.clusters, *(each for each in declared if each in written))))
        ids = [*(each.id for each in compiled or ()), *(each.id for each in (prior.resources if prior else ()))]
        if not goes_to_clusters(ids):
            own = ()
        # what is kept under a name of its own may be in any of them, under another name
        is_unsure = prior is None or bool(written - {*declared, *stack.clusters})
        others = declared if is_unsure and mapping.is_declared else ()
        return Places(own, terraform=True, besides=tuple(each for each in others if each not in own))

    def _unrecorded(self, stack: Stack, compiled: Spec | None, history: History) -> Iterator[Gap]:
        """Yields what may be there of a stack never applied from here: another machine may have done it.

        The whole history tells: a release of a destroy has nothing in it, whether or not it knew of everything.
        """
        known = {each.cluster for release in history.releases() for each in release.resources}
        if not known:
            for each in self.releases.store.elsewhere(stack.path):
                yield Gap("", str(each), each.hint, exists=True)
        yield from self.workspaces.unrecorded(stack, compiled, known)

    async def _plan(
        self,
        stack: Stack,
        spec: Spec,
        places: Places,
        history: History,
        inputs: CompileInputs,
        salt: bytes | None,
        *,
        prune: bool,
        force: bool,
        accept_lost: bool,
        adopts: bool,
        destroys: bool = False,
        dry_run_all: bool = False,
        takes_away: bool = False,
        gaps: tuple[Gap, ...] = (),
        choice: Choice = EVERYTHING,
        replaces: Choice = EVERYTHING,
        forgets: frozenset[ResourceId] = frozenset(),
        bound: Mapping[str, ClusterIdentity] | None = None,
        rolls_back_to: int = 0,
    ) -> Plan:
        salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
        seals = Seals(self.screen, self.releases.seal(history.latest), Seal(salt))
        at = await self._reach(places, history)
        if bound is not None:
            self._refuse_others(stack, bound, at)
        prior = at.prior
        found, prune = await self._survey(
            stack,
            spec,
            places,
            at,
            seals,
            prune=prune,
            accept_lost=accept_lost,
            adopts=adopts,
            dry_run_all=dry_run_all,
            takes_away=takes_away,
            replaces=replaces,
            forgets=forgets,
        )
        found = cautions.with_history(found, history)
        others = () if prior is not None and prior.resources else self.releases.store.elsewhere(stack.path)
        plan = make_plan(
            replace(
                found,
                gaps=(*gaps, *found.gaps),
                warnings=(*(() if destroys else cautions.emptiness(spec)), *found.warnings),
            ),
            stack,
            prior=prior,
            revision=history.next_revision,
            inputs=inputs,
            force=force,
            prune=prune,
            read_only=self.read_only(stack),
            salt=salt,
            now=self.now(),
            destroys=destroys,
            adopts=adopts,
            only=places.only,
            accept_lost=accept_lost,
            dry_run_all=dry_run_all,
            takes_away=takes_away,
            elsewhere=tuple(f"{each} ({each.hint})" for each in others),
            rolls_back_to=rolls_back_to,
            choice=choice,
            replaces=tuple(each.text for each in replaces.only),
        )
        under_way = [each async for each in self.rollouts(stack.path, history)]
        plan = replace(
            plan, guards=(*plan.guards, *cautions.history_guard(plan, history)), warnings=(*plan.warnings, *under_way)
        )
        return await self.judged(plan, stack)

    async def judged(self, plan: Plan, stack: Stack) -> Plan:
        """Returns the plan with what policies say of it now."""
        return await self.judge().judged(stack, plan, self.now())

    async def _survey(
        self,
        stack: Stack,
        spec: Spec,
        places: Places,
        at: _Reached,
        seals: Seals,
        *,
        prune: bool = True,
        accept_lost: bool = False,
        adopts: bool = False,
        dry_run_all: bool = False,
        takes_away: bool = False,
        replaces: Choice = EVERYTHING,
        forgets: frozenset[ResourceId] = frozenset(),
    ) -> tuple[StackDiff, bool]:
        """Returns the difference, and whether it looked for what is to be deleted: not where something is withheld."""
        prior = at.prior
        narrowed = await self._narrowed(stack, spec, places, prior)
        spec, prune = narrowed.spec, prune and not narrowed.gaps
        seals = replace(
            seals,
            screen=seals.screen.knowing(spec.secrets, spec.rules),
            record=seals.record.knowing(spec.secrets, spec.rules),
        )
        asked: list[Place] = [
            ClusterPlace(name, each, self.waiting.progress(name)) for name, each in at.clusters.runtimes.items()
        ]
        if places.terraform and self.workspaces.is_needed(stack, spec, prior):
            asked.append(await self.workspaces.place(stack, at.clusters.runtimes))
        with ExitStack() as waits:
            for each in asked:
                if each.is_waited_for:
                    waits.enter_context(self.waiting.on(each.name))
            found = await survey(
                spec,
                asked,
                prior=prior,
                labels=ownership(stack.path),
                prune=prune,
                seals=seals,
                at=self.now(),
                adopts=adopts,
                root=self.root,
                accept_lost=accept_lost,
                dry_run_all=dry_run_all,
                takes_away=takes_away,
                replaces=replaces.fitting(_subjects(spec, asked)),
                forgets=forgets,
                ignores=read_ignores(stack),
            )
        found = cautions.handed_over(self.root, found)
        gaps = [*narrowed.gaps, *found.gaps, *cautions.renamed(self.root, found)]
        if prune:
            gaps += cautions.left_behind(self.root, stack, places, prior)
        others = tuple(cautions.other_cluster(at.followed, at.clusters.identities, prior)) if prior is not None else ()
        found = replace(
            found,
            gaps=tuple(gaps),
            notes=(
                *narrowed.notes,
                *found.notes,
                *cautions.presumed(at.clusters.identities),
                *(each.said(seals.screen.knowing(found.spec.secrets)) for each in spec.reads),
                *spec.notes,
            ),
            warnings=(
                *found.warnings,
                *others,
                *at.followed.unsure,
                *cautions.labelled_before(stack, found, prior),
                *cautions.one_cluster_twice(at.clusters.identities),
                *cautions.other_clocks(at.clusters.identities),
                *(self.led_elsewhere() if at.clusters.runtimes else ()),
            ),
            cautions=(*found.cautions, *others),
            # of a cluster that took the place of another, no release tells what was there
            release=0 if at.followed.others else found.release,
            identities=at.clusters.identities,
        )
        return cautions.without_silent(found, places), prune

    async def _history(self, stack: Stack, resources: Iterable[Resource]) -> History:
        where = release_places(self.root, stack, [each.id for each in resources], self.releases.store)
        with ExitStack() as waits:
            for each in self.releases.places(where):
                waits.enter_context(self.waiting.on(each))
            begun = self.ahead.take(where)
            return await (begun or self.releases.read(where))

    def begin_history(self, stack: Stack) -> None:
        """Has what `diff` and `plan` read of releases be read now: of a stack that has objects, as most have."""
        where = release_places_of_objects(self.root, stack)
        if self.releases.places(where):
            self.ahead.begin(where, self.releases.read)

    async def _reach(self, places: Places, history: History) -> _Reached:
        """Connects the clusters to be asked, and has the last release follow those that have other names now.

        One that a moment ago could not be reached for its releases is not waited for once more.
        """
        names = (*places.clusters, *places.besides)
        silent = {
            name: each
            for name, each in history.silent.items()
            if name in names and isinstance(each, Unreachable | Unauthenticated | Misconfigured)
        }
        runtimes = {**silent, **await self._runtimes(each for each in names if each not in silent)}
        reached = await identify({each: runtimes[each] for each in names}, self.waiting)
        return _Reached(reached, follow(history.latest, reached.identities))

    def _refuse_others(self, stack: Stack, bound: Mapping[str, ClusterIdentity], at: _Reached) -> None:
        for name, each in at.clusters.runtimes.items():
            if isinstance(each, RuntimeFailure) and name in bound:
                raise each  # it would be refused in any case, and this says why
        refuse_others(stack.name, bound, at.clusters.identities, is_bound=True)

    async def _narrowed(self, stack: Stack, spec: Spec, places: Places, prior: Release | None) -> Narrowed:
        """Places the Spec, and leaves of it what goes to the places that are asked."""
        placed = place(spec, stack.path, stack.placement.namespace if stack.placement else None)
        if not places.is_part:
            return Narrowed(placed)
        if not self.workspaces.is_needed(stack, spec, prior):
            if places.terraform:
                raise UnknownCluster("has nothing in Terraform", where=stack.name, hint="leave out --cluster terraform")
            return Narrowed(placed)
        if places.terraform:
            return await to_workspace(placed, await self._runtimes(stack.clusters))

        async def state() -> tuple[LiveResource, ...]:
            return (await (await self.workspaces.of(stack)).owned({})).resources

        return await to_clusters(placed, state)

    async def _runtimes(self, clusters: Iterable[str]) -> dict[str, Runtime | RuntimeFailure]:
        found: dict[str, Runtime | RuntimeFailure] = {}
        for cluster in clusters:
            try:
                found[cluster] = await self.connect(cluster)
            except RuntimeFailure as failure:
                found[cluster] = failure
        return found


def _subjects(spec: Spec, asked: Iterable[Place]) -> list[Subject]:
    return [
        Subject(Address(each.name, one.id), one.attributes) for each in asked for one in spec if each.kind.holds(one.id)
    ]


@dataclass(frozen=True, slots=True)
class _Reached:
    clusters: Reached
    followed: Followed

    @property
    def prior(self) -> Release | None:
        """The last release, with its resources under the names their clusters have now."""
        return self.followed.release
