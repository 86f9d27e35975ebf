"""Which objects a stack takes in, and why not the others. Pure.

What somebody else makes again is left to them: what a controller owns, what every namespace gets from the server,
what a tool keeps for itself. All else was put there on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtimes.base import Body, KubernetesId, LiveResource
from workbench.engine.placement import PROJECT, STACK, ownership
from workbench.project import StackPath

_SERVER_CONFIGURATION: Final = frozenset({"kube-root-ca.crt"})
_SECRET_TYPES: Final = {
    "kubernetes.io/service-account-token": "a token that the server makes for a ServiceAccount",
    "bootstrap.kubernetes.io/token": "a token with which nodes join",
    "helm.sh/release.v1": "Helm's own record of a release",
}
_OWN_TYPE: Final = "workbench.konfig.io/"
_PASSING: Final = {
    "Lease": "a lease, which its holder renews",
    "Event": "an event",
    "Endpoints": "made for a Service",
    "EndpointSlice": "made for a Service",
    "ControllerRevision": "made by a controller",
}
_PLAIN_ACCOUNT: Final = frozenset({"apiVersion", "kind", "metadata"})


def why_not(live: LiveResource, stack: StackPath) -> str:
    """Returns why a live object is not taken in, empty where it is."""
    id_, metadata = live.id, _mapping(live.observed.get("metadata"))
    assert isinstance(id_, KubernetesId), "a cluster has no others"
    if owners := metadata.get("ownerReferences"):
        first = _mapping(owners[0]) if isinstance(owners, list) and owners else {}
        return f"made by {first.get('kind')}/{first.get('name')}"
    if metadata.get("deletionTimestamp"):
        return "it is being deleted"
    if why := _of_the_server(id_, live.body) or _PASSING.get(id_.kind, ""):
        return why
    return _of_another_stack(_mapping(metadata.get("labels")), stack)


def _of_the_server(id_: KubernetesId, body: Body) -> str:
    match id_.api_version, id_.kind:
        case "v1", "ConfigMap" if id_.name in _SERVER_CONFIGURATION:
            return "the server puts it into every namespace"
        case "v1", "ServiceAccount" if id_.name == "default":
            said = _mapping(body.get("metadata")).keys() - {"name", "namespace"}
            is_plain = not said and not body.keys() - _PLAIN_ACCOUNT
            return "the server puts it into every namespace, and it is as the server made it" if is_plain else ""
        case "v1", "Service" if (id_.namespace, id_.name) == ("default", "kubernetes"):
            return "the server's own address"
        case "v1", "Secret":
            type_ = str(body.get("type") or "")
            if type_.startswith(_OWN_TYPE):
                return "a record of wb"
            return _SECRET_TYPES.get(type_, "")
    return ""


def _of_another_stack(labels: Mapping[str, Any], stack: StackPath) -> str:
    named = {each: str(labels[each]) for each in (PROJECT, STACK) if labels.get(each)}
    if not named or named == ownership(stack):
        return ""
    return f"its labels say that it belongs to the stack {'/'.join(named.values())}"


def hook(body: Body) -> str:
    """Returns why a manifest that Helm rendered is not part of what it applies, empty where it is."""
    annotations = _mapping(_mapping(body.get("metadata")).get("annotations"))
    when = annotations.get("helm.sh/hook")
    return f"a hook of the chart ({when}): Helm runs it at that time, and a stack has no such time" if when else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
