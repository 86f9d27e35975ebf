"""The tree of what is becoming ready: a row for each resource, and for what it owns where that matters.

Many healthy siblings say no more than one, so they are grouped: `3 ready`. What is failing is never folded away.
Everything here is shown at a moment (`now`), which the picture may be older than: what nobody vouches for by then is
shown as what it was, and how long ago.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from runtimes.base import (
    Address,
    Health,
    ObjectRef,
    Occurrence,
    Status,
    StatusNode,
    in_words,
)
from workbench.engine.status import WAITED_FOR, ResourceStatus, Source, StatusTree, Verdict
from workbench.present import durations
from workbench.present.glyphs import Glyphs, status_line, status_word
from workbench.present.rows import Column, Key, Row
from workbench.present.text import Line, Span, Tone, line

COLUMNS = (
    Column("Resource", grow=True, has_tail=True),
    Column("Status", most=18),
    Column("Details", most=30, rank=1),
    Column("Age", width=5, rank=2),
)
GROUPED_FROM = 3
"""So many ready siblings are shown as one row."""


def short_id(address: Address, *, with_namespace: bool = True) -> Line:
    """`Deployment checkout-prod/web @hangzhou`, or without the namespace where room is short.

    Terraform's have no provider: `aws_vpc main @terraform`, as its types have names of their own.
    """
    kind, _, name = in_words(address.id).partition(" ")
    label = line(Span(f"{kind} ", Tone.MUTED), name if with_namespace else address.id.name)
    return line(label, Span(f" @{address.cluster}", Tone.MUTED)) if address.cluster else label


def rows(tree: StatusTree, glyphs: Glyphs, now: datetime, *, faults_only: bool = False) -> tuple[Row, ...]:
    """Returns rows in apply order, children below their owners. Keys: (address, uid or name)."""
    return tuple(
        row
        for each in tree.as_of(now).resources
        if not (faults_only and each.health.status is Status.CURRENT)
        for row in _resource_rows(each, glyphs, now)
    )


def _resource_rows(each: ResourceStatus, glyphs: Glyphs, now: datetime) -> Iterator[Row]:
    children = each.tree.children if each.tree else ()
    cells = (
        short_id(each.address, with_namespace=False),
        _status(each.health, each, glyphs, now),
        _details(each.tree),
        _age(each.tree, now),
    )
    yield Row((each.address, ""), cells, depth=0, foldable=bool(children), labels=_labels(each.tree))
    yield from _grouped(children, each, glyphs, now, depth=1)


def _status(health: Health, of: ResourceStatus, glyphs: Glyphs, now: datetime) -> Line:
    """What it is, or `? 14s ago: Ready` for what it was when it was last heard of. `health` is its own or a part's."""
    if of.lost is None:
        return status_line(health, glyphs)
    was = of.last if health is of.health else health
    if was is None:
        return status_line(of.health, glyphs)
    age = durations.coarse((now - of.lost.since).total_seconds())
    return line(Span(f"{glyphs.unknown} {age} ago: ", Tone.WARN), Span(status_word(was), Tone.MUTED))


def _grouped(
    nodes: tuple[StatusNode, ...], of: ResourceStatus, glyphs: Glyphs, now: datetime, depth: int
) -> Iterator[Row]:
    ready = _group(nodes)
    grouped = {id(node) for node in ready}
    for node in nodes:
        if id(node) in grouped:
            continue
        cells = (
            line(Span(f"{node.ref.kind} ", Tone.MUTED), node.ref.name),
            _status(node.health, of, glyphs, now),
            _details(node),
            _age(node, now),
        )
        yield Row(
            (of.address, node.ref.uid or str(node.ref)),
            cells,
            depth=depth,
            foldable=bool(node.children),
            labels=_labels(node),
        )
        yield from _grouped(node.children, of, glyphs, now, depth + 1)
    if grouped:
        kinds = {node.ref.kind for node in ready}
        name = f"{len(ready)} {kinds.pop()}s" if len(kinds) == 1 else f"{len(ready)} objects"
        cells = (line(Span(name, Tone.MUTED)), _status(ready[0].health, of, glyphs, now), Line(), Line())
        labels = _labels(*ready)
        yield Row((of.address, "ready", _group_name(ready), depth), cells, depth=depth, labels=labels)


def _labels(*nodes: StatusNode | None) -> tuple[Mapping[str, str], ...] | None:
    """Returns the labels of each; None where nothing was seen that has any."""
    return tuple(each.labels for each in nodes if each is not None and each.labels is not None) or None


def _details(node: StatusNode | None) -> Line:
    return line(Span("  ".join(node.details), Tone.MUTED)) if node else Line()


def _age(node: StatusNode | None, now: datetime) -> Line:
    if node is None or node.created is None:
        return Line()
    return line(Span(durations.short((now - node.created).total_seconds()), Tone.MUTED))


def why_line(tree: StatusTree, glyphs: Glyphs, now: datetime) -> Line:
    """The one line that says why it is not ready: the deepest object that blocks, its reason and evidence.

    A place that is silent comes before what waits, and after what has failed: that is the one thing still known.
    """
    tree = tree.as_of(now)
    if tree.verdict is Verdict.EMPTY:
        return line(Span("nothing to watch: this stack has no resources", Tone.WARN))
    if tree.verdict is Verdict.READY:
        return line(Span(f"{glyphs.good} everything is ready", Tone.GOOD), _but(tree.qualified, glyphs))
    why = tree.why
    is_explained = tree.verdict is Verdict.FAILED and why is not None and why.blocking is not None
    if tree.silent and not is_explained:
        return _why_silent(tree.silent, glyphs, now)
    # not ready with every place heard: then one of the resources is not
    assert why is not None, "a stack that is not ready has a resource or a place to name"
    tone = Tone.BAD if why.health.status is Status.FAILED else Tone.BUSY
    if why.blocking is None:
        message = why.health.message or why.health.reason or why.health.status.value
        if why.health.status is Status.UNKNOWN and why.health.reason:
            # it is the cluster that is not heard, not this resource
            return line(Span(f"{glyphs.unknown} {why.address.cluster}: ", Tone.WARN), message)
        return line(Span("WHY ", Tone.STRONG), short_id(why.address), " ", Span(message, tone))
    blocking = why.blocking
    parts: list[Span | str | Line] = [
        Span("WHY ", Tone.STRONG),
        Span(str(blocking.ref), tone),
        Span(f" @{why.address.cluster}", Tone.MUTED),
        " ",
        Span(blocking.reason or blocking.message, tone),
    ]
    if blocking.reason and blocking.message:
        parts.append(f": {blocking.message}")
    elif blocking.evidence and blocking.evidence != blocking.reason:
        parts.append(f": {blocking.evidence}")
    return line(*parts)


def _but(found: Sequence[ResourceStatus], glyphs: Glyphs) -> Line:
    if not found:
        return Line()
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    said = Span(f": {found[0].health.message}{more}", Tone.WARN)
    return line(Span(f"  {glyphs.finding} ", Tone.WARN), short_id(found[0].address), said)


def _why_silent(silent: tuple[Source, ...], glyphs: Glyphs, now: datetime) -> Line:
    first = next((each for each in silent if each.lost is not None), silent[0])
    others = f" (and {len(silent) - 1} more)" if len(silent) > 1 else ""
    place = Span(f"{glyphs.unknown} {first.place}{others}: ", Tone.WARN)
    if first.lost is None:
        return line(place, WAITED_FOR)
    since = durations.short((now - first.lost.since).total_seconds())
    heard = f"silent for {since}, since {first.lost.since:%H:%M:%S} UTC"
    hint = f" {glyphs.arrow} {first.lost.hint}" if first.lost.hint else ""
    return line(place, first.lost.message, Span(f", {heard}", Tone.WARN), hint)


def heard(tree: StatusTree, now: datetime) -> Line:
    """How old the picture is: `heard 2s ago`, or which places are silent for how long."""
    tree = tree.as_of(now)
    if not tree.silent:
        if tree.answered_at is None:
            return Line()
        return line(Span(f"heard {durations.short((now - tree.answered_at).total_seconds())} ago", Tone.MUTED))
    silent = ", ".join(_silence(each, now) for each in tree.silent)
    return line(Span(f"silent: {silent}", Tone.WARN))


def _silence(each: Source, now: datetime) -> str:
    if each.lost is None:
        return f"{each.place} (no answer yet)"
    return f"{each.place} {durations.short((now - each.lost.since).total_seconds())}"


def summary(tree: StatusTree, glyphs: Glyphs, now: datetime) -> Line:
    """`5/7 ready  01:12  progressing`, and which places are silent."""
    tree = tree.as_of(now)
    tone, sign = VERDICTS[tree.verdict](glyphs)
    word = {"timed out": "timed out, not ready"}.get(tree.verdict.value, tree.verdict.value)
    silent = line("  ", heard(tree, now)) if tree.silent else Line()
    clock = f"  {durations.clock(tree.seconds)}  "
    return line(Span(f"{sign} {tree.ready}/{tree.total} ready", tone), clock, Span(word, tone), silent)


VERDICTS: dict[Verdict, Callable[[Glyphs], tuple[Tone, str]]] = {
    Verdict.READY: lambda glyphs: (Tone.GOOD, glyphs.good),
    Verdict.PROGRESSING: lambda glyphs: (Tone.BUSY, glyphs.busy),
    Verdict.FAILED: lambda glyphs: (Tone.BAD, glyphs.bad),
    Verdict.UNKNOWN: lambda glyphs: (Tone.WARN, glyphs.unknown),
    Verdict.TIMED_OUT: lambda glyphs: (Tone.WARN, glyphs.unknown),
    Verdict.EMPTY: lambda glyphs: (Tone.WARN, glyphs.unknown),
}


EVENT_COLUMNS = (
    Column("Last", width=6),
    Column("Reason", most=22),
    Column("Object", most=34),
    Column("Message", grow=True),
)


def event_rows(node: StatusNode, now: datetime) -> tuple[Row, ...]:
    """Events about an object and everything below it, latest last."""
    found = sorted(_events(node), key=lambda each: (each.when is not None, each.when, each.reason))
    return tuple(
        Row((index, each.reason, str(each.about)), _event_cells(each, now)) for index, each in enumerate(found)
    )


def _events(node: StatusNode) -> Iterator[Occurrence]:
    yield from node.events
    for child in node.children:
        yield from _events(child)


def _event_cells(each: Occurrence, now: datetime) -> tuple[Line, ...]:
    age = durations.short((now - each.when).total_seconds()) if each.when else ""
    times = f" x{each.count}" if each.count > 1 else ""
    tone = Tone.WARN if each.warning else Tone.PLAIN
    return line(Span(age, Tone.MUTED)), line(Span(each.reason + times, tone)), line(str(each.about)), line(each.message)


def find(tree: StatusTree, key: Key) -> tuple[ResourceStatus, StatusNode | None] | None:
    """Returns the resource and the node a row of `rows` stands for; None if it is gone."""
    if not isinstance(key, tuple) or len(key) < 2:
        return None
    for each in tree.resources:
        if each.address == key[0]:
            if each.tree is None or key[1] in ("", "ready"):
                return each, each.tree
            return each, _node(each.tree, key[1])
    return None


def pods(tree: StatusTree, key: Key) -> tuple[ObjectRef, ...]:
    """Returns the pods a row of `rows` stands for: itself, those it groups, the one that blocks it, else all below."""
    found = find(tree, key)
    if found is None or not isinstance(key, tuple):
        return ()
    status, node = found
    if key[1] == "ready":
        owner, depth = key[2], key[3]
        groups = _ready_groups(status.tree.children if status.tree else (), 1)
        return tuple(each.ref for name, at, group in groups if (name, at) == (owner, depth) for each in group)
    if node is None:
        return ()
    blocking = status.blocking.ref if status.blocking else None
    if node is status.tree and blocking is not None and blocking.kind == "Pod":
        return (blocking,)
    return tuple(_pods(node))


def _pods(node: StatusNode) -> Iterator[ObjectRef]:
    if node.ref.kind == "Pod":
        yield node.ref
    for child in node.children:
        yield from _pods(child)


def _ready_groups(nodes: tuple[StatusNode, ...], depth: int) -> Iterator[tuple[str, int, list[StatusNode]]]:
    """Yields name, depth and members of each row of `rows` that stands for several."""
    if group := _group(nodes):
        yield _group_name(group), depth, group
    for node in nodes:
        yield from _ready_groups(node.children, depth + 1)


def _group(nodes: tuple[StatusNode, ...]) -> list[StatusNode]:
    """The siblings that are shown as one row, as there is nothing to say of them."""
    ready = [node for node in nodes if node.health.status is Status.CURRENT and not node.children]
    return ready if len(ready) >= GROUPED_FROM else []


def _group_name(group: list[StatusNode]) -> str:
    return group[0].ref.uid or group[0].ref.name


def _node(node: StatusNode, wanted: object) -> StatusNode | None:
    if (node.ref.uid or str(node.ref)) == wanted:
        return node
    return next((found for child in node.children if (found := _node(child, wanted))), None)
