"""A configuration that was written: its text, and the way from Terraform's names back to those of the Spec."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus

from kcl.records import dataclass, field
from runtimes.base import FieldPath, PlainPath, Resource, ResourceId, TerraformId
from runtimes.base.documents import load_json
from runtimes.base.secret_texts import SecretTexts, secret_texts, telling
from runtimes.terraform import expressions, names, values
from runtimes.terraform.names import ProviderSource
from runtimes.terraform.providers import Provider

HIDDEN_TEXT: Final = "(secret)"


@dataclass(frozen=True, slots=True)
class Place:
    """What a line of the configuration says: an attribute of a resource, or of its provider's configuration.

    `id` is None for what belongs to no resource. `in_provider` says that `path` is one of `extensions.providerMeta`.
    """

    id: TerraformId | None = None
    path: FieldPath = ()
    in_provider: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """`text` is main.tf.json, `environment` the TF_VAR_ variables it needs; together they hold what was asked.

    `provider_digest` changes exactly when `terraform init` has to run again (providers, versions, backend, required
    version). `unresolved` are the ids that can't be applied yet: they hold `UNKNOWN`, or refer to one that does.
    `adopted` are the ids that are taken over, with the ids they have in their infrastructure; `moved` those that had
    another id before. `secrets` are the texts that are in no file. `aliases` is the provider configuration of each
    resource. `lines` has for each line of the text its path in the document.
    """

    text: str = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    provider_digest: str
    resources: Mapping[ResourceId, Resource] = field(repr=False)
    adopted: Mapping[ResourceId, str] = field(default_factory=dict)
    moved: Mapping[TerraformId, TerraformId] = field(default_factory=dict)
    unresolved: frozenset[ResourceId] = frozenset()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    sensitive: Mapping[ResourceId, tuple[FieldPath, ...]] = field(default_factory=dict, repr=False)
    addresses: Mapping[str, TerraformId] = field(default_factory=dict, repr=False)
    aliases: Mapping[TerraformId, tuple[ProviderSource, str]] = field(default_factory=dict, repr=False)
    recorded: Mapping[str, TerraformId] = field(default_factory=dict, repr=False)
    lines: tuple[PlainPath, ...] = field(default=(), repr=False)
    providers: tuple[tuple[TerraformId | None, Provider], ...] = field(default=(), repr=False)
    """All that terraform would run, what each is configured by, and who needs it: None where only the state does."""

    def address_of(self, id_: ResourceId) -> str:
        """Returns the address of an id, whether it is configured or known from a plan or the state only."""
        if not isinstance(id_, TerraformId):
            raise ValueError(f"{id_} is not of type Terraform")
        if id_ in self.resources:
            return f"{id_.resource_type}.{names.label(id_.name)}"
        return names.address(id_)

    def id_at(self, address: str, provider: str = "") -> TerraformId | None:
        """Returns the id at an address of an event, a plan or a diagnostic; None for what is only ours.

        `provider` is `provider_name` or `provider` as plans, states and events write it, for what isn't configured.
        Without it, what is neither configured nor recorded is of a provider named like the type's first word.
        """
        if address == names.OWN_ADDRESS or not address or address.startswith("data."):
            return None
        if found := self.addresses.get(address) or self.recorded.get(address):
            return found
        try:
            source, _ = names.parse_source(provider)
        except ValueError:
            source = self._source_like(names.type_at(address).partition("_")[0])
        return names.id_at(address, source)

    def targets(self, only: Iterable[ResourceId]) -> tuple[str, ...]:
        """Returns the addresses for `-target=`: those of `only` without the unresolved, and what moves besides.

        Terraform refuses to leave a pending move out, so both addresses of every move are among them.
        """
        wanted = [self.address_of(id_) for id_ in only if id_ not in self.unresolved]
        for id_, former in self.moved.items():
            if self.address_of(former) in self.recorded or id_ in only:
                wanted += [self.address_of(former), self.address_of(id_)]
        return tuple(dict.fromkeys(wanted))

    def place(self, line: int) -> Place:
        """Returns what a line of the text (from 1) says."""
        match self.lines[line - 1] if 0 < line <= len(self.lines) else ():
            case ("resource", str() as resource_type, str() as label, *rest):
                return Place(self.addresses.get(f"{resource_type}.{label}"), _as_written(rest))
            case ("provider", str() as local, int() as index, *rest):
                alias = load_json(self.text)["provider"][local][index].get("alias", "")
                users = (id_ for id_, (source, its) in self.aliases.items() if its == alias and source.name in local)
                return Place(next(users, None), _as_written(rest), in_provider=True)
            case ("import", int() as index, *_):
                return Place(list(self.adopted)[index])  # type: ignore[arg-type]  # only Terraform ids are adopted
            case ("moved", int() as index, *_):
                return Place(list(self.moved)[index])
            case _:
                return Place()

    def scrubbed(self, text: str) -> str:
        """Returns a text of Terraform's without the secrets that this configuration knows."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            quoted = json.dumps(secret)[1:-1]
            in_urls = (quote(secret), quote(secret, safe=""), quote_plus(secret))
            encoded = base64.b64encode(secret.encode()).decode()
            for form in dict.fromkeys((secret, quoted, expressions.escaped(secret), *in_urls, encoded)):
                if len(secret) >= values.SHORTEST_PART:
                    text = text.replace(form, HIDDEN_TEXT)
                else:
                    text = text.replace(f'"{form}"', f'"{HIDDEN_TEXT}"')
        return _finder(self.secrets).masked(text, lambda _: HIDDEN_TEXT)

    def _source_like(self, name: str) -> ProviderSource:
        known = (source for source, _ in self.aliases.values() if source.name == name)
        fallback = (
            names.BUILT_IN if name == names.BUILT_IN.name else ProviderSource(names.DEFAULT_HOST, "hashicorp", name)
        )
        return next(known, fallback)


@lru_cache(maxsize=16)
def _finder(secrets: frozenset[str]) -> SecretTexts:
    return secret_texts(telling(secrets))


def _as_written(steps: Iterable[str | int]) -> FieldPath:
    """Undoes the escapes in the keys of a path."""
    return tuple(expressions.unescaped(each) if isinstance(each, str) else each for each in steps)
