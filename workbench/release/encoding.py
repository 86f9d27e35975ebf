"""Releases as JSON, with a checksum, so that a flipped bit or a torn file is noticed and named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from runtimes.base import Address, ClusterIdentity, InvalidResourceId, ResourceId, RuntimeType, parse_id
from runtimes.base.documents import DocumentError, load_json
from workbench.engine.events import Action, Event, StepFailed, StepFinished, StepSkipped
from workbench.engine.plan_age import moment
from workbench.engine.release import Phase, Release, ReleasedResource, StepEnd, StepState, type_of

SALT_BYTES: Final = 32
MOST_RECORD_BYTES: Final = 48_000_000
"""Of a record in a place that others write to as well. A resource takes some 1,000 bytes, as much again once it was
changed, and what its step ended with."""
MOST_EVENT_BYTES: Final = 4 * 1024 * 1024
"""Of a line in the log of an apply: the message of a server may be long, and a file without line ends has no end."""
_AN_END_BYTES: Final = 400
_FORMAT = 1


class BrokenRecord(ValueError):
    """Not a record, or not one that this version reads; the message says which."""


def encode(release: Release, *, indent: int | None = 1) -> bytes:
    """Without an `indent` it takes little more than half as much."""
    content = {
        "stack": release.stack,
        "revision": release.revision,
        "phase": release.phase.value,
        "plan": release.plan,
        "user": release.user,
        "host": release.host,
        "started": release.started.isoformat(),
        "finished": release.finished.isoformat() if release.finished else None,
        "audit": release.audit,
        "clusters": {name: each.to_mapping() for name, each in sorted(release.clusters.items())},
        "resources": [_resource(each) for _, each in sorted(release.resources.items())],
        **({"salt": release.salt.hex()} if release.salt else {}),
        **({"rolledBackTo": release.rolled_back_to} if release.rolled_back_to else {}),
        **({"reason": release.reason} if release.reason else {}),
        **({"rollout": release.rollout} if release.rollout else {}),
        **({"part": release.part} if release.part else {}),
        **({"gaps": [*release.gaps]} if release.gaps else {}),
        **({"events": [_ended(each) for each in release.events]} if release.events else {}),
    }
    record = {"format": _FORMAT, "checksum": _checksum(content), "release": content}
    separators = (",", ":") if indent is None else None
    text = json.dumps(record, indent=indent, separators=separators, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def still_to_come(release: Release) -> int:
    """Returns how many bytes a record of a release that only began may still grow by: what its steps end with."""
    if release.phase is not Phase.APPLYING:
        return 0
    ended = {each.address for each in release.events}
    coming = (each for each in release.resources.values() if each.address not in ended)
    return sum(_AN_END_BYTES + len(str(each.address.id)) for each in coming if each.state is not StepState.KEPT)


def decode(data: bytes) -> Release:
    """Raises `BrokenRecord`."""
    try:
        record = load_json(data.decode("utf-8", "surrogatepass"))
        if record["format"] != _FORMAT:
            raise BrokenRecord(f"has format {record['format']}, this version reads {_FORMAT}")
        content = record["release"]
        if record["checksum"] != _checksum(content):
            raise BrokenRecord("does not match its checksum")
        return _release(content)
    except (KeyError, TypeError, AttributeError, RecursionError, ValueError, OverflowError) as error:
        if isinstance(error, BrokenRecord):
            raise
        why = f": it {error.problem}" if isinstance(error, DocumentError) else ""
        raise BrokenRecord(f"is not a release record{why}") from error


def encode_event(event: Event) -> bytes:
    """Returns one line: a checksum, then what of the event a release takes over."""
    if not isinstance(event, StepFinished | StepFailed | StepSkipped):
        raise AssertionError(f"{type(event).__name__} is not kept")
    text = json.dumps(_ended(event))
    return f"{hashlib.sha256(text.encode()).hexdigest()[:16]} {text}\n".encode()


def _ended(event: StepEnd) -> dict[str, Any]:
    match event:
        case StepFinished():
            content: dict[str, Any] = {"seconds": event.seconds, "uid": event.uid}
        case StepFailed():
            content = {"seconds": event.seconds, "kind": event.kind, "message": event.message, "hint": event.hint}
        case StepSkipped(because=None):
            content = {}
        case StepSkipped(because=Address() as because):
            place = {"cluster": because.cluster, "id": str(because.id), "type": type_of(because.id).value}
            content = {"because": place}
    return content | {
        "event": type(event).__name__,
        "at": event.at.isoformat(),
        "cluster": event.address.cluster,
        "id": str(event.address.id),
        "type": type_of(event.address.id).value,
        "action": event.action.value,
    }


def decode_events(log: Iterable[bytes]) -> Iterator[StepEnd]:
    """Yields the events of the lines of a log up to the first that is not whole: a crash may have torn the last one.

    Raises `BrokenRecord` for one that is whole and no event.
    """
    for line in log:
        checksum, _, text = line.partition(b" ")
        if not text or hashlib.sha256(text).hexdigest()[:16].encode() != checksum:
            return
        try:
            event = _event(load_json(text))
        except (KeyError, TypeError, AttributeError, RecursionError, ValueError, OverflowError) as error:
            if isinstance(error, BrokenRecord):
                raise
            raise BrokenRecord("has a log with something that is no event") from error
        yield event


def _event(content: dict[str, Any]) -> StepEnd:
    at, action = moment(content["at"]), Action(content["action"])
    address = _address(content)
    match content["event"]:
        case "StepFinished":
            return StepFinished(at, address, action, float(content["seconds"]), str(content["uid"]))
        case "StepFailed":
            kind, message, hint = (str(content[name]) for name in ("kind", "message", "hint"))
            return StepFailed(at, address, action, float(content["seconds"]), kind, message, hint)
        case "StepSkipped":
            because = content.get("because")  # older versions did not write it
            return StepSkipped(at, address, action, _address(because) if because is not None else None)
        case other:
            raise BrokenRecord(f"has a log with the unknown event {other}")


def _address(content: dict[str, Any]) -> Address:
    return Address(str(content["cluster"]), _id(content["id"], RuntimeType(content["type"])))


def _checksum(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _resource(each: ReleasedResource) -> dict[str, Any]:
    return {
        "cluster": each.address.cluster,
        "id": str(each.address.id),
        "type": each.type.value,
        "action": each.action.value,
        "state": each.state.value,
        "uid": each.uid,
        "attributes": each.attributes,
        "former": each.former,
        "dependsOn": [{"id": str(id_), "type": type_of(id_).value} for id_ in each.depends_on],
        "error": each.error,
    }


def _release(content: dict[str, Any]) -> Release:
    resources = [_released(each) for each in content["resources"]]
    finished = content["finished"]
    return Release(
        stack=str(content["stack"]),
        revision=int(content["revision"]),
        phase=Phase(content["phase"]),
        plan=str(content["plan"]),
        user=str(content["user"]),
        host=str(content["host"]),
        started=moment(content["started"]),
        finished=moment(finished) if finished else None,
        resources={each.address: each for each in resources},
        audit=str(content.get("audit", "")),
        # older versions did not write which clusters it was
        clusters={str(name): ClusterIdentity.of_mapping(each) for name, each in content.get("clusters", {}).items()},
        salt=_salt(content.get("salt", "")),
        rolled_back_to=int(content.get("rolledBackTo", 0)),
        reason=str(content.get("reason", "")),
        rollout=str(content.get("rollout", "")),
        part=str(content.get("part", "")),
        gaps=tuple(map(str, content.get("gaps", ()))),
        events=tuple(_event(each) for each in content.get("events", ())),
    )


def _salt(text: str) -> bytes:
    """Returns nothing for records that are kept on one machine. Another length is nobody's salt."""
    salt = bytes.fromhex(text)
    if salt and len(salt) != SALT_BYTES:
        raise BrokenRecord("has a salt of another length")
    return salt


def _released(content: dict[str, Any]) -> ReleasedResource:
    type_ = RuntimeType(content["type"])
    return ReleasedResource(
        address=Address(str(content["cluster"]), _id(content["id"], type_)),
        type=type_,
        action=Action(content["action"]),
        state=StepState(content["state"]),
        uid=str(content["uid"]),
        attributes=dict(content["attributes"]),
        former=dict(content["former"]) if content["former"] is not None else None,
        depends_on=tuple(_id(each["id"], RuntimeType(each["type"])) for each in content["dependsOn"]),
        error=str(content["error"]),
    )


def _id(text: str, type_: RuntimeType) -> ResourceId:
    try:
        return parse_id(text, type_)
    except InvalidResourceId as error:
        raise BrokenRecord(str(error)) from error
