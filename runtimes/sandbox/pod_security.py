"""Pod Security admission: a namespace's labels say how Pods in it have to be made.

`pod-security.kubernetes.io/enforce` refuses Pods below its level; `warn` tells whoever writes a Pod, or an object with
a template of Pods. `audit` writes to a log that the sandbox does not have. What the levels ask for is written down at
https://kubernetes.io/docs/concepts/security/pod-security-standards/; the rules themselves are in pod_standards.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kcl.records import dataclass
from runtimes.sandbox.errors import forbidden, invalid
from runtimes.sandbox.pod_standards import LATEST, LEVELS, Finding, findings
from runtimes.sandbox.pod_templates import TEMPLATE_AT
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.store import Object, Store
from runtimes.sandbox.validate.causes import Causes

_LABEL = "pod-security.kubernetes.io/"
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)")
_MOST_PODS = 3000
_UNJUDGED = ("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status")


@dataclass(frozen=True, slots=True)
class Standard:
    """A level and the Kubernetes version whose rules it means."""

    level: str = "privileged"
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    @property
    def minor(self) -> int:
        """The `y` of `v1.y`; a version that is yet to come is judged by the newest rules there are."""
        return LATEST if self.version == "latest" else min(int(self.version.removeprefix("v1.")), LATEST)


@dataclass(frozen=True, slots=True)
class Policy:
    enforce: Standard
    warn: Standard
    mistakes: tuple[dict[str, Any], ...] = ()  # causes of a Status


def check(
    store: Store,
    resource: Resource,
    namespace: str,
    name: str,
    obj: Object,
    old: Object | None,
    subresource: str | None,
    warnings: list[str],
) -> None:
    """Raises ApiError where the namespace refuses the Pod, or where a namespace's own labels say nothing known."""
    if resource.storage == ("", "namespaces"):
        if not subresource:
            _check_namespace(store, obj, old, name, warnings)
        return
    template = TEMPLATE_AT.get(resource.storage)
    if resource.storage != ("", "pods") and (template is None or subresource):
        return
    place = store.get(("", "namespaces"), ("", namespace))
    policy = _policy((place or {}).get("metadata", {}).get("labels"))
    if policy is None:
        return
    if template is None:
        _check_pod(policy, resource, name, obj, old, subresource, warnings)
        return
    for part in template:
        obj = obj.get(part) or {}
    _warn(policy, findings(obj, policy.warn.level, policy.warn.minor), warnings)


def _check_pod(
    policy: Policy,
    resource: Resource,
    name: str,
    pod: Object,
    old: Object | None,
    subresource: str | None,
    warnings: list[str],
) -> None:
    if subresource in _UNJUDGED or (old is not None and not _runs_something_else(pod, old)):
        return
    found = findings(pod, policy.enforce.level, policy.enforce.minor)
    if found:
        why = f'violates PodSecurity "{policy.enforce}": {_told(found)}'
        raise forbidden(resource.group, resource.plural, name, why)
    _warn(policy, findings(pod, policy.warn.level, policy.warn.minor), warnings)


def _runs_something_else(pod: Object, old: Object) -> bool:
    """Only changed images and added containers are worth another look."""
    new_spec, old_spec = pod.get("spec") or {}, old.get("spec") or {}
    for kind in ("containers", "initContainers"):
        ours, theirs = new_spec.get(kind) or [], old_spec.get(kind) or []
        if [each.get("image") for each in ours] != [each.get("image") for each in theirs]:
            return True
    images = {each.get("name"): each.get("image") for each in old_spec.get("ephemeralContainers") or ()}
    added = new_spec.get("ephemeralContainers") or ()
    return any(each.get("name") not in images or images[each["name"]] != each.get("image") for each in added)


def _told(found: Iterable[Finding]) -> str:
    return ", ".join(f"{each.reason} ({each.detail})" for each in found)


def _warn(policy: Policy, found: list[Finding], warnings: list[str]) -> None:
    if found:
        warnings.append(f'would violate PodSecurity "{policy.warn}": {_told(found)}')


# --- Namespaces ---


def _policy(labels: Mapping[str, str] | None) -> Policy | None:
    """What the labels ask for; None where they ask for nothing, as those of nearly all namespaces."""
    given = {key.removeprefix(_LABEL): value for key, value in (labels or {}).items() if key.startswith(_LABEL)}
    if not given:
        return None
    causes = Causes()
    standards: dict[str, Standard] = {}
    for mode in ("enforce", "audit", "warn"):
        level, version = given.get(mode, "privileged"), given.get(f"{mode}-version", "latest")
        if level not in LEVELS:
            text = f"must be one of {', '.join(LEVELS)}"
            causes.invalid(f"metadata.labels[{_LABEL}{mode}]", level, text)
            # what cannot be read refuses as much as it can, and warns of nothing
            level = "restricted" if mode == "enforce" else "privileged"
        if version != "latest" and not _VERSION.fullmatch(version):
            text = 'must be "latest" or "v1.x"'
            causes.invalid(f"metadata.labels[{_LABEL}{mode}-version]", version, text)
            version = "latest"
        standards[mode] = Standard(level, version)
    enforce, warn = standards["enforce"], standards["warn"]
    if "warn" not in given and given.get("enforce") in LEVELS and LEVELS.index(enforce.level) > 0:
        warn = Standard(enforce.level, warn.version if "warn-version" in given else enforce.version)
    return Policy(enforce, warn, tuple(causes))


def _check_namespace(store: Store, obj: Object, old: Object | None, name: str, warnings: list[str]) -> None:
    policy = _policy(obj["metadata"].get("labels"))
    if policy is None:
        return
    before = _policy(((old or {}).get("metadata") or {}).get("labels"))
    if policy.mistakes and (before is None or before.mistakes != policy.mistakes):
        raise invalid("", "Namespace", name, policy.mistakes)
    if old is None:
        return
    enforce, held = policy.enforce, before.enforce if before is not None else Standard()
    is_relaxed = enforce.version == held.version and LEVELS.index(enforce.level) <= LEVELS.index(held.level)
    if enforce.level != "privileged" and not is_relaxed:
        warnings.extend(_violations(store, name, enforce))


def _violations(store: Store, namespace: str, standard: Standard) -> list[str]:
    """Pods that are there already stay; whoever tightens the rules is told of those that would be refused."""
    pods = [pod for _, pod in store.items(("", "pods"), namespace)]
    by_reason: dict[str, list[str]] = {}
    for pod in pods[:_MOST_PODS]:
        reason = ", ".join(each.reason for each in findings(pod, standard.level, standard.minor))
        if reason:
            by_reason.setdefault(reason, []).append(pod["metadata"]["name"])
    told = []
    if len(pods) > _MOST_PODS:
        text = f"only checked against the first {_MOST_PODS} of {len(pods)} existing pods"
        told.append(f"new PodSecurity enforce level {text}")
    if by_reason:
        told.append(f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{standard}"')
    lines = [f"{min(names)}{_and_others(len(names) - 1)}: {reason}" for reason, names in by_reason.items()]
    return [*told, *sorted(lines)]


def _and_others(count: int) -> str:
    if not count:
        return ""
    return f" (and {count} other {'pod' if count == 1 else 'pods'})"
