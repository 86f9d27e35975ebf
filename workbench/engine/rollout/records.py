"""Records of a rollout as JSON values, and back. Salts, times and tags aside, names are those of `values`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from workbench.engine.rollout.values import (
    Applied,
    Ask,
    Asked,
    BatchBegan,
    BatchReady,
    Began,
    Finished,
    Halted,
    Interrupted,
    Part,
    Record,
    RolledBack,
    Stage,
    Target,
    Waits,
)

_FORMAT: Final = 1


def encode(record: Record) -> Mapping[str, Any]:
    at = {"kind": type(record).__name__, "at": record.at.isoformat()}
    match record:
        case Began():
            return {
                **at,
                "format": _FORMAT,
                **_plain(record, "id", "user", "host", "reason"),
                "salt": record.salt.hex(),
                "stages": [_stage(each) for each in record.stages],
                "leftOut": [_target(each) for each in record.left_out],
                "parts": {name: [each.prior, each.digest, [*each.reasons]] for name, each in record.parts.items()},
                "homes": dict(record.homes),
            }
        case BatchBegan():
            return {**at, **_plain(record, "stage", "batch", "user", "host")}
        case Applied():
            return {**at, **_plain(record, "stage", "batch", "stack", "revision", "outcome")}
        case BatchReady(notes=notes):
            return {**at, **_plain(record, "stage", "batch"), **({"notes": [*notes]} if notes else {})}
        case Interrupted():
            return {**at, **_plain(record, "stage", "batch")}
        case Halted(target=target):
            where = _target(target) if target is not None else None
            return {**at, **_plain(record, "stage", "batch", "why", "hint"), "target": where}
        case Waits():
            return {**at, **_plain(record, "stage")}
        case Asked():
            return {**at, "what": record.what.value, **_plain(record, "user", "host", "reason", "stage")}
        case RolledBack():
            return {**at, **_plain(record, "stack", "revision")}
        case Finished():
            return at


def decode(content: Mapping[str, Any]) -> Record:
    """Raises `ValueError`, `KeyError`, `TypeError` or `AttributeError` for what is no record of this version."""
    kind, at = content["kind"], datetime.fromisoformat(content["at"])
    if at.tzinfo is None:
        raise ValueError("a time without its zone")
    return _DECODERS[kind](at, content)


def _began(at: datetime, content: Mapping[str, Any]) -> Began:
    if content["format"] != _FORMAT:
        raise ValueError(f"format {content['format']}, this version reads {_FORMAT}")
    id_, user, host, reason = _texts(content, "id", "user", "host", "reason")
    return Began(
        at,
        id_,
        user,
        host,
        reason,
        tuple(
            Stage(
                _text(each["name"]),
                tuple(tuple(Target(*map(_text, target)) for target in batch) for batch in each["batches"]),
                _count(each["max_unavailable"]),
                float(each["ready_seconds"]),
                _flag(each["needs_approval"]),
                float(each["timeout_seconds"]),
            )
            for each in content["stages"]
        ),
        tuple(Target(*map(_text, each)) for each in content["leftOut"]),
        {
            _text(name): Part(_count(prior), _text(digest), tuple(map(_text, reasons)))
            for name, (prior, digest, reasons) in content["parts"].items()
        },
        bytes.fromhex(content["salt"]),
        {_text(stack): _text(home) for stack, home in content.get("homes", {}).items()},
    )


def _halted(at: datetime, content: Mapping[str, Any]) -> Halted:
    where = content["target"]
    target = Target(*map(_text, where)) if where is not None else None
    why, hint = _texts(content, "why", "hint")
    return Halted(at, _text(content["stage"]), _count(content["batch"]), target, why, hint)


_DECODERS: Final[Mapping[str, Callable[[datetime, Mapping[str, Any]], Record]]] = {
    "Began": _began,
    "BatchBegan": lambda at, said: BatchBegan(
        at, _text(said["stage"]), _count(said["batch"]), *_texts(said, "user", "host")
    ),
    "Applied": lambda at, said: Applied(
        at,
        _text(said["stage"]),
        _count(said["batch"]),
        _text(said["stack"]),
        _count(said["revision"]),
        _text(said["outcome"]),
    ),
    "BatchReady": lambda at, said: BatchReady(
        at, _text(said["stage"]), _count(said["batch"]), tuple(map(_text, said.get("notes", ())))
    ),
    "Interrupted": lambda at, said: Interrupted(at, _text(said["stage"]), _count(said["batch"])),
    "Halted": _halted,
    "Waits": lambda at, said: Waits(at, _text(said["stage"])),
    "Asked": lambda at, said: Asked(at, Ask(said["what"]), *_texts(said, "user", "host", "reason", "stage")),
    "RolledBack": lambda at, said: RolledBack(at, _text(said["stack"]), _count(said["revision"])),
    "Finished": lambda at, said: Finished(at),
}


def _stage(stage: Stage) -> Mapping[str, Any]:
    return {
        **_plain(stage, "name", "max_unavailable", "ready_seconds", "needs_approval", "timeout_seconds"),
        "batches": [[_target(each) for each in batch] for batch in stage.batches],
    }


def _target(target: Target) -> list[str]:
    return [target.stack, target.cluster, target.component]


def _plain(value: object, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _texts(content: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    return tuple(_text(content[each]) for each in names)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"needs to be text, got {value!r}")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"needs to be a number from 0, got {value!r}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"needs to be true or false, got {value!r}")
    return value
