"""Looking into the repository, and what is recorded of it here and in its clusters."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.project import (
    Impact,
    KonfigTree,
    ProjectError,
    Stack,
    StackPath,
    UnknownStack,
    affected,
)
from workbench.session.opened import Opened
from workbench.words import counted, few

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from runtimes.base import Address
    from workbench.engine.fleet import TakenOut
    from workbench.engine.release import Release
    from workbench.release.history import History
    from workbench.trust import Want


_STACKS_AT_ONCE: Final = 16


class Browsing(Opened):
    """Methods that take a `Stack` take one of `tree()` or `select()`."""

    def backend_want(self, stack: Stack) -> Want | None:
        """Returns what the stack wants of a Terraform backend; None where it names none that needs trust."""
        return self.trust.backend(stack, self._store().workspace_folder(stack.path))

    def select(self, text: str) -> Stack:
        """Finds a stack by `project/stack` or by folder (relative to `path` or to the root); raises `UnknownStack`."""
        try:
            return self.tree().select(text, current=self._current)
        except UnknownStack as error:
            self._explain_released(text, error)
            raise

    def choose(self, *globs: str) -> tuple[Stack, ...]:
        """Returns the stacks that any of the globs over `project/stack` covers, or that one names as `select` has it.

        Raises `UnknownStack` where one means nothing: fewer than were meant would look as if all were well.
        """
        tree = self.tree()
        found = {each.path for glob in globs for each in tree.matching(glob) or (self.select(glob),)}
        return tuple(each for each in tree.stacks() if each.path in found)

    def _explain_released(self, text: str, error: UnknownStack) -> None:
        """Says of a stack that was taken out of the repository what its last release left."""
        from workbench.engine.errors import ReleaseFailure

        try:
            left = self._store().latest(StackPath.parse(text.strip("/")))
        except (ProjectError, ReleaseFailure):
            return
        if left is not None and left.resources:
            what = f"release {left.revision} of it has {counted(len(left.resources), 'resource')}"
            error.hint = f"{what}: bring its folder back, and take them away with wb destroy"

    async def taken_out(self, tree: KonfigTree | None = None) -> TakenOut:
        """Returns what stacks left that this repository has no more, but for what another stack has by now.

        Nobody else looks at it: what is asked about all stacks is asked about those that are there. Known is what was
        released from this machine, and what the clusters of the repository have, or the bucket; those that do not say
        are named.
        """
        import anyio

        from workbench.engine.fleet import TakenOut

        tree = tree or self.tree()
        stacks = [each.path for each in tree.stacks()]
        found = await self._releases.besides([each.name for each in tree.clusters.clusters], stacks)
        local = await anyio.to_thread.run_sync(lambda: dict(self._store().besides(stacks)))
        last = {**local, **found.releases}
        if any(each is not None and each.resources for each in last.values()):
            elsewhere = await self._released_addresses(tree)
        else:
            elsewhere = frozenset()
        left = {stack: said for stack, release in sorted(last.items()) if (said := _left(release, elsewhere))}
        unknown: list[str] = []
        for why in dict.fromkeys(found.silent.values()):
            where = few([each for each, said in found.silent.items() if said == why], 5)
            what = f"whether stacks that are gone from the repository left something in {where}"
            unknown.append(f"{what} is not known: {why}")
        return TakenOut(left, tuple(unknown))

    async def _released_addresses(self, tree: KonfigTree) -> frozenset[Address]:
        """Returns what the last releases of all stacks have, as far as they can be read."""
        import anyio

        from workbench.engine.errors import ReleaseFailure

        found: set[Address] = set()
        limiter = anyio.CapacityLimiter(_STACKS_AT_ONCE)

        async def read(stack: Stack) -> None:
            async with limiter:
                with suppress(ReleaseFailure):
                    latest = (await self.history(stack)).latest
                    found.update(latest.resources if latest is not None else ())

        async with anyio.create_task_group() as tasks:
            for each in tree.stacks():
                tasks.start_soon(read, each)
        return frozenset(found)

    def take_over(self, former: Path) -> tuple[str, ...]:
        """Gives releases and Terraform states of a checkout that was moved here to this one; returns the stacks.

        Raises `ReleaseFailure`, having changed nothing.
        """
        return self._store().take_over(former)

    def releases(self, stack: Stack) -> tuple[Release, ...]:
        """Returns what was released from this machine, newest first; broken records are named in its warnings.

        `history` tells what others released. Raises `ReleaseFailure` if there are records and none can be read.
        """
        return self._store().releases(stack.path)

    async def history(self, stack: Stack) -> History:
        """Returns what is known of the stack's releases, from whatever machine they were made.

        Asks the clusters that keep them; where one does not answer, its `problems` and `gaps` say so. Raises
        `ReleaseFailure` if there are records and none can be read.
        """
        from workbench.destinations import release_places

        return await self._releases.read(release_places(self._root, stack, (), self._store()))

    async def forget(self, stack: Stack, cluster: str) -> tuple[str, ...]:
        """Has the releases of a stack know nothing of a cluster any more, which is gone; returns what they had there.

        Writes a release, and nothing else to any cluster. Raises `Refused` in a read-only session, `Locked` or
        `ReleaseFailure`.
        """
        from workbench.destinations import release_places
        from workbench.engine.errors import Refused

        if why := self.read_only(stack):
            raise Refused([why], where=stack.name)
        settings = self._settings
        where = release_places(self._root, stack, (), self._store())
        gone = await self._releases.forget(where, cluster, user=settings.user, host=settings.host, now=self._now())
        detail = f"{len(gone)} resources are known no more, and left wherever they are"
        self.audit().append(
            self._actor(), self._now(), action="forget", plan="", target=stack.name, cluster=cluster, result="done",
            detail=detail, reason=self.reason,
        )  # fmt: skip
        return tuple(str(each.address.id) for each in gone)

    async def unlock(self, stack: Stack, holder: str = "") -> tuple[str, ...]:
        """Takes the stack's lock in its clusters from a holder whose process is gone; returns who held it.

        With an empty `holder` it only looks. Raises `Refused` in a read-only session, `Locked` where somebody else
        holds it, or `RuntimeFailure`.
        """
        from workbench.destinations import release_places
        from workbench.engine.errors import Refused

        if holder and (why := self.read_only(stack)):
            raise Refused([why], where=stack.name)
        held = await self._releases.unlock(release_places(self._root, stack, (), self._store()), holder)
        if holder and held:
            self.audit().append(
                self._actor(), self._now(), action="unlock", plan="", target=stack.name, cluster="", result="done",
                detail=f"taken from {holder}", reason=self.reason,
            )  # fmt: skip
        return held

    def affected(self, files: Iterable[str | Path]) -> Impact:
        """Returns the stacks that changing these files touches; exact for stacks compiled in this session."""
        return affected(self.tree(), [Path(each) for each in files], self._read)


def _left(release: Release | None, elsewhere: Collection[Address]) -> str:
    """Says what a stack left that is gone; empty where that is nothing, or others have it by now."""
    if release is None:
        return "its last release can't be read: what it left is not known"
    count = len(release.resources.keys() - elsewhere)
    what = f"its release {release.revision} left {counted(count, 'resource')}"
    return f"{what}: bring its folder back, and take them away with wb destroy" if count else ""
