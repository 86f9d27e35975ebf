"""Kinds that another server may serve behind the API server: an aggregated API, or a definition that somebody made.

Where such a server is away, the API server answers for it with 503 or 504, with whatever the other says, or not at all;
and everything else is there all the same
(https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/).
"""

from __future__ import annotations

from runtimes.base import RuntimeFailure

_ITS_OWN = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)


def may_be_anothers(api_version: str) -> bool:
    """Groups without a dot are the API server's as well; any other may be."""
    group = api_version.rpartition("/")[0]
    return "." in group and group not in _ITS_OWN


class AggregatedUnavailable(RuntimeFailure):
    """What another server serves gets no answer, while the API server gives others: no kind of its version is."""


def of_another(failure: RuntimeFailure) -> AggregatedUnavailable:
    """Returns a failure that is one of this kind alone: the API server answers."""
    what = failure.message.partition(" cannot be reached: ")[2] or failure.message
    return AggregatedUnavailable(
        f"{what}, while the API server answers other requests",
        target=failure.target,
        subject=failure.subject,
        hint="another server serves this kind, most likely, and is away: kubectl get apiservices",
    )
