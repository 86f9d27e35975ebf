"""What is written down about an apply, so that the next workbench knows of it however this one ended.

The record is written before terraform is started and again when it has ended. Between the two, who finds it knows
which process to wait for, and, where that is gone, which creations it may not have told anybody about: those are
doubts. A doubt stays until the state knows the resource or until it was found that nothing is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kcl.records import asdict, dataclass, replace
from kcl.regular import read_regular
from kcl.secrecy.rules import is_secret_name
from runtimes.base import InvalidResourceId, Misconfigured, RuntimeType, TerraformId, parse_id
from runtimes.base.documents import load_json
from runtimes.terraform.events import ApplyHook, Diagnosed, Event, Phase
from runtimes.terraform.folder import Folder
from runtimes.terraform.process import ProcessMark

# By what a provider may know a resource again, in the order they are tried. `id` only where it is known before.
_IDENTIFYING = ("id", "identifier", "name", "bucket")
_IDENTIFYING_END = re.compile(r"_(identifier|name|id)$")
_MOST_CANDIDATES = 4
_CRASHED = re.compile(r"plugin did not respond|request cancell?ed|plugin .*crashed|provider produced no", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Creation:
    """A resource that an apply creates. `candidates` are texts by which it may be found and imported, best first.

    `former` is the id in the infrastructure of what the state had under this address, and which is gone when the
    creation begins: deleted before, or found to be no more. Empty where there was nothing, or where it stays until the
    new one is there.
    """

    id: TerraformId
    address: str
    candidates: tuple[str, ...] = ()
    former: str = ""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A creation that may have happened without the state knowing. `since` is when it was begun, RFC 3339."""

    creation: Creation
    since: str

    @property
    def id(self) -> TerraformId:
        return self.creation.id


@dataclass(frozen=True, slots=True)
class Record:
    """`process` is None once the apply has ended and was looked at. `ids` are by the addresses it works on. `serial` is
    that of the state it was planned over."""

    process: ProcessMark | None
    begun: str
    creations: tuple[Creation, ...]
    ids: Mapping[str, TerraformId]
    doubts: tuple[Doubt, ...]
    serial: int = 0

    @property
    def is_open(self) -> bool:
        return self.process is not None

    def closed(self, events: Iterable[Event], knows: Callable[[TerraformId], bool]) -> Record:
        """Returns the record of an apply that has ended: with the doubts it left, and those that are still open."""
        fresh = doubts(self.creations, events, knows)
        kept = tuple(each for each in self.doubts if not knows(each.id) and each.id not in {new.id for new in fresh})
        return replace(self, process=None, doubts=(*kept, *fresh))


NOTHING = Record(None, "", (), {}, ())


def doubts(
    creations: Iterable[Creation], events: Iterable[Event], knows: Callable[[TerraformId], bool]
) -> tuple[Doubt, ...]:
    """Returns the creations that were begun and of which the state knows nothing, though they may have happened.

    What the provider refused has not happened: there is an error that names it, and it is not that of a crash.
    """
    begun: dict[str, str] = {}
    made: dict[str, str] = {}
    answered: set[str] = set()
    for event in events:
        match event:
            case ApplyHook(phase=Phase.STARTED, address=address, action="create"):
                begun[address] = event.when
            case ApplyHook(phase=Phase.COMPLETED, address=address, action="create"):
                made[address] = event.id_value
            case Diagnosed(is_error=True) if not _CRASHED.search(event.summary):
                answered.add(event.address)
    found = []
    for creation in creations:
        since = begun.get(creation.address)
        if since is None or knows(creation.id) or creation.address in answered:
            continue
        known = [made[creation.address]] if made.get(creation.address) else []
        candidates = tuple(dict.fromkeys((*known, *creation.candidates)))
        found.append(Doubt(replace(creation, candidates=candidates), since))
    return tuple(found)


def outlived(
    record: Record, events: Iterable[Event], identities: Mapping[TerraformId, str], serial: int
) -> frozenset[str]:
    """Returns the addresses under which a state still has what was gone when something new was begun there.

    `identities` are the ids in the infrastructure that the state has. An object that is no more would hide the new one:
    what the state knows is not looked for. Where both have the same id, the state has the new one if it was written
    after that was made.
    """
    creations = [each for each in events if isinstance(each, ApplyHook) and each.action == "create"]
    begun = {each.address for each in creations if each.phase is Phase.STARTED}
    made = {each.address: each.id_value for each in creations if each.phase is Phase.COMPLETED}
    return frozenset(
        each.address
        for each in record.creations
        if each.former and each.address in begun and identities.get(each.id) == each.former
        and (serial <= record.serial or made.get(each.address) != each.former)
    )  # fmt: skip


def candidates(planned: Mapping[str, Any], masks: Any) -> tuple[str, ...]:
    """Returns the texts among a planned resource's values by which it may be found, none of them secret.

    `planned` and `masks` are `after` and `after_sensitive` of a plan.
    """
    masks = masks if isinstance(masks, Mapping) else dict.fromkeys(planned, True) if masks is True else {}
    path = [planned.get(name) for name in ("zone", "name", "type")]  # of a DNS record, as many providers write it
    joined = ["/".join(str(each) for each in path)] if all(isinstance(each, str) for each in path) else []
    names = [*_IDENTIFYING, *sorted(name for name in planned if _IDENTIFYING_END.search(name))]
    texts = (
        planned[name]
        for name in names
        if isinstance(planned.get(name), str) and planned[name] and not masks.get(name) and not is_secret_name(name)
    )
    return tuple(dict.fromkeys((*joined, *texts)))[:_MOST_CANDIDATES]


def load(folder: Folder) -> Record:
    """Returns `NOTHING` where no apply was recorded; raises `Misconfigured` for what is no record: it may be of one."""
    try:
        document = load_json(read_regular(folder.run))
        if not isinstance(document, dict):
            raise TypeError("no mapping")
        return _record(document)
    except FileNotFoundError:
        return NOTHING
    except OSError as error:
        why = error.strerror or "it is no file"
    except (KeyError, TypeError, ValueError, AttributeError, InvalidResourceId):
        why = "it is no record of this version"
    raise Misconfigured(
        f"what the last apply did is not known, as its record can't be read: {why}",
        subject=str(folder.run),
        hint="compare what exists with the state, wb's releases and terraform's backup; then move the file away",
    )


def _record(document: dict[str, Any]) -> Record:
    process, serial = document["process"], document.get("serial", 0)
    ids: Mapping[str, str] = document["ids"]
    return Record(
        _process(process) if process else None,
        _text(document["begun"]),
        tuple(map(_creation, document["creations"])),
        {address: _id(text) for address, text in ids.items()},
        tuple(Doubt(_creation(each["creation"]), _text(each["since"])) for each in document["doubts"]),
        int(serial),
    )


def save(folder: Folder, record: Record) -> None:
    document = {
        "process": asdict(record.process) if record.process else None,
        "begun": record.begun,
        "creations": [_written(each) for each in record.creations],
        "ids": {address: str(id_) for address, id_ in record.ids.items()},
        "serial": record.serial,
        "doubts": [{"creation": _written(each.creation), "since": each.since} for each in record.doubts],
    }
    folder.write(folder.run, json.dumps(document, indent=2) + "\n")


def _written(creation: Creation) -> dict[str, Any]:
    return {
        "id": str(creation.id),
        "address": creation.address,
        "candidates": list(creation.candidates),
        "former": creation.former,
    }


def _creation(document: Mapping[str, Any]) -> Creation:
    candidates = tuple(map(_text, document["candidates"]))
    return Creation(_id(document["id"]), _text(document["address"]), candidates, _text(document.get("former") or ""))


def _process(document: Mapping[str, Any]) -> ProcessMark:
    pid = document["pid"]
    if not isinstance(pid, int) or pid <= 1:
        raise ValueError("no process that was started")  # signals to 0 and below go to many
    return ProcessMark(pid, _text(document["started"]), _text(document["host"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _id(text: str) -> TerraformId:
    parsed = parse_id(text, RuntimeType.TERRAFORM)
    if not isinstance(parsed, TerraformId):
        raise InvalidResourceId(f"{text} is no Terraform id")
    return parsed
