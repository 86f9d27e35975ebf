"""Which inputs a status speaks of, for kinds that say so by other means than an observedGeneration.

A condition Ready that was written before the last change says nothing of it. Most kinds number what they have seen
(`custom`); some repeat what they looked at instead: an Application of Argo CD its source and destination
(`status.sync.comparedTo`; every write to it counts as a generation, so that has none), an ExternalSecret its
generation within a text (`syncedResourceVersion`). Some repeat what they were last asked for: a reconciliation
(Flux), a refresh (Kargo; Argo CD takes the annotation away when it is done).

Others are well and will not stay so, which nobody sees who reads "ready": a certificate whose renewal fails while the
present one is valid, a Secret that has not been refreshed for long, what is suspended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from runtimes.kubernetes.fields import parsed_time
from runtimes.kubernetes.health.verdict import Verdict, current, in_progress
from runtimes.kubernetes.objects import Object, group_of, kind_of, mapping, mappings, metadata, spec, status

_Rule = Callable[[Object, datetime], Verdict | None]
_ASKED: Final = {
    "reconcile.fluxcd.io/requestedAt": "lastHandledReconcileAt",
    "kargo.akuity.io/refresh": "lastHandledRefresh",
}
"""Annotations that ask for something, and where a status repeats what was done last."""
_HEEDING: Final = frozenset(
    {
        *("Bucket", "GitRepository", "HelmChart", "HelmRelease", "HelmRepository", "ImageRepository"),
        *("ImageUpdateAutomation", "Kustomization", "OCIRepository", "Receiver", "Stage", "Warehouse"),
    }
)
"""Kinds that repeat it. Of others, one that never did may not heed it."""
_QUOTED: Final = frozenset({"targetRevision", "path", "chart", "namespace", "server", "name"})
"""Of an Application's source and destination. Others may hold a password: a URL, the values of a chart."""
_LATE_FACTOR: Final = 2
_LATE_AFTER: Final = timedelta(minutes=5)
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")
_UNIT_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def assess(live: Object, now: datetime) -> Verdict | None:
    """Returns what stands against an object whose status says that it is well; None if nothing does."""
    if (asked := _unhandled(live)) is not None:
        return asked
    rule = _RULES.get((group_of(live), kind_of(live)))
    if rule is not None:
        return rule(live, now)
    return _suspended(live) if group_of(live).endswith(".toolkit.fluxcd.io") else None


def _unhandled(live: Object) -> Verdict | None:
    """What was asked for by an annotation and is not done."""
    for annotation, field in _ASKED.items():
        wanted, handled = mapping(metadata(live).get("annotations")).get(annotation), status(live).get(field)
        is_heeded = handled or (kind_of(live) in _HEEDING and "conditions" in status(live))
        if wanted and is_heeded and wanted != handled and not spec(live).get("suspend"):
            return in_progress(
                f"what {annotation} asks for is not done: its status is of before",
                reason="NotObserved",
                evidence=f"{field} {handled or 'is not set'}, not {wanted}",
            )
    return None


def _suspended(live: Object) -> Verdict | None:
    if spec(live).get("suspend") is not True:
        return None
    return current("it is suspended: what its status says may be of before", "Suspended", is_qualified=True)


# --- Argo CD


def _application(live: Object, _: datetime) -> Verdict | None:
    if refresh := mapping(metadata(live).get("annotations")).get("argocd.argoproj.io/refresh"):
        return in_progress(
            "a refresh was asked for and is not done: its status is of before",
            reason="NotObserved",
            evidence=f"argocd.argoproj.io/refresh {refresh}",
        )
    compared = mapping(mapping(status(live).get("sync")).get("comparedTo"))
    if not compared:
        return None
    wanted = spec(live)
    pairs: list[tuple[str, Object, Object]]
    if hydrated := mapping(wanted.get("sourceHydrator")):  # which counts for more than both
        pairs = [("source", mapping(compared.get("source")), _synced_source(hydrated))]
    elif sources := mappings(wanted.get("sources")):  # which count for more than a source beside them
        had = mappings(compared.get("sources"))
        if len(had) != len(sources):
            return _compared_otherwise("sources", len(had), len(sources), is_quoted=True)
        pairs = [(f"sources[{number}]", *pair) for number, pair in enumerate(zip(had, sources, strict=True))]
    else:
        pairs = [("source", mapping(compared.get("source")), mapping(wanted.get("source")))]
    pairs.append(("destination", mapping(compared.get("destination")), mapping(wanted.get("destination"))))
    for place, seen, section in pairs:
        # what was taken out of the spec counts, too; a source that is worked out elsewhere is not in it at all
        for name in {**section, **seen} if section else ():
            had, wants = _said(seen.get(name)), _said(section.get(name))
            # a cluster may be named or have its address written down, and is looked up by the other
            is_looked_up = place == "destination" and name in ("server", "name") and None in (had, wants)
            if not is_looked_up and had != wants:
                return _compared_otherwise(f"{place}.{name}", had, wants, is_quoted=name in _QUOTED)
    return None


def _synced_source(hydrator: Object) -> Object:
    """What is synced of a source that is hydrated: a branch into which it is rendered, not what it is rendered from."""
    synced = mapping(hydrator.get("syncSource"))
    return {
        "repoURL": mapping(hydrator.get("drySource")).get("repoURL"),
        "path": synced.get("path"),
        "targetRevision": synced.get("targetBranch"),
    }


def _compared_otherwise(place: str, seen: Any, wanted: Any, *, is_quoted: bool) -> Verdict:
    said = f"another {place}"
    if is_quoted and isinstance(seen, str | int):
        if wanted is None:
            said = f"{place} {seen}, which is not set any more"
        elif isinstance(wanted, str | int):
            said = f"{place} {seen}, not {wanted}"
    return in_progress(f"its status is about {said}", reason="NotObserved", evidence=f"status.sync.comparedTo: {said}")


def _said(value: Any) -> Any:
    """A value without what says nothing, which Argo CD leaves out when it copies it."""
    if isinstance(value, Mapping):
        said = {name: _said(each) for name, each in value.items()}
        return {name: each for name, each in said.items() if each is not None} or None
    if isinstance(value, list):
        return [_said(each) for each in value] or None
    return value if value or (isinstance(value, int | float) and not isinstance(value, bool)) else None


# --- External Secrets


def _external_secret(live: Object, now: datetime) -> Verdict | None:
    seen, generation = _synced_generation(live), metadata(live).get("generation")
    if seen is not None and isinstance(generation, int) and seen < generation:
        if spec(live).get("refreshPolicy") == "CreatedOnce":
            what = f"its Secret was made once, from generation {seen}, and stays so (CreatedOnce)"
            return current(what, "CreatedOnce", is_qualified=True)
        return in_progress(
            f"its Secret is of generation {seen}, not {generation}",
            reason="NotObserved",
            evidence=f"syncedResourceVersion {seen} of {generation}",
        )
    every, last = _duration(spec(live).get("refreshInterval")), _time(status(live).get("refreshTime"))
    is_periodic = spec(live).get("refreshPolicy", "Periodic") == "Periodic"
    if is_periodic and every and last is not None and now - last > every * _LATE_FACTOR + _LATE_AFTER:
        what = f"it was last refreshed at {last:%Y-%m-%d %H:%M} UTC, and has to be every {_shown(every)}"
        return current(f"{what}: its Secret may be old", "RefreshOverdue", is_qualified=True)
    return None


def _synced_generation(live: Object) -> int | None:
    number = str(status(live).get("syncedResourceVersion") or "").partition("-")[0]
    return int(number) if number.isdecimal() and len(number) < 10 else None


# --- cert-manager


def _certificate(live: Object, now: datetime) -> Verdict | None:
    until, renewal = _time(status(live).get("notAfter")), _time(status(live).get("renewalTime"))
    if until is not None and until <= now:
        what = f"the certificate expired at {until:%Y-%m-%d %H:%M} UTC, and nobody has said so: is cert-manager there?"
        return in_progress(what, reason="Expired", evidence=f"notAfter {until:%Y-%m-%dT%H:%M:%SZ}")
    ends = f"the present one is valid until {until:%Y-%m-%d %H:%M} UTC" if until is not None else "the present one ends"
    if last := status(live).get("lastFailureTime"):
        what = f"its renewal failed, last at {last}; {ends}"
        return current(what, "RenewalFailed", is_qualified=True)
    if renewal is not None and now - renewal > _LATE_AFTER:
        what = f"its renewal was due at {renewal:%Y-%m-%d %H:%M} UTC; {ends}"
        return current(what, "RenewalOverdue", is_qualified=True)
    return None


_RULES: Final[Mapping[tuple[str, str], _Rule]] = {
    ("argoproj.io", "Application"): _application,
    ("external-secrets.io", "ExternalSecret"): _external_secret,
    ("external-secrets.io", "PushSecret"): _external_secret,
    ("cert-manager.io", "Certificate"): _certificate,
}


def _time(stamp: Any) -> datetime | None:
    """Without a zone it is no time that could be compared."""
    read = parsed_time(stamp)
    return read if read is not None and read.tzinfo is not None else None


def _duration(text: Any) -> timedelta | None:
    """Reads `1h30m` as Go writes it; None for none, or for what is no duration."""
    if not isinstance(text, str) or not (parts := _DURATION.findall(text)):
        return None
    if "".join(number + unit for number, unit in parts) != text or len(text) > 20:
        return None
    return timedelta(seconds=sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts))


def _shown(every: timedelta) -> str:
    seconds = every.total_seconds()
    for unit in ("h", "m"):
        if seconds >= _UNIT_SECONDS[unit] and not seconds % _UNIT_SECONDS[unit]:
            return f"{seconds / _UNIT_SECONDS[unit]:.0f}{unit}"
    return f"{seconds:g}s"
