"""The verbs of the Kubernetes API that the runtime uses, over dict bodies."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from kcl.records import dataclass, field
from runtimes.base import (
    ClusterIdentity,
    Forbidden,
    KubernetesId,
    NotThere,
    Rejected,
    RuntimeFailure,
    TooMany,
    Unreachable,
)
from runtimes.base.documents import load_json
from runtimes.kubernetes.anothers import may_be_anothers, of_another
from runtimes.kubernetes.apply_body import CONTENT_TYPE, apply_body
from runtimes.kubernetes.discovery import ApiResource, Discovery
from runtimes.kubernetes.failures import Expired, Unserved
from runtimes.kubernetes.transport import JSON, Limits, Query, Reply, Socket, TooLarge, Transport

FIELD_MANAGER = "workbench"
PAGE_SIZE = 500
_SMALLER = 8
_LIST_OF_METADATA = "PartialObjectMetadataList"
_METADATA = f"application/json;as={_LIST_OF_METADATA};g=meta.k8s.io;v=v1,{JSON}"
"""Who has no such form sends all of it.

https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
"""
_LOG_LIMIT_BYTES = 1024 * 1024
_LOG_LEEWAY_BYTES = 4096
"""It may be slightly less: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log"""
_MOST_LOG_LINE = 16 * 1024

Object = dict[str, Any]
Thin = Callable[[list[Object]], list[Object]]


def whole(live: Object) -> Object:
    return live


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a collection, and the version of the collection from which a watch goes on."""

    version: str
    items: tuple[Object, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Object = field(repr=False)


MOST_EMPTY_PAGES = 100
"""A server may leave out of a page all that a selector does not fit, but not for ever."""
_EVENTS = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})
_SYSTEM_NAMESPACE = "/api/v1/namespaces/kube-system"
_ANY = (("resourceVersion", "0"),)
_LONGEST_UID = 128
_AUTHORIZATION = "authorization.k8s.io/v1"


class Client:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.discovery = Discovery(transport)
        self.uid = ""
        """That of the cluster, as far as it was told yet; see `system_namespace`."""
        self._has_told_uid, self._tells_uid = False, True

    @property
    def place(self) -> str:
        return self._transport.place

    @property
    def default_namespace(self) -> str:
        return self._transport.connection.namespace

    @property
    def identity(self) -> ClusterIdentity:
        """Which cluster it is as far as its kubeconfig tells."""
        return self._transport.connection.identity

    @property
    def transport(self) -> Transport:
        return self._transport

    @property
    def limits(self) -> Limits:
        return self._transport.limits

    async def close(self) -> None:
        await self.discovery.close()
        await self._transport.close()

    async def resource(self, api_version: str, kind: str) -> ApiResource:
        """Raises `NotThere` if the cluster does not serve the kind."""
        return await self.discovery.resource(api_version, kind)

    async def get(self, id_: KubernetesId) -> Object | None:
        """Returns None if nothing is there, which includes a namespace or kind that does not exist."""
        try:
            reply = await self._read(id_.api_version, await self._path(id_), (), str(id_))
        except NotThere as error:
            await self._refuse_elses(id_, error)
            return None
        return await self._that(id_, reply)

    async def _read(self, api_version: str, path: str, query: Query, subject: str, accept: str = JSON) -> Reply:
        """Raises `Unreachable` only where it is the API server that does not answer."""
        try:
            return await self._transport.call("GET", path, query=query, subject=subject, accept=accept)
        except Unreachable as error:
            if not may_be_anothers(api_version) or not await self._transport.answers_others():
                raise
            raise of_another(error) from None

    async def apply(
        self,
        id_: KubernetesId,
        body: Mapping[str, Any],
        *,
        dry_run: bool = False,
        force: bool = False,
        secrets: Sequence[str] = (),
        gives_up_after: float = math.inf,
    ) -> tuple[Object, tuple[str, ...]]:
        """Server-side apply as `workbench`, unknown fields refused. Returns the object and the server's warnings.

        `gives_up_after` is as in `Transport.call`.
        """
        query = [("fieldManager", FIELD_MANAGER), ("fieldValidation", "Strict"), ("force", str(force).lower())]
        if dry_run:
            query.append(("dryRun", "All"))
        reply = await self._transport.call(
            "PATCH",
            await self._path(id_),
            query=query,
            body=apply_body(body, target=self.place, subject=str(id_)),
            content_type=CONTENT_TYPE,
            subject=str(id_),
            secrets=secrets,
            is_bound=all((body.get("metadata") or {}).get(each) for each in ("uid", "resourceVersion")),
            gives_up_after=gives_up_after,
        )
        return await self._that(id_, reply), reply.warnings

    async def dry_replace(
        self, id_: KubernetesId, body: Mapping[str, Any], secrets: Sequence[str] = ()
    ) -> tuple[Object, tuple[str, ...]]:
        """Returns what the server would make of the whole object, which names the version it is for, and its warnings.

        Raises `Moved` where the object has another version.
        """
        query = [("fieldManager", FIELD_MANAGER), ("dryRun", "All")]
        path = await self._path(id_)
        reply = await self._transport.call("PUT", path, query=query, body=body, subject=str(id_), secrets=secrets)
        return await self._that(id_, reply), reply.warnings

    async def set_managed_fields(self, id_: KubernetesId, entries: Sequence[Any], version: str) -> Object:
        """Writes who owns the fields, and nothing else. Raises `Moved` where the object has another version."""
        # as client-go's csaupgrade does it: the version in the patch makes it one of this version alone
        patch = [
            {"op": "replace", "path": "/metadata/managedFields", "value": list(entries)},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        ]
        reply = await self._transport.call(
            "PATCH",
            await self._path(id_),
            query=[("fieldManager", FIELD_MANAGER)],
            body=patch,
            content_type="application/json-patch+json",
            subject=str(id_),
        )
        return _object(reply)

    async def delete(self, id_: KubernetesId, *, uid: str | None, version: str = "") -> None:
        """Deletes with its dependents in the background. Absent already is success.

        Another uid, or another version where one is given, raises `Moved`.
        """
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        conditions = {"uid": uid or "", "resourceVersion": version}
        if any(conditions.values()):
            options["preconditions"] = {name: value for name, value in conditions.items() if value}
        try:
            await self._transport.call("DELETE", await self._path(id_), body=options, subject=str(id_))
        except NotThere as error:
            await self._refuse_elses(id_, error)

    async def _refuse_elses(self, id_: KubernetesId, error: NotThere) -> None:
        """Raises `RuntimeFailure` where a 404 is none of an API server that serves the kind: that is no absence."""
        if isinstance(error, Unserved) and await self.discovery.still_serves(id_.api_version, id_.kind):
            raise self._not_the_servers(str(id_)) from None

    async def _refuse_served(self, resource: ApiResource) -> None:
        """Raises `RuntimeFailure` where a collection is answered with 404, and its kind is served: it is not empty."""
        if await self.discovery.still_serves(resource.api_version, resource.kind):
            raise self._not_the_servers(f"{resource.kind} list") from None

    def _not_the_servers(self, subject: str) -> RuntimeFailure:
        return RuntimeFailure(
            "the answer is 404, and not from the API server",
            target=self.place,
            subject=subject,
            hint="a proxy or a gateway may be in between",
        )

    async def _that(self, id_: KubernetesId, reply: Reply) -> Object:
        """Returns the object of a reply. Raises `RuntimeFailure` for another answer than that, such as a proxy's.

        Taken for the object, it would say that fields are gone which nobody looked at.
        """
        found = _object(reply)
        metadata = found.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        where = (metadata.get("namespace") or "", metadata.get("name"))
        is_of_version = found.get("apiVersion") == id_.api_version
        if (found.get("kind"), *where) != (id_.kind, await self.namespace_of(id_), id_.name) or not is_of_version:
            raise RuntimeFailure("the server answered with another thing", target=self.place, subject=str(id_))
        return found

    async def list(
        self,
        resource: ApiResource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        trim: Callable[[Object], Object] = whole,
        thin: Thin | None = None,
        metadata_only: bool = False,
        most: int | None = None,
    ) -> Listing:
        """Returns the whole collection, fetched in pages. `namespace` "" spans all namespaces.

        `trim` leaves out of each object what its reader has no use for, page by page: only one page is there in full.
        `thin` says after each page which of all objects so far are kept; it gets none where the list begins (again).
        `metadata_only` has the server send no more of each object than that. Raises `TooMany` as soon as the server
        says that there are more than `most`, and `NotThere` where the kind is not served any more.
        """
        accept = _METADATA if metadata_only else JSON
        for _ in range(3):
            try:
                return await self._pages(resource, namespace, labels, fields, trim, thin, accept=accept, most=most)
            except Expired:
                continue  # it took longer than the server remembers: from the start
            except NotThere:
                await self._refuse_served(resource)
                raise
        return await self._pages(resource, namespace, labels, fields, trim, thin, page_size=0, accept=accept, most=most)

    async def _pages(
        self,
        resource: ApiResource,
        namespace: str,
        labels: str,
        fields: str,
        trim: Callable[[Object], Object],
        thin: Thin | None = None,
        page_size: int = PAGE_SIZE,
        accept: str = JSON,
        most: int | None = None,
    ) -> Listing:
        items: list[Object] = [] if thin is None else thin([])
        named: set[tuple[str, str]] = set()
        after, empty = "", 0
        while True:
            query = [("limit", str(page_size))] if page_size else []
            query += [("labelSelector", labels)] if labels else []
            query += [("fieldSelector", fields)] if fields else []
            query += [("continue", after)] if after else []
            try:
                path, subject = resource.path(namespace), f"{resource.kind} list"
                reply = await self._read(resource.api_version, path, query, subject, accept)
            except TooLarge:
                if page_size == 1:
                    raise
                page_size = max(1, (page_size or PAGE_SIZE) // _SMALLER)  # of large objects, fewer at a time
                continue
            page = _object(reply)
            found = self._items(page, resource, namespace, named, accept)
            empty = 0 if found else empty + 1
            for item in found:
                # elements of a list leave out what the list says for all
                items.append(trim({"apiVersion": resource.api_version, "kind": resource.kind, **item}))
            items = items if thin is None else thin(items)
            metadata = page.get("metadata") or {}
            if most is not None and len(named) + _remaining(metadata) > most:
                raise TooMany(f"there are more than {most}", target=self.place, subject=f"{resource.kind} list")
            before, after = after, metadata.get("continue") or ""
            if after and (after == before or empty == MOST_EMPTY_PAGES):
                raise RuntimeFailure("a list goes on for ever", target=self.place, subject=f"{resource.kind} list")
            if not after:
                if left := _remaining(metadata):
                    raise self._not_the_list(resource, f"the list ends, and {left} are left out of it")
                return Listing(str(metadata.get("resourceVersion") or ""), tuple(items))

    async def newest_version(self, resource: ApiResource, namespace: str = "") -> str:
        """Returns the version that a list would have now, for the price of one object; "" where none is given."""
        reply = await self._read(
            resource.api_version, resource.path(namespace), [("limit", "1")], f"{resource.kind} list", _METADATA
        )
        return str((_object(reply).get("metadata") or {}).get("resourceVersion") or "")

    def _items(
        self, page: Object, resource: ApiResource, namespace: str, named: set[tuple[str, str]], accept: str
    ) -> Sequence[Object]:
        """Returns what a page holds, and adds it to what is `named` so far.

        Raises `RuntimeFailure` for one that is none of this list: what it leaves out would count as gone.
        """
        items: Any = page.get("items", "")
        items = [] if items is None else items  # as Go writes an empty one; without the name it is no list
        if not isinstance(items, list) or not all(
            isinstance(each, dict) and isinstance(each.get("metadata"), dict) for each in items
        ):
            raise RuntimeFailure(
                "the server answered something that is no list", target=self.place, subject=f"{resource.kind} list"
            )
        if namespace and any(each["metadata"].get("namespace") != namespace for each in items):
            said = f"the server answered with objects that are not in namespace {namespace}"
            raise RuntimeFailure(said, target=self.place, subject=f"{resource.kind} list")
        version, kind = resource.api_version, resource.kind
        # a definition may name the kind of its lists; groups of the server's own have no dot
        kind_of_list = "" if "." in version else f"{kind}List"
        if accept == _METADATA and page.get("kind") == _LIST_OF_METADATA:
            version, kind, kind_of_list = "meta.k8s.io/v1", "PartialObjectMetadata", _LIST_OF_METADATA
        if not _is_of(page, version, kind_of_list) or not all(_is_of(each, version, kind) for each in items):
            raise self._not_the_list(resource, "the server answered with a list of something else")
        for each in items:
            where = (str(each["metadata"].get("namespace") or ""), str(each["metadata"].get("name") or ""))
            if where in named:
                raise self._not_the_list(resource, f"the list names {'/'.join(filter(None, where))} twice")
            named.add(where)
        return tuple(items)

    def _not_the_list(self, resource: ApiResource, said: str) -> RuntimeFailure:
        hint = "a proxy or a gateway may be in between"
        return RuntimeFailure(said, target=self.place, subject=f"{resource.kind} list", hint=hint)

    @asynccontextmanager
    async def watch(
        self, resource: ApiResource, namespace: str, version: str, *, seconds: int, fields: str = "", accept: str = JSON
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Opens a watch from a version on, which the server ends after `seconds`. `accept` is the form of its objects.

        Raises `Expired` when the version is too old, at the start or on the way, and `NotThere` where the kind is not
        served any more.
        """
        query = [
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
            ("timeoutSeconds", str(seconds)),
        ]
        query += [("fieldSelector", fields)] if fields else []
        try:
            async with self._transport.stream(resource.path(namespace), query, accept=accept) as lines:
                is_of = partial(_is_watched, resource, namespace) if accept == JSON else _is_any
                yield self._events(lines, is_of)
        except NotThere:
            await self._refuse_served(resource)
            raise

    async def _events(self, lines: AsyncIterator[bytes], is_of: Callable[[Object], bool]) -> AsyncIterator[WatchEvent]:
        async for line in lines:
            try:
                type_, body, code = _event(load_json(line))
            except (ValueError, KeyError, TypeError):
                raise RuntimeFailure("a watch sent something that is not an event", target=self.place) from None
            if type_ == "ERROR":
                raise self._transport.refused(code, body)
            if type_ not in _EVENTS or (type_ != "BOOKMARK" and not is_of(body)):
                said = "a watch sent an event of something else"
                hint = "a proxy or a gateway may be in between"
                raise RuntimeFailure(said, target=self.place, hint=hint)
            yield WatchEvent(type_, body)

    async def system_namespace(self) -> Object:
        """Returns the namespace kube-system; raises `Forbidden` or `NotThere`. Discovery need not be asked for it."""
        found = _object(await self._transport.call("GET", _SYSTEM_NAMESPACE))
        self.uid = self._noted(_uid(found))
        return found

    async def probe(self) -> str:
        """Asks the server something that costs it little; raises what it answers, or that it does not.

        Returns the uid of its namespace kube-system, by which a cluster is known; "" where it does not tell. Once it
        was told, it is asked for again each time, as it may be another cluster that refuses to tell.
        """
        if self._tells_uid or self._has_told_uid:
            try:
                # any version will do: that is answered from memory
                found = await self._transport.call("GET", _SYSTEM_NAMESPACE, query=_ANY, is_once=True)
                return self._noted(_uid(_object(found)))
            except (Forbidden, NotThere):
                self._tells_uid = False  # who may never know is not refused every few seconds
        await self._transport.call("GET", "/version", is_once=True, is_text=True)
        return ""

    def _noted(self, uid: str) -> str:
        self._has_told_uid = self._has_told_uid or bool(uid)
        return uid

    async def log(
        self, namespace: str, pod: str, *, container: str = "", previous: bool = False, tail_lines: int = 50
    ) -> tuple[str, ...]:
        """Returns the last lines of a container, oldest first; none while it has not started.

        A server that may give no more than so many bytes gives the first of them, which leaves out the end: then fewer
        lines are requested. Of a line that is longer than all that, its begin is returned, and that it is no more.
        """
        while True:
            text = await self._log(namespace, pod, container, previous, tail_lines)
            if len(text.encode()) < _LOG_LIMIT_BYTES - _LOG_LEEWAY_BYTES:
                return tuple(map(_short_line, text.splitlines()))
            if tail_lines == 1:
                return (_short_line(text, is_cut=True),)
            tail_lines = max(1, tail_lines // _SMALLER)

    async def _log(self, namespace: str, pod: str, container: str, previous: bool, tail_lines: int) -> str:
        resource = await self.discovery.resource("v1", "Pod")
        query = [("tailLines", str(tail_lines)), ("limitBytes", str(_LOG_LIMIT_BYTES))]
        query += [("container", container)] if container else []
        query += [("previous", "true")] if previous else []
        path = resource.path(namespace, pod, "log")
        try:
            reply = await self._transport.call("GET", path, query=query, subject=f"Pod {pod}", is_text=True)
        except Rejected as refused:
            # 400 for a container that waits to start, or that has no previous run
            if "waiting to start" in refused.message or "previous terminated container" in refused.message:
                return ""
            raise
        return str(reply.body)

    @asynccontextmanager
    async def log_stream(
        self, namespace: str, pod: str, parameters: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Opens a log as it comes; `parameters` are those of the API. Raises `Rejected` where nothing has run yet."""
        resource = await self.discovery.resource("v1", "Pod")
        path = resource.path(namespace or self.default_namespace, pod, "log")
        async with self._transport.chunks(path, tuple(parameters.items())) as chunks:
            yield chunks

    @asynccontextmanager
    async def socket(self, id_: KubernetesId, subresource: str, query: Query, protocol: str) -> AsyncIterator[Socket]:
        """Opens a websocket to a subresource."""
        resource = await self.resource(id_.api_version, id_.kind)
        async with self._transport.socket(
            resource.path(id_.namespace, id_.name, subresource), query, protocol
        ) as opened:
            yield opened

    async def namespace_of(self, id_: KubernetesId) -> str:
        """Returns the namespace the object goes to: its own, the context's, or "" for a cluster-wide kind."""
        return self.namespace_in(await self.discovery.resource(id_.api_version, id_.kind), id_)

    def namespace_in(self, resource: ApiResource, id_: KubernetesId) -> str:
        """The same of an object whose kind is known."""
        return (id_.namespace or self.default_namespace) if resource.is_namespaced else ""

    async def once(
        self,
        method: str,
        id_: KubernetesId,
        body: Mapping[str, Any],
        *,
        subresource: str = "",
        content_type: str = "application/json",
        manager: str = "",
    ) -> Object:
        """Sends one write about an object, never twice, and returns what the server answered.

        `POST` without a subresource makes the object. Raises what the answer stands for, `NotThere` included.
        """
        resource = await self.discovery.resource(id_.api_version, id_.kind)
        name = "" if method == "POST" and not subresource else id_.name
        reply = await self._transport.call(
            method,
            resource.path(id_.namespace or self.default_namespace, name, subresource),
            query=[("fieldManager", manager)] if manager else (),
            body=body,
            content_type=content_type,
            subject=str(id_),
            is_once=True,
        )
        return _object(reply)

    async def may(self, verb: str, id_: KubernetesId) -> tuple[bool, str]:
        """Asks whether our user may do this to an object, and why (not); changes nothing.

        https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
        """
        resource = await self.discovery.resource(id_.api_version, id_.kind)
        namespace = (id_.namespace or self.default_namespace) if resource.is_namespaced else ""
        attributes = {
            "verb": verb,
            "group": id_.group,
            "resource": resource.plural,
            "namespace": namespace,
            "name": id_.name,
        }
        body = {
            "apiVersion": _AUTHORIZATION,
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        path = f"/apis/{_AUTHORIZATION}/selfsubjectaccessreviews"
        status = _object(await self._transport.call("POST", path, body=body, subject=str(id_))).get("status")
        if not isinstance(status, dict) or not isinstance(status.get("allowed"), bool):
            raise RuntimeFailure("the server did not say what our user may do", target=self.place, subject=str(id_))
        return status["allowed"], str(status.get("reason") or status.get("evaluationError") or "")

    async def _path(self, id_: KubernetesId) -> str:
        resource = await self.discovery.resource(id_.api_version, id_.kind)
        return resource.path(id_.namespace or self.default_namespace, id_.name)


def _uid(live: Object) -> str:
    """Returns the uid of an object, "" for what cannot be one."""
    metadata = live.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, Mapping) else None
    return uid if isinstance(uid, str) and len(uid) <= _LONGEST_UID and uid.isprintable() else ""


def _short_line(text: str, *, is_cut: bool = False) -> str:
    """`is_cut`: there is more of it than was read."""
    if not is_cut and len(text) <= _MOST_LOG_LINE:
        return text
    size = f"more than {_LOG_LIMIT_BYTES}" if is_cut else str(len(text))
    return f"{text[:_MOST_LOG_LINE]}… (the begin of a line of {size} characters)"


def _remaining(metadata: Mapping[str, Any]) -> int:
    left = metadata.get("remainingItemCount")
    return left if isinstance(left, int) else 0


def _is_of(found: Object, api_version: str, kind: str) -> bool:
    """Whether what is found says nothing else of itself; `kind` "" is any."""
    return found.get("apiVersion", api_version) == api_version and kind in ("", found.get("kind", kind))


def _is_watched(resource: ApiResource, namespace: str, live: Object) -> bool:
    """Whether an object may be told of by a watch of this kind, in this namespace or in all of them."""
    metadata = live.get("metadata") or {}
    is_there = not namespace or not resource.is_namespaced or metadata.get("namespace") == namespace
    return is_there and bool(metadata.get("name")) and _is_of(live, resource.api_version, resource.kind)


def _is_any(_: Object) -> bool:
    return True


def _object(reply: Reply) -> Object:
    if not isinstance(reply.body, dict):
        raise RuntimeFailure("the server answered something that is not an object")
    return reply.body


def _event(content: Any) -> tuple[str, Object, int]:
    """Returns type and object of an event, and the code of an error; raises for what is none."""
    type_, body = content["type"], content["object"]
    if not isinstance(body, dict) or not isinstance(body.get("metadata", {}), dict):
        raise TypeError("its object is none")
    return str(type_), body, int(body.get("code") or 500)
