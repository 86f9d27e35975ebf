"""What is asked after a colon about the object under the cursor: `:explain` its lines, `:who` set its fields; and on
Spec, with a key, what of the stack names it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from runtimes.base import FieldPath, KubernetesId, ResourceId, RuntimeFailure, format_path
from workbench.engine.compiled import CompiledStack
from workbench.engine.live import LiveObject
from workbench.present import explain, live, paths, relations
from workbench.present.rows import Key, Row
from workbench.present.text import Line, Span, Tone, line
from workbench.project import WorkbenchError
from workbench.tui.frame import Frame
from workbench.tui.screens.answer import Answer, AnswerScreen
from workbench.tui.state import StackState

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp

_FIRST = "put the cursor on an object first"


def run(app: WorkbenchApp, word: str, rest: str, screen: Frame) -> None:
    if word == "explain":
        _explain(app, rest, screen)
    else:
        _who(app, rest, screen)


def _explain(app: WorkbenchApp, rest: str, screen: Frame) -> None:
    """`:explain [Kind/name] [FIELD]`: the object and the field under the cursor where they are not named."""
    state = screen.shown_state
    compiled = state.compiled if state is not None else None
    if state is None or compiled is None:
        app.notify("nothing is compiled that could be explained: open a stack's Spec first", severity="warning")
        return
    first, _, second = rest.partition(" ")
    id_ = screen.resource_id()
    if second or (rest and id_ is None):
        named, path = first, second.strip()
    elif id_ is None:
        app.notify(f"{_FIRST}, or name it: explain Deployment/web spec.replicas", severity="warning")
        return
    else:
        named, path = str(id_), rest or format_path(screen.field_path())

    async def ask() -> AsyncIterator[Answer]:
        found = state.compiled or compiled
        yield await asyncio.to_thread(_explained, app, found, named, path)

    app.command_log.add(app.now(), f"explained {named} {path}".strip(), f"wb explain {state.stack.name} {named} {path}")
    app.push_screen(AnswerScreen("Explain", explain.COLUMNS, ask, state))


def _explained(app: WorkbenchApp, compiled: CompiledStack, named: str, path: str) -> Answer:
    session, spec = app.session, compiled.spec
    found = explain.explained(spec, named, path, session.tree().declared)
    rows = [Row(key, (each,)) for key, each in explain.rows(found, app.konfig.root)]
    sources: dict[Key, tuple[Path, int]] = {
        (what, number): (step.site.file, step.site.line)
        for number, step in enumerate(found.chain)
        for what in ("site", "text")
    }
    reads = session.output_origins(spec, found.resource, paths.parse(path))
    rows += [Row(("reads", said), (line(Span("reads   ", Tone.MUTED), said),)) for said in reads]
    title = line(Span(f"{found.resource.id}  ", Tone.MUTED), Span(found.shown or "as a whole", Tone.STRONG))
    return Answer((title,), tuple(rows), sources)


def _who(app: WorkbenchApp, rest: str, screen: Frame) -> None:
    """`:who [FIELD]`: who set each field of the live object, below the one that is named, and when."""
    id_ = screen.resource_id()
    if not isinstance(id_, KubernetesId):
        app.notify(f"{_FIRST} that a cluster has", severity="warning")
        return
    try:
        path = paths.parse(rest)
    except WorkbenchError as error:
        app.notify(f"{error}. {error.hint}", severity="warning")
        return
    clusters = screen.clusters_of_cursor()

    title = line(Span(f"{id_}  ", Tone.MUTED), Span(rest.strip() or "all fields", Tone.STRONG))

    async def ask() -> AsyncIterator[Answer]:
        """Each cluster's part as it comes: one that does not answer holds up none of the others."""
        reads = {each: asyncio.create_task(_read(app, each, id_)) for each in clusters}
        waiting = {*reads.values()}
        try:
            while True:
                answers = [(each, read.result() if read.done() else _ASKED) for each, read in reads.items()]
                rows = [row for each in answers for row in who_rows(app, *each, path, len(clusters))]
                yield Answer((title,), tuple(rows))
                if not waiting:
                    return
                waiting = (await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED))[1]
        finally:
            for read in waiting:
                read.cancel()

    app.push_screen(AnswerScreen("Set by", live.WHO_COLUMNS, ask, screen.shown_state))


Read = LiveObject | WorkbenchError | RuntimeFailure | Literal["asked"] | None
"""What a cluster said of an object: None where it is not there, "asked" before it said anything."""
_ASKED: Literal["asked"] = "asked"


async def _read(app: WorkbenchApp, cluster: str, id_: KubernetesId) -> Read:
    try:
        return await app.session.read_live(cluster, id_, with_events=False)
    except (WorkbenchError, RuntimeFailure) as error:
        return error


def who_rows(app: WorkbenchApp, cluster: str, found: Read, path: FieldPath, count: int) -> Iterator[Row]:
    """The rows of one cluster, below its name where there are several. What could not be read is no absence."""
    depth = 1 if count > 1 else 0
    if depth:
        yield Row(cluster, (line(Span(f"@{cluster}", Tone.STRONG)), Line(), Line(), Line()), 0, foldable=True)
    said: Span | None = None
    if found == _ASKED:
        said = Span(f"asking {cluster} ...", Tone.MUTED)
    elif found is None:
        said = Span("it is not there", Tone.MUTED)
    elif not isinstance(found, LiveObject):
        said = Span(f"{app.glyphs.unknown} not known: {found}", Tone.WARN)
    else:
        rows = live.who_rows(found, path, app.now() + found.ahead, depth)
        if rows:
            yield from rows
        else:
            said = Span("no manager is on record for it", Tone.MUTED)
    if said is not None:
        yield Row((cluster, "said"), (line(said), Line(), Line(), Line()), depth)


def used_by(app: WorkbenchApp, state: StackState, id_: ResourceId) -> None:
    """Opens what of the stack names or selects an object of it, and what that names; asks no cluster."""
    compiled = state.compiled
    if compiled is None or not isinstance(id_, KubernetesId):
        app.notify("what refers to it is known of objects of clusters alone", severity="warning")
        return

    async def ask() -> AsyncIterator[Answer]:
        spec = (state.compiled or compiled).spec
        found = app.session.relations_in(spec, id_)
        rows = relations.references(found, id_)
        sources: dict[Key, tuple[Path, int]] = {}
        for row in rows:
            match row.key:
                case (str(), KubernetesId() as other) if chain := spec.chain(other):
                    sources[row.key] = (chain[0].file, chain[0].line)
        said = "in what the stack says; Related on live objects asks the cluster, which may know more"
        title = line(Span(f"{id_}  ", Tone.STRONG), Span(said, Tone.MUTED))
        yield Answer((title,), rows, sources)

    app.push_screen(AnswerScreen("Used by", relations.COLUMNS, ask, state))
