"""Make the shipped parse tables from grammar.lark: `python -m kcl.syntax.generate`.

Run it after every change to the grammar. This is the only module that imports lark, a development
tool here: at run time the tables are loaded in a fraction of a millisecond and lark is not needed.
"""

from __future__ import annotations

import logging
import marshal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import lark
from lark.lexer import Lexer

from kcl.syntax.driver import TABLES_FILE, Tables
from kcl.syntax.tokens import Token

STARTS = ("file", "expression")

_DIRECTORY = Path(__file__).parent
_FORMAT = 4  # of marshal; read by every Python we support


class _NoLexer(Lexer):  # type: ignore[misc]  # lark is untyped here
    """Tokens are made elsewhere; each carries its number in the stream as its text."""

    __future_interface__ = False

    def __init__(self, _configuration: object) -> None:
        pass

    def lex(self, data: Iterable[Token]) -> Iterator[lark.Token]:
        for number, token in enumerate(data):
            if token[0] != "$END":
                yield lark.Token(token[0], str(number))


def build_parser() -> Any:
    """Lark's own LALR parser of the grammar; it parses sequences of our tokens to lark trees."""
    return lark.Lark(
        (_DIRECTORY / "grammar.lark").read_text(encoding="utf-8"),
        parser="lalr",
        lexer=_NoLexer,
        start=list(STARTS),
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


def build_tables() -> Tables:
    """The tables `kcl.syntax.driver` describes, the same for the same grammar."""
    table = build_parser().parser.parser._parse_table
    order = _breadth_first(table)
    places = {state: place for place, state in enumerate(order)}
    numbers: dict[tuple[int, str, str | None], int] = {}
    states = []
    for state in order:
        actions = {}
        for name, (action, argument) in sorted(table.states[state].items()):
            if action.name == "Shift":
                actions[sys.intern(name)] = places[argument]
            else:
                actions[sys.intern(name)] = ~numbers.setdefault(_rule(argument), len(numbers))
        states.append(actions)
    for end in table.end_states.values():
        states[places[end]]["$END"] = places[end]  # lark stops by looking at the state, we by shifting $END
    return {start: places[table.start_states[start]] for start in STARTS}, states, list(numbers)


def _breadth_first(table: Any) -> list[int]:
    """All states from the entry points on, in an order that does not depend on lark's hashing."""
    order = [table.start_states[start] for start in STARTS]
    seen = set(order)
    for state in order:
        for _, (action, argument) in sorted(table.states[state].items()):
            if action.name == "Shift" and argument not in seen:
                seen.add(argument)
                order.append(argument)
    return order


def _rule(rule: Any) -> tuple[int, str, str | None]:
    passes_through = rule.alias is None and rule.options.expand1 and len(rule.expansion) == 1
    name = sys.intern(str(rule.origin.name))
    return len(rule.expansion), name, None if passes_through else (rule.alias or name)


def conflicts() -> list[str]:
    """What lark decided by shifting, one line each: the terminal and the rule that could have been reduced."""
    records: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    collector, logger = Collect(), lark.logger
    level = logger.level
    logger.addHandler(collector)
    logger.setLevel(logging.DEBUG)
    try:
        build_parser()
    finally:
        logger.removeHandler(collector)
        logger.setLevel(level)
    starts = [number for number, text in enumerate(records) if "Shift/Reduce" in text]
    return sorted(
        {f"{records[at].split('terminal ')[1].split(':')[0]}: {records[at + 1].strip(' *')}" for at in starts}
    )


def main() -> None:
    (_DIRECTORY / TABLES_FILE).write_bytes(marshal.dumps(build_tables(), _FORMAT))


if __name__ == "__main__":
    main()
