"""One cluster's HTTP handler: who asks, for what, may they; then the verbs, a stream, or a page about the server."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from email.utils import format_datetime

from aiohttp import web

from kcl.records import dataclass, field
from runtimes.sandbox import data, limits
from runtimes.sandbox.api import access, discovery, handlers, health, pods, replies, streams
from runtimes.sandbox.api.disturbances import Disturbance, Disturbances, refusal
from runtimes.sandbox.api.handlers import Request
from runtimes.sandbox.api.replies import Representation
from runtimes.sandbox.api.requests import Address, Query, address, check_timeout, segments
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.errors import ApiError, JsonObject, PlainFailure, bad_request, method_not_allowed
from runtimes.sandbox.faults import Faults
from runtimes.sandbox.resources import Resource, version_order
from runtimes.sandbox.role_rules import Attributes
from runtimes.sandbox.state import version_of
from runtimes.sandbox.users import User
from runtimes.sandbox.validate.names import path_segment

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Gateway:
    """`tokens` are bearer tokens with their users; they are never logged."""

    cluster: Cluster
    tokens: Mapping[str, User]
    faults: Faults | None = None
    disturbances: Disturbances = field(default_factory=Disturbances)
    _streams: set[asyncio.Task[object]] = field(default_factory=set)

    async def handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        response = await self._handled(incoming)
        if not response.prepared:
            response.headers["Date"] = format_datetime(self.cluster.clock.now(), usegmt=True)
        return response

    async def _handled(self, incoming: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(incoming)
        except ApiError as error:
            return replies.failure(error, format_=_accepted_format(incoming))
        except PlainFailure as failure:
            return replies.text_response(failure.code, failure.text)
        except web.HTTPRequestEntityTooLarge:
            text = f"Request entity too large: limit is {incoming.client_max_size}"
            return replies.failure(ApiError(413, "RequestEntityTooLarge", text, {}))
        except (ConnectionResetError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("%s %s failed: this is a bug in the sandbox", incoming.method, incoming.path)
            return replies.failure(
                ApiError(500, "InternalError", "Internal error occurred: this is a bug in the sandbox; see its log")
            )

    async def _answer(self, incoming: web.BaseRequest) -> web.StreamResponse:
        check_timeout(Query(incoming.rel_url.raw_query_string))
        caller = access.authenticate(incoming.headers.get("Authorization", ""), self.tokens)
        names = ("Impersonate-User", "Impersonate-Group", "Impersonate-Uid")
        headers = {name: incoming.headers.getall(name, []) for name in names}
        headers |= {
            name.title(): incoming.headers.getall(name)
            for name in incoming.headers
            if name.lower().startswith(access.EXTRA.lower())
        }
        user = access.impersonated(self.cluster, caller, headers, incoming.path_qs)
        parts = segments(incoming.rel_url.raw_path)
        if parts is None:
            self._authorize_path(user, incoming.method, incoming.path)
            if incoming.path.startswith("//"):
                return replies.plain_not_found()
            raise handlers.no_resource()
        place = address(parts) if parts else None
        if place is None or not place.plural:
            return self._page(incoming, user, parts, place)
        return await self._resource(incoming, user, place)

    # --- Pages about the server ---

    def _authorize_path(self, user: User, method: str, path: str) -> None:
        verb = {"GET": "get", "HEAD": "get", "POST": "post", "PUT": "put", "PATCH": "patch", "DELETE": "delete"}
        wanted = Attributes(verb.get(method, method.lower()), path=path)
        if not access.is_allowed(self.cluster, user, wanted):
            raise access.refusal(user, wanted)

    def _page(
        self, incoming: web.BaseRequest, user: User, parts: list[str], place: Address | None
    ) -> web.StreamResponse:
        self._authorize_path(user, incoming.method, incoming.path)
        if incoming.method != "GET" and (parts in (["version"], ["api"]) or self._is_version(place)):
            raise method_not_allowed()
        accept = incoming.headers.get("Accept", "")
        resources = self.cluster.resources
        match parts:
            case [] | ["index.html"]:
                return _json(discovery.paths(resources))
            case ["version"]:
                replies.accept_json_only(accept)
                return _json(discovery.version())
            case ["api"]:
                form = discovery.wanted_form(accept)
                body = discovery.aggregated_core() if form == discovery.AGGREGATED else discovery.core_versions()
                return replies.response(replies.Reply(200, body), form)
            case ["apis"]:
                form = discovery.wanted_form(accept)
                is_whole = form == discovery.AGGREGATED
                body = discovery.aggregated_groups(resources) if is_whole else discovery.group_list(resources)
                return replies.response(replies.Reply(200, body), form)
            case ["apis", name]:
                group = discovery.group(resources, name)
                return replies.plain_not_found() if group is None else _negotiated(group, accept)
            case ["openapi", "v2"]:
                return _openapi_v2(accept)
            case ["openapi", "v3"]:
                body = discovery.openapi_index(self.cluster)
                return replies.written(200, json.dumps(body).encode(), "text/plain; charset=utf-8")
            case ["openapi", "v3", *rest]:
                document = discovery.openapi_document(self.cluster, "/".join(rest))
                return web.Response(status=404) if document is None else _json(document)
            case [page, *check] if page in health.PAGES and not incoming.path.endswith("/"):
                text = health.text(page, check, Query(incoming.rel_url.raw_query_string))
                return replies.plain_not_found() if text is None else replies.text_response(200, text)
        if place is not None:
            return self._version_page(place, accept)
        return replies.plain_not_found()

    def _is_version(self, place: Address | None) -> bool:
        if place is None:
            return False
        return discovery.resource_list(self.cluster.resources, place.group, place.version) is not None

    def _version_page(self, place: Address, accept: str) -> web.StreamResponse:
        body = discovery.resource_list(self.cluster.resources, place.group, place.version)
        return self._missing_version(place) if body is None else _negotiated(body, accept)

    def _missing_version(self, place: Address) -> web.StreamResponse:
        """An unknown group, or version of a custom one, is unknown to the router; others to the API."""
        found = list(self.cluster.resources.of_group(place.group))
        if not found or found[0].is_custom:
            return replies.plain_not_found()
        raise handlers.no_resource()

    # --- Resources ---

    async def _resource(self, incoming: web.BaseRequest, user: User, place: Address) -> web.StreamResponse:
        resource = self.cluster.resources.find(place.group, place.version, place.plural)
        query = Query(incoming.rel_url.raw_query_string)
        lists = not place.name and incoming.method == "GET"
        watches = incoming.method == "GET" and (place.is_legacy_watch or (not place.name and query.flag("watch")))
        self._authorize(user, incoming.method, place, watches)
        if resource is None:
            known = list(self.cluster.resources.of_group(place.group, place.version))
            if not known or known[0].is_custom:
                return self._missing_version(place) if not known else replies.plain_not_found()
            raise handlers.no_resource()
        if incoming.method == "HEAD":
            raise method_not_allowed()
        problems = path_segment(place.name)
        if problems:
            raise bad_request(f"Name parameter invalid: {json.dumps(place.name)}: {';'.join(problems)}")
        wanted = self._wanted(incoming, place, lists, watches)
        request = Request(
            self.cluster,
            user,
            incoming.method,
            place,
            resource,
            query,
            incoming.headers,
            await _content(incoming),
            wanted,
        )
        verb = handlers.verb_of(request)
        disturbance = self.disturbances.meet(verb, resource.text)
        await self._disturb(incoming, disturbance, verb)
        _warn_deprecated(request)
        try:
            if verb == "watch":
                handlers.check_verb(resource, place, verb)
                return await self._stream(streams.watch(incoming, request, disturbance))
            if resource.storage == ("", "pods") and place.subresource == "log":
                handlers.check_verb(resource, place, verb)
                return await self._stream(self._log(incoming, request))
            reply = handlers.answer(request, verb)
            reply.body = replies.in_version(reply.body, wanted.version)
        except ApiError as error:
            return replies.failure(error, request.warnings, _error_format(wanted))
        is_status = incoming.method == "DELETE" and reply.body.get("kind") == "Status"
        response = replies.response(reply, _error_format(wanted) if is_status else wanted.format)
        return await self._mar(incoming, response, disturbance)

    def _wanted(self, incoming: web.BaseRequest, place: Address, lists: bool, watches: bool) -> Representation:
        accept = incoming.headers.get("Accept", "")
        if place.subresource == "log":
            return Representation()
        return replies.negotiate(accept, lists, watches)

    def _authorize(self, user: User, method: str, place: Address, watches: bool) -> None:
        if watches:
            verb = "watch"
        else:
            verbs = {"POST": "create", "PUT": "update", "PATCH": "patch"}
            read = "get" if place.name else "list"
            gone = "delete" if place.name else "deletecollection"
            verb = verbs.get(method) or {"GET": read, "HEAD": read, "DELETE": gone}.get(method, method.lower())
        name = f"{place.plural}/{place.subresource}" if place.subresource else place.plural
        namespace = place.namespace or (place.name if (place.group, place.plural) == ("", "namespaces") else "")
        wanted = Attributes(verb, place.group, name, namespace or "", place.name)
        if not access.is_allowed(self.cluster, user, wanted):
            raise access.refusal(user, wanted)

    async def _disturb(self, incoming: web.BaseRequest, disturbance: Disturbance | None, verb: str) -> None:
        if disturbance is None:
            return
        error = refusal(disturbance)
        if error is not None:
            raise error
        if disturbance.effect == "delay":
            await asyncio.sleep(disturbance.seconds)
        elif disturbance.effect == "drop" and verb != "watch":
            if incoming.transport is not None:
                incoming.transport.abort()
            raise ConnectionResetError("dropped: a fault was requested")

    async def _mar(
        self, incoming: web.BaseRequest, response: web.StreamResponse, disturbance: Disturbance | None
    ) -> web.StreamResponse:
        """What was asked for is done; its answer is spoilt."""
        if disturbance is None or disturbance.effect not in ("cut", "truncate"):
            return response
        assert isinstance(response, web.Response) and isinstance(response.body, bytes)
        half = response.body[: len(response.body) // 2]
        if disturbance.effect == "truncate":
            return web.Response(status=response.status, headers=response.headers, body=half)
        begun = web.StreamResponse(status=response.status, headers=response.headers)
        begun.content_length = len(response.body)
        await begun.prepare(incoming)
        await begun.write(half)
        if incoming.transport is not None:
            incoming.transport.abort()
        raise ConnectionResetError("cut: a fault was requested")

    async def _stream(self, work: streams.Work) -> web.StreamResponse:
        """Run a stream so that `close` can end it."""
        task = asyncio.current_task()
        assert task is not None
        if len(self._streams) >= limits.MOST_STREAMS:
            work.close()
            raise limits.too_many_streams()
        self._streams.add(task)
        try:
            return await work
        finally:
            self._streams.discard(task)

    async def _log(self, incoming: web.BaseRequest, request: Request) -> web.StreamResponse:
        pod, container = pods.log_container(self.cluster, request.namespace, request.address.name, request.query)
        return await streams.log(incoming, request, pod, container, self.faults)

    def close(self) -> None:
        """End all streams."""
        for task in list(self._streams):
            task.cancel()


async def _content(incoming: web.BaseRequest) -> bytes:
    if not incoming.can_read_body:
        return b""
    try:
        async with asyncio.timeout(limits.BODY_SECONDS):
            return await incoming.read()
    except TimeoutError:
        raise limits.timed_out() from None


def _negotiated(body: JsonObject, accept: str) -> web.Response:
    return replies.response(replies.Reply(200, body), replies.negotiate(accept).format)


def _json(body: object, form: str = replies.JSON) -> web.Response:
    return replies.written(200, replies.encoded(body) + b"\n", form)


def _accepted_format(incoming: web.BaseRequest) -> str:
    """For what fails before it is known what is asked for."""
    try:
        return _error_format(replies.negotiate(incoming.headers.get("Accept", "")))
    except ApiError:
        return replies.JSON


def _error_format(wanted: Representation) -> str:
    return wanted.format


def _openapi_v2(accept: str) -> web.StreamResponse:
    if accept and not any(word in accept for word in ("application/json", "*/*", "application/*")):
        return web.Response(status=406)
    return replies.written(200, data.read_bytes("swagger"), replies.JSON)


def _warn_deprecated(request: Request) -> None:
    resource, subresource = request.resource, request.address.subresource
    text = deprecation(resource)
    if text and (not subresource or subresource in resource.subresources):
        request.warnings.append(text)


def deprecation(resource: Resource) -> str:
    """What a client is told that uses an old version; "" for others."""
    if resource.is_custom:
        version = version_of(resource)
        if not version.get("deprecated"):
            return ""
        own = version.get("deprecationWarning")
        if own:
            return str(own)
        assert resource.definition is not None
        newer = _newer_version(resource)
        better = f"; use {resource.group}/{newer} {resource.kind}" if newer else ""
        return f"{resource.api_version} {resource.kind} is deprecated{better}"
    return _DEPRECATED.get((resource.group, resource.version, resource.plural), "")


_DEPRECATED = {
    ("", "v1", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    ("", "v1", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


def _newer_version(resource: Resource) -> str | None:
    assert resource.definition is not None
    good = [
        each["name"]
        for each in resource.definition["spec"]["versions"]
        if each.get("served") and not each.get("deprecated")
    ]
    best: str | None = min(good, key=version_order, default=None)
    if best is None or version_order(best) > version_order(resource.version):
        return None
    return best
