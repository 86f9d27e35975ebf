"""What a change of files does to the stacks, and, where that is wanted, to what is live."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import replace
from workbench.project import StackPath, WorkbenchError, with_targets
from workbench.session.changing import Changing

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.impact import ImpactReport, StackImpact


class Impacting(Changing):
    """Compares what is configured on two sides of a change."""

    async def impact(
        self,
        files: Sequence[str | Path] = (),
        revision: str = "",
        inputs: CompileInputs | None = None,
        *,
        live: bool = False,
        policies: bool = False,
        lint: str = "none",
    ) -> ImpactReport:
        """Returns which stacks, resources and fields a change affects, by compiling both sides of it.

        `files` (from the root) are compared with HEAD; without any, all that differs from `revision`, or between the
        commits of `A..B` or `A...B`; with neither, from HEAD. With `live` the clusters of affected stacks are asked
        what an apply of the working tree would do; with `policies` those of the working tree are asked about what the
        stacks that change are then; with `lint`, a `LintScope`, the linter about the files or lines that change. Raises
        `EngineError` where git cannot tell what was there before.
        """
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.errors import EngineError
        from workbench.engine.impacts import Question, find_impact
        from workbench.engine.linted import LintScope

        if live and ".." in revision:
            raise EngineError(
                "what is live is compared with the working tree, not with the end of a range",
                where=revision,
                hint="check out its end, and name its beginning only",
            )
        given = inputs or CompileInputs()
        named = with_targets(self._root, files)
        report = await find_impact(
            Question(
                self._root,
                named,
                revision,
                given,
                self._plain_plugins(),
                self._settings.allowance,
                # apart from those of `wb compile --all`, which may be in another format
                self.specs_folder.parents[1] / "impact" / self.specs_folder.name,
                self._with_sensitive,
                LintScope(lint),
            )
        )
        for each in report.stacks:
            self._secrets |= each.spec.secrets
        if policies:
            report = await self._with_policies(report)
        return await self.live_impact(report, given) if live else report

    async def live_impact(
        self, report: ImpactReport, inputs: CompileInputs | None = None, *, most: int | None = None
    ) -> ImpactReport:
        """Returns the report with what an apply of the affected stacks would do live, asking their clusters.

        `inputs` are those of the side after. With `most` only so many stacks are asked; the others have no `live`.
        """
        from workbench.engine.compiled import CompileInputs

        given, found, left = inputs or CompileInputs(), [], most
        for each in report.stacks:
            is_asked = _has_live(each) and left != 0
            found.append(await self._with_live(each, given) if is_asked else each)
            left = left - 1 if is_asked and left is not None else left
        return replace(report, stacks=tuple(found))

    async def _with_policies(self, report: ImpactReport) -> ImpactReport:
        from workbench.engine.impact import Doubt, State
        from workbench.engine.placement import place

        stacks = {each.name: each for each in self.tree().stacks()}
        judged: list[StackImpact] = []
        doubts: list[Doubt] = []
        for each in report.stacks:
            if not each.is_affected or each.state in (State.REMOVED, State.UNKNOWN):
                judged.append(each)
                continue
            try:
                stack = stacks.get(each.stack)
                if stack is None:
                    raise WorkbenchError("is not in the working tree, so policies were not asked", where=each.stack)
                placed = place(each.spec, stack.path, stack.placement.namespace if stack.placement else None)
                judged.append(replace(each, policy=await self._judge().spec(stack, placed, self._now())))
            except WorkbenchError as error:
                doubts.append(Doubt(error.message, error.where, error.hint))
                judged.append(each)
        # a policy that cannot be read is one, however many stacks it is asked about
        return replace(report, stacks=tuple(judged), doubts=tuple(dict.fromkeys((*report.doubts, *doubts))))

    async def _with_live(self, impact: StackImpact, inputs: CompileInputs) -> StackImpact:
        from workbench.engine.changes import Problem, StackDiff

        stack = self.tree().stack(StackPath.parse(impact.stack))
        try:
            found = await self.diff(stack, inputs)
        except WorkbenchError as error:
            problem = Problem.of("", error)
            return replace(impact, live=StackDiff(impact.spec, (), (), self._now(), problems=(problem,)))
        concerned = tuple(each for each in found.changes if impact.concerns(each.address.id))
        return replace(impact, live=replace(found, changes=concerned))


def _has_live(impact: StackImpact) -> bool:
    """Whether clusters can be asked about it."""
    from workbench.engine.impact import State

    return impact.is_affected and impact.state not in (State.REMOVED, State.UNKNOWN)
