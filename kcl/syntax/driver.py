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
    """Token number `index` cannot stand there. `accepted` are the types that could; `done` the first value so far."""

    def __init__(self, index: int, accepted: frozenset[str], done: object) -> None:
        super().__init__(index, accepted)
        self.index = index
        self.accepted = accepted
        self.done = done


@cache
def load_tables() -> Tables:
    """The shipped tables, read once in a process."""
    # Plain `open`: importlib.resources would import half the standard library at every start.
    with open(os.path.join(os.path.dirname(__file__), TABLES_FILE), "rb") as file:  # noqa: PTH118, PTH120, PTH123
        tables: Tables = marshal.load(file)
    return tables


@cache
def _bound_rules(builder_type: type[Hashable]) -> list[tuple[int, str, Callable[..., Any] | None]]:
    _, _, rules = load_tables()
    return [(size, name, getattr(builder_type, method) if method else None) for size, name, method in rules]


def run(start: str, tokens: Sequence[Token], builder: Hashable, first: int = 0) -> Any:
    """Parse `tokens[first:]`, which must end in `$END`, calling the builder's methods; returns the value of `start`.

    Raises UnexpectedToken.
    """
    starts, states, _ = load_tables()
    rules = _bound_rules(type(builder))
    state = starts[start]
    table = states[state]
    path = [state]
    values: list[Any] = []
    index = first
    try:
        for index in range(first, len(tokens)):
            token = tokens[index]
            token_type = token[0]
            action = table[token_type]
            while action < 0:
                size, name, method = rules[~action]
                if size == 1:
                    path.pop()
                    if method is not None:
                        values[-1] = method(builder, values[-1])
                elif size:
                    assert method is not None
                    arguments = values[-size:]
                    del path[-size:], values[-size:]
                    values.append(method(builder, *arguments))
                else:
                    assert method is not None
                    values.append(method(builder))
                state = states[path[-1]][name]
                path.append(state)
                table = states[state]
                action = table[token_type]
            path.append(action)
            values.append(token)
            table = states[action]
    except KeyError:
        if token_type in table:
            raise  # not the tables': a bug in a method
        accepted = _accepted(start, tokens[first:index])
        raise UnexpectedToken(index, accepted, values[0] if values else None) from None
    return values[0]


def _accepted(start: str, tokens: Sequence[Token]) -> frozenset[str]:
    """The types of the tokens that may follow `tokens`.

    The table of the state an error is found in lists more: tables of an LALR parser let some
    reductions happen before an error shows. So each candidate is tried, on states alone.
    """
    starts, states, _ = load_tables()
    path = [starts[start]]
    for token in tokens:
        reached = _advance(path, token[0])
        assert reached is not None  # these were parsed before
        path = reached
    candidates = [name for name in states[path[-1]] if name.isupper()]
    return frozenset(name for name in candidates if _advance(path, name) is not None)


def _advance(path: list[int], token_type: str) -> list[int] | None:
    """The states after one more token, None if it cannot stand there."""
    _, states, rules = load_tables()
    path = path.copy()
    while True:
        action = states[path[-1]].get(token_type)
        if action is None:
            return None
        if action >= 0:
            return [*path, action]
        size, name, _ = rules[~action]
        if size:
            del path[-size:]
        path.append(states[path[-1]][name])
