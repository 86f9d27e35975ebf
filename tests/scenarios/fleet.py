"""The fleet over sandbox clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtimes.sandbox.server import Sandbox
from tests.workbench.fleet import FleetRepository
from workbench.session import Session
from workbench.settings import Settings

_SERVERS = ("uid", "resourceVersion", "managedFields", "generation", "creationTimestamp")


@dataclass
class Fleet:
    """`opened` are the sessions that end with the test."""

    repository: FleetRepository
    sandbox: Sandbox
    home: Path
    opened: list[Session] = field(default_factory=list)

    @classmethod
    def make(
        cls, folder: Path, sandbox: Sandbox, names: tuple[str, ...], clusters: tuple[str, ...], stages: str
    ) -> Fleet:
        """Writes the repository; its clusters are the sandbox's, by the names given here."""
        sandbox.write_kubeconfig(folder / "kubeconfig")
        contexts = dict(zip(clusters, sandbox.names, strict=True))
        return cls(FleetRepository.make(folder / "repo", names, contexts, stages), sandbox, folder)

    @property
    def root(self) -> Path:
        return self.repository.root

    def write(self, version: str) -> None:
        self.repository.write(version)

    def session(self, **settings: Any) -> Session:
        state = self.home / "state"
        found = Settings(state, state, kubeconfig=str(self.home / "kubeconfig"), user="ops", host="box", **settings)
        self.opened.append(Session.open(self.root, settings=found))
        return self.opened[-1]

    def versions(self, cluster: int) -> dict[str, str]:
        """Returns the version that each component has in a cluster."""
        return {
            each["metadata"]["name"]: each["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[2]
            for each in self.sandbox.clusters[cluster].list("deployments.apps").items
        }

    def said(self, cluster: int) -> dict[str, Any]:
        """Returns all that was applied to a cluster, but for what the server owns."""
        found = {}
        for kind in ("deployments.apps", "configmaps", "namespaces"):
            for each in self.sandbox.clusters[cluster].list(kind).items:
                metadata = {name: value for name, value in each["metadata"].items() if name not in _SERVERS}
                metadata.get("annotations", {}).pop("deployment.kubernetes.io/revision", None)
                if "fleet" in (metadata.get("namespace"), metadata["name"]):
                    content = {name: value for name, value in each.items() if name not in ("status", "metadata")}
                    found[f"{kind}/{metadata['name']}"] = {**content, "metadata": metadata}
        return found
