"""The parser's engine: shift and reduce over the shipped tables.

The tables are a tuple `(starts, states, rules)`: `starts` maps entry points to states; a state maps
terminal and nonterminal names to a state to go to (>= 0) or a rule to reduce by (`~rule`); a rule
is `(symbols, nonterminal, method)`, method None where the single value passes through.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

from kcl.syntax.tokens import Token

TABLES_FILE = "tables.marshal"

State = dict[str, int]
Tables = tuple[dict[str, int], list[State], list[tuple[int, str, str | None]]]


class UnexpectedToken(Exception):
    """A token stands where it cannot. What could stand there the tolerant parser says, in the official words."""


@cache
def load_tables() -> Tables:
    """The shipped tables, read once in a process."""
    # Plain `open`: importlib.resources would import half the standard library at every start.
    with open(os.path.join(os.path.dirname(__file__), TABLES_FILE), "rb") as file:  # noqa: PTH118, PTH120, PTH123
        tables: Tables = marshal.load(file)
    return tables


_Method = Callable[..., Any]
_Reduced = tuple[int, int]
"""The state after a reduction and what to do there with the next token."""
_REFUSED = 1 << 30
"""What to do with a token that cannot stand there."""


class _Engine:
    """The tables with a builder's methods for names, and shortcuts that are found as they are needed.

    Most reductions pass a value through: a name alone is a primary, a unary, a value and a test before it is the value
    of an entry. Which of them are due depends on nothing but the state below, what was reduced and the next token.
    """

    __slots__ = ("alone", "rules", "shortcuts", "starts", "states")

    def __init__(self, builder_type: type[Hashable]) -> None:
        self.starts, self.states, rules = load_tables()
        self.rules = [(size, name, getattr(builder_type, method) if method else None) for size, name, method in rules]
        self.alone = [self._reduced_alone(table) for table in self.states]
        self.shortcuts: list[dict[str, dict[str, _Reduced]]] = [
            {name: {} for name in table if name.islower()} for table in self.states
        ]

    def _reduced_alone(self, table: State) -> tuple[str, _Method | None] | None:
        """Name and method of the rule that one token makes, if nothing else can be done in a state."""
        actions = iter(table.values())
        action = next(actions)
        if action >= 0 or self.rules[~action][0] != 1 or any(other != action for other in actions):
            return None
        _, name, method = self.rules[~action]
        return name, method

    def reduced(self, below: int, name: str, token_type: str) -> _Reduced:
        """Where `name` on top of the state `below` leads, which `shortcuts` tell from now on."""
        first = name
        while True:
            state = self.states[below][name]
            action = self.states[state].get(token_type, _REFUSED)
            if action >= 0:
                break
            size, passed_to, method = self.rules[~action]
            if size != 1 or method is not None:
                break
            name = passed_to
        self.shortcuts[below][first][token_type] = state, action
        return state, action


_engine = cache(_Engine)


def run(start: str, tokens: Sequence[Token], builder: Hashable) -> Any:
    """Parse `tokens`, which must end in `$END`, calling the builder's methods; returns the value of `start`.

    Raises UnexpectedToken.
    """
    engine = _engine(type(builder))
    states, rules, alone, shortcuts = engine.states, engine.rules, engine.alone, engine.shortcuts
    state = engine.starts[start]
    path = [state]
    values: list[Any] = []
    last = len(tokens) - 1
    action = states[state].get(tokens[0][0], _REFUSED)
    for index, token in enumerate(tokens):
        token_type = token[0]
        while action < 0:
            size, name, method = rules[~action]
            # The sizes that are frequent by themselves: to take lists apart costs more than most methods.
            if method is None:
                path.pop()
            elif size == 2:
                right = values.pop()
                values[-1] = method(builder, values[-1], right)
                del path[-2:]
            elif size == 3:
                right, middle = values.pop(), values.pop()
                values[-1] = method(builder, values[-1], middle, right)
                del path[-3:]
            elif size == 1:
                values[-1] = method(builder, values[-1])
                path.pop()
            elif size:
                arguments = values[-size:]
                del path[-size:], values[-size:]
                values.append(method(builder, *arguments))
            else:
                values.append(method(builder))
            below = path[-1]
            try:
                state, action = shortcuts[below][name][token_type]
            except KeyError:
                state, action = engine.reduced(below, name, token_type)
            path.append(state)
        if action == _REFUSED:
            raise UnexpectedToken(token)
        if index == last:
            break
        next_type = tokens[index + 1][0]
        one = alone[action]
        if one is not None and next_type in states[action]:
            name, method = one
            values.append(token if method is None else method(builder, token))
            try:
                state, action = shortcuts[state][name][next_type]
            except KeyError:
                state, action = engine.reduced(state, name, next_type)
            path.append(state)
        else:
            state = action
            path.append(state)
            values.append(token)
            action = states[state].get(next_type, _REFUSED)
    return values[0]
