"""Types in the official tree."""

from __future__ import annotations

from typing import Final, assert_never

from kcl.compat.trees.places import Json, Places, bare_identifier
from kcl.syntax import ast

_BASIC: Final = {"bool": "Bool", "int": "Int", "float": "Float", "str": "Str"}


class Types(Places):
    def maybe_type(self, node: ast.Type | None) -> Json | None:
        return None if node is None else self.type_node(node)

    def type_node(self, node: ast.Type) -> Json:
        return self.of(node, self._bare_type(node))

    def _bare_type(self, node: ast.Type) -> Json:
        match node:
            case ast.BasicType():
                return {"type": "Basic", "value": _BASIC[node.name]} if node.name in _BASIC else {"type": "Any"}
            case ast.NamedType():
                names = self.segments(node.start, node.end)
                return {"type": "Named", "value": bare_identifier(names)}
            case ast.LiteralType():
                return {"type": "Literal", "value": _literal_type(node)}
            case ast.ListType():
                return {"type": "List", "value": {"inner_type": self.maybe_type(node.item)}}
            case ast.DictType():
                value = {"key_type": self.maybe_type(node.key), "value_type": self.maybe_type(node.value)}
                return {"type": "Dict", "value": value}
            case ast.UnionType():
                return {"type": "Union", "value": {"type_elements": list(map(self.type_node, node.members))}}
            case ast.FunctionType():
                params = list(map(self.type_node, node.params)) or None
                return {"type": "Function", "value": {"params_ty": params, "ret_ty": self.maybe_type(node.result)}}
            case _:
                assert_never(node)

    def type_as_expression(self, node: ast.Type) -> Json:
        """What stands behind `as`: the official parser reads an expression there."""
        match node:
            case ast.BasicType() | ast.NamedType():
                names = self.segments(node.start, node.end)
                made: Json = {"type": "Identifier", **bare_identifier(names)}
            case ast.LiteralType(value=bool()):
                made = {"type": "NameConstantLit", "value": str(node.value)}
            case ast.LiteralType(value=str()):
                made = self.bare_text(node, str(node.value))
            case ast.LiteralType():
                assert not isinstance(node.value, str)
                made = number(node.value, node.suffix)
            case ast.ListType():
                items = [] if node.item is None else [self.type_as_expression(node.item)]
                made = {"type": "List", "elts": items, "ctx": "Load"}
            case ast.UnionType():
                return self._union_as_expr(node.members)
            case ast.DictType() | ast.FunctionType():
                made = {"type": "Missing"}
            case _:
                assert_never(node)
        return self.of(node, made)

    def _union_as_expr(self, members: list[ast.Type]) -> Json:
        if len(members) == 1:
            return self.type_as_expression(members[0])
        made = {
            "type": "Binary",
            "left": self._union_as_expr(members[:-1]),
            "op": "BitOr",
            "right": self.type_as_expression(members[-1]),
        }
        return self.at(members[0].start, members[-1].end, made)

    def bare_text(self, node: ast.Node, value: str) -> Json:
        raw = self.text[node.start : node.end]
        is_long = isinstance(node, ast.Str) and node.triple
        return {"type": "StringLit", "is_long_string": is_long, "raw_value": raw, "value": value}


def number(value: float, suffix: str | None) -> Json:
    kind = "Int" if isinstance(value, int) else "Float"
    return {"type": "NumberLit", "binary_suffix": suffix, "value": {"type": kind, "value": value}}


def _literal_type(node: ast.LiteralType) -> Json:
    match node.value:
        case bool():
            return {"type": "Bool", "value": node.value}
        case int():
            return {"type": "Int", "value": {"value": node.value, "suffix": node.suffix}}
        case float():
            return {"type": "Float", "value": node.value}
        case str():
            return {"type": "Str", "value": node.value}


def type_text(node: ast.Type | None) -> str:
    """A type in the official spelling."""
    match node:
        case None:
            return ""
        case ast.BasicType():
            return node.name.value
        case ast.NamedType():
            return ".".join(node.names)
        case ast.LiteralType(value=str()):
            return f'"{node.value}"'
        case ast.LiteralType():
            return f"{node.value}{node.suffix or ''}"
        case ast.ListType():
            return f"[{type_text(node.item)}]"
        case ast.DictType():
            return f"{{{type_text(node.key)}:{type_text(node.value)}}}"
        case ast.UnionType():
            return " | ".join(map(type_text, node.members))
        case ast.FunctionType():
            result = "" if node.result is None else f" -> {type_text(node.result)}"
            return f"({', '.join(map(type_text, node.params))}){result}"
        case _:
            assert_never(node)
