"""What stands between brackets and braces: items, entries, `if` among them, comprehensions."""

from __future__ import annotations

from typing import Any

from kcl.diagnostics import Code
from kcl.syntax import ast, nodes, runs
from kcl.syntax.descent.expressions import Expressions
from kcl.syntax.tokens import Token

_OPERATORS = {op.value: op for op in ast.ConfigOp}


class Entries(Expressions):
    # ------------------------------------------------------------------ lists

    def list_after_bracket(self) -> Any:
        start = self.before[1]
        self._opens_lines()
        if self.token[0] == "]":
            return ast.List(start, self.bump()[2], [])
        first = self.token
        items: list[Any] = []
        if not self._ends_items("]", True):
            self._items(items)
            self._end_item(True)
            while True:
                place = self.index
                self.skip_indentation()
                if self._ends_items("]", True):
                    break
                self._items(items)
                if isinstance(items[-1], ast.Missing):
                    items.pop()
                    self.missing(",")
                    self.bump()
                self._end_item(True)
                self.stuck(place)
        clauses = self._clauses()
        self.skip_newlines()
        self.skip_indentation()
        self.close("]")
        return self._list(start, first, items, clauses)

    def _list(self, start: int, first: Token, items: list[Any], clauses: list[ast.CompClause]) -> Any:
        end = self.before[2]
        if not clauses:
            return ast.List(start, end, items)
        if not items:
            self.error(first, "missing list comp clause expression")
            return ast.List(start, end, items)
        if len(items) > 1:
            self.error(first, f"multiple list comp clause expression found: expected 1, got {len(items)}")
        element = items[0]
        if isinstance(element, ast.ListIf):
            element = ast.List(element.start, element.end, [element])
        return ast.ListComp(start, end, element, clauses)

    def _opens_lines(self) -> bool:
        """Whether a line end follows the bracket, so that items stand on lines; it is left behind."""
        if self.token[0] != "newline":
            return False
        self.skip_newlines()
        self.skip_indentation()
        return True

    def _ends_items(self, closing: str, lines: bool) -> bool:
        kind = self.token[0]
        return kind == closing or kind == "eof" or (kind == "newline" and not lines) or self.at_word("for")

    def _end_item(self, lines: bool) -> None:
        if self.token[0] == ",":
            self.bump()
        if lines:
            self.skip_newlines()

    def _items(self, items: list[Any]) -> None:
        """Reads the item here, or those on lines of plain data that begin here."""
        kind, start, end, _ = self.token
        if kind == "items":
            self.bump()
            items += runs.items(self.text, start, end)
        else:
            items.append(self._item())

    def _item(self) -> Any:
        if self.token[0] == "*":
            star = self.bump()
            value = self.test()
            return ast.Starred(star[1], self.before[2], value)
        if self.at_word("if"):
            self.enter()
            item = self._list_if()
            self.leave()
            return item
        return self.test()

    def _list_if(self) -> ast.ListIf:
        keyword = self.bump()
        cond = self.test()
        self.expect(":")
        lines = self.token[0] == "newline"
        body = self._item_block(lines)
        self.skip_newlines()
        branches: list[tuple[Token, Any, list[Any]]] = [(keyword, cond, body)]
        while self.at_word("elif"):
            keyword = self.bump()
            cond = self.test()
            self.expect(":")
            lines = lines or self.token[0] == "newline"
            body = self._item_block(lines)
            branches.append((keyword, cond, body))
        self.skip_newlines()
        orelse: list[Any] = []
        if self.at_word("else"):
            self.bump()
            self.expect(":")
            lines = lines or self.token[0] == "newline"
            orelse = self._item_block(lines)
        for keyword, cond, body in reversed(branches):
            last = orelse or body
            orelse = [ast.ListIf(keyword[1], last[-1].end if last else cond.end, cond, body, orelse)]
        made = orelse[0]
        assert isinstance(made, ast.ListIf)
        return made

    def _item_block(self, lines: bool) -> list[Any]:
        if not lines:
            return [self._item()]
        self.skip_newlines()
        self.expect("indent")
        body: list[Any] = []
        while True:
            place = self.index
            self.check_dedent()
            if self.at_block_end() or self.token[0] == "eof":
                break
            self._items(body)
            if self.token[0] == ",":
                self.bump()
            self.skip_newlines()
            self.stuck(place)
        self.check_dedent()
        self.expect("dedent")
        return body

    # ------------------------------------------------------------------ configurations

    def config(self) -> Any:
        return self.config_after_brace(self.bump())

    def config_after_brace(self, brace: Token) -> Any:
        start = brace[1]
        lines = self._opens_lines()
        if self.token[0] == "}":
            return ast.Config(start, self.bump()[2], [])
        first = self.token
        entries: list[Any] = []
        if not self._ends_items("}", lines):
            self._entries(entries)
            self._end_item(lines)
            while True:
                place = self.index
                self.skip_indentation()
                if self._ends_items("}", lines):
                    break
                self._entries(entries)
                self._end_item(lines)
                self.stuck(place)
        clauses = self._clauses()
        self.skip_newlines()
        self.skip_indentation()
        self.close("}")
        end = self.before[2]
        if not clauses:
            return ast.Config(start, end, entries)
        if not entries:
            self.error(first, "missing config comp clause expression")
            return ast.Config(start, end, entries)
        if len(entries) > 1:
            self.error(first, f"multiple config comp clause expression found: expected 1, got {len(entries)}")
        if isinstance(entries[0], ast.ConfigIf):
            message = "dict unpacking cannot be used in dict comprehension"
            self.report(entries[0].start, entries[0].end, message, Code.COMPILE)
            return ast.Config(start, end, [])
        return ast.ConfigComp(start, end, entries[0], clauses)

    def _entries(self, entries: list[Any]) -> None:
        """Reads the entry here, or those on lines of plain data that begin here."""
        kind, start, end, _ = self.token
        if kind == "entries":
            self.bump()
            entries += runs.entries(self.text, start, end)
        else:
            entries.append(self._entry())

    def _entry(self) -> Any:
        if self.token[0] == "**":
            stars = self.bump()
            value = self.test()
            return ast.Unpack(stars[1], self.before[2], value)
        if self.at_word("if"):
            return self._config_if()
        key = self.test()
        operator = self.token
        if operator[0] not in _OPERATORS:
            if isinstance(key, ast.Name):
                # `{name}` says `{name = name}`.
                return nodes.entry(key, ast.ConfigOp.OVERRIDE, ast.Name(key.start, key.end, key.id))
            self.missing(":", "=", "+=")
            operator = ("=", operator[1], operator[1], "=")
        self.bump()
        return nodes.entry(key, _OPERATORS[operator[0]], self.test())

    def _config_if(self) -> ast.ConfigIf:
        self.enter()
        keyword = self.bump()
        cond = self.test()
        self.expect(":")
        body = self._entry_block(self.token[0] == "newline")
        branches: list[tuple[Token, Any, list[Any]]] = [(keyword, cond, body)]
        self.skip_newlines()
        lines = False
        while self.at_word("elif"):
            keyword = self.bump()
            cond = self.test()
            self.expect(":")
            lines = lines or self.token[0] == "newline"
            body = self._entry_block(lines)
            branches.append((keyword, cond, body))
        self.skip_newlines()
        orelse: list[Any] = []
        if self.at_word("else"):
            self.bump()
            self.expect(":")
            orelse = self._entry_block(self.token[0] == "newline")
        if self.token[0] == ",":
            self.bump()
        self.skip_newlines()
        for keyword, cond, body in reversed(branches):
            last = orelse or body
            orelse = [ast.ConfigIf(keyword[1], last[-1].end if last else cond.end, cond, body, orelse)]
        self.leave()
        made = orelse[0]
        assert isinstance(made, ast.ConfigIf)
        return made

    def _entry_block(self, lines: bool) -> list[Any]:
        body: list[Any] = []
        if not lines:
            self._block_entry(body, lines)
            return body
        self.skip_newlines()
        self.expect("indent")
        while self._block_entry(body, lines):
            if self.token[0] == "eof":
                break
            if self.token[0] == ",":
                self.bump()
            self.skip_newlines()
        self.skip_newlines()
        return body

    def _block_entry(self, body: list[Any], lines: bool) -> bool:
        """Reads one entry of a block; whether there may be another."""
        place = self.index
        if lines and self.at_block_end():
            self.bump()
            return False
        if (not lines and self.token[0] == "newline") or self.at_word("elif", "else"):
            return False
        if self.at_word("if"):
            body.append(self._config_if())
            return True
        self.check_dedent()
        if self.at_block_end() or self.token[0] == "newline":
            return False
        if self.token[0] == "entries":
            self._entries(body)
            return True
        if self.token[0] == "**":
            stars = self.bump()
            value = self.primary()
            body.append(ast.Unpack(stars[1], self.before[2], value))
            return True
        key = self.test()
        operator = self.token
        if operator[0] in _OPERATORS:
            self.bump()
        else:
            self.missing(":", "=", "+=")
            operator = ("=", operator[1], operator[1], "=")
        body.append(nodes.entry(key, _OPERATORS[operator[0]], self.test()))
        self.stuck(place)
        return True

    # ------------------------------------------------------------------ comprehensions

    def _clauses(self) -> list[ast.CompClause]:
        clauses = []
        while self.at_word("for"):
            clauses.append(self._clause())
        return clauses

    def _clause(self) -> ast.CompClause:
        keyword = self.bump()
        targets = [self.dotted()]
        while self.token[0] == ",":
            self.bump()
            targets.append(self.dotted())
        if not self.at_word("in"):
            self.missing("in")
        self.bump()
        iterable = self.value()
        self.skip_newlines()
        conditions = []
        while self.at_word("if"):
            self.bump()
            conditions.append(self.test())
        if len(targets) > 2:
            message = f"the number of loop variables is {len(targets)}, which can only be 1 or 2"
            self.report(targets[1].end, targets[-1].end, message, Code.COMPILE)
        names = [self.loop_variable(target) for target in targets]
        end = conditions[-1].end if conditions else iterable.end
        return ast.CompClause(keyword[1], end, names, iterable, conditions)
