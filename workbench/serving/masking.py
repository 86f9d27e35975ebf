"""Answers of the official service without secrets.

They are texts of KCL, YAML and JSON with no word of what is secret in them. So it is looked for as everywhere else: by
names, in the objects of clusters by their kind and the rules of the repository, and by look; and what was found at one
place is taken out wherever its text is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from kcl.secrecy.rules import MASK, SecretRules
from runtimes.base import KubernetesId
from runtimes.base.documents import DocumentError, load_all_yaml
from runtimes.base.secret_texts import texts
from workbench.engine.compile import written_secrets
from workbench.engine.masking import is_opaque, secret_looks, sensitive_paths, sensitive_texts
from workbench.engine.scrubbing import scrubbed
from workbench.serving.errors import FAILED, CallFailed

_TELLING: Final = 4
"""A shorter text is in every other line."""
_OF_DOCUMENTS: Final = ("json_result", "yaml_result")
"""Fields of messages that hold what a program evaluates to."""


def masked(answer: Any, rules: SecretRules) -> Any:
    every_one = (*_secrets(answer, "", False, rules), *_of_options(answer, rules))
    found = {each for each in every_one if len(each) >= _TELLING}
    every = sorted(found, key=len, reverse=True)
    return scrubbed(_without(answer, every), frozenset(found), rules)


def _of_options(answer: Any, rules: SecretRules) -> Iterator[str]:
    """Values of options that may be secret: where they end up, which would tell, is not known here."""
    options = answer.get("kcl_options") if isinstance(answer, dict) else None
    for each in options or ():
        for text in texts(json.loads(each["value"])):
            if rules.suggests(each["key"]) or is_opaque(text):
                yield text


def _without(value: Any, secrets: list[str]) -> Any:
    """As it stands: what is secret by its place is taken out even where its text tells nothing."""
    match value:
        case dict():
            return {_without(key, secrets): _without(each, secrets) for key, each in value.items()}
        case list():
            return [_without(each, secrets) for each in value]
        case str():
            for each in secrets:
                value = value.replace(each, MASK)
            return value
        case _:
            return value


def _secrets(value: Any, name: str, is_within: bool, rules: SecretRules, *, is_inner: bool = False) -> Iterator[str]:
    """`is_inner`: it is a part of a variable, which was looked at as a whole."""
    match value:
        case dict():
            yield from _of_object(value, rules)
            if "dict_entries" in value and not is_inner:
                yield from _secrets(_written(value), name, is_within, rules)
            own = str(value.get("key") or value.get("name") or "")
            for key, each in value.items():
                named = own if own and key in ("value", "default_value", "default") else str(key)
                hides = rules.names_secret(named) or (isinstance(each, dict | list) and rules.names_block(named))
                inner = named if named != own else key
                is_hidden = (is_within or hides) and not isinstance(each, bool)
                is_part = is_inner or "dict_entries" in value
                yield from _secrets(each, inner, is_hidden, rules, is_inner=is_part)
        case list():
            for each in value:
                yield from _secrets(each, name, is_within, rules, is_inner=is_inner)
        case str():
            yield from _of_text(value, name, is_within, rules)
        case int() | float() if is_within and not isinstance(value, bool):
            yield str(value)


def _of_object(value: Mapping[str, Any], rules: SecretRules) -> Iterator[str]:
    """What is secret in an object of a cluster; nothing in any other."""
    version, kind, about = (value.get(each) for each in ("apiVersion", "kind", "metadata"))
    if isinstance(version, str) and isinstance(kind, str) and isinstance(about, dict):
        id_ = KubernetesId(version, kind, str(about.get("namespace", "")), str(about.get("name", "")))
        yield from sensitive_texts(value, sensitive_paths(id_, value, rules))
        yield from secret_looks(value, rules)


def _of_text(text: str, name: str, is_within: bool, rules: SecretRules) -> Iterator[str]:
    if is_within:
        yield text.strip("\"'")
        with suppress(ValueError, RecursionError):  # a text that is written in KCL or JSON
            unquoted = json.loads(text)
            yield from ([unquoted] if isinstance(unquoted, str) else [])
        return
    yield from written_secrets(text, rules)
    if name in _OF_DOCUMENTS and text:
        for each in _documents(text):
            yield from _secrets(each, "", False, rules)


def _documents(text: str) -> list[Any]:
    """The documents of YAML, or of JSON one after the other; raises `CallFailed` where it is neither."""
    try:
        return list(load_all_yaml(text))
    except DocumentError:
        pass
    found, at, decoder = [], 0, json.JSONDecoder()
    try:
        while at < len(text):
            if text[at].isspace():
                at += 1
            else:
                document, at = decoder.raw_decode(text, at)
                found.append(document)
    except (ValueError, RecursionError):
        # what cannot be read cannot be looked through either
        raise CallFailed(
            FAILED, "the answer cannot be searched for secrets", kind="Unmasked", hint="start with --show-secrets"
        ) from None
    return found


def _written(variable: Mapping[str, Any]) -> Any:
    """What a variable of `ListVariables` is written as, as plain data."""
    if variable.get("dict_entries"):
        return {str(each["key"]): _written(each["value"]) for each in variable["dict_entries"]}
    if variable.get("list_items"):
        return [_written(each) for each in variable["list_items"]]
    text = str(variable.get("value", ""))
    return text[1:-1] if text[:1] in ("'", '"') and text[-1:] == text[:1] else text
