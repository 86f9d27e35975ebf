"""Secrets of objects that are taken in: none of them is written to a file.

Where a secret may be referred to (the data of a Secret, a variable whose name says so), a reference to the environment
stands in its place: `ref://env/NAME`. Anywhere else, and for what is no text, it is an option of the program.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from kcl.records import replace
from kcl.secrecy.rules import SecretRules
from runtimes.base import KubernetesId, Resource, RuntimeType, escaped_references
from workbench.engine.fields import find, plain_steps
from workbench.engine.intake.values import Found, Kept, Secret, Skipped
from workbench.engine.masking import Seal, resource_paths, secret_values
from workbench.engine.placement import is_core_secret
from workbench.engine.scrubbing import masked_text
from workbench.project import StackPath

_MARK: Final = "\0option:{}:{}\0"
"""What stands for an option in a body until it is written: no text of an API server has such a character."""
PREFIX: Final = "WB_SECRET_"
_MARKED: Final = re.compile(r"\0option:(\w+):(str|int|float)\0")
_WRITTEN: Final = re.compile(r'"\\u0000option:(\w+):(str|int|float)\\u0000"')
_TYPES: Final[Mapping[str, Callable[[str], Any]]] = {"str": str, "int": int, "float": float}
_LONGEST: Final = 120
Path = tuple[str | int, ...]


def concealed(
    found: Iterable[Found], rules: SecretRules, stack: StackPath
) -> tuple[list[Found], list[Secret], list[Skipped]]:
    """Returns the objects without their secrets, and the secrets. Objects with a secret as a name of a field are not
    taken in."""
    every = list(found)
    secrets = secret_values([_resource(each) for each in every], rules)
    concealing = _Concealing(rules, secrets, stack)
    taken, skipped = [], []
    for each in every:
        if any(masked_text(key, secrets, rules) != key for key in _keys(each.body)):
            skipped.append(Skipped(f"{each.id.kind}/{each.id.name}", "the name of one of its fields holds a secret"))
        else:
            taken.append(concealing.object(each))
    return taken, concealing.found, skipped


def with_options(body: Any, options: Mapping[str, str]) -> Any:
    """Returns a body with the values that options stand for: what the program evaluates to with them."""
    if isinstance(body, Mapping):
        return {key: with_options(each, options) for key, each in body.items()}
    if isinstance(body, list):
        return [with_options(each, options) for each in body]
    marked = _MARKED.fullmatch(body) if isinstance(body, str) else None
    return body if marked is None else _TYPES[marked[2]](options[marked[1]])


def as_expressions(text: str) -> str:
    """Returns KCL in which literals that stand for options are these options."""
    return _WRITTEN.sub(lambda found: f'option("{found[1]}", type="{found[2]}", required=True)', text)


class _Concealing:
    def __init__(self, rules: SecretRules, secrets: frozenset[str], stack: StackPath) -> None:
        self._seal, self._rules, self._stack = Seal.random().knowing(secrets, rules), rules, stack
        self._names: set[str] = set()
        self._body: Any = None
        self.found: list[Secret] = []

    def object(self, found: Found) -> Found:
        body: dict[str, Any] = deepcopy(dict(found.body))
        if is_core_secret(found.id):
            self._data(found.id, body)
        self._body = body
        paths = [plain_steps(body, each) for each in resource_paths(_resource(found), self._rules)]
        sensitive = {each for each in paths if each[:1] not in (("data",), ("stringData",)) or not _is_secret(found)}
        return replace(found, body=self._walked(found.id, body, (), sensitive))

    def _data(self, id_: KubernetesId, body: dict[str, Any]) -> None:
        """The data of a Secret: texts become `stringData`, which people can read and refer to."""
        texts = {name: str(text) for name, text in (body.pop("stringData", None) or {}).items()}
        data: dict[str, Any] = {}
        for name, encoded in (body.pop("data", None) or {}).items():
            text = decoded(encoded)
            if text:
                texts.setdefault(name, text)
            elif name not in texts:
                data[name] = self._option(id_, ("data", name), str(encoded)) if encoded else ""
        if data:
            body["data"] = data
        said = {name: self._reference(id_, name, text) if text else "" for name, text in sorted(texts.items())}
        if said:
            body["stringData"] = said

    def _reference(self, id_: KubernetesId, name: str, text: str) -> str:
        return self._kept(id_, ("stringData", name), Kept.ENVIRONMENT, f"{id_.name}_{name}", text)

    def _option(self, id_: KubernetesId, path: Path, value: str | int | float) -> str:
        return self._kept(id_, path, Kept.OPTION, f"{id_.kind}_{id_.name}_{path[-1]}", value)

    def _kept(self, id_: KubernetesId, path: Path, kept: Kept, name: str, value: str | int | float) -> str:
        unique = self._unique(f"{self._stack.project}_{self._stack.stack}_{name}")
        if kept is Kept.ENVIRONMENT:
            self.found.append(Secret(id_, path, kept, PREFIX + unique, str(value)))
            return f"ref://env/{unique}"
        self.found.append(Secret(id_, path, kept, unique.lower(), str(value)))
        return _MARK.format(unique.lower(), type(value).__name__)

    def _told(self, path: Path) -> str:
        """Returns what a person calls a field: an element of a list by its name."""
        around = find(self._body, path[:-1])
        name = around.get("name") if isinstance(around, Mapping) and path[-1] == "value" else None
        return str(name or path[-1])

    def _unique(self, wanted: str) -> str:
        name = re.sub(r"[^A-Za-z0-9]+", "_", wanted).strip("_").upper()[:_LONGEST]
        unique, number = name, 1
        while unique in self._names:
            number += 1
            unique = f"{name}_{number}"
        self._names.add(unique)
        return unique

    def _walked(self, id_: KubernetesId, value: Any, path: Path, sensitive: set[Path]) -> Any:
        if isinstance(value, dict):
            if is_core_secret(id_) and path in (("data",), ("stringData",)):
                return value
            return {key: self._walked(id_, each, (*path, key), sensitive) for key, each in value.items()}
        if isinstance(value, list):
            return [self._walked(id_, each, (*path, index), sensitive) for index, each in enumerate(value)]
        if isinstance(value, bool | None) or value == "":
            return value
        if isinstance(value, str) and path in sensitive and "\0" not in value:
            return self._kept(id_, path, Kept.ENVIRONMENT, f"{id_.kind}_{id_.name}_{self._told(path)}", value)
        if self._seal.hides(value):
            return self._option(id_, path, value)
        return escaped_references(value) if isinstance(value, str) else value


def _is_secret(found: Found) -> bool:
    return is_core_secret(found.id)


def _resource(found: Found) -> Resource:
    return Resource(found.id, RuntimeType.KUBERNETES, found.body)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key)
            yield from _keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from _keys(each)


def decoded(encoded: Any) -> str:
    """Returns the text of a value of a Secret; empty where it is none that an environment can hold."""
    try:
        text = base64.b64decode(str(encoded), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
    return "" if "\0" in text else text
