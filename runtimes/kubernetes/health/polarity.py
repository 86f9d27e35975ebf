"""What a condition of somebody's own kind says of its object, by its type.

There is no telling from a condition whether True is good news. The types below are those that operators use; any other
says nothing. Where an object has a condition Ready, that decides, but for what its controller has not taken over yet.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from runtimes.kubernetes.objects import Object, condition, is_false, is_true, status


class Says(Enum):
    FAILED = auto()
    """It will not get there."""
    OPEN = auto()
    """It is on its way, or something is wrong that may pass."""


def whatever_ready_says(state: Object) -> Says | None:
    """What counts although the object is Ready: Ready then speaks of what was there before.

    Crossplane's Synced and LastAsyncOperation, those of the controllers for AWS, cert-manager's Issuing, KEDA's
    Fallback, and Strimzi's NotReady, which it writes instead of Ready.
    """
    type_ = state.get("type")
    if is_true(state):
        return Says.FAILED if type_ == "ACK.Terminal" else Says.OPEN if type_ in _OPEN_THOUGH_READY else None
    return Says.OPEN if is_false(state) and type_ in _MISSING_THOUGH_READY else None


def of(state: Object, live: Object) -> Says | None:
    """What counts where there is no Ready. `live` is the object, for conditions that others give their meaning."""
    type_ = str(state.get("type") or "")
    if is_true(state) or "status" not in state:  # an Argo CD Application has bad news while it is so, without a status
        if _FAULTS.search(type_):
            return Says.FAILED
        if _OPEN.search(type_):
            return Says.OPEN
    if is_true(state):
        return Says.OPEN if type_ == "Progressing" and _has_openshift_three(live) else None
    if type_ == "Progressing":
        return _without_progress(state, live)
    if type_ == "Succeeded":
        return Says.FAILED if is_false(state) else Says.OPEN
    return Says.OPEN if type_ in _GOOD or (is_false(state) and _PART_IS_GOOD.search(type_)) else None


def _has_openshift_three(live: Object) -> bool:
    """Progressing is good news of a DeploymentConfig, and bad of a ClusterOperator, which has Degraded as well."""
    return bool(condition(live, "Degraded"))


def _without_progress(state: Object, live: Object) -> Says | None:
    """Kinds that run replicas have it True for good, as a Deployment; of others it is good news."""
    if state.get("reason") == "ProgressDeadlineExceeded":
        return Says.FAILED
    return Says.OPEN if "replicas" in status(live) and not _has_openshift_three(live) else None


_OPEN_THOUGH_READY = ("NotReady", "Issuing", "Fallback")
_MISSING_THOUGH_READY = ("Synced", "ACK.ResourceSynced", "LastAsyncOperation")
_FAULTS = re.compile(r"Failed$|^Invalid|^SpecError$")
_OPEN = re.compile(
    r"(?:Error|ErrorOccurred|Failure|Failing|Pending|Unhealthy|Unavailable|Degraded|Updating|Upgrading|Creating"
    r"|Deleting|Provisioning|Initializing|Deploying|Installing|Remediating|RollingOut|Scaling(?:Up|Down)|PlanMissing"
    r"|RolloutProgressing)$"
)
_GOOD = frozenset(
    {
        "Accepted",
        "Admitted",
        "Applied",
        "Available",
        "Configured",
        "Deployed",
        "Established",
        "Healthy",
        "Initialized",
        "Installed",
        "Offered",
        "Programmed",
        "Provisioned",
        "QuotaReserved",
        "Reconciled",
        "ResolvedRefs",
        "ResourcesApplied",
        "ResourcesUpToDate",
        "RevisionHealthy",
        "SourcesProvided",
        "Synchronized",
        "UpToDate",
        "Valid",
        "ValidPipeline",
        "Validated",
    }
)
_PART_IS_GOOD = re.compile(r"(?<!Not)(?<!Upgrade)(?<!Update)Ready$|UpToDate$")
