"""Admission: what the built-in plugins add to requests, and what they refuse, in the order they run.

Mutating: namespace lifecycle, limit ranges, service accounts, tolerations, priority, runtime classes, default class,
storage protection.
Validating, after everything else: limit ranges again, Pod Security (pod_security.py) and quotas (quota.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kcl.records import dataclass, field
from runtimes.base.quantity import amount, canonical
from runtimes.sandbox import pod_security
from runtimes.sandbox.allocation import Rng
from runtimes.sandbox.errors import ApiError, forbidden, not_found
from runtimes.sandbox.pod_amounts import Part, pod_amounts
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.storage_classes import STORAGE_CLASS_ANNOTATION, class_of
from runtimes.sandbox.store import Object, Store

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_IMMORTAL = ("default", "kube-system", "kube-public")
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


@dataclass(frozen=True, slots=True)
class Review:
    """One request under review. `old` is None for a creation; `namespace` "" for cluster-wide objects."""

    resource: Resource
    namespace: str
    name: str
    obj: Object
    old: Object | None
    store: Store
    rng: Rng
    subresource: str | None = None
    warnings: list[str] = field(default_factory=list)


Plugin = Callable[[Review], None]


def mutate(review: Review) -> None:
    """Change `review.obj` in place. Raises ApiError."""
    for plugin in _MUTATING:
        plugin(review)


def check(review: Review) -> None:
    """Raises ApiError."""
    for plugin in _VALIDATING:
        plugin(review)


def _refuse(review: Review, why: str) -> ApiError:
    """What has no name yet goes by what its name will begin with, or by none that is known."""
    name = review.name or review.obj["metadata"].get("generateName") or "Unknown"
    return forbidden(review.resource.group, review.resource.plural, name, why)


# --- Namespaces ---


def _namespace_lifecycle(review: Review) -> None:
    if review.old is not None or not review.resource.namespaced:
        return
    namespace = review.store.get(("", "namespaces"), ("", review.namespace))
    if namespace is None:
        raise not_found("", "namespaces", review.namespace)
    if namespace.get("status", {}).get("phase") == "Terminating" or namespace["metadata"].get("deletionTimestamp"):
        error = _refuse(
            review,
            f"unable to create new content in namespace {review.namespace} because it is being terminated",
        )
        assert error.details is not None
        error.details["causes"] = [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {review.namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ]
        raise error


def forbid_immortal(resource: Resource, name: str) -> None:
    """The namespaces and priorities that a cluster cannot be without are not deleted."""
    if resource.storage == ("", "namespaces") and name in _IMMORTAL:
        raise forbidden("", "namespaces", name, "this namespace may not be deleted")
    if resource.storage == ("scheduling.k8s.io", "priorityclasses") and name in _SYSTEM_PRIORITIES:
        why = "this is a system priority class and cannot be deleted"
        raise forbidden(resource.group, resource.plural, name, why)


# --- Pods ---


def _creates_pod(review: Review) -> bool:
    return review.resource.storage == ("", "pods") and review.old is None and review.subresource is None


def _service_account(review: Review) -> None:
    if not _creates_pod(review):
        return
    spec = review.obj["spec"]
    name = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = review.store.get(("", "serviceaccounts"), (review.namespace, name))
    if account is None:
        missing = f'serviceaccount "{name}" not found'
        raise _refuse(review, f"error looking up service account {review.namespace}/{name}: {missing}")
    wants_token = spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True))
    if wants_token is not False:
        _mount_token(review, spec)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(secret) for secret in account["imagePullSecrets"]]


def _mount_token(review: Review, spec: dict[str, Any]) -> None:
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    without = [
        container
        for container in containers
        if all(mount.get("mountPath") != TOKEN_PATH for mount in container.get("volumeMounts") or ())
    ]
    if not without:
        return
    name = f"kube-api-access-{review.rng.suffix()}"
    for container in without:
        mounts = container.setdefault("volumeMounts", [])
        mounts.append({"name": name, "readOnly": True, "mountPath": TOKEN_PATH})
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    spec.setdefault("volumes", []).append({"name": name, "projected": {"sources": sources, "defaultMode": 420}})


def _tolerations(review: Review) -> None:
    """On changes too: a PUT that leaves them out would otherwise take them away, which may not be."""
    if review.resource.storage != ("", "pods") or review.subresource is not None:
        return
    spec = review.obj["spec"]
    tolerations = list(spec.get("tolerations") or ())
    for key in _NOT_READY:
        if not any(_tolerates_execution(each, key) for each in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    spec["tolerations"] = tolerations


def _tolerates_execution(toleration: Mapping[str, Any], key: str) -> bool:
    matches_key = toleration.get("key", "") == key or (
        not toleration.get("key") and toleration.get("operator") == "Exists"
    )
    return matches_key and toleration.get("effect", "") in ("", "NoExecute")


def _priority(review: Review) -> None:
    if not _creates_pod(review):
        return
    spec = review.obj["spec"]
    name = spec.get("priorityClassName")
    classes = [obj for _, obj in review.store.items(("scheduling.k8s.io", "priorityclasses"))]
    chosen: Mapping[str, Any] | None
    if name:
        chosen = next((each for each in classes if each["metadata"]["name"] == name), None)
        if chosen is None and name in _SYSTEM_PRIORITIES:
            chosen = {"value": _SYSTEM_PRIORITIES[name]}
        if chosen is None:
            raise _refuse(review, f"no PriorityClass with name {name} was found")
    else:
        default = [each for each in classes if each.get("globalDefault")]
        chosen = min(default, key=lambda each: int(each["value"]), default=None)
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]
    value = int(chosen["value"]) if chosen else 0
    if spec.get("priority") not in (None, value):
        raise _refuse(
            review,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority "
            "admission controller"
            f" computed {value} from the given PriorityClass name",
        )
    spec["priority"] = value
    policy = (chosen or {}).get("preemptionPolicy") or "PreemptLowerPriority"
    if spec.get("preemptionPolicy") not in (None, policy):
        raise _refuse(
            review,
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name",
        )
    spec["preemptionPolicy"] = policy


def _one_default_priority(review: Review) -> None:
    if review.resource.storage != ("scheduling.k8s.io", "priorityclasses") or not review.obj.get("globalDefault"):
        return
    for (_, name), each in review.store.items(review.resource.storage):
        if each.get("globalDefault") and name != review.name:
            why = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise _refuse(review, why)


def _runtime_class(review: Review) -> None:
    """A class adds its overhead, node selector and tolerations to the Pods that name it."""
    if not _creates_pod(review):
        return
    spec = review.obj["spec"]
    name = spec.get("runtimeClassName")
    found = review.store.get(("node.k8s.io", "runtimeclasses"), ("", name)) if name else None
    if name and found is None:
        raise _refuse(review, f'pod rejected: RuntimeClass "{name}" not found')
    overhead = ((found or {}).get("overhead") or {}).get("podFixed")
    if spec.get("overhead") is not None and not overhead:
        raise _refuse(review, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
    if spec.get("overhead") is not None and spec["overhead"] != (overhead or {}):
        raise _refuse(review, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    if overhead:
        spec["overhead"] = dict(overhead)
    scheduling = (found or {}).get("scheduling") or {}
    wanted, held = scheduling.get("nodeSelector") or {}, spec.get("nodeSelector") or {}
    for key, value in wanted.items():
        if held.get(key, value) != value:
            where = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {held[key]}"
            raise _refuse(review, f"conflict: {where}")
    if wanted:
        spec["nodeSelector"] = {**held, **wanted}
    if scheduling:
        tolerations = _merged_tolerations([*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())])
        spec["tolerations"] = tolerations


def _merged_tolerations(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without those that another one includes; of equal ones the first."""
    kept: list[dict[str, Any]] = []
    for index, each in enumerate(given):
        later = [other for other in given[index + 1 :] if other != each]
        if not any(_includes(other, each) for other in (*kept, *later)):
            kept.append(each)
    return kept


def _includes(wide: Mapping[str, Any], narrow: Mapping[str, Any]) -> bool:
    if wide == narrow:
        return True
    operator, key = wide.get("operator") or "Equal", wide.get("key") or ""
    if (narrow.get("key") or "") != key and (key or operator != "Exists"):
        return False
    effect, seconds = wide.get("effect") or "", wide.get("tolerationSeconds")
    if effect not in ("", narrow.get("effect") or ""):
        return False
    held = narrow.get("tolerationSeconds")
    if effect == "NoExecute" and seconds is not None and (held is None or held > seconds):
        return False
    is_equal = narrow.get("operator") == "Equal" and (narrow.get("value") or "") == (wide.get("value") or "")
    return operator == "Exists" or is_equal


# --- Limit ranges ---


def _limits(review: Review) -> list[dict[str, Any]]:
    ranges = review.store.items(("", "limitranges"), review.namespace)
    return [limit for _, each in ranges for limit in each["spec"].get("limits") or ()]


def _limit_defaults(review: Review) -> None:
    if not _creates_pod(review):
        return
    limits = [limit for limit in _limits(review) if limit.get("type") == "Container"]
    notes: list[str] = []
    for key, label in (("containers", "container"), ("initContainers", "init container")):
        for container in review.obj["spec"].get(key) or ():
            resources = container.setdefault("resources", {})
            for part, default, what in (("requests", "defaultRequest", "request"), ("limits", "default", "limit")):
                filled = _fill(resources, part, limits, default)
                if filled:
                    notes.append(f"{', '.join(filled)} {what} for {label} {container.get('name', '')}")
    if notes:
        annotations = review.obj["metadata"].setdefault("annotations", {})
        annotations["kubernetes.io/limit-ranger"] = "LimitRanger plugin set: " + "; ".join(notes)


def _fill(resources: dict[str, Any], part: str, limits: list[dict[str, Any]], default: str) -> list[str]:
    filled = []
    for limit in limits:
        for name, value in sorted((limit.get(default) or {}).items()):
            if name not in (resources.get(part) or {}):
                resources.setdefault(part, {})[name] = value
                filled.append(name)
    return filled


def _limit_bounds(review: Review) -> None:
    if _creates_pod(review):
        errors = [e for limit in _limits(review) for e in _pod_errors(limit, review.obj["spec"])]
    elif review.resource.storage == ("", "persistentvolumeclaims") and review.subresource is None:
        errors = [
            error
            for limit in _limits(review)
            if limit.get("type") == "PersistentVolumeClaim"
            for error in _bound_errors(limit, "PersistentVolumeClaim", review.obj["spec"].get("resources") or {})
        ]
    else:
        return
    if errors:
        raise _refuse(review, errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


def _pod_errors(limit: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    if limit.get("type") == "Container":
        return [e for each in containers for e in _bound_errors(limit, "Container", each.get("resources") or {})]
    if limit.get("type") != "Pod":
        return []
    parts: tuple[Part, ...] = ("requests", "limits")
    total = {
        part: {name: each.value for name, each in pod_amounts(spec, part, with_overhead=False).items()}
        for part in parts
    }
    return _bound_errors(limit, "Pod", total)


def _bound_errors(limit: dict[str, Any], kind: str, resources: Mapping[Any, Any]) -> list[str]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    errors = []
    for name, bound in sorted((limit.get("min") or {}).items()):
        errors += _minimum(name, bound, requests, limits, kind)
    for name, bound in sorted((limit.get("max") or {}).items()):
        errors += _maximum(name, bound, requests, limits, kind)
    for name, ratio in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
        requested, most = amount(_text(requests.get(name, "0"))), amount(_text(limits.get(name, "0")))
        bound = f"{name} max limit to request ratio per {kind} is {ratio}, but"
        if not requested:
            errors.append(f"{bound} no request is specified or request is 0")
        elif not most:
            errors.append(f"{bound} no limit is specified or limit is 0")
        elif most / requested > amount(ratio):
            errors.append(f"{bound} provided ratio is {float(most / requested):f}")
    return errors


def _minimum(name: str, bound: str, requests: Mapping[str, Any], limits: Mapping[str, Any], kind: str) -> list[str]:
    if name not in requests:
        return [f"minimum {name} usage per {kind} is {bound}.  No request is specified"]
    if amount(_text(requests[name])) < amount(bound):
        return [f"minimum {name} usage per {kind} is {bound}, but request is {_text(requests[name])}"]
    if name in limits and amount(_text(limits[name])) < amount(bound):
        return [f"minimum {name} usage per {kind} is {bound}, but limit is {_text(limits[name])}"]
    return []


def _maximum(name: str, bound: str, requests: Mapping[str, Any], limits: Mapping[str, Any], kind: str) -> list[str]:
    if kind == "PersistentVolumeClaim":
        if name in requests and amount(requests[name]) > amount(bound):
            return [f"maximum {name} usage per {kind} is {bound}, but request is {requests[name]}"]
        return []
    if name not in limits:
        return [f"maximum {name} usage per {kind} is {bound}.  No limit is specified"]
    if amount(_text(limits[name])) > amount(bound):
        return [f"maximum {name} usage per {kind} is {bound}, but limit is {_text(limits[name])}"]
    if name in requests and amount(_text(requests[name])) > amount(bound):
        return [f"maximum {name} usage per {kind} is {bound}, but request is {_text(requests[name])}"]
    return []


def _text(value: Any) -> str:
    """A sum of amounts is told as the server writes one: `1500m`, not `1.5`."""
    return value if isinstance(value, str) else canonical(f"{value:f}")


# --- Pod Security ---


def _pod_security(review: Review) -> None:
    name = review.name or review.obj["metadata"].get("generateName") or "Unknown"
    pod_security.check(
        review.store,
        review.resource,
        review.namespace,
        name,
        review.obj,
        review.old,
        review.subresource,
        review.warnings,
    )


# --- Nodes ---


def _new_node_taint(review: Review) -> None:
    """A node takes no Pods until it is known to be ready; who finds it so takes the taint away."""
    if review.resource.storage != ("", "nodes") or review.old is not None:
        return
    taints = review.obj.setdefault("spec", {}).setdefault("taints", [])
    if all((each.get("key"), each.get("effect")) != (_NOT_READY[0], "NoSchedule") for each in taints):
        taints.append({"key": _NOT_READY[0], "effect": "NoSchedule"})


# --- Storage ---


def _storage_protection(review: Review) -> None:
    finalizer = {
        ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
        ("", "persistentvolumes"): "kubernetes.io/pv-protection",
        ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
    }.get(review.resource.storage)
    if finalizer is None or review.old is not None:
        return
    finalizers = review.obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def _default_storage_class(review: Review) -> None:
    if review.resource.storage != ("", "persistentvolumeclaims") or review.old is not None:
        return
    annotations = review.obj["metadata"].get("annotations") or {}
    if review.obj["spec"].get("storageClassName") is not None or STORAGE_CLASS_ANNOTATION in annotations:
        return
    marked = [
        each
        for _, each in review.store.items(("storage.k8s.io", "storageclasses"))
        if (each["metadata"].get("annotations") or {}).get("storageclass.kubernetes.io/is-default-class") == "true"
    ]
    if marked:
        newest = max(marked, key=lambda each: str(each["metadata"]["creationTimestamp"]))
        review.obj["spec"]["storageClassName"] = newest["metadata"]["name"]


def _claim_growth(review: Review) -> None:
    """A claim grows where it has a volume whose class says that it can."""
    old = review.old
    if review.resource.storage != ("", "persistentvolumeclaims") or old is None or review.subresource is not None:
        return
    sizes = [
        amount(str(((each["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")))
        for each in (review.obj, old)
    ]
    if sizes[0] <= sizes[1]:
        return
    if (old.get("status") or {}).get("phase") != "Bound":
        raise _refuse(review, "Only bound persistent volume claims can be expanded")
    name = class_of(old)
    found = review.store.get(("storage.k8s.io", "storageclasses"), ("", name)) if name else None
    if name != class_of(review.obj) or not (found or {}).get("allowVolumeExpansion"):
        why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must"
        raise _refuse(review, f"{why} support resize")


_MUTATING: tuple[Plugin, ...] = (
    _namespace_lifecycle,
    _limit_defaults,
    _service_account,
    _tolerations,
    _priority,
    _runtime_class,
    _new_node_taint,
    _default_storage_class,
    _storage_protection,
)
_VALIDATING: tuple[Plugin, ...] = (_limit_bounds, _pod_security, _one_default_priority, _claim_growth)
