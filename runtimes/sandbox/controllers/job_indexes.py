"""Jobs with completionMode Indexed: which indexes are done, which have failed for good, and when that is enough.

With `backoffLimitPerIndex` every index has tries of its own
(https://kubernetes.io/docs/concepts/workloads/controllers/job/#backoff-limit-per-index). The last failed pod of an
index that is tried again stays uncounted until its successor is there, which takes its number of failures over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runtimes.sandbox.controllers.pods import is_active
from runtimes.sandbox.store import Object

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"


def is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def limit_per_index(job: Object) -> int | None:
    """How often one index may fail; None where the tries are those of the whole Job."""
    limit: int | None = job["spec"].get("backoffLimitPerIndex")
    return limit if is_indexed(job) else None


def index_of(pod: Object) -> int | None:
    return _number(pod, INDEX)


def failures_of(pod: Object) -> int:
    """How often its index had failed before this pod was made."""
    return _number(pod, FAILURES) or 0


def _number(pod: Object, annotation: str) -> int | None:
    text = (pod["metadata"].get("annotations") or {}).get(annotation, "")
    return int(text) if text.isdecimal() else None


def completed(job: Object, pods: Iterable[Object]) -> set[int]:
    """The indexes that have succeeded: those noted before, and those of pods that have since."""
    done = parsed_indexes((job.get("status") or {}).get("completedIndexes"))
    ended = (index_of(pod) for pod in pods if (pod.get("status") or {}).get("phase") == "Succeeded")
    return done | {index for index in ended if index is not None}


def failed(job: Object, pods: Iterable[Object], action: Callable[[Object], str]) -> set[int]:
    """The indexes that are not tried again. `action` is what the Job's policy does about a failed pod."""
    limit = limit_per_index(job)
    if limit is None:
        return set()
    lost = parsed_indexes((job.get("status") or {}).get("failedIndexes"))
    for pod in pods:
        index = index_of(pod)
        if index is None or (pod.get("status") or {}).get("phase") != "Failed":
            continue
        what = action(pod)
        if what == "FailIndex" or (what == "Count" and failures_of(pod) >= limit):
            lost.add(index)
    return lost


def awaiting_successors(job: Object, pods: Iterable[Object], lost: set[int]) -> dict[int, Object]:
    """The last failed pod of each index that is to be tried again and has no new pod yet."""
    if limit_per_index(job) is None:
        return {}
    pods = list(pods)
    settled = lost | completed(job, pods) | {index_of(pod) for pod in pods if is_active(pod)}
    found: dict[int, Object] = {}
    for pod in pods:
        index = index_of(pod)
        if index is None or index in settled or (pod.get("status") or {}).get("phase") != "Failed":
            continue
        if index not in found or failures_of(pod) > failures_of(found[index]):
            found[index] = pod
    return found


def rule_that_is_met(job: Object, done: set[int]) -> int | None:
    """The number of the first rule of the success policy that the completed indexes meet; None if there is none."""
    for number, rule in enumerate((job["spec"].get("successPolicy") or {}).get("rules") or ()):
        wanted = rule.get("succeededIndexes")
        among = done & parsed_indexes(wanted) if wanted is not None else done
        needed = rule.get("succeededCount")
        if needed is None:
            needed = len(parsed_indexes(wanted))
        if len(among) >= needed:
            return number
    return None


def parsed_indexes(text: str | None) -> set[int]:
    """`0-2,5` as numbers."""
    found: set[int] = set()
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def spelled(indexes: set[int]) -> str:
    """`0-2,5`; two neighbours are told one by one."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


def give_index(pod: Object, job: Object, index: int, before: Object | None) -> None:
    """Name a new pod after its index, which its containers know by their environment; `before` failed with it."""
    metadata = pod["metadata"]
    notes = metadata.setdefault("annotations", {})
    notes[INDEX] = str(index)
    if limit_per_index(job) is not None:
        notes[FAILURES] = str(failures_of(before) + 1 if before is not None else 0)
    metadata.setdefault("labels", {})[INDEX] = str(index)
    _add_index_variable(pod)
    metadata["generateName"] = f"{job['metadata']['name']}-{index}-"
    pod["spec"]["hostname"] = f"{job['metadata']['name']}-{index}"


def _add_index_variable(pod: Object) -> None:
    """Unless a container has a variable of that name already."""
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in [*(pod["spec"].get("initContainers") or ()), *(pod["spec"].get("containers") or ())]:
        known = {each.get("name") for each in container.get("env") or ()}
        if INDEX_VARIABLE not in known:
            container["env"] = [*(container.get("env") or ()), {"name": INDEX_VARIABLE, "valueFrom": source}]
