"""What the checker thinks of each expression of a main package.

The checker keeps no types of expressions: nobody needs them who runs a program. So its walk over the main package is
done once more here, by a checker that writes down what it passes. Imported packages are taken as the memo has them.
"""

from __future__ import annotations

from contextlib import suppress

from kcl.diagnostics import KclError
from kcl.evaluator.deep_threads import in_deep_thread
from kcl.loader.program import Program
from kcl.memo.queries import Memo
from kcl.semantic.checked import Checking
from kcl.semantic.packages import Checker
from kcl.semantic.scopes import Scope
from kcl.semantic.state import Rules
from kcl.semantic.types import SchemaInfo, Type
from kcl.syntax import ast
from kcl.tools.checked import LIBRARY


class Recorder(Checker):
    """Notes what it passes by identity of node."""

    types: dict[int, Type]
    scopes: dict[int, Scope]
    expected: dict[int, Type]
    """Of entries of configurations: the type that the configuration is checked against."""
    schemas: dict[int, SchemaInfo]

    def expression(self, node: ast.Expr | ast.ListItem) -> Type:
        self.scopes[id(node)] = self.scope
        if self.schema is not None:
            self.schemas[id(node)] = self.schema
        found = self.types[id(node)] = super().expression(node)
        return found

    def instantiated(self, node: ast.SchemaExpr) -> Type:
        found = self.types[id(node.name)] = super().instantiated(node)
        self.scopes[id(node.name)] = self.scope
        return found

    def _annotated(self, node: ast.Type | None, place: tuple[str, int, int]) -> Type:
        found = super()._annotated(node, place)
        if node is not None:
            self.types[id(node)] = found
        return found

    def _head_type(self, node: ast.Expr) -> Type:
        found = self.types[id(node)] = super()._head_type(node)
        return found

    def before_item(self, item: ast.ConfigItem) -> None:
        super().before_item(item)
        self.scopes[id(item)] = self.scope
        if self.context is not None:
            self.expected[id(item)] = self.context[0]

    def quiet_member(self, value: Type, name: str) -> Type | None:
        """The type of an attribute, None where there is none; nothing is reported."""
        before, self.findings = self.findings, {}
        found = self.member(value, name, ("", 0, 0))
        missing, self.findings = self.findings, before
        return None if missing else found

    def statement(self, node: ast.Stmt) -> Type:
        self.scopes[id(node)] = self.scope
        if self.schema is not None:
            self.schemas[id(node)] = self.schema
        return super().statement(node)


def recorded(program: Program, rules: Rules, memo: Memo | None = None) -> Recorder:
    """What the checker passed; where it gave up, what it had passed before."""
    recorder = Recorder(LIBRARY.types, rules, program.root)
    recorder.types, recorder.scopes, recorder.expected, recorder.schemas = {}, {}, {}, {}
    with suppress(KclError, RecursionError):
        checking = Checking(program, LIBRARY.types, rules, memo or Memo())
        in_deep_thread(lambda: checking.walk_main(recorder))
    return recorder
