"""Calls and schema expressions as lines of Python."""

from __future__ import annotations

from kcl.compiler import values
from kcl.compiler.writing import NOWHERE, Writing, head_of
from kcl.evaluator.attributes import load_attribute
from kcl.evaluator.calls import argument_nodes, static_schema
from kcl.evaluator.environments import UNSET
from kcl.evaluator.functions import Context, call
from kcl.evaluator.lexical import Scope, candidates, is_local
from kcl.evaluator.lowering import is_tracked
from kcl.evaluator.names import imported_module
from kcl.evaluator.runtime import Where
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.value import Builtin
from kcl.loader.program import ImportKind
from kcl.syntax import ast


class Calls(Writing):
    """Writes calls of functions, methods and schemas."""

    def config(self, node: ast.Config, scope: Scope) -> str:
        """An atom for a configuration."""
        raise NotImplementedError

    def config_comprehension(self, node: ast.ConfigComp, scope: Scope) -> str:
        """An atom for a configuration."""
        raise NotImplementedError

    def call(self, node: ast.Call, scope: Scope, tracked: bool) -> tuple[str, str]:
        """Atoms for what a call answers and, where it is tracked, for its sites."""
        builtin = self._static_builtin(node.func, scope)
        if builtin is not None:
            return self._builtin(node, builtin, scope, tracked)
        if self._tells_its_sites(node.func, scope):
            value = self.closure(node, scope, tracked=tracked)
            return value, self.origin(scope) if tracked else NOWHERE
        if isinstance(node.func, ast.Selector) and not self._is_of_a_module(node.func, scope):
            return self._method(node, node.func, scope, tracked)
        callee = self.value(node.func, scope)
        return self._generic(node, callee, NOWHERE, scope, tracked)

    def selected(self, node: ast.Selector, value: str, scope: Scope) -> str:
        """An atom for a member of a value."""
        source = self.source
        load = f"{source.constant(load_attribute)}({self.runtime(scope)}, {value}, {node.name!r})"
        unset = source.constant(UNSET)
        known = f"{value}.get({node.name!r}, {unset}) if isinstance({value}, dict) else {unset}"
        if value in self.literals:
            known = unset
        found = source.assign(f"None if not {value} else {known}" if node.optional else known)
        source.line(f"if {found} is {unset}: {found} = {load}")
        return found

    # --- What is called ---

    def _static_builtin(self, function: ast.Expr, scope: Scope) -> Builtin | None:
        """The library function that is surely meant; None for `option`, whose sites are its own."""
        module = scope.module
        found: object = None
        if isinstance(function, ast.Name):
            name = function.id
            slots, attribute_at = candidates(scope, name, False)
            hidden = slots or name in module.scope.setters or name in module.scope.types or name in module.scope.aliases
            of_instance = attribute_at is not None and (self.attributes.known(name) or self.attributes.may_have)
            if hidden or of_instance or name == "option" or imported_module(module, name) is not None:
                return None
            found = module.runtime.library.builtins.get(name)
        elif isinstance(function, ast.Selector) and isinstance(function.value, ast.Name) and not function.optional:
            head = function.value.id
            imported = imported_module(module, head)
            if is_local(scope, head) or head in module.scope.setters or imported is None:
                return None
            if imported.kind is ImportKind.SYSTEM:
                found = module.runtime.library.modules.get(imported.package, {}).get(function.name)
        return found if isinstance(found, Builtin) else None

    def _tells_its_sites(self, function: ast.Expr, scope: Scope) -> bool:
        """Whether the sites of what is called are told elsewhere: functions of plugins, and `option`."""
        if isinstance(function, ast.Name):
            return function.id == "option"
        if isinstance(function, ast.Selector) and isinstance(function.value, ast.Name):
            imported = imported_module(scope.module, function.value.id)
            return imported is not None and imported.kind is ImportKind.PLUGIN
        return False

    def _is_of_a_module(self, function: ast.Selector, scope: Scope) -> bool:
        head = function.value
        if not isinstance(head, ast.Name) or function.optional or is_local(scope, head.id):
            return False
        module = scope.module
        return head.id not in module.scope.setters and imported_module(module, head.id) is not None

    # --- Calling it ---

    def _where(self, node: ast.Call | ast.SchemaExpr, at: ast.Node, scope: Scope) -> Where:
        where = scope.module.where(at)
        where.arguments = argument_nodes(node)
        return where

    def _builtin(self, node: ast.Call, builtin: Builtin, scope: Scope, tracked: bool) -> tuple[str, str]:
        source = self.source
        given, sites = self._operands(node, scope, tracked)
        if builtin.contextual:
            where = self._where(node, node, scope)
            given.insert(0, source.constant(Context(scope.module.runtime, where)))
        value = source.assign(f"{source.constant(builtin.function)}({', '.join(given)})")
        return value, self._made_of(value, sites) if tracked else NOWHERE

    def _operands(self, node: ast.Call, scope: Scope, tracked: bool) -> tuple[list[str], str]:
        """The arguments as they are written in a call, and the sites of all of them."""
        given, sites = [], NOWHERE
        for arg in node.args:
            value, origin = self.operand(arg, scope, tracked and is_tracked(arg))
            given.append(value)
            sites = self.joined(sites, origin)
        named = []
        for word in node.keywords:
            value, origin = self.operand(word.value, scope, tracked and is_tracked(word.value))
            named.append(f"{word.name!r}: {value}")
            sites = self.joined(sites, origin)
        if named:
            given.append(f"**{{{', '.join(named)}}}")
        return given, sites

    def _made_of(self, value: str, sites: str) -> str:
        """The sites of what a library function made: those of what it was made of, unless it is a container."""
        if sites == NOWHERE:
            return NOWHERE
        return self.source.assign(f"() if isinstance({value}, (list, dict)) else {sites}")

    def _method(self, node: ast.Call, function: ast.Selector, scope: Scope, tracked: bool) -> tuple[str, str]:
        """A call of a member of a value, which for a string is known before."""
        source = self.source
        receiver, origin = self.operand(function.value, scope, tracked and is_tracked(function.value))
        method = scope.module.runtime.library.string_methods.get(function.name)
        if method is None or function.optional:
            return self._generic(node, self.selected(function, receiver, scope), origin, scope, tracked)
        result, sites = source.temporary(), source.temporary() if tracked else NOWHERE
        # The arguments are written twice: what they are made into depends on what is called.
        with source.block(f"if type({receiver}) is str:"):
            given, of_arguments = self._operands(node, scope, tracked)
            given.insert(0, receiver)
            if method.contextual:
                given.insert(0, source.constant(Context(scope.module.runtime, self._where(node, node, scope))))
            source.line(f"{result} = {source.constant(method.function)}({', '.join(given)})")
            if tracked:
                joined = self.joined(origin, of_arguments)
                source.line(f"{sites} = {self._made_of(result, joined)}")
        with source.block("else:"):
            callee = self.selected(function, receiver, scope)
            value, at = self._generic(node, callee, origin, scope, tracked)
            source.line(f"{result} = {value}")
            if tracked:
                source.line(f"{sites} = {at}")
        return result, sites

    def _generic(self, node: ast.Call, callee: str, origin: str, scope: Scope, tracked: bool) -> tuple[str, str]:
        """A call of whatever `callee` turns out to be."""
        source, runtime = self.source, self.runtime(scope)
        args, named, sites = self._arguments(node, scope)
        where = source.constant(self._where(node, node, scope))
        if tracked:
            source.line(f"{runtime}.origin = ()")
        value = source.assign(f"{source.constant(call)}({runtime}, {callee}, {args}, {named}, {where})")
        if not tracked:
            return value, NOWHERE
        behind = self.joined(origin, sites)
        return value, source.assign(
            f"{source.constant(values.sites_of_answer)}({runtime}, {callee}, {value}, {behind})"
        )

    def _arguments(self, node: ast.Call | ast.SchemaExpr, scope: Scope) -> tuple[str, str, str]:
        """Atoms for the positional and the keyword arguments, and for the sites of all of them."""
        source, module = self.source, scope.module
        places = [module.site(arg, SiteKind.ARGUMENT, arg) for arg in node.args]
        named_places = {word.name: module.site(word.value, SiteKind.ARGUMENT, word.value) for word in node.keywords}
        given, origins, sites = [], [], NOWHERE
        for arg in node.args:
            value, origin = self.operand(arg, scope, is_tracked(arg))
            given.append(value)
            origins.append(origin)
            sites = self.joined(sites, origin)
        named, named_origins = [], []
        for word in node.keywords:
            value, origin = self.operand(word.value, scope, is_tracked(word.value))
            named.append(f"{word.name!r}: {value}")
            named_origins.append(f"{word.name!r}: {origin}")
            sites = self.joined(sites, origin)
        kept = f"[{', '.join(origins)}], {{{', '.join(named_origins)}}}"
        made = f"{source.constant(values.arguments)}([{', '.join(given)}], {kept}"
        args = source.assign(f"{made}, {source.constant(places)}, {source.constant(named_places)})")
        return args, source.assign(f"{{{', '.join(named)}}}"), sites

    # --- Schemas ---

    def schema_expression(self, node: ast.SchemaExpr, scope: Scope) -> str:
        """An atom for a new instance."""
        schema = static_schema(node, scope)
        head = head_of(node.name)
        if schema is None or self.attributes.known(head) or (isinstance(node.name, ast.Name) and self._unsure(scope)):
            return self.closure(node, scope)
        source, runtime = self.source, self.runtime(scope)
        source.line(f"{runtime}.schema_expression_depth += 1")
        match node.config:
            case ast.Config():
                config = self.config(node.config, scope)
            case ast.ConfigComp():
                config = self.config_comprehension(node.config, scope)
        made = source.constant(schema)
        if node.args or node.keywords or schema.node.params:
            args, named, _ = self._arguments(node, scope)
            where = source.constant(self._where(node, node.name, scope))
            result = source.assign(f"{made}.instantiate({config}, {args}, {named}, {where})")
        else:
            span = source.constant(scope.module.where(node.name).span)
            if config in self.literals:
                result = source.assign(f"{made}.constant({config}, {span})")
            else:
                result = source.assign(f"{made}.rebuild({config}, (), {{}}, {span})")
        source.line(f"{runtime}.schema_expression_depth -= 1")
        return self.knows(result, ("instance", schema))

    def _unsure(self, scope: Scope) -> bool:
        """Whether an instance nobody knows here may have an attribute of any name."""
        return self.attributes.may_have and candidates(scope, "", False)[1] is not None
