"""One container of a pod, from waiting to running to the end and back: a state machine on given times.

No I/O and no clock of its own: `act` is told the time, changes the state, and returns the events to write.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import blake2b

from kcl.records import dataclass, field
from runtimes.sandbox.controllers.times import stamp
from runtimes.sandbox.stages import Behaviour, EventTemplate, Exit, Timing, Waiting
from runtimes.sandbox.store import Object

MISSING_CONFIG = "CreateContainerConfigError"


class Step(StrEnum):
    START = "start"
    READY = "ready"
    UNREADY = "unready"
    PROBE = "probe"
    EXIT = "exit"
    PULL_BACK_OFF = "pull back-off"
    RESTART_BACK_OFF = "restart back-off"


@dataclass(slots=True)
class Container:
    """What the kubelet knows of one container. `is_probed`: it has a readiness probe, which what ends never passes."""

    name: str
    image: str
    behaviour: Behaviour
    timing: Timing
    restart_policy: str  # Always, OnFailure or Never, as it applies to this container
    is_init: bool = False
    is_sidecar: bool = False
    is_probed: bool = False
    state: Object = field(default_factory=lambda: {"waiting": {"reason": "ContainerCreating"}})
    last: Object = field(default_factory=dict)
    ready: bool = False
    started: bool = False
    restarts: int = 0
    pulls: int = 0
    identity: str = ""
    plans: list[tuple[datetime, Step]] = field(default_factory=list)

    @property
    def next_at(self) -> datetime | None:
        return min((at for at, _ in self.plans), default=None)

    @property
    def has_run(self) -> bool:
        return bool(self.identity)

    @property
    def exit_code(self) -> int | None:
        """Of the end it is at now; None while it waits or runs."""
        return self.state["terminated"]["exitCode"] if "terminated" in self.state else None

    @property
    def is_over(self) -> bool:
        """It ended, and will not be started again."""
        code = self.exit_code
        return code is not None and not self._restarts_after(code)

    @property
    def has_failed_for_good(self) -> bool:
        return self.is_over and self.exit_code != 0

    def plan(self, now: datetime, seconds: float, step: Step) -> None:
        self.plans.append((now + timedelta(seconds=seconds), step))

    def due(self, now: datetime) -> Step | None:
        """The step whose time has come, taken off the plan."""
        self.plans.sort(key=lambda plan: plan[0])
        if self.plans and self.plans[0][0] <= now:
            return self.plans.pop(0)[1]
        return None

    def act(self, step: Step, now: datetime, pod: str, problem: str | None = None) -> list[EventTemplate]:
        match step:
            case Step.START:
                return self._start(now, pod, problem)
            case Step.READY:
                self.ready = True
                if self.behaviour.unready_after is not None:
                    self.plan(now, self.behaviour.unready_after, Step.UNREADY)
                return []
            case Step.UNREADY:
                self.ready = False
                self.plan(now, 2.0, Step.READY)
                return [_unhealthy()]
            case Step.PROBE:
                self.plan(now, 10 * self.timing.probe, Step.PROBE)
                return [_unhealthy()]
            case Step.EXIT:
                ending = self.behaviour.exit or Exit(0.0, 0, "Completed")  # an init container's work is done
                self.end(now, ending.code, ending.reason)
                self._plan_restart(now)
                return []
            case Step.PULL_BACK_OFF:
                assert self.behaviour.retry is not None
                self.plan(now, self._back_off(self.pulls), Step.START)
                return self._wait(self.behaviour.retry, pod)
            case Step.RESTART_BACK_OFF:
                return self._wait_to_restart(now, pod)

    def _start(self, now: datetime, pod: str, problem: str | None) -> list[EventTemplate]:
        if problem is not None:
            self.plan(now, self.timing.retry_mount, Step.START)
            return self._wait(
                Waiting(MISSING_CONFIG, problem, EventTemplate("Warning", "Failed", f"Error: {problem}")), pod
            )
        if self.behaviour.waiting is not None:
            if self.behaviour.retry is not None:
                self.pulls += 1
                self.plan(now, self.timing.pull_back_off, Step.PULL_BACK_OFF)
            return self._wait(self.behaviour.waiting, pod)
        if self.has_run:
            if "terminated" in self.state:
                self.last = self.state
            self.restarts += 1
        self.identity = blake2b(f"{pod}/{self.name}/{self.restarts}".encode(), digest_size=32).hexdigest()
        self.state = {"running": {"startedAt": stamp(now)}}
        self.started = True
        self._plan_run(now)
        if not self.behaviour.tells_start or (self.is_init and not self.is_sidecar):
            return []
        return [EventTemplate("Normal", "Started", f"Started container {self.name}")]

    def _plan_run(self, now: datetime) -> None:
        behaviour = self.behaviour
        if self.is_init and not self.is_sidecar:
            self.ready = False
            if behaviour.exit is not None:
                # It does its work and ends, well or badly, in the time an init container takes.
                self.plan(now, min(behaviour.exit.after_seconds, self.timing.init_run), Step.EXIT)
            elif behaviour.ready_after is not None:
                self.plan(now, behaviour.ready_after or self.timing.init_run, Step.EXIT)
            return
        if behaviour.exit is not None:
            self.plan(now, behaviour.exit.after_seconds, Step.EXIT)
        if behaviour.ready_after is None or (self.is_probed and behaviour.exit is not None):
            self.plan(now, self.timing.probe, Step.PROBE)
        elif behaviour.ready_after > 0:
            self.plan(now, behaviour.ready_after, Step.READY)
        else:
            self.ready = True
            if behaviour.unready_after is not None:
                self.plan(now, behaviour.unready_after, Step.UNREADY)

    def end(self, now: datetime, code: int, reason: str) -> None:
        """From running to terminated; nothing is planned any more."""
        started_at = self.state.get("running", {}).get("startedAt", stamp(now))
        self.state = {
            "terminated": {
                "exitCode": code,
                "reason": reason,
                "startedAt": started_at,
                "finishedAt": stamp(now),
                "containerID": f"containerd://{self.identity}",
            }
        }
        self.started = False
        self.ready = self.is_init and not self.is_sidecar and code == 0
        self.plans.clear()

    def _restarts_after(self, code: int) -> bool:
        if self.is_init and not self.is_sidecar and code == 0:
            return False
        return self.restart_policy == "Always" or (self.restart_policy == "OnFailure" and code != 0)

    def _plan_restart(self, now: datetime) -> None:
        if self.is_over:
            return
        back_off = self.restarts > 0 or self.is_init
        self.plan(now, self.timing.first_restart, Step.RESTART_BACK_OFF if back_off else Step.START)

    def _wait_to_restart(self, now: datetime, pod: str) -> list[EventTemplate]:
        wait = self._back_off(max(self.restarts, 1))
        self.last = self.state
        self.plan(now, wait, Step.START)
        message = f"back-off {wait:.0f}s restarting failed container={self.name} pod={pod}"
        event = EventTemplate("Warning", "BackOff", f"Back-off restarting failed container {self.name} in pod {pod}")
        return self._wait(Waiting("CrashLoopBackOff", message, event), pod)

    def _wait(self, waiting: Waiting, pod: str) -> list[EventTemplate]:
        names = {"container": self.name, "image": self.image, "pod": pod}
        self.state = {"waiting": {"reason": waiting.reason, "message": _filled(waiting.message, names)}}
        self.started = self.ready = False
        if waiting.event is None:
            return []
        return [EventTemplate(waiting.event.type, waiting.event.reason, _filled(waiting.event.message, names))]

    def _back_off(self, times: int) -> float:
        return min(self.timing.back_off * 2.0 ** (times - 1), self.timing.longest_back_off)

    def status(self) -> Object:
        ran = self.has_run
        digest = blake2b(self.image.encode(), digest_size=32).hexdigest()
        status: Object = {
            "name": self.name,
            "state": self.state,
            "lastState": self.last,
            "ready": self.ready,
            "restartCount": self.restarts,
            "image": self.image,
            "imageID": f"{self.image.partition('@')[0].rpartition(':')[0] or self.image}@sha256:{digest}"
            if ran
            else "",
            "started": self.started,
        }
        if ran:
            status["containerID"] = f"containerd://{self.identity}"
        return status


def _unhealthy() -> EventTemplate:
    return EventTemplate("Warning", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")


def _filled(text: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text
