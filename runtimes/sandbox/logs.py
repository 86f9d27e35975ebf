"""What simulated containers print: lines made up from the pod's status and the behaviour of its image.

Nothing is kept. The same pod at the same moment always has the same log, so following it is asking again.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from kcl.records import dataclass
from runtimes.sandbox import stages
from runtimes.sandbox.errors import ApiError, bad_request
from runtimes.sandbox.faults import Faults
from runtimes.sandbox.stages import Behaviour
from runtimes.sandbox.store import Object

BEAT_SECONDS = 10.0
MOST_BEATS = 500
LINE_STEP = timedelta(milliseconds=12)


@dataclass(frozen=True, slots=True)
class LogLine:
    at: datetime
    text: str


def lines(
    pod: Object, container: str = "", *, previous: bool = False, now: datetime, faults: Faults | None = None
) -> list[LogLine]:
    """All lines so far, oldest first. `container` "" is the only one. Raises 400, worded as a kubelet does, for a
    container that is not there or has not run."""
    name = pod["metadata"]["name"]
    spec = _spec(pod, container)
    status = _status(pod, spec["name"])
    state, last = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
    if previous:
        if last is None:
            raise bad_request(f'previous terminated container "{spec["name"]}" in pod "{name}" not found')
        run = last
    else:
        run = state.get("running") or state.get("terminated") or last
    if run is None:
        reason = state.get("waiting", {}).get("reason", "ContainerCreating")
        why = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}
        raise bad_request(f'container "{spec["name"]}" in pod "{name}" is waiting to start: {why.get(reason, reason)}')
    return _printed(_behaviour(pod, spec, faults), spec, run, now)


def _spec(pod: Object, container: str) -> Object:
    specs: list[Object] = [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]
    if not container:
        if len(pod["spec"]["containers"]) > 1:
            names = " ".join(each["name"] for each in pod["spec"]["containers"])
            raise bad_request(
                f"a container name must be specified for pod {pod['metadata']['name']}, choose one of: [{names}]"
            )
        return pod["spec"]["containers"][0]  # type: ignore[no-any-return]  # JSON
    for spec in specs:
        if spec["name"] == container:
            return spec
    raise _not_in_pod(pod, container)


def _not_in_pod(pod: Object, container: str) -> ApiError:
    return bad_request(f"container {container} is not valid for pod {pod['metadata']['name']}")


def _status(pod: Object, container: str) -> Object:
    status = pod.get("status") or {}
    for each in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        if each["name"] == container:
            return each  # type: ignore[no-any-return]  # JSON
    return {}


def _behaviour(pod: Object, spec: Object, faults: Faults | None) -> Behaviour:
    image = spec.get("image", "")
    faulty = faults.behaviour_of(image) if faults is not None else None
    return stages.load().of(pod, image, faulty)


def _printed(behaviour: Behaviour, spec: Object, run: Object, now: datetime) -> list[LogLine]:
    ports = spec.get("ports") or [{"containerPort": 8080}]
    names = {"image": spec.get("image", ""), "container": spec["name"], "address": f":{ports[0]['containerPort']}"}

    def filled(text: str) -> str:
        for name, value in names.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    begin = _time(run["startedAt"])
    end = _time(run["finishedAt"]) if "finishedAt" in run else now
    printed = [LogLine(begin + LINE_STEP * number, filled(text)) for number, text in enumerate(behaviour.log)]
    if behaviour.beat:
        beats = int((end - begin).total_seconds() // BEAT_SECONDS)
        for number in range(max(beats - MOST_BEATS, 0), beats):
            printed.append(LogLine(begin + timedelta(seconds=BEAT_SECONDS * (number + 1)), filled(behaviour.beat)))
    if "finishedAt" in run and run.get("exitCode") == (behaviour.exit.code if behaviour.exit else None):
        words = behaviour.last_words
        printed += [LogLine(end + LINE_STEP * number, filled(text)) for number, text in enumerate(words)]
    return [line for line in printed if line.at <= max(now, end + timedelta(seconds=1))]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
