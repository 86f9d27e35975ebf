"""Custom resource definitions: names are accepted, the resources served, and on deletion their objects removed first.

A real server does this in controllers of its own, always on, moments after each write; here it follows the write.
"""

from __future__ import annotations

from typing import Any

from runtimes.sandbox.apply import track_update
from runtimes.sandbox.errors import forbidden
from runtimes.sandbox.resources import Resource, built_in
from runtimes.sandbox.schema.registry import Registry
from runtimes.sandbox.state import State
from runtimes.sandbox.store import Change, Object, copied

DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def serve_definitions(state: State) -> None:
    """From now on, serve what definitions in the store define."""

    def follow(change: Change) -> None:
        if change.resource == DEFINITIONS:
            if change.type == "DELETED":
                state.resources.forget(change.key[1])
                _settle_others(state, change.object)
            else:
                _settle(state, change.object)
        elif change.type == "DELETED":
            _finish_deletion(state, *change.resource)

    state.store.follow(follow)


def _settle(state: State, definition: Object) -> None:
    """Bring the status to what the spec says, once; the write that this makes is settled already."""
    if definition["metadata"].get("deletionTimestamp"):
        state.resources.define(definition)
        _remove_objects(state, definition)
        return
    status = _settled_status(state, definition)
    if status != definition.get("status"):
        changed: Object = copied(definition)
        changed["status"] = status
        kind = Registry.load().kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
        changed = track_update(kind, definition, changed, "kube-apiserver", state.now, "status", has_status=True)
        state.store.put(DEFINITIONS, ("", definition["metadata"]["name"]), changed)
        if status["acceptedNames"] != (definition.get("status") or {}).get("acceptedNames"):
            _settle_others(state, definition)
    elif _condition(status, "Established").get("status") == "True":
        state.resources.define(definition)


def _settle_others(state: State, definition: Object) -> None:
    """What this one gave up, changed or deleted, is free now: another of its group may have waited for it."""
    own, group = definition["metadata"]["name"], definition["spec"]["group"]
    for _, other in list(state.store.items(DEFINITIONS)):
        is_going = bool(other["metadata"].get("deletionTimestamp"))
        if other["spec"]["group"] == group and other["metadata"]["name"] != own and not is_going:
            _settle(state, other)


def _settled_status(state: State, definition: Object) -> Object:
    status: Object = copied(definition.get("status") or {})
    names = definition["spec"]["names"]
    taken = _taken(state, definition)
    # What is free is accepted all the same; of what is taken, what was accepted before.
    before = status.get("acceptedNames") or {}
    accepted = {**copied(names), **{field: before.get(field) for field, _ in taken}}
    status["acceptedNames"] = {"plural": "", "kind": ""} | {name: value for name, value in accepted.items() if value}
    if not taken:
        _set(state, status, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
        if _condition(status, "Established").get("status") != "True":
            _set(state, status, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
    else:
        field, name = taken[-1]
        text = f'"{name}" is already in use'
        _set(state, status, "NamesAccepted", "False", f"{field[0].upper()}{field[1:]}Conflict", text)
        if not _condition(status, "Established"):
            _set(state, status, "Established", "False", "NotAccepted", "not all names are accepted")
    return status


def _taken(state: State, definition: Object) -> list[tuple[str, str]]:
    """The names that other resources of the group have already, each with its field; the last one is told of."""
    own, group, names = definition["metadata"]["name"], definition["spec"]["group"], definition["spec"]["names"]
    others: list[dict[str, Any]] = [
        {"plural": each.plural, "singular": each.singular, "kind": each.kind, "shortNames": each.short_names}
        for each in built_in()
        if each.group == group
    ]
    for _, other in state.store.items(DEFINITIONS):
        if other["metadata"]["name"] != own and other["spec"]["group"] == group:
            others.append((other.get("status") or {}).get("acceptedNames") or {})
    # Resources are called by any of their names, kinds by theirs: the two do not mix.
    called = {name for other in others for name in _called(other)}
    found: list[tuple[str, str]] = []
    for field, held in (
        ("plural", called),
        ("singular", called),
        ("shortNames", called),
        ("kind", {other.get("kind") for other in others}),
        ("listKind", {other.get("listKind") for other in others}),
    ):
        wanted = names.get(field) or []
        found += [(field, name) for name in (wanted if isinstance(wanted, list) else [wanted]) if name in held]
    return found


def _called(names: dict[str, Any]) -> list[str]:
    return [name for name in (names.get("plural"), names.get("singular"), *(names.get("shortNames") or ())) if name]


def _condition(status: Object, type_: str) -> Object:
    return next((each for each in status.get("conditions") or () if each["type"] == type_), {})


def _set(state: State, status: Object, type_: str, value: str, reason: str, message: str) -> None:
    conditions = [each for each in status.get("conditions") or () if each["type"] != type_]
    before = _condition(status, type_)
    moment = before.get("lastTransitionTime") if before.get("status") == value else None
    made = {
        "type": type_,
        "status": value,
        "lastTransitionTime": moment or state.now,
        "reason": reason,
        "message": message,
    }
    if before:
        status["conditions"] = [made if each["type"] == type_ else each for each in status["conditions"]]
    else:
        status["conditions"] = [*conditions, made]


def forbid_new_objects(resource: Resource, name: str) -> None:
    """Raises 403 for objects of a definition that is being deleted."""
    definition = resource.definition
    if definition is not None and definition["metadata"].get("deletionTimestamp"):
        why = "create not allowed while custom resource definition is terminating"
        raise forbidden(resource.group, resource.plural, name, why)


def mark_for_deletion(state: State, live: Object, dry_run: bool) -> Object:
    """The reply to a DELETE of a definition. Its objects are removed at once; it goes when the last is gone."""
    marked: Object = copied(live)
    metadata = marked["metadata"]
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = state.now
        if FINALIZER not in (metadata.get("finalizers") or ()):
            metadata["finalizers"] = [*(metadata.get("finalizers") or ()), FINALIZER]
        _set(
            state,
            marked["status"],
            "Terminating",
            "True",
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        )
    if dry_run:
        return marked
    reply: Object = copied(marked)
    stored = state.store.put(DEFINITIONS, ("", metadata["name"]), marked)
    reply["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
    return reply


def _remove_objects(state: State, definition: Object) -> None:
    """Delete what can be deleted; objects with finalizers are marked and waited for."""
    key = (definition["spec"]["group"], definition["spec"]["names"]["plural"])
    terminating = _condition(definition["status"], "Terminating")
    if terminating.get("reason") == "InstanceDeletionPending":
        changed: Object = copied(definition)
        _set(
            state,
            changed["status"],
            "Terminating",
            "True",
            "InstanceDeletionInProgress",
            "CustomResource deletion is in progress",
        )
        state.store.put(DEFINITIONS, ("", definition["metadata"]["name"]), changed)
        for name, obj in state.store.items(key):
            _remove_one(state, key, name, obj)
        _finish_deletion(state, *key)


def _remove_one(state: State, resource: tuple[str, str], key: tuple[str, str], obj: Object) -> None:
    if not obj["metadata"].get("finalizers"):
        state.store.remove(resource, key)
    elif not obj["metadata"].get("deletionTimestamp"):
        marked: Object = copied(obj)
        marked["metadata"].update(deletionTimestamp=state.now, deletionGracePeriodSeconds=0)
        marked["metadata"]["generation"] = marked["metadata"].get("generation", 0) + 1
        state.store.put(resource, key, marked)


def _finish_deletion(state: State, group: str, plural: str) -> None:
    """Remove a marked definition that has no objects left."""
    key = ("", f"{plural}.{group}")
    definition = state.store.get(DEFINITIONS, key)
    if definition is None or not definition["metadata"].get("deletionTimestamp"):
        return
    if state.store.items((group, plural)) or FINALIZER not in (definition["metadata"].get("finalizers") or ()):
        return
    changed: Object = copied(definition)
    left = [each for each in changed["metadata"]["finalizers"] if each != FINALIZER]
    if left:
        changed["metadata"]["finalizers"] = left
        state.store.put(DEFINITIONS, key, changed)
    else:
        changed["metadata"].pop("finalizers")
        state.store.remove(DEFINITIONS, key, changed)
