"""Twelve applications and their platform: a namespace, settings and a database each, and no site but `prod` yet."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from tests.workbench.session.shop import shop
from tests.workbench.session.test_terraform import Place

APPLICATIONS = tuple(f"app{number:02}" for number in range(12))
_CLUSTERS = """\
clusters: {hz: {context: one}, sh: {context: two}}
placements:
  - {stacks: ["*/prod"], clusters: [hz], namespace: {by: stack}}
"""
_MODELS = """\
schema App:
    name: str
    replicas: int = 1
    read: str = ""

schema Quota:
    cpu: str
"""
_RENDER = """\
import manifests
import models.app

_space = option("project") + "-" + option("stack")
_object = lambda version: str, kind: str, name: str, more: any -> any {
    {
        id = "${version}:${kind}:${name}"
        $type = "Kubernetes"
        attributes = {apiVersion = version, kind = kind, metadata.name = name} | more
    }
}
manifests.yaml_stream([
    {
        id = "v1:Namespace:${_space}"
        $type = "Kubernetes"
        attributes = {apiVersion = "v1", kind = "Namespace", metadata.name = _space}
    }
    *[_object("v1", "ResourceQuota", "quota", {spec.hard.cpu = q.cpu}) for q in app.Quota.instances()]
    *[e for a in app.App.instances() for e in [
        {
            id = "acme:cloud:thing:db"
            $type = "Terraform"
            attributes = {name = "db", size = 1}
            extensions = {provider = "registry.example/acme/cloud/1.0", resourceType = "thing"}
        }
        _object("v1", "ConfigMap", "own", {data = {
            replicas = str(a.replicas)
            host = "$kusion_path.acme:cloud:thing:db.address"
            read = a.read
        }})
    ]]
])
"""
_SETTINGS = """\
kcl_cli_configs:
  file:
    - ../base/base.k
    - main.k
    - ${KCL_MOD}/models/render/render.k
kcl_options: [{key: project, value: NAME}, {key: stack, value: prod}]
"""
_READ = """'$workbench.output["platform/' + option("stack") + '", "replicas"]'"""
_OUTPUT = "outputs: {replicas: '$kusion_path.v1:ConfigMap:own.data.replicas'}\n"


def company(tmp_path: Path, applications: Sequence[str] = APPLICATIONS) -> Place:
    """The platform and these applications, each with a stack `prod`; all but the platform read an output of it."""
    files = {"clusters.yaml": _CLUSTERS, "models/app/app.k": _MODELS, "models/render/render.k": _RENDER}
    for name in ("platform", *applications):
        read = "" if name == "platform" else f"    read = {_READ}\n"
        base = f'import models.app\n\nweb: app.App {{\n    name = "{name}"\n{read}}}\n'
        files[f"{name}/project.yaml"] = f"name: {name}\n"
        files[f"{name}/base/base.k"] = base
        files[f"{name}/prod/stack.yaml"] = f"name: prod\n{_OUTPUT}"
        files[f"{name}/prod/main.k"] = "import models.app\n\nweb: app.App {\n    replicas = 5\n}\n"
        files[f"{name}/prod/kcl.yaml"] = _SETTINGS.replace("NAME", name)
    return Place(shop(tmp_path / "repo", files))


def declare(place: Place, applications: Sequence[str] = APPLICATIONS, more: str = "", **fields: str) -> None:
    """Writes `sites/wuhan.k`: the platform, these applications with a quota, and what else there is to say."""
    said = {"name": '"wuhan"', "clusters": '["sh"]', "protected": "True", **fields}
    entries = "\n".join(f"    {name} = {value}" for name, value in said.items())
    made = "\n".join(
        f'        {name} = {{like = "{name}/prod", added.quota = {{$schema = "models.app.Quota", values.cpu = "2"}}}}'
        for name in applications
    )
    text = f'site = {{\n{entries}\n    applications = {{\n        platform.like = "platform/prod"\n{made}\n'
    text += textwrap.indent(more, " " * 8) + "    }\n}\n"
    (place.root / "sites").mkdir(exist_ok=True)
    (place.root / "sites/wuhan.k").write_text(text)
