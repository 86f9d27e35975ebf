"""From the name of a runtime to one that is connected.

The packages behind the names are imported when they are asked for: a start that touches no cluster pays for none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtimes.base import Misconfigured, Runtime, RuntimeType

_KUBERNETES_SETTINGS = frozenset({"kubeconfig", "context", "place", "allow_exec", "limits"})


def connect(type_: RuntimeType, settings: Mapping[str, Any]) -> Runtime:
    """Returns a runtime for one place; asks the infrastructure nothing yet. Raises `Misconfigured`.

    Settings for Kubernetes, all optional: `kubeconfig` (a path or several; as kubectl finds it), `context` (the
    current one), `place` (the name in messages and plans; the context's), `allow_exec` (whether the kubeconfig's
    credential program may run; False), `limits` (`runtimes.kubernetes.transport.Limits`).
    """
    match type_:
        case RuntimeType.KUBERNETES:
            _refuse_unknown(type_, settings, _KUBERNETES_SETTINGS)
            from runtimes.kubernetes.runtime import KubernetesRuntime

            return KubernetesRuntime.connect(**settings)
        case RuntimeType.TERRAFORM:
            raise Misconfigured(
                "this version has no Terraform runtime",
                target=str(settings.get("place") or ""),
                hint="leave resources of type Terraform out of the stack",
            )


def _refuse_unknown(type_: RuntimeType, settings: Mapping[str, Any], known: frozenset[str]) -> None:
    if unknown := sorted(set(settings) - known):
        raise Misconfigured(
            f"the {type_} runtime has no setting {', '.join(unknown)}", hint=f"it has {', '.join(sorted(known))}"
        )
