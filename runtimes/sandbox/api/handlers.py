"""The verbs over HTTP: from an address and options to the cluster's verbs, and back to a reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from kcl.records import dataclass, field
from runtimes.sandbox import deletion, listing
from runtimes.sandbox.api import pods, reviews, tables
from runtimes.sandbox.api.replies import Reply, Representation, partial_metadata
from runtimes.sandbox.api.requests import (
    PATCH_TYPES,
    Address,
    Query,
    delete_options,
    media_type,
    read_applied,
    read_object,
    unsupported_body,
    write_options,
)
from runtimes.sandbox.cluster import Cluster
from runtimes.sandbox.decode import DecodeError, parse_json
from runtimes.sandbox.errors import (
    ApiError,
    JsonObject,
    PlainFailure,
    bad_request,
    invalid,
    method_not_allowed,
    not_found,
    unreadable_scale,
)
from runtimes.sandbox.listing import Page, Selection
from runtimes.sandbox.policies import policy
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.selectors import parse_fields, parse_labels
from runtimes.sandbox.store import Object
from runtimes.sandbox.users import User
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.validate.core import namespace_finalizers
from runtimes.sandbox.writing import Call, FieldValidation, PatchType


@dataclass(slots=True)
class Request:
    """One request after reading: the cluster it is for, who sends it, what it addresses."""

    cluster: Cluster
    user: User
    method: str
    address: Address
    resource: Resource
    query: Query
    headers: Mapping[str, str]
    content: bytes
    wanted: Representation
    warnings: list[str] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        return self.address.namespace or ""

    @property
    def kind(self) -> str:
        return self.resource.kind

    def body(self, kind: str | None = None) -> Any:
        needs_kind = kind is None and self.resource.is_custom
        return read_object(self.content, self.headers.get("Content-Type", ""), kind or self.kind, needs_kind)


def verb_of(request: Request) -> str:
    """The verb in the sense of access rules: get, list, watch, create, update, patch, delete, deletecollection."""
    match request.method:
        case "GET" | "HEAD":
            if request.address.is_legacy_watch or (not request.address.name and request.query.flag("watch")):
                return "watch"
            return "get" if request.address.name else "list"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "PATCH":
            return "patch"
        case "DELETE":
            return "delete" if request.address.name else "deletecollection"
        case _:
            return request.method.lower()


def answer(request: Request, verb: str) -> Reply:
    """All but watches and streams. Raises ApiError."""
    _check_verb(request, verb)
    special = _special(request)
    if special is not None:
        return special(request)
    match verb:
        case "get":
            return _get(request)
        case "list":
            return _list(request)
        case "create":
            return _create(request)
        case "update":
            return _update(request)
        case "patch":
            return _patch(request)
        case "delete":
            return _delete(request)
        case "deletecollection":
            return _delete_collection(request)
        case _:
            raise method_not_allowed()


def check_verb(resource: Resource, address: Address, verb: str) -> None:
    """Raises 404 for a subresource that is not there, 405 for a verb that a path does not take."""
    if address.rest and address.subresource != "proxy":  # which goes on with a path of somebody else's
        raise no_resource()
    if address.subresource:
        sub = resource.subresources.get(address.subresource)
        if sub is None and not (resource.plural == "namespaces" and address.subresource == "finalize"):
            raise not_found(resource.group, resource.plural, address.name) if resource.is_custom else no_resource()
        if sub is not None and verb not in sub.verbs:
            raise _not_supported(resource, verb) if resource.is_custom else method_not_allowed()
        return
    if address.namespace is None and resource.namespaced:
        if address.name:
            raise no_resource()
        if verb not in ("list", "watch"):
            raise method_not_allowed()
    if address.namespace is not None and not resource.namespaced:
        raise PlainFailure(404, "404 page not found\n") if resource.is_custom else no_resource()
    if address.name and not {"get", "update", "patch", "delete"} & set(resource.verbs):
        raise no_resource()  # questions have no name
    if verb not in resource.verbs or (verb == "create" and address.name):
        raise method_not_allowed()
    if verb in ("update", "patch", "delete") and not address.name:
        raise method_not_allowed()


def _not_supported(resource: Resource, verb: str) -> ApiError:
    """Of a custom resource, which is served by a server of its own."""
    kind = f"{resource.plural}.{resource.group}"
    details = {"group": resource.group, "kind": resource.plural}
    return ApiError(405, "MethodNotAllowed", f'{verb} is not supported on resources of kind "{kind}"', details)


def _check_verb(request: Request, verb: str) -> None:
    check_verb(request.resource, request.address, verb)


def no_resource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def _special(request: Request) -> Callable[[Request], Reply] | None:
    """Handlers of what is not an object in the store."""
    resource, subresource = request.resource, request.address.subresource
    if subresource == "scale":
        return _scale
    if resource.storage == ("", "namespaces") and subresource == "finalize":
        return _finalize
    if subresource == "proxy" and resource.group == "" and resource.plural in pods.PROXIED:
        return lambda r: pods.proxy(r.cluster, r, resource.plural)
    if subresource in pods.SUBRESOURCES and resource.storage == ("", "pods"):
        return lambda r: pods.answer(r.cluster, r, subresource)
    if resource.storage == ("", "bindings"):
        return lambda r: pods.answer(r.cluster, r, "bindings")
    if resource.storage == ("", "componentstatuses"):
        return _component_statuses
    if resource.storage == ("", "serviceaccounts") and subresource == "token":
        return reviews.request_token
    return reviews.HANDLERS.get((resource.group, resource.plural))


# --- Reading ---


def _get(request: Request) -> Reply:
    version = request.query.text("resourceVersion")
    if version:
        try:
            asked = listing.parse_version(version)
        except ValueError as error:
            raise ApiError(500, "", str(error)) from error
        if asked > request.cluster.revision:
            raise listing.too_large(asked, request.cluster.revision, request.resource)
    obj = request.cluster.get(request.resource, request.namespace, request.address.name)
    return Reply(200, shown(request, obj), request.warnings)


def _internal_kind(resource: Resource, is_list: bool = False) -> str:
    package = resource.group.split(".")[0] or "core"
    if resource.kind == "Event":  # both groups have one inner kind
        package = "core"
    return f"{package}.{resource.list_kind if is_list else resource.kind}"


def shown(request: Request, obj: Object) -> JsonObject:
    """One object in the shape asked for."""
    match request.wanted.shape:
        case "Table":
            return tables.of_one(
                request.resource, obj, request.query.text("includeObject"), request.cluster.clock.now()
            )
        case "PartialObjectMetadata":
            return partial_metadata(obj)
        case "PartialObjectMetadataList":
            what = f"*{_internal_kind(request.resource)}"
            text = f"you requested PartialObjectMetadataList, but the requested object is not a list ({what})"
            raise ApiError(406, "NotAcceptable", text)
        case _:
            return obj


def selection_of(request: Request) -> Selection:
    labels = parse_labels(request.query.text("labelSelector"))
    fields = request.query.text("fieldSelector")
    if request.address.name and request.address.is_legacy_watch:
        fields = f"metadata.name={request.address.name}"
    return Selection(labels, parse_fields(fields, request.resource))


def _list(request: Request) -> Reply:
    selection, page = _what_to_list(request)
    found = request.cluster.page(request.resource, request.address.namespace, selection, page)
    return Reply(200, listed(request, found), request.warnings)


def _what_to_list(request: Request) -> tuple[Selection, Page]:
    query = request.query
    limit = query.number("limit") or 0
    query.number("timeoutSeconds")
    version, match = query.text("resourceVersion"), query.text("resourceVersionMatch")
    initial = query.flag("sendInitialEvents") if "sendInitialEvents" in query.values else None
    selection = selection_of(request)
    listing.check_options(version, match, initial, False, query.text("continue"))
    # What any version will do for comes out of a cache, which does not count.
    counted = 0 if version == "0" and not match and not query.text("continue") else max(limit, 0)
    return selection, Page(counted, query.text("continue"), version, match)


def listed(request: Request, found: listing.ListResult) -> JsonObject:
    resource = request.resource
    metadata: JsonObject = {"resourceVersion": found.version}
    if found.continue_token:
        metadata["continue"] = found.continue_token
    if found.remaining is not None and found.remaining > 0:
        metadata["remainingItemCount"] = found.remaining
    match request.wanted.shape:
        case "Table":
            include = request.query.text("includeObject")
            return tables.of_list(resource, found.items, metadata, include, request.cluster.clock.now())
        case "PartialObjectMetadataList":
            items = [partial_metadata(obj) for obj in found.items] or None
            head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
            return {**head, "metadata": metadata, "items": items}
        case "PartialObjectMetadata":
            what = f"*{_internal_kind(resource, True)}"
            text = f"you requested PartialObjectMetadata, but the requested object is a list ({what})"
            raise ApiError(406, "NotAcceptable", text)
    if resource.is_custom:
        metadata.setdefault("continue", "")
        items = found.items
    else:
        items = [{k: v for k, v in obj.items() if k not in ("kind", "apiVersion")} for obj in found.items]
    return {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": metadata, "items": items}


def _component_statuses(request: Request) -> Reply:
    if request.address.name:
        name = request.address.name
        details = {"name": name, "kind": "componentstatus"}
        raise ApiError(404, "NotFound", f'componentstatus "{name}" not found', details)
    return Reply(200, {"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": []})


# --- Writing ---


def _call(request: Request, kind: str, patch_type: str | None = None) -> tuple[Call, bool]:
    """The call and whether it is forced."""
    options = write_options(request.query, kind, request.headers.get("User-Agent", ""), patch_type)
    call = Call(
        request.resource,
        request.namespace,
        request.address.name,
        request.address.subresource or None,
        request.user,
        options.manager,
        options.dry_run,
        cast(FieldValidation, options.field_validation),
        request.warnings,
    )
    return call, options.force


def _create(request: Request) -> Reply:
    call, _ = _call(request, "CreateOptions")
    return Reply(201, shown(request, request.cluster.create_as(call, request.body())), request.warnings)


def _update(request: Request) -> Reply:
    call, _ = _call(request, "UpdateOptions")
    done = request.cluster.update_as(call, request.body())
    return Reply(201 if done.is_new else 200, shown(request, done.object), request.warnings)


def _patch_body(request: Request, patch_type: str, validation: str) -> Any:
    try:
        if patch_type == "apply":
            return read_applied(request.content, validation, request.warnings)
        return parse_json(request.content)
    except DecodeError as error:
        request.cluster.get(request.resource, request.namespace, request.address.name)  # what is not there comes first
        prefix = "" if patch_type == "strategic" else "error decoding patch: "
        raise bad_request(f"{prefix}{error}") from error


def _patch_type(request: Request) -> str:
    patch_type = PATCH_TYPES.get(media_type(request.headers.get("Content-Type", "")))
    if request.resource.is_custom and (patch_type is None or patch_type == "strategic"):
        raise unsupported_body(", ".join(each for each, name in PATCH_TYPES.items() if name != "strategic"))
    if patch_type is None:
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    return patch_type


def _patch(request: Request) -> Reply:
    patch_type = _patch_type(request)
    call, force = _call(request, "PatchOptions", patch_type)
    body = _patch_body(request, patch_type, call.field_validation)
    done = request.cluster.patch_as(call, body, cast(PatchType, patch_type), force)
    return Reply(201 if done.is_new else 200, shown(request, done.object), request.warnings)


def _scale_body(request: Request) -> Any:
    """Where a custom resource is scaled, the server has no words for a body that cannot be read."""
    try:
        return request.body("Scale")
    except ApiError as error:
        if not request.resource.is_custom or error.code != 400:
            raise
        raise unreadable_scale() from error


def _scale(request: Request) -> Reply:
    cluster, name = request.cluster, request.address.name
    match request.method:
        case "GET":
            found = cluster.scale(request.resource, request.namespace, name)
            if request.wanted.shape == "Table":
                found = tables.of_scale(found, request.query.text("includeObject"), cluster.clock.now())
            elif request.wanted.shape == "PartialObjectMetadata":
                found = partial_metadata(found)
            return Reply(200, found)
        case "PUT":
            call, _ = _call(request, "UpdateOptions")
            return Reply(200, cluster.update_as(call, _scale_body(request)).object, request.warnings)
        case _:
            patch_type = _patch_type(request)
            call, force = _call(request, "PatchOptions", patch_type)
            body = _patch_body(request, patch_type, call.field_validation)
            done = cluster.patch_as(call, body, cast(PatchType, patch_type), force)
            return Reply(200, done.object, request.warnings)


def _finalize(request: Request) -> Reply:
    body = request.body()
    finalizers = list((body.get("spec") or {}).get("finalizers") or ())
    causes = Causes()
    namespace_finalizers(causes, finalizers, is_numbered=True)
    if causes:
        raise invalid("", "Namespace", request.address.name, list(causes))
    return Reply(200, request.cluster.finalize_namespace(request.address.name, finalizers))


# --- Deleting ---


def _options(request: Request) -> deletion.Options:
    try:
        body = request.body("DeleteOptions") if request.content.strip() else None
    except ApiError as error:
        unread = re.fullmatch(r".*(couldn't get version/kind; json parse error: .*?)( \(.*\))?", error.message, re.S)
        raise ApiError(500, "", unread[1]) if unread else error from None
    read = delete_options(request.query, body)
    propagation = cast("deletion.Propagation | None", read.propagation)
    return deletion.Options(
        read.uid,
        read.resource_version,
        read.grace_seconds,
        propagation,
        read.dry_run,
        request.user.info(),
        request.warnings,
    )


def _delete(request: Request) -> Reply:
    options = _options(request)
    warning = deletion.default_warning(request.resource, options)
    if warning:
        request.warnings.append(warning)
    deleted = request.cluster.delete_as(request.resource, request.namespace, request.address.name, options)
    if deleted.gone and not policy(request.resource).returns_deleted:
        return Reply(200, _deleted(request.resource, deleted.object), request.warnings)
    return Reply(200, shown(request, deleted.object), request.warnings)


def _deleted(resource: Resource, obj: Object) -> JsonObject:
    details = {
        "name": obj["metadata"]["name"],
        "group": resource.group,
        "kind": resource.plural,
        "uid": obj["metadata"]["uid"],
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }


def _delete_collection(request: Request) -> Reply:
    selection, page = _what_to_list(request)
    options = _options(request)
    found = request.cluster.page(request.resource, request.address.namespace, selection, page)
    warning = deletion.default_warning(request.resource, options)
    if warning:
        request.warnings.append(warning)
    for obj in found.items:
        metadata = obj["metadata"]
        try:
            request.cluster.delete_as(request.resource, metadata.get("namespace", ""), metadata["name"], options)
        except ApiError as error:
            if error.code != 404:
                raise
    return Reply(200, listed(request, found), request.warnings)
