"""Random programs that mostly make sense: every expression is generated for the type it has to have.

`program(seed)` gives the same text for the same seed, here and everywhere. One program in eight gets a mistake.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

INT, FLOAT, STR, BOOL = "int", "float", "str", "bool"
INTS, STRS, NUMBERS = "[int]", "[str]", "{str:int}"
_PLAIN = (INT, FLOAT, STR, BOOL, INTS, STRS, NUMBERS)
_WORDS = ("alpha", "beta", "web-1", "x y", "", "é", "a.b/c", "No", "1e3", "null", "UPPER lower", "tab\\tbed")
_KEYS = ("app", "tier", "env", "k1", "k2", "zone")


@dataclass
class Schema:
    """What instances of it take: attributes by name with their type, which of them must be given, what else may be."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    parameter: str | None = None
    read: set[str] = field(default_factory=set)
    """Attributes that defaults of others read."""
    open_to: str | None = None
    """The type of values of other keys, if there may be any."""


class Maker:
    """Writes one program. Names it has given values are remembered with their types."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.names: dict[str, str] = {}
        self.schemas: list[Schema] = []
        self.lambdas: dict[str, tuple[str, str]] = {}
        self.modules: set[str] = set()
        self.lines: list[str] = []
        self.count = 0
        self.local: dict[str, str] = {}

    # ------------------------------------------------------------------ the whole

    def text(self) -> str:
        dice = self.dice
        for _ in range(dice.randrange(0, 3)):
            self.schema()
        steps: tuple[Callable[[], None], ...] = (
            *(
                self.variable,
                self.variable,
                self.private,
                self.branch,
                self.items,
                self.lambda_,
                self.alias,
                self.assertion,
            ),
            *(self.instance, self.instance, self.unification, self.union, self.configuration, self.operators),
        )
        for _ in range(dice.randrange(3, 9)):
            dice.choice(steps)()
        if dice.random() < 0.125:
            self.mistake()
        imports = [f"import {name}" for name in sorted(self.modules)]
        return "\n".join([*imports, *self.lines]) + "\n"

    def fresh(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def emit(self, line: str) -> None:
        self.lines.append(line)

    # ------------------------------------------------------------------ expressions

    def of(self, type_: str, depth: int = 2) -> str:
        """An expression of the type."""
        known = [name for name, has in (*self.names.items(), *self.local.items()) if has == type_]
        if known and self.dice.random() < 0.35:
            return self.dice.choice(known)
        calls = [name for name, (_, result) in self.lambdas.items() if result == type_]
        if calls and depth and self.dice.random() < 0.25:
            name = self.dice.choice(calls)
            return f"{name}({self.of(self.lambdas[name][0], depth - 1)})"
        if depth and self.dice.random() < 0.1:
            return f"({self.of(type_, depth - 1)} if {self.of(BOOL, depth - 1)} else {self.of(type_, depth - 1)})"
        if depth == 0:
            return self.literal(type_)
        makers = {
            INT: self.int_,
            FLOAT: self.float_,
            STR: self.str_,
            BOOL: self.bool_,
            INTS: self.ints,
            STRS: self.strs,
            NUMBERS: self.numbers,
        }
        return makers[type_](depth - 1)

    def literal(self, type_: str) -> str:
        dice = self.dice
        match type_:
            case "int":
                return dice.choice(("0", "1", "-1", "7", "42", "0x1F", "1_000", "0b101", "0o17"))
            case "float":
                return dice.choice(("0.5", "1.0", "-2.25", "1e3", "3.0", "100.125"))
            case "str":
                quote = dice.choice("\"'")
                return f"{quote}{dice.choice(_WORDS)}{quote}"
            case "bool":
                return dice.choice(("True", "False"))
            case "[int]":
                return "[" + ", ".join(self.literal(INT) for _ in range(dice.randrange(0, 4))) + "]"
            case "[str]":
                return "[" + ", ".join(self.literal(STR) for _ in range(dice.randrange(0, 4))) + "]"
            case _:
                keys = dice.sample(_KEYS, dice.randrange(0, 4))
                return "{" + ", ".join(f"{self.key(key)} {dice.choice(':=')} {self.literal(INT)}" for key in keys) + "}"

    def key(self, key: str) -> str:
        return key if self.dice.random() < 0.6 else f'"{key}"'

    def maker_of(self, depth: int) -> Callable[[str], str]:
        """Makes an expression of the type it is given, `depth` deep."""
        return lambda type_: self.of(type_, depth)

    def int_(self, depth: int) -> str:
        a, b = self.maker_of(depth), self.dice.choice
        return b(
            [
                lambda: f"({a(INT)} {b('+-*')} {a(INT)})",
                lambda: f"({a(INT)} // {b(('2', '3', '-4'))})",
                lambda: f"({a(INT)} % {b(('2', '3', '-4'))})",
                lambda: f"({a(INT)} {b('&|^')} {a(INT)})",
                lambda: f"({a(INT)} << {b('012')})",
                lambda: f"({b('23')} ** {b('0123')})",
                lambda: f"-({a(INT)})",
                lambda: f"len({a(b((STR, INTS, STRS, NUMBERS)))})",
                lambda: f"abs({a(INT)})",
                lambda: f"sum({a(INTS)})",
                lambda: f"max({a(INT)}, {a(INT)})",
                lambda: f"int({a(b((INT, FLOAT)))})",
                lambda: f"int({b(('1Ki', '2M', '500m', '3k', '1Gi'))})",
                lambda: f"{a(STR)}.count({self.literal(STR)})" if depth else self.literal(INT),
                lambda: f"({a(NUMBERS)}?.{b(_KEYS)} or {a(INT)})",
                lambda: f"([{a(INT)}, {a(INT)}][{b(('0', '1', '-1'))}])",
            ]
        )()

    def float_(self, depth: int) -> str:
        a, b = self.maker_of(depth), self.dice.choice
        return b(
            [
                lambda: f"({a(FLOAT)} {b('+-*')} {a(b((INT, FLOAT)))})",
                lambda: f"({a(INT)} / {b('248')})",
                lambda: f"float({a(INT)})",
                lambda: f"round({a(FLOAT)}, {b('123')})",
                lambda: self.literal(FLOAT),
            ]
        )()

    def str_(self, depth: int) -> str:
        a, b = self.maker_of(depth), self.dice.choice
        plain = [name for name, type_ in self.names.items() if type_ in (INT, STR, BOOL, FLOAT, INTS)]
        return b(
            [
                lambda: f"({a(STR)} + {a(STR)})",
                lambda: f"({self.literal(STR)} * {b('0123')})",
                lambda: f"str({a(b(_PLAIN))})",
                lambda: f"{self.literal(STR)}.{b(('upper', 'lower', 'title', 'capitalize', 'strip'))}()",
                lambda: f"{self.literal(STR)}.replace({self.literal(STR)}, {self.literal(STR)})",
                lambda: f"({self.literal(STR)}).removeprefix('a').removesuffix('a')",
                lambda: f'"<${{{b(plain)}}}>"' if plain else self.literal(STR),
                lambda: f'"${{{b(plain)}: #{b(("json", "yaml"))}}}"' if plain else self.literal(STR),
                lambda: f'"{{}}-{{}}".format({a(INT)}, {a(STR)})',
                lambda: f'"{{0}}{{name}}".format({a(STR)}, name={a(INT)})',
                lambda: f"{b(('', '-', ', '))!r}.join({a(STRS)})",
                lambda: f"typeof({a(b(_PLAIN))})",
                lambda: f"hex({b(('0', '17', '255'))})",
                lambda: f"{self.module('json')}.encode({a(b(_PLAIN))})",
                lambda: f"{self.module('yaml')}.encode({a(b((INTS, STRS, NUMBERS)))})",
                lambda: f"{self.module('base64')}.encode({a(STR)})",
                lambda: f"{self.module('crypto')}.md5({a(STR)})",
                lambda: f'{self.module("regex")}.replace({a(STR)}, "[aeiou]+", "_")',
                lambda: f'r"\\d{b(_WORDS)}"',
                lambda: (
                    f'"""\n    {b(("one", "two"))}\n      ${{{a(INT)}}}\n    """' if not depth else self.literal(STR)
                ),
            ]
        )()

    def bool_(self, depth: int) -> str:
        a, b = self.maker_of(depth), self.dice.choice
        return b(
            [
                lambda: f"({a(INT)} {b(('<', '<=', '>', '>=', '==', '!='))} {a(INT)})",
                lambda: f"({a(STR)} {b(('==', '!='))} {a(STR)})",
                lambda: f"({a(BOOL)} {b(('and', 'or'))} {a(BOOL)})",
                lambda: f"(not {a(BOOL)})",
                lambda: f"({a(INT)} {b(('in', 'not in'))} {a(INTS)})",
                lambda: f"({a(STR)} in {a(STR)})",
                lambda: f"({self.literal(STR)} in {a(NUMBERS)})",
                lambda: f"(0 < {a(INT)} <= 10)",
                lambda: f"isunique({a(b((INTS, STRS)))})",
                lambda: f"(all x in {self.target(INTS)} {{ x > 0 }})",
                lambda: f"(any x in {self.target(INTS)} {{ x % 2 == 0 if x > 1 }})",
                lambda: f"{self.literal(STR)}.startswith({self.literal(STR)})",
                lambda: f"({a(b(_PLAIN))} is {b(('None', 'not None'))})",
                lambda: f"({a(INTS)} == {a(INTS)})",
                lambda: f"bool({a(b(_PLAIN))})",
                lambda: f'{self.module("regex")}.match({self.literal(STR)}, "^a.*$")',
            ]
        )()

    def target(self, type_: str) -> str:
        """What a quantifier may run over: a name or a literal."""
        known = [name for name, has in self.names.items() if has == type_]
        return self.dice.choice(known) if known and self.dice.random() < 0.5 else self.literal(type_)

    def ints(self, depth: int) -> str:
        a, b = self.maker_of(depth), self.dice.choice
        return b(
            [
                lambda: f"[{a(INT)}, *{a(INTS)}]",
                lambda: f"({a(INTS)} + {a(INTS)})",
                lambda: f"[x {b('+-*')} {self.literal(INT)} for x in {a(INTS)} if x {b('<>')} {self.literal(INT)}]",
                lambda: f"[x + i for i, x in {a(INTS)}]",
                lambda: f"[x * y for x in {a(INTS)} for y in {self.literal(INTS)}]",
                lambda: f"range({b(('3', '1, 4', '0, 10, 3'))})",
                lambda: f"{a(INTS)}[{b(('1:', ':2', '::2', '-1:'))}]",
                lambda: f"sorted({a(INTS)})",
                lambda: f"(map x in {self.target(INTS)} {{ x * 2 }})",
                lambda: f"(filter x in {self.target(INTS)} {{ x > 1 }})",
                lambda: f"({self.literal(INTS)} * {b('012')})",
                lambda: f"[v for k, v in {a(NUMBERS)}]",
            ]
        )()

    def strs(self, depth: int) -> str:
        a, b = self.maker_of(depth), self.dice.choice
        return b(
            [
                lambda: f"[{a(STR)}, {a(STR)}]",
                lambda: f"[k for k in {a(NUMBERS)}]",
                lambda: f"[str(x) for x in {a(INTS)}]",
                lambda: f"{a(STR)}.split({b(('', chr(34) + '-' + chr(34)))})" if not depth else self.literal(STRS),
                lambda: f"({a(STRS)} + {a(STRS)})",
                lambda: f"[s.upper() for s in {a(STRS)} if s]",
                lambda: f"{self.literal(STR)}.chars()",
            ]
        )()

    def numbers(self, depth: int) -> str:
        a, b = self.maker_of(depth), self.dice.choice
        return b(
            [
                lambda: f"{{{b(_KEYS)}: {a(INT)}, **{a(NUMBERS)}}}" if depth else self.literal(NUMBERS),
                lambda: f"{{k: v + 1 for k, v in {a(NUMBERS)}}}",
                lambda: f"{{str(x): x for x in {a(INTS)}}}",
                lambda: f'{{"n${{x}}" = x for x in {a(INTS)} if x > 0}}',
                lambda: f"{{if {a(BOOL)}: {b(_KEYS)} = {a(INT)}}}",
                lambda: f'{{"{b(_KEYS)}" = {a(INT)}}}',
                lambda: self.literal(NUMBERS),
            ]
        )()

    def module(self, name: str) -> str:
        self.modules.add(name)
        return name

    # ------------------------------------------------------------------ statements

    def variable(self) -> None:
        type_ = self.dice.choice(_PLAIN)
        name = self.fresh()
        annotation = f": {type_}" if self.dice.random() < 0.3 else ""
        self.emit(f"{name}{annotation} = {self.of(type_, 3)}")
        self.names[name] = type_

    def private(self) -> None:
        type_ = self.dice.choice((INT, INTS, STRS, STR, NUMBERS))
        name = "_" + self.fresh()
        self.emit(f"{name} = {self.of(type_)}")
        if type_ != NUMBERS and self.dice.random() < 0.3:
            self.emit(f"{name} = {self.of(type_)}")
        for _ in range(self.dice.randrange(0, 3)):
            if type_ != NUMBERS:
                operator = self.dice.choice(("+=", "-=", "*=") if type_ == INT else ("+=",))
                self.emit(f"{name} {operator} {self.of(type_)}")
            elif self.dice.random() < 0.2:
                self.emit(f"{name} |= {self.literal(NUMBERS)}")
            else:
                self.emit(f"{name}.{self.dice.choice(_KEYS)} = {self.of(INT)}")
        self.names[name] = type_
        shown = self.fresh()
        self.emit(f"{shown} = {name}")
        self.names[shown] = type_

    def branch(self) -> None:
        type_ = self.dice.choice(_PLAIN)
        name = "_" + self.fresh()
        self.emit(f"if {self.of(BOOL)}:\n    {name} = {self.of(type_)}")
        if self.dice.random() < 0.4:
            self.emit(f"elif {self.of(BOOL)}:\n    {name} = {self.of(type_)}")
        self.emit(f"else:\n    {name} = {self.of(type_)}")
        self.names[name] = type_
        shown = self.fresh()
        self.emit(f"{shown} = {name}")
        self.names[shown] = type_

    def items(self) -> None:
        name = self.fresh()
        self.emit(
            f"{name} = [\n    if {self.of(BOOL)}: {self.of(INT)}\n    else: {self.of(INT)}\n"
            f"    *{self.of(INTS)}\n    if {self.of(BOOL)}:\n        {self.literal(INT)}\n]"
        )
        self.names[name] = INTS

    def lambda_(self) -> None:
        takes, gives = self.dice.choice(_PLAIN), self.dice.choice(_PLAIN)
        name = self.fresh("f")
        before, self.local = self.local, {"p": takes}
        lines = []
        if self.dice.random() < 0.5:
            type_ = self.dice.choice(_PLAIN)
            lines.append(f"    q = {self.of(type_)}")
            self.local["q"] = type_
        lines.append(f"    ({self.of(gives)})")
        self.local = before
        typed = self.dice.random()
        parameter = f"p: {takes}" if typed < 0.7 else "p"
        result = f" -> {gives}" if typed < 0.4 else ""
        self.emit(f"{name} = lambda {parameter}{result} {{\n" + "\n".join(lines) + "\n}")
        self.lambdas[name] = (takes, gives)
        shown = self.fresh()
        self.emit(f"{shown} = {name}({self.of(takes)})")
        self.names[shown] = gives

    def alias(self) -> None:
        name, variable = self.fresh("T"), self.fresh()
        type_ = self.dice.choice(('"a" | "b"', "int | str", "1 | 2", "[int] | int", "{str:int} | str"))
        value = {'"a" | "b"': '"b"', "int | str": "3", "1 | 2": "2", "[int] | int": "[1]", "{str:int} | str": "{a=1}"}
        self.emit(f"type {name} = {type_}\n{variable}: {name} = {value[type_]}")

    def assertion(self) -> None:
        self.emit(
            f"assert {self.of(BOOL)} or True" + (f' if {self.of(BOOL)}, "why"' if self.dice.random() < 0.5 else "")
        )

    def configuration(self) -> None:
        name = self.fresh("c")
        keys = self.dice.sample(_KEYS, 3)
        self.emit(
            f"{name} = {{\n    {keys[0]}.inner.deep = {self.of(INT)}\n"
            f"    {keys[1]}: {{x: {self.of(STR)}, y = {self.of(INTS)}}}\n"
            f"    if {self.of(BOOL)}:\n        {keys[2]} = {self.of(NUMBERS)}\n    else:\n        {keys[2]} = None\n}}"
        )
        self.emit(f"{self.fresh()} = {name}.{keys[0]}.inner.deep")

    def operators(self) -> None:
        name = self.fresh("c")
        base = f"{{a = {self.literal(INTS)}, b = {{x = 1}}, c: {self.literal(STR)}}}"
        change = self.dice.choice(
            (
                f"{{a += {self.literal(INTS)}}}",
                f"{{a = {self.literal(INTS)}}}",
                f"{{b: {{y = {self.literal(INT)}}}}}",
                f"{{b = {{y = {self.literal(INT)}}}}}",
                f"{{c = {self.literal(STR)}}}",
                f"{{a: {self.literal(INTS)}}}",
                f"{{d: {self.literal(STR)}}}",
            )
        )
        self.emit(f"_{name} = {base}\n{name} = _{name} | {change}")

    # ------------------------------------------------------------------ schemas

    def schema(self) -> None:
        dice = self.dice
        bases = [schema for schema in self.schemas if not schema.parameter]
        parent = dice.choice(bases) if bases and dice.random() < 0.5 else None
        made = Schema(self.fresh("S"))
        lines = []
        if parent is not None:
            made.attributes |= parent.attributes
            made.required |= parent.required
            made.read |= parent.read
        if parent is None and dice.random() < 0.25:
            made.parameter = "size"
        mixin = None
        if dice.random() < 0.25:
            mixin = f"{made.name}Mixin"
            self.emit(f"schema {mixin}:\n    extra{self.count}: int = {self.literal(INT)}\n")
            lines.append(f"    mixin [{mixin}]")
            made.attributes[f"extra{self.count}"] = INT
        before, self.local = self.local, {name: type_ for name, type_ in made.attributes.items() if type_ in _PLAIN}
        if made.parameter:
            self.local["size"] = INT
        for _ in range(dice.randrange(1, 5)):
            lines.append(self.attribute(made))
        if dice.random() < 0.3:
            lines.append(f"    if {self.of(BOOL, 1)}:\n        seen{self.count} = {self.literal(INT)}")
        if made.open_to is None and parent is None and dice.random() < 0.25:
            made.open_to = dice.choice((INT, STR))
            lines.append(f"    [...str]: {made.open_to}" if dice.random() < 0.5 else "    [str]: any")
            if lines[-1].endswith("any"):
                made.open_to = "any"
        if dice.random() < 0.35:
            lines.append(f'    check:\n        {self.of(BOOL, 1)} or True, "check"')
        self.local = before
        head = f"schema {made.name}"
        if made.parameter:
            head += f"[size: int{' = 3' if dice.random() < 0.7 else ''}]"
        if parent is not None:
            head += f"({parent.name})"
        self.emit(f"{head}:\n" + "\n".join(lines) + "\n")
        self.schemas.append(made)

    def attribute(self, schema: Schema) -> str:
        dice = self.dice
        name = self.fresh("a")
        others = [other for other in self.schemas if not other.parameter and not other.required]
        if others and dice.random() < 0.25:
            other = dice.choice(others)
            schema.attributes[name] = other.name
            return f"    {name}: {other.name} = {other.name} {{}}"
        type_ = dice.choice(_PLAIN)
        schema.attributes[name] = type_
        kind = dice.random()
        self.local[name] = type_
        if kind < 0.2:
            del self.local[name]
            return f"    {name}?: {type_}"
        if kind < 0.4:
            schema.required.add(name)
            return f"    {name}: {type_}"
        del self.local[name]
        value = self.of(type_, 1)
        schema.read.update(other for other in schema.attributes if other in value)
        if (value in self.local or value in self.names) and type_ in (INTS, STRS, NUMBERS):
            # Officially a default that is another name's value is changed together with it.
            value = f"{{**{value}}}" if type_ == NUMBERS else f"[*{value}]"
        line = f"    {name}: {type_} = {value}"
        self.local[name] = type_
        return line

    def body(self, schema: Schema, depth: int = 1, *, override: bool = False) -> str:
        """Entries for an instance: what must be given, and some of the rest."""
        entries = []
        for name, type_ in schema.attributes.items():
            if name not in schema.required and self.dice.random() < 0.6:
                continue
            if type_ in _PLAIN:
                operator = self.dice.choice(
                    (":", "=", "=", "+=" if type_ in (INTS, STRS) and name not in schema.read else ":")
                )
                operator = "=" if override else operator
                entries.append(f"{name} {operator} {self.of(type_, depth)}")
            else:
                other = next(item for item in self.schemas if item.name == type_)
                inner = self.body(other, 0)
                entries.append(f"{name}: {self.dice.choice((type_ + ' ', ''))}{{{inner}}}")
        if schema.open_to and self.dice.random() < 0.6:
            entries.append(f"more{self.count} = {self.literal(INT if schema.open_to == 'any' else schema.open_to)}")
        self.dice.shuffle(entries)
        return ", ".join(entries)

    def call(self, schema: Schema) -> str:
        return f"{schema.name}({self.literal(INT)})" if schema.parameter else schema.name

    def instance(self) -> None:
        if not self.schemas:
            self.schema()
        schema = self.dice.choice(self.schemas)
        name = self.fresh("i")
        self.emit(f"{name} = {self.call(schema)} {{{self.body(schema)}}}")
        self.names[name] = schema.name
        plain = [key for key, type_ in schema.attributes.items() if type_ in _PLAIN]
        if plain and self.dice.random() < 0.4:
            key = self.dice.choice(plain)
            self.emit(f"{self.fresh()} = {name}.{key}")

    def unification(self) -> None:
        if not self.schemas:
            self.schema()
        schema = self.dice.choice(self.schemas)
        name = self.fresh("u")
        call = self.call(schema)
        for again in range(self.dice.choice((1, 1, 2))):
            self.emit(f"{name}: {call} {{{self.body(schema, override=bool(again))}}}")
        self.names[name] = schema.name

    def union(self) -> None:
        known = [(name, type_) for name, type_ in self.names.items() if type_ not in _PLAIN]
        if not known:
            return
        name, type_ = self.dice.choice(known)
        schema = next(item for item in self.schemas if item.name == type_)
        saved, schema.required = schema.required, set()
        self.emit(f"{self.fresh('w')} = {name} | {{{self.body(schema, override=True)}}}")
        schema.required = saved

    # ------------------------------------------------------------------ mistakes

    def mistake(self) -> None:
        a, b = self.of, self.dice.choice
        name = self.fresh("bad")
        wrong = {INT: STR, STR: INT, BOOL: STR, FLOAT: STR, INTS: STRS, STRS: INT, NUMBERS: STR}
        type_ = b(_PLAIN)
        choices = [
            lambda: f"{name}: {type_} = {self.literal(wrong[type_])}",
            lambda: f"{name} = nowhere{self.count}",
            lambda: f"{name} = {self.literal(STR)} - {self.literal(INT)}",
            lambda: f"{name} = [1, 2][{b(('5', '-9'))}]",
            lambda: f"{name} = {{x: 1}} | {{x: 2}}",
            lambda: f"{name} = 1 // 0" if b((0, 1)) else f"{name} = {a(INT)} + None",
            lambda: f"{name} = 1\n{name} = 2",
            lambda: 'assert False, "no"',
            lambda: f"{name} = 9223372036854775807 + 1",
            lambda: f"{name} = len({self.literal(INT)})",
            lambda: f"{name} = int({self.literal(STR)})",
            lambda: f'{name} = "abc".nothing()',
            lambda: f"{name} = (lambda x: int {{ x }})()",
            lambda: f"{name} = {{a = 1}}.a.b",
        ]
        if self.schemas:
            schema = b(self.schemas)
            choices += [
                lambda: f"{name} = {self.call(schema)} {{unknown{self.count} = 1}}",
                lambda: f"{name} = {self.call(schema)} {{}}",
                lambda: (
                    f'schema {name}C({schema.name}):\n    zz: int = 1\n    check:\n        zz > 5, "small"\n'
                    f"{name} = {name}C{{{self.body(schema)}}}"
                ),
                lambda: f"schema {name}D({schema.name}):\n    {next(iter(schema.attributes), 'q')}: [bool]\n",
            ]
        self.emit(b(choices)())


def program(seed: int) -> str:
    """The program of this number."""
    return Maker(seed).text()
