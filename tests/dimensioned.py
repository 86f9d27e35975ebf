"""Writes a company whose configuration has dimensions: each application at each site, for each tenant.

`python -m tests.dimensioned FOLDER 200 3 4 3` writes one of 200 applications by 3 sites, 4 tenants and 3 environments,
in 7,200 stacks. Each stack lists the baselines of its coordinates in its kcl.yaml, so any KCL compiler reads it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

SITES = ("hangzhou", "shanghai", "beijing", "shenzhen")
TENANTS = ("acorn", "birch", "cedar", "dogwood", "elm")
ENVIRONMENTS = ("dev", "pre", "prod")

_MODEL = """schema App:
    name: str
    image: str
    replicas: int = 1
    cpu: str = "100m"
    labels: {str:str} = {}
    config: {str:str} = {}

    check:
        replicas >= 0, "replicas needs to be 0 or more"
"""
_RENDER = """import manifests
import models

_apps = [a for _, a in {"${a.name}" = a for a in models.App.instances()}]

manifests.yaml_stream([{
    apiVersion = "apps/v1"
    kind = "Deployment"
    metadata = {name = a.name, namespace = "shop", labels = a.labels}
    spec = {
        replicas = a.replicas
        selector.matchLabels = {app = a.name}
        template = {
            metadata.labels = {app = a.name}
            spec.containers = [{
                name = a.name
                image = a.image
                resources.requests = {cpu = a.cpu}
                env = [{name = n, value = v} for n, v in a.config]
            }]
        }
    }
} for a in _apps])
"""
_DIMENSIONS = """# From the lowest priority to the highest; what projects and stacks say themselves comes after all.
dimensions:
  - name: global
    files: [dimensions/global.k]
  - name: site
    values:
{sites}
  - name: tenant
    folder: dimensions/tenant
  - name: env
    folder: dimensions/env
"""


@dataclass(frozen=True, slots=True)
class Size:
    applications: int = 2
    sites: int = 2
    tenants: int = 2
    environments: int = 2

    @property
    def stacks(self) -> int:
        return self.applications * self.sites * self.tenants * self.environments


def write_company(root: Path, size: Size = Size()) -> None:
    """Writes the repository; `root` need not be there."""
    sites, tenants = SITES[: size.sites], TENANTS[: size.tenants]
    environments = ENVIRONMENTS[len(ENVIRONMENTS) - size.environments :]
    write(root, "kcl.mod", '[package]\nname = "company"\n')
    write(root, "clusters.yaml", "clusters: {near: {}}\nplacements: [{stacks: ['*'], clusters: [near]}]\n")
    write(root, "models/app.k", _MODEL)
    write(root, "render/render.k", _RENDER)
    listed = "\n".join(f"      {each}: [dimensions/site/{each}.k]" for each in sites)
    write(root, "dimensions.yaml", _DIMENSIONS.format(sites=listed))
    write(root, "dimensions/global.k", _baseline('cpu = "200m"', "replicas = 2", 'labels.company = "orchard"'))
    for number, each in enumerate(sites):
        write(root, f"dimensions/site/{each}.k", _baseline(f'config.ZONE = "{each}-{number}"', "replicas = 3"))
    for number, each in enumerate(tenants):
        more = (f"replicas = {4 + number}",) if number % 2 else ()
        write(root, f"dimensions/tenant/{each}.k", _baseline(f'labels.tenant = "{each}"', *more))
    for number, each in enumerate(environments):
        more = ('cpu = "500m"',) if number == len(environments) - 1 else ()
        write(root, f"dimensions/env/{each}.k", _baseline(f'labels.env = "{each}"', *more))
    for number in range(size.applications):
        _application(root, f"app{number:03}", number, product(sites, tenants, environments))


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _baseline(*lines: str) -> str:
    body = "".join(f"    {each}\n" for each in lines)
    return f"import models\n\nweb: models.App {{\n{body}}}\n"


def _application(root: Path, name: str, number: int, points: product[tuple[str, str, str]]) -> None:
    write(root, f"apps/{name}/project.yaml", f"name: {name}\n")
    said = [f'name = "{name}"', f'image = "registry.orchard.example/{name}:1.{number}"']
    write(root, f"apps/{name}/base/base.k", _baseline(*said))
    for site, tenant, environment in points:
        folder = f"apps/{name}/{site}-{tenant}-{environment}"
        coordinates = f"dimensions: {{site: {site}, tenant: {tenant}, env: {environment}}}\n"
        write(root, f"{folder}/stack.yaml", f"name: {site}-{tenant}-{environment}\n{coordinates}")
        write(root, f"{folder}/kcl.yaml", settings(site, tenant, environment))
        write(root, f"{folder}/main.k", _baseline(*(["replicas = 9"] if number % 10 == 9 else [])))


def settings(site: str, tenant: str, environment: str) -> str:
    """What a stack's kcl.yaml says: baselines in the declared order, then what is its own."""
    files = [f"${{KCL_MOD}}/dimensions/{each}.k" for each in ("global", f"site/{site}", f"tenant/{tenant}")]
    files += [f"${{KCL_MOD}}/dimensions/env/{environment}.k", "../base/base.k", "main.k"]
    listed = "".join(f"    - {each}\n" for each in (*files, "${KCL_MOD}/render/render.k"))
    return f"kcl_cli_configs:\n  file:\n{listed}"


if __name__ == "__main__":
    target, *numbers = sys.argv[1:]
    write_company(Path(target), Size(*map(int, numbers)))
