"""Secrets as the engine carries them: never in clear, yet equal values still look equal.

A `Seal` turns a value into a keyed digest. One with a random key lives as long as a session and feeds what is shown;
one with a key kept in a file feeds release records, so that the next session can tell whether a secret changed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from kcl.records import dataclass
from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base import (
    UNKNOWN,
    Body,
    FieldPath,
    InvalidSecretReference,
    KubernetesId,
    ListKey,
    PartlyUnknown,
    PathStep,
    Resource,
    ResourceId,
    TerraformId,
    Unknown,
    refers,
    secret_parts,
    sensitive,
    starts_with,
    value_at,
)
from runtimes.base.contents import MAPPINGS
from runtimes.base.secret_references import SCHEME
from runtimes.base.secret_texts import secret_texts, telling, texts
from workbench.engine.by_content import ByContent

_DIGEST_CHARACTERS = 16
_SHOWN_CHARACTERS = 4
_SHORTEST_OPAQUE = 6
_NAME_CHARACTERS = 8
"""So many that two names in one mapping stay two."""
_SHORTEST_NAME = 8
_LONGEST_REMEMBERED = 1024
_MOST_REMEMBERED = 1 << 14
_MAY_BE_SECRET = re.compile(r"(?=.*[0-9]).*[A-Za-z]", re.S)
"""Names of entries that may be secret. Others are what fields are called: a repository must not hide which one it sets
by making a Secret of its name."""
_CONTAINERS = frozenset({dict, list})
_SCALARS = frozenset({str, int, float, bool, type(None)})
_MARK = "sealed:"
_SEALED = re.compile(rf"{_MARK}(?P<digest>[0-9a-f]{{{_DIGEST_CHARACTERS}}})")
_SEALED_NAME = re.compile(rf"«masked#(?P<digest>[0-9a-f]{{{_NAME_CHARACTERS}}})»")
_SCHEME_ENCODED = "cmVmOi8v"
"""`ref://` in base64, three of whose bytes are four characters."""
_REFERENCE = "$kusion_path."
"""What a text refers to is a secret of its own, if it is one; the text that does is written in the source."""
_STEP = re.compile(r'\["(?P<quoted>[^"]+)"\]|\[(?P<index>\d+)\]|(?P<name>[^.\[\]]+)')
LAST_APPLIED = sensitive.LAST_APPLIED


@dataclass(frozen=True, slots=True)
class Masked:
    """Stands for a value that is never shown. Two are equal exactly if the values were."""

    digest: str

    def __str__(self) -> str:
        return self.shortened_to(_SHOWN_CHARACTERS)

    def distinguished_from(self, other: Masked) -> str:
        """Returns the mask with as many characters as tell it from the other, where their values differ."""
        lengths = range(_SHOWN_CHARACTERS, len(self.digest))
        shortest = next((each for each in lengths if self.digest[:each] != other.digest[:each]), len(self.digest))
        return self.shortened_to(shortest)

    def shortened_to(self, characters: int) -> str:
        return f"«masked#{self.digest[:characters]}»"


def _hides(text: str, secrets: frozenset[str], rules: SecretRules) -> bool:
    return rules.is_secret_text(text) or (bool(secrets) and secret_texts(secrets).hides(text))


@lru_cache(maxsize=16)
def _looked_at(secrets: frozenset[str], rules: SecretRules) -> dict[str, bool]:
    """Returns which short texts hide something, as far as they were looked at; it is filled by who looks.

    Nearly all are the same in the next compilation, and names in the next resource.
    """
    return {}


class Seal:
    """Digests values with a key of at least 16 bytes; its repr shows neither.

    It hides what is secret by its look, and may know texts that are secret wherever they turn up (`secret_values`): it
    hides what these are in.
    """

    __slots__ = ("_key", "_looked", "_rules", "_secrets")

    def __init__(self, key: bytes, secrets: frozenset[str] = frozenset(), rules: SecretRules = BUILT_IN) -> None:
        if len(key) < 16:
            raise ValueError("a seal needs a key of at least 16 bytes")
        self._key, self._secrets, self._rules = key, secrets, rules
        self._looked = _looked_at(secrets, rules)

    def knowing(self, secrets: frozenset[str], rules: SecretRules = BUILT_IN) -> Seal:
        """Returns a seal with the same key, so the same digests, that hides these texts too."""
        if not secrets and rules == BUILT_IN:
            return self
        return Seal(self._key, self._secrets | secrets, self._rules if rules == BUILT_IN else rules)

    @property
    def knows_secrets(self) -> bool:
        """Whether it hides texts beside those that are secret by their look."""
        return bool(self._secrets)

    @property
    def rules(self) -> SecretRules:
        return self._rules

    @property
    def looked_at(self) -> Mapping[str, bool]:
        """Whether it hides a text, of those that were looked at before."""
        return self._looked

    def hides(self, value: Any) -> bool:
        if isinstance(value, str):
            found = self._looked.get(value)
            return self._look(value) if found is None else found
        return bool(self._secrets) and secret_texts(self._secrets).hides(value)

    def _look(self, text: str) -> bool:
        found = _hides(text, self._secrets, self._rules)
        if len(text) <= _LONGEST_REMEMBERED:
            if len(self._looked) >= _MOST_REMEMBERED:
                self._looked.clear()
            self._looked[text] = found
        return found

    @classmethod
    def random(cls) -> Seal:
        return cls(secrets.token_bytes(32))

    def digest(self, value: Any) -> str:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[
            :_DIGEST_CHARACTERS
        ]

    def mask(self, value: Any) -> Masked:
        return Masked(self.digest(value))

    def key(self, key: Any) -> Any:
        """Returns the name of a mapping's entry as it may be shown: masked where a secret is in it."""
        if not isinstance(key, str) or len(key) < _SHORTEST_NAME or key.isalpha() or not _MAY_BE_SECRET.match(key):
            return key
        return self.mask(key).shortened_to(_NAME_CHARACTERS) if self.hides(key) else key

    def path(self, path: FieldPath) -> FieldPath:
        """Returns a path as it may be shown, the very same where nothing in it is secret."""
        shown = tuple(self._step(each) for each in path)
        return path if shown == path else shown

    def _step(self, step: str | int | ListKey) -> str | int | ListKey:
        if not isinstance(step, ListKey):
            shown: str | int = self.key(step)
            return shown
        return ListKey(tuple((name, self.key(value)) for name, value in step.fields))

    def __repr__(self) -> str:
        return "Seal()"


def secret_values(resources: Iterable[Resource], rules: SecretRules = BUILT_IN) -> frozenset[str]:
    """Returns the texts that are secret by place or look in some resource, and so wherever they are repeated.

    Names of the resources are public, whatever else has them as its value.
    """
    every = tuple(resources)
    found = [text for each in every for text in secrets_of(each, rules)]
    return secret_texts_in(found, every) if found else frozenset()


def secret_texts_in(found: Iterable[str], resources: Iterable[Resource]) -> frozenset[str]:
    """Returns those of the texts that are looked for everywhere in a stack of these resources."""
    return telling(found, public_names(resources))


def public_names(resources: Iterable[Resource]) -> frozenset[str]:
    return frozenset(name for each in resources for name in _names(each.id))


@lru_cache(maxsize=1 << 12)
def _names(id_: ResourceId) -> tuple[str, ...]:
    match id_:
        case KubernetesId(api_version=version, kind=kind, namespace=namespace, name=name):
            return version, kind, namespace, name, str(id_)
        case TerraformId():
            return id_.provider_namespace, id_.provider, id_.resource_type, id_.name, str(id_)


def secrets_of(resource: Resource, rules: SecretRules = BUILT_IN) -> tuple[str, ...]:
    """Returns what is secret in a resource by its place or its look, also what is secret nowhere else."""
    id_ = resource.id
    kind = (id_.api_version, id_.kind) if isinstance(id_, KubernetesId) else (id_.resource_type,)
    content = (kind, resource.attributes, dict(resource.extensions))
    return _secrets.get(content, rules, lambda: tuple(_secrets_of(resource, rules)))


_secrets: Final[ByContent[tuple[str, ...]]] = ByContent()


def _secrets_of(resource: Resource, rules: SecretRules) -> Iterator[str]:
    for body, paths in (
        (resource.attributes, resource_paths(resource, rules)),
        (resource.extensions, tuple(secret_names(resource.extensions, rules))),
    ):
        yield from (text for text in sensitive_texts(body, paths) if _REFERENCE not in text and not _is_elsewhere(text))
        yield from secret_looks(body, rules)


def _is_elsewhere(text: str) -> bool:
    """Whether a text only says where a secret is, in clear or in base64."""
    return text.startswith((SCHEME, _SCHEME_ENCODED))


def secret_looks(body: Body | None, rules: SecretRules = BUILT_IN) -> Iterator[str]:
    """Yields what is secret in the texts of a body by its look: passwords in URLs, keys, tokens."""
    if body:
        yield from rules.found(texts(body), repr(body))


def may_look_secret(body: Body, rules: SecretRules = BUILT_IN) -> bool:
    """Whether a text or a name in a body may be secret by its look; False where none has to be looked at closer."""
    return rules.may_find(repr(body))


def sensitive_texts(body: Body | None, paths: Iterable[FieldPath]) -> Iterator[str]:
    """Yields the texts at and below sensitive paths of a body."""
    for path in paths if body is not None else ():
        yield from texts(value_at(body, path, None))


def secrets_at(body: Body | None, paths: Iterable[FieldPath]) -> Iterator[str]:
    """As `sensitive_texts`, without the input of kubectl: that is all of an object, and no secret as a whole."""
    yield from sensitive_texts(body, (each for each in paths if each[-1:] != (LAST_APPLIED,)))
    yield from secret_looks(body)


def sensitive_paths(id_: ResourceId, body: Body, rules: SecretRules = BUILT_IN) -> tuple[FieldPath, ...]:
    """Returns what is secret by the resource's content alone, before any runtime was asked."""
    if not isinstance(id_, KubernetesId):
        kind = id_.resource_type if isinstance(id_, TerraformId) else ""
        return (*secret_names(body, rules), *(path for each in rules.paths for path in each.paths(kind, body)))
    named = {"apiVersion": id_.api_version, "kind": id_.kind}
    return (*sensitive.sensitive_paths({**body, **named}, rules), ("metadata", "annotations", LAST_APPLIED))


def paths_of_kind(id_: ResourceId) -> tuple[FieldPath, ...]:
    """Returns what is secret in every resource of a kind, whatever it says: as `sensitive_paths` of an empty one."""
    return _paths_of_kind(id_.api_version, id_.kind) if isinstance(id_, KubernetesId) else ()


@lru_cache(maxsize=1 << 8)
def _paths_of_kind(api_version: str, kind: str) -> tuple[FieldPath, ...]:
    return sensitive_paths(KubernetesId(api_version, kind, "", ""), {})


def resource_paths(resource: Resource, rules: SecretRules = BUILT_IN) -> tuple[FieldPath, ...]:
    """As `sensitive_paths`, with what the resource itself names in `extensions.sensitive`."""
    named = resource.extensions.get("sensitive") or ()
    own = (_steps(each) for each in named if isinstance(each, str)) if isinstance(named, list | tuple) else ()
    return (*sensitive_paths(resource.id, resource.attributes, rules), *own)


def _steps(path: str) -> FieldPath:
    """Reads `users[0].key` and `tags["a.b"]`."""
    return tuple(
        int(each["index"]) if each["index"] is not None else each["quoted"] or each["name"]
        for each in _STEP.finditer(path)
    )


def secret_names(value: Any, rules: SecretRules = BUILT_IN, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yields attributes whose names say that they are secret: the most that is known before Terraform was asked.

    A switch is none: whether something has a password is for everybody to read.
    """
    if isinstance(value, Mapping):
        for key, each in value.items():
            is_group = isinstance(each, Mapping) or (
                isinstance(each, list) and any(isinstance(i, Mapping) for i in each)
            )
            names_it = rules.names_block if is_group else rules.names_secret
            if not isinstance(each, bool) and names_it(str(key)):
                yield (*path, key)
            else:
                yield from secret_names(each, rules, (*path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from secret_names(each, rules, (*path, index))


def is_opaque(value: str) -> bool:
    """Whether a text, or a word of it, looks like nothing that people choose among, as they do with regions."""
    words = value.split()
    if len(words) == 1 and len(value) >= 2 * _SHORTEST_OPAQUE:
        return True
    return any(len(each) >= _SHORTEST_OPAQUE and any(map(str.isdigit, each)) for each in words)


def opaque_paths(value: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yields the paths of texts that may be secrets by their looks, references not among them."""
    match value:
        case Mapping():
            for key, each in value.items():
                yield from opaque_paths(each, (*path, key))
        case list() | tuple():
            for index, each in enumerate(value):
                yield from opaque_paths(each, (*path, index))
        case str() if is_opaque(value) and not refers(value):
            yield path


def is_sensitive(path: FieldPath, sensitive: Iterable[FieldPath]) -> bool:
    return any(starts_with(path, each) for each in sensitive)


def masked(value: Any, sensitive: tuple[FieldPath, ...], seal: Seal, path: FieldPath = ()) -> Any:
    """Returns the value with all at and below sensitive paths, and all the seal knows, as `Masked`, leaf by leaf."""
    rest = (each[len(path) :] for each in sensitive if len(each) > len(path) and starts_with(each, path))
    return _masked(value, is_sensitive(path, sensitive), tuple(rest), seal)


def _masked(value: Any, hidden: bool, below: tuple[FieldPath, ...], seal: Seal) -> Any:
    """`hidden` is all of the value, `below` are paths within it that are: mostly none, so that none are followed."""
    if not hidden and not below and type(value) in _CONTAINERS:
        return _seen_through(value, seal)
    if type(value) in _SCALARS:  # before it is held against abstract classes, which takes longer than all of this
        return _masked_scalar(value, hidden, seal)
    if isinstance(value, MAPPINGS):
        if below:
            return {seal.key(key): _masked(each, *_stepped(hidden, below, key), seal) for key, each in value.items()}
        return {seal.key(key): _masked(each, hidden, below, seal) for key, each in value.items()}
    if isinstance(value, list | tuple):
        if below:
            return [_masked_item(each, index, hidden, below, seal) for index, each in enumerate(value)]
        return [_masked(each, hidden, below, seal) for each in value]
    if isinstance(value, Unknown):
        return value
    if isinstance(value, PartlyUnknown) and (hidden or seal.hides(value)):
        return UNKNOWN  # a digest would say that it is known
    return _masked_scalar(value, hidden, seal)


def _masked_scalar(value: Any, hidden: bool, seal: Seal) -> Any:
    if hidden and names_secret(value):
        return value  # where a secret is, is not secret
    return seal.mask(value) if value is not None and (hidden or seal.hides(value)) else value


def _seen_through(value: Any, seal: Seal) -> Any:
    """As `_masked` for plain data in which no path leads to a secret: of a large stack, nearly all there is."""
    harmless = seal.looked_at
    if type(value) is list:
        return [
            each if type(each) is str and harmless.get(each) is False else _masked(each, False, (), seal)
            for each in value
        ]
    shown = {}
    for key, each in value.items():
        if type(key) is not str or not key.isalpha():
            key = seal.key(key)
        if type(each) is str and harmless.get(each) is False:
            shown[key] = each
        else:
            shown[key] = _masked(each, False, (), seal)
    return shown


def names_secret(value: Any) -> bool:
    """Whether a value is a reference to a secret that is stored elsewhere, and nothing else."""
    if not isinstance(value, str) or not value.startswith(SCHEME):
        return False
    try:
        return bool(secret_parts(value))
    except InvalidSecretReference:
        return False


def _masked_item(item: Any, index: int, hidden: bool, below: tuple[FieldPath, ...], seal: Seal) -> Any:
    """Steps into a list element by whichever step the sensitive paths use for it: its index or its keys."""
    named = (each[0] for each in below if isinstance(each[0], ListKey) and each[0].matches(item))
    return _masked(item, *_stepped(hidden, below, next(named, index)), seal)


def _stepped(hidden: bool, below: tuple[FieldPath, ...], step: PathStep) -> tuple[bool, tuple[FieldPath, ...]]:
    rest = [each[1:] for each in below if each[0] == step]
    return hidden or () in rest, tuple(each for each in rest if each)


def sealed(value: Any, sensitive: tuple[FieldPath, ...], seal: Seal) -> Any:
    """Returns plain data for a record: as `masked`, with text `sealed:DIGEST` in place of each secret."""
    return _plain(masked(value, sensitive, seal))


def _plain(value: Any) -> Any:
    match value:
        case Masked():
            return _MARK + value.digest
        case Unknown():
            return str(value)
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def sealed_as(value: Any) -> str:
    """Returns the digest that stands in a record in place of this value, empty where the value itself is there.

    A text that just looks so is taken for a digest: nobody can tell them apart.
    """
    found = _SEALED.fullmatch(value) if isinstance(value, str) else None
    return found["digest"] if found else ""


def sealed_in(values: Iterable[Any]) -> Iterator[str]:
    """Yields the digests that stand in records in place of values."""
    for value in values:
        match value:
            case Mapping():
                yield from sealed_in(value.values())
            case list() | tuple():
                yield from sealed_in(value)
            case str() if digest := sealed_as(value):
                yield digest


def name_sealed_as(name: Any) -> str:
    """As `sealed_as`, for the name of a mapping's entry: the beginning of its digest."""
    found = _SEALED_NAME.fullmatch(name) if isinstance(name, str) else None
    return found["digest"] if found else ""
