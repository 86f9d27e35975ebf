"""Asking policies about stacks, without any cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.project import Stack, StackPath, WorkbenchError
from workbench.session.changing import Changing

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.policy.findings import Judgement
    from workbench.project.policy import PolicyFile

_AT_ONCE = 2
"""So many stacks are compiled at a time: each takes a process."""


class Judging(Changing):
    """What of stacks the policies do not put up with."""

    def policy_files(self) -> tuple[PolicyFile, ...]:
        """Reads the policies of the repository and of its user; raises `BrokenFile` for anything wrong with them."""
        return self._judge().files

    async def judge(self, stacks: Sequence[Stack], inputs: CompileInputs | None = None) -> tuple[Judgement, ...]:
        """Judges the Spec of each stack; one that does not compile is a judgement with a `failure`.

        Policies about plans are not asked: a plan asks them. Raises `BrokenFile` where policies can't be read.
        """
        import anyio

        from workbench.engine.placement import place
        from workbench.engine.policy.findings import Judgement

        judge = self._judge()
        found: dict[StackPath, Judgement] = {}
        limiter = anyio.CapacityLimiter(_AT_ONCE)

        async def look(stack: Stack) -> None:
            async with limiter:
                try:
                    spec = (await self.compile(stack, inputs)).spec
                    placed = place(spec, stack.path, stack.placement.namespace if stack.placement else None)
                    judged = Judgement(stack.path, await judge.spec(stack, placed, self._now()))
                except WorkbenchError as error:
                    judged = Judgement(stack.path, failure=error)
            found[stack.path] = judged

        async with anyio.create_task_group() as tasks:
            for each in stacks:
                tasks.start_soon(look, each)
        return tuple(found[each.path] for each in stacks)
