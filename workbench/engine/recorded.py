"""A Spec from what a release recorded: what a rollback gives the stack again. Pure.

A record has digests in place of secrets. A value is taken from what is said today, or from what is live, where it has
that very digest, at the same field of the same resource: nothing else proves that it is the one that was applied, and
what was secret in one object never gets into another. What nothing proves is missing, and named: a rollback neither
leaves a field out nor puts a digest into a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kcl.records import dataclass, field, replace
from kcl.secrecy.rules import SecretRules
from runtimes.base import UNKNOWN, Address, Body, FieldPath, Resource, ResourceId, TerraformId, format_path
from workbench.engine.masking import Seal, name_sealed_as, sealed_as, secret_texts_in, secret_values
from workbench.engine.release import Phase, Release, StepState, type_of
from workbench.engine.spec import Spec

_PROVIDER = ("provider", "providerMeta")


@dataclass(frozen=True, slots=True)
class Missing:
    """What the record does not hold and nothing proves; `path` is empty where it is about the whole resource."""

    id: ResourceId
    path: str
    why: str

    def __str__(self) -> str:
        return f"{self.id}{f': {self.path}' if self.path else ''}: {self.why}"


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """`resources` are whole only where nothing is `missing`. `given` are texts that were secret in the record."""

    resources: tuple[Resource, ...] = field(repr=False)
    missing: tuple[Missing, ...]
    given: frozenset[str] = field(default=frozenset(), repr=False)

    def spec(self, stack: str, rules: SecretRules, known: frozenset[str]) -> Spec:
        """Returns the Spec; `known` are secrets known beside those in it."""
        texts = secret_texts_in(self.given, self.resources) | secret_values(self.resources, rules)
        return Spec(stack, self.resources, secrets=known | texts, rules=rules)


@dataclass(frozen=True, slots=True)
class Known:
    """Where values may come from: bodies of a resource, as configured now or as found live."""

    bodies: Mapping[ResourceId, tuple[Body, ...]] = field(repr=False)

    def at(self, id_: ResourceId, path: FieldPath) -> Iterator[Any]:
        """Yields what stands at a path, in any element of the lists on the way: their order may have changed."""
        for body in self.bodies.get(id_, ()):
            yield from _at(body, path)

    def with_live(self, found: Iterable[tuple[ResourceId, Body]]) -> Known:
        bodies = dict(self.bodies)
        for id_, body in found:
            bodies[id_] = (*bodies.get(id_, ()), body)
        return Known(bodies)


def refusal(release: Release, places: Iterable[str]) -> str:
    """Returns why a release cannot be returned to, empty where it can. `places` are those the stack goes to now."""
    if release.phase is not Phase.SUCCEEDED:
        return (
            f"release {release.revision} did not succeed ({release.phase}): what the stack had as a whole was never so"
        )
    unsure = [each for each in release.resources.values() if each.state not in (StepState.DONE, StepState.KEPT)]
    if unsure:
        return f"release {release.revision} does not know what became of {unsure[0].address} ({unsure[0].state})"
    if not release.resources:
        return f"release {release.revision} has nothing: wb destroy takes everything away"
    now = set(places)
    had: dict[ResourceId, set[str]] = {}
    for address in release.resources:
        if not isinstance(address.id, TerraformId):
            had.setdefault(address.id, set()).add(address.cluster)
    for id_, then in sorted(had.items(), key=lambda item: str(item[0])):
        if then != now:
            return (
                f"release {release.revision} has {id_} in {', '.join(sorted(then))}, and the rollback goes to "
                f"{', '.join(sorted(now))}"
            )
    bodies: dict[ResourceId, Body] = {}
    for address, each in release.resources.items():
        if bodies.setdefault(address.id, each.attributes) != each.attributes:
            return f"release {release.revision} has not the same {address.id} in all of its clusters"
    return ""


def only_in(release: Release, places: Iterable[str]) -> Release:
    """Returns what a release has in these places and in Terraform."""
    kept = set(places)
    resources = {
        address: each
        for address, each in release.resources.items()
        if isinstance(address.id, TerraformId) or address.cluster in kept
    }
    return replace(release, resources=resources)


def rebuild(release: Release, seal: Seal, known: Known, configured: Spec | None) -> Rebuilt:
    """`seal` has the key of the release's digests; `configured` is what is said today, None where that is not known."""
    builder = _Builder(seal, known)
    resources: dict[ResourceId, Resource] = {}
    for address, each in release.resources.items():
        if address.id not in resources:
            body, sensitive = builder.body(address, each.attributes)
            extensions, why = _extensions(address.id, configured)
            if why:
                builder.missing.append(Missing(address.id, "", why))
            if sensitive:
                extensions = {**extensions, "sensitive": [*(extensions.get("sensitive") or ()), *sensitive]}
            resources[address.id] = Resource(address.id, type_of(address.id), body, each.depends_on, extensions)
    return Rebuilt(_in_order(resources), tuple(dict.fromkeys(builder.missing)), frozenset(builder.given))


def _in_order(resources: Mapping[ResourceId, Resource]) -> tuple[Resource, ...]:
    """Leaves out of dependencies what is not there any more, as what was taken away since it was recorded."""
    return tuple(
        replace(each, depends_on=tuple(other for other in each.depends_on if other in resources))
        for each in resources.values()
    )


def _extensions(id_: ResourceId, configured: Spec | None) -> tuple[Mapping[str, Any], str]:
    """Returns how a resource is handled besides its attributes, which no record holds, and why it is not known.

    For Terraform that is how its provider is configured, and all resources of a provider may say.
    """
    own = configured.get(id_) if configured is not None else None
    if own is not None:
        return own.extensions, ""
    if not isinstance(id_, TerraformId):
        return {}, ""
    same = [
        {name: each.extensions[name] for name in _PROVIDER if name in each.extensions}
        for each in configured or ()
        if isinstance(each.id, TerraformId)
        and (each.id.provider_namespace, each.id.provider) == (id_.provider_namespace, id_.provider)
    ]
    if same and all(each == same[0] for each in same):
        return {**same[0], "resourceType": id_.resource_type}, ""
    return {}, (
        "no release holds how its provider is configured, and nothing in the configuration says it now: "
        "put the resource back into the configuration"
    )


class _Builder:
    def __init__(self, seal: Seal, known: Known) -> None:
        self._seal, self._known = seal, known
        self.missing: list[Missing] = []
        self.given: set[str] = set()
        self._sensitive: list[str] = []

    def body(self, address: Address, recorded: Body) -> tuple[dict[str, Any], list[str]]:
        """Returns the body, and the paths in it that were secret, as `extensions.sensitive` has them."""
        self._sensitive = []
        body = {str(key): value for key, value in self._value(address.id, recorded, (), ()).items()}
        return body, self._sensitive

    def _value(self, id_: ResourceId, value: Any, path: FieldPath, shown: FieldPath) -> Any:
        """`path` has the names as they are, `shown` as they are recorded, for what is said."""
        if isinstance(value, Mapping):
            return {
                name: self._value(id_, each, (*path, name), (*shown, key))
                for key, each in value.items()
                for name in (self._name(id_, key, path, shown),)
            }
        if isinstance(value, list):
            return [self._value(id_, each, (*path, index), (*shown, index)) for index, each in enumerate(value)]
        if isinstance(value, str) and str(UNKNOWN) in value:
            self._miss(id_, shown, "the record does not hold its value, which was known only while applying")
            return value
        digest = sealed_as(value)
        if not digest:
            return value
        for each in self._known.at(id_, path):
            if self._seal.digest(each) == digest:
                self._give(id_, path, each)
                return each
        self._miss(id_, shown, "it was a secret, of which a release keeps a digest only, and it is another one by now")
        return value

    def _name(self, id_: ResourceId, key: Any, path: FieldPath, shown: FieldPath) -> Any:
        digest = name_sealed_as(key)
        if not digest:
            return key
        for found in self._known.at(id_, path):
            for name in found if isinstance(found, Mapping) else ():
                if self._seal.digest(name).startswith(digest):
                    self.given.add(str(name))
                    return name
        self._miss(id_, (*shown, key), "its name was a secret, of which a release keeps a digest only")
        return key

    def _give(self, id_: ResourceId, path: FieldPath, value: Any) -> None:
        if isinstance(value, str):
            self.given.add(value)
        self._sensitive.append(_text(path))

    def _miss(self, id_: ResourceId, path: FieldPath, why: str) -> None:
        self.missing.append(Missing(id_, format_path(path), why))


def _text(path: FieldPath) -> str:
    """Writes a path as `extensions.sensitive` has it; what no such path can name is hidden with all it is in."""
    writable = next((end for end, each in enumerate(path) if each == "" or '"' in str(each)), len(path))
    return "".join(f"[{step}]" if isinstance(step, int) else f'["{step}"]' for step in path[:writable])


def _at(value: Any, path: FieldPath) -> Iterator[Any]:
    if not path:
        yield value
    elif isinstance(path[0], int):
        for each in value if isinstance(value, list | tuple) else ():
            yield from _at(each, path[1:])
    elif isinstance(value, Mapping) and path[0] in value:
        yield from _at(value[path[0]], path[1:])


__all__ = ["Known", "Missing", "Rebuilt", "only_in", "rebuild", "refusal"]
