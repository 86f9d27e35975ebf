"""Which fields of a Kubernetes object are secret, by what they are. Everybody who shows an object asks here.

data and stringData of a Secret
the annotation in which `kubectl apply` keeps its input, of any kind, as it may repeat any of the others
the value of an environment variable whose name says so: one of its words, or two together, are in SECRET_WORDS
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtimes.base.paths import FieldPath, ListKey, value_at

Object = Mapping[str, Any]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SECRET_WORDS = frozenset(
    [
        "password",
        "passwd",
        "passcode",
        "passphrase",
        "pass",
        "pwd",
        "pw",
        "secret",
        "secrets",
        "token",
        "jwt",
        "dsn",
        "credential",
        "credentials",
        "apikey",
        "api_key",
        "access_key",
        "private_key",
        "secret_key",
        "signing_key",
        "encryption_key",
        "auth_key",
    ]
)
SUSPICIOUS: tuple[str, ...] = ("pass", "secret", "token", "key", "credential", "private", "auth", "pwd", "dsn", "jwt")
"""Parts of names of which a value may be secret: good for what is never written down, too broad for what is shown.

The language has the same ones for its cache (`kcl.cache.runs`), as neither may import the other; a test compares them.
"""
_POD_SPECS: dict[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
_POD_TEMPLATE = ("spec", "template", "spec")


def sensitive_paths(content: Object) -> tuple[FieldPath, ...]:
    return tuple(_sensitive(content))


def _sensitive(content: Object) -> Iterator[FieldPath]:
    if content.get("kind") == "Secret" and "/" not in str(content.get("apiVersion")):
        yield ("data",)
        yield ("stringData",)
    annotations = value_at(content, ("metadata", "annotations"))
    if isinstance(annotations, Mapping) and LAST_APPLIED in annotations:
        yield ("metadata", "annotations", LAST_APPLIED)
    pod_spec = _POD_SPECS.get(str(content.get("kind")), _POD_TEMPLATE)
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in _mappings(value_at(content, (*pod_spec, group))):
            for variable in _mappings(container.get("env")):
                if "value" in variable and is_secret_name(str(variable.get("name") or "")):
                    yield (
                        *pod_spec,
                        group,
                        ListKey((("name", str(container.get("name"))),)),
                        "env",
                        ListKey((("name", str(variable["name"])),)),
                        "value",
                    )


def is_secret_name(name: str) -> bool:
    """Whether an environment variable's name says that its value is secret: DB_PASSWORD, apiKey, AWS_SECRET_KEY."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_").replace(".", "_").split("_")
    pairs = {f"{first}_{second}" for first, second in itertools.pairwise(words)}
    return not SECRET_WORDS.isdisjoint({*words, *pairs})


def suggests_secret(name: str) -> bool:
    """Whether a value of this name may be secret, so that it is not to be written down anywhere."""
    return is_secret_name(name) or any(each in name.lower() for each in SUSPICIOUS)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
