"""Which providers a configuration needs, in which version and how configured.

Kusion writes the provider of a resource as `host/namespace/name/version` and its configuration as `providerMeta`.
Every configuration but the empty one gets an alias of its own, named after its content without the secrets: so the
alias in a state always means the configuration the resource was made with, also after another one came along.

Secrets have no part in it, as many change with every run, and what a run made has to be deleted by the next one. What
counts as secret is not the same for ever, though: a name is added to the list, or to the repository's. So nobody
compares the aliases of two times. Whether a configuration is the one that a state names is found by leaving out what
may have counted as secret then (`is_alias_of`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Any, Final

from kcl.records import dataclass, field
from kcl.secrecy.names import suggests_secret
from kcl.secrecy.rules import BUILT_IN as RULES
from kcl.secrecy.rules import is_secret_name
from runtimes.base import Misconfigured, Resource, ResourceId, TerraformId
from runtimes.terraform.names import BUILT_IN, DEFAULT_HOST, ProviderSource

_VERSION = re.compile(r"\s*(?:[~<>=!]|v?\d)")
_PART = re.compile(r"[A-Za-z0-9](?:[\w.:-]*[A-Za-z0-9])?")
_NOT_SET_HERE = ("alias",)
_MOST_FORMS: Final = 4096
"""Twelve settings that may be secret. Real configurations have a few."""
_CREDENTIAL = re.compile(r"(?:^|_)(?:token|password|passphrase|secret|access_key|secret_key|api_key|key_id)$")


@dataclass(frozen=True, slots=True)
class Provider:
    """What one resource says of its provider. `version` is a constraint, empty for any."""

    source: ProviderSource
    version: str
    meta: Mapping[str, Any] = field(repr=False)


def of(resource: Resource) -> Provider:
    """Reads `extensions.provider` and `providerMeta`; without the former it is what the id says.

    Raises `Misconfigured` where they are not what they should be, or are of another provider than the id.
    """
    id_ = resource.id
    if not isinstance(id_, TerraformId):
        raise Misconfigured("it is not of type Terraform", subject=str(id_))
    written = resource.extensions.get("provider")
    source, version = _implied(id_), ""
    if written is not None:
        source, version = _parsed(written, str(id_))
    if (source.namespace, source.name) != (id_.provider_namespace, id_.provider):
        raise Misconfigured(
            f"its id is of provider {id_.provider_namespace}/{id_.provider}, "
            f"its extensions.provider is {source.namespace}/{source.name}",
            subject=str(id_),
            hint="write the same provider in both: an id is providerNamespace:provider:resourceType:name",
        )
    meta = resource.extensions.get("providerMeta")
    if meta is not None and not isinstance(meta, Mapping):
        raise Misconfigured("extensions.providerMeta is not a mapping", subject=str(id_))
    for name in _NOT_SET_HERE:
        if meta and name in meta:
            raise Misconfigured(
                f"extensions.providerMeta has {name!r}, which is set from its content",
                subject=str(id_),
                hint=f"leave {name!r} out: resources with the same providerMeta share one configuration",
            )
    if source.is_built_in and id_.resource_type.partition("_")[0] != BUILT_IN.name:
        # of such a type terraform would take the provider that the type is named after, and fetch it
        raise Misconfigured(
            f"the provider built into terraform has no {id_.resource_type}",
            subject=str(id_),
            hint="write the provider that has it: an id is providerNamespace:provider:resourceType:name",
        )
    if meta and source.is_built_in:
        raise Misconfigured("the provider built into terraform takes no providerMeta", subject=str(id_))
    return Provider(source, version, meta or {})


def alias(meta: Mapping[str, Any], secrets: frozenset[str]) -> str:
    """Returns the alias of a configuration, the same whatever its secrets are; "" for an empty one."""
    return _alias(public(meta, secrets)) if meta else ""


def is_alias_of(alias: str, meta: Mapping[str, Any], secrets: frozenset[str]) -> bool:
    """Whether a configuration has, or once had, this alias, whatever counted as secret when it was given."""
    return bool(meta) and any(_alias(each) == alias for each in islice(_once_public(meta, secrets), _MOST_FORMS))


def _alias(public_part: Any) -> str:
    canonical = json.dumps(public_part, sort_keys=True, default=str)
    return f"meta_{hashlib.sha256(canonical.encode()).hexdigest()[:8]}"


def _once_public(value: Any, secrets: frozenset[str]) -> Iterator[Any]:
    """Yields what of a configuration may have counted as no secret; None is nothing."""
    match value:
        case Mapping():
            parts = {
                str(key): [*_once_public(each, secrets), *([None] if suggests_secret(str(key)) else [])]
                for key, each in value.items()
            }
            for chosen in product(*parts.values()):
                yield {key: each for key, each in zip(parts, chosen, strict=True) if each is not None}
        case list() | tuple():
            for chosen in product(*(list(_once_public(each, secrets)) for each in value)):
                yield [each for each in chosen if each is not None]
        case str() if any(secret in value for secret in secrets if secret) or RULES.is_secret_text(value):
            yield from (value, None)
        case _:
            yield value


def used(
    configured: Iterable[tuple[TerraformId, Provider]],
    versions: Mapping[ProviderSource, str],
    resources: Mapping[ResourceId, Resource],
) -> Iterator[tuple[TerraformId, Provider]]:
    """Yields every provider with each of its configurations once, and the first resource that has it."""
    seen: set[str] = set()
    for id_, provider in configured:
        if provider.source.is_built_in:
            continue
        meta = bound(provider.meta, resources)
        key = json.dumps([str(provider.source), meta], sort_keys=True, default=str)
        if key not in seen:
            seen.add(key)
            yield id_, Provider(provider.source, versions[provider.source], meta)


def bound(meta: Mapping[str, Any], resources: Mapping[ResourceId, Resource]) -> Mapping[str, Any]:
    """Returns what trust in a configuration is bound to: all that says where a provider goes and what it runs.

    Credentials are left out, as they change of themselves; a value that names a place stays, whatever it is called.
    What a reference stands for is decided by the resource that it names, so the attributes of that one count as well.
    """
    found = _without_credentials(meta)
    referred = _referred(found, resources)
    return (
        {**found, "$": {str(id_): resources[id_].attributes for id_ in sorted(referred, key=str)}}
        if referred
        else found
    )


def _without_credentials(value: Any) -> Any:
    match value:
        case Mapping():
            return {
                str(key): _without_credentials(each)
                for key, each in value.items()
                if not _is_credential(str(key), each)
            }
        case list() | tuple():
            return [_without_credentials(each) for each in value]
        case _:
            return value


def _is_credential(name: str, value: Any) -> bool:
    """Whether it is nothing but one: by the last word of its name, and as a text that is no address and no command."""
    is_text = isinstance(value, str) and "://" not in value and not re.search(r"\s", value)
    return is_text and _CREDENTIAL.search(name.lower()) is not None


def _referred(value: Any, resources: Mapping[ResourceId, Resource]) -> set[ResourceId]:
    """Returns the resources that a value refers to, and what those refer to in turn."""
    found: set[ResourceId] = set()
    looked_at = [json.dumps(value, default=str, ensure_ascii=False)]
    while looked_at:
        text = looked_at.pop()
        if "$kusion_path." not in text:
            continue
        named = {id_ for id_ in resources if str(id_) in text} - found
        found |= named
        looked_at += [json.dumps(dict(resources[id_].attributes), default=str, ensure_ascii=False) for id_ in named]
    return found


def public(value: Any, secrets: frozenset[str]) -> Any:
    """Returns the part of a configuration that is no secret: without secret names, texts that hold secrets, nulls."""
    match value:
        case Mapping():
            kept = {str(key): public(each, secrets) for key, each in value.items() if not is_secret_name(str(key))}
            return {key: each for key, each in kept.items() if each is not None}
        case list() | tuple():
            return [each for each in (public(each, secrets) for each in value) if each is not None]
        case str() if any(secret in value for secret in secrets if secret):
            return None
        case _:
            return value


def local_names(sources: set[ProviderSource]) -> dict[ProviderSource, str]:
    """Returns what each provider is called in the configuration: its name, longer where two share it."""
    found: dict[ProviderSource, str] = {}
    for source in sorted(sources):
        alike = [other for other in sources if other.name == source.name]
        same_namespace = [other for other in alike if other.namespace == source.namespace]
        parts = [source.name]
        if len(alike) > 1:
            parts.insert(0, source.namespace)
        if len(same_namespace) > 1:
            parts.insert(0, re.sub(r"[^a-z0-9]+", "-", source.host.lower()))
        found[source] = "-".join(parts)
    return found


def versions(
    providers: Mapping[TerraformId, Provider], former: Mapping[TerraformId, Provider]
) -> dict[ProviderSource, str]:
    """Returns the one version constraint of each provider; raises `Misconfigured` where two resources disagree.

    What resources asked for that are no longer configured counts where nobody else asks for that provider.
    """
    asked: dict[ProviderSource, tuple[str, TerraformId | None]] = {}
    for id_, provider in providers.items():
        if provider.source.is_built_in:
            continue
        version, by = asked.get(provider.source, ("", None))
        if version and provider.version and version != provider.version:
            raise Misconfigured(
                f"it needs {provider.source} in version {provider.version}, but {by} needs version {version}",
                subject=str(id_),
                hint="write the same version for both: a workspace has one version of each provider",
            )
        asked[provider.source] = (version, by) if version else (provider.version, id_)
    for provider in former.values():
        if not provider.source.is_built_in:
            asked.setdefault(provider.source, (provider.version, None))
    return {source: version for source, (version, _) in asked.items()}


def _implied(id_: TerraformId) -> ProviderSource:
    if (id_.provider_namespace, id_.provider) == (BUILT_IN.namespace, BUILT_IN.name):
        return BUILT_IN
    return ProviderSource(DEFAULT_HOST, id_.provider_namespace, id_.provider)


def _parsed(written: Any, where: str) -> tuple[ProviderSource, str]:
    """Parses `host/namespace/name/version`; host and version may be left out, and for `hashicorp` the namespace."""
    parts = written.split("/") if isinstance(written, str) else []
    version = parts.pop() if len(parts) > 1 and _VERSION.match(parts[-1]) else ""
    if not 1 <= len(parts) <= 3 or not all(_PART.fullmatch(part) for part in parts):
        raise Misconfigured(
            f"extensions.provider is {written!r}, which is no provider",
            subject=where,
            hint="write it as registry.terraform.io/hashicorp/aws/5.0.1: host/namespace/name/version",
        )
    host, namespace, name = [*[DEFAULT_HOST, "hashicorp"][: 3 - len(parts)], *parts]
    return ProviderSource(host, namespace, name), version.strip()
