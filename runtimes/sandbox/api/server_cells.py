"""Cells of the kinds that set a cluster up: admission, flow control, devices, attachments of volumes, certificates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from runtimes.sandbox.api.ages import age, duration
from runtimes.sandbox.store import Object

Row = Callable[[Object, datetime], list[Any]]
_NONE, _UNSET = "<none>", "<unset>"
_ADMISSION, _DEVICES, _FLOW = "admissionregistration.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io"


def _between(cells: Callable[[Object], list[Any]]) -> Row:
    """A row that begins with a name and ends with an age."""

    def row(obj: Object, now: datetime) -> list[Any]:
        return [obj["metadata"]["name"], *cells(obj), age(obj["metadata"].get("creationTimestamp"), now)]

    return row


def _policy(obj: Object) -> list[Any]:
    kind = obj["spec"].get("paramKind") or {}
    shown = f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else _UNSET
    return [len(obj["spec"].get("validations") or ()), shown]


def _binding(obj: Object) -> list[Any]:
    return [obj["spec"].get("policyName", ""), _parameters(obj["spec"].get("paramRef"))]


def _parameters(reference: Mapping[str, Any] | None) -> str:
    if reference is None:
        return _UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return _go_selector(reference["selector"]) if reference.get("selector") is not None else _UNSET


def _go_selector(selector: Mapping[str, Any]) -> str:
    """A selector as Go prints the struct."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    wanted = "".join(
        f"LabelSelectorRequirement{{Key:{each.get('key', '')},Operator:{each.get('operator', '')},"
        f"Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    shown = f"map[string]string{{{labels}}}"
    return f"&LabelSelector{{MatchLabels:{shown},MatchExpressions:[]LabelSelectorRequirement{{{wanted}}},}}"


def _level(obj: Object) -> list[Any]:
    limited = obj["spec"].get("limited") or {}
    queuing = (limited.get("limitResponse") or {}).get("queuing") or {}
    shares = limited.get("nominalConcurrencyShares", _NONE)
    sizes = (queuing.get(name, _NONE) for name in ("queues", "handSize", "queueLengthLimit"))
    return [obj["spec"].get("type", ""), shares, *sizes]


def _schema(obj: Object, now: datetime) -> list[Any]:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return [
        obj["metadata"]["name"],
        obj["spec"]["priorityLevelConfiguration"]["name"],
        obj["spec"].get("matchingPrecedence", 0),
        (obj["spec"].get("distinguisherMethod") or {}).get("type", _NONE),
        age(obj["metadata"].get("creationTimestamp"), now),
        next((each["status"] for each in conditions if each["type"] == "Dangling"), "?"),
    ]


def _slice(obj: Object) -> list[Any]:
    spec = obj["spec"]
    return [spec.get("nodeName", ""), spec.get("driver", ""), (spec.get("pool") or {}).get("name", "")]


def _claim(obj: Object) -> list[Any]:
    status, words = obj.get("status") or {}, []
    if obj["metadata"].get("deletionTimestamp"):
        words.append("deleted")
    if status.get("allocation") is None:
        return [words[0] if words else "pending"]
    words.append("allocated")
    return [",".join([*words, "reserved"] if status.get("reservedFor") else words)]


def _attachment(obj: Object) -> list[Any]:
    spec = obj["spec"]
    volume = (spec.get("source") or {}).get("persistentVolumeName", "")
    attached = (obj.get("status") or {}).get("attached", False)
    return [spec.get("attacher", ""), volume, spec.get("nodeName", ""), attached]


def _certificate(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    return [
        obj["metadata"]["name"],
        age(obj["metadata"].get("creationTimestamp"), now),
        spec.get("signerName") or _NONE,
        spec.get("username", ""),
        duration(spec["expirationSeconds"]) if spec.get("expirationSeconds") else _NONE,
        _decision(obj.get("status") or {}),
    ]


def _decision(status: Mapping[str, Any]) -> str:
    """Whether a certificate was granted, and whether it was made."""
    said = [condition["type"] for condition in status.get("conditions") or ()]
    words = [word for word in ("Approved", "Denied") if word in said][:1] or ["Pending"]
    words += ["Failed"] if "Failed" in said else []
    words += ["Issued"] if status.get("certificate") else []
    return ",".join(words)


ROWS: Mapping[tuple[str, str], Row] = {
    (_ADMISSION, "validatingadmissionpolicies"): _between(_policy),
    (_ADMISSION, "validatingadmissionpolicybindings"): _between(_binding),
    (_FLOW, "prioritylevelconfigurations"): _between(_level),
    (_FLOW, "flowschemas"): _schema,
    (_DEVICES, "resourceslices"): _between(_slice),
    (_DEVICES, "resourceclaims"): _between(_claim),
    ("storage.k8s.io", "volumeattachments"): _between(_attachment),
    ("storage.k8s.io", "volumeattributesclasses"): _between(lambda obj: [obj.get("driverName", "")]),
    ("certificates.k8s.io", "certificatesigningrequests"): _certificate,
}
