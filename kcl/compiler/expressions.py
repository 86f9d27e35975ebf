"""Expressions as lines of Python.

An expression becomes statements that leave its value in an atom (`source.Source`), and, where it is *tracked*, its
sites in another. What has no lines of its own here is called as the closure that the evaluator makes of it; both kinds
of code find local variables in the same numbered slots, so they mix freely.

Nothing written here says where a failure happened: the evaluation is then done again by closures, which do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

from kcl.compiler import values
from kcl.compiler.source import Source
from kcl.evaluator import operations
from kcl.evaluator.attributes import load_attribute, sites_of
from kcl.evaluator.calls import static_schema
from kcl.evaluator.configurations import OPERATORS, SITE_KINDS, lower_item
from kcl.evaluator.expressions import module_selector
from kcl.evaluator.lexical import ConfigScope, Scope, Variable, candidates, child, is_local, loop_variable
from kcl.evaluator.lowering import is_tracked, lower, lower_tracked
from kcl.evaluator.names import imported_module
from kcl.evaluator.operations import INT64_MAX, INT64_MIN
from kcl.evaluator.provenance import SiteKind
from kcl.evaluator.runtime import UNSET, StartOver
from kcl.evaluator.sizes import MOST_CHARACTERS
from kcl.evaluator.union import bit_or, joined_sites
from kcl.evaluator.value import INSERT, UNDEFINED, KDict, KList, ModuleValue, Sites, Undefined, Value
from kcl.loader.program import ImportKind
from kcl.syntax import ast

_NOWHERE: Final = "()"
_ON_INTS: Final = (ast.BinaryOp.ADD, ast.BinaryOp.SUB, ast.BinaryOp.MUL)
_INTS: Final = (("int", "int"), ("int", "int?"), ("int?", "int"), ("int?", "int?"))
_KINDS: Final = {int: "int", float: "float", str: "str", bool: "bool", type(None): "none", Undefined: "none"}


# "int", "float", "str", "bool"; with a question mark after it, or None and Undefined, too; "none" for only those two;
# ("list", of items), ("config", of values), ("instance", schema). None where nothing is known.
Kind: TypeAlias = str | tuple[str, Any] | None


class Attributes(Protocol):
    """How the attributes of the instance that is being built are read."""

    def known(self, name: str) -> bool: ...

    def read(self, name: str) -> tuple[str, str]:
        """Atoms of the value and the sites of an attribute."""
        ...

    def publish(self, names: Iterable[str]) -> None:
        """Closures are going to read these names."""
        ...


class NoAttributes:
    """Where no instance is being built."""

    def known(self, name: str) -> bool:
        return False

    def read(self, name: str) -> tuple[str, str]:
        raise AssertionError(name)

    def publish(self, names: Iterable[str]) -> None:
        pass


class Expressions:
    """Writes expressions into a `Source`. `environment` is the atom of the local variables where the code runs."""

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
        self._fixed: dict[str, Sites] = {}

    # --- Values ---

    def value(self, node: ast.Expr, scope: Scope) -> str:
        """An atom for the value of an expression."""
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Int() if node.suffix is None:
                return self.literal(node.value)
            case ast.Float():
                return self.literal(node.value)
            case ast.Str():
                return self.literal(node.value)
            case ast.Paren():
                return self.value(node.value, scope)
            case ast.JoinedStr():
                return self._joined(node, scope, False)[0]
            case ast.Unary():
                return self._unary(node, scope)
            case ast.Binary():
                return self._binary(node, scope, False)[0]
            case ast.Compare():
                return self._compare(node, scope)
            case ast.IfExpr():
                return self._conditional(node, scope, False)[0]
            case ast.Name():
                return self._name(node, scope, False)[0]
            case ast.Selector():
                return self._selector(node, scope, False)[0]
            case ast.Subscript():
                return self._subscript(node, scope, False)[0]
            case ast.Config():
                return self._config(node, scope)
            case ast.List():
                return self._list(node, scope)
            case ast.SchemaExpr():
                return self._schema_expression(node, scope)
            case _:
                return self._closure(node, scope)

    def tracked(self, node: ast.Expr, scope: Scope) -> tuple[str, str]:
        """Atoms for the value of an expression and for its sites."""
        match node:
            case ast.Paren():
                return self.tracked(node.value, scope)
            case ast.JoinedStr():
                return self._joined(node, scope, True)
            case ast.Binary():
                return self._binary(node, scope, True)
            case ast.IfExpr():
                return self._conditional(node, scope, True)
            case ast.Name():
                return self._name(node, scope, True)
            case ast.Selector():
                return self._selector(node, scope, True)
            case ast.Subscript():
                return self._subscript(node, scope, True)
            case _ if is_tracked(node):
                value = self._closure(node, scope, tracked=True)
                return value, self.source.assign(f"{self.runtime(scope)}.origin")
            case _:
                return self.value(node, scope), _NOWHERE

    def stored(self, node: ast.Expr, scope: Scope, site: Sites, *, chooses: bool = False) -> tuple[str, str]:
        """Atoms for a value that is about to be stored, and for the sites to store with it (`lower_value`)."""
        if not is_tracked(node):
            return self.value(node, scope), self.sites(site)
        value, origin = self.tracked(node, scope)
        if origin == _NOWHERE:
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
        self._fixed[atom] = sites
        return atom

    def joined(self, first: str, second: str) -> str:
        """`joined_sites` of two atoms."""
        if second == _NOWHERE or first == second:
            return first
        if first == _NOWHERE:
            return second
        if first in self._fixed and second in self._fixed:
            return self.sites(joined_sites(self._fixed[first], self._fixed[second]))
        return self.source.assign(f"{self.source.constant(joined_sites)}({first}, {second})")

    # --- What everything else is made of ---

    def runtime(self, scope: Scope) -> str:
        return self.source.constant(scope.module.runtime)

    def _known(self, atom: str, kind: Kind) -> str:
        self.kinds[atom] = kind
        return atom

    def literal(self, value: Value) -> str:
        """An atom for a scalar."""
        atom = self.source.constant(value)
        self.literals[atom] = value
        return self._known(atom, _KINDS.get(type(value)))

    def _closure(self, node: ast.Expr, scope: Scope, *, tracked: bool = False) -> str:
        self.attributes.publish(names_in(node))
        self.used.add(self.environment)
        code = lower_tracked(node, scope) if tracked else lower(node, scope)
        return self.source.assign(f"{self.source.constant(code)}({self.environment})")

    def _constant(self, node: ast.Constant) -> str:
        match node.kind:
            case ast.ConstantKind.TRUE:
                return self.literal(True)
            case ast.ConstantKind.FALSE:
                return self.literal(False)
            case ast.ConstantKind.NONE:
                return self.literal(None)
            case ast.ConstantKind.UNDEFINED:
                return self.literal(UNDEFINED)

    def _joined(self, node: ast.JoinedStr, scope: Scope, tracked: bool) -> tuple[str, str]:
        if any(isinstance(part, ast.FormattedValue) and part.spec is not None for part in node.parts):
            value = self._closure(node, scope, tracked=tracked)
            return value, self.source.assign(f"{self.runtime(scope)}.origin") if tracked else _NOWHERE
        parts: list[str] = []
        sites = _NOWHERE
        for part in node.parts:
            if isinstance(part, str):
                parts.append(self.source.constant(part))
                continue
            value, origin = self.tracked(part.value, scope) if tracked else (self.value(part.value, scope), _NOWHERE)
            if self.kinds.get(value) != "str":
                to_str = self.source.constant(operations.to_str)
                value = self.source.assign(f"{value} if type({value}) is str else {to_str}({value})")
            parts.append(value)
            sites = self.joined(sites, origin)
        whole = self.source.assign(" + ".join(parts) if parts else "''")
        self._fail_if(f"len({whole}) > {MOST_CHARACTERS}")
        return self._known(whole, "str"), sites

    def _fail_if(self, condition: str) -> None:
        self.source.line(f"if {condition}: raise {self.source.constant(StartOver)}")

    def _unary(self, node: ast.Unary, scope: Scope) -> str:
        if node.op is ast.UnaryOp.NOT:
            value = self.value(node.operand, scope)
            return self._known(self.source.assign(f"not {value}"), "bool")
        if node.op is ast.UnaryOp.MINUS and isinstance(node.operand, ast.Int) and node.operand.suffix is None:
            return self.literal(-node.operand.value)
        return self._closure(node, scope)

    def _either(self, node: ast.Binary, scope: Scope, tracked: bool) -> tuple[str, str]:
        source = self.source
        result, sites = source.temporary(), source.temporary() if tracked else _NOWHERE

        def side(operand: ast.Expr) -> None:
            if tracked:
                value, origin = self.tracked(operand, scope)
                source.line(f"{result}, {sites} = {value}, {origin}")
            else:
                source.line(f"{result} = {self.value(operand, scope)}")

        side(node.left)
        with source.block(f"if {result}:" if node.op is ast.BinaryOp.AND else f"if not {result}:"):
            side(node.right)
        return result, sites

    def _binary(self, node: ast.Binary, scope: Scope, tracked: bool) -> tuple[str, str]:
        if node.op in (ast.BinaryOp.AND, ast.BinaryOp.OR):
            return self._either(node, scope, tracked)
        follows = tracked and (is_tracked(node.left) or is_tracked(node.right))
        if follows:
            left, left_sites = self.tracked(node.left, scope)
            right, right_sites = self.tracked(node.right, scope)
        else:
            left, right = self.value(node.left, scope), self.value(node.right, scope)
            left_sites = right_sites = _NOWHERE
        result = self._applied(node, scope, left, right)
        if not follows:
            return result, _NOWHERE
        sites = self.joined(left_sites, right_sites)
        if sites == _NOWHERE or isinstance(self.kinds.get(result), str):
            return result, sites
        return result, self.source.assign(f"() if isinstance({result}, (list, dict)) else {sites}")

    def _applied(self, node: ast.Binary, scope: Scope, left: str, right: str) -> str:
        source = self.source
        if node.op is ast.BinaryOp.BIT_OR:
            span = source.constant(scope.module.where(node).span)
            return source.assign(f"{source.constant(bit_or)}({left}, {right}, {span})")
        arithmetic = scope.module.runtime.arithmetic
        apply = source.constant(arithmetic.binary[node.op])
        kinds = (self.kinds.get(left), self.kinds.get(right))
        if node.op in _ON_INTS and arithmetic.is_wide and kinds in _INTS:
            # Anything but an int fails: there is no operation on None.
            unsure = [side for side, kind in zip((left, right), kinds, strict=True) if kind == "int?"]
            test = " and ".join(f"type({side}) is int" for side in unsure)
            otherwise = f" if {test} else {apply}({left}, {right})" if test else ""
            result = source.assign(f"{left} {node.op} {right}{otherwise}")
            source.line(f"if not {INT64_MIN} <= {result} <= {INT64_MAX}: raise {source.constant(StartOver)}")
            return self._known(result, "int")
        if node.op is ast.BinaryOp.ADD and "str" in (self.kinds.get(left), self.kinds.get(right)):
            other = right if self.kinds.get(left) == "str" else left
            test = "" if self.kinds.get(other) == "str" else f" if type({other}) is str else {apply}({left}, {right})"
            result = source.assign(f"{left} + {right}{test}")
            self._fail_if(f"len({result}) > {MOST_CHARACTERS}")
            return self._known(result, "str")
        return source.assign(f"{apply}({left}, {right})")

    def _compare(self, node: ast.Compare, scope: Scope) -> str:
        source = self.source
        left = self.value(node.left, scope)
        if len(node.ops) == 1:
            right = self.value(node.comparators[0], scope)
            return self._known(source.assign(self._compared(node.ops[0], left, right)), "bool")
        result = source.assign("True")
        depth = [source.block("if True:")]
        depth[0].__enter__()
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator, scope)
            source.line(f"{result} = bool({self._compared(op, left, right)})")
            deeper = source.block(f"if {result}:")
            deeper.__enter__()
            depth.append(deeper)
            left = right
        for block in reversed(depth):
            block.__exit__(None, None, None)
        return self._known(result, "bool")

    def _compared(self, op: ast.CompareOp, left: str, right: str) -> str:
        kind = self.kinds.get(right)
        if left in self.literals:
            kind = None
        slow = f"{self.source.constant(operations.COMPARISONS[op])}({left}, {right})"
        if op in ("==", "!="):
            if kind == "str":
                return f"{left} {op} {right}"
            if kind == "none":
                return f"{left} {'is' if op == '==' else 'is not'} {right}"
        if op in ("<", "<=", ">", ">=") and kind == "int":
            return f"{left} {op} {right} if type({left}) is int else {slow}"
        return slow

    def _conditional(self, node: ast.IfExpr, scope: Scope, tracked: bool) -> tuple[str, str]:
        source = self.source
        condition = self.value(node.cond, scope)
        result, sites = source.temporary(), source.temporary() if tracked else _NOWHERE
        kinds: list[Kind] = []
        for head, branch in ((f"if {condition}:", node.body), ("else:", node.orelse)):
            with source.block(head):
                if tracked:
                    value, origin = self.tracked(branch, scope)
                    source.line(f"{result}, {sites} = {value}, {origin}")
                else:
                    value = self.value(branch, scope)
                    source.line(f"{result} = {value}")
                kinds.append(self.kinds.get(value))
        return self._known(result, united(kinds)), sites

    # --- Names ---

    def _name(self, node: ast.Name, scope: Scope, tracked: bool) -> tuple[str, str]:
        slots, attribute_at = candidates(scope, node.id, tracked)
        return self._found(node, scope, slots, attribute_at, 0, tracked)

    def _found(
        self,
        node: ast.Name,
        scope: Scope,
        slots: Sequence[tuple[int, bool, int | None]],
        attribute_at: int | None,
        position: int,
        tracked: bool,
    ) -> tuple[str, str]:
        source, environment = self.source, self.environment
        if position == attribute_at and self.attributes.known(node.id):
            return self.attributes.read(node.id)
        if position == len(slots):
            return self._global(node, scope, tracked)
        slot, definite, sites_slot = slots[position]
        self.used.add(environment)
        unset = source.constant(UNSET)
        value = source.assign(f"{environment}[{slot}]")
        sites = _NOWHERE
        if tracked and sites_slot is not None:
            sites = source.assign(f"{environment}[{sites_slot}]")
            source.line(f"if {sites} is {unset}: {sites} = ()")
        if definite:
            return value, sites
        with source.block(f"if {value} is {unset}:"):
            other, other_sites = self._found(node, scope, slots, attribute_at, position + 1, tracked)
            source.line(f"{value} = {other}")
            if tracked and sites != _NOWHERE:
                source.line(f"{sites} = {other_sites}")
        return value, sites

    def _global(self, node: ast.Name, scope: Scope, tracked: bool) -> tuple[str, str]:
        module, name = scope.module, node.id
        package = module.scope
        if name in package.setters:
            return self._variable(package, name, scope, tracked)
        if name in package.types or name in package.aliases:
            return self.source.constant(package.member(name)), _NOWHERE
        imported = imported_module(module, name)
        if imported is not None:
            return self.source.constant(ModuleValue(imported.package)), _NOWHERE
        return self.source.constant(module.runtime.library.builtins.get(name, UNDEFINED)), _NOWHERE

    def _variable(self, package: Any, name: str, scope: Scope, tracked: bool) -> tuple[str, str]:
        value = self.source.assign(f"{self.source.constant(package)}.read({name!r})")
        return value, self.source.assign(f"{self.runtime(scope)}.origin") if tracked else _NOWHERE

    def _selector(self, node: ast.Selector, scope: Scope, tracked: bool) -> tuple[str, str]:
        member = self._module_member(node, scope, tracked)
        if member is not None:
            return member
        source = self.source
        value = self.value(node.value, scope)
        sites = _NOWHERE
        if tracked:
            sites = source.assign(f"{source.constant(sites_of)}({value}, {node.name!r})")
        load = f"{source.constant(load_attribute)}({self.runtime(scope)}, {value}, {node.name!r})"
        result = source.assign(
            f"{value}.get({node.name!r}, {source.constant(UNDEFINED)}) if isinstance({value}, dict) else "
            + (f"None if not {value} else {load}" if node.optional else load)
        )
        if node.optional:
            source.line(f"if not {value}: {result} = None")
        return result, sites

    def _module_member(self, node: ast.Selector, scope: Scope, tracked: bool) -> tuple[str, str] | None:
        """A member of an imported module; None if the selector selects from a value."""
        head = node.value
        if not isinstance(head, ast.Name) or node.optional or is_local(scope, head.id):
            return None
        module = scope.module
        if head.id in module.scope.setters:
            return None
        imported = imported_module(module, head.id)
        if imported is not None and imported.kind is ImportKind.PACKAGE:
            package = module.runtime.packages[imported.package]
            if node.name in package.types or node.name in package.aliases:
                return self.source.constant(package.member(node.name)), _NOWHERE
            if node.name in package.setters:
                return self._variable(package, node.name, scope, tracked)
        code = module_selector(node, scope)
        if code is None:
            return None
        self.used.add(self.environment)
        return self.source.assign(f"{self.source.constant(code)}({self.environment})"), _NOWHERE

    def _subscript(self, node: ast.Subscript, scope: Scope, tracked: bool) -> tuple[str, str]:
        source = self.source
        value, index = self.value(node.value, scope), self.value(node.index, scope)
        sites = source.assign(f"{source.constant(sites_of)}({value}, {index})") if tracked else _NOWHERE
        found = f"{source.constant(operations.subscript)}({value}, {index})"
        return source.assign(f"None if not {value} else {found}" if node.optional else found), sites

    # --- Containers ---

    def _config(self, node: ast.Config, scope: Scope) -> str:
        source = self.source
        inner = child(scope, ConfigScope)
        environment = self.environment
        source.line(lambda: self._unset(inner, environment))
        names = [_static_key(item, inner) for item in node.items]
        if None in names or len(set(names)) < len(names):
            result = source.assign(f"{source.constant(KDict)}()")
            for item, name in zip(node.items, names, strict=True):
                if name is not None and isinstance(item, ast.Entry):
                    self._put(item, name, inner, result)
                else:
                    self.attributes.publish(names_in(item))
                    self.used.add(self.environment)
                    step = source.constant(lower_item(item, inner))
                    source.line(f"{step}({self.environment}, {result})")
            return self._known(result, ("config", None))
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
            whole.sites = {name: self._fixed[at] for name, (_, at) in zip(names, pairs, strict=True) if name} or None
            whole.operators = operators or None
            return self._known(self.literal(whole), kind)
        result = source.assign(f"{source.constant(KDict.__new__)}({source.constant(KDict)})")
        if entries:
            source.line(f"{result}.update({{{', '.join(entries)}}})")
        source.line(f"{result}.sites = {{{', '.join(sites)}}}" if sites else f"{result}.sites = None")
        source.line(f"{result}.operators = {source.constant(operators or None)}")
        source.line(f"{result}.indexes = None; {result}.holder = ()")
        return self._known(result, kind)

    def _are_fixed(self, pairs: Iterable[tuple[str, str]]) -> bool:
        """Whether values and sites are known before: what is made of them is made once, since nobody changes values."""
        return all(value in self.literals and at in self._fixed for value, at in pairs)

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
        self.source.line(lambda: kept(variable.sites_slot, sites))

    def _unset(self, scope: Scope, environment: str) -> str | None:
        """The line that takes the values of an earlier time from the variables of a configuration."""
        slots = [variable.slot for variable in scope.variables.values() if variable.slot is not None]
        if not slots or environment not in self.used:
            return None
        unset = self.source.constant(UNSET)
        return "; ".join(f"{environment}[{slot}] = {unset}" for slot in slots)

    def _put(self, item: ast.Entry, name: str, scope: Scope, target: str) -> None:
        source = self.source
        site = scope.module.site(item.key, SITE_KINDS[item.op], item.value)
        value, sites = self.stored(item.value, scope, site, chooses=True)
        variable = scope.variables.get(name) or scope.declare(name, definite=False)
        span = source.constant(scope.module.where(item).span)
        arguments = f"{target}, {name!r}, {value}, {OPERATORS[item.op]}, {sites}, {span}"
        source.line(f"{source.constant(values.put)}({arguments})")
        self._bind(variable, f"{target}[{name!r}]", f"{target}.sites_of({name!r})")

    def _list(self, node: ast.List, scope: Scope) -> str:
        if any(isinstance(item, (ast.Starred, ast.ListIf)) for item in node.items):
            return self._closure(node, scope)
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
            whole = KList([self.literals[each] for each in items], [self._fixed[each] for each in sites])
            return self._known(self.literal(whole), kind)
        made = self.source.assign(f"{self.source.constant(KList.__new__)}({self.source.constant(KList)})")
        self.source.line(f"{made}[:] = [{', '.join(items)}]; {made}.sites = [{', '.join(sites)}]")
        return self._known(made, kind)

    def _schema_expression(self, node: ast.SchemaExpr, scope: Scope) -> str:
        schema = static_schema(node, scope)
        if schema is None or node.args or node.keywords or schema.node.params:
            return self._closure(node, scope)
        if not isinstance(node.config, ast.Config) or self.attributes.known(ast_head(node.name)):
            return self._closure(node, scope)
        runtime = self.runtime(scope)
        source = self.source
        source.line(f"{runtime}.schema_expression_depth += 1")
        config = self._config(node.config, scope)
        span = source.constant(scope.module.where(node.name).span)
        result = source.assign(f"{source.constant(schema)}.rebuild({config}, (), {{}}, {span})")
        source.line(f"{runtime}.schema_expression_depth -= 1")
        return self._known(result, ("instance", schema))


def united(kinds: Iterable[Kind]) -> Kind:
    """What is known of all values of the kinds."""
    found = set(kinds)
    if len(found) == 1:
        return found.pop()
    bases = {kind.rstrip("?") for kind in found if isinstance(kind, str) and kind != "none"}
    if len(bases) == 1 and all(isinstance(kind, str) for kind in found):
        return f"{bases.pop()}?"
    return None


def _static_key(item: ast.ConfigItem, scope: Scope) -> str | None:
    """The key of an entry that says where it goes, None for everything else in a configuration."""
    if not isinstance(item, ast.Entry) or item.index is not None or OPERATORS[item.op] == INSERT:
        return None
    if isinstance(item.key, ast.Name) and loop_variable(scope, item.key.id) is None:
        return item.key.id
    return item.key.value if isinstance(item.key, ast.Str) else None


def ast_head(name: ast.Name | ast.Selector) -> str:
    """The first segment of `a.b.c`."""
    value: ast.Expr = name
    while isinstance(value, ast.Selector):
        value = value.value
    assert isinstance(value, ast.Name)
    return value.id


def names_in(node: Any) -> Iterator[str]:
    """Every name that stands in an expression, a statement or an entry, whatever it means there."""
    pending: list[Any] = [node]
    while pending:
        found = pending.pop()
        if isinstance(found, ast.Name):
            yield found.id
        elif isinstance(found, ast.Node):
            pending.extend(getattr(found, name) for name in type(found).__match_args__)
            if isinstance(found, (ast.Target,)):
                yield found.name
        elif isinstance(found, (list, tuple)):
            pending.extend(found)
