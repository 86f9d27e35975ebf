"""Which stacks come before which: a stack that reads what another gives comes after it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from kcl.records import dataclass
from workbench.engine.errors import EngineError
from workbench.engine.graph import find_cycle, waves
from workbench.engine.outputs import uses
from workbench.engine.spec import Spec


@dataclass(frozen=True, slots=True)
class Reading:
    """That a stack reads an output of another, and where it says so first: `file:line`."""

    output: str
    where: str


Readings = Mapping[str, Mapping[str, Reading]]
"""What each stack reads, by the stack that gives it."""


class StackCycle(EngineError):
    """Stacks read each other's outputs in a circle: none of them can be the first to be applied."""

    def __init__(self, stacks: Sequence[str], readings: Readings) -> None:
        said = [
            f"{one} reads {readings[one][other].output} of {other} ({readings[one][other].where})"
            for one, other in pairwise(stacks)
        ]
        super().__init__(
            f"stacks read each other in a circle: {', '.join(said)}",
            where=readings[stacks[0]][stacks[1]].where,
            hint="have one of them say the value itself, or move the resource to where it is read",
        )
        self.stacks = tuple(stacks)


class OrderCycle(EngineError):
    """What stacks read of each other, and what `after` says of them, goes round in a circle."""


def readings_of(spec: Spec) -> dict[str, Reading]:
    """Returns the stacks whose outputs a Spec reads, as it is compiled."""
    found: dict[str, Reading] = {}
    for use in uses(spec):
        found.setdefault(use.output.stack, Reading(use.output.name, use.where))
    return found


def givers(spec: Spec) -> tuple[str, ...]:
    """Returns the stacks that a Spec has outputs of, once they were read."""
    return tuple(dict.fromkeys(each.output.stack for each in spec.reads))


def refuse_cycle(readings: Readings) -> None:
    """Raises `StackCycle`."""
    if cycle := find_cycle(readings):
        raise StackCycle(cycle, readings)


def refuse_order_cycle(
    needs: Mapping[str, Iterable[str]], after: Mapping[str, Iterable[str]], folders: Mapping[str, str]
) -> None:
    """Raises `OrderCycle` where stacks can't be ordered, with how each of them needs the next; `folders` are theirs."""
    if not (cycle := find_cycle(needs)):
        return
    steps = list(pairwise(cycle))
    said = [f"{one} {'is after' if other in after.get(one, ()) else 'reads'} {other}" for one, other in steps]
    by_hand = next((one for one, other in steps if other in after.get(one, ())), cycle[0])
    raise OrderCycle(
        f"stacks come after each other in a circle: {', '.join(said)}",
        where=f"{folders.get(by_hand, by_hand)}/stack.yaml",
        hint="take one name out of `after`",
    )


def ranks(stacks: Iterable[str], reads: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Returns how many steps each stack comes after the first ones, by what it reads; there is no cycle in that."""
    order = tuple(stacks)
    grouped = waves({each: tuple(reads.get(each, ())) for each in order}, order)
    return {stack: rank for rank, wave in enumerate(grouped) for stack in wave}
