"""The kinds of the practice provider as a provider of the PyPI package `tf`.

`tf` calls by name, so nothing is inherited from it. What its version 1.2.0 needs help with is said where it is done.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from tf import schema, types
from tf.types import Unknown

from runtimes.sandbox.provider import SOURCE, faults
from runtimes.sandbox.provider.cloud import CLOUD_VARIABLE, Cloud, CloudBroken, Content
from runtimes.sandbox.provider.faults import Fault
from runtimes.sandbox.provider.kinds import KINDS, Field, Kind, Refused, number

State = dict[str, Any]
T = TypeVar("T")


class WholeNumber(types.Number):  # type: ignore[misc]  # tf has no types
    """Numbers that are not small integers arrive as text; whole ones are ints here, others stay what they are."""

    def decode(self, value: Any) -> Any:
        if value is None or value is Unknown:
            return value
        found = number(value)
        return int(found) if found is not None and found == int(found) else value


_FORMS: Final[Mapping[str, Any]] = {
    "string": types.String(),
    "number": WholeNumber(),
    "bool": types.Bool(),
    "list": types.List(types.String()),
    "map": types.Map(types.String()),
}


class Provider:
    """What terraform starts. The cloud it works on is known once it is configured."""

    def __init__(self) -> None:
        self._cloud: Cloud | None = None
        self._resources = [_resource(kind) for kind in KINDS.values()]

    def full_name(self) -> str:
        return SOURCE

    def get_model_prefix(self) -> str:
        return "sandbox_"

    def get_provider_schema(self, diags: Any) -> Any:
        described = f"The JSON file that is the cloud; {CLOUD_VARIABLE} names it where this is not set."
        return schema.Schema(
            version=0, attributes=[schema.Attribute("world", types.String(), described, optional=True)]
        )

    def validate_config(self, diags: Any, config: State) -> None:
        if not _is_known(config.get("world")) or config.get("world") or os.environ.get(CLOUD_VARIABLE):
            return
        diags.add_error("No world", f"Set `world` of the provider, or {CLOUD_VARIABLE}, to a JSON file.", ["world"])

    def configure_provider(self, diags: Any, config: State) -> None:
        given = config.get("world") or os.environ.get(CLOUD_VARIABLE)
        if not _is_known(given):
            return None  # what the file is will be known when it is needed
        if not given:
            return self.validate_config(diags, config)
        self._cloud = Cloud(Path(given).expanduser().absolute())
        try:
            self._cloud.content()
        except CloudBroken as error:
            diags.add_error("The world can't be used", str(error), ["world"])
        return None

    def get_data_sources(self) -> Sequence[type]:
        return []

    def get_resources(self) -> Sequence[type]:
        return self._resources

    def get_functions(self) -> Sequence[type]:
        return []

    def new_resource(self, class_: type[Resource]) -> Resource:
        return class_(self)

    @property
    def cloud(self) -> Cloud:
        """Raises `CloudBroken` where none is known."""
        if self._cloud is None:
            raise CloudBroken(f"the provider's `world` is not known, and {CLOUD_VARIABLE} is not set")
        return self._cloud


class Resource:
    """One kind. `tf` wants a class for each, made by `_resource`."""

    kind: ClassVar[Kind]
    attributes: ClassVar[Any]

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @classmethod
    def get_name(cls) -> str:
        return cls.kind.type.removeprefix("sandbox_")

    @classmethod
    def get_schema(cls) -> Any:
        return cls.attributes

    def validate(self, diags: Any, type_name: str, config: State) -> None:
        for problem in self.kind.problems(config):
            diags.add_error(problem.summary, problem.detail, _steps(problem.path))

    def upgrade(self, ctx: Any, version: int, old: State) -> State:
        return old

    def plan(self, ctx: Any, current: State, planned: State) -> State:
        """Computed attributes keep their values, but for those that the update recreates."""
        return planned | dict.fromkeys(self.kind.changing(current, planned), Unknown)

    def create(self, ctx: Any, planned: State) -> State | None:
        def change(content: Content) -> State:
            id_ = self.kind.create(planned, content)
            content.note("create", self.kind.type, id_)
            return self.kind.state(id_, content.of(self.kind.type)[id_], planned)

        return _told(ctx, lambda: self._changed("create", str(planned.get("name")), change), None)

    def read(self, ctx: Any, current: State) -> State | None:
        id_ = str(current["id"])

        def found() -> State | None:
            self._waited("read", id_)
            kept = self._provider.cloud.objects(self.kind.type).get(id_)
            return None if kept is None else self.kind.state(id_, kept, current)

        return _told(ctx, found, current)

    def update(self, ctx: Any, current: State, planned: State) -> State | None:
        id_ = str(current["id"])

        def change(content: Content) -> State:
            self.kind.update(id_, planned, content)
            content.note("update", self.kind.type, id_)
            return self.kind.state(id_, content.of(self.kind.type)[id_], planned)

        return _told(ctx, lambda: self._changed("update", id_, change), current)

    def delete(self, ctx: Any, current: State) -> State | None:
        """Returns what is still there where it fails: without it terraform would forget the object."""
        id_ = str(current["id"])

        def change(content: Content) -> None:
            if self.kind.delete(id_, content):
                content.note("delete", self.kind.type, id_)

        return _told(ctx, lambda: self._changed("delete", id_, change), current)

    def import_(self, ctx: Any, id: str) -> State | None:
        """Returns the id alone: terraform reads the rest, and says so where there is nothing."""

        def named() -> State:
            self._waited("import", id)
            found = self.kind.find(id, self._provider.cloud.content())
            return {each.name: None for each in self.kind.fields} | {"id": found or id}

        return _told(ctx, named, None)

    def _changed(self, operation: str, id_: str, change: Callable[[Content], T]) -> T:
        """Makes a change with what its faults add; raises `Refused`, `CloudBroken`, or ends the process."""
        fault = self._strike(operation, id_)
        time.sleep(fault.latency_seconds / 2)
        _raise(fault)
        if fault.crash == "before":
            _crash()
        with self._provider.cloud.change() as content:
            changed = change(content)
        if fault.crash == "after":
            _crash()
        time.sleep(fault.latency_seconds / 2)
        return changed

    def _waited(self, operation: str, id_: str) -> None:
        """Has the faults of an operation that changes nothing; raises `Refused`, `CloudBroken`, or ends the process."""
        fault = self._strike(operation, id_)
        time.sleep(fault.latency_seconds)
        _raise(fault)
        if fault.crash:
            _crash()

    def _strike(self, operation: str, id_: str) -> Fault:
        cloud = self._provider.cloud
        if not cloud.content().faults:
            return Fault()
        with cloud.change() as content:
            return faults.strike(content, operation, self.kind.type, id_)


def _told(ctx: Any, act: Callable[[], State | None], otherwise: State | None) -> State | None:
    """Returns what `act` does, or `otherwise` and a diagnostic of what went wrong."""
    try:
        return act()
    except Refused as error:
        ctx.diagnostics.add_error(error.summary, error.detail, _steps(error.path))
    except CloudBroken as error:
        ctx.diagnostics.add_error("The world can't be used", str(error))
    return otherwise


def _resource(kind: Kind) -> type[Resource]:
    attributes = schema.Schema(version=0, attributes=[_attribute(each) for each in kind.fields])
    return type(f"Resource_{kind.type}", (Resource,), {"kind": kind, "attributes": attributes})


def _attribute(field: Field) -> Any:
    return schema.Attribute(
        field.name,
        _FORMS[field.form],
        field.description,
        required=field.required,
        optional=field.is_optional,
        computed=field.computed,
        sensitive=field.is_sensitive,
        requires_replace=field.replaces,
        default=Unknown if field.default is None else field.default,
    )


def _is_known(value: Any) -> bool:
    return value is not Unknown


def _steps(path: Sequence[str | int]) -> list[Any] | None:
    """Returns a path as `tf` has it: an attribute is a text, an item of a list a tuple."""
    return [each if isinstance(each, str) else (each,) for each in path] or None


def _raise(fault: Fault) -> None:
    if fault.error:
        raise Refused(fault.error, "The world's file has this fault.", (fault.attribute,) if fault.attribute else ())


def _crash() -> None:
    """Ends the process as a fault of its memory would: at once, with nothing said."""
    os.kill(os.getpid(), signal.SIGKILL)
