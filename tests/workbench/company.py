"""A generated company: many stacks in folders of domains, over several clusters, which read outputs of each other.

`platform` gives to the base of each domain, a base to the applications of its domain, and the first application to
`edge`. Every stack has a namespace, a ConfigMap with its version and what it reads, and a Deployment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DOMAINS = ("payments", "orders")
_LEAST = len(DOMAINS) + 3
_MAIN = """\
import manifests

version = "{version}"
manifests.yaml_stream([
    {{apiVersion = "v1", kind = "Namespace", metadata.name = "{name}"}}
    {{apiVersion = "v1", kind = "ConfigMap", metadata = {{name = "own", namespace = "{name}"}}, data = {{
        version = version
        read = '{read}'
    }}}}
    {{
        apiVersion = "apps/v1"
        kind = "Deployment"
        metadata = {{name = "main", namespace = "{name}", labels.app = "{name}"}}
        spec = {{
            replicas = 1
            selector.matchLabels.app = "{name}"
            template = {{
                metadata.labels.app = "{name}"
                spec.containers = [{{name = "main", image = "{name}:${{version}}"}}]
            }}
        }}
    }}
])
"""


@dataclass(frozen=True)
class Company:
    """`reads` says for each project which other one its stack `prod` reads, empty for none."""

    root: Path
    reads: Mapping[str, str]

    @classmethod
    def make(cls, root: Path, stacks: int, contexts: Mapping[str, str]) -> Company:
        """Writes so many stacks; `contexts` gives for each cluster its context. The platform goes to all of them, of
        the others each to the next."""
        assert stacks >= _LEAST, f"a company has {_LEAST} stacks at least"
        apps = [f"app-{number:03}" for number in range(stacks - _LEAST + 1)]
        reads = {"platform": "", **{f"{each}-base": "platform" for each in DOMAINS}}
        reads |= {app: f"{DOMAINS[number % len(DOMAINS)]}-base" for number, app in enumerate(apps)}
        reads["edge"] = apps[0]
        made = cls(root, reads)
        root.mkdir(parents=True)
        clusters = ", ".join(f"{name}: {{context: {context}}}" for name, context in contexts.items())
        (root / "clusters.yaml").write_text(
            f'clusters: {{{clusters}}}\nplacements:\n  - {{stacks: ["*/*"], clusters: [{", ".join(contexts)}]}}\n'
        )
        (root / "kcl.mod").write_text('[package]\nname = "company"\n')
        for number, name in enumerate(reads):
            stack = made.folder(name)
            stack.mkdir(parents=True)
            output = f"outputs: {{version: '$kusion_path.v1:ConfigMap:{name}:own.data.version'}}\n"
            (stack.parent / "project.yaml").write_text(f"name: {name}\n{output}")
            where = "" if name == "platform" else f"clusters: [{list(contexts)[number % len(contexts)]}]\n"
            (stack / "stack.yaml").write_text(f"name: prod\n{where}")
        made.write("1")
        return made

    @property
    def names(self) -> Sequence[str]:
        return tuple(self.reads)

    @property
    def stacks(self) -> Sequence[str]:
        return tuple(f"{each}/prod" for each in self.reads)

    def folder(self, name: str) -> Path:
        """The folder of a stack: `payments/app-000/prod`, `company/platform/prod`."""
        base = name if name.endswith("-base") else self.reads[name]
        domain = base.removesuffix("-base")
        return self.root / (domain if domain in DOMAINS else "company") / name / "prod"

    def write(self, version: str) -> None:
        """Has all stacks say another version."""
        for name, read in self.reads.items():
            text = f'$workbench.output["{read}/prod", "version"]' if read else "nothing"
            (self.folder(name) / "main.k").write_text(_MAIN.format(name=name, version=version, read=text))
