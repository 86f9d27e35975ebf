"""A part of a plan: some of its steps, and nothing that is done besides."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from kcl.records import replace
from runtimes.base import Address
from workbench.engine.events import Action
from workbench.engine.plan import Plan


def part_of(plan: Plan, steps: Collection[Address]) -> Plan | None:
    """Returns the plan with these steps only, itself for all of them, None for none.

    `steps` have all that they need among them. What is left out is left as it is, and the release still has it as the
    one before had it.
    """
    every = {each.address for each in plan.steps()}
    wanted = every.intersection(steps)
    if not wanted:
        return None
    if wanted == every:
        return plan
    digest = hashlib.sha256("\n".join([plan.id, *sorted(map(str, wanted))]).encode()).hexdigest()
    return replace(
        plan,
        id=f"p-{digest[:16]}",
        changes=tuple(each for each in plan.changes if each.action is Action.NONE or each.address in wanted),
        waves=tuple(own for wave in plan.waves if (own := tuple(each for each in wave if each in wanted))),
        needs={each: needs for each, needs in plan.needs.items() if each in wanted},
        is_part=True,
    )
