"""The `wb.` methods: what each takes, what it may change, and what answers it.

Parameters are objects, their names in snake_case or lowerCamelCase. One that a method does not have is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from kcl.records import dataclass, field
from workbench.serving import verbs
from workbench.serving.parameters import (
    Apply,
    Compile,
    Diff,
    Explain,
    Impact,
    Nothing,
    Outputs,
    PlanOf,
    Set,
    Watch,
)

if TYPE_CHECKING:
    from workbench.serving.verbs import Work


class Changes(StrEnum):
    """What a method may change: `FILES` of the repository, `CLUSTERS` what is live."""

    NOTHING = "nothing"
    FILES = "files"
    CLUSTERS = "clusters"


@dataclass(frozen=True, slots=True)
class Method:
    """`streams`: it tells of events before its answer, where the client takes them."""

    name: str
    takes: type
    answer: Callable[[Work, Any], Awaitable[Any]] = field(repr=False)
    what: str
    changes: Changes = Changes.NOTHING
    streams: bool = False


async def _methods(work: Work, given: Nothing) -> Any:
    from kcl.compat.methods import METHODS as OFFICIAL

    ours = [
        {
            "name": each.name,
            "what": each.what,
            "changes": each.changes.value,
            "streams": each.streams,
            "allowed": each.changes is not Changes.CLUSTERS or work.allowed.applies,
        }
        for each in METHODS.values()
    ]
    theirs = [
        {
            "name": each.name,
            "what": "as the official service has it",
            "changes": (Changes.FILES if each.writes else Changes.NOTHING).value,
            "streams": False,
            "allowed": work.allowed.edits or not each.writes,
        }
        for each in OFFICIAL.values()
    ]
    return {"apiVersion": "wb/v1", "kind": "Methods", "methods": ours + theirs}


METHODS: Final[Mapping[str, Method]] = {
    each.name: each
    for each in (
        Method("wb.methods", Nothing, _methods, "the methods, and whether they may be called"),
        Method("wb.stacks", Nothing, verbs.stacks, "projects and stacks"),
        Method("wb.compile", Compile, verbs.compile_, "the Spec of a stack, secrets masked"),
        Method("wb.diff", Diff, verbs.diff, "what an apply would change live"),
        Method("wb.impact", Impact, verbs.impact, "what a change of files does to all stacks"),
        Method("wb.explain", Explain, verbs.explain, "the lines that set a field"),
        Method("wb.outputs", Outputs, verbs.outputs, "what a stack gives to others, secrets masked"),
        Method("wb.set", Set, verbs.set_, "the edit that sets fields; written only with `write`", Changes.FILES),
        Method("wb.plan", PlanOf, verbs.plan, "what would be done, in order, bound to what is live"),
        Method("wb.apply", Apply, verbs.apply, "a plan made here, carried out", Changes.CLUSTERS, True),
        Method(
            "wb.watch", Watch, verbs.watch, "what is live, until it is ready, failed or the time is up", streams=True
        ),
    )
}
