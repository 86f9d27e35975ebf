"""Fields behind feature gates that are off: a server drops them from what is written, without a word."""

from __future__ import annotations

from runtimes.sandbox.pod_templates import TEMPLATE_AT
from runtimes.sandbox.resources import Resource
from runtimes.sandbox.store import Object


def drop(resource: Resource, obj: Object) -> None:
    """Take out of `obj` what no gate lets in."""
    if resource.storage == ("", "pods"):
        _drop_from_pod(_at(obj, "spec"))
    elif (template := TEMPLATE_AT.get(resource.storage)) is not None:
        _drop_from_pod(_at(obj, *template, "spec"))
    match resource.storage:
        case ("apps", "statefulsets"):
            _at(obj, "spec", "updateStrategy", "rollingUpdate").pop("maxUnavailable", None)
        case ("autoscaling", "horizontalpodautoscalers"):
            for way in ("scaleUp", "scaleDown"):
                _at(obj, "spec", "behavior", way).pop("tolerance", None)
        case ("", "persistentvolumeclaims"):
            _fill_source(_at(obj, "spec"))


def _at(obj: Object, *path: str) -> Object:
    """The object at the path, one of no consequence where there is none."""
    found: Object = obj
    for step in path:
        inner = found.get(step)
        if not isinstance(inner, dict):
            return {}
        found = inner
    return found


def _drop_from_pod(spec: Object) -> None:
    spec.pop("hostnameOverride", None)
    images = {volume.get("name") for volume in spec.get("volumes") or () if volume.get("image") is not None}
    if not images:
        return
    for holder, key in [(spec, "volumes")] + [
        (container, "volumeMounts")
        for kind in ("containers", "initContainers", "ephemeralContainers")
        for container in spec.get(kind) or ()
    ]:
        left = [each for each in holder.get(key) or () if each.get("name") not in images]
        if left:
            holder[key] = left
        else:
            holder.pop(key, None)


def _fill_source(spec: Object) -> None:
    """What a claim is filled from stands in two fields, of which the older one takes less."""
    if (spec.get("dataSourceRef") or {}).get("namespace"):
        del spec["dataSourceRef"]
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source and not reference and not _is_copied_from(source):
        del spec["dataSource"]
    elif source and not reference:
        spec["dataSourceRef"] = dict(source)
    elif reference and not source:
        spec["dataSource"] = dict(reference)


def _is_copied_from(source: Object) -> bool:
    kinds = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
    return (source.get("apiGroup") or "", source.get("kind")) in kinds
