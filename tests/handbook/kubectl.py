"""kubectl, as far as pages use it to be somebody else: played on the sandbox, under kubectl's field managers.

That the real one works against the sandbox is held by tests/runtimes/sandbox/test_kubectl.py, where it is installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from runtimes.sandbox.server import Sandbox

_KINDS: Final = {"deployment": "deployments.apps", "configmap": "configmaps", "service": "services"}


def kubectl(sandbox: Sandbox, arguments: Sequence[str]) -> str:
    """Does what one command line says and returns what kubectl prints; `ValueError` for what is not played."""
    given = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    given.add_argument("--context", default="sandbox-1")
    given.add_argument("-n", dest="namespace", default="default")
    given.add_argument("--replicas", type=int)
    given.add_argument("-f", dest="file")
    given.add_argument("-p", dest="patch")
    given.add_argument("words", nargs="+")
    found = given.parse_intermixed_args(list(arguments))
    cluster = sandbox.clusters[sandbox.names.index(found.context)]
    match found.words:
        case ["scale", named]:
            kind, _, name = named.partition("/")
            change: dict[str, Any] = {"spec": {"replicas": found.replicas}}
            cluster.patch(_KINDS[kind], found.namespace, name, change, "merge", manager="kubectl-scale")
            return f"{_said(kind)}/{name} scaled\n"
        case ["rollout", "restart", named]:
            kind, _, name = named.partition("/")
            annotations = {"kubectl.kubernetes.io/restartedAt": "2026-11-25T21:07:00Z"}
            change = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
            cluster.patch(_KINDS[kind], found.namespace, name, change, "merge", manager="kubectl-rollout")
            return f"{_said(kind)}/{name} restarted\n"
        case ["patch", named]:
            kind, _, name = named.partition("/")
            change = yaml.safe_load(found.patch)
            cluster.patch(_KINDS[kind], found.namespace, name, change, "merge", manager="kubectl-patch")
            return f"{_said(kind)}/{name} patched\n"
        case ["delete", named]:
            kind, _, name = named.partition("/")
            cluster.delete(_KINDS[kind], found.namespace, name)
            return f'{_said(kind)} "{name}" deleted\n'
        case ["create", "namespace", name]:
            cluster.create("namespaces", None, {"metadata": {"name": name}})
            return f"namespace/{name} created\n"
        case ["apply"]:
            said = ""
            for body in yaml.safe_load_all(Path(found.file).read_text(encoding="utf-8")):
                kind = str(body["kind"]).lower()
                cluster.create(_KINDS[kind], found.namespace, body, manager="kubectl-client-side-apply")
                said += f"{_said(kind)}/{body['metadata']['name']} created\n"
            return said
    raise ValueError(f"kubectl {' '.join(arguments)} is not played here")


def _said(kind: str) -> str:
    return f"{kind}.apps" if kind == "deployment" else kind
