"""A plan over many stacks on disk: the saved plan of each stack, and what holds them together. No secrets.

It carries a digest of all that it says, so that a file which was cut or edited is not taken for what was confirmed.
Who applies it makes each plan again; what the same run has done already is told by the releases.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field
from workbench.engine import plan_file
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import EngineError
from workbench.engine.fleet_plan.values import Approved, Deferred, FleetPlan, reasons_of
from workbench.engine.plan_age import expiry, moment
from workbench.engine.plan_file import PlanFileInvalid

FORMAT = "workbench.fleet-plan/v2"


@dataclass(frozen=True, slots=True)
class SavedFleet:
    """`late` as of `FleetPlan`; `approved` is what the plan of each stack is held to when it is made again."""

    run: str
    made_at: datetime
    expires_at: datetime | None
    approved: Mapping[str, Approved]
    deferred: Mapping[str, Deferred]
    late: Mapping[str, tuple[str, ...]]
    skipped: tuple[str, ...]
    reads: Mapping[str, tuple[str, ...]]
    after: Mapping[str, tuple[str, ...]]
    rolls_back: bool
    destroys: bool
    reverts: tuple[str, ...]
    options: Mapping[str, str] = field(repr=False)
    withheld: tuple[str, ...]
    settings: tuple[str, ...]
    salt: bytes = field(repr=False)

    def completed(self, inputs: CompileInputs | None) -> CompileInputs:
        """Returns what to compile with; raises as `plan_file.completed`."""
        return plan_file.completed_with(
            inputs, self.options, self.withheld, self.settings, where=f"the plan of {self.run}"
        )


def save(fleet: FleetPlan, path: Path, root: Path, limit: timedelta | None) -> None:
    """Writes a file only its owner may read; raises `EngineError` as `plan_file.save`, and for a refused plan."""
    if fleet.is_refused:
        raise EngineError("a refused plan is not saved: it can't be applied", where=str(path))
    plans = [plan_file.document(each) for each in fleet.plans.values()]
    # an option that is secret to one of the stacks is a secret
    secret = {name for each in plans for name in each["withheld"]}
    secret |= {name for each in fleet.deferred.values() for name in each.withheld}
    for each in plans:
        each["withheld"] = sorted(secret)
        each["options"] = {name: value for name, value in each["options"].items() if name not in secret}
    content: dict[str, Any] = {
        "format": FORMAT,
        "repository": root.name,
        "run": fleet.run,
        "made": fleet.made_at.isoformat(),
        "expires": expiry(fleet.made_at, limit),
        "plans": plans,
        "reasons": {stack: list(reasons_of(plan)) for stack, plan in fleet.plans.items()},
        "configurations": dict(fleet.configurations),
        "deferred": [_deferred_document(each) for each in fleet.deferred.values()],
        "late": {stack: list(each) for stack, each in fleet.late.items()},
        "reads": {stack: list(each) for stack, each in fleet.reads.items()},
        "after": {stack: list(each) for stack, each in fleet.after.items()},
        "skipped": list(fleet.skipped),
        "rollsBack": fleet.rolls_back,
        "destroys": fleet.destroys,
        "reverts": list(fleet.reverts),
        "options": {name: value for name, value in fleet.inputs.options.items() if name not in secret},
        "withheld": sorted(secret),
        "settings": list(fleet.inputs.settings),
        "salt": fleet.salt.hex(),
    }
    plan_file.write({**content, "digest": _digest(content)}, path)


def load(path: Path, root: Path) -> SavedFleet:
    """Raises `PlanFileInvalid`."""
    content = plan_file.read(path, root, FORMAT)
    if content.pop("digest", None) != _digest(content):
        raise PlanFileInvalid("was changed or cut since it was saved", where=str(path), hint="plan again")
    try:
        plans = {str(each["stack"]): plan_file.saved_in(each, path) for each in content["plans"]}
        return SavedFleet(
            run=str(content["run"]),
            made_at=moment(content["made"]),
            expires_at=moment(content["expires"]) if content.get("expires") else None,
            approved={
                stack: Approved(each, tuple(content["reasons"][stack]), str(content["configurations"].get(stack, "")))
                for stack, each in plans.items()
            },
            deferred={str(each["stack"]): _deferred_in(each) for each in content["deferred"]},
            late=_texts(content["late"]),
            skipped=tuple(content["skipped"]),
            reads=_texts(content["reads"]),
            after=_texts(content["after"]),
            rolls_back=bool(content["rollsBack"]),
            destroys=bool(content["destroys"]),
            reverts=tuple(content["reverts"]),
            options={str(name): str(value) for name, value in content["options"].items()},
            withheld=tuple(content["withheld"]),
            settings=tuple(content["settings"]),
            salt=bytes.fromhex(content["salt"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PlanFileInvalid("is not a saved plan", where=str(path), hint="plan again") from error


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _texts(content: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {str(name): tuple(str(each) for each in texts) for name, texts in content.items()}


def _deferred_document(each: Deferred) -> dict[str, Any]:
    return {
        "stack": each.stack,
        "outputs": list(each.outputs),
        "configuration": each.configuration,
        "resources": each.resources,
        "clusters": list(each.clusters),
        "protected": each.protected,
    }


def _deferred_in(content: Mapping[str, Any]) -> Deferred:
    return Deferred(
        str(content["stack"]),
        tuple(content["outputs"]),
        str(content["configuration"]),
        int(content["resources"]),
        tuple(content["clusters"]),
        bool(content["protected"]),
    )
