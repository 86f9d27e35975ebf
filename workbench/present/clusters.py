"""Which clusters are behind their names: context, server and user, wherever something is said of them or done there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from runtimes.base import ClusterIdentity, RuntimeFailure
from workbench.present.rows import Column, Row
from workbench.present.text import Line, Span, Tone, line

_FEW = 2


def lines(identities: Mapping[str, ClusterIdentity]) -> Iterator[Line]:
    """Yields `hz  context hz-admin, https://10.0.0.1:6443 as admin, uid 1b4e28ba` for each."""
    width = max((len(name) for name in identities), default=0)
    for name, each in identities.items():
        yield line(Span(name.ljust(width), Tone.ENVIRONMENT), Span(f"  {each}", Tone.MUTED))


def few_lines(identities: Mapping[str, ClusterIdentity], room: int) -> Iterator[Line]:
    """As `lines` where there are few clusters, for screens; of many, one line with their contexts.

    The uid is left out where the line would be longer than `room`; that it is not known is said in any case.
    """
    if len(identities) <= _FEW:
        for each, known in zip(lines(identities), identities.values(), strict=True):
            is_long = len(each) > room and known.uid
            text = str(each).removesuffix(f", uid {known.short_uid}")
            head, tail = each.spans
            yield line(head, Span(text[len(head.text) :], tail.tone)) if is_long else each
    else:
        yield line(Span("; ".join(f"{name} {each.context}" for name, each in identities.items()), Tone.MUTED))


COLUMNS = (Column("Cluster"), Column("Context"), Column("Server"), Column("User"))


def rows(places: Mapping[str, ClusterIdentity | RuntimeFailure]) -> Iterator[Row]:
    """Yields a row for each cluster: where its name leads by the kubeconfig, or why that is not known."""
    for name, each in places.items():
        if isinstance(each, RuntimeFailure):
            shown = [Span(f"? {each.message}", Tone.WARN)]
        else:
            shown = [Span(text, Tone.MUTED) for text in (each.context, each.server, each.user)]
        yield Row(name, (line(Span(name, Tone.ENVIRONMENT)), *(line(span) for span in shown)))


def in_short(names: Iterable[str], places: Mapping[str, ClusterIdentity | RuntimeFailure], most: int) -> str:
    """Returns where clusters are in one line of at most `most` characters, so that their names stay in any case."""
    names = tuple(names)
    known = {name: each for name, each in places.items() if isinstance(each, ClusterIdentity)}

    def told(name: str, *, with_server: bool) -> str:
        place = known.get(name)
        if place is None:
            return name
        parts = [*([place.context] if place.context != name else []), *([_host(place)] if with_server else [])]
        return f"{name} ({' '.join(parts)})" if parts else name

    for with_server in (True, False):
        text = ", ".join(told(name, with_server=with_server) for name in names)
        if len(text) <= most:
            return text
    return ", ".join(names)


def _host(place: ClusterIdentity) -> str:
    """Unencrypted connections are worth their five letters more."""
    return place.server.removeprefix("https://")


def places_document(places: Mapping[str, ClusterIdentity | RuntimeFailure]) -> list[dict[str, Any]]:
    return [
        {"name": name, "context": "", "server": "", "user": "", "problem": each.message}
        if isinstance(each, RuntimeFailure)
        else {"name": name, "context": each.context, "server": each.server, "user": each.user, "problem": ""}
        for name, each in places.items()
    ]


def document(identities: Mapping[str, ClusterIdentity]) -> dict[str, Any]:
    """Returns the identities by name for `-o json`; `unknown` says why there is no uid, else it is empty."""
    return {name: each.to_mapping() for name, each in identities.items()}
