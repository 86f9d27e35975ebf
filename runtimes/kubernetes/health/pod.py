"""Pods: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/

A container that waits because of an error has failed for us: its kubelet tries again, but what it tries does not
change. What may come by itself (a node, a volume, readiness) is in progress with its reason.

A container that was restarted moments ago looks ready, and proves nothing until it has run for longer than the
kubelet's back-off (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from runtimes.kubernetes.fields import parsed_time
from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, event_text, failed, in_progress
from runtimes.kubernetes.objects import (
    Object,
    Objects,
    condition,
    count,
    is_false,
    is_true,
    mapping,
    mappings,
    namespace_of,
    spec,
    status,
)

_FIRST_BACK_OFF_SECONDS = 10.0
_LONGEST_BACK_OFF_SECONDS = 300.0
_STARTING = frozenset({"ContainerCreating", "PodInitializing", ""})


def assess(live: Object, objects: Objects, now: datetime) -> Verdict:
    phase = status(live).get("phase")
    if phase == "Succeeded":
        return current("completed", "Completed")
    if phase == "Failed":
        return _ended(live)
    if phase == "Unknown":
        return in_progress("its node does not tell of it", reason="Unknown", evidence="phase Unknown")
    return hopeless(live, objects) or _restarting(live, now) or _starting(live, objects) or _readiness(live, objects)


def hopeless(live: Object, objects: Objects) -> Verdict | None:
    """Returns the verdict over a container that waits because of an error; None if none does."""
    for container in containers(live):
        waiting = mapping(mapping(container.get("state")).get("waiting"))
        reason = str(waiting.get("reason") or "")
        if not is_error(reason):
            continue
        last = mapping(mapping(container.get("lastState")).get("terminated"))
        name = str(container.get("name"))
        parts = [f"container {name} waits: {reason}"]
        if last:
            parts.append(f"last run ended with {_end(last)} after {count(container, 'restartCount')} restarts")
        if warning := objects.last_warning(live):
            parts.append(event_text(warning))
        message = str(waiting.get("message") or "") or parts[-1]
        return failed(message, reason=reason, evidence="; ".join(parts), container=name)
    return None


def is_error(waiting_reason: str) -> bool:
    """Whether a container's waiting reason is an error: ErrImagePull, CreateContainerConfigError, CrashLoopBackOff."""
    return waiting_reason not in _STARTING and (
        waiting_reason.startswith("Err")
        or waiting_reason.endswith(("Error", "BackOff"))
        or waiting_reason in ("InvalidImageName", "RegistryUnavailable", "ContainerCannotRun")
    )


def is_restarting(live: Object, now: datetime) -> bool:
    """Whether a container ended moments ago, so that its being ready proves nothing yet."""
    return _restarting(live, now) is not None


def containers(live: Object) -> Iterator[Mapping[str, Any]]:
    """Yields the statuses of init containers, then of the others."""
    yield from mappings(status(live).get("initContainerStatuses"))
    yield from mappings(status(live).get("containerStatuses"))


def is_ready(live: Object) -> bool:
    return is_true(condition(live, "Ready"))


def _ended(live: Object) -> Verdict:
    for container in containers(live):
        state = mapping(mapping(container.get("state")).get("terminated"))
        if state and count(state, "exitCode") != 0:
            name = str(container.get("name"))
            return failed(
                str(status(live).get("message") or f"container {name} ended with {_end(state)}"),
                reason=str(status(live).get("reason") or state.get("reason") or "Error"),
                evidence=f"phase Failed; container {name} ended with {_end(state)}",
                container=name,
            )
    reason = str(status(live).get("reason") or "Failed")
    return failed(
        str(status(live).get("message") or "the pod failed"), reason=reason, evidence=f"phase Failed, {reason}"
    )


def _restarting(live: Object, now: datetime) -> Verdict | None:
    init = mappings(status(live).get("initContainerStatuses"))
    policy = spec(live).get("restartPolicy")
    for container in containers(live):
        state, last = mapping(container.get("state")), mapping(mapping(container.get("lastState")).get("terminated"))
        ended = mapping(state.get("terminated"))
        name, restarts = str(container.get("name")), count(container, "restartCount")
        if ended and count(ended, "exitCode") == 0 and any(each is container for each in init):
            continue  # an init container that is done
        if ended and policy != "Never" and not (policy == "OnFailure" and count(ended, "exitCode") == 0):
            return in_progress(
                f"container {name} ended with {_end(ended)} and will be restarted",
                reason=str(ended.get("reason") or "Error"),
                evidence=f"container {name} terminated: {_end(ended)}",
                container=name,
            )
        if last and "running" in state and _is_recent(last, restarts, now):
            return in_progress(
                f"container {name} runs again after {restarts} restart{'s' if restarts != 1 else ''}",
                reason="Restarted",
                evidence=f"container {name}, last run ended with {_end(last)}",
                container=name,
            )
    return None


def _is_recent(ended: Mapping[str, Any], restarts: int, now: datetime) -> bool:
    finished = parsed_time(ended.get("finishedAt"))
    if finished is None:
        return False
    back_off = min(_FIRST_BACK_OFF_SECONDS * 2 ** min(restarts, 6), _LONGEST_BACK_OFF_SECONDS)
    return bool((now - finished).total_seconds() < back_off)


def _starting(live: Object, objects: Objects) -> Verdict | None:
    if status(live).get("phase") == "Running":
        return None
    if not is_true(condition(live, "PodScheduled")) and not spec(live).get("nodeName"):
        return _unscheduled(live, objects)
    sidecars = {
        each.get("name") for each in mappings(spec(live).get("initContainers")) if each.get("restartPolicy") == "Always"
    }
    for container in mappings(status(live).get("initContainerStatuses")):
        if "running" in mapping(container.get("state")) and container.get("name") not in sidecars:
            name = str(container.get("name"))
            return in_progress(f"init container {name} runs", reason="Initializing", container=name)
    waiting = [
        f"container {container.get('name')} waits: {waits_for}"
        for container in containers(live)
        if (waits_for := mapping(mapping(container.get("state")).get("waiting")).get("reason"))
    ]
    if warning := _last_warning_of_its_node(live, objects):
        return in_progress(
            str(warning.get("message")),
            reason=str(warning.get("reason")),
            evidence="; ".join((event_text(warning), *waiting[:1])),
        )
    if waiting:
        return in_progress("containers are being created", reason="ContainerCreating", evidence=waiting[0])
    return in_progress(
        "bound to a node that has not started it yet", reason="NotStarted", evidence="no container status"
    )


def _last_warning_of_its_node(live: Object, objects: Objects) -> Object | None:
    """Returns the latest warning about a pod that has a node; that none took it before is over."""
    for event in reversed(objects.events_about(live)):
        if event.get("type") == "Warning" and event.get("reason") != "FailedScheduling":
            return event
    return None


def _unscheduled(live: Object, objects: Objects) -> Verdict:
    scheduled = condition(live, "PodScheduled")
    message = str(scheduled.get("message") or "not scheduled yet")
    shown = condition_text(scheduled) if scheduled else "no PodScheduled condition"
    warning = event_text(objects.last_warning(live, "FailedScheduling"))
    return in_progress(
        message,
        reason=str(scheduled.get("reason") or "NotScheduled"),
        evidence="; ".join(filter(None, (shown, warning))),
        because=_unbound_claims(live, objects) if "persistentvolumeclaim" in message.lower() else (),
    )


def _unbound_claims(live: Object, objects: Objects) -> tuple[Object, ...]:
    names = [
        str(mapping(volume.get("persistentVolumeClaim")).get("claimName"))
        for volume in mappings(spec(live).get("volumes"))
        if "persistentVolumeClaim" in volume
    ]
    claims = [objects.get("PersistentVolumeClaim", namespace_of(live), name) for name in names]
    return tuple(claim for claim in claims if claim and status(claim).get("phase") != "Bound")


def _readiness(live: Object, objects: Objects) -> Verdict:
    ready = condition(live, "Ready")
    if is_true(ready):
        return _resizing(live) or current("running and ready")
    unready = next(
        (
            str(container.get("name"))
            for container in mappings(status(live).get("containerStatuses"))
            if container.get("ready") is False
        ),
        "",
    )
    gates = [
        str(gate.get("conditionType"))
        for gate in mappings(spec(live).get("readinessGates"))
        if not is_true(condition(live, str(gate.get("conditionType"))))
    ]
    warning = objects.last_warning(live, "Unhealthy", "NodeNotReady")
    if is_false(ready) and not unready and gates:
        message = f"readiness gate {gates[0]} is not true"
    else:
        message = str((warning or {}).get("message") or ready.get("message") or "running, not ready")
    return in_progress(
        message,
        reason=str((warning or {}).get("reason") or ready.get("reason") or "NotReady"),
        evidence="; ".join(
            filter(None, (condition_text(ready) if ready else "no Ready condition", event_text(warning)))
        ),
        container=unready,
    )


def _resizing(live: Object) -> Verdict | None:
    """Returns InProgress while its containers have other resources than it asks for now
    (https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/#pod-resize-status)."""
    for type_ in ("PodResizePending", "PodResizeInProgress"):
        state = condition(live, type_)
        if is_true(state):
            message = str(state.get("message") or "its containers are being given other resources")
            return in_progress(message, reason=str(state.get("reason") or type_), evidence=condition_text(state))
    return None


def _end(terminated: Mapping[str, Any]) -> str:
    return f"{terminated.get('reason') or 'an error'} (exit code {terminated.get('exitCode')})"
