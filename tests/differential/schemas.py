"""Programs made by chance whose schemas make order count: what is printed, made and assigned, and when.

Attributes of few names are declared again in derived schemas and mixins, read each other, also in circles, stand under
conditions, and have defaults that print, call and make instances; instances are united and asked for. The same seed
gives the same text, here and everywhere.
"""

from __future__ import annotations

import random

_TYPES = {"a": "int", "b": "int", "c": "int", "d": "int", "l": "[int]", "x": "{str:int}", "n": "N"}
_HEAD = """
say = lambda text: str, value {
    print(text)
    value
}
schema N:
    v: int = 1
    w?: int
"""


class Maker:
    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.schemas: dict[str, list[str]] = {}
        self.mixins: list[str] = []
        self.names: list[str] = []
        self.globals: list[str] = []
        order = self.dice.sample(list(_TYPES), len(_TYPES))
        self.rank = {name: number for number, name in enumerate(order)}
        """An attribute reads those of a lower rank and itself; but for programs with circles."""
        self.has_circles = self.dice.random() < 0.15
        self.limit = len(order)

    def text(self) -> str:
        dice = self.dice
        self.globals = [f"g{number}" for number in range(dice.randrange(0, 3))]
        for number in range(dice.randrange(0, 3)):
            self._schema(f"P{number}Mixin", is_mixin=True)
        for number in range(dice.randrange(1, 4)):
            self._schema(f"S{number}", is_mixin=False)
        uses: list[str] = []
        for number in range(dice.randrange(1, 5)):
            uses.append(self._use(f"i{number}"))
        for name in self.globals:
            uses.insert(dice.randrange(len(uses) + 1), f"{name} = {self._said(dice.choice('123'))}")
        return "\n".join([_HEAD.strip(), *self.lines, *uses, *self._ends()]) + "\n"

    def _ends(self) -> list[str]:
        if self.dice.random() < 0.5:
            return []
        name = self.dice.choice([*self.schemas, "N"])
        return [f"z = [[k for k in each] for each in {name}.instances()]", f"y = {name}.instances()"]

    def _number(self) -> str:
        self.count += 1
        return str(self.count)

    def _said(self, value: str) -> str:
        return f'say("{self._number()}", {value})'

    # --- Schemas ---

    def _schema(self, name: str, is_mixin: bool) -> None:
        dice = self.dice
        parent = dice.choice(list(self.schemas)) if self.schemas and not is_mixin and dice.random() < 0.6 else None
        declared = list(self.schemas[parent]) if parent else []
        self.names = [*declared, *dice.sample(list(_TYPES), dice.randrange(2, 6))]
        self.lines.append(f"schema {name}{f'({parent})' if parent else ''}:")
        if self.mixins and not is_mixin and dice.random() < 0.5:
            used = dice.sample(self.mixins, dice.randrange(1, len(self.mixins) + 1))
            self.lines.append(f"    mixin [{', '.join(used)}]")
        if not is_mixin and dice.random() < 0.15:
            self.lines.append("    [...str]: any")
        own = dict.fromkeys(self.names[len(declared) :])
        order = list(own)
        for name_ in declared:
            if dice.random() < 0.4:
                order.insert(dice.randrange(len(order) + 1), name_)
        self.names = list(dict.fromkeys(self.names))
        seen: set[str] = set()
        for each in order:
            self._declaration(each, "    ")
            seen.add(each)
            while dice.random() < 0.35:
                self._statement(dice.choice([*seen, *declared]), "    ")
        self.limit = len(_TYPES)
        if not is_mixin and dice.random() < 0.25:
            self.lines.append("    check:")
            self.lines.append(f"        {self._condition(1)} or True")
        if is_mixin:
            self.mixins.append(name)
        else:
            self.schemas[name] = self.names

    def _declaration(self, name: str, indent: str) -> None:
        dice, type_ = self.dice, _TYPES[name]
        chance, self.limit = dice.random(), self.rank[name]
        if chance < 0.15:
            self.lines.append(f"{indent}{name}?: {type_}")
        else:
            self.lines.append(f"{indent}{name}?: {type_} = {self._of(name, 2)}")

    def _statement(self, name: str, indent: str) -> None:
        dice = self.dice
        chance = dice.random()
        self.limit = self.rank[name]
        if chance < 0.45:
            self.lines.append(f"{indent}{name} = {self._of(name, 2)}")
        elif chance < 0.75 and len(indent) < 12:
            self.lines.append(f"{indent}if {self._condition(1)}:")
            above = [each for each in self.names if self.rank[each] >= self.rank[name]]
            self._statement(dice.choice(above), indent + "    ")
            if dice.random() < 0.5:
                self.lines.append(f"{indent}else:")
                self._statement(dice.choice(above), indent + "    ")
        elif chance < 0.9:
            self.limit = len(_TYPES) if dice.random() < 0.5 else self.limit
            self.lines.append(f'{indent}print("{self._number()}", {self._int(1)})')
        else:
            self.lines.append(f"{indent}assert {self._condition(1)} or True")

    # --- Expressions ---

    def _of(self, name: str, depth: int) -> str:
        match _TYPES[name]:
            case "int":
                return self._int(depth)
            case "[int]":
                return self._list(depth)
            case "{str:int}":
                return self._config(depth)
            case _:
                return self._instance(depth)

    def _known(self, type_: str) -> list[str]:
        return [name for name in self._readable() if _TYPES[name] == type_]

    def _readable(self) -> list[str]:
        return [name for name in self.names if self.has_circles or self.rank[name] <= self.limit]

    def _condition(self, depth: int) -> str:
        return f"{self._int(depth)} {self.dice.choice(('>', '==', '<'))} {self._int(0)}"

    def _int(self, depth: int) -> str:
        dice = self.dice
        known = [f"({name} or {dice.choice('123')})" for name in self._known("int")]
        known += [f"len({name} or [])" for name in self._known("[int]")]
        known += [f"(n?.v or {dice.choice('12')})"] if "n" in self._readable() else []
        known += [f"len({name} or {{}})" for name in self._known("{str:int}")]
        if dice.random() < 0.1 and self.globals:
            return dice.choice(self.globals)
        if known and dice.random() < 0.45:
            return dice.choice(known)
        if depth <= 0:
            return dice.choice(("1", "2", "3"))
        inner = depth - 1
        chance = dice.random()
        if chance < 0.15:
            return self._said(self._int(inner))
        if chance < 0.5:
            return f"({self._int(inner)} + {self._int(inner)})"
        if chance < 0.65:
            return f"({self._int(inner)} if {self._condition(inner)} else {self._int(inner)})"
        if chance < 0.7:
            return f"N {{v = {self._int(inner)}}}.v"
        if chance < 0.73:
            return "len(N.instances())"
        return dice.choice(("1", "2", "3"))

    def _list(self, depth: int) -> str:
        dice = self.dice
        chance = dice.random()
        if chance < 0.3 and self._known("[int]"):
            return f"[{self._int(0)}] + (l or [])"
        if chance < 0.5:
            return f"[{self._int(depth - 1)} + k for k in [1, 2]]"
        if chance < 0.6:
            return self._said(f"[{self._int(0)}]")
        return "[" + ", ".join(self._int(depth - 1) for _ in range(dice.randrange(0, 3))) + "]"

    def _config(self, depth: int) -> str:
        dice = self.dice
        items = [f"{key} = {self._int(depth - 1)}" for key in dice.sample("pqr", dice.randrange(0, 3))]
        written = "{" + ", ".join(items) + "}"
        chance = dice.random()
        if chance < 0.2 and "x" in self._readable():
            return f"{{**(x or {{}}), {', '.join(items)}}}" if items else written
        return f"{written} | {{p = 4}}" if chance < 0.3 else written

    def _instance(self, depth: int) -> str:
        dice = self.dice
        chance = dice.random()
        written = f"N {{v = {self._int(depth - 1)}}}"
        if chance < 0.2:
            return f"{written} | {{w = {self._int(0)}}}"
        if chance < 0.35:
            return self._said(written)
        return written if chance < 0.9 else "{v = 3}"

    # --- What uses them ---

    def _use(self, name: str) -> str:
        dice = self.dice
        schema = dice.choice(list(self.schemas))
        names, self.names = self.names, []
        made = f"{schema} {self._given(self.schemas[schema])}"
        chance = dice.random()
        if chance < 0.45:
            made = f"{made} | {self._given(self.schemas[schema], '====:')}"
        elif chance < 0.55:
            made = f"[{made} for k in [1, 2, 3]]"
        elif chance < 0.65:
            made = f"{made} | {schema} {self._given(self.schemas[schema])}"
        self.names = names
        return f"{name} = {made}"

    def _given(self, names: list[str], operators: str = "=") -> str:
        dice = self.dice
        chosen = dice.sample(names, min(len(names), dice.randrange(0, 3)))
        items = []
        for each in dict.fromkeys(chosen):
            operator = "+=" if _TYPES[each] == "[int]" and dice.random() < 0.4 else dice.choice(operators)
            items.append(f"{each} {operator} {self._of(each, 1)}")
        return "{" + ", ".join(items) + "}"


def program(seed: int) -> str:
    return Maker(seed).text()
