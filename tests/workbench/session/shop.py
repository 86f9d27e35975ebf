"""A small repository in KCL, and sessions on it over clusters in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtimes.base import Runtime, Unreachable
from tests.workbench.engine.fake_cluster import FakeCluster
from workbench.session import Session
from workbench.settings import Settings

FILES = {
    "kcl.mod": '[package]\nname = "shop"\n',
    "clusters.yaml": """\
clusters: {hz: {context: one}, sh: {context: two}}
placements:
  - {stacks: ["*/prod"], clusters: [hz, sh], protected: true}
  - {stacks: ["*/dev"], clusters: [hz], namespace: {by: stack, name: "{project}-{stack}"}}
""",
    "models/server.k": """\
schema Server:
    name: str
    image: str
    replicas: int = 1
    settings: {str:str} = {}
    token: str

resources = lambda s: Server, space: str {
    [
        {
            id = "v1:ConfigMap:${space}:${s.name}"
            $type = "Kubernetes"
            attributes = {
                apiVersion = "v1"
                kind = "ConfigMap"
                metadata = {name = s.name, namespace = space}
                data = s.settings
            }
            dependsOn = ["v1:Namespace:${space}"]
        }
        {
            id = "v1:Secret:${space}:${s.name}"
            $type = "Kubernetes"
            attributes = {
                apiVersion = "v1"
                kind = "Secret"
                metadata = {name = s.name, namespace = space}
                stringData = {token = s.token}
            }
        }
        {
            id = "apps/v1:Deployment:${space}:${s.name}"
            $type = "Kubernetes"
            attributes = {
                apiVersion = "apps/v1"
                kind = "Deployment"
                metadata = {name = s.name, namespace = space, labels.app = s.name}
                spec = {
                    replicas = s.replicas
                    selector.matchLabels.app = s.name
                    template = {
                        metadata.labels.app = s.name
                        spec.containers = [{
                            name = s.name
                            image = s.image
                            envFrom = [{configMapRef.name = s.name}, {secretRef.name = s.name}]
                        }]
                    }
                }
            }
        }
    ]
}
""",
    "models/render.k": """\
import manifests
import models.server

_space = option("project") + "-" + option("stack")
_namespace = {
    id = "v1:Namespace:${_space}"
    $type = "Kubernetes"
    attributes = {apiVersion = "v1", kind = "Namespace", metadata.name = _space}
}
manifests.yaml_stream([_namespace] + [r for s in server.Server.instances() for r in server.resources(s, _space)])
""",
    "web/project.yaml": "name: web\n",
    "web/base/base.k": """\
import models.server

front: server.Server {
    name = "front"
    image = "front:1"
    settings = {COLOUR = "red"}
    token = option("token", default="canary-4f1d")
}
""",
    "web/dev/stack.yaml": "name: dev\n",
    "web/dev/main.k": "import models.server\n\nfront: server.Server {\n    replicas = 1\n}\n",
    "web/prod/stack.yaml": "name: prod\n",
    "web/prod/main.k": "import models.server\n\nfront: server.Server {\n    replicas = 3\n}\n",
    **{
        f"web/{stack}/kcl.yaml": "kcl_cli_configs: {file: [../base/base.k, main.k, '${KCL_MOD}/models/render.k']}\n"
        for stack in ("dev", "prod")
    },
}


def shop(root: Path, extra: Mapping[str, str] | None = None) -> Path:
    for name, text in {**FILES, **(extra or {})}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


class Clusters:
    """Clusters by name; one that is not there cannot be reached."""

    def __init__(self, *names: str) -> None:
        self.by_name = {name: FakeCluster(name) for name in names}

    async def __call__(self, cluster: str) -> Runtime:
        if cluster not in self.by_name:
            raise Unreachable("connection refused", target=cluster, hint="is it up?")
        return self.by_name[cluster]

    def __getitem__(self, name: str) -> FakeCluster:
        return self.by_name[name]


def session(root: Path, clusters: Clusters, **settings: Any) -> Session:
    state = root.parent / "state"
    return Session.open(root, settings=Settings(state, state, user="ann", host="box", **settings), connect=clusters)
