"""Creating and changing objects: read the body, fill in, review, check, record who owns what, store.

The steps and their order are those of the real server's handlers, because their order decides which refusal a request
meets first and which fields count as the writer's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from kcl.records import dataclass, field, replace
from runtimes.sandbox import (
    admission,
    admission_policies,
    apply,
    decode,
    defaults,
    definitions,
    strategies,
    validate,
    written,
)
from runtimes.sandbox import patch as patches
from runtimes.sandbox.admission import Review
from runtimes.sandbox.custom import DEFINITIONS, forbid_new_objects
from runtimes.sandbox.errors import ApiError, already_exists, bad_request, conflict, invalid, not_found
from runtimes.sandbox.policies import policy
from runtimes.sandbox.quota import charge
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.role_rules import forbid_escalation
from runtimes.sandbox.schema.registry import KindSchema, Registry
from runtimes.sandbox.state import State
from runtimes.sandbox.store import Object, copied
from runtimes.sandbox.users import SYSTEM, User
from runtimes.sandbox.validate.causes import Causes
from runtimes.sandbox.validate.events import newer_change, newer_event
from runtimes.sandbox.versions import read_as, to_storage

FieldValidation = Literal["Strict", "Warn", "Ignore"]
PatchType = Literal["json", "merge", "strategic", "apply"]

STALE = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True)
class Call:
    """One writing request. `name` "" when the body names the object; texts for the client go to `warnings`."""

    resource: Resource
    namespace: str
    name: str
    subresource: str | None = None
    user: User = SYSTEM
    manager: str = ""
    dry_run: bool = False
    field_validation: FieldValidation = "Ignore"
    warnings: list[str] = field(default_factory=list)

    @property
    def has_status(self) -> bool:
        return "status" in self.resource.subresources


@dataclass(frozen=True, slots=True)
class Written:
    """The object in the caller's version, and whether the write made it."""

    object: Object
    is_new: bool = False


# --- Creating ---


def create(state: State, call: Call, body: Any) -> Object:
    kind = state.kinds.of(call.resource)
    obj = read_body(call, kind, body)
    _place(call, obj)
    obj = apply.track_update(kind, None, obj, call.manager, state.now, has_status=call.has_status)
    return _create(state, call, kind, obj)


def _create(state: State, call: Call, kind: KindSchema, obj: Object) -> Object:
    """From an object with owners recorded: what `create`, PUT of a missing object and apply have in common."""
    resource, metadata = call.resource, obj["metadata"]
    version = metadata.get("resourceVersion") or ""
    if version.isdigit() and int(version) and not call.dry_run:  # it is the storage that refuses it
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    forbid_new_objects(resource, metadata.get("name") or "")
    stored = to_storage(obj, resource)
    name = metadata.get("name") or ""
    review = Review(resource, call.namespace, name, stored, None, state.store, state.rng, warnings=call.warnings)
    admission.mutate(review)
    forbid_escalation(state.store, call.user, call.resource, call.namespace, stored, None)
    _begin_life(state, call, stored)
    strategies.prepare_create(resource, stored, _empty_status(state, call), state.server(call.dry_run))
    if resource.storage == strategies.CERTIFICATE_REQUESTS:
        stored.setdefault("spec", {}).update(call.user.info())
    _check_new(state, call, stored)
    admission.check(replace(review, name=stored["metadata"]["name"]))
    _judge(state, replace(call, name=stored["metadata"]["name"]), stored, None)
    key = (call.namespace, stored["metadata"]["name"])
    existing = state.store.get(resource.storage, key)
    undo_charge = charge(state, call, stored, None)
    if existing is not None:
        undo_charge()
        raise _exists(resource, key[1], existing)
    stored = _through_storage(state, call, stored)
    if call.dry_run:
        return read_as(stored, resource)
    stored = state.store.put(resource.storage, key, stored)
    if strategies.is_completed_on_reading(resource, obj):
        state.store.completed_on_reading.add((resource.storage, key))
    return read_as(stored, resource)


def _judge(state: State, call: Call, obj: Object, old: Object | None) -> None:
    """Raises ApiError where a ValidatingAdmissionPolicy refuses the write."""
    attempt = admission_policies.Attempt(
        "CREATE" if old is None else "UPDATE",
        call.resource,
        call.namespace,
        call.name,
        read_as(obj, call.resource),
        None if old is None else read_as(old, call.resource),
        call.user.info(),
        call.dry_run,
        call.subresource or "",
    )
    admission_policies.judge(state.store, state.resources.of_kind, attempt, call.warnings)


def _through_storage(state: State, call: Call, obj: Object) -> Object:
    """As it comes back from storage: read again with defaults."""
    if call.resource.is_custom:
        whole: Object = written.whole_numbers(obj)
        return whole
    kind = _stored_kind(state, call)
    obj = written.stored(kind, obj)
    defaults.apply(kind, obj)
    return obj


def _exists(resource: Resource, name: str, existing: Object) -> ApiError:
    error = already_exists(resource.group, resource.plural, name)
    if existing["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error


def _begin_life(state: State, call: Call, obj: Object) -> None:
    metadata = obj["metadata"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)
    metadata["creationTimestamp"] = state.now
    metadata["uid"] = state.rng.uid()
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = state.rng.name(metadata["generateName"])


def _empty_status(state: State, call: Call) -> Object | None:
    if call.resource.is_custom:
        return None
    status: Object | None = written.empty_object(_stored_kind(state, call)).get("status")
    return status


def _check_new(state: State, call: Call, obj: Object) -> None:
    kind = _stored_kind(state, call)
    causes = validate.create(kind, obj)
    if call.resource.storage == DEFINITIONS:
        causes += definitions.create(obj)
    if call.resource.group == "events.k8s.io":
        causes += newer_event(obj)
    if causes:
        raise _invalid(call.resource, obj, causes)
    _warn(call, validate.warnings(kind, obj, None))


def _stored_kind(state: State, call: Call) -> KindSchema:
    """The schema of the stored version, which validation is about; custom ones are checked in the caller's version."""
    resource = call.resource
    if resource.is_custom:
        return state.kinds.of(resource)
    stored = state.resources.find(resource.storage[0], resource.storage_version, resource.storage[1])
    return state.kinds.of(stored or resource)


def _invalid(resource: Resource, obj: Object, causes: list[Any]) -> ApiError:
    listed = [cause if isinstance(cause, dict) else cause.as_dict() for cause in causes]
    # events are named as the core ones that they are kept as
    group = "" if resource.storage == ("", "events") else resource.group
    return invalid(group, resource.kind, obj["metadata"].get("name") or "", listed)


def _warn(call: Call, texts: list[str]) -> None:
    call.warnings.extend(text for text in texts if text not in call.warnings)


# --- Reading bodies ---


def read_body(call: Call, kind: KindSchema, body: Any) -> Object:
    """Decoded, with defaults. Raises 400 for what cannot be read; under Strict, for unknown or duplicate fields."""
    if not kind.is_custom:
        _match_kind(kind, body)
    try:
        read = decode.check(kind, body)
    except decode.DecodeError as error:
        raise bad_request(_cannot_handle(kind, str(error), body)) from error
    if kind.is_custom:
        _match_custom_kind(kind, body)
    _report_strict(call, read, lambda text: bad_request(_cannot_handle(kind, f"strict decoding error: {text}")))
    obj = read.object
    obj["kind"], obj["apiVersion"] = kind.kind, kind.api_version
    defaults.apply(kind, obj)
    obj.setdefault("metadata", {})
    return obj


def _cannot_handle(kind: KindSchema, why: str, body: Any = None) -> str:
    """A custom resource is named as it names itself, which is compared later."""
    given, version = kind.kind, kind.version
    if kind.is_custom and isinstance(body, dict):
        given, version = body.get("kind") or given, (body.get("apiVersion") or version).rpartition("/")[2]
    return f'{given} in version "{version}" cannot be handled as a {kind.kind}: {why}'


def _match_kind(kind: KindSchema, body: Any) -> None:
    """Raises 400 for the body of another kind."""
    if not isinstance(body, dict):
        return
    given, version = body.get("kind") or kind.kind, body.get("apiVersion") or kind.api_version
    if not isinstance(given, str) or not isinstance(version, str):
        return
    if given == kind.kind and version == kind.api_version:
        return
    short = version.rpartition("/")[2]
    reason = (
        f"converting ({short}.{given}) to ({kind.group.split('.')[0] or 'core'}.{kind.kind}): unknown conversion"
        if _is_known(version, given) or (given in _OF_ALL_GROUPS and version == "v1")
        else f'no kind "{given}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:110"'
    )
    raise bad_request(f'{given} in version "{short}" cannot be handled as a {kind.kind}: {reason}')


# Kinds of the server itself, which its scheme has beside those of the resources.
_OF_ALL_GROUPS = ("List", "Status", "APIGroup", "APIGroupList", "APIResourceList", "APIVersions")


def _is_known(version: str, kind: str) -> bool:
    group, _, short = version.rpartition("/")
    try:
        Registry.load().kind(group, short, kind)
    except KeyError:
        return False
    return True


def _match_custom_kind(kind: KindSchema, body: Object) -> None:
    version, given = body.get("apiVersion", kind.api_version), body.get("kind") or kind.kind
    if version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
    _say_own_kind(kind, {**body, "kind": given, "apiVersion": version})


def _say_own_kind(kind: KindSchema, obj: Object) -> None:
    """Raises 422 for a custom resource of another kind, which is a field like others; 500 where it has no version."""
    version, given = obj.get("apiVersion") or "", obj.get("kind") or ""
    if not version:
        text = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
        raise ApiError(500, "InternalError", f"Internal error occurred: {text}", {"causes": [{"message": text}]})
    causes = Causes()
    if given != kind.kind:
        causes.invalid("kind", given, f"must be {kind.kind}")
    if version != kind.api_version:
        causes.invalid("apiVersion", version, f"must be {kind.api_version}")
    if causes:
        name = (obj.get("metadata") or {}).get("name") or ""
        raise invalid(version.rpartition("/")[0], given, name, list(causes))


def _report_strict(call: Call, read: decode.DecodeResult, refusal: Callable[[str], ApiError]) -> None:
    if not read.strict and not read.repeated:
        return
    if call.field_validation == "Strict":
        lines = ["\n  ".join(["yaml: unmarshal errors:", *read.repeated])] if read.repeated else []
        raise refusal(", ".join([*lines, *read.strict]))
    if call.field_validation == "Warn":
        _warn(call, [*read.repeated, *read.strict])


def _place(call: Call, obj: Object) -> None:
    """The namespace of the path, which the body may leave out but not contradict."""
    metadata = obj["metadata"]
    if not call.resource.namespaced:
        metadata.pop("namespace", None)
    elif metadata.get("namespace", call.namespace) not in ("", None, call.namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    else:
        metadata["namespace"] = call.namespace


# --- Changing ---


def update(state: State, call: Call, body: Any) -> Written:
    kind = state.kinds.of(call.resource)
    obj = read_body(call, kind, body)
    _same_name(call, obj)
    _place(call, obj)
    live = state.store.get(call.resource.storage, (call.namespace, call.name))
    if live is None:
        return Written(_create_by_put(state, call, kind, obj), is_new=True)
    uid = obj["metadata"].get("uid")
    if uid and uid != live["metadata"]["uid"]:
        raise _other_uid(call, uid, live["metadata"]["uid"])
    check_version(call, obj, live, is_put=True)
    return Written(_change(state, call, kind, live, obj))


def _other_uid(call: Call, asked: str, have: str) -> ApiError:
    return conflict(
        call.resource.group,
        call.resource.plural,
        call.name,
        f"StorageError: invalid object, Code: 4, Key: {_storage_path(call)}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {asked}, UID in object meta: {have}",
    )


def _storage_path(call: Call) -> str:
    group, plural = call.resource.storage
    places = {"services": "services/specs", "endpoints": "services/endpoints", "nodes": "minions"}
    folder = f"{group}/{plural}" if call.resource.is_custom else places.get(plural, plural)
    return "/".join(["/registry", folder, *([call.namespace] if call.namespace else []), call.name])


def _same_name(call: Call, obj: Object) -> None:
    name = obj["metadata"].get("name")
    if not name:
        raise bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        )
    if name != call.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")


def _create_by_put(state: State, call: Call, kind: KindSchema, obj: Object) -> Object:
    resource = call.resource
    if not policy(resource).creates_on_update or call.subresource:
        raise not_found(resource.group, resource.plural, call.name)
    if obj["metadata"].get("uid"):
        raise _other_uid(call, obj["metadata"]["uid"], "")
    obj["metadata"].pop("resourceVersion", None)
    obj = apply.track_update(kind, None, obj, call.manager, state.now, has_status=call.has_status)
    return _create(state, call, kind, obj)


def check_version(call: Call, obj: Object, live: Object, is_put: bool) -> None:
    resource, asked = call.resource, obj["metadata"].get("resourceVersion") or ""
    if not asked:
        if is_put and not policy(resource).unconditional_update:
            cause = {
                "reason": "FieldValueInvalid",
                "message": "Invalid value: 0: must be specified for an update",
                "field": "metadata.resourceVersion",
            }
            text = (
                f'{resource.text} "{call.name}" is invalid: metadata.resourceVersion: Invalid value: 0: '
                "must be specified for an update"
            )
            raise invalid(resource.group, resource.plural, call.name, [cause], text)
        return
    if not asked.isdigit():
        raise ApiError(500, "", f'strconv.ParseUint: parsing "{asked}": invalid syntax')
    if asked != live["metadata"]["resourceVersion"]:
        raise conflict(resource.group, resource.plural, call.name, STALE)


def _change(state: State, call: Call, kind: KindSchema, live: Object, obj: Object) -> Object:
    """Store `obj`, decoded and in the caller's version, in place of `live`, unless nothing changed."""
    before = read_as(live, call.resource)
    obj = apply.track_update(kind, before, obj, call.manager, state.now, call.subresource, has_status=call.has_status)
    return store_change(state, call, live, obj)


def store_change(state: State, call: Call, live: Object, obj: Object) -> Object:
    """From an object with owners recorded: what all ways of changing have in common."""
    resource = call.resource
    new = to_storage(obj, resource)
    review = Review(
        resource, call.namespace, call.name, new, live, state.store, state.rng, call.subresource, call.warnings
    )
    admission.mutate(review)
    forbid_escalation(state.store, call.user, call.resource, call.namespace, new, live)
    new = _prepared(state, call, new, live)
    _keep_identity(new, live)
    _check_change(state, call, new, live)
    admission.check(replace(review, obj=new))
    _judge(state, call, new, live)
    new = apply.keep_times_if_unchanged(live, new)
    new["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
    new = _through_storage(state, call, new)
    key = (call.namespace, call.name)
    if new == live and (call.dry_run or (resource.storage, key) not in state.store.completed_on_reading):
        return read_as(live, resource)
    undo_charge = charge(state, call, new, live)
    if call.dry_run:
        return read_as(new, resource)
    del undo_charge
    if _is_finished(new, live):
        state.store.remove(resource.storage, key, live)
        return read_as(new, resource)
    return read_as(state.store.put(resource.storage, key, new), resource)


def _prepared(state: State, call: Call, new: Object, live: Object) -> Object:
    server = state.server(call.dry_run)
    new["metadata"].pop("generation", None)
    if "generation" in live["metadata"]:
        new["metadata"]["generation"] = live["metadata"]["generation"]
    if call.subresource is None:
        strategies.prepare_update(call.resource, new, live, server)
        return new
    return strategies.prepare_subresource(call.resource, call.subresource, new, live, server)


def _keep_identity(new: Object, live: Object) -> None:
    """What no client decides is taken over from before, whatever was sent."""
    metadata, before = new["metadata"], live["metadata"]
    if "creationTimestamp" in before:
        metadata["creationTimestamp"] = before["creationTimestamp"]
    else:
        metadata.pop("creationTimestamp", None)
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):  # what is sent of them is refused as a change
        if metadata.get(name) is None:
            metadata.pop(name, None)
            if name in before:
                metadata[name] = before[name]
    metadata.setdefault("uid", before["uid"])
    if before.get("generateName") and "generateName" not in metadata:
        metadata["generateName"] = before["generateName"]
    metadata.pop("selfLink", None)


def _check_change(state: State, call: Call, new: Object, live: Object) -> None:
    kind = _stored_kind(state, call)
    causes = validate.update(kind, new, live, call.subresource)
    if call.resource.storage == DEFINITIONS and call.subresource is None:
        causes += definitions.update(new, live)
    if call.resource.group == "events.k8s.io":
        causes += newer_change(new, live)
    if causes:
        raise _invalid(call.resource, new, causes)
    _warn(call, validate.warnings(kind, new, live))


def _is_finished(new: Object, live: Object) -> bool:
    """The last finalizer of an object marked for deletion is gone, and no grace is left."""
    before = live["metadata"]
    if (live.get("kind"), live.get("apiVersion")) == ("Namespace", "v1") and new["spec"].get("finalizers"):
        return False
    return (
        not new["metadata"].get("finalizers")
        and bool(before.get("deletionTimestamp"))
        and before.get("deletionGracePeriodSeconds", 0) == 0
    )


# --- Patches ---


def patch(state: State, call: Call, body: Any, patch_type: PatchType, force: bool) -> Written:
    kind = state.kinds.of(call.resource)
    live = state.store.get(call.resource.storage, (call.namespace, call.name))
    if patch_type == "apply":
        return _apply(state, call, kind, live, body, force)
    if live is None:
        raise not_found(call.resource.group, call.resource.plural, call.name)
    before = read_as(live, call.resource)
    obj = patched(call, kind, before, body, patch_type)
    return Written(_patch_stored(state, call, kind, live, obj))


def _patch_stored(state: State, call: Call, kind: KindSchema, live: Object, obj: Object) -> Object:
    _place(call, obj)
    _same_name(call, obj)
    check_version(call, obj, live, is_put=False)
    return _change(state, call, kind, live, obj)


def patched(call: Call, kind: KindSchema, before: Object, body: Any, patch_type: patches.PatchType) -> Object:
    """The object after the patch, decoded and with defaults."""
    try:
        read = patches.patched(kind, before, body, patch_type)
        if read.strict and call.field_validation == "Strict":
            raise patches.unreadable(read.source, f"strict decoding error: {', '.join(read.strict)}")
    except patches.PatchError as error:
        raise ApiError(error.code, error.reason, error.message, error.details) from error
    if call.field_validation == "Warn":
        _warn(call, read.strict)
    obj = read.object
    if kind.is_custom:
        _say_own_kind(kind, obj)
    defaults.apply(kind, obj)
    return obj


def _apply(state: State, call: Call, kind: KindSchema, live: Object | None, body: Any, force: bool) -> Written:
    before = None if live is None else read_as(live, call.resource)
    if live is None and call.subresource:
        raise not_found(call.resource.group, call.resource.plural, call.name)
    try:
        merged = apply.server_side_apply(
            kind, before, body, call.manager, force, state.now, call.subresource, has_status=call.has_status
        )
    except apply.ApplyConflict as error:
        raise ApiError(409, "Conflict", error.message, {"causes": error.causes}) from error
    except apply.ApplyError as error:
        raise ApiError(error.code, error.reason, error.message) from error
    if live is None:
        return Written(_apply_new(state, call, kind, copied(merged)), is_new=True)
    merged = copied(merged)
    _same_name(call, merged)
    _place(call, merged)
    check_version(call, {"metadata": body.get("metadata") or {}}, live, is_put=False)
    return Written(store_change(state, call, live, merged))


def _apply_new(state: State, call: Call, kind: KindSchema, merged: Object) -> Object:
    _same_name(call, merged)
    _place(call, merged)
    uid = merged["metadata"].get("uid")
    if uid:
        raise conflict(
            call.resource.group,
            call.resource.plural,
            call.name,
            f"uid mismatch: the provided object specified uid {uid}, and no existing object was found",
        )
    merged["metadata"].pop("resourceVersion", None)
    return _create(state, call, kind, merged)
