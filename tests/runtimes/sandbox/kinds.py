"""Kinds and small objects that tests of the sandbox's pure parts share."""

from __future__ import annotations

from typing import Any

from runtimes.sandbox import decode, defaults
from runtimes.sandbox.schema.registry import KindSchema, Registry

CONFIG_MAP = Registry.load().kind("", "v1", "ConfigMap")
DEPLOYMENT = Registry.load().kind("apps", "v1", "Deployment")
POD = Registry.load().kind("", "v1", "Pod")
SERVICE = Registry.load().kind("", "v1", "Service")
SECRET = Registry.load().kind("", "v1", "Secret")


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def deployment(**spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "example/app:1"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "n"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def complete(kind: KindSchema, body: Any) -> dict[str, Any]:
    """As the server holds it: decoded, with defaults."""
    obj = decode.check(kind, body).object
    defaults.apply(kind, obj)
    return obj
