"""What differs between two releases, or between one and what the configuration says. Pure.

A record has digests in place of secrets. Two of them under the same key tell whether the values were equal; under
different keys nobody can tell, which is then said and neither claimed to be a change nor to be none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kcl.records import dataclass, field
from kcl.secrecy.rules import SecretRules
from runtimes.base import Address, Body, ClusterIdentity, FieldPath, Sameness, compare
from workbench.engine.changes import ChangeClass, FieldChange, Op
from workbench.engine.diff import Difference, differences
from workbench.engine.events import Action
from workbench.engine.fields import MISSING
from workbench.engine.masking import Seal, is_sensitive, masked, sealed, sealed_as, sensitive_paths
from workbench.engine.place_kinds import KINDS
from workbench.engine.release import Phase, Release, ReleasedResource, StepState
from workbench.engine.spec import Spec


@dataclass(frozen=True, slots=True)
class Version:
    """One side: what each resource is given, as a record has it. `revision` is 0 for what the configuration says.

    `salt` names the key of its digests. `remarks` are sentences about what it is not.
    """

    name: str
    revision: int
    bodies: Mapping[Address, Body] = field(repr=False)
    salt: bytes = field(repr=False)
    clusters: Mapping[str, ClusterIdentity] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """`action` is what became of it from the one to the other: create, update or delete; none where only fields are
    `undecided`, of which nobody can tell whether they differ."""

    address: Address
    action: Action
    fields: tuple[FieldChange, ...] = ()
    undecided: tuple[FieldPath, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleaseChanges:
    stack: str
    before: Version
    after: Version
    changes: tuple[ResourceChange, ...]
    unchanged: int
    remarks: tuple[str, ...] = ()

    @property
    def is_different(self) -> bool:
        return any(each.action is not Action.NONE for each in self.changes)

    @property
    def is_certain(self) -> bool:
        return not any(each.undecided for each in self.changes)


def of_release(release: Release) -> Version:
    """Takes what a release gave its resources, or was to give where it did not end well: that is said."""
    remarks = []
    if release.phase is not Phase.SUCCEEDED:
        remarks.append(
            f"release {release.revision} did not succeed ({release.phase}): compared is what it was to give, "
            "without what it had not created yet"
        )
    unsure = [each for each in release.resources.values() if each.state not in (StepState.DONE, StepState.KEPT)]
    if unsure:
        remarks.append(f"release {release.revision} did not finish with {_named(unsure)}")
    bodies = {address: each.attributes for address, each in release.resources.items()}
    name = f"release {release.revision}"
    return Version(name, release.revision, bodies, release.salt, release.clusters, tuple(remarks))


def of_spec(spec: Spec, clusters: Iterable[str], seal: Seal, salt: bytes) -> Version:
    """Takes what a placed Spec says, sealed as a record of the key `salt` would have it."""
    seal = seal.knowing(spec.secrets, spec.rules)
    bodies = {
        Address(place, each.id): sealed(each.attributes, spec.hidden(each), seal)
        for kind in KINDS
        for each in spec
        if kind.holds(each.id)
        for place in kind.names(tuple(clusters))
    }
    return Version("the configuration", 0, bodies, salt)


def compare_versions(
    stack: str, before: Version, after: Version, *, seal: Seal, screen: Seal, rules: SecretRules
) -> ReleaseChanges:
    """`seal` has the key of `after`; `screen` masks what is shown."""
    comparison = _Comparison(seal, screen.knowing(frozenset(), rules), rules, is_one_key=before.salt == after.salt)
    changes: list[ResourceChange] = []
    unchanged = 0
    for address in sorted({**before.bodies, **after.bodies}):
        found = comparison.resource(address, before.bodies.get(address), after.bodies.get(address))
        if found is None:
            unchanged += 1
        else:
            changes.append(found)
    remarks = (*before.remarks, *after.remarks, *_other_clusters(before, after))
    return ReleaseChanges(stack, before, after, tuple(changes), unchanged, remarks)


def _other_clusters(before: Version, after: Version) -> Iterator[str]:
    for name in sorted(before.clusters.keys() & after.clusters.keys()):
        if compare(before.clusters[name], after.clusters[name]) is Sameness.OTHER:
            yield (
                f"{name} was another cluster: {before.clusters[name]} in {before.name}, "
                f"{after.clusters[name]} in {after.name}"
            )


def _named(resources: list[ReleasedResource]) -> str:
    shown = ", ".join(f"{each.address} ({each.state})" for each in resources[:5])
    return shown + (f" and {len(resources) - 5} more" if len(resources) > 5 else "")


@dataclass(frozen=True, slots=True)
class _Comparison:
    seal: Seal
    screen: Seal
    rules: SecretRules
    is_one_key: bool

    def resource(self, address: Address, before: Body | None, after: Body | None) -> ResourceChange | None:
        paths = tuple(
            path for body in (before, after) if body for path in sensitive_paths(address.id, body, self.rules)
        )
        if before is None or after is None:
            action = Action.CREATE if before is None else Action.DELETE
            found = differences(MISSING if before is None else before, MISSING if after is None else after, _by_name)
            return ResourceChange(address, action, tuple(self._field(each, paths) for each in found))
        fields: list[FieldChange] = []
        undecided: list[FieldPath] = []
        for each in differences(before, after, _by_name):
            match self._is_changed(each.before, each.after):
                case True:
                    fields.append(self._field(each, paths))
                case None:
                    undecided.append(self.screen.path(each.path))
        if not fields and not undecided:
            return None
        return ResourceChange(address, Action.UPDATE if fields else Action.NONE, tuple(fields), tuple(undecided))

    def _is_changed(self, before: Any, after: Any) -> bool | None:
        """Returns None where it cannot be told. The two differ as they are recorded."""
        if before is MISSING or after is MISSING:
            return True
        if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
            told = [
                False if one == other else self._is_changed(one, other)
                for one, other in zip(before, after, strict=True)
            ]
            return True if True in told else None if None in told else False
        one, other = sealed_as(before), sealed_as(after)
        if one and other:
            return True if self.is_one_key else None
        if one or other:
            # one of them was taken for a secret and the other was not: the digest tells whether it is the same value
            if not self.is_one_key:
                return None
            return self.seal.digest(after if one else before) != (one or other)
        return True

    def _field(self, each: Difference, paths: tuple[FieldPath, ...]) -> FieldChange:
        op = Op.ADD if each.before is MISSING else Op.REMOVE if each.after is MISSING else Op.CHANGE
        both = [value for value in (each.before, each.after) if value is not MISSING]
        hides_all = any(map(self._hides, both))
        before, after = (self._shown(value, each.path, paths, hides_all) for value in (each.before, each.after))
        is_masked = hides_all or is_sensitive(each.path, paths)
        return FieldChange(self.screen.path(each.path), op, ChangeClass.INTENDED, before, after, is_masked)

    def _hides(self, value: Any) -> bool:
        return bool(sealed_as(value)) or self.screen.hides(value)

    def _shown(self, value: Any, path: FieldPath, paths: tuple[FieldPath, ...], hides: bool) -> Any:
        if value is MISSING:
            return None
        if isinstance(value, list | Mapping):
            return self._without_digests(masked(value, paths, self.screen, path))
        return self.screen.mask(value) if hides else masked(value, paths, self.screen, path)

    def _without_digests(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: self._without_digests(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._without_digests(each) for each in value]
        return self.screen.mask(value) if sealed_as(value) else value


def _by_name(path: FieldPath) -> tuple[str, ...]:
    """How elements of lists are told apart: no cluster is asked for the keys that their type has."""
    return ("name",)


__all__ = ["ReleaseChanges", "ResourceChange", "Version", "compare_versions", "of_release", "of_spec"]
