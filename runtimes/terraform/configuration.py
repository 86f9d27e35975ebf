"""What Terraform is told: main.tf.json with everything that should be, and the values of its variables.

One document for the whole workspace. References between resources become Terraform's own, so that it finds the order.
Texts that are secret become variables, whose values go through the environment of the process and never into the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kcl.records import dataclass, field
from runtimes.base import (
    FieldPath,
    Ids,
    InvalidReference,
    Misconfigured,
    Reference,
    Rejected,
    Resource,
    ResourceId,
    RuntimeFailure,
    TerraformId,
    parse_reference,
    refers,
)
from runtimes.terraform import document, expressions, names, providers, schema, settings, values
from runtimes.terraform.configured import Configuration as Configuration
from runtimes.terraform.configured import Place as Place
from runtimes.terraform.expressions import Encoder, Hiding, Variables
from runtimes.terraform.names import ProviderSource
from runtimes.terraform.providers import Provider
from runtimes.terraform.schema import Schemas
from runtimes.terraform.settings import Settings
from runtimes.terraform.state import State

OLDEST_VERSION: Final = ">= 1.5.0"
"""The first with `import` blocks."""


def build(
    resources: Iterable[Resource],
    *,
    secrets: frozenset[str] = frozenset(),
    backend: Mapping[str, Any] | None = None,
    required_version: str = "",
    schemas: Schemas | None = None,
    adopt: Mapping[ResourceId, str] | None = None,
    forget: frozenset[ResourceId] = frozenset(),
    state: State | None = None,
    former: Iterable[Resource] = (),
) -> Configuration:
    """Writes a configuration. Raises `Misconfigured` or `Rejected` naming the resource and the attribute.

    `backend` is `{"type": ..., "config": {...}}`; None is the local one. `adopt` gives ids to take over by, besides
    those in `extensions.importId`. `forget` are ids that leave the state and stay where they are. `state` is what is
    recorded now, if it can be had before planning: what is to be deleted needs its provider's configuration, which
    `former` (resources as they once were configured) gives.
    """
    found: dict[ResourceId, Resource] = {}
    for resource in resources:
        if resource.id in found:
            raise Rejected("there are two resources of this id", subject=str(resource.id), hint="rename one of them")
        found[resource.id] = resource
    writer = _Writer(
        found, frozenset(each for each in secrets if each), schemas, state, {str(id_): id_ for id_ in found}
    )
    return writer.configuration(tuple(former), adopt or {}, forget, backend, required_version or OLDEST_VERSION)


@dataclass(frozen=True, slots=True)
class _Configured:
    """A resource on its way into the document. `alias` is that of its provider's configuration."""

    resource: Resource
    settings: Settings
    provider: Provider
    alias: str

    @property
    def id(self) -> TerraformId:
        assert isinstance(self.resource.id, TerraformId)  # providers.of refuses others
        return self.resource.id

    @property
    def address(self) -> str:
        return f"{self.settings.resource_type}.{names.label(self.id.name)}"


@dataclass(slots=True)
class _Writer:
    resources: Mapping[ResourceId, Resource]
    secrets: frozenset[str] = field(repr=False)
    schemas: Schemas | None
    state: State | None
    ids: Ids
    variables: Variables = field(default_factory=Variables)
    configured: dict[TerraformId, _Configured] = field(default_factory=dict)
    needs: dict[ResourceId, set[ResourceId]] = field(default_factory=dict)
    unresolved: set[ResourceId] = field(default_factory=set)
    sensitive: dict[ResourceId, tuple[FieldPath, ...]] = field(default_factory=dict)

    def configuration(
        self,
        former: tuple[Resource, ...],
        adopt: Mapping[ResourceId, str],
        forget: frozenset[ResourceId],
        backend: Mapping[str, Any] | None,
        required_version: str,
    ) -> Configuration:
        for resource in self.resources.values():
            each = self._configured(resource)
            self.configured[each.id] = each
        before = self._needed_before(former)
        versions = providers.versions(
            {id_: each.provider for id_, each in self.configured.items()},
            {id_: each.provider for id_, each in before.items()},
        )
        local_names = providers.local_names(set(versions))
        terraform: dict[str, Any] = {
            "required_version": required_version,
            "required_providers": {
                local_names[source]: {"source": str(source), **({"version": version} if version else {})}
                for source, version in sorted(versions.items())
            },
            **_backend(backend, self.secrets),
        }
        provider_blocks = self._provider_blocks(before, local_names)
        resource_blocks = self._resource_blocks(local_names)
        imports = self._imports(adopt)
        moved = {id_: each.settings.moved_from for id_, each in self.configured.items() if each.settings.moved_from}
        content = {
            "terraform": {name: value for name, value in terraform.items() if value},
            "variable": self.variables.declarations,
            "provider": provider_blocks,
            "resource": resource_blocks,
            "import": [{"to": self.configured[id_].address, "id": text} for id_, text in imports.items()],
            "moved": [{"from": names.address(old), "to": self.configured[id_].address} for id_, old in moved.items()],
            "removed": [
                {"from": names.address(id_), "lifecycle": {"destroy": False}}
                for id_ in sorted(forget, key=str)
                if isinstance(id_, TerraformId) and id_ not in self.configured
            ],
        }
        text, lines = document.rendered({name: value for name, value in content.items() if value})
        return Configuration(
            text=text,
            environment=self.variables.environment,
            provider_digest=digest([terraform, self._sources_recorded(versions)]),
            resources=self.resources,
            adopted={id_: expressions.unescaped(text) for id_, text in imports.items()},
            moved=moved,
            unresolved=self._all_unresolved(),
            secrets=self.secrets | self.variables.texts,
            sensitive=self.sensitive,
            addresses={each.address: id_ for id_, each in self.configured.items()},
            aliases={id_: (each.provider.source, each.alias) for id_, each in self.configured.items()},
            recorded={each.address: each.id for each in self.state.resources.values()} if self.state else {},
            lines=lines,
            providers=tuple(self._uses(before.values(), versions)),
        )

    def _configured(self, resource: Resource) -> _Configured:
        provider = providers.of(resource)
        assert isinstance(resource.id, TerraformId)  # providers.of refuses others
        return _Configured(
            resource,
            settings.of(resource, resource.id),
            provider,
            providers.alias(provider.meta, self.secrets),
        )

    # Providers

    def _needed_before(self, former: tuple[Resource, ...]) -> dict[TerraformId, _Configured]:
        """Returns what is no longer configured and may have to be deleted."""
        moved = {each.settings.moved_from for each in self.configured.values()}
        found = {}
        for resource in former:
            if resource.id in self.resources or resource.id in moved:
                continue
            try:
                each = self._configured(resource)
            except RuntimeFailure:
                continue  # what is no longer configured can't be corrected; Terraform says so if it needs it
            if self.state is None or each.id in self.state.resources:
                found[each.id] = each
        return found

    def _provider_blocks(
        self, before: Mapping[TerraformId, _Configured], local_names: Mapping[ProviderSource, str]
    ) -> dict[str, list[dict[str, Any]]]:
        """Returns a block for each configuration. What is configured now wins over what was: its secrets are newer."""
        blocks: dict[str, dict[str, dict[str, Any]]] = {}
        for each in (*self.configured.values(), *before.values()):
            if not each.alias:
                continue
            encoder = self._encoder(each, Hiding(self.secrets))
            try:
                block = {"alias": each.alias, **encoder.body(each.provider.meta)}
            except Rejected:
                if each.id in self.configured:
                    raise
                continue  # what it was made with refers to something that is gone; Terraform says so if it needs it
            if encoder.has_unknown and each.id not in self.configured:
                continue
            others = blocks.setdefault(local_names[each.provider.source], {})
            if each.id in self.configured and others.get(each.alias, block) != block:
                raise Misconfigured(
                    "its providerMeta has other secrets than the same one of another resource",
                    subject=str(each.id),
                    hint="give both the same secrets, or tell their configurations apart by another setting",
                )
            others.setdefault(each.alias, block)
            if each.id in self.configured:
                self._note(each.id, encoder)
        for source, alias in self._aliases_recorded():
            if (others := blocks.get(local_names.get(source, ""), {})) and alias not in others:
                if (found := self._once_called(alias, source, before)) is not None:
                    others[alias] = {**others[found], "alias": alias}
        return {local: list(by_alias.values()) for local, by_alias in sorted(blocks.items())}

    def _aliases_recorded(self) -> Iterator[tuple[ProviderSource, str]]:
        """Yields the provider configurations that the state names for what may have to be deleted."""
        for id_, each in self.state.resources.items() if self.state else ():
            if each.alias and id_ not in self.configured:
                yield each.source, each.alias

    def _once_called(self, alias: str, source: ProviderSource, before: Mapping[TerraformId, _Configured]) -> str | None:
        """Returns what the configuration is called now that a state knows by another alias."""
        for each in (*self.configured.values(), *before.values()):
            if each.provider.source == source and providers.is_alias_of(alias, each.provider.meta, self.secrets):
                return each.alias
        return None

    def _sources_recorded(self, configured: Iterable[ProviderSource]) -> list[str]:
        """Returns the providers that only the state needs: they are installed too."""
        recorded = self.state.sources if self.state else frozenset()
        return sorted(str(each) for each in recorded.difference(configured) if not each.is_built_in)

    def _uses(
        self, before: Iterable[_Configured], versions: Mapping[ProviderSource, str]
    ) -> Iterator[tuple[TerraformId | None, Provider]]:
        """Yields every provider with each of its configurations once, and by which resource."""
        configured = [(each.id, each.provider) for each in (*self.configured.values(), *before)]
        yield from providers.used(configured, versions, self.resources)
        for text in self._sources_recorded(versions):
            yield None, Provider(names.parse_source(text)[0], "", {})

    # Resources

    def _resource_blocks(self, local_names: Mapping[ProviderSource, str]) -> dict[str, dict[str, Any]]:
        blocks: dict[str, dict[str, Any]] = {}
        for each in sorted(self.configured.values(), key=lambda each: each.address):
            block = self._resource_block(each, local_names.get(each.provider.source, ""))
            blocks.setdefault(each.settings.resource_type, {})[names.label(each.id.name)] = block
        if self.unresolved:
            own_type, _, own_label = names.OWN_ADDRESS.partition(".")
            blocks.setdefault(own_type, {})[own_label] = {}
        return blocks

    def _resource_block(self, each: _Configured, local_name: str) -> dict[str, Any]:
        content = {name: value for name, value in each.resource.attributes.items() if name != "lifecycle"}
        if each.settings.timeouts:
            written = content.get("timeouts")
            content["timeouts"] = {**(written if isinstance(written, Mapping) else {}), **each.settings.timeouts}
        type_ = self.schemas.get(each.settings.resource_type) if self.schemas else None
        hidden = values.shortest([*each.settings.sensitive, *schema.sensitive(type_, content)])
        encoder = self._encoder(each, Hiding(self.secrets, hidden))
        block = encoder.body(content)
        self._note(each.id, encoder)
        if hidden:
            self.sensitive[each.id] = hidden
        if each.settings.lifecycle:
            block["lifecycle"] = self._lifecycle(each)
        needs = [
            self.configured[id_].address
            for id_ in each.resource.depends_on
            if isinstance(id_, TerraformId) and id_ in self.configured
        ]
        if needs:
            block["depends_on"] = needs
        self.needs.setdefault(each.id, set()).update(id_ for id_ in each.resource.depends_on if id_ in self.resources)
        if each.alias:
            block["provider"] = f"{local_name}.{each.alias}"
        elif local_name and local_name != each.settings.resource_type.partition("_")[0]:
            block["provider"] = local_name
        return block

    def _lifecycle(self, each: _Configured) -> dict[str, Any]:
        lifecycle = dict(each.settings.lifecycle)
        if triggers := lifecycle.get("replace_triggered_by"):
            lifecycle["replace_triggered_by"] = [self._trigger(each, text) for text in triggers]
        return lifecycle

    def _trigger(self, each: _Configured, text: str) -> str:
        """Returns the address of what a resource is replaced with: an id, a reference, or an address as it is."""
        if (id_ := self.ids.get(text)) is not None:
            return self._address(id_)
        if not refers(text):
            return text
        try:
            expression, rest = self._expression(parse_reference(text, self.ids))
        except InvalidReference as error:
            raise Rejected(str(error), subject=str(each.id), causes=(("lifecycle", str(error)),)) from error
        if rest:
            why = f"{text} goes on behind an attribute"
            raise Rejected(why, subject=str(each.id), causes=(("lifecycle", why),))
        return expression

    def _imports(self, adopt: Mapping[ResourceId, str]) -> dict[TerraformId, str]:
        """Returns the templates of the ids to take over by, of what the state does not have yet."""
        recorded = self.state.resources if self.state else {}
        found = {}
        for id_, each in self.configured.items():
            if (text := each.settings.import_id or adopt.get(id_, "")) and id_ not in recorded:
                encoder = self._encoder(each, Hiding())
                found[id_] = str(encoder.encoded(text, ("importId",)))
        return found

    # What both need

    def _address(self, id_: ResourceId) -> str:
        assert isinstance(id_, TerraformId)
        return self.configured[id_].address

    def _expression(self, reference: Reference) -> tuple[str, str]:
        id_ = reference.id
        type_ = self.schemas.get(id_.resource_type) if self.schemas and isinstance(id_, TerraformId) else None
        return expressions.expression(self._address(id_), reference, type_)

    def _encoder(self, each: _Configured, hiding: Hiding) -> Encoder:
        return Encoder(str(each.id), self.ids, self._expression, hiding, self.variables.name)

    def _note(self, id_: ResourceId, encoder: Encoder) -> None:
        self.needs.setdefault(id_, set()).update(encoder.referred)
        if encoder.has_unknown:
            self.unresolved.add(id_)

    def _all_unresolved(self) -> frozenset[ResourceId]:
        found = set(self.unresolved)
        while more := {id_ for id_, needs in self.needs.items() if id_ not in found and needs & found}:
            found |= more
        return frozenset(found)


def digest(content: Any) -> str:
    """Returns a short digest of anything that is JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _backend(backend: Mapping[str, Any] | None, secrets: frozenset[str]) -> dict[str, Any]:
    """Raises `Misconfigured` where the settings of the backend hold a secret: Terraform keeps them in clear."""
    if backend is None or (backend.get("type", "local") == "local" and not backend.get("config")):
        return {}
    type_, config = backend.get("type"), backend.get("config") or {}
    if not isinstance(type_, str) or not isinstance(config, Mapping):
        raise Misconfigured(
            "the Terraform backend needs a type and a config", hint="backend: {type: s3, config: {...}}"
        )
    for path in values.secret_paths(config, secrets):
        raise Misconfigured(
            f"the configuration of the Terraform backend {type_} holds a secret at {'.'.join(map(str, path))}",
            hint="give it in the environment, as the backend's documentation says: the file is in clear",
        )
    return {"backend": {type_: config}}
