"""Which kinds a cluster serves and under which paths, asked group by group and remembered.

The document of a group version is fetched when the first of its kinds is needed. A kind that it lacks is looked for
once more on the server, since its definition may have been made a moment ago.

All kinds are in two aggregated documents, which servers have since Kubernetes 1.26
(https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery). That is why nothing is stored on
disk, as kubectl does for hours: two requests cost less than what an old answer would leave unlisted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kcl.records import dataclass, field
from runtimes.base import NotThere, OtherVersion, Overloaded, RuntimeFailure, Unauthenticated
from runtimes.kubernetes.anothers import may_be_anothers
from runtimes.kubernetes.single_flight import SingleFlight
from runtimes.kubernetes.together import together
from runtimes.kubernetes.transport import Reply, Transport, path_of

_AGGREGATED = ",".join(
    (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        "application/json",
    )
)


_EXPECTED_SECONDS = 5.0
_BEFORE_ATTEMPTS_SECONDS = (0.0, 0.1, 0.3, 0.6)


@dataclass(frozen=True, slots=True)
class ApiResource:
    """One kind of one group version. `plural` is its name in paths; people also call it `singular` or a short name.

    `keeps_status`: its status is written apart from the rest, so by a controller if there is one.
    """

    api_version: str
    kind: str
    plural: str
    is_namespaced: bool
    verbs: frozenset[str]
    singular: str = ""
    short_names: tuple[str, ...] = ()
    keeps_status: bool = False

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of one object, or without `name` of a collection; `namespace` "" spans all namespaces."""
        scope = ("namespaces", namespace) if self.is_namespaced and namespace else ()
        return _root(self.api_version) + path_of(*scope, self.plural, name, subresource)


@dataclass(frozen=True, slots=True)
class Served:
    """All kinds that are served. `silent` are versions that another server serves behind this one, which is away, and
    why: what they have nobody knows.
    """

    kinds: tuple[ApiResource, ...]
    silent: Mapping[str, str] = field(default_factory=dict)


class Discovery:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._served: dict[str, dict[str, ApiResource]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._asking: asyncio.Event | None = None
        self._expected: tuple[float, SingleFlight[Served]] | None = None
        self._ahead: SingleFlight[Served] | None = None
        """What was asked ahead, for whoever closes: nobody may be waiting for it any more."""

    async def resource(self, api_version: str, kind: str) -> ApiResource:
        """Raises `NotThere` if the cluster does not serve the kind, `OtherVersion` if it does in another version."""
        if api_version not in self._served and self._asking is not None:
            await self._asking.wait()
        known = api_version in self._served
        kinds = await self._kinds(api_version)
        if kind not in kinds and known:
            kinds = await self._kinds(api_version, again=True)
        if kind not in kinds:
            await self._refuse_other_version(api_version, kind)
            others = ", ".join(sorted(kinds)) or "nothing"
            raise NotThere(
                f"the cluster serves no kind {kind} in {api_version}",
                target=self._transport.place,
                hint=f"is its CustomResourceDefinition installed? {api_version} serves {others}",
            )
        return kinds[kind]

    def known(self, api_version: str, kind: str) -> ApiResource | None:
        """Returns what the cluster said of a kind, None where it was not asked for it yet or has none."""
        return self._served.get(api_version, {}).get(kind)

    async def _refuse_other_version(self, api_version: str, kind: str) -> None:
        group = api_version.rpartition("/")[0]
        groups = await self._groups() if group else None
        with self._as_served():
            versions = [] if groups is None else list(dict.fromkeys(_listed_versions(groups)))
        for other in versions:
            if other.rpartition("/")[0] == group and other != api_version and kind in await self._kinds(other):
                raise OtherVersion(
                    f"the cluster serves {kind} as {other}, and no more, or not yet, as {api_version}",
                    served=other,
                    target=self._transport.place,
                    hint=f"say apiVersion: {other}, as far as its fields are the same; its definition has its versions",
                )

    async def still_serves(self, api_version: str, kind: str) -> bool:
        """Whether the cluster says so now, whatever it said before."""
        return kind in await self._kinds(api_version, again=True)

    async def served(self) -> Served:
        """Returns each kind once, in the first version of its group that has it: the preferred one, most often.

        Who wants one kind meanwhile waits for this answer instead of asking for its group version.
        """
        expected, self._expected = self._expected, None
        if expected is not None and time.monotonic() - expected[0] < _EXPECTED_SECONDS:
            return await expected[1].result()
        return await self._asked_whole()

    async def expect(self) -> None:
        """Asks ahead what somebody will want to know in a moment: the next one who does gets this answer, and only it.

        Raises `RuntimeFailure`; who wants to know asks again then.
        """
        expected = SingleFlight(self._asked_whole, caches=True)
        self._expected, self._ahead = (time.monotonic(), expected), expected
        await expected.result()

    def forget_expected(self) -> None:
        """Whoever asks from now on is answered anew."""
        self._expected = None

    async def close(self) -> None:
        if self._ahead is not None:
            await self._ahead.close()

    async def _asked_whole(self) -> Served:
        asking = self._asking = asyncio.Event()
        try:
            return await self._every()
        finally:
            asking.set()

    async def _every(self) -> Served:
        core, groups = await together(
            *(self._transport.call("GET", path, accept=_AGGREGATED) for path in ("/api", "/apis"))
        )
        with self._as_served():
            served = {**_aggregated(core.body), **_aggregated(groups.body)}
            self._served.update((version, kinds) for version, kinds in served.items() if kinds)
            # a server that has no aggregated documents answers with a list of versions, or of groups
            if not _is_aggregated(core.body):
                served["v1"] = None
            if not _is_aggregated(groups.body):
                served.update((version, None) for version in _listed_versions(groups.body))
        unknown = [version for version, kinds in served.items() if kinds is None]
        silent: dict[str, str] = {}
        fetched = await together(*(self._kinds_if_answered(version, silent) for version in unknown))
        served.update(dict(zip(unknown, fetched, strict=True)))
        found: dict[tuple[str, str], ApiResource] = {}
        for version, kinds in served.items():
            for kind, resource in (kinds or {}).items():
                found.setdefault((version.rpartition("/")[0], kind), resource)
        if not found:  # taken for an answer, it would say that there is nothing of any kind
            raise self._no_api("says that it serves nothing")
        return Served(tuple(found.values()), silent)

    async def _kinds_if_answered(self, api_version: str, silent: dict[str, str]) -> dict[str, ApiResource] | None:
        """Whoever is away behind this server may have any failure for an answer; what it serves itself fails whole."""
        try:
            return await self._kinds(api_version, again=True)
        except Overloaded as error:
            silent[api_version] = error.message
        except Unauthenticated:
            raise
        except RuntimeFailure as error:
            if not may_be_anothers(api_version):
                raise
            silent[api_version] = error.message
        return None

    async def _kinds(self, api_version: str, *, again: bool = False) -> dict[str, ApiResource]:
        async with self._locks.setdefault(api_version, asyncio.Lock()):
            if again or api_version not in self._served:
                kinds = await self._fetch(api_version)
                if not kinds:
                    return {}
                self._served[api_version] = kinds
            return self._served[api_version]

    async def _fetch(self, api_version: str) -> dict[str, ApiResource]:
        if (reply := await self._document(api_version)) is None:
            return {}
        with self._as_served():
            entries = _entries(reply.body)
            names = {entry["name"] for entry in entries}
            return {
                entry["kind"]: ApiResource(
                    api_version=api_version,
                    kind=entry["kind"],
                    plural=entry["name"],
                    is_namespaced=bool(entry.get("namespaced")),
                    verbs=frozenset(entry.get("verbs") or ()),
                    singular=str(entry.get("singularName") or ""),
                    short_names=_short_names(entry),
                    keeps_status=f"{entry['name']}/status" in names,
                )
                for entry in entries
                if "/" not in entry["name"]  # a subresource
            }

    async def _document(self, api_version: str) -> Reply | None:
        """Returns the document of a version, None where the server does not have it.

        Raises `RuntimeFailure` where one that is answered with 404 is one that the server says it has, and goes on to:
        it tells of a definition some moments before it serves it, and after it ended to. Where it does not say, as
        behind a proxy, nobody knows either, and asking again tells no more.
        """
        lists: bool | None = None
        for pause in _BEFORE_ATTEMPTS_SECONDS:
            # who waits for a version keeps his slot: those who have the others wait for the same one
            await asyncio.sleep(pause)
            try:
                return await self._transport.call("GET", _root(api_version))
            except NotThere:
                if (lists := await self._lists(api_version)) is False:
                    return None
                if lists is None:
                    break
        said = "it says so, and answers 404" if lists else "it answers 404, and does not say what it serves"
        raise RuntimeFailure(
            f"whether it serves {api_version} is not known: {said}",
            target=self._transport.place,
            hint="a proxy or a gateway may be in between; else try again in a moment",
        )

    async def _lists(self, api_version: str) -> bool | None:
        """Whether the server says that it has a version of a group, None where it does not say."""
        if "/" not in api_version or (groups := await self._groups()) is None:
            return None
        with self._as_served():
            return api_version in _listed_versions(groups)

    async def _groups(self) -> Mapping[str, Any] | None:
        """Returns None where that is answered with 404, or with something else, as no API server does."""
        try:
            groups = (await self._transport.call("GET", "/apis")).body
        except NotThere:
            return None
        return groups if isinstance(groups, Mapping) and "groups" in groups else None

    @contextmanager
    def _as_served(self) -> Iterator[None]:
        try:
            yield
        except (KeyError, TypeError, AttributeError):
            raise self._no_api("what it says it serves is not as an API server says it") from None

    def _no_api(self, message: str) -> RuntimeFailure:
        hint = "does the address in the kubeconfig lead to an API server?"
        return RuntimeFailure(message, target=self._transport.place, hint=hint)


def _is_aggregated(document: Any) -> bool:
    return isinstance(document, Mapping) and document.get("kind") == "APIGroupDiscoveryList"


def _aggregated(document: Any) -> dict[str, dict[str, ApiResource] | None]:
    """Returns the kinds of each version, those of a group by preference; None where the server itself could not look
    lately, so that its document has to be fetched, or the failure that fetching it meets."""
    found: dict[str, dict[str, ApiResource] | None] = {}
    for group in document["items"] if _is_aggregated(document) else ():
        name = str((group.get("metadata") or {}).get("name") or "")
        for version in group.get("versions") or ():
            api_version = f"{name}/{version['version']}" if name else str(version["version"])
            is_current = version.get("freshness", "Current") == "Current"
            found[api_version] = _aggregated_kinds(api_version, version) if is_current else None
    return found


def _listed_versions(document: Any) -> Iterator[str]:
    """Yields the versions of each group in a plain list of groups, the preferred one first."""
    for group in document.get("groups") or ():
        yield str(group["preferredVersion"]["groupVersion"])
        yield from (str(each["groupVersion"]) for each in group.get("versions") or ())


def _aggregated_kinds(api_version: str, version: Mapping[str, Any]) -> dict[str, ApiResource]:
    return {
        entry["responseKind"]["kind"]: ApiResource(
            api_version=api_version,
            kind=entry["responseKind"]["kind"],
            plural=entry["resource"],
            is_namespaced=entry.get("scope") == "Namespaced",
            verbs=frozenset(entry.get("verbs") or ()),
            singular=str(entry.get("singularResource") or ""),
            short_names=_short_names(entry),
            keeps_status=any(each.get("subresource") == "status" for each in entry.get("subresources") or ()),
        )
        for entry in version.get("resources") or ()
        if entry.get("verbs")  # else only its subresources are served
    }


def _short_names(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(each) for each in entry.get("shortNames") or ())


def _entries(document: Any) -> list[Mapping[str, Any]]:
    return list(document.get("resources") or ()) if isinstance(document, Mapping) else []


def _root(api_version: str) -> str:
    return path_of("apis", *api_version.split("/")) if "/" in api_version else path_of("api", api_version)
