"""The methods the grammar names for expressions and types; see builder.py."""

from __future__ import annotations

from typing import Any

from kcl.diagnostics import Code
from kcl.syntax import ast
from kcl.syntax.literals import LiteralError, decimal, integer
from kcl.syntax.nodes import dotted_names
from kcl.syntax.operators import group
from tests.kcl.syntax.reference.interpolation import Strings
from tests.kcl.syntax.reference.tokens import Token

_CONSTANTS = {kind.value: kind for kind in ast.ConstantKind}
_UNARY = {op.value: op for op in ast.UnaryOp}
_CONFIG = {op.value: op for op in ast.ConfigOp}
_QUANTIFIERS = {op.value: op for op in ast.QuantifierOp}
BASIC_TYPES = {name.value: name for name in ast.BasicTypeName}


class Expressions(Strings):
    """The part of the builder that makes expressions and types."""

    # ------------------------------------------------------------------ plumbing

    def nothing(self) -> None:
        return None

    def no_items(self) -> list[Any]:
        return []

    def first(self, value: Any, *_: Any) -> Any:
        return value

    def second(self, _: Any, value: Any, *__: Any) -> Any:
        return value

    def third(self, _: Any, __: Any, value: Any, *___: Any) -> Any:
        return value

    def only(self, value: Any, *_: Any) -> list[Any]:
        return [value]

    only_first = only

    def append(self, values: list[Any], value: Any, *_: Any) -> list[Any]:
        values.append(value)
        return values

    def append_third(self, values: list[Any], _: Any, value: Any) -> list[Any]:
        values.append(value)
        return values

    def none_in_parentheses(self, _: Token, __: Token) -> list[Any]:
        return []

    # ------------------------------------------------------------------ types

    def union_first(self, first: ast.Type, _: Token, second: ast.Type) -> list[ast.Type]:
        return [first, second]

    def union_type(self, members: list[ast.Type]) -> ast.UnionType:
        return ast.UnionType(members[0].start, members[-1].end, members)

    def named_type(self, name: ast.Expr) -> ast.Type:
        names = dotted_names(name)
        basic = BASIC_TYPES.get(names[0]) if len(names) == 1 else None
        if basic is not None:
            return ast.BasicType(name.start, name.end, basic)
        return ast.NamedType(name.start, name.end, names)

    def constant_type(self, token: Token) -> ast.Type:
        _, start, end, text = token
        if text in ("True", "False"):
            return ast.LiteralType(start, end, text == "True")
        return ast.NamedType(start, end, (text,))

    def string_type(self, token: Token) -> ast.Type:
        value = self.string(token)
        if isinstance(value, ast.JoinedStr):
            self.report(value.start, value.end, "a string type cannot have an interpolation")
            return ast.LiteralType(value.start, value.end, "")
        return ast.LiteralType(value.start, value.end, value.value)

    def number_type(self, token: Token) -> ast.Type:
        if token[0] == "FLOAT":
            return ast.LiteralType(token[1], token[2], self.float_number(token).value)
        number = self.integer(token)
        return ast.LiteralType(number.start, number.end, number.value, number.suffix)

    def list_type_any(self, open_: Token, close: Token) -> ast.ListType:
        return ast.ListType(open_[1], close[2], None)

    def list_type(self, open_: Token, item: ast.Type, close: Token) -> ast.ListType:
        return ast.ListType(open_[1], close[2], item)

    def dict_type_any(self, open_: Token, _: Token, close: Token) -> ast.DictType:
        return ast.DictType(open_[1], close[2], None, None)

    def dict_type_key(self, open_: Token, key: ast.Type, _: Token, close: Token) -> ast.DictType:
        return ast.DictType(open_[1], close[2], key, None)

    def dict_type_value(self, open_: Token, _: Token, value: ast.Type, close: Token) -> ast.DictType:
        return ast.DictType(open_[1], close[2], None, value)

    def dict_type(self, open_: Token, key: ast.Type, _: Token, value: ast.Type, close: Token) -> ast.DictType:
        return ast.DictType(open_[1], close[2], key, value)

    def function_type(self, open_: Token, params: list[ast.Type], close: Token) -> ast.FunctionType:
        return ast.FunctionType(open_[1], close[2], params, None)

    def function_type_result(
        self, open_: Token, params: list[ast.Type], _: Token, __: Token, result: ast.Type
    ) -> ast.FunctionType:
        return ast.FunctionType(open_[1], result.end, params, result)

    # ------------------------------------------------------------------ operators

    def if_expr(self, body: ast.Expr, _: Token, cond: ast.Expr, __: Token, orelse: ast.Expr) -> ast.IfExpr:
        return ast.IfExpr(body.start, orelse.end, body, cond, orelse)

    def chain_first(self, left: ast.Expr, operator: Token, right: ast.Expr) -> tuple[list[ast.Expr], list[str]]:
        return [left, right], [operator[3]]

    def chain_next(
        self, chain: tuple[list[ast.Expr], list[str]], operator: Token, right: ast.Expr
    ) -> tuple[list[ast.Expr], list[str]]:
        chain[0].append(right)
        chain[1].append(operator[3])
        return chain

    def operators(self, chain: tuple[list[ast.Expr], list[str]]) -> ast.Expr:
        return group(*chain)

    def cast(self, value: ast.Expr, _: Token, type_: ast.Type) -> ast.Cast:
        return ast.Cast(value.start, type_.end, value, type_)

    def unary(self, operator: Token, operand: ast.Expr) -> ast.Unary:
        return ast.Unary(operator[1], operand.end, _UNARY[operator[3]], operand)

    # ------------------------------------------------------------------ primaries

    def name(self, token: Token) -> ast.Name:
        return ast.Name(token[1], token[2], token[3])

    def constant(self, token: Token) -> ast.Constant:
        return ast.Constant(token[1], token[2], _CONSTANTS[token[3]])

    def integer(self, token: Token) -> ast.Int:
        _, start, end, text = token
        try:
            return ast.Int(start, end, *integer(text))
        except LiteralError as error:
            self.report(start, end, str(error))
            return ast.Int(start, end, 0)

    def float_number(self, token: Token) -> ast.Float:
        _, start, end, text = token
        value = decimal(text)
        if value is None:
            self.report(start, end, f'expected one of ["float"] got {text}')
        return ast.Float(start, end, value or 0.0)

    def paren(self, open_: Token, value: ast.Expr, close: Token) -> ast.Paren:
        return ast.Paren(open_[1], close[2], value)

    def selector(self, value: Any, _: Token, name: Token) -> ast.Selector:
        return ast.Selector(value.start, name[2], value, name[3], False, name[1])

    def selector_optional(self, value: Any, _: Token, name: Token) -> ast.Selector:
        return ast.Selector(value.start, name[2], value, name[3], True, name[1])

    def subscript(self, value: ast.Expr, open_: Token, index: ast.Expr, close: Token) -> ast.Subscript:
        return ast.Subscript(value.start, close[2], value, index, open_[0] == "QLBRACKET")

    def slice_(self, value: ast.Expr, open_: Token, bounds: list[Any], close: Token) -> ast.Slice:
        lower, upper, step = bounds
        return ast.Slice(value.start, close[2], value, lower, upper, step, open_[0] == "QLBRACKET")

    def slice_two(self, lower: Any, _: Token, upper: Any) -> list[Any]:
        return [lower, upper, None]

    def slice_three(self, lower: Any, _: Token, upper: Any, __: Token, step: Any) -> list[Any]:
        return [lower, upper, step]

    def call(self, func: ast.Expr, _: Token, arguments: list[Any], close: Token) -> ast.Call:
        args, keywords = self._arguments(arguments)
        return ast.Call(func.start, close[2], func, args, keywords)

    def keyword(self, name: ast.Expr, _: Token, value: ast.Expr) -> ast.Keyword:
        if not isinstance(name, (ast.Name, ast.Selector)):
            self.report(name.start, name.end, 'expected one of ["identifier"] got =')
            return ast.Keyword(name.start, value.end, "", value)
        return ast.Keyword(name.start, value.end, ".".join(dotted_names(name)), value)

    def _arguments(self, arguments: list[Any]) -> tuple[list[ast.Expr], list[ast.Keyword]]:
        args: list[ast.Expr] = []
        keywords: list[ast.Keyword] = []
        for argument in arguments:
            if isinstance(argument, ast.Keyword):
                keywords.append(argument)
                continue
            if keywords:
                self.report(argument.start, argument.end, "positional argument follows keyword argument")
            args.append(argument)
        return args, keywords

    def schema_expr(self, target: ast.Expr, config: Any) -> ast.Expr:
        match target:
            case ast.Name() | ast.Selector(optional=False):
                return ast.SchemaExpr(target.start, config.end, target, [], [], config)
            case ast.Call(func=(ast.Name() | ast.Selector()) as name):
                return ast.SchemaExpr(target.start, config.end, name, target.args, target.keywords, config)
            case _:
                self.report(config.start, config.start + 1, 'expected one of ["identifier"] got {')
                return target

    # ------------------------------------------------------------------ lists

    def list_empty(self, open_: Token, close: Token) -> ast.List:
        return ast.List(open_[1], close[2], [])

    def list_items(self, open_: Token, items: list[Any], *rest: Token) -> ast.List:
        return ast.List(open_[1], rest[-1][2], items)

    list_items_comma = list_items

    def list_comp(self, open_: Token, element: Any, clauses: Any, close: Token) -> ast.ListComp:
        if isinstance(element, ast.ListIf):
            self.report(element.start, element.end, "the element of a comprehension cannot be an if item")
            element = ast.Constant(element.start, element.end, ast.ConstantKind.UNDEFINED)
        return ast.ListComp(open_[1], close[2], element, clauses)

    def starred(self, star: Token, value: ast.Expr) -> ast.Starred:
        return ast.Starred(star[1], value.end, value)

    def list_if(self, keyword: Token, cond: ast.Expr, _: Token, body: Any, orelse: Any) -> ast.ListIf:
        return ast.ListIf(keyword[1], (orelse or body)[-1].end, cond, body, orelse)

    def list_elif(self, *parts: Any) -> Any:
        return [self.list_if(*parts)]

    # ------------------------------------------------------------------ configurations

    def config_empty(self, open_: Token, close: Token) -> ast.Config:
        return ast.Config(open_[1], close[2], [])

    def config_items(self, open_: Token, items: Any, *rest: Token) -> ast.Config:
        return ast.Config(open_[1], rest[-1][2], items)

    config_items_comma = config_items

    def config_comp(self, open_: Token, entry: Any, clauses: Any, close: Token) -> ast.Expr:
        if isinstance(entry, ast.ConfigIf):
            self.report(entry.start, entry.end, "the entry of a comprehension cannot be an if entry")
            return ast.Config(open_[1], close[2], [])
        return ast.ConfigComp(open_[1], close[2], entry, clauses)

    def entry(self, key: ast.Expr, op: Token, value: ast.Expr) -> ast.Entry:
        kind = _CONFIG[op[3]]
        if isinstance(key, ast.Name):
            return ast.Entry(key.start, value.end, key, None, kind, value)
        index: ast.Expr | None = None
        if isinstance(key, ast.Subscript) and isinstance(key.value, (ast.Name, ast.Selector)):
            index, key = key.index, key.value
        if isinstance(key, ast.Selector):
            return _nested_entry(key, index, kind, value)
        return ast.Entry(key.start, value.end, key, index, kind, value)

    def unpack(self, stars: Token, value: ast.Expr) -> ast.Unpack:
        return ast.Unpack(stars[1], value.end, value)

    def config_if(self, keyword: Token, cond: ast.Expr, _: Token, body: Any, orelse: Any) -> ast.ConfigIf:
        return ast.ConfigIf(keyword[1], (orelse or body)[-1].end, cond, body, orelse)

    def config_elif(self, *parts: Any) -> Any:
        return [self.config_if(*parts)]

    # ------------------------------------------------------------------ comprehensions, quantifiers

    def clause(self, keyword: Token, targets: Any, _: Token, iterable: ast.Expr, conditions: Any) -> ast.CompClause:
        end = conditions[-1].end if conditions else iterable.end
        if len(targets) > 2:
            message = f"the number of loop variables is {len(targets)}, which can only be 1 or 2"
            self.report(targets[1].end, targets[-1].end, message, Code.COMPILE)
        return ast.CompClause(keyword[1], end, targets, iterable, conditions)

    def target_first(self, name: Any) -> Any:
        return [self._loop_variable(name)]

    def target_next(self, targets: Any, _: Token, name: Any) -> Any:
        targets.append(self._loop_variable(name))
        return targets

    def _loop_variable(self, name: Any) -> ast.Name:
        if isinstance(name, ast.Name):
            return name
        self.report(name.start, name.end, "loop variables can only be ordinary identifiers", Code.COMPILE)
        return ast.Name(name.start, name.end, dotted_names(name)[0])

    def quantifier_plain(
        self, keyword: Token, targets: Any, _: Token, iterable: ast.Expr, __: Token, body: ast.Expr, close: Token
    ) -> ast.Quantifier:
        op = _QUANTIFIERS[keyword[3]]
        return ast.Quantifier(keyword[1], close[2], op, targets, iterable, body, None)

    def quantifier_if(
        self,
        keyword: Token,
        targets: Any,
        _: Token,
        iterable: ast.Expr,
        __: Token,
        body: ast.Expr,
        ___: Token,
        cond: ast.Expr,
        close: Token,
    ) -> ast.Quantifier:
        op = _QUANTIFIERS[keyword[3]]
        return ast.Quantifier(keyword[1], close[2], op, targets, iterable, body, cond)


def _nested_entry(key: ast.Selector, index: ast.Expr | None, op: ast.ConfigOp, value: ast.Expr) -> ast.Entry:
    """`a.b.c op value` as `a: {b: {c op value}}`; a key that is no plain dotted name stays as it is."""
    names: list[ast.Name] = []
    inner: ast.Expr = key
    while isinstance(inner, ast.Selector) and not inner.optional:
        names.append(ast.Name(inner.name_start, inner.end, inner.name))
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return ast.Entry(key.start, value.end, key, index, op, value)
    last, *outer = names
    entry = ast.Entry(last.start, value.end, last, index, op, value)
    for name in (*outer, inner):
        config = ast.Config(entry.start, entry.end, [entry], written=False)
        entry = ast.Entry(name.start, value.end, name, None, ast.ConfigOp.UNION, config)
    return entry
