"""What all verbs of a session stand on: settings, trust, connections and stores, each made when it is first needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kcl.records import replace
from workbench.connections import Connect, Connections
from workbench.local import LocalState, ServedPractice
from workbench.project import (
    KonfigTree,
    Stack,
    StackPath,
    checkout,
    discover,
    discover_clusters,
    find_root,
    refuse_outside,
)
from workbench.settings import Settings

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import ClusterIdentity, RuntimeFailure
    from workbench.audit import Actor, AuditTrail
    from workbench.engine.plugins import RepositoryPlugins
    from workbench.engine.secret_references import SecretUse
    from workbench.planner import Planner
    from workbench.release import ReleaseStore
    from workbench.release.rollouts import Rollouts
    from workbench.release.shared import ReleasePlaces, Releases
    from workbench.secret_stores import SecretStores
    from workbench.trust import Trust, Want
    from workbench.workspaces import ConnectWorkspace, Workspaces


class Opened:
    """A repository that is open. See `workbench.session`."""

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
        self._writable: set[str] = set()
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
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> Self:
        """Opens the repository at or above `path`; raises `NotARepository`.

        `kubeconfig` wins over settings. Where neither says anything, practice clusters that `wb demo --headless` serves
        for this repository are used while it runs. `connect` replaces the way clusters are reached (tests, rehearsals),
        `connect_workspace` the way Terraform is, `now` the clock.
        """
        settings = settings or Settings.load()
        if kubeconfig is not None:
            settings = replace(settings, kubeconfig=str(kubeconfig))
        start = Path(path).resolve()
        root = find_root(start)
        served = LocalState(settings.state_dir, root).practice()
        opened = cls(root, settings, current=start, connect=connect, connect_workspace=connect_workspace, now=now)
        opened._served = served
        if served is not None and not settings.kubeconfig:
            # Releases of practice clusters are kept with them, apart from those of real ones.
            opened._settings = replace(
                settings,
                kubeconfig=served.kubeconfig,
                state_dir=Path(served.state_dir),
                releases_bucket=None,
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

    @property
    def root(self) -> Path:
        return self._root

    @property
    def settings(self) -> Settings:
        """Those that hold here: with an untrusted repository nothing is written."""
        return replace(self._settings, is_read_only=True) if self.trust.untrusted else self._settings

    def read_only(self, stack: Stack) -> str:
        """Returns why nothing of a stack may be written in this session, empty where it may."""
        if self.settings.is_read_only:
            return "this session is read-only (WB_READONLY, or an untrusted repository)"
        placement = stack.placement
        if placement is None or not placement.read_only:
            return ""
        if any(stack.path.matches(each) for each in (*self._settings.writable, *self._writable)):
            return ""
        return f"the repository makes {stack.path} read-only: for one session, wb --allow-writes {stack.path} allows it"

    def allow_writes(self, stack: Stack) -> None:
        """Has this session write to a stack that the repository makes read-only."""
        self._writable.add(str(stack.path))

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

    def tree(self) -> KonfigTree:
        """Reads the repository again."""
        return discover(self._root)

    def clusters(self) -> Mapping[str, ClusterIdentity | RuntimeFailure]:
        """Returns where each cluster is: as it is connected, else by clusters.yaml and the kubeconfig; asks none."""
        return self._connections.described()

    def clusters_led_elsewhere(self) -> tuple[str, ...]:
        """Says of clusters that are connected where clusters.yaml or the kubeconfig lead elsewhere by now."""
        return self._connections.led_elsewhere()

    def audit(self) -> AuditTrail:
        """Returns the trail of every write made from this machine's state folder, by whatever face."""
        from workbench.audit import AuditTrail
        from workbench.audit.sink import sink

        return AuditTrail(self._settings.state_dir, sink(self._settings.audit_syslog))

    def refuse_outside(self, output: Path) -> None:
        """Raises `OutsideRepository` where a link of the checkout leads the file or folder to be written out of it."""
        refuse_outside(output, checkout(self._root), hint="remove the link, or name another place")

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
        return Connections(self.trust, self._settings, lambda: discover_clusters(self._root), self._connect)

    @cached_property
    def _secret_stores(self) -> SecretStores:
        from workbench.secret_stores import SecretStores

        return SecretStores(self.trust, self._settings)

    def secrets_want(self, stack: Stack, every: Collection[SecretUse]) -> Want | None:
        """Returns the trust that a stack wants for the secrets it refers to (`uses`); None where it wants none."""
        return self._secret_stores.want(stack, every)

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

    def masked(self, text: str) -> str:
        """Returns a text without what is known to be secret, or looks like it; raises `BrokenFile` for broken rules."""
        from workbench.engine.scrubbing import masked_text
        from workbench.project.masking import read_masking

        return masked_text(text, self._secrets, read_masking(self._root))

    def holds_secret(self, text: str) -> bool:
        """Whether `masked` would change it; also where that can't be told."""
        from workbench.project import WorkbenchError

        try:
            return self.masked(text) != text
        except WorkbenchError:
            return True

    @contextmanager
    def _masking_failures(self) -> Iterator[None]:
        """What a cluster says when it refuses may quote what it was sent, or what it holds."""
        from runtimes.base import RuntimeFailure
        from workbench.engine.scrubbing import masked_failure
        from workbench.project.masking import read_masking

        try:
            yield
        except RuntimeFailure as error:
            found = masked_failure(error, self._secrets, read_masking(self._root))
            if found is None or found is error:
                raise
            raise found from None

    @cached_property
    def _releases(self) -> Releases:
        from workbench.release.repository import identity
        from workbench.release.shared import Bucket, Releases

        namespace, url = self._settings.releases_namespace, self._settings.releases_bucket
        repository = identity(self._root, self._settings.repository) if namespace else ""
        bucket = Bucket(str(url), self._connections.bucket) if url is not None else None
        return Releases(self._store(), self._connections.runtime, repository, namespace, bucket=bucket)

    def _rollouts(self) -> Rollouts:
        from workbench.release.rollouts import Rollouts
        from workbench.release.store import repository_name

        actor = self._actor()
        return Rollouts(
            self._releases,
            self._settings.state_dir / "rollouts" / repository_name(self._root),
            self._root,
            lambda: tuple(each.name for each in discover_clusters(self._root).clusters),
            self._goes,
            actor.user,
            actor.host,
            self._now,
        )

    def _goes(self, stack: str) -> ReleasePlaces | None:
        from workbench.destinations import release_places_of_objects
        from workbench.project import UnknownStack

        try:
            found = self.tree().stack(StackPath.parse(stack))
            return release_places_of_objects(self._root, found)
        except UnknownStack:
            return None

    def _store(self) -> ReleaseStore:
        from workbench.release import ReleaseStore

        return ReleaseStore(self._settings.state_dir, self._root)
