"""Migrating in a process that can be ended, as compiling is: see `shipped`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kcl.bounded import Allowance
from kcl.records import replace
from kcl.tools.migrate import Outcome
from workbench.engine import migration
from workbench.engine.compile import PluginFinder
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import EvaluationEnded
from workbench.engine.evaluators import evaluators
from workbench.engine.migration import Migration
from workbench.engine.shipped import ended_as_failure
from workbench.project import Stack


async def find_legacy(
    root: Path,
    stacks: Sequence[Stack],
    only: Sequence[Stack | Path],
    inputs: CompileInputs,
    dialect: str | None,
    allowance: Allowance,
) -> Migration:
    """See `workbench.engine.migration`. Each program of the repository has the whole allowance, and so has the rest."""
    found: list[Migration | None] = [None]

    def take(each: Migration | None) -> None:
        found[0] = each

    try:
        await evaluators.aeach(
            allowance, take, migration.find_legacy, root, tuple(stacks), tuple(only), inputs.plain(), dialect
        )
    except EvaluationEnded as ended:
        raise ended_as_failure(ended, root) from None
    assert found[0] is not None, "the last that is found is the whole"
    return found[0]


async def prove(
    found: Migration, allowance: Allowance, on_outcome: Callable[[Outcome], None], plugins: PluginFinder | None = None
) -> list[Outcome]:
    """Compiles what a migration touches, each within the allowance: what exceeds it is not proven, the others are."""
    outcomes: list[Outcome] = []

    def take(each: Outcome) -> None:
        outcomes.append(each)
        on_outcome(each)

    while left := found.subjects[len(outcomes) :]:
        try:
            await evaluators.aeach(allowance, take, migration.proven, replace(found, subjects=left), plugins)
        except EvaluationEnded as ended:
            if len(outcomes) < len(found.subjects):
                where = f"{ended.where}: " if ended.where else ""
                take(Outcome(found.subjects[len(outcomes)], problem=f"{where}{ended.message}\n{ended.hint}"))
    return outcomes
