"""Which of its resources a plan is to be about: what `--only` and `--skip` say, and what follows for the others.

What a chosen resource needs comes along, as it cannot be right without it. What needs a skipped resource is left out
with it. What is only ordered after another one (deletions, which a cluster does last) needs it not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from glob import escape

from kcl.records import dataclass
from runtimes.base import Address, Body, KubernetesId, ResourceId, RuntimeType
from workbench.engine.errors import EngineError
from workbench.engine.placement import component
from workbench.engine.release import type_of

FORMS = "KIND/NAME, NAMESPACE/KIND/NAME, an id, or component=, kind=, namespace=, cluster=, runtime=; each @CLUSTER too"
_MOST_NAMED = 3


class BadChoice(EngineError):
    """What `--only` or `--skip` says is no selector, or fits nothing that the stack has."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A resource in a place, as selectors see it; `body` is empty where nothing says what is in it."""

    address: Address
    body: Body

    @property
    def component(self) -> str:
        return component(self.body) if isinstance(self.address.id, KubernetesId) else ""


@dataclass(frozen=True, slots=True)
class Selector:
    """`key` is empty for a pattern over names; `place` is a pattern too, `*` for every place."""

    text: str
    key: str
    pattern: str
    place: str = "*"

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Raises `BadChoice`."""
        said = text.strip()
        what, at, place = said.rpartition("@")
        if not at:
            what, place = said, "*"
        key, equals, pattern = what.partition("=")
        if equals and (key not in _FACTS or not pattern):
            raise BadChoice(f"{text!r} selects by nothing that is known", hint=f"give {FORMS}")
        if not equals:
            key, pattern = "", what or ("*" if at else "")
        is_name = any(each in pattern for each in "/:*")
        if not place or not pattern or (not key and not is_name):
            near = f"component={pattern} or '*/{pattern}'" if pattern else "a name"
            raise BadChoice(f"{text!r} is no selector of resources", hint=f"give {near}; the forms are: {FORMS}")
        return cls(text, key, pattern, place)

    @classmethod
    def of(cls, address: Address) -> Selector:
        """Returns the one that fits this resource there and no other."""
        pattern, place = escape(str(address.id)), escape(address.cluster)
        return cls(f"{pattern}@{place}", "", pattern, place)

    def fits(self, subject: Subject) -> bool:
        if not fnmatchcase(subject.address.cluster, self.place):
            return False
        if self.key:
            fact = _FACTS[self.key](subject)
            return bool(fact) and fnmatchcase(fact, self.pattern)
        return any(fnmatchcase(each, self.pattern) for each in _names(subject.address.id))


def _runtime(subject: Subject) -> str:
    return type_of(subject.address.id).value.lower()


_FACTS = {
    "component": lambda each: each.component,
    "kind": lambda each: _kind(each.address.id),
    "namespace": lambda each: each.address.id.namespace if isinstance(each.address.id, KubernetesId) else "",
    "cluster": lambda each: each.address.cluster if type_of(each.address.id) is RuntimeType.KUBERNETES else "",
    "runtime": _runtime,
}


def _kind(id_: ResourceId) -> str:
    return id_.kind if isinstance(id_, KubernetesId) else id_.resource_type


def _names(id_: ResourceId) -> Iterator[str]:
    yield f"{_kind(id_)}/{id_.name}"
    yield str(id_)
    if isinstance(id_, KubernetesId) and id_.namespace:
        yield f"{id_.namespace}/{id_.kind}/{id_.name}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What was not chosen although it is to be changed, or cannot be; `because` is the skipped resource it needs."""

    address: Address
    what: str
    because: Address | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What a choice made of a plan.

    `only` and `skip` are the selectors as they were given. `resources` is everything it is about, changed or not.
    `along` maps what was not asked for to what needs it.
    """

    only: tuple[str, ...]
    skip: tuple[str, ...]
    resources: frozenset[Address]
    along: Mapping[Address, Address]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def said(self) -> str:
        """Returns the choice as it is given on a command line."""
        return " ".join([*(f"--only {each}" for each in self.only), *(f"--skip {each}" for each in self.skip)])


@dataclass(frozen=True, slots=True)
class Choice:
    """Everything, unless something is said."""

    only: tuple[Selector, ...] = ()
    skip: tuple[Selector, ...] = ()

    @classmethod
    def of(cls, only: Iterable[str], skip: Iterable[str]) -> Choice:
        """Raises `BadChoice`."""
        return cls(tuple(map(Selector.parse, only)), tuple(map(Selector.parse, skip)))

    def __bool__(self) -> bool:
        return bool(self.only or self.skip)

    def fitting(self, subjects: Collection[Subject]) -> frozenset[Address]:
        """Returns what `only` fits. Raises `BadChoice` for a selector that fits nothing."""
        for each in self.only:
            if not any(each.fits(one) for one in subjects):
                raise _fits_nothing(each, subjects)
        return frozenset(one.address for one in subjects if any(each.fits(one) for each in self.only))

    def of_plan(
        self,
        subjects: Collection[Subject],
        concerned: Mapping[Address, str],
        needs: Mapping[Address, Collection[Address]],
    ) -> Part:
        """Returns the part of these resources. Raises `BadChoice` for a selector that fits none of them.

        `concerned` says what is to be done about those that are not as they should be; `needs` gives what each of these
        cannot be without, among them.
        """
        for each in (*self.only, *self.skip):
            if not any(each.fits(one) for one in subjects):
                raise _fits_nothing(each, subjects)
        skipped = {one.address for one in subjects if any(each.fits(one) for each in self.skip)}
        because = _without(skipped, concerned, needs)
        asked = {one.address for one in subjects if not self.only or any(each.fits(one) for each in self.only)}
        asked -= because.keys() | skipped
        along = _along(asked, needs)
        left_out = tuple(
            LeftOut(each, what, because.get(each))
            for each, what in concerned.items()
            if each not in asked and each not in along
        )
        return Part(
            tuple(each.text for each in self.only),
            tuple(each.text for each in self.skip),
            frozenset(asked | along.keys()),
            along,
            left_out,
        )


EVERYTHING = Choice()


def _without(
    skipped: Collection[Address], concerned: Mapping[Address, str], needs: Mapping[Address, Collection[Address]]
) -> dict[Address, Address]:
    """Returns what cannot be right without the skipped, and which of them that is; what is as it should be is there."""
    found: dict[Address, Address] = {}
    behind = {each: each for each in skipped if each in concerned}
    is_growing = True
    while is_growing:
        is_growing = False
        for each, needed in needs.items():
            if each not in behind and (why := next((behind[one] for one in sorted(needed) if one in behind), None)):
                behind[each] = found[each] = why
                is_growing = True
    return found


def _along(asked: Collection[Address], needs: Mapping[Address, Collection[Address]]) -> dict[Address, Address]:
    found: dict[Address, Address] = {}
    todo = sorted(asked)
    while todo:
        each = todo.pop()
        for needed in sorted(needs.get(each, ())):
            if needed not in asked and needed not in found:
                found[needed] = each
                todo.append(needed)
    return found


def _fits_nothing(selector: Selector, subjects: Collection[Subject]) -> BadChoice:
    if selector.key:
        known = sorted({_FACTS[selector.key](each) for each in subjects} - {""})
        known = [f"{selector.key}={each}" for each in known]
    else:
        known = sorted({next(_names(each.address.id)) for each in subjects})
    near = get_close_matches(selector.text, known, n=_MOST_NAMED) or known[:_MOST_NAMED]
    more = f" and {len(known) - len(near)} more" if len(known) > len(near) else ""
    hint = f"it has {', '.join(near)}{more}" if near else "it has nothing of that kind"
    return BadChoice(f"{selector.text!r} fits nothing of the stack", hint=hint)
