"""A Spec as it goes to clusters: with the namespaces its placement gives, and the labels that say whose it is."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from kcl.records import replace
from runtimes.base import (
    UNKNOWN,
    Body,
    Ids,
    KubernetesId,
    Reference,
    Resource,
    ResourceId,
    Unknown,
    is_unknown,
    refers,
    replaced,
)
from runtimes.base.resource import look_for_references
from runtimes.base.scopes import CLUSTER_WIDE
from workbench.engine.spec import Spec, validate
from workbench.project import NamespaceRule, StackPath

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
PROJECT: Final = "workbench.konfig.io/project"
STACK: Final = "workbench.konfig.io/stack"
COMPONENT: Final = "workbench.konfig.io/component"
OWNERSHIP: Final = frozenset({MANAGED_BY, PROJECT, STACK, COMPONENT})

_COMPONENT_LABELS = ("app.kubernetes.io/component", "app.kubernetes.io/name", "component", "app")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def ownership(stack: StackPath) -> dict[str, str]:
    """Returns the labels that select everything a stack owns."""
    return {PROJECT: label_value(stack.project), STACK: label_value(stack.stack)}


def place(spec: Spec, stack: StackPath, rule: NamespaceRule | None) -> Spec:
    """Returns the Spec as it is applied. Only Kubernetes resources change; ids follow their namespaces.

    References to them in other resources follow the ids.
    """
    wide = CLUSTER_WIDE | _cluster_wide_kinds(spec)
    placed = {each.id: _placed(each, stack, rule, wide) for each in spec}
    moved = {old: new.id for old, new in placed.items()}
    look_for_references(tuple(placed.values()))
    ids = {str(old): old for old in moved}

    def follow(reference: Reference) -> Reference:
        return replace(reference, id=moved[reference.id])

    resources = tuple(
        replace(
            each,
            attributes=_follow(each, ids, follow),
            depends_on=tuple(moved[other] for other in each.depends_on),
        )
        if each.depends_on or each.may_refer
        else each
        for each in placed.values()
    )
    if len(set(moved.values())) < len(moved):
        validate(
            resources, spec.stack
        )  # names two that have become one; nothing else of a Spec is less valid than it was
    origins = {moved[id_]: origin for id_, origin in spec.origins.items()}
    return replace(spec, resources=resources, origins=origins)


def _follow(resource: Resource, ids: Ids, follow: Callable[[Reference], Reference]) -> Body:
    """What a function makes of plain values is known now, and the `data` of a Secret where it is in one."""
    found: Body = replaced(resource.attributes, ids, follow, again=True)
    is_secret = found is not resource.attributes and is_core_secret(resource.id)
    return encoded(found) if is_secret else found


def is_core_secret(id_: ResourceId) -> bool:
    return isinstance(id_, KubernetesId) and id_.kind == "Secret" and not id_.group


def component(body: Body) -> str:
    """Returns the component an object belongs to by its labels, empty if they do not say."""
    labels = _labels(body)
    return next((str(labels[each]) for each in _COMPONENT_LABELS if labels.get(each)), "")


def label_value(text: str) -> str:
    """Returns `text` where it may stand in a label, else what is left of it with a digest that keeps it unique."""
    if _LABEL_VALUE.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    kept = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-_.")[:50].strip("-_.")
    return f"{kept}-{digest}" if kept else digest


def _placed(resource: Resource, stack: StackPath, rule: NamespaceRule | None, wide: frozenset[str]) -> Resource:
    if not isinstance(resource.id, KubernetesId):
        return resource
    id_ = resource.id
    body: dict[str, Any] = dict(resource.attributes)
    metadata: dict[str, Any] = dict(body["metadata"]) if isinstance(body.get("metadata"), Mapping) else {}
    own = component(body)
    if not metadata.get("namespace") and id_.kind not in wide:
        namespace = id_.namespace or (rule.namespace(stack, own or id_.name) if rule else "")
        if namespace:
            metadata["namespace"] = namespace
            id_ = replace(id_, namespace=namespace)
    labels = {MANAGED_BY: "workbench", **_labels(body), **ownership(stack)}
    if own:
        labels[COMPONENT] = label_value(own)
    metadata["labels"] = labels
    body["metadata"] = metadata
    if is_core_secret(id_):
        body = dict(encoded(body))
    return replace(resource, id=id_, attributes=body)


def encoded(body: Mapping[str, Any], *, is_resolved: bool = False) -> Mapping[str, Any]:
    """Returns a Secret with `stringData` as the `data` it becomes, as a server keeps it.

    Sent as text, a value is owned by a field that no live object has: a changed one would look like something the
    server filled in, and one taken out would stay for ever. What is not text is left for the server to refuse; a
    reference stays what it is until it is resolved, to `UNKNOWN` in `data` where it is not known yet. With
    `is_resolved` what looks like one is text.
    """
    texts, data = body.get("stringData"), body.get("data") or {}
    if not isinstance(texts, Mapping) or not isinstance(data, Mapping):
        return body
    open_ = {name: value for name, value in texts.items() if refers(value) and not is_resolved}
    if not all(isinstance(each, str | Unknown) for each in texts.values()):
        return body
    kept = {name: value for name, value in body.items() if name not in ("data", "stringData")}
    known = {
        name: UNKNOWN if is_unknown(text) else base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
        for name, text in texts.items()
        if name not in open_
    }
    return {**kept, "data": {**data, **known}} | ({"stringData": open_} if open_ else {})


def _labels(body: Body) -> Mapping[str, Any]:
    match body.get("metadata"):
        case {"labels": dict() as labels}:
            return labels
        case _:
            return {}


def _cluster_wide_kinds(spec: Spec) -> frozenset[str]:
    kinds = set()
    for each in spec:
        match each.attributes:
            case {"kind": "CustomResourceDefinition", "spec": {"scope": "Cluster", "names": {"kind": str() as kind}}}:
                kinds.add(kind)
    return frozenset(kinds)
