"""Expressions as lines of Python.

An expression becomes statements that leave its value in an atom (`source.Source`), and, where it is *tracked*, its
sites in another. What has no lines of its own here is called as the closure that the evaluator makes of it; both kinds
of code find local variables in the same numbered slots, so they mix freely.

Nothing written here says where a failure happened: the evaluation is then done again by closures, which do.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final

from kcl.compiler import values
from kcl.compiler.calls import Calls
from kcl.compiler.containers import Containers
from kcl.compiler.types import allowed_items, fits
from kcl.compiler.writing import NOWHERE, Kind, united
from kcl.evaluator import operations
from kcl.evaluator.attributes import sites_of
from kcl.evaluator.environments import UNSET
from kcl.evaluator.expressions import module_selector
from kcl.evaluator.lexical import GlobalScope, Scope, candidates, in_schema, is_local
from kcl.evaluator.lowering import constant_value, is_tracked
from kcl.evaluator.names import imported_module
from kcl.evaluator.operations import INT64_MAX, INT64_MIN
from kcl.evaluator.runtime import StartOver
from kcl.evaluator.runtime_types import BasicRuntimeType, InstanceType, RuntimeType
from kcl.evaluator.sizes import MOST_CHARACTERS
from kcl.evaluator.union import bit_or
from kcl.evaluator.value import UNDEFINED, KDict, ModuleValue, SchemaInstance
from kcl.loader.program import ImportKind
from kcl.syntax import ast

_ON_INTS: Final = (ast.BinaryOp.ADD, ast.BinaryOp.SUB, ast.BinaryOp.MUL)
_INTS: Final = (("int", "int"), ("int", "int?"), ("int?", "int"), ("int?", "int?"))


class Expressions(Containers, Calls):
    """Writes every kind of expression."""

    # --- Values ---

    def value(self, node: ast.Expr, scope: Scope) -> str:  # noqa: C901, PLR0912  # one case for each kind of node
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
                return self.config(node, scope)
            case ast.List():
                return self.list_(node, scope)
            case ast.ListComp():
                return self.list_comprehension(node, scope)
            case ast.ConfigComp():
                return self.config_comprehension(node, scope)
            case ast.Quantifier():
                return self.quantifier(node, scope)
            case ast.Call():
                return self.call(node, scope, False)[0]
            case ast.SchemaExpr():
                return self.schema_expression(node, scope)
            case _:
                return self.closure(node, scope)

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
            case ast.Call():
                return self.call(node, scope, True)
            case _ if is_tracked(node):
                value = self.closure(node, scope, tracked=True)
                return value, self.origin(scope)
            case _:
                return self.value(node, scope), NOWHERE

    def _constant(self, node: ast.Constant) -> str:
        return self.literal(constant_value(node))

    def _joined(self, node: ast.JoinedStr, scope: Scope, tracked: bool) -> tuple[str, str]:
        if any(isinstance(part, ast.FormattedValue) and part.spec is not None for part in node.parts):
            value = self.closure(node, scope, tracked=tracked)
            return value, self.origin(scope) if tracked else NOWHERE
        parts: list[str] = []
        sites = NOWHERE
        for part in node.parts:
            if isinstance(part, str):
                parts.append(self.source.constant(part))
                continue
            value, origin = self.tracked(part.value, scope) if tracked else (self.value(part.value, scope), NOWHERE)
            if self.kinds.get(value) != "str":
                to_str = self.source.constant(operations.to_str)
                value = self.source.assign(f"{value} if type({value}) is str else {to_str}({value})")
            parts.append(value)
            sites = self.joined(sites, origin)
        whole = self.source.assign(" + ".join(parts) if parts else "''")
        self.fail_if(f"len({whole}) > {MOST_CHARACTERS}")
        return self.knows(whole, "str"), sites

    def _unary(self, node: ast.Unary, scope: Scope) -> str:
        if node.op is ast.UnaryOp.NOT:
            value = self.value(node.operand, scope)
            return self.knows(self.source.assign(f"not {value}"), "bool")
        if node.op is ast.UnaryOp.MINUS and isinstance(node.operand, ast.Int) and node.operand.suffix is None:
            if node.operand.value != INT64_MIN:
                return self.literal(-node.operand.value)
        return self.closure(node, scope)

    def _either(self, node: ast.Binary, scope: Scope, tracked: bool) -> tuple[str, str]:
        source = self.source
        result, sites = source.temporary(), source.temporary() if tracked else NOWHERE

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
            left_sites = right_sites = NOWHERE
        result = self._applied(node, scope, left, right)
        if not follows:
            return result, NOWHERE
        sites = self.joined(left_sites, right_sites)
        if sites == NOWHERE or isinstance(self.kinds.get(result), str):
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
            return self.knows(result, "int")
        if node.op is ast.BinaryOp.ADD and "str" in (self.kinds.get(left), self.kinds.get(right)):
            other = right if self.kinds.get(left) == "str" else left
            test = "" if self.kinds.get(other) == "str" else f" if type({other}) is str else {apply}({left}, {right})"
            result = source.assign(f"{left} + {right}{test}")
            self.fail_if(f"len({result}) > {MOST_CHARACTERS}")
            return self.knows(result, "str")
        return source.assign(f"{apply}({left}, {right})")

    def _compare(self, node: ast.Compare, scope: Scope) -> str:
        source = self.source
        left = self.value(node.left, scope)
        if len(node.ops) == 1:
            right = self.value(node.comparators[0], scope)
            return self.knows(source.assign(self._compared(node.ops[0], left, right)), "bool")
        result = source.assign("True")
        with ExitStack() as nested:
            for op, comparator in zip(node.ops, node.comparators, strict=True):
                nested.enter_context(source.block(f"if {result}:"))
                right = self.value(comparator, scope)
                source.line(f"{result} = bool({self._compared(op, left, right)})")
                left = right
        return self.knows(result, "bool")

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
        result, sites = source.temporary(), source.temporary() if tracked else NOWHERE
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
        return self.knows(result, united(kinds)), sites

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
        if position == attribute_at and self.attributes.may_have:
            return self._found_in_frame(node, scope, slots, position, tracked)
        if position == len(slots):
            return self._global(node, scope, tracked)
        slot, definite, sites_slot = slots[position]
        self.used.add(environment)
        unset = source.constant(UNSET)
        value = source.assign(f"{environment}[{slot}]")
        sites = NOWHERE
        if tracked and sites_slot is not None:
            sites = source.assign(f"{environment}[{sites_slot}]")
            source.line(f"if {sites} is {unset}: {sites} = ()")
        if definite:
            return value, sites
        with source.block(f"if {value} is {unset}:"):
            other, other_sites = self._found(node, scope, slots, attribute_at, position + 1, tracked)
            source.line(f"{value} = {other}")
            if tracked and sites != NOWHERE:
                source.line(f"{sites} = {other_sites}")
        return value, sites

    def _found_in_frame(
        self,
        node: ast.Name,
        scope: Scope,
        slots: Sequence[tuple[int, bool, int | None]],
        position: int,
        tracked: bool,
    ) -> tuple[str, str]:
        source, name = self.source, node.id
        self.used.add(self.environment)
        frame = source.assign(f"{self.environment}[0]")
        value, sites = source.temporary(), source.temporary() if tracked else NOWHERE
        with source.block(f"if {name!r} in {frame}.final or {name!r} in {frame}.setters:"):
            source.line(f"{value} = {frame}.read({name!r})")
            if tracked:
                source.line(f"{sites} = {self.runtime(scope)}.origin")
        with source.block("else:"):
            other, other_sites = self._found(node, scope, slots, None, position, tracked)
            source.line(f"{value} = {other}")
            if tracked:
                source.line(f"{sites} = {other_sites}")
        return value, sites

    def _global(self, node: ast.Name, scope: Scope, tracked: bool) -> tuple[str, str]:
        module, name = scope.module, node.id
        package = module.scope
        if name in package.setters:
            return self._variable(package, name, scope, tracked)
        if name in package.types or name in package.aliases:
            return self.source.constant(package.member(name)), NOWHERE
        imported = imported_module(module, name)
        if imported is not None:
            return self.source.constant(ModuleValue(imported.package)), NOWHERE
        return self.source.constant(module.runtime.library.builtins.get(name, UNDEFINED)), NOWHERE

    def _variable(self, package: Any, name: str, scope: Scope, tracked: bool) -> tuple[str, str]:
        read = "read" if isinstance(scope, GlobalScope) else "read_in_schema" if in_schema(scope) else "read_inside"
        value = self.source.assign(f"{self.source.constant(package)}.{read}({name!r})")
        return value, self.origin(scope) if tracked else NOWHERE

    def _selector(self, node: ast.Selector, scope: Scope, tracked: bool) -> tuple[str, str]:
        member = self._module_member(node, scope, tracked)
        if member is not None:
            return member
        source = self.source
        value = self.value(node.value, scope)
        sites = NOWHERE
        if tracked:
            asked = f"{source.constant(sites_of)}({value}, {node.name!r})"
            is_own = f"isinstance({value}, {source.constant(KDict)}) and {value}.sites and not {value}.holder"
            sites = source.assign(f"{value}.sites.get({node.name!r}, ()) if {is_own} else {asked}")
        return self.selected(node, value, scope), sites

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
                return self.source.constant(package.member(node.name)), NOWHERE
            if node.name in package.setters:
                return self._variable(package, node.name, scope, tracked)
        if imported is not None and imported.kind is ImportKind.SYSTEM:
            members = module.runtime.library.modules.get(imported.package, {})
            if node.name in members:
                return self.source.constant(members[node.name]), NOWHERE
        code = module_selector(node, scope)
        return None if code is None else (self.source.assign(self.called(code)), NOWHERE)

    def _subscript(self, node: ast.Subscript, scope: Scope, tracked: bool) -> tuple[str, str]:
        source = self.source
        value, index = self.value(node.value, scope), self.value(node.index, scope)
        sites = source.assign(f"{source.constant(sites_of)}({value}, {index})") if tracked else NOWHERE
        found = f"{source.constant(operations.subscript)}({value}, {index})"
        return source.assign(f"None if not {value} else {found}" if node.optional else found), sites

    # --- Types ---

    def packed(self, type_: RuntimeType | None, value: str, sites: str, scope: Scope) -> str:
        """An atom for a value as a member of the type."""
        source = self.source
        kind = self.kinds.get(value)
        literals = self.literals
        if type_ is None or fits(kind, type_):
            return value
        if value in literals and not type_.converts and type_.accepts(literals[value]):
            return value
        if value in literals:
            value = source.assign(value)
        undefined = source.constant(UNDEFINED)
        empty = f"{value} is not None and {value} is not {undefined}"
        failure = f"raise {source.constant(StartOver)}"
        allowed = allowed_items(type_)
        if allowed is not None:
            container, of, items = allowed
            all_fit = f"{source.constant(of)}.issuperset(map(type, {value}{items}))"
            test = f"type({value}) is not {source.constant(container)} or not {all_fit}"
            source.line(f"if ({test}) and {empty} and not {source.constant(type_)}.accepts({value}): {failure}")
            return value
        if isinstance(type_, BasicRuntimeType):
            members = source.constant(type_.members)
            source.line(f"if type({value}) not in {members} and {empty}: {failure}")
            return value
        constant = source.constant(type_)
        if not type_.converts:
            source.line(f"if {empty} and not {constant}.accepts({value}): {failure}")
            return value
        runtime = self.runtime(scope)
        result = source.assign(value)
        packed = f"{result} = {source.constant(values.packed)}({constant}, {value}, {sites}, {runtime})"
        if isinstance(type_, InstanceType):
            instance = source.constant(SchemaInstance)
            source.line(f"if type({value}) is not {instance} or {value}.schema is not {constant}.found: {packed}")
        else:
            source.line(packed)
        return result
