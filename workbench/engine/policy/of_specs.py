"""Rules about what a stack says.

Containers are found wherever a body has them, so that workloads of custom kinds are looked at like those of Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any, Final

from runtimes.base import Body, FieldPath, KubernetesId, ListKey, value_at
from runtimes.base.quantity import amount
from workbench.engine.policy.findings import Violation
from workbench.engine.policy.rules import Look, Parameters, Rule, Subject, is_decided

_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_HAS_REPLICAS: Final = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"})
_HOST: Final = ("privileged", "hostNetwork", "hostPID", "hostIPC", "hostPath", "hostPort")
_RESOURCES: Final = re.compile(r"(limits|requests)\.[a-z0-9./-]+")
_TAG: Final = re.compile(r":([^:/@]+)$")


def pods(body: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    """Yields every mapping in a body that lists containers: the pod itself, or the template of one."""
    match body:
        case Mapping():
            if any(isinstance(body.get(each), list) for each in _LISTS):
                yield path, body
            for key, each in body.items():
                if key not in _LISTS:
                    yield from pods(each, (*path, key))
        case list():
            for index, each in enumerate(body):
                yield from pods(each, (*path, index))


def containers(body: Any, lists: tuple[str, ...] = _LISTS) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    for path, pod in pods(body):
        for name in lists:
            listed = pod.get(name)
            for index, each in enumerate(listed if isinstance(listed, list) else ()):
                if isinstance(each, Mapping):
                    own = each.get("name")
                    step = ListKey((("name", own),)) if isinstance(own, str) and own else index
                    yield (*path, name, step), each


def full_name(image: str) -> str:
    """`nginx:1` → `docker.io/library/nginx`: registry and repository of a reference, without tag and digest.

    (https://github.com/distribution/reference/blob/main/normalize.go)
    """
    name = _TAG.sub("", image.partition("@")[0])
    first, slash, rest = name.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        first, rest = "docker.io", name if slash else f"library/{name}"
    if first in ("docker.io", "index.docker.io"):
        return f"docker.io/{rest if '/' in rest else f'library/{rest}'}"
    return f"{first}/{rest}"


def _images(subject: Subject) -> Iterator[tuple[KubernetesId, FieldPath, Any]]:
    for id_, body in subject.objects():
        for path, container in containers(body):
            if "image" in container:
                yield id_, (*path, "image"), container["image"]


def _about_images(judge: Callable[[str], str]) -> Look:
    """`judge` says what is wrong with an image, nothing where it is allowed."""

    def look(subject: Subject) -> Iterator[Violation]:
        for id_, path, image in _images(subject):
            if not isinstance(image, str) or not is_decided(image):
                yield Violation("which image it is, only applying decides", id_, path, is_unknown=True)
            elif said := judge(image):
                yield Violation(said, id_, path)

    return look


def _image_registries(parameters: Parameters) -> Look:
    allowed = parameters.texts("allowed")

    def judge(image: str) -> str:
        name = full_name(image)
        return "" if any(fnmatchcase(name, each) for each in allowed) else f"{name} is from no allowed registry"

    return _about_images(judge)


def _image_tags(parameters: Parameters) -> Look:
    forbidden, needs_digest = parameters.texts("forbidden", ("latest",)), parameters.flag("digest")

    def judge(image: str) -> str:
        name, at, _ = image.partition("@")
        if at:
            return ""
        if needs_digest:
            return f"{image} is no digest: the same tag may be another image tomorrow"
        found = _TAG.search(name)
        tag = found[1] if found else "latest"
        said = "" if found else ", as no tag is said"
        return f"tag {tag} is forbidden{said}" if any(fnmatchcase(tag, each) for each in forbidden) else ""

    return _about_images(judge)


def _resource_limits(parameters: Parameters) -> Look:
    required = parameters.texts("required", ())
    most = {name: _quantity(name, value, parameters) for name, value in parameters.mapping("most").items()}
    for name in (*required, *most):
        if not _RESOURCES.fullmatch(name):
            raise parameters.wrong(f"with: {name!r} is no limit or request", "write limits.memory or requests.cpu")
    if not required and not most:
        raise parameters.lacking("with: needs required, most or both")

    def look(subject: Subject) -> Iterator[Violation]:
        for id_, body in subject.objects():
            for path, container in containers(body, ("containers", "initContainers")):
                for name in dict.fromkeys((*required, *most)):
                    kind, _, resource = name.partition(".")
                    field = (*path, "resources", kind, resource)
                    value = value_at(container, ("resources", kind, resource))
                    if value is None:
                        if name in required:
                            yield Violation(f"{name} is not set", id_, field)
                    elif name in most:
                        yield from _more_than(most[name], value, name, id_, field)

    return look


def _quantity(name: str, value: Any, parameters: Parameters) -> tuple[Decimal, str]:
    try:
        return amount(str(value)), str(value)
    except ValueError:
        raise parameters.wrong(f"with: most {name} needs to be a quantity such as 500m or 2Gi, got {value!r}") from None


def _more_than(
    most: tuple[Decimal, str], value: Any, name: str, id_: KubernetesId, path: FieldPath
) -> Iterator[Violation]:
    if not is_decided(value):
        yield Violation(f"how much {name} is, only applying decides", id_, path, is_unknown=True)
        return
    try:
        is_more = amount(str(value)) > most[0]
    except ValueError:
        yield Violation(f"{name} {value} is no quantity", id_, path, is_unknown=True)
        return
    if is_more:
        yield Violation(f"{name} {value} is more than {most[1]}", id_, path)


def _replicas(parameters: Parameters) -> Look:
    least, most = parameters.whole("least"), parameters.whole("most")
    if least is None and most is None:
        raise parameters.lacking("with: needs least, most or both")

    def look(subject: Subject) -> Iterator[Violation]:
        scaled = {key: hpa for _, body in _unfiltered(subject) if (hpa := _scaled(body)) for key in (hpa[0],)}
        for id_, body in subject.objects():
            spec = body.get("spec")
            if not isinstance(spec, Mapping) or (id_.kind not in _HAS_REPLICAS and "replicas" not in spec):
                continue
            autoscaler = scaled.get((id_.kind, id_.namespace, id_.name))
            if autoscaler is not None:
                fewest, largest, said = autoscaler[1], autoscaler[2], " by its autoscaler"
            else:
                fewest = largest = spec.get("replicas", 1)
                said = "" if "replicas" in spec else ", as none are said"
            if least is not None:
                yield from _against(id_, fewest, f"{said}: at least {least} are needed", lambda n: n < least)
            if most is not None:
                yield from _against(id_, largest, f"{said}: at most {most} are allowed", lambda n: n > most)

    return look


def _against(id_: KubernetesId, replicas: Any, said: str, is_wrong: Callable[[int], bool]) -> Iterator[Violation]:
    path = ("spec", "replicas")
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        yield Violation("how many replicas, only applying decides", id_, path, is_unknown=True)
    elif is_wrong(replicas):
        yield Violation(f"{replicas}{said}", id_, path)


def _unfiltered(subject: Subject) -> Iterator[tuple[KubernetesId, Body]]:
    for id_, bodies in subject.bodies.items():
        if isinstance(id_, KubernetesId):
            for body in bodies:
                yield id_, body


def _scaled(body: Body) -> tuple[tuple[str, str, str], Any, Any] | None:
    """What an autoscaler scales, and between which numbers."""
    if body.get("kind") != "HorizontalPodAutoscaler":
        return None
    target = value_at(body, ("spec", "scaleTargetRef"), {})
    namespace = value_at(body, ("metadata", "namespace"), "") or ""
    if not isinstance(target, Mapping):
        return None
    key = (str(target.get("kind")), str(namespace), str(target.get("name")))
    return key, value_at(body, ("spec", "minReplicas"), 1), value_at(body, ("spec", "maxReplicas"))


def _required_metadata(parameters: Parameters) -> Look:
    wanted = [(part, name, glob) for part in ("labels", "annotations") for name, glob in _named(parameters, part)]
    if not wanted:
        raise parameters.lacking("with: needs labels, annotations or both")

    def look(subject: Subject) -> Iterator[Violation]:
        for id_, body in subject.objects():
            for part, name, glob in wanted:
                path = ("metadata", part, name)
                value = value_at(body, path)
                if value is None:
                    yield Violation(f"{part[:-1]} {name} is missing", id_, path)
                elif not is_decided(value):
                    yield Violation(f"what {part[:-1]} {name} is, only applying decides", id_, path, is_unknown=True)
                elif not fnmatchcase(str(value), glob):
                    yield Violation(f"{part[:-1]} {name} is {value}, not {glob}", id_, path)

    return look


def _named(parameters: Parameters, part: str) -> list[tuple[str, str]]:
    """Names alone, or names with globs for their values."""
    value = parameters.take(part)
    match value:
        case None:
            return []
        case list() if value and all(isinstance(each, str) and each for each in value):
            return [(each, "*") for each in value]
        case dict() if value and all(isinstance(each, str) for pair in value.items() for each in pair):
            return list(value.items())
    raise parameters.wrong(f"with: {part} needs to be a list of names, or a mapping of names to globs")


def _no_host_access(parameters: Parameters) -> Look:
    allowed = parameters.texts("allow", ())
    for each in allowed:
        if each not in _HOST:
            raise parameters.wrong(f"with: allow knows no {each!r}", f"known: {', '.join(_HOST)}")

    def look(subject: Subject) -> Iterator[Violation]:
        for id_, body in subject.objects():
            for what, path, value in _host_access(body):
                if what in allowed:
                    continue
                if not is_decided(value):
                    yield Violation(f"whether {what} is set, only applying decides", id_, path, is_unknown=True)
                else:
                    yield Violation(f"{what} gives it what belongs to the node", id_, path)

    return look


def _host_access(body: Body) -> Iterator[tuple[str, FieldPath, Any]]:
    for path, pod in pods(body):
        for name in ("hostNetwork", "hostPID", "hostIPC"):
            if pod.get(name):
                yield name, (*path, name), pod[name]
        volumes = pod.get("volumes")
        for index, volume in enumerate(volumes if isinstance(volumes, list) else ()):
            if isinstance(volume, Mapping) and volume.get("hostPath") is not None:
                yield "hostPath", (*path, "volumes", index, "hostPath"), True
    for path, container in containers(body):
        if privileged := value_at(container, ("securityContext", "privileged")):
            yield "privileged", (*path, "securityContext", "privileged"), privileged
        ports = container.get("ports")
        for index, port in enumerate(ports if isinstance(ports, list) else ()):
            if isinstance(port, Mapping) and port.get("hostPort"):
                yield "hostPort", (*path, "ports", index, "hostPort"), port["hostPort"]


RULES: Final = (
    Rule(
        "image-registries",
        "Images come from certain registries and repositories.",
        'allowed: ["registry.example/*"]',
        _image_registries,
    ),
    Rule(
        "image-tags",
        "Images have a tag that stays what it is; with digest: true they are named by digest.",
        "forbidden: [latest], digest: false",
        _image_tags,
    ),
    Rule(
        "resource-limits",
        "Containers say what they need, and need no more than so much.",
        "required: [requests.cpu, limits.memory], most: {limits.memory: 8Gi}",
        _resource_limits,
    ),
    Rule(
        "replicas",
        "Workloads have at least and at most so many replicas; those of an autoscaler are what counts.",
        "least: 2, most: 50",
        _replicas,
    ),
    Rule(
        "required-metadata",
        "Objects carry labels or annotations, with values that match.",
        'labels: [team] or {team: "orchard-*"}, annotations: ...',
        _required_metadata,
    ),
    Rule(
        "no-host-access",
        "Pods get nothing that belongs to their node.",
        f"allow: some of {', '.join(_HOST)}",
        _no_host_access,
    ),
)
