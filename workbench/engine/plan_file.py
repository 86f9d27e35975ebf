"""A plan on disk: what is needed to make it again and to see that it comes out the same. No secrets.

The resources themselves are not saved: they hold secrets in clear, and are compiled again in no time. What is saved
is the plan's id, a digest of the Spec and of each live object under a salt of the plan's own, and the options it was
compiled with, but for those that are secret or may be (secret_options.py): these are handed in again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from kcl import bounds, whole_file
from kcl.records import dataclass, field, replace
from runtimes.base import ClusterIdentity
from runtimes.base.documents import DocumentError, load_json, read_text
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import EngineError, MovedObject, OtherCluster, Refused, StalePlan
from workbench.engine.masking import Seal
from workbench.engine.plan import Plan
from workbench.engine.plan_age import expiry, moment
from workbench.engine.secret_options import withheld

_FORMAT = "workbench.plan/v1"
_SAVES = "`wb plan --out FILE` saves one"


class PlanFileInvalid(EngineError):
    """Not a saved plan, or one of another repository."""


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """`objects` maps addresses to [action, uid, digest of content, and for Terraform of what is planned].

    `only` are places, `only_resources`, `skipped` and `replaces` selectors of resources.

    `withheld` names options that were not saved. `identities` says which cluster each name was. `expires_at` is None
    for a plan that is good for ever by what its file says, and for that of one stack within one over many.
    """

    id: str
    stack: str
    spec: str
    only: tuple[str, ...]
    objects: dict[str, list[str]]
    prior: int
    prune: bool
    force: bool
    destroys: bool
    accept_lost: bool
    adopts: bool
    dry_run_all: bool
    takes_away: bool
    options: dict[str, str] = field(repr=False)
    withheld: tuple[str, ...]
    settings: tuple[str, ...]
    salt: bytes = field(repr=False)
    made_at: datetime
    expires_at: datetime | None = None
    identities: Mapping[str, ClusterIdentity] = field(default_factory=dict)
    rolls_back_to: int = 0
    only_resources: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()


def save(plan: Plan, path: Path, root: Path, limit: timedelta | None) -> None:
    """Writes a file only its owner may read; raises `EngineError` for a plan over unsaved edits, or if it cannot.

    `limit` is how long it may be applied, None for ever.
    """
    content = {"format": _FORMAT, "repository": root.name, "expires": expiry(plan.made_at, limit), **document(plan)}
    write(content, path)


def write(content: Mapping[str, Any], path: Path) -> None:
    """Writes a file only its owner may read, as a whole or not at all; raises `EngineError`, also for one that would be
    too large to be read again."""
    data = json.dumps(content, indent=1).encode()
    if len(data) > bounds.MOST_BYTES:
        said = f"the plan takes {len(data)} bytes, and no more than {bounds.MOST_BYTES} are read again: it is not saved"
        raise EngineError(
            said, where=str(path), hint="save parts of it (--only, --cluster), or apply it where it is made"
        )
    try:
        whole_file.write(path, data)
    except OSError as error:
        raise EngineError(f"cannot be written: {error.strerror}", where=str(path)) from error


def document(plan: Plan) -> dict[str, Any]:
    """Returns what is saved of a plan; raises `EngineError` for one that can't be."""
    if plan.inputs.overlay:
        raise EngineError("a plan over what-if edits cannot be saved", where=plan.stack, hint="write the edits first")
    if plan.forgets:
        hint = f"wb state forget {plan.stack} plans and asks"
        raise EngineError("a plan that forgets is applied where it is made, and not saved", where=plan.stack, hint=hint)
    options = plan.inputs.options
    secret = withheld(plan.spec, options)
    return {
        "id": plan.id,
        "stack": plan.stack,
        "made": plan.made_at.isoformat(),
        "spec": plan.spec.digest(plan.salt),
        "only": list(plan.only),
        "objects": states_of(plan),
        "prior": plan.prior,
        "prune": plan.prune,
        "force": plan.force,
        "destroys": plan.destroys,
        "acceptLost": plan.accept_lost,
        "adopts": plan.adopts,
        "rollsBackTo": plan.rolls_back_to,
        "dryRunAll": plan.dry_run_all,
        "takesAway": plan.takes_away,
        "onlyResources": list(plan.part.only) if plan.part is not None else [],
        "replaces": list(plan.replaces),
        "skipped": list(plan.part.skip) if plan.part is not None else [],
        "options": {name: value for name, value in options.items() if name not in secret},
        "withheld": sorted(secret),
        "settings": list(plan.inputs.settings),
        "salt": plan.salt.hex(),
        "clusters": {name: each.to_mapping() for name, each in plan.identities.items()},
    }


def load(path: Path, root: Path) -> SavedPlan:
    """Raises `PlanFileInvalid`."""
    return saved_in(read(path, root, _FORMAT), path)


def format_of(path: Path) -> str:
    """Returns which format a file says it has, empty where it says none; raises `PlanFileInvalid` for no JSON."""
    content = _json(path)
    return str(content.get("format", "")) if isinstance(content, dict) else ""


def read(path: Path, root: Path, format_: str) -> dict[str, Any]:
    """Returns a saved plan of this format and repository as plain data; raises `PlanFileInvalid`."""
    content = _json(path)
    try:
        if content["format"] != format_:
            raise PlanFileInvalid(f"has format {content['format']!r}, not {format_}", where=str(path))
        if content["repository"] != root.name:
            raise PlanFileInvalid(f"is a plan of the repository {content['repository']!r}", where=str(path))
    except (KeyError, TypeError) as error:
        raise PlanFileInvalid("is not a saved plan", where=str(path), hint=_SAVES) from error
    return dict(content)


def _json(path: Path) -> Any:
    try:
        return load_json(read_text(path, takes_pipes=True))
    except OSError as error:
        raise PlanFileInvalid(f"cannot be read: {error.strerror}", where=str(path)) from error
    except DocumentError as error:
        raise PlanFileInvalid(f"is not a saved plan: it {error.problem}", where=str(path)) from error
    except ValueError as error:
        raise PlanFileInvalid("is not a saved plan", where=str(path), hint=_SAVES) from error


def saved_in(content: Mapping[str, Any], path: Path) -> SavedPlan:
    """Returns what `document` made; raises `PlanFileInvalid`."""
    try:
        if "clusters" not in content:
            raise PlanFileInvalid(
                "does not say for which clusters it was made: an older version saved it",
                where=str(path),
                hint=f"plan again: wb plan {content['stack']} --out {path.name}",
            )
        return SavedPlan(
            id=str(content["id"]),
            stack=str(content["stack"]),
            spec=str(content["spec"]),
            only=tuple(str(each) for each in content["only"]),
            objects={str(key): [str(each) for each in value] for key, value in content["objects"].items()},
            prior=int(content["prior"]),
            prune=bool(content["prune"]),
            force=bool(content["force"]),
            destroys=bool(content.get("destroys")),
            accept_lost=bool(content.get("acceptLost")),
            adopts=bool(content.get("adopts")),
            dry_run_all=bool(content.get("dryRunAll")),
            takes_away=bool(content.get("takesAway")),
            options={str(key): str(value) for key, value in content["options"].items()},
            withheld=tuple(str(each) for each in content["withheld"]),
            settings=tuple(str(each) for each in content["settings"]),
            salt=bytes.fromhex(content["salt"]),
            made_at=moment(content["made"]),
            expires_at=moment(content["expires"]) if content.get("expires") else None,
            identities={str(name): ClusterIdentity.of_mapping(each) for name, each in content["clusters"].items()},
            rolls_back_to=int(content.get("rollsBackTo", 0)),
            only_resources=tuple(str(each) for each in content.get("onlyResources", ())),
            skipped=tuple(str(each) for each in content.get("skipped", ())),
            replaces=tuple(str(each) for each in content.get("replaces", ())),
        )
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise PlanFileInvalid("is not a saved plan", where=str(path), hint=_SAVES) from error


def saved_of(plan: Plan) -> SavedPlan:
    """Returns a plan as it would be read from its file; raises as `document`."""
    return saved_in(document(plan), Path(plan.stack))


def completed(saved: SavedPlan, inputs: CompileInputs | None) -> CompileInputs:
    """Returns what to compile with; raises `PlanFileInvalid` naming options to be handed in again, or not to be."""
    return completed_with(inputs, saved.options, saved.withheld, saved.settings, where=saved.stack)


def completed_with(
    inputs: CompileInputs | None,
    saved: Mapping[str, str],
    withheld: Sequence[str],
    settings: tuple[str, ...],
    *,
    where: str,
) -> CompileInputs:
    """See `completed`."""
    given = inputs.options if inputs else {}
    missing = [name for name in withheld if name not in given]
    if missing:
        again = " ".join(f"-D {name}=..." for name in missing)
        raise PlanFileInvalid("was made with options that are not saved", where=where, hint=f"add {again}")
    if inputs is not None and inputs.settings and inputs.settings != settings:
        raise PlanFileInvalid("was made with other -Y", where=where, hint="leave them out, or plan again with them")
    known = {name: value for name, value in given.items() if name not in withheld}
    if other := [name for name, value in known.items() if saved.get(name) != value]:
        names = " ".join(f"-D {name}" for name in other)
        raise PlanFileInvalid(f"was made without {names}", where=where, hint="plan again with it")
    options = {**saved, **{name: given[name] for name in withheld}}
    return replace(inputs or CompileInputs(), options=options, settings=settings)


def compare(saved: SavedPlan, plan: Plan) -> None:
    """Raises `StalePlan` unless the plan made again is the saved one, and `Refused` where that can't be told, as not
    everything could be asked."""
    if plan.identities.keys() != saved.identities.keys():
        names = ", ".join(sorted(plan.identities.keys() ^ saved.identities.keys()))
        raise OtherCluster([MovedObject(None, f"it does not say for which cluster it is: {names}")], where=plan.stack)
    if plan.id == saved.id and plan.prior == saved.prior:
        return
    if plan.problems:
        said = [f"{each.address or each.cluster}: {each.message}" for each in plan.problems]
        hint = "put that right and apply the plan again: it is as it was"
        raise Refused([f"not everything could be asked: {each}" for each in said], where=plan.stack, hint=hint)
    moved: list[MovedObject] = []
    if plan.spec.digest(saved.salt) != saved.spec:
        others = " and ".join(dict.fromkeys(each.output.stack for each in plan.spec.reads))
        configured = "the configuration compiles to something else now"
        if others:
            configured = f"the configuration, or what it reads of {others}, is something else now"
        returned = f"release {saved.rolls_back_to} comes out as something else now"
        moved.append(MovedObject(None, returned if saved.rolls_back_to else configured))
    if plan.prior != saved.prior:
        moved.append(MovedObject(None, f"release {plan.prior} is the last one now, it was {saved.prior}"))
    now = states_of(plan)
    addresses = {str(each.address): each.address for each in plan.changes}
    for name in sorted(now.keys() | saved.objects.keys()):
        if now.get(name) != saved.objects.get(name):
            moved.append(MovedObject(addresses.get(name), "changed" if name in addresses else f"{name} changed"))
    raise StalePlan(moved or [MovedObject(None, "it does not come out the same")], where=plan.stack)


def states_of(plan: Plan) -> dict[str, list[str]]:
    """Returns by address its action, the uid and digest of what is there, and for Terraform of what is planned."""
    seal = Seal(plan.salt)
    return {
        str(each.address): [each.action.value, each.identity.uid if each.identity else "", each.state]
        + ([seal.digest(each.planned)] if each.planned is not None else [])
        for each in plan.changes
    }
