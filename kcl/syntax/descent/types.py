"""Types and dotted names."""

from __future__ import annotations

from typing import Any

from kcl.syntax import ast
from kcl.syntax.descent.reader import ANY_TYPE, Reader, string_value
from kcl.syntax.literals import decimal, wide_integer
from kcl.syntax.nodes import dotted_names
from kcl.syntax.tokens import Token

_BASIC = {name.value: name for name in ast.BasicTypeName}


class Types(Reader):
    def dotted(self) -> Any:
        """`a.b.c` as a Name or Selector. Where no name stands, an empty one is made of nothing."""
        if self.token[0] != "name":
            self.missing("identifier")
            return ast.Name(self.token[1], self.token[1], "")
        _, start, end, text = self.bump()
        value: ast.Name | ast.Selector = ast.Name(start, end, text.removeprefix("$"))
        while self.token[0] == ".":
            self.bump()
            if self.token[0] == "name":
                part = self.bump()
                value = ast.Selector(value.start, part[2], value, part[3].removeprefix("$"), False, part[1])
            else:
                self.missing("identifier")
                at = self.token[1]
                value = ast.Selector(value.start, at, value, "", False, at)
        return value

    def type(self, first: ast.Type | None = None) -> ast.Type:
        """A type, of which `first` has been read already."""
        members = [first or self._type_element()]
        while self.token[0] == "|":
            self.bump()
            members.append(self._type_element())
        if len(members) == 1:
            return members[0]
        return ast.UnionType(members[0].start, members[-1].end, members)

    def _type_element(self) -> ast.Type:
        self.enter()
        try:
            return self._element()
        finally:
            self.leave()

    def _element(self) -> ast.Type:
        kind, start, end, text = self.token
        match kind:
            case "name" if text in _BASIC:
                self.bump()
                return ast.BasicType(start, end, _BASIC[text])
            case "name" if text in ("True", "False"):
                self.bump()
                return ast.LiteralType(start, end, text == "True")
            case "name":
                return self.type_named(self.dotted())
            case "int" | "float" | "str":
                return self._literal(self.bump())
            case "[":
                self.bump()
                if self.token[0] == "]":
                    return ast.ListType(start, self.bump()[2], None)
                item = self.type()
                return ast.ListType(start, self.expect("]")[2], item)
            case "{":
                self.bump()
                key = None if self.token[0] == ":" else self.type()
                self.expect(":")
                value = None if self.token[0] == "}" else self.type()
                return ast.DictType(start, self.expect("}")[2], key, value)
            case "(":
                return self._function(start)
            case _:
                self.missing(*ANY_TYPE)
                self.bump()
                return ast.BasicType(start, start, ast.BasicTypeName.ANY)

    def at_type_name(self) -> bool:
        """Whether the type here begins with a name that somebody gave."""
        kind, _, _, text = self.token
        return kind == "name" and text not in _BASIC and text not in ("True", "False")

    def type_named(self, name: ast.Name | ast.Selector) -> ast.BasicType | ast.NamedType:
        names = dotted_names(name)
        if len(names) == 1 and names[0] in _BASIC:
            return ast.BasicType(name.start, name.end, _BASIC[names[0]])
        return ast.NamedType(name.start, name.end, names)

    def _function(self, start: int) -> ast.Type:
        self.bump()
        params: list[ast.Type] = []
        while self.token[0] != ")" and self.ahead() is not None:
            params.append(self.type())
            if self.token[0] == ",":
                self.bump()
        end = self.expect(")")[2]
        if self.token[0] != "->":
            return ast.FunctionType(start, end, params, None)
        self.bump()
        result = self.type()
        return ast.FunctionType(start, result.end, params, result)

    def _literal(self, token: Token) -> ast.LiteralType:
        kind, start, end, text = token
        if kind == "str":
            return ast.LiteralType(start, end, string_value(text, self.dedents))
        if kind == "float":
            return ast.LiteralType(start, end, decimal(text) or 0.0)
        value, suffix = wide_integer(text)
        return ast.LiteralType(start, end, value or 0, suffix)
