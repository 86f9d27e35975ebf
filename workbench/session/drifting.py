"""Looking for what others changed live, over many stacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from workbench.project import TERRAFORM_PLACE, Stack, StackPath, UnknownCluster, WorkbenchError
from workbench.session.changing import Changing

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from workbench.engine.changes import StackDiff
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.drift import Adoption, StackDrift
    from workbench.engine.plan import Plan

AT_ONCE = 4
"""So many stacks are compared at a time. Each asks its clusters for all its objects at once as it is."""


def _nobody(_: StackDrift) -> None:
    pass


class Drifting(Changing):
    """Drift of stacks, looked at together."""

    async def drift(
        self,
        stacks: Sequence[Stack],
        inputs: CompileInputs | None = None,
        *,
        clusters: Iterable[str] = (),
        on_found: Callable[[StackDrift], None] = _nobody,
    ) -> tuple[StackDrift, ...]:
        """Looks at each stack once; a stack that can't be compared is a look with a `failure`. Writes nothing.

        `clusters` leaves out other places, and stacks that go to none of them. `on_found` gets each look as soon as
        there is one. What is returned is in the order of `stacks`. Raises `UnknownCluster` for a place of no stack.
        """
        import anyio

        from runtimes.base import RuntimeFailure
        from workbench.engine.drift import StackDrift
        from workbench.present.errors import Bug

        found: dict[StackPath, StackDrift] = {}
        limiter = anyio.CapacityLimiter(AT_ONCE)
        only = tuple(clusters)
        places = {each.path: (*each.clusters, TERRAFORM_PLACE) for each in stacks}
        for name in only:
            if not any(name in each for each in places.values()):
                there = sorted({place for each in places.values() for place in each})
                raise UnknownCluster(f"none of these stacks goes to {name}", hint=f"they go to: {', '.join(there)}")
        chosen = {path: [name for name in only if name in there] for path, there in places.items()}
        asked = [each for each in stacks if chosen[each.path] or not only]

        async def look(stack: Stack) -> None:
            async with limiter:
                try:
                    result = StackDrift(
                        stack.path, self._now(), await self.diff(stack, inputs, clusters=chosen[stack.path])
                    )
                except (WorkbenchError, RuntimeFailure) as error:
                    result = StackDrift(stack.path, self._now(), failure=error)
                except Exception as error:
                    # the boundary of a task: a bug with one stack must not take the others away
                    result = StackDrift(stack.path, self._now(), failure=Bug(error))
            found[stack.path] = result
            on_found(result)

        async with anyio.create_task_group() as tasks:
            for each in asked:
                tasks.start_soon(look, each)
        return tuple(found[each.path] for each in asked)

    async def plan_revert(
        self,
        stack: Stack,
        inputs: CompileInputs | None = None,
        *,
        clusters: Iterable[str] = (),
        skip: Iterable[str] = (),
        take_away: bool = False,
    ) -> Plan:
        """Returns the plan that takes back what others changed live; raises as `plan` does, `take_away` is as for it.

        Where the configuration itself has changed since the last release, a guard refuses it: that would go out too.
        """
        from workbench.engine.drift import taking_back_only

        plan = await self.plan(
            stack, inputs, clusters=clusters, prune=False, force=True, skip=skip, take_away=take_away
        )
        return taking_back_only(plan)

    async def adopt_drift(self, stack: Stack, found: StackDiff, inputs: CompileInputs | None = None) -> Adoption:
        """Takes over what others changed live, as edits of the source that are not written yet; see `engine.drift`."""
        from workbench.engine.drift import adopt

        return await adopt(self.whatif(stack, inputs), lambda given: self.compile(stack, given), found)
