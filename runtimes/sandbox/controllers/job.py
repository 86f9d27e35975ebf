"""Job: pods that are to end well so many times, tried again a few times when they do not.

Every pod carries a finalizer until its end has been counted, so that none is lost or counted twice: first its uid is
noted in the status, then the finalizer goes, then the count is raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from itertools import islice

from kcl.records import dataclass
from runtimes.sandbox.controllers import job_indexes as indexes
from runtimes.sandbox.controllers.base import PASS_SECONDS, Controller, Key, World, key_of
from runtimes.sandbox.controllers.conditions import condition, without
from runtimes.sandbox.controllers.owners import claim, owners_to_wake
from runtimes.sandbox.controllers.pods import from_template, is_active, is_finished, is_going, is_ready, restarts
from runtimes.sandbox.controllers.times import parsed, stamp
from runtimes.sandbox.errors import ApiError
from runtimes.sandbox.limits import BURST
from runtimes.sandbox.store import Change, Object, copied

FINALIZER = "batch.kubernetes.io/job-tracking"
MANAGER = "kubernetes.io/job-controller"  # in spec.managedBy; a Job of another manager is left alone
RETRY_SECONDS = 1.0  # a pass that failed is repeated so much later, then later and later
BATCH_SECONDS = 1.0  # changes of pods are collected for so long
FIRST_BACK_OFF_SECONDS, LONGEST_BACK_OFF_SECONDS = 10.0, 600.0


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Why the Job is over."""

    is_success: bool
    reason: str
    message: str


class Jobs(Controller):
    name = "job-controller"
    first_retry_seconds = RETRY_SECONDS
    watches = ("jobs.batch", "pods")

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._ending = False  # pods were deleted in this very pass, and have to be counted before the Job is over

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "jobs":
            yield change.key
            if change.type == "DELETED":
                self._release_pods(change.object)
            return
        for key in owners_to_wake(self.hands, "jobs.batch", "Job", (change.object, change.previous)):
            self.enqueue(key, after=BATCH_SECONDS)

    def _release_pods(self, job: Object) -> None:
        """Nobody will count them any more: their finalizers must not keep them."""
        for pod in self.hands.all("pods", job["metadata"]["namespace"]):
            references = pod["metadata"].get("ownerReferences") or ()
            if any(each["uid"] == job["metadata"]["uid"] for each in references):
                self.enqueue(("pod " + key_of(pod)[0], key_of(pod)[1]))

    def reconcile(self, key: Key) -> None:
        if key[0].startswith("pod "):
            pod = self.hands.find("pods", key[0].removeprefix("pod "), key[1])
            if pod is not None:
                self._drop_finalizer(pod)
            return
        job = self.hands.find("jobs.batch", *key)
        if job is None or job["spec"].get("managedBy", MANAGER) != MANAGER:
            return
        pods = claim(self.hands, "pods", job, self.hands.all("pods", key[0]))
        if _ended(job):
            for pod in pods:
                if is_finished(pod):
                    self._drop_finalizer(pod)
            self._expire(job)
            return
        self._sync(copied(job), pods)

    def _sync(self, job: Object, pods: list[Object]) -> None:
        status = job.setdefault("status", {})
        spec, now = job["spec"], self.clock.now()
        suspended = bool(spec.get("suspend"))
        if "startTime" not in status and not suspended:
            status["startTime"] = stamp(now)
        if spec.get("activeDeadlineSeconds") is not None and "startTime" in status:
            passed = (now - parsed(status["startTime"])).total_seconds()
            self.enqueue(key_of(job), after=max(spec["activeDeadlineSeconds"] - passed, 0.0) + 0.001)
        active = [pod for pod in pods if is_active(pod)]
        lost = indexes.failed(job, pods, lambda pod: self._policy(job, pod)[0])
        uncounted = [pod for pod in pods if self._counts(job, pod)]
        ignored = [pod for pod in uncounted if self._policy(job, pod)[0] == "Ignore"]
        succeeded = [pod for pod in uncounted if pod["status"]["phase"] == "Succeeded"]
        failed = [pod for pod in uncounted if pod not in succeeded and pod not in ignored]
        total_succeeded = status.get("succeeded", 0) + len(succeeded)
        if indexes.is_indexed(job):
            total_succeeded = len(indexes.completed(job, pods))
        total_failed = status.get("failed", 0) + len(failed)
        verdict = self._verdict(job, pods, failed, total_succeeded, total_failed, active, lost)
        if verdict is not None and verdict.is_success:
            failed = [pod for pod in failed if is_finished(pod)]  # what is ended for being superfluous did not fail
        failure: ApiError | None = None
        self._ending = False
        if verdict is not None:
            self._ending = bool(active)
            for pod in active:
                self.hands.delete("pods", pod)  # its end is still counted
                self.event(job, "Normal", "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")
            active = []
        elif not job["metadata"].get("deletionTimestamp"):
            waiting = indexes.awaiting_successors(job, pods, lost)
            try:
                active = self._manage(job, pods, active, total_succeeded, suspended, lost, waiting)
            except ApiError as error:
                failure = error
            kept = [pod["metadata"]["uid"] for pod in waiting.values()]
            uncounted = [pod for pod in uncounted if pod["metadata"]["uid"] not in kept]
            failed = [pod for pod in failed if pod["metadata"]["uid"] not in kept]
            self._note_suspension(job, suspended)
        self._write(job, pods, active, verdict, succeeded, failed, uncounted, total_succeeded, lost)
        if failure is not None:
            raise failure

    # What to do

    def _manage(
        self,
        job: Object,
        pods: list[Object],
        active: list[Object],
        succeeded: int,
        suspended: bool,
        lost: set[int],
        waiting: dict[int, Object],
    ) -> list[Object]:
        """The active pods afterwards. Failed pods whose successors are made leave `waiting`."""
        spec = job["spec"]
        if suspended:
            self._give_up(job, active)
            return []
        parallelism, completions = spec.get("parallelism", 1), spec.get("completions")
        if completions is None:
            wanted = len(active) if succeeded else parallelism
        else:
            wanted = min(completions - succeeded - len(lost), parallelism)
        if len(active) > wanted:
            surplus = sorted(active, key=lambda pod: (is_ready(pod), pod["metadata"]["creationTimestamp"]))
            self._give_up(job, surplus[: len(active) - wanted])
            return surplus[len(active) - wanted :]
        missing = wanted - len(active)
        if spec.get("podReplacementPolicy") == "Failed":
            missing -= sum(is_going(pod) and not is_finished(pod) for pod in pods)
        wait = 0.0 if indexes.limit_per_index(job) is not None else self._back_off(pods)
        if missing <= 0 or wait > 0:
            if missing > 0:
                self.enqueue(key_of(job), after=wait)
            return active
        if missing > BURST:
            self.enqueue(key_of(job), after=PASS_SECONDS)
        return [*active, *self._make(job, pods, min(missing, BURST), lost, waiting)]

    def _make(
        self, job: Object, pods: list[Object], number: int, lost: set[int], waiting: dict[int, Object]
    ) -> list[Object]:
        made = []
        for index in self._free_indexes(job, pods, number, lost, waiting):
            pod = from_template(job, job["spec"]["template"])
            metadata = pod["metadata"]
            metadata["finalizers"] = [*metadata.get("finalizers", ()), FINALIZER]
            if index is not None:
                indexes.give_index(pod, job, index, waiting.get(index))
            try:
                created = self.hands.create("pods", metadata["namespace"], pod)
            except ApiError as error:
                self.event(job, "Warning", "FailedCreate", f"Error creating: {error.message}")
                raise
            self.event(job, "Normal", "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")
            made.append(created)
            if index is not None:
                waiting.pop(index, None)
        return made

    def _free_indexes(
        self, job: Object, pods: list[Object], number: int, lost: set[int], waiting: dict[int, Object]
    ) -> list[int | None]:
        """What to make pods for: so many times no index, or the lowest that are neither done, lost nor under way."""
        if not indexes.is_indexed(job):
            return [None] * number
        taken = indexes.completed(job, pods) | lost | {indexes.index_of(pod) for pod in pods if is_active(pod)}
        for index, pod in waiting.items():
            wait = self._wait_after(_finished_at(pod), indexes.failures_of(pod) + 1)
            if wait > 0:
                taken.add(index)
                self.enqueue(key_of(job), after=wait)
        free = (index for index in range(job["spec"]["completions"]) if index not in taken)
        return list(islice(free, number))

    def _counts(self, job: Object, pod: Object) -> bool:
        """It has ended, or will never get so far, and that has not been counted yet."""
        if FINALIZER not in (pod["metadata"].get("finalizers") or ()):
            return False
        waits = job["spec"].get("podReplacementPolicy") == "Failed"
        return is_finished(pod) or (is_going(pod) and not waits)

    def _give_up(self, job: Object, pods: list[Object]) -> None:
        """Delete without counting a failure."""
        for pod in pods:
            self.hands.delete("pods", self._drop_finalizer(pod))
            self.event(job, "Normal", "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    def _back_off(self, pods: list[Object]) -> float:
        """Seconds to wait before the next try: doubled with every failure since the last success."""
        ends = sorted((_finished_at(pod), pod["status"]["phase"]) for pod in pods if is_finished(pod))
        failures = 0
        for _, phase in reversed(ends):
            if phase != "Failed":
                break
            failures += 1
        if not failures:
            return 0.0
        return self._wait_after(ends[-1][0], failures)

    def _wait_after(self, end: str, failures: int) -> float:
        """Seconds from now until the next try after so many failures, of which the last was at `end`."""
        wait = min(FIRST_BACK_OFF_SECONDS * 2.0 ** (failures - 1), LONGEST_BACK_OFF_SECONDS)
        due = parsed(end) + timedelta(seconds=wait)
        return max((due - self.clock.now()).total_seconds(), 0.0)

    # How it ends

    def _verdict(
        self,
        job: Object,
        pods: list[Object],
        failed: list[Object],
        succeeded: int,
        failures: int,
        active: list[Object],
        lost: set[int],
    ) -> _Verdict | None:
        spec, status = job["spec"], job["status"]
        for noted in status.get("conditions") or ():
            if noted["type"] in ("FailureTarget", "SuccessCriteriaMet"):
                return _Verdict(noted["type"] == "SuccessCriteriaMet", noted["reason"], noted["message"])
        for pod in failed:
            action, message = self._policy(job, pod)
            if action == "FailJob":
                return _Verdict(False, "PodFailurePolicy", message)
        limit = spec.get("backoffLimit", 6)
        if failures > limit or self._restarts_too_often(job, pods, limit):
            return _Verdict(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        deadline = spec.get("activeDeadlineSeconds")
        if deadline is not None and "startTime" in status and not spec.get("suspend"):
            if (self.clock.now() - parsed(status["startTime"])).total_seconds() >= deadline:
                return _Verdict(False, "DeadlineExceeded", "Job was active longer than specified deadline")
        completions = spec.get("completions")
        if indexes.is_indexed(job) and (verdict := _verdict_of_indexes(job, indexes.completed(job, pods), lost)):
            return verdict
        done = succeeded > 0 and not active if completions is None else succeeded >= completions
        if done and not spec.get("suspend"):
            return _Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")
        return None

    def _restarts_too_often(self, job: Object, pods: list[Object], limit: int) -> bool:
        """With restartPolicy OnFailure the kubelet tries again in the same pod; its restarts count."""
        if (job["spec"]["template"].get("spec") or {}).get("restartPolicy") != "OnFailure":
            return False
        total = sum(restarts(pod) for pod in pods if is_active(pod))
        return total > 0 if limit == 0 else total >= limit

    def _policy(self, job: Object, pod: Object) -> tuple[str, str]:
        """The action of the podFailurePolicy for a failed pod ("Count" if no rule fits), and the words for it."""
        if (pod.get("status") or {}).get("phase") != "Failed":
            return "Count", ""
        where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for number, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or ()):
            rest = f"matching {rule['action']} rule at index {number}"
            if "onExitCodes" in rule:
                found = _exit_that_fits(rule["onExitCodes"], pod)
                if found is not None:
                    name, code = found
                    return rule["action"], f"Container {name} for pod {where} failed with exit code {code} {rest}"
            for pattern in rule.get("onPodConditions") or ():
                present = condition(pod["status"].get("conditions"), pattern["type"])
                if present is not None and present["status"] == pattern.get("status", "True"):
                    return rule["action"], f"Pod {where} has condition {pattern['type']} {rest}"
        return "Count", ""

    # What is written

    def _note_suspension(self, job: Object, suspended: bool) -> None:
        status = job["status"]
        present = condition(status.get("conditions"), "Suspended")
        now = stamp(self.clock.now())
        if suspended and (present is None or present["status"] != "True"):
            _set(status, _condition("Suspended", "True", "JobSuspended", "Job suspended", now))
            self.event(job, "Normal", "Suspended", "Job suspended")
        elif not suspended and present is not None and present["status"] == "True":
            _set(status, _condition("Suspended", "False", "JobResumed", "Job resumed", now))
            status["startTime"] = now
            self.event(job, "Normal", "Resumed", "Job resumed")

    def _write(
        self,
        job: Object,
        pods: list[Object],
        active: list[Object],
        verdict: _Verdict | None,
        succeeded: list[Object],
        failed: list[Object],
        uncounted: list[Object],
        total_succeeded: int,
        lost: set[int],
    ) -> None:
        status, now = job["status"], stamp(self.clock.now())
        indexed = indexes.is_indexed(job)
        counts = {"active": len(active), "succeeded": total_succeeded if indexed else status.get("succeeded", 0)}
        counts["failed"] = status.get("failed", 0)
        for name, value in counts.items():
            status.pop(name, None)
            if value:
                status[name] = value
        if indexed:
            completed = indexes.spelled(indexes.completed(job, pods))
            if completed:
                status["completedIndexes"] = completed
            if indexes.limit_per_index(job) is not None:
                status["failedIndexes"] = indexes.spelled(lost)
        status["ready"] = sum(is_ready(pod) for pod in active)
        status["terminating"] = sum(is_going(pod) and not is_finished(pod) for pod in pods)
        if verdict is not None:
            type_ = "SuccessCriteriaMet" if verdict.is_success else "FailureTarget"
            if condition(status.get("conditions"), type_) is None:
                _set(status, _condition(type_, "True", verdict.reason, verdict.message, now))
        noted: Object = {}
        if not indexed and succeeded:
            noted["succeeded"] = [pod["metadata"]["uid"] for pod in succeeded]
        if failed:
            noted["failed"] = [pod["metadata"]["uid"] for pod in failed]
        status["uncountedTerminatedPods"] = noted
        job = self._store(job)
        for pod in pods if job["metadata"].get("deletionTimestamp") else uncounted:
            self._drop_finalizer(pod)  # a Job that goes lets go of those that have not ended, too
        if not noted and verdict is None:
            return
        status = job["status"]
        for name, group in (("succeeded", succeeded), ("failed", failed)):
            if group and not (indexed and name == "succeeded"):
                status[name] = status.get(name, 0) + len(group)
        status["uncountedTerminatedPods"] = {}
        if verdict is not None and not status["terminating"] and not self._ending:
            self._conclude(job, verdict, now)
        self._store(job)

    def _conclude(self, job: Object, verdict: _Verdict, now: str) -> None:
        status = job["status"]
        if verdict.is_success:
            status["completionTime"] = now
            _set(status, _condition("Complete", "True", verdict.reason, verdict.message, now))
            self.event(job, "Normal", "Completed", "Job completed")
        else:
            _set(status, _condition("Failed", "True", verdict.reason, verdict.message, now))
            self.event(job, "Warning", verdict.reason, verdict.message)

    def _store(self, job: Object) -> Object:
        stored = self.hands.find("jobs.batch", *key_of(job))
        if stored is not None and (stored.get("status") or {}) == job["status"]:
            return job
        return copied(self.hands.update_status("jobs.batch", job))  # type: ignore[no-any-return]  # copied keeps the shape

    def _drop_finalizer(self, pod: Object) -> Object:
        finalizers = pod["metadata"].get("finalizers") or ()
        if FINALIZER not in finalizers:
            return pod
        changed = copied(pod)
        kept = [each for each in finalizers if each != FINALIZER]
        if kept:
            changed["metadata"]["finalizers"] = kept
        else:
            del changed["metadata"]["finalizers"]
        return self.hands.update("pods", changed)

    def _expire(self, job: Object) -> None:
        """A finished Job goes by itself when it says so."""
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is None or job["metadata"].get("deletionTimestamp"):
            return
        end = next(each for each in job["status"]["conditions"] if each["type"] in ("Complete", "Failed"))
        remaining = seconds - (self.clock.now() - parsed(end["lastTransitionTime"])).total_seconds()
        if remaining > 0:
            self.enqueue(key_of(job), after=remaining)
        else:
            self.hands.delete("jobs.batch", job, "Foreground")


def _ended(job: Object) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions)


def _verdict_of_indexes(job: Object, done: set[int], lost: set[int]) -> _Verdict | None:
    most = job["spec"].get("maxFailedIndexes")
    if most is not None and len(lost) > most:
        text = "Job has exceeded the specified maximal number of failed indexes"
        return _Verdict(False, "MaxFailedIndexesExceeded", text)
    if lost and len(lost) + len(done) >= job["spec"]["completions"]:
        return _Verdict(False, "FailedIndexes", "Job has failed indexes")
    number = indexes.rule_that_is_met(job, done)
    return None if number is None else _Verdict(True, "SuccessPolicy", f"Matched rules at index {number}")


def _exit_that_fits(rule: Object, pod: Object) -> tuple[str, int] | None:
    """The container and code that an onExitCodes rule is about."""
    status = pod["status"]
    for each in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        if rule.get("containerName") not in (None, each["name"]):
            continue
        code = (each.get("state", {}).get("terminated") or {}).get("exitCode", 0)
        if code != 0 and (code in rule["values"]) is (rule["operator"] == "In"):
            return each["name"], code
    return None


def _finished_at(pod: Object) -> str:
    ends = [
        each["state"]["terminated"]["finishedAt"]
        for each in pod["status"].get("containerStatuses") or ()
        if (each.get("state", {}).get("terminated") or {}).get("finishedAt")
    ]
    return str(max(ends, default=pod["metadata"]["creationTimestamp"]))


def _condition(type_: str, value: str, reason: str, message: str, now: str) -> Object:
    moments = {"lastProbeTime": now, "lastTransitionTime": now}
    return {"type": type_, "status": value, **moments, "reason": reason, "message": message}


def _set(status: Object, new: Object) -> None:
    status["conditions"] = [*without(status.get("conditions") or [], new["type"]), new]
