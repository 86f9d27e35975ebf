"""A session: one repository, one set of settings, connections to its clusters. What every face works through.

    async with Session.open(path) as session:
        stack = session.select("shop/prod")
        plan = await session.plan(stack)
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async for event in events: ...
        async with session.watch(stack, until_settled=True, timeout_seconds=300) as trees:
            async for tree in trees: ...

It is the composition root: the only place that names concrete runtimes (through their registry) and stores. Opening
one reads no cluster and no KCL; connections are made when a verb first needs them and closed with the session. All
verbs may be cancelled, and may run side by side on one event loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from workbench.project import Impact, KonfigTree, Stack, StackPath, affected, discover
from workbench.settings import Settings

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import Address, LogRequest, ObjectRef, Runtime
    from workbench.engine.changes import StackDiff
    from workbench.engine.compile import CompiledStack, CompileInputs
    from workbench.engine.events import Event
    from workbench.engine.plan import Plan
    from workbench.engine.release import Release
    from workbench.engine.spec import Spec
    from workbench.engine.status import StatusTree
    from workbench.engine.whatif import WhatIf


class Connect(Protocol):
    """Connects to one cluster by the name the repository gives it. Raises `RuntimeFailure`."""

    async def __call__(self, cluster: str) -> Runtime: ...


class Session:
    """See the module. Methods that take a `Stack` take one of `tree()` or `select()`."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        *,
        connect: Connect | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None: ...

    @classmethod
    def open(
        cls,
        path: str | Path = ".",
        *,
        kubeconfig: str | Path | None = None,
        settings: Settings | None = None,
        connect: Connect | None = None,
    ) -> Self:
        """Opens the repository at or above `path`; raises `NotARepository`.

        `kubeconfig` wins over settings. `connect` replaces the way clusters are reached (tests, rehearsals).
        """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes every connection."""

    # Browsing: synchronous, reads files only

    @property
    def root(self) -> Path: ...

    @property
    def settings(self) -> Settings: ...

    def tree(self) -> KonfigTree:
        """Reads the repository anew."""

    def select(self, text: str) -> Stack:
        """Finds a stack by `project/stack` or by folder (relative to `path` or to the root); raises `UnknownStack`."""

    def releases(self, stack: Stack) -> tuple[Release, ...]:
        """Returns what is recorded on this machine, newest first. A broken record is passed over with a warning."""

    def affected(self, files: Iterable[str | Path]) -> Impact:
        """Returns the stacks that changing these files touches; exact for stacks compiled in this session."""

    # Compiling

    async def compile(self, stack: Stack, inputs: CompileInputs | None = None) -> CompiledStack:
        """Raises `CompileFailed` (the KCL is wrong) or `SpecInvalid` (what it yields is no Spec)."""

    def whatif(self, stack: Stack, inputs: CompileInputs | None = None) -> WhatIf:
        """Starts a set of edits that exist only in this session."""

    # Against the clusters

    async def diff(
        self, stack: Stack, inputs: CompileInputs | None = None, *, clusters: Iterable[str] = ()
    ) -> StackDiff:
        """Compares configuration and live in all clusters of the stack, or in those named. Writes nothing.

        A cluster that does not answer is a `Problem` in the result; so is a resource that the cluster refuses.
        Raises as `compile` does, and `UnknownCluster`.
        """

    async def plan(
        self,
        stack: Stack,
        inputs: CompileInputs | None = None,
        *,
        clusters: Iterable[str] = (),
        prune: bool = True,
        force: bool = False,
    ) -> Plan:
        """As `diff`, with what will be done about it. Problems become guards that refuse the plan.

        `prune` deletes what this stack owned and no longer has. `force` takes over fields in conflict.
        """

    def save_plan(self, plan: Plan, path: str | Path) -> None:
        """Writes what is needed to make the same plan again, without secrets."""

    async def load_plan(self, path: str | Path, inputs: CompileInputs | None = None) -> Plan:
        """Makes a saved plan again; raises `StalePlan` if it does not come out the same, saying what moved.

        Options that look like secrets are not saved: hand them in again with `inputs`.
        """

    def apply(self, plan: Plan, *, confirm: str = "") -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Executes a plan; the events are `ApplyStarted` first and `ApplyFinished` last.

        Entering raises `Refused`, `UnresolvedConflict`, `ConfirmationRequired`, `Locked`, `StalePlan` or
        `ReleaseFailure`, each before anything is written. Failures of single steps are events. Leaving early, or
        cancelling, lets writes in flight finish, starts no other, and records the release as interrupted.
        """

    def watch(
        self,
        stack: Stack,
        inputs: CompileInputs | None = None,
        *,
        spec: Spec | None = None,
        clusters: Iterable[str] = (),
        until_settled: bool = False,
        timeout_seconds: float | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[StatusTree]]:
        """Observes every resource of the stack and what it owns: a `StatusTree` at once, then one a change.

        `spec` is what to watch, else the stack is compiled. `until_settled` ends the stream once the verdict is READY or
        FAILED. `timeout_seconds` ends it too, the last tree then says TIMED_OUT.
        """

    async def status(self, stack: Stack, inputs: CompileInputs | None = None) -> StatusTree:
        """Returns the present picture once, within a few seconds: what no cluster answered by then is Unknown."""

    async def logs(
        self, cluster: str, ref: ObjectRef, *, container: str = "", previous: bool = False, tail_lines: int = 50
    ) -> tuple[str, ...]:
        """Returns the last lines a pod wrote, oldest first. Raises `RuntimeFailure`."""
