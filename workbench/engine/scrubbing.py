"""Takes secrets out of what others say: events, messages and logs that come from clusters, Terraform and programs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from kcl.records import fields, is_dataclass, replace
from kcl.secrecy.rules import BUILT_IN, MASK, SecretRules
from runtimes.base import Address, KubernetesId, ObjectRef, RuntimeFailure, TerraformId
from runtimes.base.secret_texts import secret_texts

Said = TypeVar("Said")
_IDENTITIES = (Address, KubernetesId, ObjectRef, TerraformId)
"""These name things; names are no secrets, and have to stay what they are."""


def scrubbed(said: Said, secrets: frozenset[str], rules: SecretRules = BUILT_IN) -> Said:
    """Returns a value with secrets masked in all texts of it, the same value where it holds none.

    Secrets are those that are known, and what is one by its look.
    """
    changed: Said = _scrubbed(said, partial(masked_text, secrets=secrets, rules=rules))
    return changed


def masked_text(text: str, secrets: frozenset[str], rules: SecretRules = BUILT_IN) -> str:
    known = secret_texts(secrets).masked(text) if secrets else text
    return rules.masked(known, MASK)


def masked_failure(
    failure: RuntimeFailure | None, secrets: frozenset[str], rules: SecretRules = BUILT_IN
) -> RuntimeFailure | None:
    """Returns a failure of the same kind: a server may quote what it was sent, or what it holds."""
    if failure is None:
        return None
    said = {"message": failure.message, "hint": failure.hint}
    masked = {name: masked_text(text, secrets, rules) for name, text in said.items()}
    if masked == said:
        return failure
    found = copy.copy(failure)
    found.message, found.hint, found.args = masked["message"], masked["hint"], (masked["message"],)
    return found


def _scrubbed(value: Any, masked: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return masked(value) if type(value) is str else value
    if isinstance(value, _IDENTITIES):
        return value
    if isinstance(value, tuple | list):
        changed = [_scrubbed(each, masked) for each in value]
        return value if all(map(_is, changed, value)) else type(value)(changed)
    if isinstance(value, Mapping):
        found = {key: _scrubbed(each, masked) for key, each in value.items()}
        return value if all(found[key] is each for key, each in value.items()) else found
    if is_dataclass(value) and not isinstance(value, type):
        every = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        changed_fields = {name: new for name, old in every.items() if (new := _scrubbed(old, masked)) is not old}
        return replace(value, **changed_fields) if changed_fields else value
    return value


def _is(one: Any, other: Any) -> bool:
    return one is other
