"""What Terraform has recorded: the raw state of format 4 (the local file, `terraform state pull`) and `show -json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kcl.records import dataclass, field
from runtimes.base import FieldPath, TerraformId, value_at
from runtimes.base.documents import OverLimit, load_json
from runtimes.terraform import names, schema, values
from runtimes.terraform.names import ProviderSource
from runtimes.terraform.schema import Form, Schemas, Type

_FORMAT = 4
_SHOWN_FORMATS = ("0", "1")
_PROVIDER_OF_INSTANCE = "instance_provider"
"""Where OpenTofu says it once a resource's instances may each have a provider of their own; the resource has none then.
https://github.com/opentofu/opentofu/blob/main/internal/states/statefile/version4.go"""
_VERSION = re.compile(r"v?\d+\.\d+")
_TOO_MUCH = "it is left as it is, as it may be whole: use terraform alone for it, or take out what nests so deep"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One resource in a state. `attributes` are all of it, nulls included; `hidden` are the paths that are secret.

    `alias` names the provider configuration it was made with, empty for the default one and where the form has none
    (`show -json`). `is_tainted`: it was not finished, and is replaced. `deposed` are the keys of older objects of it
    that could not be deleted yet; `exists` is False where there is nothing else of it. `depends_on` are addresses.
    """

    id: TerraformId
    address: str
    source: ProviderSource
    attributes: Mapping[str, Any] = field(repr=False)
    alias: str = ""
    hidden: tuple[FieldPath, ...] = ()
    is_tainted: bool = False
    deposed: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    exists: bool = True


@dataclass(frozen=True, slots=True)
class State:
    """`serial` and `lineage` are 0 and empty where the form has none (`show -json`)."""

    resources: Mapping[TerraformId, Recorded] = field(default_factory=dict)
    serial: int = 0
    lineage: str = ""
    sources: frozenset[ProviderSource] = field(default=frozenset(), compare=False)
    """Of all that is in it, data sources too: terraform installs every provider that its state names."""
    outputs: tuple[str, ...] = field(default=(), compare=False)
    """The names of the values that others read from it: somebody's configuration has them, a stack never has."""


@dataclass(frozen=True, slots=True)
class PriorState(State):
    """As it was before an apply."""


@dataclass(frozen=True, slots=True)
class NewState(State):
    """As it is after an apply, however that ended."""


class UnreadableState(ValueError):
    """A text that is no state, or one of a version that is not known."""


Content = Mapping[str, Any] | str | bytes


class OtherFormat(UnreadableState):
    """Whole, and of a format that this program does not read: somebody else's work, and nothing to be repaired.

    `hint` says what to do about it.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def read_prior(content: Content, *, schemas: Schemas | None = None) -> PriorState:
    """Reads either form; an empty text is an empty state. Raises `UnreadableState`."""
    return PriorState(*_read(content, schemas))


def read_new(content: Content, *, schemas: Schemas | None = None) -> NewState:
    """Reads either form; an empty text is an empty state. Raises `UnreadableState`."""
    return NewState(*_read(content, schemas))


def _read(
    content: Content, schemas: Schemas | None
) -> tuple[dict[TerraformId, Recorded], int, str, frozenset[ProviderSource], tuple[str, ...]]:
    document = _document(content)
    try:
        if "format_version" in document:
            known_format(document)
            shown = _shown(document.get("values", {}).get("root_module", {}), schemas)
            found = _joined(shown)
            return found, 0, "", frozenset(each.source for each in found.values()), ()
        if not document:
            return {}, 0, "", frozenset(), ()
        serial, lineage = _header(document)
        resources = document.get("resources", [])
        objects = (each for resource in resources for each in _instances(resource, schemas))
        found = _joined(objects)
        return found, serial, lineage, frozenset(_sources(resources)), tuple(document.get("outputs") or ())
    except UnreadableState:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        # the text of the error may hold a piece of the state, so only its kind is told
        raise UnreadableState(f"the state lacks what a state has ({type(error).__name__})") from None


def known_format(document: Mapping[str, Any]) -> None:
    """Terraform says what it shows in a format whose first number changes with what a reader has to know
    (https://developer.hashicorp.com/terraform/internals/json-format#format-summary). Raises `OtherFormat`."""
    version = document["format_version"]
    if not isinstance(version, str) or version.partition(".")[0] not in _SHOWN_FORMATS:
        raise OtherFormat(
            f"what terraform shows is of format {str(version)[:20]}, and not of 1.x: this terraform is too new"
        )


def _header(document: Mapping[str, Any]) -> tuple[int, str]:
    """Returns serial and lineage. Asks for what terraform asks for, which would say that it can't lock the state."""
    match document:
        case {"version": int(version)} if version < _FORMAT:
            raise OtherFormat(
                f"the state is of format {version}, not {_FORMAT}: an old terraform wrote it",
                hint="`terraform state pull` in its folder prints it in the format of today: put that in its place",
            )
        case {"version": int(version)} if version > _FORMAT:
            raise OtherFormat(
                f"the state is of format {version}, not {_FORMAT}: a newer terraform wrote it",
                hint="it is left as it is: use the program that wrote it, or put the state back as it was",
            )
        case {"encrypted_data": _}:
            raise OtherFormat(
                "the state is encrypted, as OpenTofu does where it was told to",
                hint="it is left as it is: have tofu write it in clear again, or keep working with it by tofu alone",
            )
        case {"version": int()}:
            pass
        case _:
            raise UnreadableState("the state does not say of which format it is")
    match document.get("serial", 0), document.get("lineage", ""), document.get("terraform_version", "1.0.0"):
        case int(serial), str(lineage), str(by) if serial >= 0 and _VERSION.match(by):
            return serial, lineage
        case _:
            raise UnreadableState("its serial, its lineage or the version of terraform is none")


def _document(content: Content) -> Mapping[str, Any]:
    if isinstance(content, Mapping):
        return content
    if not content.strip():
        return {}
    try:
        document = load_json(content)
    except OverLimit as error:
        raise OtherFormat(f"the state {error.problem}", hint=_TOO_MUCH) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UnreadableState("the state is not JSON; it may have been cut off while it was written") from error
    except ValueError:
        raise OtherFormat("the state has a number of too many digits", hint=_TOO_MUCH) from None
    if not isinstance(document, Mapping) or not document:
        raise UnreadableState("the state is not a JSON object")
    return document


@dataclass(frozen=True, slots=True)
class _Object:
    """One object of a resource: the current one, or a deposed one with its key."""

    recorded: Recorded
    deposed_key: str = ""


def _joined(objects: Iterator[_Object]) -> dict[TerraformId, Recorded]:
    """Puts the deposed objects to the current ones of the same resource."""
    current: dict[TerraformId, Recorded] = {}
    deposed: dict[TerraformId, list[_Object]] = {}
    for each in objects:
        if each.deposed_key:
            deposed.setdefault(each.recorded.id, []).append(each)
        elif each.recorded.id in current:
            raise OtherFormat(f"the state has {each.recorded.address} twice")
        else:
            current[each.recorded.id] = each.recorded
    for id_, older in deposed.items():
        one = current.get(id_) or older[0].recorded
        current[id_] = Recorded(
            one.id,
            one.address,
            one.source,
            one.attributes,
            one.alias,
            one.hidden,
            one.is_tainted,
            tuple(sorted(each.deposed_key for each in older)),
            one.depends_on,
            exists=id_ in current,
        )
    return current


def _instances(resource: Mapping[str, Any], schemas: Schemas | None) -> Iterator[_Object]:
    """Yields the objects of one resource of the raw form."""
    if resource.get("mode") == "data":
        return
    if resource.get("mode") != "managed":
        raise OtherFormat(f"the state has a resource of mode {resource.get('mode')!r}")
    type_ = schemas.get(resource["type"]) if schemas else None
    for instance in resource.get("instances", []):
        source, alias = _source(instance.get(_PROVIDER_OF_INSTANCE) or resource["provider"])
        key = instance.get("index_key")
        module = f"{resource['module']}." if resource.get("module") else ""
        index = "" if key is None else f"[{json.dumps(key, ensure_ascii=False)}]"
        address = f"{module}{resource['type']}.{resource['name']}{index}"
        # of what an old terraform wrote and no provider has rewritten since, nested values are under names with dots
        written = instance.get("attributes") or instance.get("attributes_flat") or {}
        attributes = _unwrapped(values.plain(written), type_)
        marks = (_steps(each) for each in instance.get("sensitive_attributes") or ())
        yield _Object(
            Recorded(
                names.id_at(address, source),
                address,
                source,
                attributes,
                alias,
                _hidden(attributes, type_, marks),
                instance.get("status") == "tainted",
                depends_on=tuple(instance.get("dependencies") or ()),
            ),
            str(instance.get("deposed") or ""),
        )


def _sources(resources: Iterable[Mapping[str, Any]]) -> Iterator[ProviderSource]:
    for resource in resources:
        named = [each.get(_PROVIDER_OF_INSTANCE) or resource["provider"] for each in resource.get("instances", [])]
        yield from (_source(each)[0] for each in named or [resource["provider"]])


def _source(provider: str) -> tuple[ProviderSource, str]:
    try:
        return names.parse_source(provider[provider.index("provider[") :])  # "module.x." may come first
    except ValueError:
        raise OtherFormat(f"the state names a provider in a way that is not known: {provider[:100]!r}") from None


def _shown(module: Mapping[str, Any], schemas: Schemas | None) -> Iterator[_Object]:
    """Yields the objects of a module of `show -json`, and of the modules in it."""
    for resource in module.get("resources", []):
        if resource.get("mode") != "managed":
            continue
        source, _ = names.parse_source(resource["provider_name"])
        attributes = values.plain(resource.get("values") or {})
        type_ = schemas.get(resource["type"]) if schemas else None
        yield _Object(
            Recorded(
                names.id_at(resource["address"], source),
                resource["address"],
                source,
                attributes,
                hidden=_hidden(attributes, type_, values.marked(resource.get("sensitive_values"))),
                is_tainted=bool(resource.get("tainted")),
                depends_on=tuple(resource.get("depends_on") or ()),
            ),
            str(resource.get("deposed_key") or ""),
        )
    for child in module.get("child_modules", []):
        yield from _shown(child, schemas)


def _hidden(attributes: Mapping[str, Any], type_: Type | None, marks: Iterator[FieldPath]) -> tuple[FieldPath, ...]:
    named = values.secret_paths(attributes, frozenset())
    there = (path for path in marks if value_at(attributes, path) is not None)
    return values.shortest([*there, *named, *schema.sensitive(type_, attributes)])


def _steps(path: list[Mapping[str, Any]]) -> FieldPath:
    """Reads a path of `sensitive_attributes`. What it says of an element of a set holds for the whole set."""
    steps: list[str | int] = []
    for step in path:
        match step:
            case {"type": "get_attr", "value": str(name)}:
                steps.append(name)
            case {"type": "index", "value": {"value": str() | int() as key}}:
                steps.append(key)
            case _:
                break
    return tuple(steps)


def _unwrapped(value: Any, type_: Type | None) -> Any:
    """Takes values of attributes of any type out of their `{"value": ..., "type": ...}` wrapping.

    With a schema it is known which those are. Without, they are what has exactly these two keys at the top, with a
    type that is one.
    """
    if not isinstance(value, Mapping):
        return value
    if type_ is None:
        return {key: each["value"] if _is_wrapped(each) else each for key, each in value.items()}
    return {key: _unwrapped_as(each, type_.at(key)) for key, each in value.items()}


def _unwrapped_as(value: Any, type_: Type | None) -> Any:
    match value:
        case Mapping() if type_ is not None and type_.form is Form.ANY:
            return value["value"] if _is_wrapped(value) else value
        case Mapping() if type_ is not None:
            return {key: _unwrapped_as(each, type_.at(key)) for key, each in value.items()}
        case list() if type_ is not None:
            return [_unwrapped_as(each, type_.element) for each in value]
        case _:
            return value


def _is_wrapped(value: Any) -> bool:
    if not isinstance(value, Mapping) or set(value) != {"value", "type"}:
        return False
    try:
        schema.read_type(value["type"])
    except ValueError:
        return False
    return True
