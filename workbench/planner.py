"""From a stack to its diff and its plans: compiled, compared with every place it goes to, and what is to be done.

The engine compares and decides; here is gathered what it does that from: the Spec, the last release, the clusters and
the workspace that answer, and why the others do not. Writes nothing to any of them.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from runtimes.base import LiveResource, Runtime, RuntimeFailure, Workspace
from workbench.destinations import Places, destinations, refuse_doubtful
from workbench.engine.changes import StackDiff
from workbench.engine.compile import CompiledStack, CompileInputs
from workbench.engine.errors import EngineError, ReleaseFailure
from workbench.engine.masking import Seal
from workbench.engine.narrowing import Narrowed, to_clusters, to_workspace
from workbench.engine.placement import ownership, place
from workbench.engine.plan import Plan
from workbench.engine.planning import make_plan
from workbench.engine.release import Release
from workbench.engine.spec import Spec
from workbench.engine.survey import Seals, survey
from workbench.engine.workspace import terraform
from workbench.project import Stack, UnknownCluster, discover
from workbench.release import ReleaseStore
from workbench.workspaces import Workspaces

_SALT_BYTES = 32


@dataclass(frozen=True, slots=True)
class Planner:
    """`connect` gives the runtime of a cluster or raises `RuntimeFailure`; `compile` raises as `Session.compile` does.

    `screen` seals what is shown: one for as long as the planner lives, so that a secret looks the same in all it shows.
    """

    root: Path
    store: ReleaseStore
    workspaces: Workspaces
    compile: Callable[[Stack, CompileInputs], Awaitable[CompiledStack]]
    connect: Callable[[str], Awaitable[Runtime]]
    now: Callable[[], datetime]
    is_read_only: bool
    screen: Seal = field(default_factory=Seal.random, repr=False)

    async def diff(self, stack: Stack, inputs: CompileInputs | None, clusters: Iterable[str]) -> StackDiff:
        refuse_doubtful(stack)
        spec = (await self.compile(stack, inputs or CompileInputs())).spec
        warnings: tuple[str, ...] = ()
        try:
            prior, record = self.store.latest(stack.path), self.store.seal()
        except ReleaseFailure as error:
            # Nothing is written, so this is no reason to show nothing; drift is then told from owners alone.
            prior, record, warnings = None, Seal.random(), (f"release records are not used: {error}",)
        places = destinations(self.root, stack, clusters, spec, prior)
        found = await self._survey(stack, spec, places, prior, Seals(self.screen, record, Seal.random()))
        return replace(found, warnings=(*(prior.warnings if prior else ()), *warnings, *found.warnings))

    async def plan(
        self,
        stack: Stack,
        inputs: CompileInputs | None,
        clusters: Iterable[str],
        *,
        prune: bool,
        force: bool,
        accept_lost: bool = False,
        salt: bytes | None = None,
    ) -> Plan:
        """`salt` is that of a plan to be made again, None for a new one."""
        refuse_doubtful(stack)
        inputs = inputs or CompileInputs()
        spec = (await self.compile(stack, inputs)).spec
        prior = self.store.latest(stack.path)
        places = destinations(self.root, stack, clusters, spec, prior)
        return await self._plan(
            stack, spec, places, prior, inputs, salt, prune=prune, force=force, accept_lost=accept_lost
        )

    async def plan_destroy(
        self, stack: Stack, inputs: CompileInputs | None, salt: bytes | None = None, *, accept_lost: bool = False
    ) -> Plan:
        """`salt` is that of a plan to be made again, None for a new one."""
        refuse_doubtful(stack)
        prior = self.store.latest(stack.path)
        inputs = inputs or CompileInputs()
        nothing = Spec(str(stack.path), ())
        try:
            compiled = (await self.compile(stack, inputs)).spec
            nothing = replace(nothing, former=terraform(compiled), secrets=compiled.secrets)
        except EngineError:
            pass  # what is there is told by the state and the releases
        known = {each.name for each in discover(self.root).clusters.clusters}
        written = {each.cluster for each in prior.resources if each.cluster in known} if prior else set()
        clusters = tuple(dict.fromkeys((*stack.clusters, *sorted(written)))) if written else ()
        places = Places(clusters, terraform=True)
        return await self._plan(
            stack,
            nothing,
            places,
            prior,
            inputs,
            salt,
            prune=True,
            force=False,
            accept_lost=accept_lost,
            destroys=True,
        )

    async def _plan(
        self,
        stack: Stack,
        spec: Spec,
        places: Places,
        prior: Release | None,
        inputs: CompileInputs,
        salt: bytes | None,
        *,
        prune: bool,
        force: bool,
        accept_lost: bool,
        destroys: bool = False,
    ) -> Plan:
        salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
        seals = Seals(self.screen, self.store.seal(), Seal(salt))
        return make_plan(
            await self._survey(stack, spec, places, prior, seals, prune=prune, accept_lost=accept_lost),
            stack,
            prior=prior,
            revision=self.store.next_revision(stack.path),
            inputs=inputs,
            force=force,
            prune=prune,
            is_read_only=self.is_read_only,
            salt=salt,
            now=self.now(),
            destroys=destroys,
            only=places.only,
            accept_lost=accept_lost,
        )

    async def _survey(
        self,
        stack: Stack,
        spec: Spec,
        places: Places,
        prior: Release | None,
        seals: Seals,
        *,
        prune: bool = True,
        accept_lost: bool = False,
    ) -> StackDiff:
        narrowed = await self._narrowed(stack, spec, places, prior)
        spec = narrowed.spec
        seals = replace(seals, screen=seals.screen.knowing(spec.secrets), record=seals.record.knowing(spec.secrets))
        workspace: Workspace | RuntimeFailure | None = None
        if places.terraform and self.workspaces.is_needed(stack, spec, prior):
            try:
                workspace = await self.workspaces.of(stack)
            except RuntimeFailure as failure:
                workspace = failure
        found = await survey(
            spec,
            await self._runtimes(places.clusters),
            workspace=workspace,
            prior=prior,
            labels=ownership(stack.path),
            prune=prune and not narrowed.gaps,
            seals=seals,
            at=self.now(),
            root=self.root,
            accept_lost=accept_lost,
        )
        return replace(found, gaps=(*narrowed.gaps, *found.gaps), notes=narrowed.notes)

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
            return await (await self.workspaces.of(stack)).owned({})

        return await to_clusters(placed, state)

    async def _runtimes(self, clusters: Iterable[str]) -> dict[str, Runtime | RuntimeFailure]:
        found: dict[str, Runtime | RuntimeFailure] = {}
        for cluster in clusters:
            try:
                found[cluster] = await self.connect(cluster)
            except RuntimeFailure as failure:
                found[cluster] = failure
        return found
