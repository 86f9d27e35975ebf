"""A status that is well and speaks of something else than the object says now, or will not stay well."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from runtimes.base import Health, Status
from runtimes.kubernetes import health
from runtimes.kubernetes.objects import Objects

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "Done", "message": "all is done"}]}
SOURCE = {"repoURL": "https://bob:s3cret@git.example/shop", "path": "prod", "targetRevision": "v2"}
DESTINATION = {"server": "https://kubernetes.default.svc", "namespace": "shop"}
CERT_MANAGER, EXTERNAL, ARGO = "cert-manager.io/v1", "external-secrets.io/v1", "argoproj.io/v1alpha1"
FLUX = "kustomize.toolkit.fluxcd.io/v1"


def assessed(
    version: str, kind: str, spec: Any, status: Any, generation: int = 3, annotations: Any = None
) -> tuple[Status, bool, str]:
    own = {"name": "a", "namespace": "d", "uid": "u", "generation": generation, "annotations": annotations}
    one = {"apiVersion": version, "kind": kind, "metadata": own, "spec": spec, "status": status}
    found: Health = health.assess(one, Objects([one]), NOW).health
    return found.status, found.is_qualified, found.message


def application(spec: Any, compared: Any, annotations: Any = None) -> tuple[Status, bool, str]:
    status = {"health": {"status": "Healthy"}, "sync": {"status": "Synced", "comparedTo": compared}}
    return assessed(ARGO, "Application", spec, status, annotations=annotations)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({"source": SOURCE, "destination": DESTINATION}, ""),
        ({"source": {**SOURCE, "helm": {"values": ""}, "chart": ""}, "destination": DESTINATION}, ""),
        ({"source": SOURCE, "destination": {"name": "in-cluster", "namespace": "shop"}}, ""),
        ({}, ""),
        (
            {"source": {**SOURCE, "targetRevision": "v1"}, "destination": DESTINATION},
            "its status is about source.targetRevision v1, not v2",
        ),
        (
            {"source": {**SOURCE, "repoURL": "x"}, "destination": DESTINATION},
            "its status is about another source.repoURL",
        ),
        (
            {"source": SOURCE, "destination": {**DESTINATION, "namespace": "dev"}},
            "its status is about destination.namespace dev, not shop",
        ),
        ({"sources": [SOURCE], "destination": DESTINATION}, "its status is about another source.repoURL"),
        (
            {"source": {**SOURCE, "helm": {"values": "a: 1"}}, "destination": DESTINATION},
            "its status is about another source.helm",
        ),
        (
            {"source": {**SOURCE, "chart": "web"}, "destination": DESTINATION},
            "its status is about source.chart web, which is not set any more",
        ),
        ({"source": {**SOURCE, "helm": {"values": ""}}, "destination": {**DESTINATION, "name": ""}}, ""),
    ],
)
def test_an_application_is_synced_with_what_it_was_compared_to(seen: Any, said: str) -> None:
    status, is_qualified, message = application({"source": SOURCE, "destination": DESTINATION}, seen)
    if said:
        assert (status, message) == (Status.IN_PROGRESS, said)
    else:
        assert (status, is_qualified) == (Status.CURRENT, False)


def test_a_namespace_that_an_application_names_no_more() -> None:
    """Where it was synced to then is not where it goes now."""
    seen = {"source": SOURCE, "destination": DESTINATION}
    for destination in ({"server": DESTINATION["server"]}, {"name": "in-cluster"}):
        found = application({"source": SOURCE, "destination": destination}, seen)
        said = "its status is about destination.namespace shop, which is not set any more"
        assert found == (Status.IN_PROGRESS, False, said)


def test_a_source_that_is_hydrated_is_compared_by_what_is_synced_of_it() -> None:
    """Its status repeats the branch into which it is rendered."""
    hydrator = {"drySource": {**SOURCE, "path": "dry"}, "syncSource": {"targetBranch": "live/prod", "path": "prod"}}
    spec = {"sourceHydrator": hydrator, "sources": [SOURCE], "source": SOURCE, "destination": DESTINATION}
    synced = {"repoURL": SOURCE["repoURL"], "targetRevision": "live/prod", "path": "prod"}
    assert application(spec, {"source": synced, "destination": DESTINATION})[0] is Status.CURRENT
    older = {"source": {**synced, "targetRevision": "live/old"}, "destination": DESTINATION}
    said = "its status is about source.targetRevision live/old, not live/prod"
    assert application(spec, older) == (Status.IN_PROGRESS, False, said)


def test_an_application_of_several_sources() -> None:
    other = {"repoURL": "https://charts.example", "chart": "web", "targetRevision": "1.0.0"}
    spec = {"sources": [SOURCE, other], "source": {"repoURL": "unused"}, "destination": DESTINATION}
    same = {"sources": [SOURCE, other], "destination": DESTINATION}
    assert application(spec, same)[0] is Status.CURRENT
    fewer = application(spec, {"sources": [SOURCE]})
    assert fewer == (Status.IN_PROGRESS, False, "its status is about sources 1, not 2")
    older = {"sources": [SOURCE, {**other, "targetRevision": "0.9"}], "destination": DESTINATION}
    assert application(spec, older)[2] == "its status is about sources[1].targetRevision 0.9, not 1.0.0"


def test_the_values_of_a_chart_are_not_quoted() -> None:
    spec = {"source": {**SOURCE, "helm": {"values": "password: new"}}, "destination": DESTINATION}
    seen = {"source": {**SOURCE, "helm": {"values": "password: old"}}, "destination": DESTINATION}
    assert application(spec, seen)[2] == "its status is about another source.helm"


def test_a_refresh_of_an_application_that_is_not_done() -> None:
    spec = {"source": SOURCE, "destination": DESTINATION}
    found = application(spec, spec, annotations={"argocd.argoproj.io/refresh": "hard"})
    assert found[0] is Status.IN_PROGRESS and "refresh was asked for" in found[2]


@pytest.mark.parametrize(
    ("kind", "spec", "status", "expected"),
    [
        ("Kustomization", {}, {"lastHandledReconcileAt": "9"}, (Status.CURRENT, False)),
        ("Kustomization", {}, {"lastHandledReconcileAt": "8"}, (Status.IN_PROGRESS, False)),
        ("Kustomization", {}, {}, (Status.IN_PROGRESS, False)),
        ("Alert", {}, {}, (Status.CURRENT, False)),
        ("Kustomization", {"suspend": True}, {"lastHandledReconcileAt": "8"}, (Status.CURRENT, True)),
        ("Kustomization", {"suspend": False}, {"lastHandledReconcileAt": "9"}, (Status.CURRENT, False)),
    ],
)
def test_a_reconciliation_that_flux_was_asked_for(kind: str, spec: Any, status: Any, expected: Any) -> None:
    asked = {"reconcile.fluxcd.io/requestedAt": "9"}
    assert assessed(FLUX, kind, spec, {**READY, **status}, annotations=asked)[:2] == expected


@pytest.mark.parametrize(
    ("spec", "status", "expected", "said"),
    [
        ({}, {"syncedResourceVersion": "3-ab"}, (Status.CURRENT, False), "all is done"),
        ({}, {"syncedResourceVersion": "2-ab"}, (Status.IN_PROGRESS, False), "its Secret is of generation 2, not 3"),
        ({}, {"syncedResourceVersion": "of another form"}, (Status.CURRENT, False), "all is done"),
        ({"refreshPolicy": "CreatedOnce"}, {"syncedResourceVersion": "2-ab"}, (Status.CURRENT, True), "made once"),
        (
            {"refreshInterval": "1h0m0s"},
            {"refreshTime": "2026-01-01T11:30:00Z"},
            (Status.CURRENT, False),
            "all is done",
        ),
        (
            {"refreshInterval": "1h0m0s"},
            {"refreshTime": "2026-01-01T08:30:00Z"},
            (Status.CURRENT, True),
            "it was last refreshed at 2026-01-01 08:30 UTC, and has to be every 1h: its Secret may be old",
        ),
        ({"refreshInterval": "0"}, {"refreshTime": "2020-01-01T08:30:00Z"}, (Status.CURRENT, False), "all is done"),
        ({"refreshInterval": "1h"}, {"refreshTime": "2020-01-01T08:30:00"}, (Status.CURRENT, False), "all is done"),
        (
            {"refreshInterval": "1h", "refreshPolicy": "OnChange"},
            {"refreshTime": "2020-01-01T08:30:00Z"},
            (Status.CURRENT, False),
            "all is done",
        ),
    ],
)
def test_a_secret_that_is_of_before(spec: Any, status: Any, expected: Any, said: str) -> None:
    found = assessed(EXTERNAL, "ExternalSecret", spec, {**READY, **status})
    assert found[:2] == expected and said in found[2]


def test_a_refresh_that_fails_while_the_old_secret_is_there_is_not_ready() -> None:
    failed = {"type": "Ready", "status": "False", "reason": "SecretSyncedError", "message": "could not get secret"}
    status = {"conditions": [failed], "syncedResourceVersion": "3-ab", "refreshTime": "2026-01-01T11:30:00Z"}
    assert assessed(EXTERNAL, "ExternalSecret", {}, status) == (Status.IN_PROGRESS, False, "could not get secret")


@pytest.mark.parametrize(
    ("status", "expected", "said"),
    [
        ({"notAfter": "2026-02-01T00:00:00Z", "renewalTime": "2026-01-20T00:00:00Z"}, (Status.CURRENT, False), "done"),
        (
            {"notAfter": "2026-02-01T00:00:00Z", "lastFailureTime": "2026-01-01T11:00:00Z"},
            (Status.CURRENT, True),
            "its renewal failed, last at 2026-01-01T11:00:00Z; the present one is valid until 2026-02-01 00:00 UTC",
        ),
        (
            {"notAfter": "2026-02-01T00:00:00Z", "renewalTime": "2026-01-01T11:00:00Z"},
            (Status.CURRENT, True),
            "its renewal was due at 2026-01-01 11:00 UTC",
        ),
        ({"notAfter": "2026-01-01T11:59:00Z"}, (Status.IN_PROGRESS, False), "expired at 2026-01-01 11:59 UTC"),
    ],
)
def test_a_certificate_that_will_not_stay_well(status: Any, expected: Any, said: str) -> None:
    found = assessed(CERT_MANAGER, "Certificate", {}, {**READY, **status})
    assert found[:2] == expected and said in found[2]
