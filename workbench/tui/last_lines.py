"""The last lines that pods have written, for screens that show some of them beside other things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from runtimes.base import ObjectRef, RuntimeFailure
from workbench.project import WorkbenchError

if TYPE_CHECKING:
    from workbench.session import Session

LINES: Final = 200
"""Of all pods together."""
MOST_PODS: Final = 10


async def last_lines(session: Session, cluster: str, pods: Sequence[ObjectRef]) -> tuple[str, ...]:
    """Reads pods one after the other; where they are several, each line says whose it is."""
    read = pods[:MOST_PODS]
    lines: list[str] = []
    for pod in read:
        found = await _lines_of(session, cluster, pod, LINES // len(read))
        lines += [f"{pod.name} | {text}" for text in found] if len(pods) > 1 else found
    if len(pods) > len(read):
        lines.append(f"({len(pods) - len(read)} more pods are not read)")
    return tuple(lines)


async def _lines_of(session: Session, cluster: str, pod: ObjectRef, tail_lines: int) -> tuple[str, ...]:
    """Returns the lines of the run before where this one wrote none; why there are none where it can't be read."""
    try:
        return await session.logs(cluster, pod, tail_lines=tail_lines) or await session.logs(
            cluster, pod, previous=True, tail_lines=tail_lines
        )
    except (WorkbenchError, RuntimeFailure) as error:
        return (f"(can't be read: {error})",)
