"""What the server changes when it reads an object into its internal form, beside defaults: fields with two names, and
fields that are stored in another way.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]


def to_internal(group: str, kind: str, obj: Object) -> None:
    """Converts a decoded object in place."""
    conversion = _CONVERSIONS.get((group, kind))
    if conversion is not None:
        conversion(obj)


def _pod_account(spec: Object) -> None:
    """Two names for one field: each is written if either was given."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _pod_conversion(pod: Object) -> None:
    spec = pod.get("spec") or {}
    _pod_account(spec)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1


def _template_account(obj: Object) -> None:
    _pod_account((((obj.get("spec") or {}).get("template")) or {}).get("spec") or {})


def _stateful_conversion(stateful_set: Object) -> None:
    _template_account(stateful_set)
    for claim in (stateful_set.get("spec") or {}).get("volumeClaimTemplates") or []:
        claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"


def _cron_job_account(obj: Object) -> None:
    _template_account((obj.get("spec") or {}).get("jobTemplate") or {})


def _secret_strings(secret: Object) -> None:
    strings = secret.pop("stringData", None)
    if strings:
        data = secret.setdefault("data", {})
        for name, text in strings.items():
            data[name] = base64.b64encode(text.encode()).decode()


def _daemon_set_conversion(daemon_set: Object) -> None:
    """Inside, the generation of the template is a field; in this version it shows as an annotation."""
    _template_account(daemon_set)
    metadata = daemon_set.setdefault("metadata", {})
    annotations = metadata.get("annotations") or {}
    annotations.setdefault("deprecated.daemonset.template.generation", "0")
    metadata["annotations"] = annotations


_CONVERSIONS: dict[tuple[str, str], Callable[[Object], None]] = {
    ("", "Pod"): _pod_conversion,
    ("", "PodTemplate"): lambda it: _pod_account((it.get("template") or {}).get("spec") or {}),
    ("", "ReplicationController"): _template_account,
    ("", "Secret"): _secret_strings,
    ("apps", "Deployment"): _template_account,
    ("apps", "ReplicaSet"): _template_account,
    ("apps", "StatefulSet"): _stateful_conversion,
    ("apps", "DaemonSet"): _daemon_set_conversion,
    ("batch", "Job"): _template_account,
    ("batch", "CronJob"): _cron_job_account,
}
