"""Somebody else at work on a practice cluster, so that there is drift to look at.

Talks to the cluster over HTTP as `kubectl` would, under kubectl's field manager. Only for clusters of the sandbox: it
reads the token that the sandbox wrote into the kubeconfig, and refuses every other way to sign in.
"""

from __future__ import annotations

import base64
import json
import ssl
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from runtimes.base.documents import load_yaml, read_text

TIMEOUT_SECONDS = 10.0


def scale(kubeconfig: Path, context: str, namespace: str, deployment: str, replicas: int) -> None:
    """Sets a Deployment's replicas as `kubectl edit` does; raises `OSError` if the cluster refuses or is gone."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}"
    _patch(kubeconfig, context, path, {"spec": {"replicas": replicas}})


def pods(kubeconfig: Path, context: str) -> list[dict[str, Any]]:
    """Returns all pods of a cluster; raises `OSError` if it refuses or is gone."""
    found: list[dict[str, Any]] = _send(kubeconfig, context, "GET", "/api/v1/pods")["items"]
    return found


def deployment(kubeconfig: Path, context: str, namespace: str, name: str) -> dict[str, Any]:
    """Returns a live Deployment; raises `OSError` if there is none, or the cluster refuses or is gone."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    found: dict[str, Any] = _send(kubeconfig, context, "GET", path)
    return found


def _patch(kubeconfig: Path, context: str, path: str, change: dict[str, Any]) -> None:
    _send(kubeconfig, context, "PATCH", path + "?" + urllib.parse.urlencode({"fieldManager": "kubectl-edit"}), change)


def _send(kubeconfig: Path, context: str, method: str, path: str, change: dict[str, Any] | None = None) -> Any:
    server, authority, token = _access(kubeconfig, context)
    request = urllib.request.Request(
        server + path,
        method=method,
        data=None if change is None else json.dumps(change).encode(),
        headers={"Content-Type": "application/merge-patch+json", "Authorization": f"Bearer {token}"},
    )
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),  # loopback is never behind a proxy
        urllib.request.HTTPSHandler(context=ssl.create_default_context(cadata=authority) if authority else None),
    )
    with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
        return json.load(response)


def _access(kubeconfig: Path, context: str) -> tuple[str, str, str]:
    """Returns the server's URL, the certificate it is to be trusted by (PEM, empty for http), and the token."""
    content = load_yaml(read_text(kubeconfig))
    chosen = _named(content["contexts"], context)["context"]
    cluster = _named(content["clusters"], chosen["cluster"])["cluster"]
    server = cluster["server"]
    authority = base64.b64decode(cluster.get("certificate-authority-data", "")).decode()
    token = _named(content["users"], chosen["user"])["user"]["token"]
    if urllib.parse.urlsplit(server).hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError(f"context {context} is no practice cluster: its server is not on loopback")
    return str(server), authority, str(token)


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    found = next((each for each in entries if each["name"] == name), None)
    if found is None:
        raise ValueError(f"the kubeconfig has no entry {name!r}")
    return found
