"""What people do behind terraform's back: they change and delete what is in a world, and order trouble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtimes.base.documents import load_json
from runtimes.sandbox.provider.cloud import Cloud, Content
from runtimes.sandbox.provider.faults import strike
from runtimes.sandbox.provider.kinds import KINDS, Field, Kind, Refused, sealed


def edit(world: Cloud, type_: str, id_: str, values: Mapping[str, Any]) -> None:
    """Sets attributes of an object. Texts are read as the attribute's form asks; raises `Refused`."""
    kind = _kind(type_)
    fields = {each.name: each for each in kind.fields if each.name != "id"}
    if unknown := sorted(values.keys() - fields.keys()):
        raise Refused(f"{unknown[0]} is no attribute of {type_}", f"There are {', '.join(sorted(fields))}.")
    with world.change() as content:
        kept = _object(content, kind, id_)
        kept.update({name: _value(fields[name], value) for name, value in values.items()})
        content.note("edit", type_, id_)


def remove(world: Cloud, type_: str, id_: str) -> None:
    """Takes an object away, whatever needs it; raises `Refused` if there is none."""
    kind = _kind(type_)
    with world.change() as content:
        _object(content, kind, id_)
        del content.of(type_)[id_]
        content.note("remove", type_, id_)


def order_faults(world: Cloud, faults: Sequence[Mapping[str, Any]]) -> None:
    """Replaces what goes wrong from now on (see `faults`); raises `CloudBroken` for an entry that means nothing."""
    with world.change() as content:
        content.faults = [dict(each) for each in faults]
        strike(Content(faults=[dict(each) for each in faults]), "", "", "")


def set_quotas(world: Cloud, type_: str, limits: Mapping[str, float]) -> None:
    """Replaces the quotas of a type; raises `Refused` for a type that is none."""
    _kind(type_)
    with world.change() as content:
        content.quotas[type_] = dict(limits)


def _kind(type_: str) -> Kind:
    if type_ not in KINDS:
        raise Refused(f"{type_} is no type of the practice provider", f"There are {', '.join(KINDS)}.")
    return KINDS[type_]


def _object(content: Content, kind: Kind, id_: str) -> dict[str, Any]:
    if id_ not in content.of(kind.type):
        ids = ", ".join(sorted(content.of(kind.type))) or "none"
        raise Refused(f"No {kind.what} has the id {id_}", f"The world has: {ids}.")
    return content.of(kind.type)[id_]


def _value(field: Field, value: Any) -> Any:
    if field.is_sensitive:
        return sealed(str(value))
    if field.form == "string" or not isinstance(value, str):
        return value
    try:
        found = load_json(value)
    except ValueError:
        found = value.split(",") if field.form == "list" else value
    forms: dict[str, tuple[type, ...]] = {"number": (int, float), "bool": (bool,), "list": (list,), "map": (dict,)}
    if not isinstance(found, forms[field.form]) or (field.form == "number" and isinstance(found, bool)):
        raise Refused(f"{value!r} is no value of {field.name}", f"A {field.form} is expected, written as JSON.")
    return found
