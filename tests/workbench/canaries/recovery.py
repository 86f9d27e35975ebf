"""A recovery full of secrets: in its program, its options, and in what clusters and other machines say about it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from runtimes.base import Blocked, PodTarget, Record, Rejected, Survey, SurveyRequest, Unreachable
from tests.workbench.canaries.repository import (
    ATTRIBUTE,
    CANARIES,
    KEY,
    LITERAL,
    LOOK,
    META,
    OLD,
    OPTION,
    PART,
    PIN,
    PROVIDER,
    URL,
    VARIABLE,
    Cluster,
    Vault,
)
from tests.workbench.engine.recovery.fake_cluster import NAMESPACE, FakeCluster, Mood
from workbench.engine.compiled import CompileInputs
from workbench.engine.recovery.ledger import RunBegan, encode_run, encode_step
from workbench.engine.recovery.values import PodKey, Step, StepResult, StepState, Verb

FILE = "ops/AppRecovery.k"
GIVEN = {"db_password": OPTION, "dsn": f"host=db;user=app;password={PART}"}
KNOWN_TO_A_SPEC = (PROVIDER, OLD)
"""Secret for what a provider or a live Secret says, neither of which a recovery asks."""
SAID = " ; ".join(each for each in CANARIES.values() if each not in KNOWN_TO_A_SPEC) + f" ; {quote(URL, safe='')}"
ELSEWHERE = "canary_live_Elsewhere1"
"""Known by its look alone, which the repository tells."""
HEARD = f"{SAID} ; {ELSEWHERE}"
LATER = datetime(2026, 1, 1, 1, tzinfo=UTC)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


PROGRAM = f"""\
import manifests

_password = {_text(ATTRIBUTE)}
_given = [option("db_password"), option("dsn")]
_said = {_text(SAID)}
_places = ["cluster", "namespace", "pod", "node", "uid"]
_every = _said.split(" ; ")
_space = "{NAMESPACE}"
_place = {{cluster = "hz", namespace = _space}}
manifests.yaml_stream([
    {{
        kind = "Recovery"
        name = "recover " + _password + " {LOOK}"
        operation = "restart"
        reason = "INC-7 of orders: " + _said + _given[0] + _given[1]
        hosts = [
            *[
                _place | {{hostname = "h-${{n}} ann:" + _given[0] + "@rack", pod = "web-${{n}}"}}
                for n in range(1, 7)
            ]
            {{hostname = "h-plain", cluster = "sh", namespace = _space, pod = "web-1"}}
            {{hostname = "h-lost", cluster = "dead", namespace = _space, pod = "web-1"}}
            {{hostname = "h-odd", state = "unknown"}} | {{key: _said for key in _places}}
        ]
        unresolved = ["https://ann:{quote(URL, safe="")}@h-7.example", "h-8", *["x " + each for each in _every]]
        limits = {{maxFraction = 1.0, batch = 1, stopAfter = 2, timeoutSeconds = 0.05, answerSeconds = 10}}
    }}
    {{
        apiVersion = "v1"
        kind = "Secret"
        metadata.name = "safe"
        stringData = {{
            literal = {_text(LITERAL)}
            url = "postgres://app:{quote(URL, safe="")}@db.example/orders"
            key = {_text(KEY)}
        }}
    }}
    {{
        settings = {{token = {_text(META)}, pin_of_door = {_text(PIN)}}}
        env = [{{name = "DB_PASSWORD", value = {_text(VARIABLE)}}}]
    }}
])
"""


@dataclass(eq=False)
class Telling(FakeCluster):
    """Refuses some deletions, makes others in vain, and quotes all it ever heard of; `written` is what it was given."""

    written: list[str] = field(default_factory=list)
    is_dead: bool = False
    is_lost_later: bool = False
    is_held: bool = False
    has_begun: bool = False

    async def survey(self, request: SurveyRequest) -> Survey:
        if self.is_dead:
            raise Rejected(f"cannot list pods: {HEARD}", target=self.place, hint=f"try {HEARD}")
        return await super().survey(request)

    @asynccontextmanager
    async def follow_pods(self, namespace: str) -> AsyncIterator[Any]:
        if self.is_lost_later:
            raise Unreachable(f"no route by {HEARD}", target=self.place, hint=HEARD)
        async with super().follow_pods(namespace) as feed:
            yield feed

    async def delete_pod(self, target: PodTarget) -> None:
        match target.name:
            case "web-2":
                raise Rejected(f"denied: {HEARD}", target=self.place, hint=f"leave {HEARD}")
            case "web-3":
                raise Blocked(f"the budget says {HEARD}", target=self.place)
            case "web-4":
                self.mood = Mood.NEVER
            case _:
                self.mood = Mood.AT_ONCE
        await super().delete_pod(target)

    def _make(self, workload: str, *, is_new: bool = False, is_ready: bool = True, reason: str = "") -> None:
        super()._make(workload, is_new=is_new, is_ready=is_ready, reason=f"{reason}: {HEARD}" if reason else "")

    async def record(self, namespace: str, name: str) -> Record | None:
        """What an older version left: it did not know what is secret."""
        if name not in self.records:
            self.records[name] = (
                1,
                {
                    "step-1": json.dumps(
                        encode_step(_old(StepState.UNVERIFIED if self.has_begun else StepState.FAILED))
                    ),
                    "run-1": json.dumps(encode_run(self._run())),
                },
            )
        return await super().record(namespace, name)

    def _run(self) -> RunBegan:
        until = LATER + timedelta(days=3650) if self.is_held else None
        return RunBegan("1", f"ann {HEARD}", LATER, "", left={f"h {HEARD}": ("shop/old",)}, open_until=until)

    async def write_record(self, namespace: str, name: str, entries: Mapping[str, str], version: str) -> str:
        self.written.extend(entries.values())
        return await super().write_record(namespace, name, entries, version)


def _old(state: StepState) -> StepResult:
    pod = PodKey("hz", NAMESPACE, "old")
    step = Step(
        "hz/shop/old/u",
        "hz",
        Verb.DELETE,
        NAMESPACE,
        "Pod",
        "old",
        "u",
        (pod,),
        (f"h-1 ann:{OPTION}@rack", f"h {HEARD}"),
    )
    return StepResult(step, state, started=LATER, ended=LATER, error=f"it said {HEARD}", hint=HEARD)


class Operated(Cluster):
    """A cluster of stacks that recovers as well."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.operations = Telling(place, {"web": 6})


@dataclass
class RecoveringVault(Vault):
    """The vault, with a recovery over three clusters: `hz`, `sh` that is lost in a run, `dead` that tells nothing."""

    cluster: Operated = field(default_factory=lambda: Operated("hz"))
    others: dict[str, Telling] = field(
        default_factory=lambda: {
            "sh": Telling("sh", {"web": 1}, is_lost_later=True),
            "dead": Telling("dead", {}, is_dead=True),
        }
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        root = self.home / "repository"
        (root / "masking.yaml").write_text("names: [pin_*]\npatterns: [canary_live_*]\n")
        (root / "ops").mkdir()
        self.program(PROGRAM)

    @property
    def given(self) -> CompileInputs:
        return CompileInputs(options=GIVEN)

    @property
    def file(self) -> Path:
        return self.home / "repository" / FILE

    def program(self, text: str) -> None:
        self.file.write_text(text)

    async def connect(self, name: str) -> Any:
        return self.cluster if name == "hz" else self.others[name]

    @property
    def records(self) -> str:
        return "\n".join(text for each in (self.cluster.operations, *self.others.values()) for text in each.written)
