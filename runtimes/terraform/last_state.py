"""The state as it was last read whole, and what a state found later has lost compared with it.

terraform writes its local state in place: killed at that moment, it leaves an empty or a torn file, and reads an empty
one as a stack that has nothing. A state may also be deleted, or be replaced by an older one or by that of another
workspace. So each reading is compared with the one before: by lineage, which names a state for all its life, by serial,
which only grows, and by the resources it has.

Pure but for `load` and `save`. What is put back, and from where, is in restoring.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from kcl.records import dataclass, field, replace
from runtimes.base import InvalidResourceId, ResourceId, RuntimeType, TerraformId, parse_id
from runtimes.terraform import live
from runtimes.terraform.folder import Folder, read_json
from runtimes.terraform.state import State

_NAMES_IN_WORDS = 3


@dataclass(frozen=True, slots=True)
class LastState:
    """A state as it was read. `lineage` is empty where there was none yet.

    `resources` are the ids in it, each with its id in the infrastructure, empty where that is secret or not known.
    `missing` are resources that were lost and of which nobody found out yet whether they exist. `repair` says what was
    put back, until an apply has ended well. `place` is where it was read, as `moving.place` says it; empty for what
    older versions wrote down.
    """

    lineage: str = ""
    serial: int = 0
    resources: Mapping[TerraformId, str] = field(default_factory=dict)
    missing: Mapping[TerraformId, str] = field(default_factory=dict)
    repair: str = ""
    place: str = ""


class Condition(StrEnum):
    """What a state is against the one seen last. `WHOLE`: that one or a later one.

    `NOTHING`: no file, or an empty one. `OLDER`: of a serial before, or of the same with resources gone.
    `FOREIGN`: another workspace's, or begun again. `DIVERGED`: the same state in another place, without all that it had
    where it was read last. A move that was broken off leaves it in both, and each may have gone on by itself.
    """

    WHOLE = "whole"
    NOTHING = "nothing"
    UNREADABLE = "unreadable"
    OLDER = "older"
    FOREIGN = "foreign"
    DIVERGED = "another copy than the one that was read last"


def condition(state: State | None, seen: LastState | None, place: str = "") -> Condition:
    """`state` is None where it can't be read. What was never seen can't be told to be older or foreign.

    `place` is where it was read, as far as that counts: elsewhere, what is gone is not taken for deleted in good order.
    """
    if state is None:
        return Condition.UNREADABLE
    if not state.lineage and not state.resources:
        return Condition.NOTHING
    if seen is None or not seen.lineage:
        return Condition.WHOLE
    if state.lineage != seen.lineage:
        return Condition.FOREIGN
    lacks = not seen.resources.keys() <= state.resources.keys()
    if state.serial < seen.serial or (state.serial == seen.serial and lacks):
        return Condition.OLDER
    return Condition.DIVERGED if lacks and is_elsewhere(seen, place) else Condition.WHOLE


def is_elsewhere(seen: LastState, place: str) -> bool:
    """Whether a state was read in another place the last time, as far as that was written down."""
    # older versions wrote down the type of a backend alone
    return bool(seen.place and place and not f"{place} ".startswith(f"{seen.place} "))


def is_damaged(found: Condition, seen: LastState | None) -> bool:
    """Whether a state may lack what exists. That there is nothing is as it should be where there never was."""
    match found:
        case Condition.WHOLE:
            return False
        case Condition.NOTHING:
            return seen is None or bool(seen.lineage)
        case _:
            return True


def outdated(state: State, seen: LastState) -> tuple[TerraformId, ...]:
    """Returns what an older or foreign state knows as another object than the one that was seen last."""
    now = identities(state, frozenset())
    return tuple(id_ for id_, uid in seen.resources.items() if uid and now.get(id_, uid) not in ("", uid))


def identities(state: State, secrets: frozenset[str]) -> dict[TerraformId, str]:
    """Returns the resources of a state with their ids in the infrastructure, as `LastState` has them."""
    return {
        id_: "" if ("id",) in each.hidden else live.identity(each.attributes, secrets).uid
        for id_, each in state.resources.items()
    }


def look(
    state: State, secrets: frozenset[str], before: LastState | None, missing: Mapping[TerraformId, str], place: str
) -> LastState:
    """Returns what is seen now. `missing` is what is to be accounted for besides."""
    resources = identities(state, secrets)
    left = {id_: uid for id_, uid in missing.items() if id_ not in resources}
    return LastState(state.lineage, state.serial, resources, left, before.repair if before else "", place)


def settled(seen: LastState) -> LastState:
    """Returns it once an apply has ended well: what was put back has proved right."""
    return replace(seen, repair="")


def named(ids: Sequence[ResourceId | str]) -> str:
    """Names a few of many: `a, b, c and 197 more`."""
    first = [str(each) for each in ids[:_NAMES_IN_WORDS]]
    more = len(ids) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")


def load(folder: Folder) -> LastState | None:
    """Returns None where no state was read yet, or what was written down can't be read."""
    match read_json(folder.seen):
        case {"lineage": str(lineage), "serial": int(serial), "resources": dict(resources), **rest}:
            missing: Any = rest.get("missing")
            return LastState(
                lineage,
                serial,
                _ids(resources),
                _ids(missing if isinstance(missing, dict) else {}),
                str(rest.get("repair") or ""),
                str(rest.get("place") or ""),
            )
        case _:
            return None


def save(folder: Folder, seen: LastState) -> None:
    document = {
        "lineage": seen.lineage,
        "serial": seen.serial,
        "resources": {str(id_): uid for id_, uid in seen.resources.items()},
        "missing": {str(id_): uid for id_, uid in seen.missing.items()},
        "repair": seen.repair,
        "place": seen.place,
    }
    folder.write(folder.seen, json.dumps(document, indent=2) + "\n")


def _ids(document: Mapping[str, Any]) -> dict[TerraformId, str]:
    found = {}
    for text, uid in document.items():
        try:
            id_ = parse_id(text, RuntimeType.TERRAFORM)
        except InvalidResourceId:
            continue
        if isinstance(id_, TerraformId):
            found[id_] = str(uid)
    return found
