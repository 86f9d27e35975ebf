"""The plans that were made here and not applied yet, by their id.

A plan is held as it was shown: applying one is by its id alone, so nothing can be applied that nobody could look at.
It is taken out by the apply that uses it, and forgotten after an hour, or when many others were made since.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from workbench.engine.plan import Plan

MOST_PLANS: Final = 32
LASTS_SECONDS: Final = 3600.0


class Plans:
    """`clock` counts seconds and never goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._made: OrderedDict[str, tuple[float, Plan]] = OrderedDict()

    def keep(self, plan: Plan) -> None:
        self._made[plan.id] = (self._clock(), plan)
        self._made.move_to_end(plan.id)
        while len(self._made) > MOST_PLANS:
            self._made.popitem(last=False)

    def find(self, id_: str) -> Plan | None:
        """The plan of that id; None where none was made here, or it is too long ago, or it was applied."""
        made, plan = self._made.get(id_, (0.0, None))
        if plan is not None and self._clock() - made > LASTS_SECONDS:
            del self._made[id_]
            return None
        return plan

    def take(self, id_: str) -> None:
        """Forgets a plan, which is being applied."""
        self._made.pop(id_, None)
