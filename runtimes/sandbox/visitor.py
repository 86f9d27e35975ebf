"""Somebody else at work on a practice cluster, so that there is drift to look at.

Talks to the cluster over HTTP as `kubectl` would, under kubectl's field manager. Only for clusters of the sandbox: it
reads the token that the sandbox wrote into the kubeconfig, and refuses every other way to sign in.
"""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import yaml

TIMEOUT_SECONDS = 10.0


def scale(kubeconfig: Path, context: str, namespace: str, deployment: str, replicas: int) -> None:
    """Sets a Deployment's replicas as `kubectl edit` does; raises `OSError` if the cluster refuses or is gone."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}"
    _patch(kubeconfig, context, path, {"spec": {"replicas": replicas}})


def _patch(kubeconfig: Path, context: str, path: str, change: dict[str, Any]) -> None:
    server, token = _access(kubeconfig, context)
    request = urllib.request.Request(
        server + path + "?" + urllib.parse.urlencode({"fieldManager": "kubectl-edit"}),
        method="PATCH",
        data=json.dumps(change).encode(),
        headers={"Content-Type": "application/merge-patch+json", "Authorization": f"Bearer {token}"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback is never behind a proxy
    with opener.open(request, timeout=TIMEOUT_SECONDS):
        pass


def _access(kubeconfig: Path, context: str) -> tuple[str, str]:
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    chosen = _named(content["contexts"], context)["context"]
    server = _named(content["clusters"], chosen["cluster"])["cluster"]["server"]
    token = _named(content["users"], chosen["user"])["user"]["token"]
    if urllib.parse.urlsplit(server).hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError(f"context {context} is no practice cluster: its server is not on loopback")
    return str(server), str(token)


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    found = next((each for each in entries if each["name"] == name), None)
    if found is None:
        raise ValueError(f"the kubeconfig has no entry {name!r}")
    return found
