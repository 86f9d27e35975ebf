"""Names that are not local: globals, imports, built-in functions, and what to say of those nobody defines."""

from __future__ import annotations

from collections.abc import Callable

from kcl.diagnostics import Code
from kcl.evaluator.environments import Environment, Evaluate
from kcl.evaluator.lexical import GlobalScope, Scope, in_schema
from kcl.evaluator.runtime import ModuleContext, Where
from kcl.evaluator.value import UNDEFINED, ModuleValue, Value, ValueFailure
from kcl.loader.program import Import, ImportKind
from kcl.syntax import ast


def imported_module(module: ModuleContext, alias: str) -> Import | None:
    """What `alias` was imported as in this file, or, where the dialect shares imports, in a sibling file."""
    found = module.imports.get(alias)
    if found is not None or module.runtime.dialect.file_scoped_imports:
        return found
    for sibling in module.scope.modules:
        if alias in sibling.imports:
            shared: Import = sibling.imports[alias]
            return shared
    return None


def is_unknown(scope: Scope, name: str) -> bool:
    """Whether nothing that is visible here has this name, whatever an instance's attributes are."""
    module = scope.module
    if in_schema(scope) or name in module.scope.types or name in module.scope.setters:
        return False
    if name in module.runtime.library.builtins or imported_module(module, name) is not None:
        return False
    current: Scope | None = scope
    while current is not None:
        if name in current.variables:
            return False
        current = current.parent
    return True


def global_reader(node: ast.Name, scope: Scope) -> Evaluate:
    """Code that reads a name which is no local variable here."""
    module, name = scope.module, node.id
    package = module.scope
    if name in package.setters:
        if in_schema(scope):
            return _variable(package.read_in_schema, name)
        return _variable(package.read if isinstance(scope, GlobalScope) else package.read_inside, name)
    if name in package.types or name in package.aliases:
        value = package.member(name)
        return lambda environment: value
    imported = imported_module(module, name)
    if imported is not None:
        value = ModuleValue(imported.package)
        return lambda environment: value
    builtin = module.runtime.library.builtins.get(name)
    if builtin is not None:
        return lambda environment: builtin
    # Of names nobody defines only those in mixins and rules get here: an instance may have them, and this one has not.
    return lambda environment: UNDEFINED


def _variable(read: Callable[[str], Value], name: str) -> Evaluate:
    return lambda environment: read(name)


def module_member(imported: Import, node: ast.Selector, scope: Scope) -> Evaluate:
    """Code for `alias.name`."""
    module, name = scope.module, node.name
    runtime = module.runtime
    where = Where(module, node.name_start, node.end)
    if imported.kind is ImportKind.PACKAGE:
        package = runtime.packages[imported.package]
        if name in package.types or name in package.aliases:
            type_ = package.member(name)
            return lambda environment: type_
        if name in package.setters:
            return _variable(package.read, name)
    else:
        try:
            members = runtime.library.modules.get(imported.package, {})
        except ValueFailure as failure:  # a plugin that may not be used, or cannot
            raise where.located(failure) from None
        if name in members:
            value = members[name]
            return lambda environment: value
    if runtime.dialect.unknown_name_is_undefined:
        return lambda environment: UNDEFINED
    if imported.kind is ImportKind.PLUGIN and imported.package not in runtime.library.modules:
        raise where.error(
            Code.EVALUATION,
            f"the plugin package `{imported.package}` is not found, please confirm if plugin mode is enabled",
        )

    def fail(environment: Environment) -> Value:
        raise where.error(Code.TYPE, f"attribute '{name}' not found in 'module '{imported.package}''")

    return fail
