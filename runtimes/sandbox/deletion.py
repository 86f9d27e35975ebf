"""Deleting: at once, with grace (Pods), or marked until finalizers are gone, which also tell of dependents."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, timedelta
from typing import Any, Literal

from kcl.records import dataclass, field
from runtimes.sandbox import admission, admission_policies, custom
from runtimes.sandbox.errors import ApiError, conflict, not_found
from runtimes.sandbox.policies import policy
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.state import State
from runtimes.sandbox.store import Object, ObjectKey, copied
from runtimes.sandbox.versions import read_as

Propagation = Literal["Background", "Foreground", "Orphan"]

_GARBAGE_FINALIZERS = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}


@dataclass(frozen=True, slots=True)
class Options:
    """`uid` and `resource_version` are preconditions; `propagation` None leaves the choice to the kind. `user` is who
    asks, as the server tells it; texts for them go to `warnings`.
    """

    uid: str | None = None
    resource_version: str | None = None
    grace_seconds: int | None = None
    propagation: Propagation | None = None
    dry_run: bool = False
    user: Mapping[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def delete(state: State, resource: Resource, namespace: str, name: str, options: Options) -> tuple[Object, bool]:
    """The object's last or marked state, and whether it is gone."""
    key = (namespace, name)
    live = state.store.get(resource.storage, key)
    if live is None:
        raise not_found(resource.group, resource.plural, name)
    admission.forbid_immortal(resource, name)
    _check_preconditions(resource, live, options)
    attempt = admission_policies.Attempt(
        "DELETE", resource, namespace, name, None, read_as(live, resource), options.user, options.dry_run
    )
    admission_policies.judge(state.store, state.resources.of_kind, attempt, options.warnings)
    if resource.storage == custom.DEFINITIONS:
        marked = custom.mark_for_deletion(state, live, options.dry_run)
        return marked, False
    if resource.storage == ("", "namespaces"):
        obj, gone = _delete_namespace(state, resource, key, live, options)
    elif resource.storage == ("", "pods"):
        obj, gone = _delete_pod(state, resource, key, live, options)
    else:
        obj, gone = _delete_plain(state, resource, key, live, options)
    return read_as(obj, resource), gone


_JUDGED_BY_STORE = (("", "namespaces"), custom.DEFINITIONS)
"""Kinds with a deletion of their own, whose preconditions the server's storage judges, in its words."""


def _check_preconditions(resource: Resource, live: Object, options: Options) -> None:
    metadata = live["metadata"]
    if resource.storage in _JUDGED_BY_STORE:
        for what, wanted, held in (
            ("UID", options.uid, metadata["uid"]),
            ("ResourceVersion", options.resource_version, metadata["resourceVersion"]),
        ):
            if wanted is not None and wanted != held:
                why = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {held}"
                raise conflict(resource.group, resource.plural, metadata["name"], why)
        return
    if options.uid is not None and options.uid != metadata["uid"]:
        raise conflict(
            resource.group,
            resource.kind,
            metadata["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated",
        )
    version = options.resource_version
    if version is not None and version != metadata["resourceVersion"]:
        raise conflict(
            resource.group,
            resource.kind,
            metadata["name"],
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified",
        )


def finalizers_after(resource: Resource, live: Object, propagation: Propagation | None) -> list[str]:
    """The object's finalizers with those that tell the garbage collector what to do with dependents."""
    present = list(live["metadata"].get("finalizers") or ())
    if resource.plural == "events":
        return present  # nothing depends on one: the garbage collector is not asked
    chosen: str | None = propagation
    if chosen is None:
        if any(each in present for each in _GARBAGE_FINALIZERS.values()):
            return present
        chosen = "Orphan" if policy(resource).orphans_by_default else "Background"
    kept = [each for each in present if each not in _GARBAGE_FINALIZERS.values()]
    wanted = _GARBAGE_FINALIZERS.get(chosen)
    return [*kept, wanted] if wanted else kept


def _delete_plain(
    state: State, resource: Resource, key: ObjectKey, live: Object, options: Options
) -> tuple[Object, bool]:
    finalizers = finalizers_after(resource, live, options.propagation)
    if not finalizers:
        return _remove(state, resource, key, live, options), True
    if live["metadata"].get("deletionTimestamp") and finalizers == live["metadata"].get("finalizers"):
        return live, False
    return _mark(state, resource, key, live, finalizers, 0, options), False


def _remove(state: State, resource: Resource, key: ObjectKey, last: Object, options: Options) -> Object:
    if options.dry_run:
        return last
    return state.store.remove(resource.storage, key, last)


def _mark(
    state: State,
    resource: Resource,
    key: ObjectKey,
    live: Object,
    finalizers: list[str],
    grace_seconds: int,
    options: Options,
) -> Object:
    marked: Object = copied(live)
    metadata = marked["metadata"]
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    if not metadata.get("deletionTimestamp"):
        if metadata.get("generation"):
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = _later(state, grace_seconds)
        metadata["deletionGracePeriodSeconds"] = grace_seconds
    if options.dry_run:
        return marked
    return state.store.put(resource.storage, key, marked)


def _later(state: State, seconds: int) -> str:
    moment = state.clock.now().astimezone(UTC) + timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


# --- Pods ---


def _grace(pod: Object, options: Options) -> int:
    """Pods that run nowhere, or no longer, need no grace."""
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    asked = options.grace_seconds
    grace = int(pod["spec"].get("terminationGracePeriodSeconds", 30)) if asked is None else asked
    return 1 if grace < 0 else grace


def _delete_pod(
    state: State, resource: Resource, key: ObjectKey, live: Object, options: Options
) -> tuple[Object, bool]:
    finalizers = finalizers_after(resource, live, options.propagation)
    grace = _grace(live, options)
    metadata = live["metadata"]
    if metadata.get("deletionTimestamp"):
        left = int(metadata.get("deletionGracePeriodSeconds", 0))
        shortens = options.grace_seconds is not None and grace < left
        ends = grace == 0 and not finalizers and options.grace_seconds == 0
        if not shortens and not ends:
            if finalizers == list(metadata.get("finalizers") or ()):
                return live, False
            return _mark(state, resource, key, live, finalizers, 0, options), False
        marked = _shortened(state, live, min(grace, left))
    else:
        marked = copied(live)
        marked["metadata"]["deletionTimestamp"] = _later(state, grace)
        marked["metadata"]["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            marked["metadata"]["generation"] += 1
    if finalizers:
        marked["metadata"]["finalizers"] = finalizers
    if grace == 0 and not finalizers:
        return _remove(state, resource, key, marked, options), True
    if options.dry_run:
        return marked, False
    return state.store.put(resource.storage, key, marked), False


def _shortened(state: State, live: Object, grace: int) -> Object:
    marked: Object = copied(live)
    marked["metadata"]["deletionGracePeriodSeconds"] = grace
    marked["metadata"]["deletionTimestamp"] = _later(state, grace)
    return marked


# --- Namespaces ---


def _delete_namespace(
    state: State, resource: Resource, key: ObjectKey, live: Object, options: Options
) -> tuple[Object, bool]:
    if not live["metadata"].get("deletionTimestamp"):
        marked: Object = copied(live)
        marked["metadata"]["deletionTimestamp"] = state.now
        finalizers = finalizers_after(resource, live, options.propagation)
        if finalizers:
            marked["metadata"]["finalizers"] = finalizers
        marked["status"] = {**marked.get("status", {}), "phase": "Terminating"}
        if options.dry_run:
            return marked, False
        return state.store.put(resource.storage, key, marked), False
    if live["spec"].get("finalizers") or live["metadata"].get("finalizers"):
        return live, False
    return _remove(state, resource, key, live, options), True


def finalize_namespace(state: State, name: str, finalizers: list[str]) -> Object:
    """Set the finalizers of a namespace's spec; the last one gone, a marked namespace is removed. Raises 404."""
    key = ("", name)
    live = state.store.get(("", "namespaces"), key)
    if live is None:
        raise not_found("", "namespaces", name)
    changed: Object = copied(live)
    changed["spec"] = {**changed.get("spec", {}), "finalizers": finalizers}
    if not finalizers:
        changed["spec"].pop("finalizers")
    if changed == live and finalizers:
        return live
    if not finalizers and changed["metadata"].get("deletionTimestamp") and not changed["metadata"].get("finalizers"):
        state.store.remove(("", "namespaces"), key, changed)
        return changed
    return state.store.put(("", "namespaces"), key, changed)


def default_warning(resource: Resource, options: Options) -> str | None:
    """Jobs keep their Pods unless told otherwise, which surprises."""
    if resource.storage != ("batch", "jobs") or options.propagation is not None:
        return None
    return (
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them "
        "or set propagationPolicy=Orphan to suppress this warning"
    )


__all__ = [
    "ApiError",
    "Options",
    "Propagation",
    "default_warning",
    "delete",
    "finalize_namespace",
    "finalizers_after",
]
