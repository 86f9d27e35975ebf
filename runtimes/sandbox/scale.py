"""The scale subresource: a small view of an object's replicas, wherever the kind keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcl.records import replace
from runtimes.sandbox import apply, writing
from runtimes.sandbox.apply import scale as scale_owners
from runtimes.sandbox.errors import ApiError, bad_request, conflict, invalid, not_found, unreadable_scale
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.schema.registry import KindSchema, Registry
from runtimes.sandbox.selectors import written as selector_text
from runtimes.sandbox.state import State, version_of
from runtimes.sandbox.store import Object, copied
from runtimes.sandbox.versions import read_as
from runtimes.sandbox.writing import Call, PatchType, Written


def _kind() -> KindSchema:
    return Registry.load().kind("autoscaling", "v1", "Scale")


def replicas_path(resource: Resource) -> tuple[str, ...]:
    if not resource.is_custom:
        return ("spec", "replicas")
    return _steps(version_of(resource)["subresources"]["scale"]["specReplicasPath"])


def _steps(json_path: str) -> tuple[str, ...]:
    return tuple(step for step in json_path.split(".") if step)


def _at(obj: Object, path: Sequence[str]) -> Any:
    value: Any = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def of(resource: Resource, parent: Object) -> Object:
    """The Scale of an object."""
    metadata = parent["metadata"]
    shown = {
        key: metadata[key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in metadata
    }
    replicas = _at(parent, replicas_path(resource))
    status: Object = {"replicas": _status_replicas(resource, parent)}
    selector = _selector(resource, parent)
    if selector:
        status["selector"] = selector
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": shown, "spec": {}, "status": status}
    if replicas:
        scale["spec"] = {"replicas": replicas}
    return scale


def _status_replicas(resource: Resource, parent: Object) -> int:
    if not resource.is_custom:
        return int((parent.get("status") or {}).get("replicas") or 0)
    return int(_at(parent, _steps(version_of(resource)["subresources"]["scale"]["statusReplicasPath"])) or 0)


def _selector(resource: Resource, parent: Object) -> str:
    if resource.is_custom:
        path = version_of(resource)["subresources"]["scale"].get("labelSelectorPath")
        return str(_at(parent, _steps(path)) or "") if path else ""
    selector = parent["spec"].get("selector") or {}
    if resource.storage == ("", "replicationcontrollers"):
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    text = selector_text(selector)
    return "" if text == "<none>" else text


def get(state: State, resource: Resource, namespace: str, name: str) -> Object:
    parent = _parent(state, resource, namespace, name)
    if resource.is_custom and _at(parent, replicas_path(resource)) is None:
        path = version_of(resource)["subresources"]["scale"]["specReplicasPath"]
        text = f'the spec replicas field "{path}" does not exist'
        raise ApiError(500, "InternalError", f"Internal error occurred: {text}", {"causes": [{"message": text}]})
    return of(resource, parent)


def _parent(state: State, resource: Resource, namespace: str, name: str) -> Object:
    parent = state.store.get(resource.storage, (namespace, name))
    if parent is None:
        raise not_found(resource.group, resource.plural, name)
    return read_as(parent, resource)


def _with_owners(resource: Resource, parent: Object) -> Object:
    scale = of(resource, parent)
    entries = scale_owners.to_scale(parent["metadata"].get("managedFields"), replicas_path(resource))
    if entries:
        scale["metadata"]["managedFields"] = entries
    return scale


def update(state: State, call: Call, body: Any) -> Object:
    kind = _kind()
    obj = _read(call, kind, body)
    _same_name(call, obj)
    _same_namespace(call, obj)
    parent = _parent(state, call.resource, call.namespace, call.name)
    before = _with_owners(call.resource, parent)
    return _store(state, call, parent, _tracked(state, call, kind, before, obj))


def _read(call: Call, kind: KindSchema, body: Any) -> Object:
    try:
        return writing.read_body(call, kind, body)
    except ApiError as error:
        if not call.resource.is_custom or error.code != 400:
            raise
        raise unreadable_scale() from error


def _same_name(call: Call, obj: Object) -> None:
    name = obj["metadata"].get("name")
    if not name:
        raise bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        )
    if name != call.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")


def _same_namespace(call: Call, obj: Object) -> None:
    if obj["metadata"].get("namespace") not in (None, "", call.namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def patch(state: State, call: Call, body: Any, patch_type: PatchType, force: bool) -> Written:
    kind = _kind()
    parent = _parent(state, call.resource, call.namespace, call.name)
    before = _with_owners(call.resource, parent)
    if patch_type != "apply":
        obj = writing.patched(call, kind, before, body, patch_type)
        _same_name(call, obj)
        _same_namespace(call, obj)
        return Written(_store(state, call, parent, _tracked(state, call, kind, before, obj)))
    try:
        merged = apply.server_side_apply(kind, before, body, call.manager, force, state.now, "scale")
    except apply.ApplyConflict as error:
        raise ApiError(409, "Conflict", error.message, {"causes": error.causes}) from error
    except apply.ApplyError as error:
        raise ApiError(error.code, error.reason, error.message) from error
    merged["metadata"]["resourceVersion"] = (body.get("metadata") or {}).get("resourceVersion") or ""
    return Written(_store(state, call, parent, merged))


def _tracked(state: State, call: Call, kind: KindSchema, before: Object, obj: Object) -> Object:
    sent = copied(obj)
    entries = before["metadata"].get("managedFields")
    if entries:
        sent["metadata"]["managedFields"] = entries
    return apply.track_update(kind, before, sent, call.manager, state.now, "scale")


def _store(state: State, call: Call, parent: Object, scale: Object) -> Object:
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0 and call.resource.is_custom:
        where = "." + ".".join(replicas_path(call.resource))
        text = f"Invalid value: {replicas}: should be a non-negative integer"
        cause = {"reason": "FieldValueInvalid", "message": text, "field": where}
        raise invalid(call.resource.group, call.resource.kind, call.name, [cause])
    if replicas < 0:
        cause = {
            "reason": "FieldValueInvalid",
            "message": f"Invalid value: {replicas}: must be greater than or equal to 0",
            "field": "spec.replicas",
        }
        raise invalid("autoscaling", "Scale", call.name, [cause])
    changed: Object = copied(parent)
    path = replicas_path(call.resource)
    holder = changed
    for step in path[:-1]:
        holder = holder.setdefault(step, {})
    holder[path[-1]] = replicas
    uid, held = scale["metadata"].get("uid"), parent["metadata"]["uid"]
    if uid and uid != held:
        held_as = {"replicationcontrollers": "controllers"}.get(call.resource.plural, call.resource.plural)
        key = f"/registry/{held_as}/{call.namespace}/{call.name}"
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {held}"
        text = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
        raise conflict(call.resource.group, call.resource.plural, call.name, text)
    changed["metadata"]["resourceVersion"] = scale["metadata"].get("resourceVersion") or ""
    entries = scale_owners.to_parent(
        parent["metadata"].get("managedFields"),
        scale["metadata"].get("managedFields"),
        call.resource.api_version,
        path,
    )
    if entries:
        changed["metadata"]["managedFields"] = entries
    else:
        changed["metadata"].pop("managedFields", None)
    call = replace(call, subresource="scale")
    live = state.store.get(call.resource.storage, (call.namespace, call.name))
    assert live is not None, "nothing runs between reading the parent and storing it"
    writing.check_version(call, changed, live, is_put=False)
    return of(call.resource, writing.store_change(state, call, live, changed))


__all__ = ["get", "of", "patch", "replicas_path", "update"]
