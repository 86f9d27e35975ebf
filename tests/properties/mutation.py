"""Programs made from other programs: pieces moved, doubled, cut out, and replaced by what is known to be awkward."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_PIECE = re.compile(r"\n[ \t]*|[ \t]+|\$?\w+|\"{3}|'{3}|\*\*|//|->|[-+*/|&^<>=!]=|\W", re.DOTALL)


def _split(texts: str) -> tuple[str, ...]:
    return tuple(texts.split(" "))


_WORDS = (
    *_split("import schema mixin protocol rule check assert type if elif else for in not is and or as lambda"),
    *_split("all any map filter True False None Undefined int float str bool any self"),
    *_split("a b x _x $x name data Base"),
    *_split("( ) [ ] { } , : = += -= |= . ?. ... ? @ -> | & ^ ~ ! ; \\ * ** / // % + - < <= == != >> <<"),
    *_split('${a} ${} ${a: #json} ${ " \' """ \'\'\' r" #'),
    *("\n", "\n    ", "\n        ", "\t", " ", "\r\n", "\0", "\ufeff", "é", "𝔸", "\u2028"),
)
_VALUES = (
    *_split("0 1 -1 2 1.5 1e308 1e-320 0x7f 0b1 0o17 017 1Ki 1m 9223372036854775807 9223372036854775808"),
    *_split('None Undefined True False [] {} [1] [None] [[]] {a=1} {"a":1} [{}]'),
    *_split('"" "a" "1" "é" "\\n" "${a}" "a.b" "{}" "{0}" "%" "["'),
    *("lambda{1}", "lambda x { x }", "[x for x in [1]]", '{k:k for k in ["a"]}', "all x in [1] { x }", "a if a else b"),
    *("str(1)", 'int("1")', 'len("a")', "range(3)", "sum([1])", "max(1,2)", "typeof(1)", "abs(-1)", "[*[1]]"),
)
_LARGEST = 6_000


def mutated(dice: random.Random, text: str, others: Sequence[str]) -> str:
    """`text` with one to four changes; `others` give pieces to splice in."""
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        text = dice.choice(_MUTATIONS)(dice, text, others)
    return text[:_LARGEST]


def _pieces(text: str) -> list[str]:
    return _PIECE.findall(text) or [""]


def _replace_piece(dice: random.Random, text: str, _: Sequence[str]) -> str:
    pieces = _pieces(text)
    pieces[dice.randrange(len(pieces))] = dice.choice(_WORDS if dice.random() < 0.6 else _VALUES)
    return "".join(pieces)


def _insert_piece(dice: random.Random, text: str, _: Sequence[str]) -> str:
    pieces = _pieces(text)
    pieces.insert(dice.randrange(len(pieces) + 1), dice.choice(_WORDS if dice.random() < 0.6 else _VALUES))
    return "".join(pieces)


def _delete_pieces(dice: random.Random, text: str, _: Sequence[str]) -> str:
    pieces = _pieces(text)
    start = dice.randrange(len(pieces))
    del pieces[start : start + dice.choice((1, 1, 1, 2, 3, 8))]
    return "".join(pieces)


def _move_piece(dice: random.Random, text: str, _: Sequence[str]) -> str:
    pieces = _pieces(text)
    piece = pieces[dice.randrange(len(pieces))]
    pieces.insert(dice.randrange(len(pieces) + 1), piece)
    return "".join(pieces)


def _replace_value(dice: random.Random, text: str, _: Sequence[str]) -> str:
    found = list(re.finditer(r"\b\d[\w.]*|\"[^\"\n]*\"|\b(?:True|False|None)\b|\[[^\[\]\n]*\]|\{[^{}\n]*\}", text))
    if not found:
        return text
    place = dice.choice(found)
    return text[: place.start()] + dice.choice(_VALUES) + text[place.end() :]


def _swap_names(dice: random.Random, text: str, _: Sequence[str]) -> str:
    names = list(re.finditer(r"\b[^\W\d]\w*\b", text))
    if not names:
        return text
    place, other = dice.choice(names), dice.choice(names)
    return text[: place.start()] + other[0] + text[place.end() :]


def _lines(dice: random.Random, text: str, others: Sequence[str]) -> str:
    lines = text.split("\n")
    place = dice.randrange(len(lines))
    match dice.randrange(6):
        case 0:
            del lines[place : place + dice.choice((1, 1, 2, 5))]
        case 1:
            lines.insert(dice.randrange(len(lines) + 1), lines[place])
        case 2:
            lines[place] = dice.choice(("    ", "  ", "\t", " ")) + lines[place]
        case 3:
            lines[place] = lines[place][dice.randrange(1, 5) :]
        case 4:
            lines[place] = lines[place][: dice.randrange(len(lines[place]) + 1)]
        case _:
            given = dice.choice(others).split("\n") if others else lines
            start = dice.randrange(len(given))
            lines[place:place] = given[start : start + dice.randrange(1, 8)]
    return "\n".join(lines)


def _splice(dice: random.Random, text: str, others: Sequence[str]) -> str:
    other = dice.choice(others) if others else text
    return text[: dice.randrange(len(text) + 1)] + other[dice.randrange(len(other) + 1) :]


def _nest(dice: random.Random, text: str, _: Sequence[str]) -> str:
    found = list(re.finditer(r"(?<==)[^\n=]+", text))
    if not found:
        return text
    place = dice.choice(found)
    opening, closing = dice.choice((("(", ")"), ("[", "]"), ("{a=", "}"), ("str(", ")"), ("not ", ""), ("-", "")))
    times = dice.choice((1, 2, 50))
    return f"{text[: place.start()]} {opening * times}{place[0].strip()}{closing * times}{text[place.end() :]}"


_MUTATIONS = (
    *(_replace_piece, _insert_piece, _delete_pieces, _move_piece, _replace_value, _replace_value, _swap_names),
    *(_lines, _lines, _lines, _splice, _nest),
)
