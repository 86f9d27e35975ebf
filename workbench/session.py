"""A session: one repository, one set of settings, connections to its clusters. What every face works through.

    async with Session.open(path) as session:
        stack = session.select("shop/prod")
        plan = await session.plan(stack)
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async for event in events: ...
        async with session.watch(stack, until_settled=True, timeout_seconds=300) as trees:
            async for tree in trees: ...

It is the composition root: with `connections` the only place that names concrete runtimes and stores. Opening one reads
no cluster and no KCL; connections are made when a verb first needs them and closed with the session. All verbs may be
cancelled, and may run side by side on one event loop.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from workbench.connections import Connect, Connections
from workbench.local import LocalState, ServedPractice
from workbench.project import (
    TERRAFORM_PLACE,
    Impact,
    KonfigTree,
    ProjectError,
    Stack,
    StackPath,
    UnknownStack,
    affected,
    checkout,
    discover,
    find_root,
    refuse_outside,
)
from workbench.settings import Settings

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from kcl.tools.migrate import Outcome
    from runtimes.base import ClusterIdentity, ObjectRef, Runtime, RuntimeFailure
    from workbench.audit import Actor, AuditTrail
    from workbench.engine.changes import StackDiff
    from workbench.engine.compile import CompiledStack, CompileInputs
    from workbench.engine.compile_all import Sweep
    from workbench.engine.execute import Applying
    from workbench.engine.migration import Migration
    from workbench.engine.plan import Plan
    from workbench.engine.plugins import RepositoryPlugins
    from workbench.engine.recovery.document import Limits as RecoveryLimits
    from workbench.engine.recovery.document import RecoveryDocument
    from workbench.engine.recovery.execute import RecoveryRun
    from workbench.engine.recovery.values import Recovery
    from workbench.engine.release import Release
    from workbench.engine.spec import Spec
    from workbench.engine.status import StatusTree
    from workbench.engine.whatif import WhatIf
    from workbench.planner import Planner
    from workbench.release import ReleaseStore
    from workbench.trust import Trust, Want
    from workbench.workspaces import ConnectWorkspace, Workspaces

_STATUS_PATIENCE_SECONDS = 5.0


class Session:
    """See the module. Methods that take a `Stack` take one of `tree()` or `select()`."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        *,
        current: Path | None = None,
        connect: Connect | None = None,
        connect_workspace: ConnectWorkspace | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._root, self._settings, self._current, self._now = root, settings, current, now
        self._connect = connect
        self._connect_workspace = connect_workspace
        self._workspaces: Workspaces | None = None
        self._read: dict[StackPath, frozenset[Path]] = {}
        self._planner: Planner | None = None
        self._served: ServedPractice | None = None
        self._local = LocalState(settings.state_dir, root)
        self._secrets: frozenset[str] = frozenset()
        self.origin = "python"
        """The face that works through this session, as the audit trail names it: cli, tui, notebook, python."""
        self.reason = settings.reason
        """Why what is applied is applied, for the audit trail; a recovery has its own."""

    @classmethod
    def open(
        cls,
        path: str | Path = ".",
        *,
        kubeconfig: str | Path | None = None,
        settings: Settings | None = None,
        connect: Connect | None = None,
        connect_workspace: ConnectWorkspace | None = None,
    ) -> Self:
        """Opens the repository at or above `path`; raises `NotARepository`.

        `kubeconfig` wins over settings. Where neither says anything, practice clusters that `wb demo --headless` serves
        for this repository are used while it runs. `connect` replaces the way clusters are reached (tests, rehearsals),
        `connect_workspace` the way Terraform is.
        """
        settings = settings or Settings.load()
        if kubeconfig is not None:
            settings = replace(settings, kubeconfig=str(kubeconfig))
        start = Path(path).resolve()
        root = find_root(start)
        served = LocalState(settings.state_dir, root).practice()
        opened = cls(root, settings, current=start, connect=connect, connect_workspace=connect_workspace)
        opened._served = served
        if served is not None and not settings.kubeconfig:
            # Releases of practice clusters are kept with them, apart from those of real ones.
            opened._settings = replace(
                settings,
                kubeconfig=served.kubeconfig,
                state_dir=Path(served.state_dir),
                terraform_mirrors=tuple(Path(each) for each in served.terraform_mirrors) or settings.terraform_mirrors,
                # what the user's own file says of providers must not keep the one to practise with away
                terraform_config="" if served.terraform_mirrors else settings.terraform_config,
                terraform_environment={**settings.terraform_environment, **served.terraform_environment},
            )
        return opened

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes every connection, even while being cancelled; ends evaluations that nobody waits for."""
        import anyio

        if "workbench.engine.evaluators" in sys.modules:
            from workbench.engine.evaluators import evaluators

            evaluators.end_abandoned()
        with anyio.CancelScope(shield=True):
            await self._connections.close()
            if self._workspaces is not None:
                await self._workspaces.close()

    # Browsing: synchronous, reads files only

    @property
    def root(self) -> Path:
        return self._root

    @property
    def settings(self) -> Settings:
        """Those that hold here: with an untrusted repository nothing is written."""
        return replace(self._settings, is_read_only=True) if self.trust.untrusted else self._settings

    @property
    def served(self) -> ServedPractice | None:
        """What `wb demo --headless` served for this repository when the session was opened, None if nothing."""
        return self._served

    @property
    def local(self) -> LocalState:
        """What this machine knows of the repository, such as which plugins its user trusts."""
        return self._local

    @cached_property
    def trust(self) -> Trust:
        """What the repository may make this machine do, as its user has it."""
        from workbench.trust import Trust

        return Trust(self._root, self._settings, self._local, self._served.trusted if self._served else None)

    def backend_want(self, stack: Stack) -> Want | None:
        """Returns what the stack wants of a Terraform backend; None where it names none that needs trust."""
        return self.trust.backend(stack, self._store().workspace_folder(stack.path))

    def tree(self) -> KonfigTree:
        """Reads the repository anew."""
        return discover(self._root)

    def clusters(self) -> Mapping[str, ClusterIdentity | RuntimeFailure]:
        """Returns where each cluster of the repository is by clusters.yaml and the kubeconfig; asks none of them."""
        return self._connections.described()

    def select(self, text: str) -> Stack:
        """Finds a stack by `project/stack` or by folder (relative to `path` or to the root); raises `UnknownStack`."""
        try:
            return self.tree().select(text, current=self._current)
        except UnknownStack as error:
            self._explain_released(text, error)
            raise

    def _explain_released(self, text: str, error: UnknownStack) -> None:
        """Says of a stack that was taken out of the repository what its last release left."""
        from workbench.engine.errors import ReleaseFailure

        try:
            left = self._store().latest(StackPath.parse(text.strip("/")))
        except (ProjectError, ReleaseFailure):
            return
        if left is not None and left.resources:
            what = f"release {left.revision} of it has {len(left.resources)} resources"
            error.hint = f"{what}: bring its folder back, and take them away with wb destroy"

    def take_over(self, former: Path) -> tuple[str, ...]:
        """Gives releases and Terraform states of a checkout that was moved here to this one; returns the stacks.

        Raises `ReleaseFailure`, having changed nothing.
        """
        return self._store().take_over(former)

    def releases(self, stack: Stack) -> tuple[Release, ...]:
        """Returns what is recorded on this machine, newest first; broken records are named in its warnings.

        Raises `ReleaseFailure` if there are records and none can be read.
        """
        return self._store().releases(stack.path)

    def forget(self, stack: Stack, cluster: str) -> tuple[str, ...]:
        """Has the releases of a stack know nothing of a cluster any more, which is gone; returns what they had there.

        Writes a release, and nothing to any cluster. Raises `Refused` in a read-only session, `Locked` or
        `ReleaseFailure`.
        """
        from workbench.engine.errors import Refused

        if self._settings.is_read_only:
            raise Refused(["this session is read-only (WB_READONLY)"], where=stack.name)
        settings = self._settings
        gone = self._store().forget(stack.path, cluster, user=settings.user, host=settings.host, now=self._now())
        detail = f"{len(gone)} resources are known no more, and left wherever they are"
        self.audit().append(
            self._actor(), self._now(), action="forget", plan="", target=stack.name, cluster=cluster, result="done",
            detail=detail, reason=self.reason,
        )  # fmt: skip
        return tuple(str(each.address.id) for each in gone)

    def affected(self, files: Iterable[str | Path]) -> Impact:
        """Returns the stacks that changing these files touches; exact for stacks compiled in this session."""
        return affected(self.tree(), [Path(each) for each in files], self._read)

    # Compiling

    async def compile(self, stack: Stack, inputs: CompileInputs | None = None) -> CompiledStack:
        """Raises `CompileFailed` (the KCL is wrong) or `SpecInvalid` (what it yields is no Spec)."""
        from workbench.engine.evaluators import evaluators

        evaluators.warm()  # while this process reads what it needs of the language
        from workbench.engine.compile import CompileInputs
        from workbench.engine.shipped import compile_stack

        compiled = await compile_stack(
            stack, inputs or CompileInputs(), self._root, self._settings.allowance, self._plain_plugins()
        )
        self._read[stack.path] = compiled.dependencies
        compiled = replace(compiled, spec=self._with_sensitive(stack, compiled.spec))
        self._secrets |= compiled.spec.secrets
        return compiled

    def _with_sensitive(self, stack: Stack, spec: Spec) -> Spec:
        from runtimes.base import TerraformId

        if not any(isinstance(each.id, TerraformId) for each in spec):
            return spec
        return spec.with_sensitive(self._workspace().recorded_sensitive(stack, spec))

    def compile_all(
        self,
        folder: Path,
        inputs: CompileInputs | None = None,
        *,
        format_: Literal["yaml", "json"] = "yaml",
        only: Sequence[Path] | None = None,
        force: bool = False,
    ) -> Sweep:
        """Finds out which Specs in `folder` are out of date; iterating over `run(crew)` of what is returned makes them.

        `only` leaves out stacks that none of these files touches, `force` makes those up to date again as well.
        """
        from workbench.engine.compile import CompileInputs
        from workbench.engine.compile_all import Wanted, prepare

        plugins = self._plain_plugins()
        self.refuse_outside(folder)
        chosen = None if only is None else tuple((self._root / each).resolve() for each in only)
        return prepare(
            Wanted(
                self.tree(),
                inputs or CompileInputs(),
                folder.resolve(),
                format_,
                plugins,
                chosen,
                force,
                self._settings.allowance,
            )
        )

    def whatif(self, stack: Stack, inputs: CompileInputs | None = None) -> WhatIf:
        """Starts a set of edits that exist only in this session; `whatif.inputs` go into compile, diff and plan."""
        from workbench.engine.compile import CompileInputs
        from workbench.engine.whatif import WhatIf

        return WhatIf(self._root, inputs or CompileInputs())

    async def migration(
        self,
        only: Sequence[Stack | Path] = (),
        inputs: CompileInputs | None = None,
        dialect: str | None = None,
    ) -> Migration:
        """Finds what is legacy in the repository, or in some stacks, files or folders. Reads, and writes nothing.

        `dialect` is what the repository is written in, by default what its kcl.mod asks for.
        """
        from workbench.engine.compile import CompileInputs
        from workbench.engine.migrating import find_legacy

        stacks, given = tuple(self.tree().stacks()), inputs or CompileInputs()
        return await find_legacy(self._root, stacks, only, given, dialect, self._settings.allowance)

    async def proof(self, migration: Migration, on_outcome: Callable[[Outcome], None]) -> list[Outcome]:
        """Compiles each stack that a migration touches, before and after; what `migration.write` wants to see.

        `on_outcome` is told each as soon as it is known.
        """
        from workbench.engine.migrating import prove

        return await prove(migration, self._settings.allowance, on_outcome, self._plain_plugins())

    # Against the clusters

    async def diff(
        self,
        stack: Stack,
        inputs: CompileInputs | None = None,
        *,
        compiled: CompiledStack | None = None,
        clusters: Iterable[str] = (),
        server_dry_run: bool = False,
    ) -> StackDiff:
        """Compares configuration and live in all clusters of the stack, or in those named. Writes nothing.

        `compiled` is what `compile` made of these inputs, by default it is made here.
        The clusters of an untrusted repository are asked only with `server_dry_run`.
        A cluster that does not answer is a `Problem` in the result; so is a resource that the cluster refuses.
        Raises as `compile` does, and `UnknownCluster`.
        """
        self._connections.may_compare = self._connections.may_compare or server_dry_run
        found = await self._planning().diff(stack, inputs, clusters, compiled)
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
    ) -> Plan:
        """As `diff`, with what will be done about it. Problems become guards that refuse the plan.

        `prune` deletes what this stack owned and no longer has. `force` takes over fields in conflict. `accept_lost`
        takes for gone what Terraform's state has lost and nobody can look for. `adopt` also deletes what carries the
        stack's labels though no release here made it. `clusters` may name `terraform`: where only some places are
        named, the plan is of that part alone.
        """
        from workbench.project.readiness import read_readiness

        read_readiness(self._root)  # a broken file is found before anything is applied, not while it is waited for
        return await self._planning().plan(
            stack, inputs, clusters, prune=prune, force=force, accept_lost=accept_lost, adopts=adopt
        )

    def waits_for(self) -> Mapping[str, float]:
        """Returns the places that a diff or plan has asked and that have not answered, with the seconds since then."""
        return self._planner.waiting.seconds() if self._planner is not None else {}

    async def plan_destroy(
        self, stack: Stack, inputs: CompileInputs | None = None, *, accept_lost: bool = False, adopt: bool = False
    ) -> Plan:
        """Returns the plan that takes everything away that the stack has, wherever labels, releases or a state tell.

        What labels alone tell is a gap, as it may be another repository's, unless it is to be adopted.

        Needs no configuration: what there is is told by releases, labels and Terraform's state. Where the stack
        compiles, Terraform is told how its providers are configured there. A protected stack is refused by a guard.
        """
        return await self._planning().plan_destroy(stack, inputs, accept_lost=accept_lost, adopts=adopt)

    def refuse_outside(self, output: Path) -> None:
        """Raises `OutsideRepository` where a link of the checkout leads the file or folder to be written out of it."""
        refuse_outside(output, checkout(self._root), hint="remove the link, or name another place")

    def save_plan(self, plan: Plan, path: str | Path) -> None:
        """Writes what is needed to make the same plan again, without secrets; raises `EngineError`."""
        from workbench.engine import plan_file

        self.refuse_outside(Path(path))
        plan_file.save(plan, Path(path), self._root)

    async def load_plan(self, path: str | Path, inputs: CompileInputs | None = None) -> Plan:
        """Makes a saved plan again; raises `StalePlan` if it does not come out the same, saying what moved.

        Clusters that are not, or are not known to be, those it was made for raise `OtherCluster` before they are asked
        anything else.

        Options that look like secrets are not saved: hand them in again with `inputs`.
        """
        from workbench.engine import plan_file

        saved = plan_file.load(Path(path), self._root)
        stack = self.tree().stack(StackPath.parse(saved.stack))
        completed = plan_file.completed(saved, inputs)
        if saved.destroys:
            plan = await self._planning().plan_destroy(
                stack,
                completed,
                saved.salt,
                accept_lost=saved.accept_lost,
                adopts=saved.adopts,
                bound=saved.identities,
            )
        else:
            plan = await self._planning().plan(
                stack,
                completed,
                saved.only,
                prune=saved.prune,
                force=saved.force,
                accept_lost=saved.accept_lost,
                adopts=saved.adopts,
                salt=saved.salt,
                bound=saved.identities,
            )
        plan_file.compare(saved, plan)
        return plan

    @asynccontextmanager
    async def apply(self, plan: Plan, *, confirm: str = "") -> AsyncIterator[Applying]:
        """Executes a plan; the events are `ApplyStarted` first and `ApplyFinished` last.

        What is yielded is iterated for events, and can be interrupted: then what was begun ends, and so do the events.

        Entering raises `Refused`, `UnresolvedConflict`, `ConfirmationRequired`, `Locked`, `StalePlan`,
        `ReleaseFailure` or `RuntimeFailure`, each before anything is written. Failures of single steps are events.
        Leaving early, or cancelling, lets writes in flight finish, starts no other, and records the release as
        interrupted.
        """
        from workbench.applying import applying
        from workbench.engine.approval import approve

        approve(plan, confirm)
        async with applying(
            plan,
            self._store(),
            self._connections.runtime,
            lambda: self._workspace().of(self.select(plan.stack)),
            self.audit(),
            self._actor(),
            self._now,
            confirm=confirm,
            reason=self.reason,
        ) as events:
            yield events

    @asynccontextmanager
    async def watch(
        self,
        stack: Stack,
        inputs: CompileInputs | None = None,
        *,
        spec: Spec | None = None,
        clusters: Iterable[str] = (),
        until_settled: bool = False,
        timeout_seconds: float | None = None,
    ) -> AsyncIterator[AsyncIterator[StatusTree]]:
        """Observes every resource of the stack and what it owns: a `StatusTree` at once, then one a change.

        `spec` is what to watch (`plan.spec`, say), else the stack is compiled. `until_settled` ends the stream once the
        verdict is READY or FAILED. `timeout_seconds` ends it too, the last tree then says TIMED_OUT.
        """
        from workbench.destinations import destinations, refuse_doubtful
        from workbench.engine import reconcile
        from workbench.engine.placement import place
        from workbench.project.readiness import read_readiness, rules_for

        refuse_doubtful(stack)
        if spec is None:
            spec = (await self.compile(stack, inputs)).spec
        rule = stack.placement.namespace if stack.placement else None
        places = destinations(self._root, stack, clusters, spec, None)
        watched = reconcile.addresses(place(spec, stack.path, rule), places.clusters, terraform=places.terraform)
        rules = rules_for(read_readiness(self._root), stack.path, (each.id for each in watched))

        async def connect(place: str) -> Runtime:
            return await (self._workspace().of(stack) if place == TERRAFORM_PLACE else self._connections.runtime(place))

        async with reconcile.watch(
            watched,
            connect,
            until_settled=until_settled,
            timeout_seconds=timeout_seconds,
            rules=rules,
            now=self._now,
            secrets=spec.secrets | self._secrets,
            masking=spec.rules,
        ) as trees:
            yield trees

    async def status(self, stack: Stack, inputs: CompileInputs | None = None) -> StatusTree:
        """Returns the present picture once, within a few seconds: what no cluster told by then is Unknown."""
        async with self.watch(stack, inputs, timeout_seconds=_STATUS_PATIENCE_SECONDS) as trees:
            async for tree in trees:
                return tree
        raise AssertionError("a watch begins with a picture")

    async def logs(
        self, cluster: str, ref: ObjectRef, *, container: str = "", previous: bool = False, tail_lines: int = 50
    ) -> tuple[str, ...]:
        """Returns the last lines a pod wrote, oldest first, without secrets known here. Raises `RuntimeFailure`."""
        from runtimes.base import LogRequest
        from workbench.engine.scrubbing import scrubbed
        from workbench.project.masking import read_masking

        runtime = await self._connections.runtime(cluster)
        lines = await runtime.logs(LogRequest(ref, container, previous, tail_lines))
        return scrubbed(lines, self._secrets, read_masking(self._root))

    # Recovering

    async def recovery(
        self,
        source: str | Path | RecoveryDocument,
        inputs: CompileInputs | None = None,
        *,
        limits: RecoveryLimits | None = None,
    ) -> Recovery:
        """Resolves and previews a recovery: what would be done, and why not for everything else. Writes nothing.

        `source` is a KCL file (relative to `path`, else to the root) or a document; `limits` replaces the document's.
        What any run of the same incident (the document's reason) did before is not done again, and counts towards the
        limits. A cluster that does not answer is a `ClusterProblem` in the result. Raises `CompileFailed`,
        `InvalidRecovery` or `ReleaseFailure`.
        """
        from workbench.engine.compile import CompileInputs
        from workbench.engine.recovery.document import RecoveryDocument
        from workbench.engine.recovery.preview import preview
        from workbench.project.masking import read_masking
        from workbench.release.recoveries import RecoveryStore

        if not isinstance(source, RecoveryDocument):
            from workbench.engine.shipped import compile_document

            file = self._file(Path(source))
            source = await compile_document(
                file,
                inputs or CompileInputs(),
                self._root,
                self._settings.allowance,
                self._plain_plugins(),
                secrets=read_masking(self._root),
            )
        if limits is not None:
            source = replace(source, limits=limits)
        store = RecoveryStore(self._settings.state_dir, self._root)
        return await preview(source, self._connections.operations, now=self._now(), ledger=store.ledger)

    @asynccontextmanager
    async def recover(
        self, recovery: Recovery, *, confirm: str = "", dry_run: bool = True
    ) -> AsyncIterator[RecoveryRun]:
        """Runs a recovery; the events are `RecoveryStarted` first and `RecoveryFinished` last.

        A dry run, the default, writes nothing and reports what would be done. Entering raises `Refused` (read-only),
        `ConfirmationRequired` (anything but the exact phrase), `Locked` (another run of the incident goes on, here or
        elsewhere), `StalePlan` (one did something since it was previewed) or `ReleaseFailure`, each before anything is
        written. What fails at single objects are events. Leaving early starts nothing more and lets writes in flight
        finish.
        """
        from workbench.engine.recovery.approval import approve
        from workbench.recovering import recovering
        from workbench.release.recoveries import RecoveryStore

        approve(recovery, confirm, dry_run=dry_run, is_read_only=self.settings.is_read_only)
        store = RecoveryStore(self._settings.state_dir, self._root)
        async with recovering(
            recovery,
            self._connections.operations,
            store,
            self.audit(),
            self._actor(),
            self._now,
            confirm=confirm,
            dry_run=dry_run,
            identities=await self._identities(recovery.clusters),
        ) as run:
            yield run

    def audit(self) -> AuditTrail:
        """Returns the trail of every write made from this machine's state folder, by whatever face."""
        from workbench.audit import AuditTrail
        from workbench.audit.sink import sink

        return AuditTrail(self._settings.state_dir, sink(self._settings.audit_syslog))

    # Inside

    def _plugins(self) -> RepositoryPlugins:
        from workbench.engine.plugins import RepositoryPlugins

        trust = self.trust
        return RepositoryPlugins(
            self._root,
            trust.trusts_plugin,
            self._served.plugins if self._served else {},
            refusal=f"{trust.refusal('no plugin runs')}; {trust.lifting}" if trust.untrusted else "",
        )

    def _plain_plugins(self) -> RepositoryPlugins:
        """The same as plain values, for other processes."""
        from workbench.engine.plugins import TrustedCode

        return replace(
            self._plugins(),
            is_trusted=TrustedCode(self._settings.trusts_plugins, self.trust.plugin_digests()),
            environment={key: value for key, value in os.environ.items() if key.startswith("WB_PLUGIN_")},
        )

    def _file(self, path: Path) -> Path:
        """A file as the user names it: from where they stand, else from the root of the repository."""
        here = (self._current or self._root) / path
        return here if here.is_file() else self._root / path

    def _actor(self) -> Actor:
        from workbench.audit import Actor

        return Actor(self._settings.user, self._settings.host, self.origin)

    async def _identities(self, clusters: Iterable[str]) -> Mapping[str, ClusterIdentity]:
        """Which clusters these names are, as far as they say so."""
        from workbench.engine.identities import identify

        return (await identify({name: await self._connections.runtime(name) for name in clusters})).identities

    @cached_property
    def _connections(self) -> Connections:
        return Connections(self.trust, self._settings, lambda: self.tree().clusters, self._connect)

    def _planning(self) -> Planner:
        from workbench.planner import Planner

        if self._planner is None:
            self._planner = Planner(
                self._root,
                self._store(),
                self._workspace(),
                compile=self.compile,
                connect=self._connections.runtime,
                now=self._now,
                is_read_only=self.settings.is_read_only,
            )
        return self._planner

    def _workspace(self) -> Workspaces:
        from workbench.workspaces import Workspaces

        if self._workspaces is None:
            self._workspaces = Workspaces(
                self._settings,
                self._store().workspace_folder,
                self._connect_workspace,
                trust=self.trust,
            )
        return self._workspaces

    def _store(self) -> ReleaseStore:
        from workbench.release import ReleaseStore

        return ReleaseStore(self._settings.state_dir, self._root)
