"""CronJob: a Job at every time of a schedule (five fields, UTC or the given zone)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from runtimes.sandbox.controllers.base import Controller, Key, key_of
from runtimes.sandbox.controllers.owners import controller_of, is_controlled_by, reference_to
from runtimes.sandbox.controllers.times import parsed, stamp
from runtimes.sandbox.store import Change, Object, copied

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Schedule:
    """When a cron expression comes due. Raises ValueError for one that cannot be read."""

    def __init__(self, text: str, zone: tzinfo = UTC) -> None:
        fields = NICKNAMES.get(text.strip(), text).split()
        if len(fields) != 5:
            raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{text}]")
        self._zone = zone
        self._minutes = _field(fields[0], 0, 59)
        self._hours = _field(fields[1], 0, 23)
        self._days = _field(fields[2], 1, 31)
        self._months = _field(fields[3], 1, 12, MONTHS)
        self._weekdays = {day % 7 for day in _field(fields[4], 0, 7, DAYS)}
        # A day fits either way if both ways restrict it.
        self._either_day = not fields[2].startswith("*") and not fields[4].startswith("*")

    def after(self, moment: datetime) -> datetime | None:
        """The next time strictly after; None if there is none within five years."""
        at = moment.astimezone(self._zone).replace(second=0, microsecond=0) + timedelta(minutes=1)
        end = at + timedelta(days=5 * 366)
        while at < end:
            if at.month not in self._months or not self._fits_day(at):
                at = at.replace(hour=0, minute=0) + timedelta(days=1)
            elif at.hour not in self._hours:
                at = at.replace(minute=0) + timedelta(hours=1)
            elif at.minute not in self._minutes:
                at += timedelta(minutes=1)
            else:
                return at.astimezone(UTC)
        return None

    def _fits_day(self, at: datetime) -> bool:
        day, weekday = at.day in self._days, at.isoweekday() % 7 in self._weekdays
        return day or weekday if self._either_day else day and weekday


def _field(text: str, low: int, high: int, names: list[str] | None = None) -> set[int]:
    values: set[int] = set()
    for part in text.lower().split(","):
        span, _, step = part.partition("/")
        if span in ("*", "?"):
            first, last = low, high
        else:
            begin, dash, end = span.partition("-")
            first = _number(begin, low, names)
            last = _number(end, low, names) if dash else high if step else first
        if not low <= first <= last <= high:
            raise ValueError(f"{part!r} is outside of {low} to {high}")
        values |= set(range(first, last + 1, int(step) if step else 1))
    return values


def _number(text: str, low: int, names: list[str] | None) -> int:
    return names.index(text) + low if names and text in names else int(text)


class CronJobs(Controller):
    name = "cronjob-controller"
    watches = ("cronjobs.batch", "jobs.batch")

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.resource[1] == "cronjobs":
            yield change.key
        else:
            for job in (change.object, change.previous):
                owner = controller_of(job) if job is not None else None
                if owner is not None and owner["kind"] == "CronJob":
                    yield change.key[0], owner["name"]

    def reconcile(self, key: Key) -> None:
        cron = self.hands.find("cronjobs.batch", *key)
        if cron is None or cron["metadata"].get("deletionTimestamp"):
            return
        jobs = [job for job in self.hands.all("jobs.batch", key[0]) if is_controlled_by(job, cron)]
        cron = self._note_finished(copied(cron), jobs)
        self._forget(cron, jobs)
        if cron["spec"].get("suspend"):
            return
        zone = cron["spec"].get("timeZone")
        try:
            schedule = Schedule(cron["spec"]["schedule"], ZoneInfo(zone) if zone else UTC)
        except (ValueError, KeyError) as error:
            self.event(cron, "Warning", "UnparseableSchedule", f"unparseable schedule: {error}")
            return
        if schedule.after(self.clock.now()) is None:
            why = f"{cron['spec']['schedule']} : time difference between two schedules is less than 1 second"
            self.event(cron, "Warning", "InvalidSchedule", f"invalid schedule: {why}")
            return
        due = self._due(cron, schedule)
        if due is not None:
            cron = self._run(cron, due, jobs)
        following = schedule.after(self.clock.now())
        if following is not None:
            self.enqueue(key, after=(following - self.clock.now()).total_seconds() + 0.05)

    def _due(self, cron: Object, schedule: Schedule) -> datetime | None:
        """The latest time that has come and not been used."""
        begin = parsed((cron.get("status") or {}).get("lastScheduleTime") or cron["metadata"]["creationTimestamp"])
        now, due = self.clock.now(), None
        deadline = cron["spec"].get("startingDeadlineSeconds")
        if deadline is not None:
            begin = max(begin, now - timedelta(seconds=deadline))
        # Long sleep: a hundred missed runs are as good as the last of them.
        begin = max(begin, now - timedelta(days=1)) if (now - begin).days > 366 else begin
        while (begin_next := schedule.after(begin)) is not None and begin_next <= now:
            begin = due = begin_next
        return due

    def _note_finished(self, cron: Object, jobs: list[Object]) -> Object:
        status = cron.setdefault("status", {})
        by_uid = {job["metadata"]["uid"]: job for job in jobs}
        listed = {reference["uid"] for reference in status.get("active") or ()}
        for uid, other in by_uid.items():
            if uid not in listed and _end_of(other) is None:
                text = f"Saw a job that the controller did not create or forgot: {other['metadata']['name']}"
                self.event(cron, "Warning", "UnexpectedJob", text)
        active = []
        for reference in status.get("active") or ():
            job = by_uid.get(reference["uid"])
            end = _end_of(job) if job is not None else None
            if job is None:
                text = f"Active job went missing: {reference['name']}"
                self.event(cron, "Normal", "MissingJob", text)
            elif end is not None:
                text = f"Saw completed job: {reference['name']}, condition: {end['type']}"
                self.event(cron, "Normal", "SawCompletedJob", text)
                if end["type"] == "Complete":
                    status["lastSuccessfulTime"] = job["status"].get("completionTime", end["lastTransitionTime"])
            else:
                active.append(reference)
        if active == (status.get("active") or []):
            return cron
        return self._write(cron, active)

    def _write(self, cron: Object, active: list[Object]) -> Object:
        if active:
            cron["status"]["active"] = active
        else:
            cron["status"].pop("active", None)
        return copied(self.hands.update_status("cronjobs.batch", cron))  # type: ignore[no-any-return]  # copied keeps the shape

    def _run(self, cron: Object, due: datetime, jobs: list[Object]) -> Object:
        active = list(cron["status"].get("active") or ())
        policy = cron["spec"].get("concurrencyPolicy", "Allow")
        if policy == "Forbid" and active:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self.event(cron, "Normal", "JobAlreadyActive", text)
            return cron
        if policy == "Replace":
            for job in jobs:
                if any(reference["uid"] == job["metadata"]["uid"] for reference in active):
                    self.hands.delete("jobs.batch", job, "Background")
                    self.event(cron, "Normal", "SuccessfulDelete", f"Deleted job {job['metadata']['name']}")
            active = []
        template, metadata = cron["spec"]["jobTemplate"], cron["metadata"]
        name = f"{metadata['name']}-{int(due.timestamp()) // 60}"
        if self.hands.find("jobs.batch", metadata["namespace"], name) is None:
            meta = template.get("metadata") or {}
            annotations = {
                **(meta.get("annotations") or {}),
                "batch.kubernetes.io/cronjob-scheduled-timestamp": stamp(due),
            }
            body = {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {
                    "name": name,
                    "namespace": metadata["namespace"],
                    "labels": dict(meta.get("labels") or {}),
                    "annotations": annotations,
                    "ownerReferences": [reference_to(cron)],
                },
                "spec": copied(template["spec"]),
            }
            job = self.hands.create("jobs.batch", metadata["namespace"], body)
            self.event(cron, "Normal", "SuccessfulCreate", f"Created job {name}")
            active.append(
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": name,
                    "namespace": metadata["namespace"],
                    "uid": job["metadata"]["uid"],
                    "resourceVersion": job["metadata"]["resourceVersion"],
                }
            )
        cron["status"]["lastScheduleTime"] = stamp(due)
        return self._write(cron, active)

    def _forget(self, cron: Object, jobs: list[Object]) -> None:
        """Finished Jobs beyond the limits of the history, oldest first."""
        for type_, field, default in (
            ("Complete", "successfulJobsHistoryLimit", 3),
            ("Failed", "failedJobsHistoryLimit", 1),
        ):
            finished = [job for job in jobs if (end := _end_of(job)) is not None and end["type"] == type_]
            finished.sort(key=lambda job: job["status"].get("startTime", ""))
            for job in finished[: max(len(finished) - cron["spec"].get(field, default), 0)]:
                self.hands.delete("jobs.batch", job, "Background")
                self.event(cron, "Normal", "SuccessfulDelete", f"Deleted job {key_of(job)[1]}")


def _end_of(job: Object) -> Object | None:
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["type"] in ("Complete", "Failed") and each["status"] == "True":
            return each  # type: ignore[no-any-return]  # JSON
    return None
