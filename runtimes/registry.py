"""From the name of a runtime to one that is connected.

The packages behind the names are imported when they are asked for: a start that touches no cluster pays for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from runtimes.base import (
    ClusterIdentity,
    FieldPath,
    Misconfigured,
    ProviderUse,
    Resource,
    ResourceId,
    Runtime,
    RuntimeType,
)

_KUBERNETES_SETTINGS = frozenset({"kubeconfig", "context", "place", "untrusted", "trusted_kubeconfigs", "limits"})
_TERRAFORM_SETTINGS = frozenset(
    {"folder", "place", "binary", "backend", "cli_config", "mirrors", "plugin_cache", "required_version"}
    | {"lock_timeout_seconds", "environment", "lock", "may_run", "fetched"}
)


def connect(type_: RuntimeType, settings: Mapping[str, Any]) -> Runtime:
    """Returns a runtime for one place; asks the infrastructure nothing yet. Raises `Misconfigured`.

    Settings for Kubernetes, all optional: `kubeconfig` (a path or several; as kubectl finds it), `context` (the
    current one), `place` (the name in messages and plans; the context's), `untrusted` (folders whose kubeconfigs may
    not name credential programs or token files; none), `trusted_kubeconfigs` (SHA-256 of the content of those that
    may; none), `limits` (`runtimes.kubernetes.transport.Limits`).

    Settings for Terraform, all optional but the first: `folder` (the stack's working folder, made if need be),
    `place` (terraform), `binary` (a name or path; terraform, else tofu, on PATH), `backend` (`{"type": ..., "config":
    {...}}`; a file in the folder), `cli_config` (the user's own file; none), `mirrors` (folders with
    providers, for `filesystem_mirror`), `plugin_cache` (a folder for downloaded providers), `required_version`,
    `lock_timeout_seconds` (how long to wait for others; 10), `environment` (added to terraform's), `lock` (the text
    of the repository's own lock file of providers), `may_run` (is told every `ProviderUse` before one is fetched or
    run, and raises to refuse; all may), `fetched` (returns patterns of the providers that may be asked for of
    their hosts, None for any; any). What is connected is a `Workspace` too.
    """
    match type_:
        case RuntimeType.KUBERNETES:
            _refuse_unknown(type_, settings, _KUBERNETES_SETTINGS)
            from runtimes.kubernetes.runtime import KubernetesRuntime

            return KubernetesRuntime.connect(**settings)
        case RuntimeType.TERRAFORM:
            _refuse_unknown(type_, settings, _TERRAFORM_SETTINGS)
            if "folder" not in settings:
                raise Misconfigured("the Terraform runtime needs the setting folder")
            from runtimes.terraform.runtime import TerraformRuntime

            return TerraformRuntime.connect(**settings)


def load(type_: RuntimeType) -> None:
    """Imports the package behind a name, which takes a moment, before it is asked for."""
    match type_:
        case RuntimeType.KUBERNETES:
            import runtimes.kubernetes.runtime
        case RuntimeType.TERRAFORM:
            import runtimes.terraform.runtime  # noqa: F401


def described(
    kubeconfig: Iterable[str] | None, contexts: Mapping[str, str | None]
) -> dict[str, ClusterIdentity | Misconfigured]:
    """Returns where contexts of a kubeconfig lead, by the names they are given under, or why not; asks nobody.

    Arguments as for `connect`. The uids are not known then.
    """
    from runtimes.kubernetes.kubeconfig import Kubeconfig

    found: dict[str, ClusterIdentity | Misconfigured] = {}
    try:
        files = (
            Kubeconfig.found() if kubeconfig is None else Kubeconfig([Path(each).expanduser() for each in kubeconfig])
        )
    except Misconfigured as failure:
        return dict.fromkeys(contexts, failure)
    for name, context in contexts.items():
        try:
            found[name] = files.place(context)
        except Misconfigured as failure:
            found[name] = failure
    return found


def provider_uses(resources: Iterable[Resource], *, mirrors: Iterable[Path], lock: str) -> tuple[ProviderUse, ...]:
    """Returns what terraform would fetch and run for these resources alone; raises `RuntimeFailure`. Asks nobody."""
    from runtimes.terraform.uses import of_resources

    return of_resources(resources, mirrors=tuple(mirrors), lock_text=lock)


def recorded_sensitive(
    folder: Path, resources: Iterable[Resource]
) -> Mapping[ResourceId, tuple[FieldPath, ...] | None]:
    """Returns which paths of Terraform resources are sensitive, as their providers said when last asked in a folder.

    None for a resource type of which nothing is recorded. Starts nothing and asks nobody.
    """
    from runtimes.terraform.recorded_schemas import recorded_sensitive as recorded

    return recorded(folder, resources)


def with_defaults(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns a built-in object with what a server of Kubernetes 1.34 fills in by the schemas of that version.

    None for a kind that they do not have, or a body that does not follow them. What admission, allocation and
    controllers add is not in it. Asks nobody.
    """
    from copy import deepcopy

    from runtimes.sandbox import defaults
    from runtimes.sandbox.schema.registry import Registry

    group, _, version = str(body.get("apiVersion") or "").rpartition("/")
    try:
        schema = Registry.load().kind(group, version, str(body.get("kind") or ""))
        filled = deepcopy(dict(body))
        defaults.apply(schema, filled)
    except (LookupError, ValueError, TypeError, AttributeError):
        return None
    return filled


def _refuse_unknown(type_: RuntimeType, settings: Mapping[str, Any], known: frozenset[str]) -> None:
    if unknown := sorted(set(settings) - known):
        raise Misconfigured(
            f"the {type_} runtime has no setting {', '.join(unknown)}", hint=f"it has {', '.join(sorted(known))}"
        )
