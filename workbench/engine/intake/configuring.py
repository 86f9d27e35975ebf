"""A live object as a configuration would say it: without what the server filled in. Pure.

A field may go where the server would fill in the same again, by what is known of its schemas (`Fill`), or where it is
drawn for this one object: an address, a uid. A field that a person set stays, also where it has the value that the
server would give it: taken out of the configuration it would count as theirs, not as the stack's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from kcl.records import dataclass
from runtimes.base import Body, KubernetesId, LiveResource, Prediction
from workbench.engine.diff import left_alone, same
from workbench.engine.fields import find, plain_steps
from workbench.engine.intake.values import Found, without_nulls
from workbench.engine.masking import LAST_APPLIED
from workbench.engine.placement import COMPONENT, MANAGED_BY, PROJECT, STACK

Fill = Callable[[Mapping[str, Any]], dict[str, Any] | None]
"""Returns an object with the defaults of its kind filled in, None where nobody knows them."""
Path = tuple[str | int, ...]
Plain = dict[str, Any]

_IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata"})
_ANNOTATIONS_OF_CONTROLLERS: Final = (
    "deployment.kubernetes.io/",
    "deprecated.daemonset.template.generation",
    "pv.kubernetes.io/",
    "volume.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "batch.kubernetes.io/job-tracking",
    "control-plane.alpha.kubernetes.io/",
)
_SERVER_METADATA: Final = (
    *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName"),
    *("generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"),
)
_JOB_LABELS: Final = frozenset(
    {"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"}
)
_NOTHING_SAID: Final = frozenset({"resources", "securityContext"})
"""Fields that a server writes out although nothing is in them."""
_SCALED: Final = ("spec", "replicas")


def configured(live: LiveResource, fill: Fill, scaled: Mapping[tuple[str, str], str]) -> Found:
    """Returns what of a live object its configuration has to say.

    `scaled` are workloads whose size an autoscaler decides, by kind and name, with its name.
    """
    id_ = live.id
    assert isinstance(id_, KubernetesId), "a cluster has no others"
    scaler = scaled.get((id_.kind, id_.name), "")
    chosen = _chosen(live, {})
    found = _configured(live, fill, scaler, chosen)
    # what identifies an element counts as chosen only where the element says nothing else
    if more := _chosen(live, found.body):
        found = _configured(live, fill, scaler, chosen | more)
    return found


def _configured(live: LiveResource, fill: Fill, scaler: str, chosen: Collection[Path]) -> Found:
    id_ = live.id
    assert isinstance(id_, KubernetesId), "a cluster has no others"
    body = without_bookkeeping(live.body)
    _KINDS.get((id_.group, id_.kind), _as_it_is)(body, chosen)
    notes: list[str] = []
    if scaler and _SCALED not in chosen and "replicas" in body.get("spec", {}):
        del body["spec"]["replicas"]
        notes.append(f"spec.replicas is left to {scaler}")
    _take_nothing_said(body, chosen, ())
    filled = fill(body)
    if filled is None:
        notes.append("its defaults are not known, so all that the server has is written out")
    else:
        _Defaults(body, fill, chosen, _atomic(live)).take(body, filled, ())
    return Found(id_, body, tuple(notes))


def autoscaled(bodies: Collection[Body]) -> dict[tuple[str, str], str]:
    """Returns the workloads that autoscalers among the objects size."""
    found = {}
    for each in bodies:
        match each:
            case {
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": name},
                "spec": {"scaleTargetRef": {"kind": str() as kind, "name": str() as target}},
            }:
                found[kind, target] = f"HorizontalPodAutoscaler/{name}"
    return found


def _chosen(live: LiveResource, said: Body) -> frozenset[Path]:
    """The fields that a person set and a configuration does not say, by plain steps, and all that they are in."""
    everything = left_alone(Prediction(id=live.id, live=live, after=live.body), said)
    paths = (plain_steps(live.body, each) for each in everything)
    return frozenset(path[:end] for path in paths for end in range(1, len(path) + 1))


def without_bookkeeping(body: Body) -> Plain:
    """Returns an object without what servers, controllers and this program write beside what is wanted."""
    plain: Plain = without_nulls(deepcopy(dict(body)))
    metadata = plain["metadata"]
    for name in _SERVER_METADATA:
        metadata.pop(name, None)
    annotations = metadata.get("annotations", {})
    for name in [*annotations]:
        if name == LAST_APPLIED or name.startswith(_ANNOTATIONS_OF_CONTROLLERS):
            del annotations[name]
    labels = metadata.get("labels", {})
    for name in (PROJECT, STACK, COMPONENT):
        labels.pop(name, None)
    if labels.get(MANAGED_BY) == "workbench":
        del labels[MANAGED_BY]
    for name in ("annotations", "labels"):
        if not metadata.get(name, True):
            del metadata[name]
    return plain


@dataclass(frozen=True, slots=True)
class _Defaults:
    """Takes out of `whole`, in place, what filling it brings back; whole mappings before what is in them."""

    whole: Plain
    fill: Fill
    chosen: Collection[Path]
    atomic: Collection[Path]

    def take(self, part: Any, filled: Mapping[str, Any], path: Path) -> None:
        for key, each in list(_items(part)):
            below = (*path, key)
            if (not path and key in _IDENTITY) or self._took(part, key, filled, below):
                continue
            if isinstance(each, dict | list) and below not in self.atomic:
                self.take(each, filled, below)

    def _took(self, part: Any, key: Any, filled: Mapping[str, Any], path: Path) -> bool:
        if not isinstance(part, dict) or path in self.chosen:
            return False
        before = dict(part)
        del part[key]
        if same(self.fill(self.whole), filled):
            return True
        part.clear()
        part.update(before)  # in the order it had
        return False


def _atomic(live: LiveResource) -> frozenset[Path]:
    """The mappings and lists that are owned as wholes: one that says less is another one."""
    paths = (plain_steps(live.body, each.path) for each in live.owners)
    return frozenset(each for each in paths if isinstance(find(live.body, each), dict | list))


def _take_nothing_said(part: Any, chosen: Collection[Path], path: Path) -> None:
    for key, each in list(_items(part)):
        if each == {} and key in _NOTHING_SAID and (*path, key) not in chosen:
            del part[key]
        elif isinstance(each, dict | list):
            _take_nothing_said(each, chosen, (*path, key))


def _items(part: Any) -> Iterator[tuple[str | int, Any]]:
    return iter(part.items()) if isinstance(part, dict) else iter(enumerate(part))


def _as_it_is(body: Plain, chosen: Collection[Path]) -> None:
    return None


def _service(body: Plain, chosen: Collection[Path]) -> None:
    """Addresses are drawn; ports of nodes too, but others may have been told of them, so they stay."""
    spec = body.get("spec", {})
    if spec.get("clusterIP") != "None" and ("spec", "clusterIP") not in chosen:
        spec.pop("clusterIP", None)
    if ("spec", "clusterIPs") not in chosen:
        spec.pop("clusterIPs", None)
    # What a cluster of one family gives a Service that asks for nothing. With more families somebody chose.
    if spec.get("ipFamilyPolicy") == "SingleStack" and spec.get("ipFamilies") == ["IPv4"]:
        for name in ("ipFamilyPolicy", "ipFamilies"):
            if ("spec", name) not in chosen:
                del spec[name]


def _job(body: Plain, chosen: Collection[Path]) -> None:
    """A Job that names no selector gets one with its own uid, which the next one will not have."""
    spec = body.get("spec", {})
    if spec.get("manualSelector") is True:
        return
    spec.pop("selector", None)
    for metadata in (body["metadata"], spec.get("template", {}).get("metadata", {})):
        labels = metadata.get("labels", {})
        for name in _JOB_LABELS & labels.keys():
            del labels[name]
        if not labels:
            metadata.pop("labels", None)


def _claim(body: Plain, chosen: Collection[Path]) -> None:
    if ("spec", "volumeName") not in chosen:
        body.get("spec", {}).pop("volumeName", None)


def _stateful(body: Plain, chosen: Collection[Path]) -> None:
    for each in body.get("spec", {}).get("volumeClaimTemplates", ()):
        each.pop("status", None)


def _namespace(body: Plain, chosen: Collection[Path]) -> None:
    body.pop("spec", None)  # its finalizers, which the server sets
    labels = body["metadata"].get("labels", {})
    labels.pop("kubernetes.io/metadata.name", None)
    if not labels:
        body["metadata"].pop("labels", None)


def _pod(body: Plain, chosen: Collection[Path]) -> None:
    """Where it runs, and what admission gives every pod: its token, two tolerations, its priority."""
    spec = body.get("spec", {})
    for name in ("nodeName", "priority", "preemptionPolicy"):
        if ("spec", name) not in chosen:
            spec.pop(name, None)
    spec["volumes"] = [each for each in spec.get("volumes", ()) if not _is_token(each)]
    spec["tolerations"] = [
        each
        for each in spec.get("tolerations", ())
        if not (str(each.get("key", "")).startswith("node.kubernetes.io/") and each.get("tolerationSeconds") == 300)
    ]
    parts = [spec, *spec.get("containers", ()), *spec.get("initContainers", ())]
    for each in parts[1:]:
        each["volumeMounts"] = [mount for mount in each.get("volumeMounts", ()) if not _is_token(mount)]
    for each in parts:
        for name in ("volumes", "tolerations", "volumeMounts"):
            if not each.get(name, True):
                del each[name]


def _is_token(volume: Any) -> bool:
    return isinstance(volume, dict) and str(volume.get("name", "")).startswith("kube-api-access-")


_KINDS: Final[Mapping[tuple[str, str], Callable[[Plain, Collection[Path]], None]]] = {
    ("", "Namespace"): _namespace,
    ("", "Service"): _service,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("apps", "StatefulSet"): _stateful,
    ("batch", "Job"): _job,
}
