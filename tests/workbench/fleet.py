"""A repository with one stack of many components, over several clusters: what rollouts are tried on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_COMPONENT = """\
    {{
        apiVersion = "apps/v1"
        kind = "Deployment"
        metadata = {{name = "{name}", namespace = "fleet", labels.app = "{name}"}}
        spec = {{
            replicas = 1
            selector.matchLabels.app = "{name}"
            template = {{
                metadata.labels.app = "{name}"
                spec.containers = [{{name = "main", image = "{name}:${{version}}"}}]
            }}
        }}
    }}
    {{
        apiVersion = "v1"
        kind = "ConfigMap"
        metadata = {{name = "{name}", namespace = "fleet", labels.app = "{name}"}}
        data.version = version
    }}
"""


@dataclass(frozen=True)
class FleetRepository:
    """The stack fleet/prod; `names` are its components."""

    root: Path
    names: tuple[str, ...]

    @classmethod
    def make(cls, root: Path, names: Sequence[str], clusters: Mapping[str, str], stages: str) -> FleetRepository:
        """Writes it; `clusters` gives for each its context, `stages` is the text of rollout.yaml."""
        stack = root / "fleet" / "prod"
        stack.mkdir(parents=True)
        contexts = ", ".join(f"{name}: {{context: {context}}}" for name, context in clusters.items())
        (root / "clusters.yaml").write_text(
            f'clusters: {{{contexts}}}\nplacements:\n  - {{stacks: ["*/*"], clusters: [{", ".join(clusters)}]}}\n'
        )
        (root / "kcl.mod").write_text('[package]\nname = "fleet"\n')
        (root / "rollout.yaml").write_text(stages)
        (root / "fleet" / "project.yaml").write_text("name: fleet\n")
        (stack / "stack.yaml").write_text("name: prod\n")
        made = cls(root, tuple(names))
        made.write("1")
        return made

    def write(self, version: str, *, without: Sequence[str] = ()) -> None:
        """Has all components say another version; takes those out that are named."""
        components = "".join(_COMPONENT.format(name=each) for each in self.names if each not in without)
        (self.root / "fleet" / "prod" / "main.k").write_text(
            f'import manifests\n\nversion = "{version}"\n_objects = [\n'
            f'    {{apiVersion = "v1", kind = "Namespace", metadata.name = "fleet"}}\n{components}]\n'
            "manifests.yaml_stream(_objects)\n"
        )
