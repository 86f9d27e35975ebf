"""Files to begin with, for `documents`: whole ones of each kind, and those that are known to be awkward."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.attacks.hostile_documents import JSON, TOML, YAML
from tests.properties.documents_child import KINDS, REPOSITORY
from tests.workbench.engine.world import World, config_map, deployment, namespace, secret
from workbench.audit import Actor, AuditTrail
from workbench.engine import plan_file
from workbench.engine.compiled_index import INDEX_FILE
from workbench.engine.rollout.records import encode
from workbench.engine.rollout.values import (
    Applied,
    Ask,
    Asked,
    BatchBegan,
    BatchReady,
    Began,
    Halted,
    Part,
    Record,
    RolledBack,
    Stage,
    Target,
    Waits,
)
from workbench.release import encoding, rollout_packing, stored

_LARGEST: Final = 20_000
_SAMPLE: Final = Path(__file__).parents[2] / "sample-konfig"
_READINESS: Final = """\
rules:
- kinds: [Ingress]
  stacks: ['shop/*']
  ready: {condition: Ready}
- ready: now
"""
_POLICY: Final = """\
policies:
- {name: a, rule: image-registries, with: {allowed: ['r.example/*']}, stacks: ['shop/*'], kinds: [apps/*]}
- {name: b, rule: resource-limits, with: {required: [limits.cpu], most: {limits.memory: 1Gi}}, level: warning}
- {name: c, rule: change-windows, with: {closed: [{days: [sat], hours: '18:00-08:00'}, {from: 2026-12-24}]}}
- {name: d, rule: replicas, with: {least: 2, most: 3}}
- {name: e, rule: required-metadata, with: {labels: {team: '*'}}}
waivers:
- {policy: 'a*', stacks: [shop/dev], resources: ['*'], until: 2026-12-31, reason: later}
"""
_DIMENSIONS: Final = """\
dimensions:
- {name: global, files: [shop/dev/main.k]}
- {name: site, values: {hangzhou: [], shanghai: []}, optional: true}
- {name: env, folder: shop/dev}
"""
_ROLLOUT: Final = """\
stages:
- {name: a, stacks: ['shop/*'], clusters: [hangzhou], batches: [1, 25%, 100%], max_unavailable: 10%, ready_for: 10m}
- {name: b, stacks: ['*/dev'], components: ['a*'], approval: true, timeout: 90s}
"""
_DEFINITION: Final = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.x.io}
spec:
  group: x.io
  names: {kind: A, plural: as}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {n: {type: integer}}}}
"""
_LOCK: Final = """\
[dependencies]
  [dependencies.k8s]
    name = "k8s"
    full_name = "k8s_1.31.2"
    version = "1.31.2"
    sum = "xnYKrYYXDTZlXpJX7mCs2Rs1oRkKyOJbZ8ZpAtdmyMo="
    reg = "ghcr.io"
    repo = "kcl-lang/k8s"
    oci_tag = "1.31.2"
"""
_KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
current-context: a
contexts:
- name: a
  context: {cluster: c, user: u, namespace: n}
clusters:
- name: c
  cluster: {server: 'https://127.0.0.1:1', certificate-authority-data: eA==}
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: x
      args: [a]
      env: [{name: A, value: b}]
"""
_ADDRESS: Final = "builtin:terraform:terraform_data:a"
_STATE: Final = {
    "version": 4,
    "terraform_version": "1.11.4",
    "serial": 3,
    "lineage": "6e4a3a5c",
    "outputs": {},
    "resources": [
        {
            "mode": "managed",
            "type": "terraform_data",
            "name": "a",
            "provider": 'provider["terraform.io/builtin/terraform"]',
            "instances": [
                {
                    "schema_version": 0,
                    "attributes": {"id": "1", "input": {"value": "x", "type": "string"}},
                    "sensitive_attributes": [[{"type": "get_attr", "value": "input"}]],
                }
            ],
        },
    ],
    "check_results": None,
}
_CREATION: Final = {"id": _ADDRESS, "candidates": ["a"]}
_RUN: Final = {
    "process": {"pid": 4, "started": "2", "host": "b"},
    "begun": "2026-01-01T00:00:00+00:00",
    "serial": 3,
    "creations": [_CREATION],
    "ids": {"terraform_data.a": _ADDRESS},
    "doubts": [{"creation": _CREATION, "since": "2026-01-01T00:00:00+00:00"}],
}
_INDEX: Final = {
    "format": 1,
    "paths": ["/a"],
    "states": [[[1, 2, 3, 4, 5], "d", True]],
    "sets": [[0]],
    "stacks": {"shop/dev": ["k", "f.yaml", [None, "d", True], 1, 0, [0]]},
}


def seeds() -> dict[str, list[bytes]]:
    """By kind of file."""
    plan, release = asyncio.run(_records())
    found: dict[str, list[bytes]] = {
        f"repository/{name}": [text.encode()] for name, text in REPOSITORY.items() if not name.endswith(".k")
    }
    for name in ("clusters.yaml", "plugins.yaml", "kcl.mod"):
        found[f"repository/{name}"].append((_SAMPLE / name).read_bytes())
    for kind, pattern in (("shop/project.yaml", "*/*/project.yaml"), ("shop/dev/stack.yaml", "*/*/*/stack.yaml")):
        found[f"repository/{kind}"] += [each.read_bytes() for each in sorted(_SAMPLE.glob(pattern))[:4]]
    found["repository/readiness.yaml"].append(_READINESS.encode())
    found["repository/policy.yaml"].append(_POLICY.encode())
    found["repository/dimensions.yaml"].append(_DIMENSIONS.encode())
    found["repository/rollout.yaml"].append(_ROLLOUT.encode())
    found["repository/shop/crd/a.yaml"].append(_DEFINITION.encode())
    found |= {
        "repository/kcl.mod.lock": [_LOCK.encode()],
        "kubeconfig": [_KUBECONFIG.encode()],
        "plan": [plan],
        "release": [release],
        "events": [release],
        "terraform.tfstate": [_json(_STATE)],
        "run.json": [_json(_RUN)],
        "seen.json": [_json({"lineage": "6e4a", "serial": 3, "resources": {_ADDRESS: "1"}, "missing": {}})],
        "former.json": [_json({_ADDRESS: {"provider": "a/b/c", "resourceType": "terraform_data"}})],
        INDEX_FILE: [_json(_INDEX)],
        "audit": [_audit()],
        "recovery": [
            b'{"run": {"id": "r", "at": "2026-11-01T00:00:00+00:00"}}\n{"step": {"id": "s"}, "state": "done"}\n'
        ],
    }
    found["rollout"] = [_rollout()]
    found["kept rollout"] = [_kept_rollout()]
    for kind, files in found.items():
        table = TOML if "kcl.mod" in kind else YAML if kind.endswith("yaml") or kind == "kubeconfig" else JSON
        files += [text.encode() for text in table.values() if len(text) < _LARGEST]
    assert found.keys() == KINDS.keys()
    return found


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


async def _records() -> tuple[bytes, bytes]:
    """A plan and a release as they are written."""
    world = World()
    objects = (namespace(), deployment("web", replicas=2), config_map("c", {"a": "1"}), secret("s", {"k": "djE="}))
    plan = await world.plan(*objects)
    await world.apply(plan)
    assert world.prior
    return _saved(
        lambda folder: plan_file.save(plan, folder / "f", Path("repository"), timedelta(hours=1))
    ), encoding.encode(world.prior)


def _rollout() -> bytes:
    return b"".join(_json(encode(each)) + b"\n" for each in _rollout_records())


def _kept_rollout() -> bytes:
    return stored.secret(rollout_packing.pack(_rollout_records(), 3, namespace="rollouts", repository="shop"))


def _rollout_records() -> tuple[Record, ...]:
    now, target = datetime(2026, 11, 1, tzinfo=UTC), Target("shop/dev", "hangzhou", "web")
    stage = Stage("a", ((target,), (Target("shop/dev", "hangzhou", "api"),)), 1, 60.0, True, 600.0)
    parts = {"shop/dev": Part(3, "d", ("a reason",))}
    return (
        Began(now, "r-00000000", "ann", "box", "why", (stage,), (), parts, b"salt", {"shop/dev": "hangzhou"}),
        Waits(now, "a"),
        Asked(now, Ask.APPROVE, "ann", "box", "", "a"),
        BatchBegan(now, "a", 0, "ann", "box"),
        Applied(now, "a", 0, "shop/dev", 4, "succeeded"),
        BatchReady(now, "a", 0),
        BatchBegan(now, "a", 1, "ann", "box"),
        Halted(now, "a", 1, target, "not ready", "look"),
        Asked(now, Ask.ABORT, "ann", "box"),
        RolledBack(now, "shop/dev", 5),
    )


def _audit() -> bytes:
    def write(folder: Path) -> None:
        for number in range(3):
            AuditTrail(folder).append(
                Actor("ann", "box", "cli"),
                datetime(2026, 11, 1, number, tzinfo=UTC),
                action="apply",
                plan="p",
                target="t",
            )
        (written,) = folder.glob("audit/*.jsonl")
        written.rename(folder / "f")

    return _saved(write)


def _saved(write: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return Path(folder, "f").read_bytes()
