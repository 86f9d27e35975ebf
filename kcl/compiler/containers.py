"""Configurations, lists and the loops that make them, as lines of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from kcl.compiler.values import LastSites
from kcl.compiler.writing import Writing, names_in, united
from kcl.evaluator.attributes import item_sites, sites_of
from kcl.evaluator.configurations import OPERATORS, SITE_KINDS, computed_key, lower_entry, lower_list_item
from kcl.evaluator.environments import UNSET
from kcl.evaluator.lexical import ConfigScope, LoopScope, Scope, Variable, child, loop_variable
from kcl.evaluator.operations import iterate
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.sizes import MOST_ITEMS
from kcl.evaluator.union import merge_all, merge_entry
from kcl.evaluator.value import INSERT, UNDEFINED, KDict, KList
from kcl.syntax import ast

_MOST_LOOPS: Final = 12
"""Loops inside each other in one function; Python allows some more blocks."""


class Containers(Writing):
    """Writes configurations, lists, comprehensions and quantifiers."""

    _loops = 0

    def config(self, node: ast.Config, scope: Scope) -> str:
        """An atom for a configuration."""
        source = self.source
        inner = child(scope, ConfigScope)
        environment = self.environment
        source.line(lambda: self._unset(inner, environment))
        names = [_static_key(item, inner) for item in node.items]
        if _extends(node.items, names):
            return self._extension(node.items, inner)
        if None in names or len(set(names)) < len(names):
            result = source.assign(f"{source.constant(KDict)}()")
            self._add_items(node.items, inner, result)
            return self.knows(result, ("config", None))
        entries, sites, kinds = [], [], set()
        operators: dict[str, int] = {}
        pairs: list[tuple[str, str]] = []
        for item, name in zip(node.items, names, strict=True):
            assert isinstance(item, ast.Entry) and name is not None
            value, at = self._entry(item, name, inner)
            key = source.constant(name)
            entries.append(f"{key}: {value}")
            sites.append(f"{key}: {at}")
            pairs.append((value, at))
            kinds.add(self.kinds.get(value))
            if OPERATORS[item.op]:
                operators[name] = OPERATORS[item.op]
        kind = ("config", united(kinds))
        if self._are_fixed(pairs):
            whole = KDict({name: self.literals[value] for name, (value, _) in zip(names, pairs, strict=True) if name})
            whole.sites = {name: self.fixed[at] for name, (_, at) in zip(names, pairs, strict=True) if name} or None
            whole.operators = operators or None
            return self.knows(self.literal(whole), kind)
        result = source.assign(f"{source.constant(KDict.__new__)}({source.constant(KDict)})")
        if entries:
            source.line(f"{result}.update({{{', '.join(entries)}}})")
        shared = self.shared_sites(f"{{{', '.join(sites)}}}", [at for _, at in pairs]) if sites else "None"
        source.line(f"{result}.sites = {shared}")
        source.line(f"{result}.operators = {source.constant(operators or None)}")
        source.line(f"{result}.indexes = None; {result}.holder = ()")
        return self.knows(result, kind)

    def _extension(self, items: Sequence[ast.ConfigItem], scope: Scope) -> str:
        """An atom for `{**base, key = value}`.

        Mostly the keys are new, and nothing in the base says how it is to be merged: then nothing is. The sites are
        those of the base and of the entries, mostly the same as the last time.
        """
        source = self.source
        base, *entries = items
        assert isinstance(base, ast.Unpack)
        names = [name for name in (_static_key(item, scope) for item in entries) if name is not None]
        whole = self.value(base.value, scope)
        result = source.assign(f"{source.constant(KDict)}()")
        is_new = f"{source.constant(frozenset(names))}.isdisjoint({whole})"
        is_plain = f"isinstance({whole}, {source.constant(KDict)}) and not ({whole}.operators or {whole}.indexes)"
        plain = source.assign(f"{is_plain} and not {whole}.holder and {is_new}")
        source.line(f"if {plain}: {result}.update({whole})")
        with source.block("else:"):
            self._merge_all(base, whole, scope, result)
        all_sites = []
        operators: dict[str, int] = {}
        for item, name in zip(entries, names, strict=True):
            assert isinstance(item, ast.Entry)
            all_sites.append(self._put(item, name, scope, result, plain))
            if OPERATORS[item.op]:
                operators[name] = OPERATORS[item.op]
        written = ", ".join(f"{name!r}: {sites}" for name, sites in zip(names, all_sites, strict=True))
        moving = dict.fromkeys(each for each in all_sites if each not in self.fixed)
        last = source.constant(LastSites())
        with source.block(f"if {plain}:"):
            source.line(f"{result}.operators = {source.constant(operators or None)}")
            key = f"({', '.join([f'{whole}.sites', *moving])},)"
            with source.block(f"if {last}.key != {key}:"):
                source.line(f"{last}.key = {key}; {last}.sites = {{**({whole}.sites or {{}}), {written}}}")
            source.line(f"{result}.sites = {last}.sites")
        return self.knows(result, ("config", None))

    def _add_items(self, items: Sequence[ast.ConfigItem], scope: Scope, target: str) -> None:
        """Lines that add to a configuration one item after the other."""
        source = self.source
        for item in items:
            name = _static_key(item, scope)
            match item:
                case ast.Entry() if name is not None:
                    self._put(item, name, scope, target)
                case ast.Entry():
                    self.attributes.publish(names_in(item))
                    self.used.add(self.environment)
                    step = source.constant(lower_entry(item, scope))
                    source.line(f"{step}({self.environment}, {target})")
                case ast.Unpack():
                    self._unpack(item, scope, target)
                case ast.ConfigIf():
                    condition = self.value(item.cond, scope)
                    with source.block(f"if {condition}:"):
                        self._add_items(item.body, scope, target)
                    with source.block("else:"):
                        self._add_items(item.orelse, scope, target)

    def _unpack(self, item: ast.Unpack, scope: Scope, target: str) -> None:
        self._merge_all(item, self.value(item.value, scope), scope, target)

    def _merge_all(self, item: ast.Unpack, value: str, scope: Scope, target: str) -> None:
        """Lines that add the entries of a value to a configuration."""
        source = self.source
        span = source.constant(scope.module.where(item).span)
        with source.block(f"if {value} is not None and {value} is not {source.constant(UNDEFINED)}:"):
            self.fail_if(f"not isinstance({value}, {source.constant(KDict)})")
            source.line(f"{source.constant(merge_all)}({target}, {value}, {span})")

    def _are_fixed(self, pairs: Iterable[tuple[str, str]]) -> bool:
        """Whether values and sites are known before: what is made of them is made once, since nobody changes values."""
        return all(value in self.literals and at in self.fixed for value, at in pairs)

    def _entry(self, item: ast.Entry, name: str, scope: Scope) -> tuple[str, str]:
        site = scope.module.site(item.key, SITE_KINDS[item.op], item.value)
        value, sites = self.stored(item.value, scope, site, chooses=True)
        variable = scope.variables.get(name) or scope.declare(name, definite=False)
        self._bind(variable, value, sites)
        return value, sites

    def _bind(self, variable: Variable, value: str, sites: str) -> None:
        """Lines that keep a value where expressions read it, if any turn out to."""
        environment = self.environment

        def kept(slot: int | None, what: str) -> str | None:
            return None if slot is None or environment not in self.used else f"{environment}[{slot}] = {what}"

        self.source.line(lambda: kept(variable.slot, value))
        self.source.line(lambda: kept(variable.sites_slot, self.late(sites) or sites))

    def _unset(self, scope: Scope, environment: str) -> str | None:
        """The line that takes the values of an earlier time from the variables of a configuration."""
        slots = [variable.slot for variable in scope.variables.values() if variable.slot is not None]
        if not slots or environment not in self.used:
            return None
        unset = self.source.constant(UNSET)
        return "; ".join(f"{environment}[{slot}] = {unset}" for slot in slots)

    def _put(self, item: ast.Entry, name: str, scope: Scope, target: str, plain: str | None = None) -> str:
        """Lines that add an entry; where `plain` holds, no other has its key. Answers an atom for its own sites."""
        source = self.source
        site = scope.module.site(item.key, SITE_KINDS[item.op], item.value)
        value, sites = self.stored(item.value, scope, site, chooses=True)
        variable = scope.variables.get(name) or scope.declare(name, definite=False)
        span = source.constant(scope.module.where(item).span)
        arguments = f"{target}, {name!r}, {value}, {OPERATORS[item.op]}, None, {sites}, {span}"
        merge, bound = f"{source.constant(merge_entry)}({arguments})", f"{target}.sites_of({name!r})"
        if plain is None:
            source.line(merge)
        else:
            bound = f"{sites} if {plain} else {bound}"
            source.line(f"if {plain}: {target}[{name!r}] = {value}")
            with source.block("else:"):
                source.line(merge)
        self._bind(variable, f"{target}[{name!r}]", bound)
        return sites

    def list_(self, node: ast.List, scope: Scope) -> str:
        """An atom for a list."""
        if any(isinstance(item, (ast.Starred, ast.ListIf)) for item in node.items):
            return self._made_list(lambda made, at: self.add_list_items(node.items, scope, made, at))
        items: list[str] = []
        sites: list[str] = []
        kinds = set()
        for item in node.items:
            assert not isinstance(item, (ast.Starred, ast.ListIf))
            value, at = self.stored(item, scope, scope.module.site(item, SiteKind.LITERAL, item))
            items.append(value)
            sites.append(at)
            kinds.add(self.kinds.get(value))
        kind = ("list", united(kinds))
        if self._are_fixed(zip(items, sites, strict=True)):
            whole = KList([self.literals[each] for each in items], [self.fixed[each] for each in sites])
            return self.knows(self.literal(whole), kind)
        made = self.source.assign(f"{self.source.constant(KList.__new__)}({self.source.constant(KList)})")
        shared = self.shared_sites(f"[{', '.join(sites)}]", sites)
        self.source.line(f"{made}[:] = [{', '.join(items)}]; {made}.sites = {shared}")
        return self.knows(made, kind)

    def _made_list(self, fill: Callable[[str, str], None]) -> str:
        """An atom for a list that `fill` writes lines for: they add to its items and to their sites."""
        source = self.source
        items, sites = source.assign("[]"), source.assign("[]")
        fill(items, sites)
        made = source.assign(f"{source.constant(KList.__new__)}({source.constant(KList)})")
        source.line(f"{made}[:] = {items}; {made}.sites = {sites}")
        return self.knows(made, ("list", None))

    def add_list_items(
        self, items: Iterable[ast.ListItem], scope: Scope, target: str, sites: str, kind: SiteKind = SiteKind.LITERAL
    ) -> None:
        source = self.source
        for item in items:
            match item:
                case ast.Starred():
                    self.attributes.publish(names_in(item))
                    self.used.add(self.environment)
                    step = source.constant(lower_list_item(item, scope, kind))
                    source.line(f"{step}({self.environment}, {target}, {sites})")
                case ast.ListIf():
                    condition = self.value(item.cond, scope)
                    with source.block(f"if {condition}:"):
                        self.add_list_items(item.body, scope, target, sites)
                    with source.block("else:"):
                        self.add_list_items(item.orelse, scope, target, sites)
                case _:
                    value, at = self.stored(item, scope, scope.module.site(item, kind, item))
                    source.line(f"{target}.append({value}); {sites}.append({at})")

    # --- Loops ---

    def _each(self, clauses: Sequence[ast.CompClause], scope: Scope, body: Callable[[Scope], None]) -> None:
        """Lines that run those of `body` for each combination of the items."""
        if not clauses:
            body(scope)
            return
        first, *others = clauses
        container = self.value(first.iter, scope)
        inner = child(scope, LoopScope)
        with self._loop(container, container, first.targets, inner):
            for condition in first.conds:
                holds = self.value(condition, inner)
                self.source.line(f"if not {holds}: continue")
            self._each(others, inner, body)

    @contextmanager
    def _loop(self, container: str, placed: str, targets: Sequence[ast.Name], scope: Scope) -> Iterator[None]:
        """A loop over the items of a container; the sites of its variables are those that `placed` has of them."""
        source = self.source
        self._loops += 1
        if self._loops > _MOST_LOOPS or len(targets) > 2:
            raise TooDeep
        variables = [scope.declare(target.id) for target in targets]
        item = source.temporary()
        last = variables[-1]
        if len(variables) == 1:  # of a dict the keys, which have no sites
            listed = source.temporary()
            all_sites = source.constant(item_sites)
            source.line(lambda: None if last.sites_slot is None else f"{listed} = {all_sites}({placed})")
            at = f"{listed}[{item}[1]] if {listed} else ()"
        else:
            at = f"{source.constant(sites_of)}({placed}, {item}[1])"
        with source.block(f"for {item} in {source.constant(iterate)}({container}):"):
            environment = self.environment
            self.used.add(environment)
            if len(variables) == 1:
                source.line(f"{environment}[{variables[0].place()}] = {item}[0]")
            else:
                key, value = variables
                source.line(f"{environment}[{key.place()}] = {item}[1]; {environment}[{value.place()}] = {item}[2]")
                source.line(lambda: None if key.sites_slot is None else f"{environment}[{key.sites_slot}] = ()")
            source.line(lambda: None if last.sites_slot is None else f"{environment}[{last.sites_slot}] = {at}")
            yield
        self._loops -= 1

    def list_comprehension(self, node: ast.ListComp, scope: Scope) -> str:
        """An atom for a list."""

        def fill(items: str, sites: str) -> None:
            def element(inner: Scope) -> None:
                self.add_list_items([node.element], inner, items, sites, SiteKind.COMPREHENSION)
                self.fail_if(f"len({items}) > {MOST_ITEMS}")

            self._each(node.clauses, scope, element)

        return self._made_list(fill)

    def config_comprehension(self, node: ast.ConfigComp, scope: Scope) -> str:
        """An atom for a configuration."""
        source = self.source
        result = source.assign(f"{source.constant(KDict)}()")

        def entry(loop: Scope) -> None:
            inner = child(loop, ConfigScope)
            item = node.entry
            if isinstance(item, ast.Unpack):
                self._unpack(item, inner, result)
                return
            item = computed_key(item)
            if item.index is not None or OPERATORS[item.op] == INSERT:
                raise TooDeep
            site = inner.module.site(item.key, SiteKind.COMPREHENSION, item.value)
            value, sites = self.stored(item.value, inner, site, chooses=True)
            key = self.value(item.key, inner)
            self.fail_if(f"type({key}) is not str")
            span = source.constant(inner.module.where(item).span)
            arguments = f"{result}, {key}, {value}, {OPERATORS[item.op]}, None, {sites}, {span}"
            source.line(f"{source.constant(merge_entry)}({arguments})")

        self._each(node.clauses, scope, entry)
        return self.knows(result, ("config", None))

    def quantifier(self, node: ast.Quantifier, scope: Scope) -> str:
        """An atom for what `all`, `any`, `map` or `filter` gives."""
        if node.op is ast.QuantifierOp.FILTER:
            return self.closure(node, scope)
        source = self.source
        container = self.value(node.iter, scope)
        inner = child(scope, LoopScope)
        if node.op is ast.QuantifierOp.MAP:

            def fill(items: str, sites: str) -> None:
                with self._loop(container, container, node.targets, inner):
                    self._skip_unless(node.cond, inner)
                    self.add_list_items([node.body], inner, items, sites, SiteKind.COMPREHENSION)

            return self._made_list(fill)
        wants_all = node.op is ast.QuantifierOp.ALL
        result = source.assign(str(wants_all))
        with self._loop(container, "None", node.targets, inner):
            self._skip_unless(node.cond, inner)
            holds = self.value(node.body, inner)
            with source.block(f"if {'not ' if wants_all else ''}{holds}:"):
                source.line(f"{result} = {not wants_all}")
                source.line("break")
        return self.knows(result, "bool")

    def _skip_unless(self, condition: ast.Expr | None, scope: Scope) -> None:
        if condition is not None:
            holds = self.value(condition, scope)
            self.source.line(f"if not {holds}: continue")


class TooDeep(Exception):
    """An expression that there are no lines for, found too late to call its closure."""


def _extends(items: Sequence[ast.ConfigItem], names: Sequence[str | None]) -> bool:
    """Whether a configuration is another one and some entries, each with a key of its own."""
    own = names[1:]
    return len(items) > 1 and isinstance(items[0], ast.Unpack) and None not in own and len(set(own)) == len(own)


def _static_key(item: ast.ConfigItem, scope: Scope) -> str | None:
    """The key of an entry that says where it goes, None for everything else in a configuration."""
    if not isinstance(item, ast.Entry) or item.index is not None or OPERATORS[item.op] == INSERT:
        return None
    if isinstance(item.key, ast.Name) and loop_variable(scope, item.key.id) is None:
        return item.key.id
    return item.key.value if isinstance(item.key, ast.Str) else None
