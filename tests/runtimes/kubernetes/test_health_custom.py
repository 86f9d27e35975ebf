"""What operators write into the status of kinds that nobody here has heard of, and what is made of it.

The statuses have the shapes of those that Argo CD's own health checks are tested with
(https://github.com/argoproj/argo-cd/tree/master/resource_customizations).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runtimes.base import Health, Status
from runtimes.kubernetes import health
from runtimes.kubernetes.objects import Objects

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CURRENT, OPEN, FAILED = Status.CURRENT, Status.IN_PROGRESS, Status.FAILED


def assessed(kind: str, status: Any, spec: Any = None, generation: int = 2) -> Health:
    own = {"name": "a", "namespace": "d", "uid": "u", "generation": generation}
    one = {"apiVersion": "x.example/v1", "kind": kind, "metadata": own, "spec": spec or {}, "status": status}
    return health.assess(one, Objects([one]), NOW).health


def conditions(*each: str) -> dict[str, Any]:
    """Conditions out of `Type=Status` or `Type=Status/Reason`."""
    found = []
    for one in each:
        type_, _, rest = one.partition("=")
        status, _, reason = rest.partition("/")
        found.append({"type": type_, "status": status, "reason": reason})
    return {"conditions": found}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (conditions("ResourcesApplied=False"), OPEN),
        (conditions("ResourcesApplied=True"), CURRENT),
        (conditions("ErrorOccurred=True", "ResourcesUpToDate=True"), OPEN),
        (conditions("ErrorOccurred=False", "ResourcesUpToDate=True", "RolloutProgressing=False"), CURRENT),
        (conditions("RolloutProgressing=True", "ResourcesUpToDate=True"), OPEN),
        (conditions("SpecError=True"), FAILED),
        (conditions("SubmissionError=True"), OPEN),
        (conditions("Completed=False"), CURRENT),
        (conditions("Installed=True", "Healthy=False/UnhealthyPackageRevision"), OPEN),
        (conditions("Installed=True", "Healthy=Unknown"), OPEN),
        (conditions("Established=True", "Offered=False"), OPEN),
        (conditions("Ready=True", "LastAsyncOperation=False"), OPEN),
        (conditions("Ready=True", "ACK.Terminal=True"), FAILED),
        (conditions("ACK.ResourceSynced=False"), OPEN),
        (conditions("Ready=True", "ACK.ResourceSynced=True", "ACK.Terminal=False"), CURRENT),
        (conditions("NotReady=True/Creating"), OPEN),
        (conditions("Ready=True", "Issuing=True"), OPEN),
        (conditions("Ready=True", "Active=False", "Fallback=False", "Paused=Unknown"), CURRENT),
        (conditions("Ready=True", "Fallback=True"), OPEN),
        (conditions("CatalogSourcesUnhealthy=True"), OPEN),
        (conditions("CatalogSourcesUnhealthy=False", "InstallPlanPending=True"), OPEN),
        (conditions("InstallPlanFailed=True"), FAILED),
        (conditions("CatalogSourcesUnhealthy=False"), CURRENT),
        (conditions("Available=True", "Progressing=False", "Degraded=False", "Upgradeable=False"), CURRENT),
        (conditions("Available=True", "Progressing=True", "Degraded=False"), OPEN),
        (conditions("Available=True", "Progressing=False", "Degraded=True"), OPEN),
        (conditions("Available=True", "Progressing=True/NewReplicationControllerAvailable"), CURRENT),
        (conditions("Available=True", "Progressing=False/ProgressDeadlineExceeded"), FAILED),
        ({"replicas": 5, **conditions("Available=True", "Progressing=False/RolloutAborted")}, OPEN),
        (conditions("Available=Unknown"), OPEN),
        (conditions("EtcdClusterReady=False", "CertificatesReady=True"), OPEN),
        (conditions("UpgradeReady=False", "NotReady=False"), CURRENT),
        (conditions("Available=True", "RollingOut=True", "MachinesUpToDate=False"), OPEN),
        (conditions("Available=True", "RollingOut=False", "MachinesUpToDate=True", "ScalingUp=False"), CURRENT),
        (conditions("Available=True", "ScalingDown=True"), OPEN),
        (conditions("Available=True", "MachinesUpToDate=False"), OPEN),
        (conditions("QuotaReserved=False/Pending"), OPEN),
        # an Application of Argo CD has conditions as long as they hold, and gives them no status
        (
            {"health": {"status": "Healthy"}, "conditions": [{"type": "ComparisonError", "message": "no manifests"}]},
            OPEN,
        ),
        ({"health": {"status": "Healthy"}, "conditions": [{"type": "InvalidSpecError"}]}, FAILED),
        ({"health": {"status": "Healthy"}, "conditions": [{"type": "OrphanedResourceWarning"}]}, CURRENT),
        ({"ingress": [conditions("Admitted=True"), conditions("Admitted=False/HostAlreadyClaimed")]}, OPEN),
        ({"ancestors": [conditions("Accepted=True"), conditions("Accepted=False/TargetNotFound")]}, OPEN),
    ],
)
def test_conditions_besides_ready(status: dict[str, Any], expected: Status) -> None:
    assert assessed("Thing", status).status is expected


def test_a_condition_says_its_own_words_and_else_its_type() -> None:
    said = {"conditions": [{"type": "Healthy", "status": "False", "reason": "Broken", "message": "cannot pull"}]}
    assert assessed("Thing", said) == Health(OPEN, "Broken", "cannot pull")
    assert assessed("Thing", conditions("Healthy=False")) == Health(OPEN, "", "Healthy is False")
    assert assessed("Thing", conditions("NotReady=True")) == Health(OPEN, "", "notready")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "Running Ready ready Healthy green Succeeded Completed Bound Active Available Created valid Initialized",
            CURRENT,
        ),
        ("STABLE DEPLOYED attached detached Provisioned Complete Enabled NotApplicable Listening", CURRENT),
        ("Pending Creating Provisioning initializing Progressing ApplyingChanges ScalingUp PENDING_RERUN New", OPEN),
        ("WaitingForPluginOperations InProgress ImportInProgress RequiresApproval SUBMITTED Degraded Unhealthy", OPEN),
        ("Missing Unknown yellow red Unavailable DEPLOYED_NOT_READY errored ConfigError NonCompliant Paused", OPEN),
        (
            "Failed UpdateFailed FailedValidation PartiallyFailed Failure invalid expired HEALTH_ERR faulted Lost",
            FAILED,
        ),
    ],
)
@pytest.mark.parametrize("field", ["phase", "state", "health", "PostgresClusterStatus"])
def test_words(field: str, words: str, expected: Status) -> None:
    found = {word: assessed("Thing", {field: word}).status for word in words.split()}
    assert found == dict.fromkeys(words.split(), expected)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Cluster in healthy state", CURRENT),
        ("No errors", CURRENT),
        ("Setting up primary", OPEN),
        ("Switchover in progress", OPEN),
        ("Failing over", OPEN),
        ("Primary instance is being restarted in-place", OPEN),
        ("Unable to create required cluster objects", FAILED),
        ("Cluster is unrecoverable and needs manual intervention", FAILED),
        ("a" * 100_000 + "ing", CURRENT),
    ],
)
def test_sentences(sentence: str, expected: Status) -> None:
    assert assessed("Cluster", {"phase": sentence}).status is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"health": {"status": "Degraded"}, "sync": {"status": "OutOfSync"}}, OPEN),
        ({"health": {"status": "Healthy"}, "operationState": {"phase": "Failed"}}, CURRENT),
        ({"applicationState": {"state": "SUBMISSION_FAILED"}}, FAILED),
        ({"state": "Created", "ceph": {"health": "HEALTH_ERR"}}, FAILED),
        ({"phase": "Enabled", "lastBackupStatus": "Failed", "previousState": "Pending"}, CURRENT),
        ({"state": "detached", "robustness": "unknown"}, CURRENT),
        ({"phase": ["Pending"], "state": None, "health": 3, "status": ""}, CURRENT),
        ({"readyToUse": True}, CURRENT),
        ({"readyToUse": False}, OPEN),
        ({"healthy": False}, OPEN),
        ({"error": {"message": "no such class"}}, OPEN),
        ({"readyToUse": True, "error": {"message": "the first try failed"}}, CURRENT),
        ({"failureReason": "CreateError", "failureMessage": "no quota"}, FAILED),
        # Ready counts, and not what is on its way beside it; a failure beside it is none the less no success
        ({"phase": "Upgrading", **conditions("Ready=True")}, CURRENT),
        ({"phase": "Failed", **conditions("Ready=True")}, OPEN),
        ({"phase": "Failed", **conditions("Ready=False")}, FAILED),
    ],
)
def test_where_a_status_says_it(status: dict[str, Any], expected: Status) -> None:
    assert assessed("Thing", status).status is expected


def test_a_word_is_told_with_what_the_status_says_of_it() -> None:
    assert assessed("Thing", {"phase": "Unavailable", "message": "no bucket"}) == Health(
        OPEN, "Unavailable", "phase is Unavailable: no bucket"
    )
    warned = assessed("Store", {"state": "Created", "ceph": {"health": "HEALTH_WARN"}})
    assert warned == Health(CURRENT, "HEALTH_WARN", "ceph.health is HEALTH_WARN", is_qualified=True)


def test_running_is_the_end_of_a_service_and_the_middle_of_a_run() -> None:
    kinds = ("Workflow", "Backup", "TestRun", "Build", "Database", "CronWorkflow", "ScheduledBackup")
    found = [kind for kind in kinds if assessed(kind, {"phase": "Running"}).status is OPEN]
    assert found == ["Workflow", "Backup", "TestRun", "Build"]


def test_what_runs_once_does_not_come_back_from_its_end() -> None:
    """Nobody waits for a run that is over; a service that was in error may recover."""
    words = ("Error", "Aborted", "Cancelled", "Inconclusive")
    kinds = ("Workflow", "AnalysisRun", "Job", "Database")
    found = {kind: {assessed(kind, {"phase": word}).status for word in words} for kind in kinds}
    assert found == {"Workflow": {FAILED}, "AnalysisRun": {FAILED}, "Job": {FAILED}, "Database": {OPEN}}
    assert assessed("Job", {"state": {"phase": "Aborted", "reason": "PodFailed"}}).status is FAILED


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (conditions("Created=True"), OPEN),
        (conditions("Created=True", "Running=True"), OPEN),
        (conditions("Created=True", "Running=True", "Restarting=True"), OPEN),
        (conditions("Created=True", "Running=False", "Succeeded=True"), CURRENT),
        (conditions("Created=True", "Running=False", "Failed=True"), FAILED),
        (conditions("Created=True", "Suspended=True"), CURRENT),
        (conditions("Completed=True"), CURRENT),
        ({"phase": "Completed", **conditions("Created=True")}, CURRENT),
        ({"conditions": [{"status": "Running"}]}, CURRENT),
    ],
)
@pytest.mark.parametrize("kind", ["PyTorchJob", "JobSet"])
def test_a_job_that_has_not_ended_is_not_what_one_waits_for(kind: str, status: Any, expected: Status) -> None:
    """Kubeflow's jobs have Running True for hours, and were called ready for as long."""
    assert assessed(kind, status).status is expected
    assert assessed("Database", conditions("Created=True", "Running=True")).status is CURRENT


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"sync": {"status": "OutOfSync"}}, "what runs is not what its source says: sync.status is OutOfSync"),
        (
            {"sync": {"status": "Synced"}, "operationState": {"phase": "Failed", "message": "denied"}},
            "its last operation ended as Failed: denied",
        ),
    ],
)
def test_healthy_is_not_all_that_is_said_of_an_application(more: dict[str, Any], said: str) -> None:
    """Healthy is what runs, which may be from before what was asked for."""
    found = assessed("Application", {"health": {"status": "Healthy"}, **more})
    assert (found.status, found.is_qualified, found.message) == (CURRENT, True, said)


def test_what_the_configuration_pauses_is_as_it_should_be() -> None:
    assert assessed("Rollout", {"phase": "Paused"}).status is OPEN
    assert assessed("Rollout", {"phase": "Paused"}, {"paused": True}).status is CURRENT


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "updatedReplicas": 3}, CURRENT),
        ({"replicas": 3, "readyReplicas": 2}, OPEN),
        ({"replicas": 3, "readyReplicas": 3, "updatedReplicas": 1}, OPEN),
        ({"replicas": 3, "readyReplicas": 3, "upToDateReplicas": 1}, OPEN),
        ({"replicas": 2}, OPEN),
        ({"replicas": "two"}, CURRENT),
    ],
)
def test_replicas(counts: dict[str, Any], expected: Status) -> None:
    assert assessed("CloneSet", counts, {"replicas": 3}).status is expected


def test_replicas_that_stay_as_they_are_and_nodes() -> None:
    half = {"replicas": 4, "readyReplicas": 4, "updatedReplicas": 2}
    assert assessed("CloneSet", half, {"replicas": 4, "updateStrategy": {"partition": 2}}).status is CURRENT
    nodes = {"desiredNumberScheduled": 3, "numberReady": 2, "updatedNumberScheduled": 3}
    assert assessed("DaemonSet", nodes) == Health(OPEN, "Replicas", "numberReady is 2 of 3 nodes")
    assert assessed("DaemonSet", {**nodes, "numberReady": 3}).status is CURRENT


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (1, OPEN),
        (2, CURRENT),
        ("1", OPEN),
        ("2", CURRENT),
        ("5c788f4484", CURRENT),
        ("8575574967", CURRENT),
        (None, OPEN),
    ],
)
def test_generations_are_numbers_or_text(seen: object, expected: Status) -> None:
    assert assessed("Rollout", {"observedGeneration": seen, "phase": "Healthy"}).status is expected


def made(seconds_ago: int, status: Any, *, is_reporting: bool = True) -> Health:
    at = (NOW - timedelta(seconds=seconds_ago)).isoformat().replace("+00:00", "Z")
    own = {"name": "a", "namespace": "d", "uid": "u", "generation": 1, "creationTimestamp": at}
    one = {"apiVersion": "x.example/v1", "kind": "Database", "metadata": own, "spec": {}, "status": status}
    objects = Objects([one])
    if is_reporting:
        objects.expect_status("x.example", "Database")
    return health.assess(one, objects, NOW).health


def test_what_no_controller_has_looked_at_yet_is_not_ready() -> None:
    assert made(2, {}) == Health(OPEN, "NotObserved", "no controller has reported on it yet")
    assert made(2, None).status is OPEN
    assert made(2, {"phase": "Bound"}).status is CURRENT
    assert made(2, {}, is_reporting=False) == Health(CURRENT)
    late = made(60, {})
    assert (late.status, late.reason, late.is_qualified) == (CURRENT, "NoStatus", True)
