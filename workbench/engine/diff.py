"""Field by field, what an apply would make of a live object: pure comparison of a runtime's prediction.

The infrastructure itself says what would come out (`Prediction.after`), so nothing here knows defaults, quantities or
admission. What is left to decide is whose doing each difference is; the classes are in changes.py, the rules are in
`_Judge`.

Lists whose elements have an identity are compared by it; other lists of mappings by position; lists of plain values as
one value, so that a reordered command line is a change. The order of identified elements counts too where the
infrastructure would change it: it decides, for one, the order of environment variables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import Any, Final

from kcl.records import dataclass, replace
from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base import (
    Basis,
    Body,
    FieldOwner,
    FieldPath,
    KubernetesId,
    ListKey,
    PathStep,
    Prediction,
    Resource,
    is_unknown,
    starts_with,
    value_at,
)
from runtimes.base.contents import MAPPINGS
from runtimes.base.documents import load_json
from workbench.engine.changes import Actor, ChangeClass, FieldChange, Op
from workbench.engine.fields import MISSING, find
from workbench.engine.masking import LAST_APPLIED, Seal, is_sensitive, masked, paths_of_kind, sealed, sensitive_paths
from workbench.engine.placement import OWNERSHIP
from workbench.engine.pod_updates import POD_TEMPLATE, RESTARTING, held_back
from workbench.engine.spec import Chain

OWN_MANAGER: Final = "workbench"
_IDENTITY: Final = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
_PEOPLE: Final = ("kubectl", "k9s", "lens", "headlamp", "octant", "mozilla", "curl", "node-fetch", "httpie")
# These own the defaults of what they created as well, so owning a field does not mean that somebody chose it.
_CREATORS: Final = frozenset({"kubectl-create", "kubectl-run", "kubectl-expose", "kubectl-replace"})
_CLIENT_SIDE_APPLY: Final = "kubectl-client-side-apply"


@dataclass(frozen=True, slots=True)
class Difference:
    """Two values at one path, `MISSING` on the side that has none."""

    path: FieldPath
    before: Any
    after: Any

    @property
    def op(self) -> Op:
        return Op.ADD if self.before is MISSING else Op.REMOVE if self.after is MISSING else Op.CHANGE


@dataclass(frozen=True, slots=True)
class Fields:
    """`defaulted` counts differences not listed. `claims` tells that labels of ownership would change."""

    shown: tuple[FieldChange, ...]
    defaulted: int
    claims: bool


Previous = Callable[[FieldPath], Any]


def diff_fields(
    prediction: Prediction,
    resource: Resource,
    *,
    previous: Body | None,
    record_seal: Seal,
    screen_seal: Seal,
    chain: Callable[[FieldPath], Chain] = lambda path: (),
    referenced: tuple[FieldPath, ...] = (),
    hidden: tuple[FieldPath, ...] | None = None,
    was_deleted: bool = False,
) -> Fields:
    """Compares what is live with what would be, for one resource.

    `previous` is what the last release applied, sealed with `record_seal`; None if there is none. Secrets in the
    result are masked with `screen_seal`. `referenced` are fields whose values come from another resource: the
    configuration says the same whatever that is, so they drifted only where somebody else set them. `hidden` is what
    `sensitive` says of the prediction, None where nobody asked it yet. `was_deleted`: what is live, if anything, is not
    what the last release left.
    """
    hidden = sensitive(prediction, screen_seal.rules) if hidden is None else hidden
    judge = _Judge(prediction, resource, previous, record_seal, screen_seal, chain, referenced, hidden)
    keys = identities(prediction)
    shown: list[FieldChange] = []
    defaulted = 0
    claims = False
    before = prediction.before if prediction.before is not None else {}
    for each in differences(before, prediction.after, keys):
        if is_ownership(each.path):
            claims, is_released = True, prediction.before is not None and not was_deleted
            if is_released and judge.class_of(each) is ChangeClass.DRIFT:
                # the last release set it, and no line of the source: somebody took it off or wrote another
                shown.append(replace(judge.change(each, ChangeClass.DRIFT), source=()))
            else:
                defaulted += 1
        elif prediction.before is None and each.path in _IDENTITY:
            continue
        elif (class_ := judge.class_of(each)) is ChangeClass.DEFAULTED:
            defaulted += 1  # half of what a new object has: nothing more is made of it
        else:
            shown.append(judge.change(each, class_))
    shown += judge.kept()
    return Fields(tuple(sorted(shown, key=lambda each: _order(each.path))), defaulted, claims)


def left_alone(prediction: Prediction, desired: Body) -> Mapping[FieldPath, FieldOwner]:
    """Returns what a person put into the live object and an apply would leave there, with who did it."""
    before = prediction.before
    if before is None or prediction.live is None:
        return {}
    found: dict[FieldPath, FieldOwner] = {}
    for owner in prediction.live.owners:
        path = owner.path
        if not _is_chosen(owner, before) or path in found or _is_bookkeeping(path):
            continue
        value = find(before, path)
        if value is MISSING or find(desired, path) is not MISSING:
            continue
        if same(value, find(prediction.after, path)):  # else it is a change already
            found[path] = owner
    return {path: owner for path, owner in found.items() if not _only_repeats_identity(path, found)}


def _is_chosen(owner: FieldOwner, live: Body) -> bool:
    """Tells whether a person set this field, rather than a program or a default."""
    if not is_of_people(owner.manager):
        return False
    if owner.manager.lower() == _CLIENT_SIDE_APPLY:
        return find(_last_applied(live), owner.path) is not MISSING
    return True


@lru_cache(maxsize=1 << 8)
def is_of_people(manager: str) -> bool:
    """Whether a field manager is a tool in somebody's hands, and no program that goes on by itself.

    Asked of each field of each object, which a handful of managers own.
    """
    name = manager.lower()
    return name.startswith(_PEOPLE) and name not in _CREATORS


def _last_applied(live: Body) -> Any:
    text = find(live, ("metadata", "annotations", LAST_APPLIED))
    try:
        return load_json(text) if isinstance(text, str) else {}
    except ValueError:
        return {}


def sensitive(prediction: Prediction, rules: SecretRules = BUILT_IN) -> tuple[FieldPath, ...]:
    """Returns what is secret in what is there and in what would be, by what the runtime says and by rule."""
    before, after = prediction.before, prediction.after
    if prediction.basis is Basis.OWNERSHIP and before is after and rules == BUILT_IN:
        # the runtime looked through what is there by these very rules (`LiveResource.hidden`): most of a large stack
        return tuple(dict.fromkeys((*prediction.sensitive, *paths_of_kind(prediction.id))))
    bodies = (after,) if before is None or before is after else (before, after)
    by_rule = (path for each in bodies for path in sensitive_paths(prediction.id, each, rules))
    return tuple(dict.fromkeys((*prediction.sensitive, *by_rule)))


def differences(
    before: Any, after: Any, keys: Callable[[FieldPath], tuple[str, ...]], path: FieldPath = ()
) -> Iterator[Difference]:
    """Yields the leaves that differ. What only one side has comes as leaves too; a list of plain values is a leaf."""
    if before is after:
        return  # the very same, as where nobody had to be asked what an apply makes of it
    if isinstance(before, MAPPINGS) or isinstance(after, MAPPINGS):
        if _is_map_or_missing(before) and _is_map_or_missing(after):
            yield from _in_maps(before, after, keys, path)
            return
    if isinstance(before, list) or isinstance(after, list):
        if _is_list_of_maps(before) and _is_list_of_maps(after):
            yield from _in_lists(before, after, keys, path)
            return
    if not same(before, after):
        yield Difference(path, before, after)


def same(one: Any, other: Any) -> bool:
    """Compares JSON-like values; `True` is not `1`, unlike in Python."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, MAPPINGS) and isinstance(other, MAPPINGS):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _is_map_or_missing(value: Any) -> bool:
    return isinstance(value, MAPPINGS) or value is MISSING


def _is_list_of_maps(value: Any) -> bool:
    return value is MISSING or (isinstance(value, list) and all(isinstance(each, MAPPINGS) for each in value))


def _in_maps(
    before: Any, after: Any, keys: Callable[[FieldPath], tuple[str, ...]], path: FieldPath
) -> Iterator[Difference]:
    left: Mapping[str, Any] = {} if before is MISSING else before
    right: Mapping[str, Any] = {} if after is MISSING else after
    if path and not left and not right and (before is MISSING) != (after is MISSING):
        yield Difference(path, before, after)  # `emptyDir: {}` says something although nothing is in it
    for key in dict.fromkeys((*left, *right)):
        yield from differences(left.get(key, MISSING), right.get(key, MISSING), keys, (*path, key))


def _in_lists(
    before: Any, after: Any, keys: Callable[[FieldPath], tuple[str, ...]], path: FieldPath
) -> Iterator[Difference]:
    left: list[Any] = [] if before is MISSING else before
    right: list[Any] = [] if after is MISSING else after
    if not left and not right:
        if (before is MISSING) != (after is MISSING):
            yield Difference(path, before, after)
        return
    names = keys(path)
    by_left = _by_identity(left, names)
    by_right = _by_identity(right, names, by_left or {})
    if by_left is None or by_right is None:
        for index in range(max(len(left), len(right))):
            old = left[index] if index < len(left) else MISSING
            new = right[index] if index < len(right) else MISSING
            yield from differences(old, new, keys, (*path, index))
        return
    kept = [each for each in by_left if each in by_right]
    if kept != [each for each in by_right if each in by_left]:
        yield Difference(path, [str(each) for each in by_left], [str(each) for each in by_right])
    for key in dict.fromkeys((*by_left, *by_right)):
        old, new = by_left.get(key, MISSING), by_right.get(key, MISSING)
        if old is MISSING or new is MISSING:
            yield from _one_sided(old, new, key, keys, (*path, key))
        else:
            yield from differences(old, new, keys, (*path, key))


def _one_sided(
    old: Any, new: Any, key: ListKey, keys: Callable[[FieldPath], tuple[str, ...]], path: FieldPath
) -> Iterator[Difference]:
    """An element that came or went: its leaves, without those its path already tells unless it has no others."""
    told = {name for name, _ in key.fields}
    leaves = list(differences(old, new, keys, path))
    others = [each for each in leaves if not (len(each.path) == len(path) + 1 and each.path[-1] in told)]
    yield from others or [Difference(path, old, new)]


def _by_identity(
    items: list[Any], names: tuple[str, ...], known: Collection[ListKey] = ()
) -> dict[ListKey, Any] | None:
    """Returns the elements by identity; None where they have none, or two share one.

    An element whose identity is not known before applying is taken for the one of `known` that it may be.
    """
    if not names:
        return None
    keys: list[ListKey] = []
    for each in items:
        told = {name: each.get(name) for name in names if not is_unknown(each.get(name))}
        said = tuple((name, value) for name, value in told.items() if isinstance(value, str | int))
        if not said and len(told) == len(names):
            return None
        keys.append(ListKey(said))
    for index, each in enumerate(items):
        if any(is_unknown(each.get(name)) for name in names):
            free = (key for key in known if key not in keys and set(keys[index].fields) <= set(key.fields))
            keys[index] = next(free, keys[index])
    return dict(zip(keys, items, strict=True)) if len(set(keys)) == len(keys) and all(k.fields for k in keys) else None


def identities(prediction: Prediction) -> Callable[[FieldPath], tuple[str, ...]]:
    """Returns what tells the keys that identify the elements of a list, none where nobody told any."""
    return lambda path: prediction.list_keys.get(tuple(each for each in path if isinstance(each, str)), ())


def _order(path: FieldPath) -> tuple[tuple[int, str], ...]:
    return tuple((1, f"{each:08}") if isinstance(each, int) else (0, str(each)) for each in path)


class _Judge:
    """Says whose doing a difference is, for one resource."""

    def __init__(
        self,
        prediction: Prediction,
        resource: Resource,
        previous: Body | None,
        record_seal: Seal,
        screen_seal: Seal,
        chain: Callable[[FieldPath], Chain],
        referenced: tuple[FieldPath, ...],
        hidden: tuple[FieldPath, ...],
    ) -> None:
        self._referenced, self._sensitive = referenced, hidden
        self._prediction, self._chain, self._screen = prediction, chain, screen_seal
        self._desired = resource.attributes
        self._previous, self._record = previous, record_seal
        self._owners: tuple[FieldOwner, ...] = prediction.live.owners if prediction.live else ()
        self._is_ours = any(each.manager == OWN_MANAGER for each in self._owners)
        self._kind = prediction.id.kind if isinstance(prediction.id, KubernetesId) else ""

    def class_of(self, difference: Difference) -> ChangeClass:
        return self._class(difference.path, difference.op)

    def change(self, difference: Difference, class_: ChangeClass) -> FieldChange:
        path = difference.path
        place = self._place(path)
        conflict = next((each for each in self._prediction.conflicts if _overlap(each.path, path)), None)
        actor = self._actor(path) if class_ is ChangeClass.DRIFT or conflict else None
        if actor is None and conflict is not None:
            actor = Actor(conflict.manager)
        # where one of two texts is secret, what the other was before or will be is as well
        texts = [each for each in (difference.before, difference.after) if isinstance(each, str)]
        hides_both = len(texts) == 2 and any(map(self._screen.hides, texts))
        return FieldChange(
            path=self._screen.path(path),
            op=difference.op,
            class_=class_,
            before=self._screen.mask(difference.before) if hides_both else self._shown(difference.before, place),
            after=self._screen.mask(difference.after) if hides_both else self._shown(difference.after, place),
            is_masked=self._hides(place)
            or self._screen.hides(difference.before)
            or self._screen.hides(difference.after),
            source=self._chain(path),
            actor=actor,
            is_conflict=conflict is not None,
            restarts=self._restarts(path),
            replaces=any(_overlap(each, path) for each in self._prediction.replaces),
        )

    def kept(self) -> list[FieldChange]:
        """What a person put into the live object and an apply would leave there."""
        return [
            FieldChange(
                path=self._screen.path(path),
                op=Op.KEPT,
                class_=ChangeClass.DRIFT,
                before=self._shown(value, self._place(path)),
                after=self._shown(value, self._place(path)),
                is_masked=self._hides(self._place(path)) or self._screen.hides(value),
                actor=self._by(owner),
            )
            for path, owner in left_alone(self._prediction, self._desired).items()
            for value in (find(self._prediction.before, path),)
        ]

    @cached_property
    def _now(self) -> Body:
        """What is configured, as a record has it. Sealed where something differs: in most objects nothing does."""
        found: Body = sealed(self._desired, self._sensitive, self._record)
        return found

    def _class(self, path: FieldPath, op: Op) -> ChangeClass:
        if find(self._desired, path) is MISSING:
            return self._class_unsaid(path, op)
        if self._previous is None:
            # No record of what was applied. What we applied once and another manager holds now was taken over.
            taken = self._is_ours and self._actor(path) is not None and not self._owns(path)
            return ChangeClass.DRIFT if taken else ChangeClass.INTENDED
        if any(_overlap(each, path) for each in self._referenced):
            return ChangeClass.DRIFT if self._actor(path) is not None else ChangeClass.INTENDED
        unchanged = same(self._recorded(self._now, path), self._recorded(self._previous, path))
        return ChangeClass.DRIFT if unchanged else ChangeClass.INTENDED

    def _class_unsaid(self, path: FieldPath, op: Op) -> ChangeClass:
        """The configuration does not have the field: it gave it up, somebody added it, or it just follows."""
        if self._previous is not None and self._recorded(self._previous, path) is not MISSING:
            return ChangeClass.INTENDED
        if op is Op.ADD:
            return ChangeClass.DEFAULTED
        if self._actor(path) is not None:
            return ChangeClass.DRIFT
        if op is Op.REMOVE and self._owns(path):
            return ChangeClass.INTENDED
        return ChangeClass.DEFAULTED

    def _recorded(self, body: Body, path: FieldPath) -> Any:
        """Returns what a record has at a path, in which names that are secret are sealed as well."""
        return find(body, self._record.path(path))

    def _owns(self, path: FieldPath) -> bool:
        return any(each.manager == OWN_MANAGER and _overlap(each.path, path) for each in self._owners)

    def _actor(self, path: FieldPath) -> Actor | None:
        """Returns the last other manager that set the field, or anything in it."""
        others = [each for each in self._owners if each.manager != OWN_MANAGER and _overlap(each.path, path)]
        if not others:
            return None
        last = max(others, key=lambda each: each.when.timestamp() if each.when else 0.0)
        return self._by(last)

    def _by(self, owner: FieldOwner) -> Actor:
        live = self._prediction.live
        return Actor(owner.manager, owner.operation, owner.when, live.ahead if live else timedelta())

    def _restarts(self, path: FieldPath) -> bool:
        is_of_pods = self._kind in RESTARTING and starts_with(path, POD_TEMPLATE)
        return is_of_pods and self._prediction.live is not None and not held_back(self._kind, self._prediction.after)

    def _place(self, path: FieldPath) -> FieldPath:
        """Returns the path with elements named as secret paths name them, where it counts them.

        Where nobody told how elements of a list are told apart, or two are alike, differences count them.
        """
        if not any(isinstance(step, int) for step in path):
            return path
        place: FieldPath = ()
        for length, step in enumerate(path, 1):
            place = (*place, self._named(path[:length], place) if isinstance(step, int) else step)
        return place

    def _named(self, path: FieldPath, place: FieldPath) -> PathStep:
        elements = [value_at(each, path) for each in (self._prediction.before, self._prediction.after)]
        for each in self._sensitive:
            if len(each) > len(place) and each[: len(place)] == place:
                named = each[len(place)]
                if isinstance(named, ListKey) and any(named.matches(element) for element in elements):
                    return named
        return path[-1]

    def _hides(self, path: FieldPath) -> bool:
        return is_sensitive(path, self._sensitive) or any(starts_with(each, path) for each in self._sensitive)

    def _shown(self, value: Any, path: FieldPath) -> Any:
        return None if value is MISSING else masked(value, self._sensitive, self._screen, path)


def _overlap(one: FieldPath, other: FieldPath) -> bool:
    return starts_with(one, other) or starts_with(other, one)


def is_ownership(path: FieldPath) -> bool:
    """Whether a field is a label that says whose an object is, which no line of the configuration sets."""
    return len(path) == 3 and path[:2] == ("metadata", "labels") and path[2] in OWNERSHIP


def _is_bookkeeping(path: FieldPath) -> bool:
    return path in (("metadata", "annotations"), ("metadata", "annotations", LAST_APPLIED)) or is_ownership(path)


def _only_repeats_identity(path: FieldPath, found: Collection[FieldPath]) -> bool:
    """`env[name=A].name` tells nothing beside `env[name=A].value`, nor an element's own entry beside its leaves."""
    if any(len(each) > len(path) and starts_with(each, path) for each in found):
        return True
    if len(path) < 2 or not isinstance(path[-2], ListKey):
        return False
    is_key = path[-1] in {name for name, _ in path[-2].fields}
    return is_key and any(each != path and starts_with(each, path[:-1]) for each in found)
