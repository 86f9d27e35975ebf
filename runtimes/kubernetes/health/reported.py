"""What a status of somebody's own kind says outside of its conditions: words, flags and counts.

Half of the operators that people run tell by a word how they are (`phase: Failed`, `state: initializing`,
`health: red`), some by a flag (`readyToUse: false`), and kinds that run replicas by their numbers. Words are not
agreed upon. So the ones that say that something is wrong or on its way are looked for, and any other counts for
nothing: a kind that has a word of its own for being well is not waited for in vain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtimes.kubernetes.health.verdict import Verdict, condition_text, current, failed, in_progress
from runtimes.kubernetes.objects import Object, is_true, kind_of, mapping, mappings, spec, status

_NAMED = re.compile(r"(?i)(?:phase|state|status|health|robustness)$")
# what was, or shall be, is not how it is; nor is how a part that is run again and again ended last
_OF_ANOTHER_TIME = re.compile(
    r"(?i)^(?:last|previous|prev|old|former|operation|desired|target|expected|wanted|requested)"
)
_LONGEST = 200  # a word, or a sentence
_INNER = ("status", "state", "phase", "health")
_FAILED = re.compile(
    r"(?i)fail(?!ing.?over|over)|^invalid|\binvalid\b|faulted|rejected|denied|expired|unrecoverable|^unable\b|\bcannot\b|^lost$|(?:^|_)err$"
)
_OPEN = re.compile(
    r"(?i)pending|queued|waiting|approval|unknown|unready|missing|progress|degraded|unhealthy|unavailable|noncompliant"
    r"|not.?(?:ready|installed|available|found|started|healthy|synced)$|blocked|stuck|delayed|is being|failing.?over"
    r"|failover|submitted|error|crash|inconclusive|^cancell?ed$|^aborted$|^(?:new|red|yellow|init)$"
)
_GOING_ON = re.compile(
    r"(?i)^(?!running|serving|listening|watching|existing|standing|warning)"
    r"[a-z]+ing(?:_?(?:up|down|out|in|over)|[A-Z_ ].*)?$"
)
_NO_FAULT = re.compile(r"(?i)^(?:no|none|not)[ _-]?(?:fail|error)")
_WARNING = re.compile(r"(?i)(?:^|_)warn(?:ing)?$")
_HELD = re.compile(r"(?i)^(?:paused|suspended)$")
_OVER = re.compile(r"(?i)^(?:error|errored|aborted|terminated|inconclusive|cancell?ed)$")
_RUNS_ONCE = re.compile(r"^(?!Cron|Scheduled).*(?:Run|Job|Workflow|Backup|Restore|Build|Experiment)$")
_JOB = re.compile(r"^(?!Cron|Scheduled).*Job(?:Set)?$")
_FLAGS = ("ready", "healthy", "readyToUse", "isReady", "available", "applied")
_COUNTS = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "upToDateReplicas")
_ENDED = ("Succeeded", "Complete", "Completed", "Finished", "Failed", "Suspended")
_NODES = ("updatedNumberScheduled", "numberReady", "numberAvailable")


def assess(live: Object) -> Verdict | None:
    """Returns what stands against the object, None if nothing does."""
    verdict = failure(live)
    if verdict is not None:
        return verdict
    for name, word in _words(live):
        if _is_open(live, name, word):
            return in_progress(_said(live, name, word), reason=_reason(word), evidence=f"{name} {word}")
    flags = {name: status(live).get(name) for name in _FLAGS}
    if (fault := _fault(live)) and True not in flags.values():
        return in_progress(fault, reason="Error", evidence=f"error {fault}")
    for name, flag in flags.items():
        if flag is False:
            said = _message(live) or f"{name} is false"
            return in_progress(said, reason="NotReady", evidence=f"{name} false")
    return _short(live) or _unfinished(live) or _warning(live)


def _unfinished(live: Object) -> Verdict | None:
    """A job of somebody's own (PyTorchJob, JobSet) that says by conditions alone how it goes, and not that it ended."""
    said = [each for each in mappings(status(live).get("conditions")) if each.get("type")]
    if not said or not _JOB.match(kind_of(live)) or any(True for _ in _words(live)):
        return None
    if any(is_true(each) and each.get("type") in _ENDED for each in said):
        return None
    newest = next((each for each in reversed(said) if is_true(each)), said[-1])
    text = str(newest.get("message") or f"{newest.get('type')} is {newest.get('status')}, and it has not ended")
    return in_progress(text, reason=str(newest.get("reason") or "Running"), evidence=condition_text(newest))


def _warning(live: Object) -> Verdict | None:
    """A Ceph cluster may say HEALTH_WARN for as long as it runs, and an Application of Argo CD be out of sync: nobody
    waits for the end of that, and all are told."""
    operation = mapping(status(live).get("operationState"))
    if operation.get("phase") in ("Failed", "Error"):
        what = f"its last operation ended as {operation['phase']}"
        message = operation.get("message")
        return current(f"{what}: {message}" if message else what, "OperationFailed", is_qualified=True)
    if mapping(status(live).get("sync")).get("status") == "OutOfSync":
        return current(
            "what runs is not what its source says: sync.status is OutOfSync", "OutOfSync", is_qualified=True
        )
    for name, word in _words(live):
        if _WARNING.search(word):
            return current(_said(live, name, word), _reason(word), is_qualified=True)
    return None


def failure(live: Object) -> Verdict | None:
    """Returns what says that the object will not get there."""
    for name in ("failureMessage", "failureReason"):
        if (told := status(live).get(name)) and isinstance(told, str):
            reason = str(status(live).get("failureReason") or "Failed")
            return failed(_message(live) or told, reason=reason, evidence=f"{name} {told}")
    runs_once = _RUNS_ONCE.search(kind_of(live)) is not None
    for name, word in _words(live):
        if (_FAILED.search(word) and not _NO_FAULT.search(word)) or (runs_once and _OVER.search(word)):
            return failed(_said(live, name, word), reason=_reason(word), evidence=f"{name} {word}")
    return None


def _words(live: Object) -> Iterator[tuple[str, str]]:
    """The words by which a status says how it is as a whole, with their places."""
    for name, value in status(live).items():
        if not isinstance(name, str) or _OF_ANOTHER_TIME.search(name):
            continue
        is_named = _NAMED.search(name) is not None
        if isinstance(value, str) and is_named and value:
            yield name, value[:_LONGEST]
        elif isinstance(value, Mapping):
            for inner in _INNER if is_named else ("health",):
                if isinstance(word := value.get(inner), str) and word:
                    yield f"{name}.{inner}", word[:_LONGEST]


def _is_open(live: Object, name: str, word: str) -> bool:
    if _HELD.search(word):
        return not any(spec(live).get(name) for name in ("paused", "pause", "suspend", "suspended"))
    if (name, word) == ("robustness", "unknown"):  # of a volume of Longhorn that is not attached
        return False
    if word.lower() in ("running", "started"):
        return _RUNS_ONCE.search(kind_of(live)) is not None
    return any(each.search(word) for each in (_OPEN, _GOING_ON)) and not _NO_FAULT.search(word)


def _short(live: Object) -> Verdict | None:
    """Kinds that run replicas as those of Kubernetes do, and count them under the same names."""
    replicas, nodes = _number(spec(live), "replicas"), _number(status(live), "desiredNumberScheduled")
    wanted, of, names = (nodes, "nodes", _NODES) if replicas is None else (replicas, "replicas", _COUNTS)
    if wanted is None:
        return None
    for name in names:
        has = _number(status(live), name)
        if has is not None and has < wanted and not (name == "updatedReplicas" and _has_partition(live)):
            return in_progress(f"{name} is {has} of {wanted} {of}", reason="Replicas", evidence=f"{name} {has}")
    return None


def _has_partition(live: Object) -> bool:
    """Whether only some of the replicas are to be updated: an OpenKruise workload may say so."""
    strategy = mapping(spec(live).get("updateStrategy"))
    return bool(strategy.get("partition") or mapping(strategy.get("rollingUpdate")).get("partition"))


def _number(section: Mapping[str, Any], name: str) -> int | None:
    value = section.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _said(live: Object, name: str, word: str) -> str:
    message = _message(live)
    return f"{name} is {word}: {message}" if message else f"{name} is {word}"


def _message(live: Object) -> str:
    """What the status says in words about itself, empty if nothing."""
    for name in ("failureMessage", "errorMessage", "phaseReason", "message", "reason"):
        if (told := status(live).get(name)) and isinstance(told, str):
            return told
    return _fault(live)


def _fault(live: Object) -> str:
    fault = status(live).get("error")
    told = fault.get("message") if isinstance(fault, Mapping) else fault
    return told if isinstance(told, str) else ""


def _reason(word: str) -> str:
    return word if word.isidentifier() else "Status"
