"""What every kind of expression is written with: atoms, what is known of them, and the sites that go with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol, TypeAlias

from kcl.compiler import values
from kcl.compiler.source import Source
from kcl.evaluator.lexical import Scope
from kcl.evaluator.lowering import is_tracked, lower, lower_tracked
from kcl.evaluator.runtime import StartOver
from kcl.evaluator.union import joined_sites
from kcl.evaluator.value import KDict, Sites, Undefined, Value
from kcl.syntax import ast

NOWHERE: Final = "()"
"""The atom of no sites."""
_KINDS: Final = {int: "int", float: "float", str: "str", bool: "bool", type(None): "none", Undefined: "none"}

# "int", "float", "str", "bool"; with a question mark after it, or None and Undefined, too; "none" for only those two;
# ("list", of items), ("config", of values), ("instance", schema). None where nothing is known.
Kind: TypeAlias = str | tuple[str, Any] | None


class Attributes(Protocol):
    """How the attributes of an instance are read where code runs inside its schema."""

    def known(self, name: str) -> bool:
        """Whether the name is an attribute."""
        ...

    def read(self, name: str) -> tuple[str, str]:
        """Atoms of the value and the sites of an attribute."""
        ...

    def publish(self, names: Iterable[str]) -> None:
        """Closures are going to read these names."""
        ...

    def followers(self, sites: str) -> Followers | None:
        """Of the atom of an attribute's sites what follows from them; None where they may change after all."""
        ...

    @property
    def may_have(self) -> bool:
        """Whether only the instance knows which attributes it has."""
        ...


class NoAttributes:
    """Of code that is not compiled for one schema: if it stands inside any, the instance it runs in is asked."""

    may_have = True

    def known(self, name: str) -> bool:
        return False

    def read(self, name: str) -> tuple[str, str]:
        raise AssertionError(name)

    def publish(self, names: Iterable[str]) -> None:
        pass

    def followers(self, sites: str) -> Followers | None:
        return None


class Followers:
    """What follows from the sites of one attribute, which other attributes take their value from.

    These are joined with sites that are known before, and stand in containers beside such. So one look whether they are
    those of the last time does for all, where they are known; each is an atom from there on. What there is of them is
    only known once the whole function is written, as the two lines are then.
    """

    def __init__(self, source: Source, first: str) -> None:
        self._source, self._first, self._last = source, first, values.Following()
        self._joined: dict[Sites, str] = {}
        self._containers: dict[str, str] = {}
        self._uses: dict[str, int] = {}
        self._places: str | None = None

    def joined(self, own: Sites) -> str:
        """An atom for them joined with `own`."""
        if own not in self._joined:
            self._joined[own] = self._source.temporary()
            self._last.own.append(own)
        atom = self._joined[own]
        self._uses[atom] = self._uses.get(atom, 0) + 1
        return atom

    def container(self, whole: str) -> str:
        """An atom for the sites of a container, which `whole` makes of what was joined here and of what is known."""
        atom = self._source.temporary()
        self._containers[atom] = whole
        return atom

    def leave(self, atom: str) -> None:
        """To be told by who was answered an atom by `joined`, and does not write it."""
        self._uses[atom] -= 1

    def late(self, atom: str) -> str:
        """What can be written everywhere instead of an atom that `joined` answered; it is looked up then."""
        if self._places is None:
            self._places = self._source.temporary("places")
        return f"{self._places}[{list(self._joined.values()).index(atom)}]"

    def looked_at(self) -> str | None:
        """The line that makes all of it anew where the sites are others; None where nothing follows."""
        if not self._joined:
            return None
        last, joined = self._source.constant(self._last), ", ".join(self._joined.values())
        places = [f"{last}.joined"] if self._places else []
        made = ", ".join([*places, *self._wanted(), *self._containers.values()])
        return f"if {last}.first is not {self._first}: {joined}, = {last}.join({self._first}); {last}.all = ({made},)"

    def taken(self) -> str | None:
        """The line that takes it, before anything runs that could make it anew: an instance inside of this one."""
        atoms = [*([self._places] if self._places else []), *self._wanted(), *self._containers]
        return f"{', '.join(atoms)}, = {self._source.constant(self._last)}.all" if atoms else None

    def _wanted(self) -> list[str]:
        return [atom for atom in self._joined.values() if self._uses[atom]]


class Writing:
    """Writes into a `Source`. `environment` is the atom of the local variables where the code runs."""

    def __init__(self, source: Source, attributes: Attributes) -> None:
        self.source = source
        self.attributes = attributes
        self.environment = "environment"
        self.used: set[str] = set()
        """The environments that the lines written so far need."""
        self.kinds: dict[str, Kind] = {}
        """What is known of the values of atoms."""
        self.literals: dict[str, Value] = {}
        """The values of atoms that are known before."""
        self.fixed: dict[str, Sites] = {}
        """The sites of atoms that are known before."""
        self._following: dict[str, Followers] = {}
        """The atoms that follow from the sites of an attribute."""

    def value(self, node: ast.Expr, scope: Scope) -> str:
        """An atom for the value of an expression."""
        raise NotImplementedError

    def tracked(self, node: ast.Expr, scope: Scope) -> tuple[str, str]:
        """Atoms for the value of an expression and for its sites."""
        raise NotImplementedError

    def operand(self, node: ast.Expr, scope: Scope, tracked: bool) -> tuple[str, str]:
        """`tracked` or, with no sites, `value`."""
        return self.tracked(node, scope) if tracked else (self.value(node, scope), NOWHERE)

    def stored(self, node: ast.Expr, scope: Scope, site: Sites, *, chooses: bool = False) -> tuple[str, str]:
        """Atoms for a value that is about to be stored, and for the sites to store with it (`lower_value`)."""
        if not is_tracked(node):
            return self.value(node, scope), self.sites(site)
        value, origin = self.tracked(node, scope)
        if origin == NOWHERE:
            return value, self.sites(site)
        if chooses and not isinstance(self.kinds.get(value), str):
            held = self.source.temporary()
            self.source.line(f"{held} = {value}")
            test = f"isinstance({value}, {self.source.constant(KDict)})"
            self.source.line(f"if {origin} and {test}: {held} = {value}.held({self.sites(site)})")
            value = held
        return value, self.joined(origin, self.sites(site))

    # --- Sites ---

    def sites(self, sites: Sites) -> str:
        atom = self.source.constant(sites)
        self.fixed[atom] = sites
        return atom

    def joined(self, first: str, second: str) -> str:
        """`joined_sites` of two atoms."""
        if second == NOWHERE or first == second:
            return first
        if first == NOWHERE:
            return second
        if first in self.fixed and second in self.fixed:
            return self.sites(joined_sites(self.fixed[first], self.fixed[second]))
        if second in self.fixed:
            # Mostly the same sites as the last time are joined here: they are compared, not looked up.
            followers = self.attributes.followers(first)
            if followers is not None:
                atom = followers.joined(self.fixed[second])
                self._following[atom] = followers
                return atom
            last = self.source.constant(values.LastJoined(self.fixed[second]))
            return self.source.assign(f"{last}.joined if {last}.first is {first} else {last}.join({first})")
        return self.source.assign(f"{self.source.constant(joined_sites)}({first}, {second})")

    def late(self, sites: str) -> str | None:
        """What an atom of sites can also be written as, wherever they are seldom needed; None if they do not follow."""
        if sites == NOWHERE or sites in self.fixed:
            return sites
        return self._following[sites].late(sites) if sites in self._following else None

    def leave(self, sites: str) -> None:
        """To be told by who was answered an atom of sites, and does not write it where it is."""
        if sites in self._following:
            self._following[sites].leave(sites)

    def shared_sites(self, whole: str, parts: Iterable[str]) -> str:
        """An atom for the sites of a container, which `whole` makes of the atoms `parts`.

        Mostly they are those of the container that was made here the last time, which nobody changes.
        """
        source = self.source
        parts = list(parts)
        moving = [each for each in dict.fromkeys(parts) if each not in self.fixed and each != NOWHERE]
        if len(moving) == 1 and moving[0] in self._following:
            for each in parts:
                self.leave(each)
            return self._following[moving[0]].container(whole)
        last = source.constant(values.LastSites())
        match moving:
            case []:
                key, test = "True", f"{last}.key is None"
            case [only]:
                key, test = only, f"{last}.key is not {only}"
            case _:
                key = source.assign(f"({', '.join(moving)})")
                test = f"{last}.key != {key}"
        with source.block(f"if {test}:"):
            source.line(f"{last}.key = {key}; {last}.sites = {whole}")
        return f"{last}.sites"

    # --- What everything else is made of ---

    def runtime(self, scope: Scope) -> str:
        """The atom of the state of the evaluation."""
        return self.source.constant(scope.module.runtime)

    def knows(self, atom: str, kind: Kind) -> str:
        """Notes what is known of the value of an atom."""
        self.kinds[atom] = kind
        return atom

    def literal(self, value: Value) -> str:
        """An atom for a scalar."""
        atom = self.source.constant(value)
        self.literals[atom] = value
        return self.knows(atom, _KINDS.get(type(value)))

    def called(self, code: object) -> str:
        """What calling code of the evaluator in the present environment is written as."""
        self.used.add(self.environment)
        return f"{self.source.constant(code)}({self.environment})"

    def closure(self, node: ast.Expr, scope: Scope, *, tracked: bool = False) -> str:
        """An atom for what the closure answers that the evaluator makes of the expression."""
        self.attributes.publish(names_in(node))
        code = lower_tracked(node, scope) if tracked else lower(node, scope)
        return self.source.assign(self.called(code))

    def origin(self, scope: Scope) -> str:
        """An atom for the sites that code of the evaluator has just left."""
        return self.source.assign(f"{self.runtime(scope)}.origin")

    def fail_if(self, condition: str) -> None:
        """A line that gives up where the condition holds."""
        self.source.line(f"if {condition}: raise {self.source.constant(StartOver)}")


def united(kinds: Iterable[Kind]) -> Kind:
    """What is known of all values of the kinds."""
    found = set(kinds)
    if len(found) == 1:
        return found.pop()
    bases = {kind.rstrip("?") for kind in found if isinstance(kind, str) and kind != "none"}
    if len(bases) == 1 and all(isinstance(kind, str) for kind in found):
        return f"{bases.pop()}?"
    return None


def head_of(name: ast.Name | ast.Selector) -> str:
    """The first segment of `a.b.c`."""
    value: ast.Expr = name
    while isinstance(value, ast.Selector):
        value = value.value
    assert isinstance(value, ast.Name)
    return value.id


def names_in(node: Any) -> Iterator[str]:
    """Every name that an expression, a statement or an entry may read, whatever it means there."""
    pending: list[Any] = [node]
    while pending:
        found = pending.pop()
        match found:
            case ast.Name():
                yield found.id
            case ast.Entry(key=ast.Name()):
                pending += [found.index, found.value]  # the key is a word
            case ast.ConfigComp():
                pending += [found.clauses, found.entry]
                if isinstance(found.entry, ast.Entry):
                    pending.append(found.entry.key)  # there it is a variable
            case ast.Node():
                pending.extend(getattr(found, name) for name in type(found).__match_args__)
                if isinstance(found, ast.Target):
                    yield found.name
            case list() | tuple():
                pending.extend(found)
            case _:
                pass
