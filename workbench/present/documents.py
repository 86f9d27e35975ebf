"""Engine values as documents for programs: `-o json`. Stable keys, in a fixed order; secrets are masks.

Every document says what it is: `{"apiVersion": "wb/v1", "kind": ..., "status": ...}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runtimes.base import Blocking, ClusterIdentity, RuntimeFailure, format_path
from workbench.engine.changes import Change, FieldChange, Gap, Problem, StackDiff, Summary
from workbench.engine.choice import Part
from workbench.engine.masking import Seal
from workbench.engine.plan import Plan
from workbench.engine.spec import Chain, Spec
from workbench.engine.status import WAITED_FOR, ResourceStatus, Source, StatusTree, Verdict
from workbench.present import clusters, outputs, policy
from workbench.present.plain_data import plain
from workbench.project import Finding, KonfigTree, Stack


def _document(kind: str, status: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": "wb/v1", "kind": kind, "status": status, **content}


def tree(konfig: KonfigTree, places: Mapping[str, ClusterIdentity | RuntimeFailure] | None = None) -> dict[str, Any]:
    """`places` are its clusters as the kubeconfig has them, None where they are not told."""
    findings = list(konfig.all_findings())
    return _document(
        "Tree",
        "broken" if any(each.is_error for each in findings) else "ok",
        root=str(konfig.root),
        stacks=[_stack(stack) for stack in konfig.stacks()],
        findings=[finding(each) for each in findings],
        **({} if places is None else {"clusters": clusters.places_document(places)}),
    )


def finding(found: Finding) -> dict[str, Any]:
    level = "error" if found.is_error else "warning"
    return {"where": found.where, "message": found.message, "hint": found.hint, "level": level}


def _stack(stack: Stack) -> dict[str, Any]:
    placement = stack.placement
    return {
        "stack": stack.name,
        "path": str(stack.directory),
        "environment": placement.environment if placement else "",
        "protected": placement.protected if placement else False,
        "clusters": list(stack.clusters),
        "components": [{"name": each.name, "schema": each.schema} for each in stack.components],
        **({"coordinates": dict(stack.coordinates)} if stack.coordinates else {}),
    }


def diff(found: StackDiff, root: Path, *, drift_only: bool = False) -> dict[str, Any]:
    """`drift_only` leaves what others did; what can't be told without a release is then unknown."""
    is_unknown = not (found.is_drift_certain if drift_only else found.is_certain)
    found = found.drift if drift_only else found
    return _document(
        "Diff",
        "different" if found.is_different else "unknown" if is_unknown else "same",
        stack=found.stack,
        comparedAt=_time(found.compared_at),
        clusters=list(found.clusters),
        identities=clusters.document(found.identities),
        summary=_summary(found.summary),
        changes=[change(each, root) for each in found.different()],
        bases=_bases(found.changes),
        problems=[_problem(each) for each in found.problems],
        gaps=[_gap(each) for each in found.gaps],
        warnings=[*found.warnings, *found.notes],
        reads=_reads(found.spec),
    )


def plan(made: Plan, root: Path) -> dict[str, Any]:
    return _document(
        "Plan",
        _plan_status(made),
        id=made.id,
        madeAt=_time(made.made_at),
        stack=made.stack,
        clusters=list(made.clusters),
        identities=clusters.document(made.identities),
        release={"prior": made.prior, "next": made.revision}
        | ({"rollsBackTo": made.rolls_back_to} if made.rolls_back_to else {}),
        summary=_summary(made.summary),
        waves=[[{"cluster": each.cluster, "id": str(each.id)} for each in wave] for wave in made.waves],
        part=None if made.part is None else _part(made.part),
        changes=[change(each, root) for each in made.steps()],
        bases=_bases(made.changes),
        guards=[
            {"name": each.name, "passed": None if each.is_unknown else each.passed, "message": each.message}
            for each in made.guards
        ],
        policy=None if made.policy is None else policy.document(made.policy, root),
        confirmation={
            "level": made.confirmation.level.value,
            "phrase": made.confirmation.phrase,
            "reasons": list(made.confirmation.reasons),
        },
        problems=[_problem(each) for each in made.problems],
        gaps=[_gap(each) for each in made.gaps],
        warnings=list(made.warnings),
        notes=list(made.notes),
        reads=_reads(made.spec),
    )


def _reads(spec: Spec) -> list[dict[str, Any]]:
    return outputs.reads(spec.reads, Seal.random().knowing(spec.secrets, spec.rules))


def _plan_status(made: Plan) -> str:
    """`empty` claims that nothing is to be done, so it takes that everything could be found out.

    `partial`: nothing of what was chosen is to be done, and something is left out.
    """
    if made.is_refused:
        return "refused"
    if not made.is_empty:
        return "ready"
    if made.left_out:
        return "partial"
    return "empty" if made.is_certain else "unknown"


def _part(part: Part) -> dict[str, Any]:
    return {
        "only": list(part.only),
        "skip": list(part.skip),
        "leftOut": [
            {
                "cluster": each.address.cluster,
                "id": str(each.address.id),
                "what": each.what,
                "needs": None if each.because is None else str(each.because),
            }
            for each in part.left_out
        ],
        "along": [{"cluster": each.cluster, "id": str(each.id)} for each in sorted(part.along)],
    }


def _gap(each: Gap) -> dict[str, Any]:
    return {
        "place": each.place,
        "id": str(each.subject) if each.subject is not None else None,
        "exists": each.exists,
        "message": each.message,
        "hint": each.hint,
    }


def status(found: StatusTree | None) -> dict[str, Any]:
    """`found` is None where nothing was observed yet. What is said is said of `observedAt`."""
    if found is None:
        return _document("Status", Verdict.UNKNOWN.value, observedAt=None, sources=[], resources=[], problems=[])
    why = found.why
    return _document(
        "Status",
        found.verdict.value,
        observedAt=_time(found.at),
        sources=[_source_of_state(each) for each in found.sources],
        ready=found.ready,
        total=found.total,
        seconds=round(found.seconds, 3),
        why=_blocking(why) if why and why.blocking else None,
        resources=[
            {
                "cluster": each.address.cluster,
                "id": str(each.address.id),
                "status": each.health.status.value,
                "reason": each.health.reason,
                "message": each.health.message,
                "qualified": each.health.is_qualified,
                "lostSince": _time(each.lost.since) if each.lost else None,
                "last": each.last.status.value if each.last else None,
            }
            for each in found.resources
        ],
        problems=[
            {"cluster": each.place, "message": each.lost.message, "hint": each.lost.hint}
            if each.lost
            else {"cluster": each.place, "message": WAITED_FOR, "hint": ""}
            for each in found.silent
        ],
    )


def _source_of_state(each: Source) -> dict[str, Any]:
    return {
        "place": each.place,
        "alive": each.is_alive,
        "answeredAt": _time(each.answered_at),
        "lostSince": _time(each.lost.since) if each.lost else None,
        "message": each.lost.message if each.lost else "",
    }


def _time(moment: datetime | None) -> str | None:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if moment else None


def _blocking(status: ResourceStatus) -> dict[str, Any]:
    blocking: Blocking | None = status.blocking
    assert blocking is not None
    return {
        "cluster": status.address.cluster,
        "id": str(status.address.id),
        "object": str(blocking.ref),
        "reason": blocking.reason,
        "message": blocking.message,
        "evidence": blocking.evidence,
        "log": list(blocking.log_tail),
    }


def _summary(each: Summary) -> dict[str, int]:
    return {
        "create": each.create,
        "update": each.update,
        "replace": each.replace,
        "delete": each.delete,
        "unchanged": each.unchanged,
        "drift": each.drift,
        "defaulted": each.defaulted,
        "restarts": each.restarts,
        "import": each.import_,
        "move": each.move,
        "forget": each.forget,
    }


def _bases(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Of each object of a cluster how it is known what an apply would make of it, unchanged ones too."""
    return [
        {"cluster": each.address.cluster, "id": str(each.address.id), "basis": each.basis.value}
        for each in changes
        if each.basis is not None
    ]


def change(found: Change, root: Path) -> dict[str, Any]:
    return {
        "cluster": found.address.cluster,
        "id": str(found.address.id),
        "action": found.action.value,
        "because": found.because,
        "source": _source(found.source, root),
        "restarts": found.restarts,
        "wasDeleted": found.was_deleted,
        "fields": [_field(each, root) for each in found.fields],
        "defaulted": found.defaulted,
        "warnings": list(found.warnings),
    }


def _field(field: FieldChange, root: Path) -> dict[str, Any]:
    return {
        "path": format_path(field.path),
        "op": field.op.value,
        "class": field.class_.value,
        "before": plain(field.before),
        "after": plain(field.after),
        "masked": field.is_masked,
        "unknown": field.is_unknown,
        "source": _source(field.source, root),
        "actor": field.actor.manager if field.actor else None,
        "when": f"{field.actor.when:%Y-%m-%dT%H:%M:%SZ}" if field.actor and field.actor.when else None,
        "conflict": field.is_conflict,
        "replaces": field.replaces,
        "recorded": plain(field.recorded),
    }


def _source(chain: Chain, root: Path) -> list[str]:
    return [site.relative_to(root) for site in chain]


def problems(found: StackDiff) -> list[dict[str, Any]]:
    """What a diff could not find out."""
    return [*map(_problem, found.problems), *map(_gap, found.gaps)]


def _problem(each: Problem) -> dict[str, Any]:
    return {
        "cluster": each.cluster,
        "id": str(each.address.id) if each.address else None,
        "kind": each.kind,
        "message": each.message,
        "hint": each.hint,
    }
