"""Programs made up for measuring."""

from __future__ import annotations

from typing import Any

_LEVELS, _ATTRIBUTES = 4, 30


def _schemas() -> str:
    """30 attributes over 4 levels of inheritance: numbers, texts that quote others, lists, maps, a nested schema."""
    lines = ["schema Quota:", '    cpu: str = "100m"', '    memory: str = "64Mi"', ""]
    number = 0
    for level in range(_LEVELS):
        lines.append(f"schema Level{level}(Level{level - 1}):" if level else "schema Level0:")
        if not level:
            lines += ["    name: str", "    replicas: int = 1", "    labels: {str:str} = {app = name}"]
            lines += ["    quota: Quota = Quota {}"]
            number = 4
        for _ in range((_ATTRIBUTES - 4) // _LEVELS + (level < (_ATTRIBUTES - 4) % _LEVELS)):
            kind = number % 4
            match kind:
                case 0:
                    lines.append(f"    a{number}: int = replicas + {number}")
                case 1:
                    lines.append(f'    a{number}: str = "${{name}}-{number}"')
                case 2:
                    lines.append(f"    a{number}: [int] = [replicas, {number}]")
                case _:
                    lines.append(f'    a{number}: {{str:str}} = {{key = name, number = "{number}"}}')
            number += 1
        lines += ["    check:", f"        replicas > 0, 'at least one on level {level}'", ""]
    return "\n".join(lines)


EVALUATION = f"""{_schemas()}
_base = {{labels.team = "t", quota.cpu = "200m"}}
items = [Level3 {{**_base, name = "n${{i}}", replicas = i % 4 + 1}} | {{quota.memory = "128Mi"}} for i in range(5000)]
"""


def generated(lines: int) -> str:
    """A file as programs write them: nested data, no schema, `lines` lines."""
    parts = []
    for number in range(lines // 10):
        parts.append(
            f"entry{number} = {{\n"
            f'    name = "entry-{number}"\n'
            f"    enabled = {number % 2 == 0}\n"
            f"    weight = {number}\n"
            "    labels = {\n"
            f'        team = "team-{number % 50}"\n'
            f'        zone = "zone-{number % 3}"\n'
            "    }\n"
            f'    hosts = ["a{number}.example.org", "b{number}.example.org"]\n'
            "}\n"
        )
    return "".join(parts)


def documents(count: int) -> list[dict[str, Any]]:
    """Kubernetes-like objects of 24 lines of YAML each."""
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"app-{each}", "namespace": "shop", "labels": {"app": f"app-{each}", "tier": "web"}},
            "spec": {
                "replicas": each % 5,
                "paused": False,
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "main",
                                "image": f"registry.example.org/app:{each}.0",
                                "args": ["--port", "8080", "--level=info"],
                                "ports": [{"containerPort": 8080, "name": "http"}],
                                "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}},
                            }
                        ]
                    }
                },
            },
        }
        for each in range(count)
    ]
