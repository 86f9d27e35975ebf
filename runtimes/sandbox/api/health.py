"""Health pages: what a server says of its checks, one by one or as a list."""

from __future__ import annotations

from collections.abc import Sequence

from runtimes.sandbox.api.requests import Query

PAGES = ("healthz", "livez", "readyz")
_HOOKS = """
start-apiserver-admission-initializer generic-apiserver-start-informers priority-and-fairness-config-consumer
priority-and-fairness-filter storage-object-count-tracker-hook start-apiextensions-informers
start-apiextensions-controllers crd-informer-synced start-system-namespaces-controller
start-cluster-authentication-info-controller start-kube-apiserver-identity-lease-controller
start-kube-apiserver-identity-lease-garbage-collector start-legacy-token-tracking-controller
start-service-ip-repair-controllers rbac/bootstrap-roles scheduling/bootstrap-system-priority-classes
priority-and-fairness-config-producer bootstrap-controller start-kubernetes-service-cidr-controller
start-kube-aggregator-informers apiservice-status-local-available-controller
apiservice-status-remote-available-controller apiservice-registration-controller apiservice-discovery-controller
kube-apiserver-autoregistration autoregister-completion apiservice-openapi-controller apiservice-openapiv3-controller
"""
_CHECKS = (
    "ping",
    "log",
    "etcd",
    *(name if name == "autoregister-completion" else f"poststarthook/{name}" for name in _HOOKS.split()),
)
_FIRST_OF_ALL = 3
"""A server that is asked whether it is ready looks at its storage and caches right after these."""


def checks(page: str) -> tuple[str, ...]:
    """The checks behind a page, in the order in which they are listed."""
    if page != "readyz":
        return _CHECKS
    return (*_CHECKS[:_FIRST_OF_ALL], "etcd-readiness", "informer-sync", *_CHECKS[_FIRST_OF_ALL:], "shutdown")


def text(page: str, check: Sequence[str], query: Query) -> str | None:
    """The page's text; None if it has no such check. A single check is never listed."""
    if check:
        return "ok" if "/".join(check) in checks(page) else None
    if "verbose" not in query.values:
        return "ok"
    unknown = dict.fromkeys(query.all("exclude"))
    lines = []
    for name in checks(page):
        lines.append(f"[+]{name} excluded: ok\n" if name in unknown else f"[+]{name} ok\n")
        unknown.pop(name, None)
    if unknown:
        shown = ", ".join(f'"{name}"' for name in sorted(unknown))
        lines.append(f"warn: some health checks cannot be excluded: no matches for {shown}\n")
    return f"{''.join(lines)}{page} check passed\n"
