"""Random small programs about orders: one variable set by several statements, and variables that read each other."""

from __future__ import annotations

import random

_SCHEMAS = """\
schema Port:
    x?: int
    y: int = 1
    s?: Port
    l?: [int]
    m?: {str:int}

schema Named(Port):
    w?: int = 5

"""


def unifications(number: int) -> str:
    """A program in which up to three names are described by several statements, with other statements between them."""
    rng = random.Random(number)
    names = rng.sample("bcde", rng.choice((1, 1, 2, 3)))
    parts = [_SCHEMAS]
    for place in range(rng.randint(2, 6)):
        name = rng.choice(names)
        draw = rng.random()
        if draw < 0.3:
            value = rng.choice((str(place), _config(rng, "Port ", 1)))
            parts.append(f"a{place} = {value}\n")
        elif draw < 0.9:
            parts.append(f"{name}: {_config(rng, rng.choice(('Port ', 'Port ', 'Port ', 'Named ')), 0)}\n")
        elif draw < 0.95:
            parts.append(f"{name} = {_config(rng, 'Port ', 0)}\n")
        else:
            parts.append(f"if {rng.choice(('True', 'False'))}:\n    {name}: {_config(rng, 'Port ', 0)}\n")
    return "".join(parts)


def _config(rng: random.Random, schema: str, depth: int) -> str:
    return schema + "{" + ", ".join(_entry(rng, depth) for _ in range(rng.randint(0, 3))) + "}"


def _entry(rng: random.Random, depth: int) -> str:
    operator = rng.choice((":", ":", " =", " ="))
    number = str(rng.randint(1, 2))
    draw = rng.random()
    if draw < 0.5:
        return f"{rng.choice('xy')}{operator} {number}"
    if draw < 0.65 and depth < 2:
        if rng.random() < 0.3:
            return f"s.{rng.choice('xy')}{operator} {number}"
        return f"s{operator} {rng.choice(('Port ', ''))}{{x{operator} {number}}}"
    if draw < 0.8:
        return f"l{rng.choice((operator, ' +='))} [{number}]"
    if draw < 0.9:
        return f"m{operator} {{{rng.choice('pqr')}: {number}}}"
    return f"if {rng.choice(('True', 'False'))}: {rng.choice('xy')}{operator} {number}"


def readers(number: int) -> str:
    """A program of variables that read each other, in any order and in circles."""
    rng = random.Random(number)
    names = rng.sample("abcdef", rng.randint(2, 4))
    kinds = {name: rng.choice(("dict", "dict", "number", "Port")) for name in names}
    statements = []
    for name in names:
        kind = kinds[name]
        if kind == "Port" and rng.random() < 0.5:
            statements += [f"{name}: {_value(rng, name, kinds)}\n" for _ in range(rng.randint(1, 2))]
        else:
            statements.append(f"{name} = {_value(rng, name, kinds)}\n")
    rng.shuffle(statements)
    return _SCHEMAS + "".join(statements)


def _value(rng: random.Random, name: str, kinds: dict[str, str]) -> str:
    if kinds[name] == "number":
        return _number(rng, name, kinds)
    config = ", ".join(
        f"{key}{rng.choice((':', ' ='))} {_number(rng, name, kinds)}" for key in rng.sample("xy", rng.randint(0, 2))
    )
    return ("Port " if kinds[name] == "Port" else "") + "{" + config + "}"


def _number(rng: random.Random, name: str, kinds: dict[str, str]) -> str:
    other = rng.choice([each for each in kinds if each != name])
    if rng.random() < 0.5:
        return str(rng.randint(1, 4))
    read = other if kinds[other] == "number" else f"{other}{rng.choice(('.', '.', '?.'))}{rng.choice('xy')}"
    return f"({read} or {rng.randint(1, 3)})" if rng.random() < 0.3 else read


def accumulators(number: int) -> str:
    """A program of private variables that are made out of themselves, set anew and read, at the top and inside."""
    rng = random.Random(number)
    kind = rng.choice(("number", "list", "dict"))
    fresh, more, paths = {
        "number": (("1", "5"), ("+= 10", "+= 100", "*= 3", "= _c + 7"), ()),
        "list": (("[1]", "[5, 6]"), ("+= [2]", "= [*_c, 3]", "= _c + [4]"), ("_c[0] = 9",)),
        "dict": (("{a = 1}", "{}"), ("|= {b = 2}", "|= {c = 3}", "= {**_c, d = 4}"), ("_c.e = 5", '_c["f"] = 6')),
    }[kind]
    lines = ["schema Holder:", "    v?: any", "    w?: any = _c", "", "_f = lambda { _c }"]
    if rng.random() < 0.2:
        lines.append("r0 = _c")
    lines.append(f"_c = {rng.choice(fresh)}")
    for place in range(1, rng.randint(3, 8)):
        draw = rng.random()
        if draw < 0.35:
            lines.append(
                f"r{place} = "
                + rng.choice(("_c", "_c", "{x = _c}", "[_c]", "[_c for i in [1]]", "_f()", "Holder {v = _c}"))
            )
        elif draw < 0.7:
            text = f"_c {rng.choice(more)}"
            lines.append(f"if True:\n    {text}" if rng.random() < 0.2 else text)
        elif draw < 0.8 and paths:
            lines.append(rng.choice(paths))
        else:
            lines.append(f"_c = {rng.choice(fresh)}")
    return "\n".join([*lines, "last = _c"]) + "\n"
