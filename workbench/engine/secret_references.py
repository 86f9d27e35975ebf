"""What of a Spec is a reference to a secret stored elsewhere (`ref://vault/...`), and the Spec with the secrets in it.

A compiled Spec holds the references, and so does all that is written down of it. They are resolved where a stack is
compared with live: nothing can be compared, or bound to what was approved, without the values. From then on such a
value is what any other secret is: masked by value, a keyed digest in records, and a plan is stale once it is another.

A reference may stand only where a secret may: in the data of a Secret, where a name says that it is secret, where
`masking.yaml` or the resource (`extensions.sensitive`) says so, and in any attribute of Terraform, which becomes
sensitive by it. Anywhere else the secret would be there for everybody to read, so it is a finding with its line.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Any, Final

from kcl.records import dataclass, replace
from kcl.secrecy.rules import SecretRules
from runtimes.base import (
    CALL_PREFIX,
    FieldPath,
    InvalidSecretReference,
    Resource,
    ResourceId,
    RuntimeFailure,
    SecretReference,
    TerraformId,
    escaped_references,
    format_path,
    may_hold_secret_reference,
    secret_parts,
)
from runtimes.base.contents import may_any_hold, may_hold
from runtimes.base.secret_references import SCHEME
from workbench.engine.by_content import ByContent
from workbench.engine.errors import EngineError, SpecInvalid
from workbench.engine.fields import plain_steps
from workbench.engine.masking import is_sensitive, resource_paths, secret_names, secret_texts_in
from workbench.engine.placement import is_core_secret
from workbench.engine.spec import Spec

Path = tuple[str | int, ...]
Read = Callable[[Collection[SecretReference]], Awaitable[Mapping[SecretReference, str | RuntimeFailure]]]
"""Reads secrets from where they are stored, or says of each why not; raises nothing."""


@dataclass(frozen=True, slots=True)
class SecretUse:
    """A field whose text has references in it: `parts` are its texts and references in their order.

    `is_encoded`: the field holds them in base64, or has to, as the `data` of a Secret does. `in_extensions`: the path
    is one in the extensions of the resource. `where` is `file:line` or the stack.
    """

    resource: ResourceId
    path: Path
    parts: tuple[str | SecretReference, ...]
    where: str
    is_encoded: bool = False
    in_extensions: bool = False

    @property
    def references(self) -> tuple[SecretReference, ...]:
        return tuple(each for each in self.parts if isinstance(each, SecretReference))

    @property
    def field(self) -> str:
        return f"{'extensions.' if self.in_extensions else ''}{format_path(self.path)} of {self.resource}"


class SecretsUnavailable(EngineError):
    """Secrets that a stack refers to can't be had. `reasons` has one line each; nothing was compared or written."""

    def __init__(self, reasons: Collection[str], *, where: str = "", hint: str = "") -> None:
        super().__init__(f"secrets can't be had: {'; '.join(reasons)}", where=where, hint=hint)
        self.reasons = tuple(reasons)


def uses(spec: Spec) -> tuple[SecretUse, ...]:
    """Returns every field that refers to secrets. Raises `SpecInvalid` for one that does so wrongly, with its line."""
    # in most stacks no text refers to one, which one look at all of them tells; what a Secret has in base64 it does not
    has_any = may_any_hold([(each.attributes, dict(each.extensions)) for each in spec], SCHEME.encode())
    return tuple(use for each in spec if has_any or is_core_secret(each.id) for use in _uses_of(each, spec))


def _uses_of(resource: Resource, spec: Spec) -> Iterator[SecretUse]:
    for path, text, in_extensions, is_encoded in _found_in(resource):
        chain = spec.extension_chain(resource.id, path) if in_extensions else spec.chain(resource.id, path)
        where = f"{chain[0].file}:{chain[0].line}" if chain else spec.stack
        use = SecretUse(resource.id, path, (), where, is_encoded, in_extensions)
        may_be_secret = _is_secret_place(use, resource, spec.rules)
        try:
            use = replace(use, parts=secret_parts(text))
        except InvalidSecretReference as error:
            if not may_be_secret:
                continue  # a text that only begins so
            raise SpecInvalid(f"{use.field} is no reference to a secret: {error}", where=where) from None
        if use.parts and CALL_PREFIX in text:
            raise SpecInvalid(
                f"{use.field} gives a secret to a function",
                where=where,
                hint="keep what a function makes of a secret in its store, and refer to that",
            )
        if use.parts and not may_be_secret:
            raise SpecInvalid(
                f"{use.field} would show the secret to everybody who may read it",
                where=where,
                hint="put it into a Secret, or name the field in extensions.sensitive or masking.yaml",
            )
        if use.parts:
            yield use


def _is_secret_place(use: SecretUse, resource: Resource, rules: SecretRules) -> bool:
    if use.in_extensions:
        return is_sensitive(use.path, tuple(secret_names(resource.extensions, rules)))
    if isinstance(resource.id, TerraformId):
        return True
    secret = tuple(plain_steps(resource.attributes, each) for each in resource_paths(resource, rules))
    return is_sensitive(use.path, secret)


Found = tuple[Path, str, bool, bool]
"""Path, text as it reads decoded, whether it is in the extensions, whether it is (or has to be) in base64."""


def _found_in(resource: Resource) -> tuple[Found, ...]:
    """Most resources have none, and each edit goes through all a stack says: what was found is remembered."""
    is_secret = is_core_secret(resource.id)
    content = (resource.attributes, dict(resource.extensions))
    return _remembered.get(content, is_secret, lambda: tuple(_search(*content, is_secret=is_secret)))


_remembered: Final[ByContent[tuple[Found, ...]]] = ByContent()


def _search(attributes: Mapping[str, Any], extensions: Mapping[str, Any], *, is_secret: bool) -> Iterator[Found]:
    # what a Secret has in base64 is not seen from outside
    is_looked_through = is_secret or may_hold((attributes, extensions), SCHEME.encode())
    for path, text in _texts(attributes, ()) if is_looked_through else ():
        is_encoded = is_secret and len(path) == 2 and path[0] == "data"
        decoded = _decoded(text) if is_encoded and not may_hold_secret_reference(text) else text
        if may_hold_secret_reference(decoded):
            yield path, decoded, False, is_encoded
    for path, text in _texts(extensions, ()) if is_looked_through else ():
        if may_hold_secret_reference(text):
            yield path, text, True, False


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(each, (*path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _texts(each, (*path, index))


def _decoded(text: str) -> str:
    """Returns what a text says in base64; nothing where it is none or no text."""
    try:
        return base64.b64decode(text, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""


async def resolved(spec: Spec, read: Read) -> Spec:
    """Returns the Spec with the secrets in place of their references, the very same where it has none.

    Raises `SecretsUnavailable` naming each field whose secret can't be had; never part of a text is left a reference.
    """
    every = uses(spec)
    if not every:
        return spec
    found = await read(tuple(dict.fromkeys(reference for use in every for reference in use.references)))
    missing = [(use, each) for use in every for each in use.references if not isinstance(found.get(each), str)]
    if missing:
        raise _unavailable(missing, found, spec.stack)
    values = {each: str(found[each]) for each in found}
    by_resource: dict[ResourceId, list[SecretUse]] = {}
    for use in every:
        by_resource.setdefault(use.resource, []).append(use)
    resources = tuple(
        _filled(each, by_resource[each.id], values) if each.id in by_resource else each for each in spec.resources
    )
    texts = {*values.values(), *(text for use in every for text in _as_written(use, values))}
    return replace(spec, resources=resources, secrets=spec.secrets | secret_texts_in(texts, resources))


def _unavailable(
    missing: Collection[tuple[SecretUse, SecretReference]],
    found: Mapping[SecretReference, str | RuntimeFailure],
    stack: str,
) -> SecretsUnavailable:
    reasons, hints, places = [], [], []
    for use, reference in missing:
        why = found.get(reference)
        said = str(why) if isinstance(why, RuntimeFailure) else "nothing was said of it"
        reasons.append(f"{reference} for {use.field}: {said}")
        places.append(use.where)
        hints.append(why.hint if isinstance(why, RuntimeFailure) else "")
    hint = "; ".join(dict.fromkeys(each for each in hints if each))
    return SecretsUnavailable(list(dict.fromkeys(reasons)), where=places[0] or stack, hint=hint)


def _text(use: SecretUse, values: Mapping[SecretReference, str]) -> str:
    return "".join(each if isinstance(each, str) else values[each] for each in use.parts)


def _as_written(use: SecretUse, values: Mapping[SecretReference, str]) -> tuple[str, ...]:
    """The text of a field and the form in which it is there: each of them a secret wherever it turns up."""
    text = _text(use, values)
    return (text, _encoded(text)) if use.is_encoded else (text,)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode("utf-8")).decode("ascii")


def _filled(resource: Resource, found: Collection[SecretUse], values: Mapping[SecretReference, str]) -> Resource:
    attributes: Any = resource.attributes
    extensions: Any = resource.extensions
    for use in found:
        text = _as_written(use, values)[-1]
        text = text if use.is_encoded else escaped_references(text)  # what it looks like is no reference
        if use.in_extensions:
            extensions = _put(extensions, use.path, text)
        else:
            attributes = _put(attributes, use.path, text)
    if isinstance(resource.id, TerraformId):
        marked = [format_path(each.path) for each in found if not each.in_extensions]
        named = extensions.get("sensitive") or []
        if marked and isinstance(named, list | tuple):
            extensions = {**extensions, "sensitive": [*named, *marked]}
    return replace(resource, attributes=attributes, extensions=extensions)


def _put(value: Any, path: FieldPath, text: str) -> Any:
    if not path:
        return text
    step, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        return {key: _put(each, rest, text) if key == step else each for key, each in value.items()}
    return [_put(each, rest, text) if index == step else each for index, each in enumerate(value)]
