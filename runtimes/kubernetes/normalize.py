"""From an object as the server has it to what a configuration can be compared with.

What no configuration may set is taken out: status, the metadata that the server writes, and the annotation by which
the Deployment controller counts rollouts. What is sensitive is named, never removed, so that a diff can still say that
it changed: `runtimes.base.sensitive` has the rules.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from runtimes.base import FieldPath, Health, Identity, KubernetesId, ListKey, LiveResource, value_at
from runtimes.base.sensitive import sensitive_paths
from runtimes.kubernetes import fields
from runtimes.kubernetes.objects import is_going

Object = Mapping[str, Any]

_SERVER_METADATA = frozenset(
    [
        "managedFields",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ]
)
# written by controllers while a rollout goes on, about it rather than about what is wanted
_CONTROLLER_ANNOTATIONS = frozenset({"deployment.kubernetes.io/revision"})
_DEFINITION = "CustomResourceDefinition"
_PACKED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def body(live: Object) -> dict[str, Any]:
    metadata = {key: value for key, value in (live.get("metadata") or {}).items() if key not in _SERVER_METADATA}
    annotations = metadata.get("annotations")
    if isinstance(annotations, Mapping) and not _CONTROLLER_ANNOTATIONS.isdisjoint(annotations):
        metadata["annotations"] = {
            name: text for name, text in annotations.items() if name not in _CONTROLLER_ANNOTATIONS
        }
        if not metadata["annotations"]:
            del metadata["annotations"]
    return {**{key: value for key, value in live.items() if key != "status"}, "metadata": metadata}


def identity(live: Object) -> Identity:
    """The version is `resourceVersion/digest of the body/mark`.

    Controllers write the status of an object all the time, which moves its resourceVersion. With the digest one can
    tell whether anything moved that a plan is about. The mark is what metadata alone tells of the same (see `mark`).
    """
    return _identity(live, body(live))


def _identity(live: Object, content: Object) -> Identity:
    metadata = live.get("metadata") or {}

    def version() -> str:
        return f"{metadata.get('resourceVersion') or ''}/{_digest(content)}/{mark(metadata)}"

    return Identity(str(metadata.get("uid") or ""), version)


def resource_version(seen: Identity) -> str:
    return _parts(seen)[0]


def is_same(seen: Identity, live: Object) -> bool:
    """Whether the live object is the one that was seen, with the same content apart from its status."""
    now = identity(live)
    return now.uid == seen.uid and _parts(now)[1] == _parts(seen)[1]


def mark(metadata: Object) -> str:
    """Returns what tells two contents of one object and version apart: its generation, and when it was written last.

    A cluster that was restored from a backup gives the versions since then a second time, to other contents. Empty
    where the server does not say when an object was written: then a version proves nothing.
    """
    times = [str(each.get("time") or "") for each in _mappings(metadata.get("managedFields"))]
    return f"{metadata.get('generation') or 0}@{max(times)}" if any(times) else ""


def is_version(seen: Identity, version: str, marked: str) -> bool:
    """Whether a resourceVersion and the `mark` beside it are of the very content that was seen."""
    was, _, mark_then = _parts(seen)
    return bool(marked) and (was, mark_then) == (version, marked)


def _parts(seen: Identity) -> tuple[str, str, str]:
    version, _, rest = seen.version.partition("/")
    digest, _, marked = rest.partition("/")
    return version, digest, marked


def digest(live: Object) -> str:
    return _digest(body(live))


def _digest(content: Object) -> str:
    return hashlib.sha256(_PACKED.encode(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def live_resource(id_: KubernetesId, live: Object, ahead: timedelta = timedelta()) -> LiveResource:
    """`health` is what the object says by itself, without a look at what it owns. `ahead`: see `LiveResource`."""
    content = body(live)
    decides = is_going(live) or live.get("kind") == _DEFINITION
    return LiveResource(
        id=id_,
        identity=_identity(live, content),
        body=content,
        owners=fields.owners(live),
        health=_health(live, ahead) if decides else None,
        observed=live,
        hidden=sensitive_paths(live),
        ahead=ahead,
    )


def _health(live: Object, ahead: timedelta) -> Health:
    from runtimes.kubernetes import health  # a family of modules, and few objects are asked
    from runtimes.kubernetes.objects import Objects

    return health.assess(live, Objects([live]), datetime.now(UTC) + ahead).health


def secret_values(content: Object) -> tuple[str, ...]:
    """Returns every text below a sensitive path, and what it decodes to, for taking it out of messages."""
    found: list[str] = []
    for path in sensitive_paths(content):
        for text in _texts(value_at(content, path)):
            found.append(text)
            if path == ("data",):
                try:
                    found.append(base64.b64decode(text, validate=True).decode())
                except (binascii.Error, UnicodeDecodeError, ValueError):
                    continue
            elif path == ("stringData",):
                found.append(base64.b64encode(text.encode("utf-8", "surrogatepass")).decode())
    return tuple(found)


def decided_later(content: Object, predicted: Object) -> tuple[FieldPath, ...]:
    """Names the paths of a predicted creation that the real one will fill again.

    A dry run draws an address and ports for a Service, and a uid that some kinds copy into labels and selectors; what
    the apply draws will be others.
    """
    found: list[FieldPath] = []
    if predicted.get("kind") == "Service":
        for name in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
            drawn = value_at(predicted, ("spec", name))
            if drawn not in (None, "", 0, "None", ["None"]) and value_at(content, ("spec", name)) is None:
                found.append(("spec", name))
        for port in _mappings(value_at(predicted, ("spec", "ports"))):
            key = (
                ListKey((("port", port["port"]), ("protocol", port.get("protocol", "TCP")))) if "port" in port else None
            )
            if key and "nodePort" in port and value_at(content, ("spec", "ports", key, "nodePort")) is None:
                found.append(("spec", "ports", key, "nodePort"))
    uid = value_at(predicted, ("metadata", "uid"))
    if isinstance(uid, str) and uid:
        found.extend(_paths_holding(uid, body(predicted), ()))
    return tuple(found)


def _paths_holding(text: str, value: Any, path: FieldPath) -> Iterator[FieldPath]:
    match value:
        case str() if text in value:
            yield path
        case Mapping():
            for name, below in value.items():
                yield from _paths_holding(text, below, (*path, name))
        case list():
            for index, below in enumerate(value):
                yield from _paths_holding(text, below, (*path, index))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case None | bool():
            return
        case Mapping():
            for below in value.values():
                yield from _texts(below)
        case list():
            for below in value:
                yield from _texts(below)
        case _:
            yield str(value)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
