"""What was done on the screens, each act with the line that does the same in a shell: to learn from, and to copy."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import assert_never

from kcl.records import dataclass, field
from runtimes.base import ClusterIdentity, KubernetesId, PodTarget, RuntimeFailure
from runtimes.base.logs import LogQuery
from runtimes.base.terminals import ExecRequest
from workbench.engine.live_acts import LiveAct, LiveRequest
from workbench.tui.state import Goal, Verb

MOST_ACTS = 500


@dataclass(frozen=True, slots=True)
class Act:
    """`line` is the equivalent, empty where no single line does it. `what` says it in words."""

    at: datetime
    what: str
    line: str = ""


@dataclass(slots=True)
class CommandLog:
    """The last acts of this session. Nothing of it is written to disk: what was typed may hold a secret."""

    acts: deque[Act] = field(default_factory=lambda: deque(maxlen=MOST_ACTS))

    def add(self, at: datetime, what: str, line: str = "") -> None:
        self.acts.append(Act(at, what, line))


_VERBS = {
    "spec": "compile",
    "diff": "diff",
    "plan": "plan",
    "destroy": "destroy --dry-run",
    "reconcile": "watch",
}


def of_stack(screen: str, stack: str, left_out: Iterable[str] = ()) -> str:
    """Returns the `wb` line of a screen of a stack, empty where there is none. `left_out` selects what a plan skips."""
    verb = _VERBS.get(screen)
    skipped = "".join(f" --skip {shlex.quote(each)}" for each in left_out) if screen == "plan" else ""
    return f"wb {verb} {shlex.quote(stack)}{skipped}" if verb else ""


def of_apply(stack: str, goal: Goal) -> tuple[str, str]:
    """Returns what was begun, and its line, which asks for the phrase as the screen did."""
    name = shlex.quote(stack)
    match goal.verb:
        case Verb.REVERT:
            return f"began to take back the drift of {stack}", f"wb drift {name} --revert"
        case Verb.ROLLBACK:
            to = f" --to {goal.revision}" if goal.revision else ""
            return f"began to roll {stack} back", f"wb rollback {name}{to}"
        case Verb.DESTROY | Verb.APPLY:
            return f"began to {goal.verb} {stack}", f"wb {goal.verb} {name}"
    assert_never(goal.verb)


Place = ClusterIdentity | RuntimeFailure | None


def get(kind: str, places: dict[str, Place], namespaces: tuple[str, ...]) -> Iterator[str]:
    """Yields the `kubectl` line that lists a kind in each cluster and namespace."""
    for place in places.values():
        for each in namespaces or ("",):
            yield f"kubectl{_context(place)} get {shlex.quote(kind)} {_namespace(each) or '-A'}"


def show(id_: KubernetesId, place: Place) -> str:
    return f"kubectl{_context(place)} get {_named(id_)} -o yaml --show-managed-fields{_in(id_)}"


def describe(id_: KubernetesId, place: Place) -> str:
    return f"kubectl{_context(place)} describe {_named(id_)}{_in(id_)}"


def logs(query: LogQuery, place: Place) -> str:
    which = f"-c {shlex.quote(query.container)}" if query.container else "--all-containers --prefix"
    how = "-p" if query.is_previous else "-f"
    tail = f" --tail {query.tail_lines}" if query.tail_lines is not None else ""
    since = f" --since {query.since_seconds}s" if query.since_seconds is not None else ""
    return f"kubectl{_context(place)} logs {_named(query.id)} {which} {how}{tail}{since}{_in(query.id)}"


def execute(request: ExecRequest, place: Place) -> str:
    which = f" -c {shlex.quote(request.container)}" if request.container else ""
    pod, command = request.pod, shlex.join(request.command)
    return f"kubectl{_context(place)} exec -it {shlex.quote(pod.name)}{which} {_namespace(pod.namespace)} -- {command}"


def forward(pod: PodTarget, port: int, local: int, place: Place) -> str:
    name = shlex.quote(f"pod/{pod.name}")
    return f"kubectl{_context(place)} port-forward {name} {local}:{port} {_namespace(pod.namespace)}"


_OF_NODES = (LiveAct.CORDON, LiveAct.UNCORDON, LiveAct.DRAIN)


def act(request: LiveRequest, place: Place) -> str:
    """Empty for what kubectl has no command for."""
    if request.act is LiveAct.EVICT:
        return ""
    if request.act in _OF_NODES:
        forced = " --force" if request.losses.bare else ""
        data = " --delete-emptydir-data" if request.losses.local_data else ""
        of_drain = f" --ignore-daemonsets{forced}{data}" if request.act is LiveAct.DRAIN else ""
        return f"kubectl{_context(place)} {request.act.value} {shlex.quote(request.id.name)}{of_drain}"
    verb = {
        LiveAct.RESTART: "rollout restart",
        LiveAct.SCALE: f"scale --replicas {request.replicas}",
        LiveAct.DELETE: "delete",
    }[request.act]
    return f"kubectl{_context(place)} {verb} {_named(request.id)}{_in(request.id)}"


def _context(place: Place) -> str:
    return f" --context {shlex.quote(place.context)}" if isinstance(place, ClusterIdentity) and place.context else ""


def _named(id_: KubernetesId) -> str:
    kind = f"{id_.kind}.{id_.api_version.rpartition('/')[2]}.{id_.group}" if id_.group else id_.kind
    return shlex.quote(f"{kind.lower()}/{id_.name}")


def _namespace(name: str) -> str:
    return f"-n {shlex.quote(name)}" if name else ""


def _in(id_: KubernetesId) -> str:
    return f" {_namespace(id_.namespace)}" if id_.namespace else ""
