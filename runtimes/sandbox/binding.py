"""Binding a pod to a node: what the scheduler asks of the server (`pods/binding`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC

from runtimes.sandbox.errors import ApiError, conflict, not_found
from runtimes.sandbox.state import State
from runtimes.sandbox.store import Object, copied

PODS = ("", "pods")


def bind(
    state: State,
    namespace: str,
    name: str,
    node: str,
    *,
    uid: str | None = None,
    dry_run: bool = False,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """The pod with its node, and the condition PodScheduled. Raises 404 and 409.

    As on a real server this is a write of its own kind: neither checked as an update (the field is immutable there) nor
    recorded in managedFields.
    """
    pod = state.store.get(PODS, (namespace, name))
    if pod is None:
        raise not_found("", "pods", name)
    if uid is not None and uid != pod["metadata"]["uid"]:
        raise _refused(
            name, f"Precondition failed: UID in precondition: {uid}, UID in object meta: {pod['metadata']['uid']}"
        )
    if pod["metadata"].get("deletionTimestamp"):
        raise _refused(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise _refused(name, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"')
    if pod["spec"].get("schedulingGates"):
        raise _refused(name, f"pod {name} has non-empty .spec.schedulingGates")
    bound: Object = copied(pod)
    bound["spec"]["nodeName"] = node
    if annotations:
        bound["metadata"]["annotations"] = {**(bound["metadata"].get("annotations") or {}), **annotations}
    status = bound.setdefault("status", {})
    status["conditions"] = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"] + [
        {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": state.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    ]
    return bound if dry_run else state.store.put(PODS, (namespace, name), bound)


def _refused(name: str, why: str) -> ApiError:
    return conflict("", "pods/binding", name, why)
