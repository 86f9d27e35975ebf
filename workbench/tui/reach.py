"""How far the edits at hand reach, found out while their stack is planned or edited: nothing waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from kcl.records import replace
from runtimes.base import RuntimeFailure
from workbench.present import errors
from workbench.project import WorkbenchError

if TYPE_CHECKING:
    from workbench.engine.whatif import WhatIf
    from workbench.session import Session
    from workbench.tui.state import Reach

SETTLE_SECONDS = 1.0
"""So long nothing may be edited before other stacks are compiled."""
MOST_ASKED = 20
"""The clusters of so many of the stacks that are reached are asked; a shared model may reach hundreds."""


async def reach_of(session: Session, whatif: WhatIf | None, reach: Reach) -> AsyncIterator[Reach]:
    """Yields what becomes known after `reach`, the last one with what is live.

    The edits are those of a What-if, where there is one; else all that is not committed.
    """
    try:
        if whatif is not None and whatif.files:
            await asyncio.sleep(SETTLE_SECONDS)
            report, inputs = await session.effect(whatif), whatif.inputs
        else:
            report, inputs = await session.impact(), None
        reach = replace(reach, report=report, is_asking=bool(report.affected))
        yield reach
        if reach.is_asking:
            report = await session.live_impact(report, inputs, most=MOST_ASKED)
            yield replace(reach, report=report, is_asking=False)
    except (WorkbenchError, RuntimeFailure) as error:
        yield replace(reach, error=error, is_asking=False)
    except Exception as error:
        # the boundary of a task: the plan stands without it, and it is said that this is not known
        yield replace(reach, error=errors.Bug(error), is_asking=False)
