"""Two clusters with hosts to recover, for what is held of recoveries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtimes.sandbox.server import Sandbox
from workbench.engine.recovery.document import (
    Host,
    Limits,
    Operation,
    RecoveryDocument,
)
from workbench.engine.recovery.events import (
    RecoveryEvent,
    RecoveryFinished,
    RecoveryStarted,
)
from workbench.engine.recovery.values import (
    HostState,
    Recovery,
    RecoveryReport,
)
from workbench.session import Session
from workbench.settings import Settings

NAMES = ("hangzhou", "shanghai")
QUICK = Limits(max_pods=20, max_fraction=1.0, batch=4, per_owner=2, timeout_seconds=20, answer_seconds=5)


@dataclass
class Ground:
    sandbox: Sandbox
    root: Path
    home: Path
    session: Session

    def open(self, **settings: Any) -> Session:
        state = settings.pop("state_dir", self.home / "state")
        found = Settings(state, state, kubeconfig=str(self.home / "kubeconfig"), user="ann", host="box", **settings)
        return Session.open(self.root, settings=found)

    def pods(self, cluster: int) -> list[dict[str, Any]]:
        """Returns those that are not on their way out."""
        found = [body for _, body in self.sandbox.clusters[cluster].store.items(("", "pods"), "shop")]
        return [each for each in found if not each["metadata"].get("deletionTimestamp")]

    def hosts(self, cluster: int, *, start: int = 1) -> list[Host]:
        return [
            Host(f"h-{cluster}{number:02}", NAMES[cluster], "shop", pod["metadata"]["name"], pod["metadata"]["uid"])
            for number, pod in enumerate(sorted(self.pods(cluster), key=lambda each: each["metadata"]["name"]), start)
        ]

    async def ready(self, cluster: int, number: int) -> None:
        def good() -> bool:
            pods = self.pods(cluster)
            return len(pods) == number and all(map(is_ready, pods))

        await self.until(good)

    async def until(self, good: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while True:
                if good():
                    return
                await asyncio.sleep(0.05)


def is_ready(pod: Mapping[str, Any]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))


def deployment(name: str, replicas: int, image: str = "example/app:1") -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}], "terminationGracePeriodSeconds": 1},
            },
        },
    }


def budget(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": name}}, **spec},
    }


def document(hosts: list[Host], **more: Any) -> RecoveryDocument:
    return RecoveryDocument(
        **{"name": "app-recovery", "operation": Operation.RESTART, "hosts": tuple(hosts), "limits": QUICK, **more}
    )


async def run(
    session: Session, recovery: Recovery, *, dry_run: bool = False
) -> tuple[RecoveryReport, list[RecoveryEvent]]:
    async with session.recover(recovery, confirm=recovery.phrase, dry_run=dry_run) as events:
        found = [each async for each in events]
    assert isinstance(found[0], RecoveryStarted) and isinstance(found[-1], RecoveryFinished)
    return found[-1].report, found


def states(report: RecoveryReport) -> dict[str, HostState]:
    return {each.hostname: each.state for each in report.hosts}


@asynccontextmanager
async def two_clusters(folder: Path) -> AsyncIterator[Ground]:
    root = folder / "konfig"
    root.mkdir()
    (root / "kcl.mod").write_text('[package]\nname = "konfig"\n')
    (root / "clusters.yaml").write_text(
        "clusters:\n  hangzhou: {context: sandbox-1}\n  shanghai: {context: sandbox-2}\n"
        'placements:\n  - {stacks: ["*"], clusters: [hangzhou, shanghai]}\n'
    )
    async with Sandbox(clusters=2) as sandbox:
        sandbox.write_kubeconfig(folder / "kubeconfig")
        for cluster in sandbox.clusters:
            cluster.create("namespaces", None, {"metadata": {"name": "shop"}})
        made = Ground(sandbox, root, folder, None)  # type: ignore[arg-type]
        made.session = made.open()
        async with made.session:
            yield made
