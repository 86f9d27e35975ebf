"""Writes a Konfig as large as a company's: shared models, a package for each team, applications with base and stacks.

    python -m tests.benchmarks.konfig FOLDER [APPLICATIONS]

15,000 applications make 18,750 stacks and about 3 million lines of YAML. The models are those of sample-konfig. What is
written depends on nothing but the number, so two runs on two machines measure the same.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

APPLICATIONS = 15_000
TEAMS = 50
_SAMPLE = Path(__file__).parents[2] / "sample-konfig"
_KINDS = ("web", "worker", "cache")

_CLUSTERS = """\
clusters:
  near: {context: sandbox-1}
  far: {context: sandbox-2}
placements:
  - {stacks: ["*/prod"], clusters: [near, far], namespace: {by: stack}, environment: prod, protected: true}
  - {stacks: ["*"], clusters: [near], namespace: {by: stack}, environment: dev}
"""

_SETTINGS = """\
kcl_cli_configs:
  file:
    - ${{KCL_MOD}}/models/identity/identity.k
    - ../base/base.k
    - main.k
    - ${{KCL_MOD}}/models/render/render.k
kcl_options:
  - {{key: project, value: {project}}}
  - {{key: stack, value: {stack}}}
"""

_COMPONENT = """\
{variable}: frontend.Server {{
    name = "{name}"
    image = {team}.registry + "/{project}/{name}:1.{number}.0"
    size = sizes.small
    ports = [frontend.Port {{number = 8080, exposed = 80}}]
    ready = frontend.Probe {{path = "/ready"}}
    alive = frontend.Probe {{path = "/alive", failures = 5}}
    config = {{
        OWNER = {team}.owner
        REGION = "region-{region}"
        LIMIT = "{limit}"
    }}
    secrets = {{TOKEN = option("token", default="not-a-secret-{number}")}}
}}
"""

_OVERRIDE = """\
{variable}: frontend.Server {{
    replicas = {replicas}
    size = sizes.medium
    config.LIMIT = "{limit}"
}}
"""


@dataclass(frozen=True, slots=True)
class Application:
    number: int

    @property
    def name(self) -> str:
        return f"app-{self.number:05}"

    @property
    def folder(self) -> str:
        return f"domains/d{self.number // 100:03}/{self.name}"

    @property
    def team(self) -> str:
        return f"t{self.number % TEAMS:02}"

    @property
    def stacks(self) -> tuple[str, ...]:
        return ("prod", "dev") if self.number % 4 == 0 else ("prod",)

    @property
    def components(self) -> tuple[str, ...]:
        return _KINDS[: 2 if self.number % 16 == 1 else 1]


def write(root: Path, applications: int = APPLICATIONS) -> list[Application]:
    """Fills a folder that is not there yet; returns what is in it."""
    root.mkdir(parents=True)
    shutil.copytree(_SAMPLE / "models", root / "models")
    (root / "kcl.mod").write_text('[package]\nname = "company"\n')
    (root / "clusters.yaml").write_text(_CLUSTERS)
    for number in range(TEAMS):
        team = root / "models" / "teams" / f"t{number:02}"
        team.mkdir(parents=True)
        (team / "team.k").write_text(
            f'owner = "team-{number:02}"\nregistry = "registry.orchard.example/t{number:02}"\n'
        )
    made = [Application(number) for number in range(applications)]
    for each in made:
        _write(root / each.folder, each)
    return made


def _write(folder: Path, application: Application) -> None:
    number, name, team = application.number, application.name, application.team
    texts = {"project.yaml": f"name: {name}\nlabels: {{owner: team-{number % TEAMS:02}}}\n"}
    heads = f"import models.frontend\nimport models.sizes\nimport models.teams.{team}\n\n"
    texts["base/base.k"] = heads + "\n".join(
        _COMPONENT.format(
            variable=each, name=each, project=name, team=team, number=number, region=number % 7, limit=number % 90 + 10
        )
        for each in application.components
    )
    for stack in application.stacks:
        texts[f"{stack}/stack.yaml"] = f"name: {stack}\n"
        texts[f"{stack}/kcl.yaml"] = _SETTINGS.format(project=name, stack=stack)
        texts[f"{stack}/main.k"] = "import models.frontend\nimport models.sizes\n\n" + "\n".join(
            _OVERRIDE.format(variable=each, replicas=number % 5 + 1, limit=number % 90 + 20)
            for each in application.components
        )
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
