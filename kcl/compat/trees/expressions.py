"""Expressions in the official tree, and the items of lists and configurations."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final, assert_never

from kcl.compat.trees.places import Json, bare_identifier
from kcl.compat.trees.types import Types, number
from kcl.syntax import ast

BINARY: Final = {
    ast.BinaryOp.ADD: "Add",
    ast.BinaryOp.SUB: "Sub",
    ast.BinaryOp.MUL: "Mul",
    ast.BinaryOp.DIV: "Div",
    ast.BinaryOp.FLOOR_DIV: "FloorDiv",
    ast.BinaryOp.MOD: "Mod",
    ast.BinaryOp.POW: "Pow",
    ast.BinaryOp.LSHIFT: "LShift",
    ast.BinaryOp.RSHIFT: "RShift",
    ast.BinaryOp.BIT_OR: "BitOr",
    ast.BinaryOp.BIT_XOR: "BitXor",
    ast.BinaryOp.BIT_AND: "BitAnd",
    ast.BinaryOp.AND: "And",
    ast.BinaryOp.OR: "Or",
}
_UNARY: Final = {
    ast.UnaryOp.PLUS: "UAdd",
    ast.UnaryOp.MINUS: "USub",
    ast.UnaryOp.INVERT: "Invert",
    ast.UnaryOp.NOT: "Not",
}
_COMPARE: Final = {
    ast.CompareOp.EQ: "Eq",
    ast.CompareOp.NE: "NotEq",
    ast.CompareOp.LT: "Lt",
    ast.CompareOp.LE: "LtE",
    ast.CompareOp.GT: "Gt",
    ast.CompareOp.GE: "GtE",
    ast.CompareOp.IN: "In",
    ast.CompareOp.NOT_IN: "NotIn",
    ast.CompareOp.IS: "Is",
    ast.CompareOp.IS_NOT: "IsNot",
}
_CONFIG: Final = {ast.ConfigOp.UNION: "Union", ast.ConfigOp.OVERRIDE: "Override", ast.ConfigOp.INSERT: "Insert"}


class Expressions(Types):
    @abstractmethod
    def statements(self, body: list[ast.Stmt]) -> list[Json]: ...

    def parameters(self, params: list[ast.Param]) -> Json:
        return {
            "args": [self.lone(each.start) for each in params],
            "defaults": [self.maybe(each.default) for each in params],
            "ty_list": [self.maybe_type(each.type) for each in params],
        }

    def maybe(self, node: ast.Expr | None) -> Json | None:
        return None if node is None else self.expression(node)

    def expression(self, node: ast.ListItem) -> Json:
        if isinstance(node, ast.ListIf):
            return self._list_if(node)
        return self.of(node, self._bare(node))

    def _bare(self, node: ast.Expr | ast.Starred) -> Json:
        match node:
            case ast.Name() | ast.Constant() | ast.Int() | ast.Float() | ast.Str() | ast.JoinedStr():
                return self._bare_atom(node)
            case ast.Paren():
                return {"type": "Paren", "expr": self.expression(node.value)}
            case ast.Unary() | ast.Binary() | ast.Compare() | ast.IfExpr() | ast.Cast():
                return self._bare_operation(node)
            case ast.Selector() | ast.Subscript() | ast.Slice():
                return self._bare_access(node)
            case ast.Call():
                return {
                    "type": "Call",
                    "func": self.expression(node.func),
                    "args": list(map(self.expression, node.args)),
                    "keywords": list(map(self.keyword, node.keywords)),
                }
            case ast.SchemaExpr():
                return {"type": "Schema", **self.bare_instance(node)}
            case ast.Starred():
                return {"type": "Starred", "value": self.expression(node.value), "ctx": "Load"}
            case ast.List():
                return {"type": "List", "elts": list(map(self.expression, node.items)), "ctx": "Load"}
            case ast.ListComp():
                return {
                    "type": "ListComp",
                    "elt": self.expression(node.element),
                    "generators": self._clauses(node.clauses),
                }
            case ast.Config():
                return {"type": "Config", "items": list(map(self._item, node.items))}
            case ast.ConfigComp():
                entry = self._bare_entry(node.entry)
                return {"type": "DictComp", "entry": entry, "generators": self._clauses(node.clauses)}
            case ast.Quantifier():
                return self._bare_quantifier(node)
            case ast.Lambda():
                return self._bare_lambda(node)
            case _:
                assert_never(node)

    def _bare_atom(self, node: ast.Name | ast.Constant | ast.Int | ast.Float | ast.Str | ast.JoinedStr) -> Json:
        match node:
            case ast.Name():
                names = [self.word(node.start)]
                return {"type": "Identifier", **bare_identifier(names)}
            case ast.Constant():
                return {"type": "NameConstantLit", "value": node.kind.value}
            case ast.Int() | ast.Float():
                return number(node.value, node.suffix if isinstance(node, ast.Int) else None)
            case ast.Str():
                return self.bare_text(node, node.value)
            case ast.JoinedStr():
                return {
                    "type": "JoinedString",
                    "is_long_string": node.triple,
                    "values": self._pieces(node),
                    "raw_value": self.text[node.start : node.end],
                }
            case _:
                assert_never(node)

    def _pieces(self, node: ast.JoinedStr) -> list[Json]:
        quotes = 3 if node.triple else 1
        ends = [each.start for each in node.parts if isinstance(each, ast.FormattedValue)] + [node.end - quotes]
        made, at = [], node.start + quotes
        for each in node.parts:
            if isinstance(each, str):
                raw = self.text[at : next(end for end in ends if end >= at)]
                piece = {"type": "StringLit", "is_long_string": False, "raw_value": raw, "value": each}
                made.append(self.at(0, 0, piece) | {"filename": "", "column": 1, "end_column": 1})
                continue
            at = each.end
            written = self.text[each.value.end : each.end - 1].lstrip(": ").rstrip()
            spec = written or None
            value = {
                "type": "FormattedValue",
                "is_long_string": False,
                "value": self.expression(each.value),
                "format_spec": spec,
            }
            made.append(self.at(each.value.start, each.value.end if spec is None else each.end - 1, value))
        return made

    def _bare_operation(self, node: ast.Unary | ast.Binary | ast.Compare | ast.IfExpr | ast.Cast) -> Json:
        match node:
            case ast.Unary():
                return {"type": "Unary", "op": _UNARY[node.op], "operand": self.expression(node.operand)}
            case ast.Binary():
                return {
                    "type": "Binary",
                    "left": self._left(node.left, node),
                    "op": BINARY[node.op],
                    "right": self.expression(node.right),
                }
            case ast.Compare():
                return {
                    "type": "Compare",
                    "left": self.expression(node.left),
                    "ops": [_COMPARE[each] for each in node.ops],
                    "comparators": list(map(self.expression, node.comparators)),
                }
            case ast.IfExpr():
                return {
                    "type": "If",
                    "body": self.expression(node.body),
                    "cond": self.expression(node.cond),
                    "orelse": self.expression(node.orelse),
                }
            case ast.Cast():
                return {
                    "type": "Binary",
                    "left": self._left(node.value, node),
                    "op": "As",
                    "right": self.type_as_expression(node.type),
                }
            case _:
                assert_never(node)

    def _left(self, node: ast.Expr, whole: ast.Binary | ast.Cast) -> Json:
        """The left operand; a comparison there ends officially where the whole does."""
        if isinstance(node, ast.Compare):
            return self.at(node.start, whole.end, self._bare(node))
        return self.expression(node)

    def _bare_access(self, node: ast.Selector | ast.Subscript | ast.Slice) -> Json:
        if isinstance(node, ast.Selector):
            value: ast.Expr = node
            while isinstance(value, ast.Selector) and not value.optional:
                value = value.value
            if isinstance(value, ast.Name):
                names = self.segments(node.start, node.end)
                return {"type": "Identifier", **bare_identifier(names)}
            first = node
            while not first.optional and isinstance(first.value, ast.Selector):
                first = first.value
            names = self.segments(first.name_start, node.end)
            return {
                "type": "Selector",
                "value": self.expression(first.value),
                "attr": self.identifier(first.name_start, node.end, names),
                "ctx": "Load",
                "has_question": first.optional,
            }
        sliced = (node.lower, node.upper, node.step) if isinstance(node, ast.Slice) else (None, None, None)
        lower, upper, step = map(self.maybe, sliced)
        return {
            "type": "Subscript",
            "value": self.expression(node.value),
            "index": None if isinstance(node, ast.Slice) else self.expression(node.index),
            "lower": lower,
            "upper": upper,
            "step": step,
            "ctx": "Load",
            "has_question": node.optional,
        }

    def keyword(self, node: ast.Keyword) -> Json:
        end = node.start + len(node.name) if "." in node.name else self.word_end(node.start)
        name = self.identifier(node.start, end, self.segments(node.start, end))
        return self.of(node, {"arg": name, "value": self.expression(node.value)})

    def bare_instance(self, node: ast.SchemaExpr) -> Json:
        return {
            "name": self.dotted(node.name),
            "args": list(map(self.expression, node.args)),
            "kwargs": list(map(self.keyword, node.keywords)),
            "config": self.expression(node.config),
        }

    def _bare_quantifier(self, node: ast.Quantifier) -> Json:
        return {
            "type": "Quant",
            "target": self.expression(node.iter),
            "variables": [self.lone(each.start) for each in node.targets],
            "op": node.op.value.capitalize(),
            "test": self.expression(node.body),
            "if_cond": self.maybe(node.cond),
            "ctx": "Load",
        }

    def _bare_lambda(self, node: ast.Lambda) -> Json:
        params = None
        if node.params:
            start, end = node.params[0].start, node.params[-1].end
            opening = self.next_token(node.start + len("lambda"))
            if self.text[opening] == "{":
                start, end = opening, self.text.index("}", end) + 1
            params = self.at(start, end, self.parameters(node.params))
        return {
            "type": "Lambda",
            "args": params,
            "body": self.statements(node.body),
            "return_ty": self.maybe_type(node.result),
        }

    def _clauses(self, clauses: list[ast.CompClause]) -> list[Json]:
        return [
            self.at(
                each.start,
                self.next_line(each.end) if not each.conds else each.end,
                {
                    "targets": [self.dotted(name) for name in each.targets],
                    "iter": self.expression(each.iter),
                    "ifs": list(map(self.expression, each.conds)),
                },
            )
            for each in clauses
        ]

    def _list_if(self, node: ast.ListIf) -> Json:
        orelse: Json | None = None
        match node.orelse:
            case []:
                pass
            case [ast.ListIf() as other] if self._is_elif(other):
                orelse = self._list_if(other)
            case _:
                items = list(map(self.expression, node.orelse))
                orelse = self._else(node, {"type": "List", "elts": items, "ctx": "Load"})
        made = {
            "type": "ListIfItem",
            "if_cond": self.expression(node.cond),
            "exprs": list(map(self.expression, node.body)),
            "orelse": orelse,
        }
        end = (node.body[-1] if self._is_elif(node) and node.orelse and node.body else node).end
        if not self._is_on_one_line(node):
            end = self.next_token(end)
        elif not (self._is_elif(node) and node.orelse):
            end = self.next_line(end)
        return self._ended(node, self.at(node.start, end, made), orelse)

    def _ended(self, node: ast.ListIf | ast.ConfigIf, placed: Json, orelse: Json | None) -> Json:
        """What has an `else` ends with that."""
        if orelse is None or self._is_elif(node):
            return placed
        while (further := orelse["node"].get("orelse")) is not None:
            orelse = further
        return placed | {each: orelse[each] for each in ("end_line", "end_column")}

    def _is_elif(self, node: ast.If | ast.ListIf | ast.ConfigIf) -> bool:
        return self.text.startswith("elif", node.start)

    def _else(self, node: ast.ListIf | ast.ConfigIf, made: Json) -> Json:
        """From the word `else` to the end of its block."""
        start = self.next_token(node.body[-1].end if node.body else node.cond.end)
        first, last = node.orelse[0], node.orelse[-1]
        is_on_one_line = "\n" not in self.text[start : first.start]
        return self.at(start, last.end if is_on_one_line else self.next_token(last.end), made)

    def _is_on_one_line(self, node: ast.ListIf | ast.ConfigIf) -> bool:
        return bool(node.body) and "\n" not in self.text[node.cond.end : node.body[0].start]

    def _item(self, node: ast.ConfigItem) -> Json:
        match node:
            case ast.ConfigIf():
                end = self.next_line(node.end) if self._is_on_one_line(node) else self.next_token(node.end)
                return self.at(node.start, end, _bare_keyless(self._config_if(node), "Union"))
            case ast.Unpack():
                return self.of(node, self._bare_entry(node))
            case ast.Entry():
                return self.of(node, self._bare_entry(node))
            case _:
                assert_never(node)

    def _item_in_if(self, node: ast.ConfigItem) -> Json:
        """In a block of an `if` what has no key is officially said to override, and stands where its value does."""
        match node:
            case ast.ConfigIf():
                value = self._config_if(node)
            case ast.Unpack():
                value = self.expression(node.value)
            case ast.Entry():
                return self._item(node)
            case _:
                assert_never(node)
        return {**value, "node": _bare_keyless(value, "Override")}

    def _bare_entry(self, node: ast.Entry | ast.Unpack) -> Json:
        if isinstance(node, ast.Unpack):
            return _bare_keyless(self.expression(node.value), "Union")
        first, last = node.key, node
        while isinstance(last.value, ast.Config) and not last.value.written:
            inner = last.value.items[0]
            assert isinstance(inner, ast.Entry)
            last = inner
        if last is node:
            key = self.expression(node.key)
        else:
            names = self.segments(first.start, last.key.end)
            key = self.at(first.start, last.key.end, {"type": "Identifier", **bare_identifier(names)})
        if last.index is not None:
            closing = self.next_token(last.index.end) + 1
            made = {
                "type": "Subscript",
                "value": key,
                "index": self.expression(last.index),
                "lower": None,
                "upper": None,
                "step": None,
                "ctx": "Load",
                "has_question": False,
            }
            key = self.at(first.start, closing, made)
        made = {"key": key, "value": self.expression(last.value), "operation": _CONFIG[last.op]}
        if node.value.start == node.key.start:  # `{x}` says `{x = x}`
            made["is_shorthand"] = True
        return made

    def _config_if(self, node: ast.ConfigIf) -> Json:
        orelse: Json | None = None
        match node.orelse:
            case []:
                pass
            case [ast.ConfigIf() as other] if self._is_elif(other):
                orelse = self._config_if(other)
            case _:
                items = list(map(self._item_in_if, node.orelse))
                orelse = self._else(node, {"type": "Config", "items": items})
        made = {
            "type": "ConfigIfEntry",
            "if_cond": self.expression(node.cond),
            "items": list(map(self._item_in_if, node.body)),
            "orelse": orelse,
        }
        end = self.next_token(node.end)
        if self._is_elif(node) and node.orelse and node.body:
            end = node.body[-1].end if self._is_on_one_line(node) else self.next_token(node.body[-1].end)
        if not node.orelse and not self._is_elif(node) and self.margin(end) >= self.margin(node.start):
            end = self.token_end(end)  # else a dedent comes first, which has no width
        return self._ended(node, self.at(node.start, end, made), orelse)


def _bare_keyless(value: Json, operation: str) -> Json:
    return {"key": None, "value": value, "operation": operation}
