"""One act on several live objects as a table: which they are, whose, and where each is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from workbench.engine.live_acts import Acts, ActState
from workbench.present.glyphs import Glyphs
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line

COLUMNS = (
    Column("Object", grow=True, has_tail=True),
    Column("Cluster", most=14, rank=1),
    Column("Stack", most=28, rank=2),
    Column("State", width=9),
)
_TONES = {
    ActState.WAITING: Tone.MUTED,
    ActState.RUNNING: Tone.BUSY,
    ActState.DONE: Tone.GOOD,
    ActState.FAILED: Tone.BAD,
    ActState.UNKNOWN: Tone.WARN,
    ActState.LEFT: Tone.MUTED,
}
States = Mapping[int, tuple[ActState, str]]
"""Where each is and what is said of it, by its number."""


def rows(acts: Acts, states: States) -> tuple[Row, ...]:
    """Returns a row an object in their order, keyed by (cluster, id); below it what it loses, or why it failed."""
    found = []
    for number, (each, owner) in enumerate(zip(acts.requests, acts.owners, strict=True)):
        state, said = states.get(number, (ActState.WAITING, ""))
        where = f"{each.id.namespace}/" if each.id.namespace else ""
        lost = f"losing {each.losses}" if each.losses.uids else ""
        cells = (
            line(Span(f"{each.id.kind} ", Tone.MUTED), f"{where}{each.id.name}"),
            line(Span(each.cluster, Tone.MUTED)),
            line(Span(str(owner) if owner is not None else "", Tone.SOURCE)),
            line(Span(state.value, _TONES[state])),
        )
        found.append(Row((each.cluster, each.id), cells))
        if said or lost:
            why = line(Span(said or lost, Tone.BAD if state is ActState.FAILED else Tone.WARN))
            found.append(Row((each.cluster, each.id, "why"), (why,), depth=1))
    return tuple(found)


def summary(acts: Acts, states: States, glyphs: Glyphs) -> Line:
    """`delete 3 Pods: 2 done, ✗ 1 failed`"""
    counts = Counter(state for state, _ in states.values())
    counts[ActState.WAITING] += len(acts.requests) - len(states)
    signs = {ActState.FAILED: f"{glyphs.bad} ", ActState.UNKNOWN: f"{glyphs.unknown} "}
    parts = [
        Span(f"{signs.get(state, '')}{counts[state]} {state.value}  ", tone)
        for state, tone in _TONES.items()
        if counts[state]
    ]
    return line(Span(f"{acts.act.value} ", Tone.BAD), f"{acts.counted}: ", *parts)
