"""Engine values → DataFrames. Columns and dtypes are part of the interface: always all of them, also without rows.

Text is `string[python]`, whole numbers `Int64`, truth `boolean`, fractions `Float64`, times `datetime64[us, UTC]`; what
is not known is NA, never an empty string. Secrets are masks, as everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pandas as pd

from runtimes.base import Address, KubernetesId, Occurrence, Resource, ResourceId, StatusNode, TerraformId, format_path
from workbench.engine.changes import Change, ChangeClass, FieldChange, StackDiff
from workbench.engine.events import (
    Action,
    ApplyFinished,
    ApplyStarted,
    Event,
    RecordFailed,
    StepFailed,
    StepFinished,
    StepProgress,
    StepSkipped,
    StepStarted,
)
from workbench.engine.masking import Masked, Seal
from workbench.engine.place_kinds import kind_of
from workbench.engine.plan import Plan
from workbench.engine.release import Release, StepState, type_of
from workbench.engine.spec import Chain, Spec
from workbench.engine.status import StatusTree

if TYPE_CHECKING:
    from pathlib import Path

TEXT, WHOLE, TRUTH, FRACTION, TIME = "text", "whole", "truth", "fraction", "time"

STACKS = {
    "project": TEXT,
    "stack": TEXT,
    "component": TEXT,
    "path": TEXT,
    "env": TEXT,
    "dirty": TRUTH,
    "last_release": WHOLE,
    "status": TEXT,
    "observed": TIME,
}
SPEC = {
    "id": TEXT,
    "runtime": TEXT,
    "api_version": TEXT,
    "kind": TEXT,
    "namespace": TEXT,
    "name": TEXT,
    "cluster": TEXT,
    "source_file": TEXT,
    "source_line": WHOLE,
    "hash": TEXT,
}
DIFF = {
    "id": TEXT,
    "runtime": TEXT,
    "cluster": TEXT,
    "op": TEXT,
    "path": TEXT,
    "before": TEXT,
    "after": TEXT,
    "cls": TEXT,
    "masked": TRUTH,
    "restart": TRUTH,
    "source_file": TEXT,
    "source_line": WHOLE,
}
PLAN = {
    "step": WHOLE,
    "runtime": TEXT,
    "cluster": TEXT,
    "id": TEXT,
    "op": TEXT,
    "restart": TRUTH,
    "because": TEXT,
}
RUN = {
    "id": TEXT,
    "runtime": TEXT,
    "cluster": TEXT,
    "step": WHOLE,
    "op": TEXT,
    "state": TEXT,
    "started": TIME,
    "ended": TIME,
    "attempts": WHOLE,
    "error": TEXT,
}
EVENTS = {
    "ts": TIME,
    "cluster": TEXT,
    "ns": TEXT,
    "kind": TEXT,
    "name": TEXT,
    "type": TEXT,
    "reason": TEXT,
    "count": WHOLE,
    "message": TEXT,
}
STATUS = {
    "id": TEXT,
    "runtime": TEXT,
    "cluster": TEXT,
    "status": TEXT,
    "reason": TEXT,
    "message": TEXT,
    "stale_s": FRACTION,
    "last": TEXT,
    "observed": TIME,
}
TIMELINE = {"ts": TIME, "seconds": FRACTION, "ready": WHOLE, "total": WHOLE, "verdict": TEXT}
RELEASES = {
    "revision": WHOLE,
    "phase": TEXT,
    "user": TEXT,
    "host": TEXT,
    "plan": TEXT,
    "started": TIME,
    "ended": TIME,
    "resources": WHOLE,
    "failed": WHOLE,
}

Columns = Mapping[str, str]
Values = Mapping[str, Any]

_SIGNS = {
    Action.CREATE: "+",
    Action.UPDATE: "~",
    Action.REPLACE: "±",
    Action.DELETE: "-",
    Action.IMPORT: "<",
    Action.MOVE: ">",
    Action.FORGET: "x",
    Action.NONE: "=",
}
_CLASSES = {ChangeClass.INTENDED: "intended", ChangeClass.DRIFT: "drift", ChangeClass.DEFAULTED: "default"}


def frame(columns: Columns, rows: Iterable[Values]) -> pd.DataFrame:
    """Builds a DataFrame with these columns and their dtypes; a value a row lacks, or has empty, is NA."""
    found = list(rows)
    return pd.DataFrame({name: _series([row.get(name) for row in found], kind) for name, kind in columns.items()})


def _series(values: Sequence[Any], kind: str) -> pd.Series[Any]:
    match kind:
        case "whole":
            return pd.Series(values, dtype="Int64")
        case "truth":
            return pd.Series(values, dtype="boolean")
        case "fraction":
            return pd.Series(values, dtype="Float64")
        case "time":
            return pd.Series(pd.to_datetime(list(values), utc=True), dtype="datetime64[us, UTC]")
        case _:
            texts = [None if each is None or each == "" else str(each) for each in values]
            return pd.Series(texts, dtype=pd.StringDtype("python"))


def spec(found: Spec, clusters: Sequence[str], root: Path, seal: Seal) -> pd.DataFrame:
    """One row a resource. `cluster` names all clusters it goes to, or Terraform's place.

    `hash` tells equal content within one session.
    """
    return frame(SPEC, (_resource(each, found, clusters, root, seal) for each in found))


def _resource(each: Resource, found: Spec, clusters: Sequence[str], root: Path, seal: Seal) -> Values:
    return {
        "id": str(each.id),
        "runtime": each.type.value,
        **_identity(each.id),
        "cluster": ", ".join(kind_of(each.id).names(clusters)),
        **source_values(found.chain(each.id), root),
        "hash": seal.digest(each.attributes),
    }


def where_values(address: Address) -> Values:
    return {"id": str(address.id), "runtime": type_of(address.id).value, "cluster": address.cluster}


def _identity(id_: ResourceId) -> Values:
    match id_:
        case KubernetesId(api_version=version, kind=kind, namespace=namespace, name=name):
            return {"api_version": version, "kind": kind, "namespace": namespace, "name": name}
        case TerraformId():
            return {"api_version": id_.provider, "kind": id_.resource_type, "namespace": "", "name": id_.name}


def diff(found: StackDiff | Plan, root: Path) -> pd.DataFrame:
    """One row a field that differs, and one for each resource that appears, goes or is taken over as a whole.

    `op` is + - ~ or = of the field, ! for what a person put there and an apply leaves. `before` and `after` are the
    values as they stand in YAML, JSON for lists and mappings.
    """
    different = [each for each in found.changes if each.is_different]
    return frame(DIFF, (row for each in different for row in change_values(each, root)))


def change_values(change: Change, root: Path) -> Iterator[Values]:
    where = where_values(change.address)
    whole = change.action in (Action.CREATE, Action.DELETE) or not change.fields
    if whole:
        yield {
            **where,
            "op": _SIGNS[change.action],
            "cls": "drift" if change.was_deleted else "intended",
            "masked": False,
            "restart": change.restarts,
            **source_values(change.source, root),
        }
    for each in () if change.action is Action.DELETE else change.fields:
        yield {**where, **_field(each, root)}


def _field(field: FieldChange, root: Path) -> Values:
    return {
        "op": field.op.value,
        "path": format_path(field.path),
        "before": value_text(field.before),
        "after": value_text(field.after),
        "cls": _CLASSES[field.class_],
        "masked": field.is_masked,
        "restart": field.restarts,
        **source_values(field.source, root),
    }


def value_text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case str():
            return value
        case Masked():
            return str(value)
        case bool():
            return "true" if value else "false"
        case _:
            return json.dumps(value, default=str, ensure_ascii=False)


def source_values(chain: Chain, root: Path) -> Values:
    if not chain:
        return {}
    file, _, number = chain[0].relative_to(root).rpartition(":")
    return {"source_file": file, "source_line": int(number)}


def plan(made: Plan) -> pd.DataFrame:
    """One row a step, in the order of doing; steps with one number may run at once."""
    changes = made.by_address()
    return frame(
        PLAN,
        (
            {
                "step": number,
                **where_values(address),
                "op": _SIGNS[changes[address].action],
                "restart": changes[address].restarts,
                "because": changes[address].because,
            }
            for number, wave in enumerate(made.waves, 1)
            for address in wave
        ),
    )


def run(made: Plan, events: Sequence[Event], *, idle: str) -> pd.DataFrame:
    """One row a step of the plan. `idle` is the state of those that did not begin."""
    known: dict[Address, dict[str, Any]] = {}
    changes = made.by_address()
    for number, wave in enumerate(made.waves, 1):
        for address in wave:
            sign = _SIGNS[changes[address].action]
            known[address] = {**where_values(address), "step": number, "op": sign}
            known[address] |= {"state": idle, "attempts": 0}
    for event in events:
        match event:
            case StepStarted(at=at, address=address):
                known[address] |= {"state": "running", "started": at, "attempts": 1}
            case StepFinished(at=at, address=address):
                known[address] |= {"state": "done", "ended": at}
            case StepFailed(at=at, address=address, message=message):
                known[address] |= {"state": "failed", "ended": at, "error": message}
            case StepSkipped(address=address, because=because):
                known[address] |= {"state": "skipped", "error": f"needs {because}" if because else "stopped"}
            case RecordFailed(address=Address() as address, message=message):
                known[address] |= {"error": f"not recorded: {message}"}
            case ApplyStarted() | StepProgress() | RecordFailed() | ApplyFinished():
                pass
    return frame(RUN, known.values())


def events(tree: StatusTree | None) -> pd.DataFrame:
    """What the clusters report about the watched objects and all they own, oldest first."""
    resources = tree.resources if tree else ()
    found = [row for each in resources if each.tree for row in _events(each.tree, each.address.cluster)]
    return frame(EVENTS, found).sort_values("ts", kind="stable", ignore_index=True)


def _events(node: StatusNode, cluster: str) -> Iterator[Values]:
    yield from (_event(each, cluster) for each in node.events)
    for child in node.children:
        yield from _events(child, cluster)


def _event(each: Occurrence, cluster: str) -> Values:
    return {
        "ts": each.when,
        "cluster": cluster,
        "ns": each.about.namespace,
        "kind": each.about.kind,
        "name": each.about.name,
        "type": "Warning" if each.warning else "Normal",
        "reason": each.reason,
        "count": each.count,
        "message": each.message,
    }


def status(tree: StatusTree | None) -> pd.DataFrame:
    """What was so when it was observed; `last` is what a resource was that is not heard of for `stale_s`."""
    if tree is None:
        return frame(STATUS, ())
    return frame(
        STATUS,
        (
            {
                **where_values(each.address),
                "status": each.health.status.value,
                "reason": each.health.reason,
                "message": each.health.message,
                "stale_s": (tree.at - each.lost.since).total_seconds() if each.lost else 0.0,
                "last": each.last.status.value if each.last else "",
                "observed": tree.at,
            }
            for each in tree.resources
        ),
    )


def timeline(points: Iterable[tuple[datetime, StatusTree]]) -> pd.DataFrame:
    """How many resources were ready when: one row a picture that differs from the one before."""
    rows: list[dict[str, Any]] = []
    for at, tree in points:
        row = {"ts": at, "seconds": tree.seconds, "ready": tree.ready, "total": tree.total}
        rows.append(row | {"verdict": tree.verdict.value})
    return frame(TIMELINE, rows)


def releases(found: Iterable[Release]) -> pd.DataFrame:
    return frame(
        RELEASES,
        (
            {
                "revision": each.revision,
                "phase": each.phase.value,
                "user": each.user,
                "host": each.host,
                "plan": each.plan,
                "started": each.started,
                "ended": each.finished,
                "resources": len(each.resources),
                "failed": each.count(StepState.FAILED),
            }
            for each in found
        ),
    )
