"""How the providers of resources were configured when they were last applied: what deleting them takes.

A resource that is no longer in the stack is deleted by the provider that made it, in its region, by its account. The
caller may know (a release); where it does not, this does, but for secrets, which are never written down.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from kcl.secrecy.rules import is_secret_name
from runtimes.base import InvalidResourceId, Resource, RuntimeType, parse_id
from runtimes.terraform.folder import Folder, read_json

_KEPT = ("provider", "providerMeta", "resourceType")


def _path(folder: Folder) -> Path:
    return folder.path / "former.json"


def load(folder: Folder) -> tuple[Resource, ...]:
    """Returns resources without attributes, with what is known of their providers."""
    kept = read_json(_path(folder))
    return tuple(_resources(kept)) if isinstance(kept, Mapping) else ()


def save(folder: Folder, resources: Iterable[Resource], recorded: Collection[str], secrets: frozenset[str]) -> None:
    """Remembers these resources, and forgets those that are not recorded any more. `recorded` are ids as texts."""
    before = {str(each.id): dict(each.extensions) for each in load(folder)}
    now = {str(each.id): _without_secrets(_kept(each.extensions), secrets) for each in resources}
    every = {id_: extensions for id_, extensions in {**before, **now}.items() if id_ in recorded}
    folder.write(_path(folder), json.dumps(every, indent=2, sort_keys=True) + "\n")


def _resources(kept: Mapping[str, Any]) -> Iterable[Resource]:
    for text, extensions in kept.items():
        try:
            yield Resource(parse_id(text, RuntimeType.TERRAFORM), RuntimeType.TERRAFORM, {}, extensions=extensions)
        except InvalidResourceId:
            continue


def _kept(extensions: Mapping[str, Any]) -> dict[str, Any]:
    return {name: extensions[name] for name in _KEPT if name in extensions}


def _without_secrets(value: Any, secrets: frozenset[str]) -> Any:
    match value:
        case Mapping():
            below = {str(name): _without_secrets(each, secrets) for name, each in value.items()}
            return {name: each for name, each in below.items() if each is not None and not is_secret_name(name)}
        case list() | tuple():
            return [each for each in (_without_secrets(each, secrets) for each in value) if each is not None]
        case str() if any(secret in value for secret in secrets if secret):
            return None
        case str() | bool() | int() | float():
            return value
        case _:
            return None
