"""Small definitions of the custom kinds that the models write, with the fields and rules of the real ones they use.

The real ones are published by others and large; what is left out here is what no model writes, so that a field that
is misspelt is unknown here too.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 253}
_PORT: Schema = {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535}
_WEIGHT: Schema = {"type": "integer", "format": "int32", "minimum": 0, "maximum": 1000000}
_DURATION: Schema = {
    "type": "string",
    "pattern": "^(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?$",
}


def _one(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _many(items: Schema, **bounds: int) -> Schema:
    return {"type": "array", "items": items, **bounds}


def _texts(values: Schema = _TEXT) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


_GATEWAY = _one(
    ("gatewayClassName", "listeners"),
    gatewayClassName=_NAME,
    listeners=_many(
        _one(
            ("name", "port", "protocol"),
            name=_NAME,
            port=_PORT,
            protocol=_NAME,
            hostname={**_NAME, "pattern": r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"},
            tls=_one(mode=_of("Terminate", "Passthrough"), certificateRefs=_many(_one(("name",), name=_NAME))),
            allowedRoutes=_one(namespaces=_one((), **{"from": _of("All", "Selector", "Same", "None")})),
        ),
        minItems=1,
        maxItems=64,
    ),
)
_ROUTE = _one(
    parentRefs=_many(_one(("name",), name=_NAME, namespace=_NAME)),
    hostnames=_many(_NAME, maxItems=16),
    rules=_many(
        _one(
            matches=_many(_one(path=_one(type=_of("Exact", "PathPrefix", "RegularExpression"), value=_TEXT))),
            backendRefs=_many(_one(("name",), name=_NAME, port=_PORT, weight=_WEIGHT)),
        ),
        maxItems=16,
    ),
)
_CERTIFICATE = _one(
    ("secretName", "issuerRef"),
    secretName=_TEXT,
    dnsNames=_many(_TEXT),
    duration=_TEXT,
    renewBefore=_TEXT,
    issuerRef=_one(("name",), name=_TEXT, kind=_TEXT, group=_TEXT),
)
_MONITOR = _one(
    ("selector", "endpoints"),
    selector=_one(matchLabels=_texts()),
    endpoints=_many(_one(port=_TEXT, path=_TEXT, interval=_DURATION)),
)
_RULES = _one(
    groups=_many(
        _one(
            ("name",),
            name=_NAME,
            rules=_many(
                _one(
                    ("expr",),
                    alert=_TEXT,
                    expr=_TEXT,
                    labels=_texts(),
                    annotations=_texts(),
                    **{"for": _DURATION},
                )
            ),
        )
    )
)


def _definition(group: str, plural: str, kind: str, spec: Schema) -> dict[str, Any]:
    schema = _one(("spec",), apiVersion=_TEXT, kind=_TEXT, metadata={"type": "object"}, spec=spec)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


DEFINITIONS = (
    _definition("gateway.networking.k8s.io", "gateways", "Gateway", _GATEWAY),
    _definition("gateway.networking.k8s.io", "httproutes", "HTTPRoute", _ROUTE),
    _definition("cert-manager.io", "certificates", "Certificate", _CERTIFICATE),
    _definition("monitoring.coreos.com", "servicemonitors", "ServiceMonitor", _MONITOR),
    _definition("monitoring.coreos.com", "prometheusrules", "PrometheusRule", _RULES),
)
