"""Observing what is there: status while it becomes ready, and logs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from workbench.project import (
    TERRAFORM_PLACE,
    Stack,
)
from workbench.session.compiling import Compiling

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import Address, ObjectRef, Runtime
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.spec import Spec
    from workbench.engine.status import StatusTree

_STATUS_PATIENCE_SECONDS = 5.0


class Watching(Compiling):
    """Watch, status and logs. Writes nothing."""

    @asynccontextmanager
    async def watch(
        self,
        stack: Stack,
        inputs: CompileInputs | None = None,
        *,
        spec: Spec | None = None,
        clusters: Iterable[str] = (),
        addresses: Sequence[Address] | None = None,
        until_settled: bool = False,
        timeout_seconds: float | None = None,
    ) -> AsyncIterator[AsyncIterator[StatusTree]]:
        """Observes every resource of the stack and what it owns: a `StatusTree` at once, then one a change.

        `spec` is what to watch (`plan.spec`, say), else the stack is compiled; `addresses` are those of its resources
        that count, where not all of them do. `until_settled` ends the stream once the
        verdict is READY or FAILED. `timeout_seconds` ends it too, the last tree then says TIMED_OUT.
        """
        from workbench.destinations import destinations, refuse_doubtful
        from workbench.engine import reconcile
        from workbench.engine.placement import place
        from workbench.project.readiness import read_readiness, rules_for

        refuse_doubtful(stack)
        if spec is None:
            spec = await self._resolved_if_possible(stack, (await self.compile(stack, inputs)).spec)
        if addresses is None:
            rule = stack.placement.namespace if stack.placement else None
            places = destinations(self._root, stack, clusters, spec, None)
            addresses = reconcile.addresses(place(spec, stack.path, rule), places.clusters, terraform=places.terraform)
        watched = tuple(addresses)
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

    async def _resolved_if_possible(self, stack: Stack, spec: Spec) -> Spec:
        """A status needs no secrets but to keep them out of what pods write: without them it is what it is."""
        from workbench.engine.secret_references import SecretsUnavailable

        try:
            return await self._resolved(stack, spec)
        except SecretsUnavailable:
            return spec

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
