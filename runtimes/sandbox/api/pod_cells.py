"""The row of a Pod in a Table: its containers counted, and the one word that says how it is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from runtimes.sandbox.api.ages import age, duration, parse_time
from runtimes.sandbox.store import Object

NONE = "<none>"


def cells(pod: Object, now: datetime) -> list[Any]:
    spec, status = pod["spec"], pod.get("status") or {}
    restarts, ready, total, text, last_restart = pod_summary(pod)
    shown = f"{restarts}"
    if restarts and last_restart is not None:
        shown = f"{restarts} ({duration((now - last_restart).total_seconds())} ago)"
    ips = [each.get("ip", "") for each in status.get("podIPs") or ()]
    gates = spec.get("readinessGates") or ()
    met = {each["type"] for each in status.get("conditions") or () if each.get("status") == "True"}
    gate_text = f"{sum(each['conditionType'] in met for each in gates)}/{len(gates)}" if gates else NONE
    return [
        pod["metadata"]["name"],
        f"{ready}/{total}",
        text,
        shown,
        age(pod["metadata"].get("creationTimestamp"), now),
        ips[0] if ips else NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        gate_text,
    ]


def pod_summary(pod: Object) -> tuple[int, int, int, str, datetime | None]:
    """Restarts, ready containers, containers, the status word, and when the last restart was."""
    spec, status = pod["spec"], pod.get("status") or {}
    total = len(spec.get("containers") or ())
    word = status.get("reason") or status.get("phase") or ""
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            word = "SchedulingGated"
    sidecars = {c["name"] for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    total += len(sidecars)
    restarts, ready, last = 0, 0, None
    side_restarts, side_last = 0, None
    initializing = False
    for index, each in enumerate(status.get("initContainerStatuses") or ()):
        restarts += each.get("restartCount", 0)
        last = _later(last, _last_finish(each))
        is_sidecar = each["name"] in sidecars
        if is_sidecar:
            side_restarts += each.get("restartCount", 0)
            side_last = _later(side_last, _last_finish(each))
        state = each.get("state") or {}
        ended = state.get("terminated")
        if ended is not None and ended.get("exitCode") == 0:
            continue
        if is_sidecar and each.get("started"):
            ready += bool(each.get("ready"))
            continue
        if ended is not None:
            word = f"Init:{ended['reason']}" if ended.get("reason") else _exit_text("Init:", ended)
            initializing = True
        elif (state.get("waiting") or {}).get("reason", "PodInitializing") not in ("", "PodInitializing"):
            word = f"Init:{state['waiting']['reason']}"
            initializing = True
        else:
            word = f"Init:{index}/{len(spec.get('initContainers') or ())}"
            initializing = True
        break
    if not initializing or _is_initialized(status):
        restarts, last = side_restarts, side_last
        running = False
        for each in reversed(status.get("containerStatuses") or ()):
            restarts += each.get("restartCount", 0)
            last = _later(last, _last_finish(each))
            state = each.get("state") or {}
            if (state.get("waiting") or {}).get("reason"):
                word = state["waiting"]["reason"]
            elif state.get("terminated") is not None:
                ended = state["terminated"]
                word = ended.get("reason") or _exit_text("", ended)
            elif each.get("ready") and state.get("running") is not None:
                running = True
                ready += 1
        if word == "Completed" and running:
            word = "Running" if _is_ready(status) else "NotReady"
    if pod["metadata"].get("deletionTimestamp"):
        word = "Unknown" if status.get("reason") == "NodeLost" else word
        if status.get("phase") not in ("Succeeded", "Failed") and status.get("reason") != "NodeLost":
            word = "Terminating"
    return restarts, ready, total, word, last


def _exit_text(prefix: str, ended: Mapping[str, Any]) -> str:
    if ended.get("signal"):
        return f"{prefix}Signal:{ended['signal']}"
    return f"{prefix}ExitCode:{ended.get('exitCode', 0)}"


def _last_finish(status: Mapping[str, Any]) -> datetime | None:
    return parse_time(((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt"))


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((each for each in (one, other) if each is not None), default=None)


def has(status: Mapping[str, Any], type_: str) -> bool:
    return any(c["type"] == type_ and c.get("status") == "True" for c in status.get("conditions") or ())


def _is_ready(status: Mapping[str, Any]) -> bool:
    return has(status, "Ready")


def _is_initialized(status: Mapping[str, Any]) -> bool:
    return has(status, "Initialized")


def conditions(obj: Object) -> list[Object]:
    """Rows of finished Pods are marked, so that clients may show them as done."""
    phase = (obj.get("status") or {}).get("phase")
    texts = {
        "Succeeded": "The pod has completed successfully.",
        "Failed": "The pod failed.",
    }
    if phase not in texts:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": texts[phase]}]
