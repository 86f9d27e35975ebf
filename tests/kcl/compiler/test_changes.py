"""What a union makes of an instance: the same whether all of it is computed or what the union changes alone."""

from __future__ import annotations

import os
import random
from textwrap import dedent

import pytest

from kcl.compiler import changes
from tests.kcl.compiler.both_ways import same

_PROGRAMS = int(os.environ.get("KONFIG_WORKBENCH_UNIONS", "120"))

PROGRAMS = {
    "defaults in terms of what changes": """
        schema A:
            name: str
            size: int = 1
            label: str = name + "!"
            twice: int = size * 2
            both: [str] = [label, "${twice}"]
            more: str = "m"
        a = A {name = "a"} | {size = 4}
        b = A {name = "b", size = 2} | {name = "c"}
        c = A {name = "b", twice = 7} | {size = 3}
        """,
    "what was given and is not changed": """
        schema A:
            labels: {str:str} = {app = name}
            name: str = "n"
        a = A {labels.team = "t"} | {name = "other"}
        """,
    "one union after the other": """
        schema A:
            x: int = 1
            y: int = x + 1
            z: int = y + 1
        _a = A {}
        a = _a | {x = 2} | {y = 5} | {x = 3}
        """,
    "instances inside": """
        schema Inner:
            cpu: int = 1
            twice: int = cpu * 2
        schema A:
            inner: Inner = Inner {}
            other: Inner = Inner {cpu = inner.cpu}
            some: [Inner] = [inner]
            free: any = inner
        a = A {} | {inner.cpu = 3}
        b = A {inner.cpu = 2} | {other.cpu = 9} | {inner.cpu = 5}
        """,
    "a type that makes instances": """
        schema Inner:
            cpu: int = 1
        schema A:
            inner: Inner = {cpu = size}
            size: int = 2
            maybe?: Inner | str
        a = A {} | {size = 3}
        b = A {maybe = {cpu = 5}} | {size = 3}
        """,
    "what is counted": """
        schema Inner:
            cpu: int = 1
        schema A:
            inner: Inner = Inner {}
            note: str = "n"
        a = A {} | {note = "m"}
        count = [len(A.instances()), len(Inner.instances())]
        """,
    "what is printed": """
        shout = lambda text: str -> str {
            print(text)
            text + "!"
        }
        schema A:
            name: str = shout("a")
            note: str = "n"
            long: str = name + note
        a = A {} | {note = "m"}
        """,
    "variables of the package": """
        size = 2
        schema A:
            first: int = size
            note: str = "n"
        a = A {} | {note = "m"}
        other = A {note = "x"}
        size2 = other.first
        """,
    "a variable that is just being computed": """
        schema A:
            note: str = "n"
            seen?: any = x.note if x else "none"
        x: A = A {note = "a"}
        x: A {note = "b"}
        y = A {} | {note = "c"}
        """,
    "checks": """
        schema A:
            x: int = 1
            y: int = 2
            check:
                x < y, "x is ${x}"
        a = A {} | {x = 5}
        """,
    "a check of what does not change": """
        schema A:
            x: int = 1
            y: int = 2
            check:
                x < y if y, "x is ${x}"
                len(str(y)) == 1
        a = A {y = 4} | {x = 3}
        """,
    "a value of a wrong type": """
        schema A:
            x: int = 1
            y: int = x
        _more: any = {x = "text"}
        a = A {} | _more
        """,
    "a key that is none": """
        schema A:
            x: int = 1
        _more: any = {nothing = 1}
        a = A {} | _more
        """,
    "what is missing": """
        schema A:
            name: str
            x: int = 1
        a = A {} | {x = 2}
        """,
    "what is taken away": """
        schema A:
            name: str = "n"
            x: int = 1
        a = A {} | {name = Undefined}
        b = A {} | {name = None}
        """,
    "what is optional": """
        schema A:
            name?: str
            long?: str = name + "!" if name else Undefined
            x: int = 1
        a = A {} | {x = 2}
        b = A {} | {name = "n"} | {x = 3}
        """,
    "bases and what they are declared again as": """
        schema Base:
            name: str = "base"
            long: str = name + "!"
        schema A(Base):
            name: str = "own"
            x: int = 1
            long: str
        schema B(A):
            x: int = 2
        a = A {} | {x = 2}
        b = B {} | {name = "b"}
        c = B {name = "c"} | {x = 3}
        """,
    "lists and keys in several ways": """
        schema A:
            items: [int] = [1, 2]
            sum_: int = items[0]
            labels: {str:any} = {a = 1}
        a = A {} | {items += [3]}
        b = A {} | {labels.b = 2, items = [7]}
        c = A {items = [4]} | {items: [4], labels: {a = 1}}
        """,
    "conditions": """
        schema A:
            size: int = 1
            if size > 3:
                kind: str = "large"
            else:
                kind: str = "small"
        a = A {} | {size = 5}
        """,
    "parameters": """
        schema A[start: int]:
            x: int = start
            y: int = x + 1
            z: int = 0
        a = A(3) {} | {z = 1}
        """,
    "a signature": """
        schema A:
            [name: str]: int = 1
            x: int = 1
        a = A {more = 2} | {x = 2}
        """,
    "an instance of another schema on the right": """
        schema A:
            x: int = 1
            y: int = x + 1
        schema B:
            x: int = 5
        a = A {} | A {x = 3}
        b = A {x = 2} | B {}
        """,
    "names that lead elsewhere": """
        schema A:
            x: int = 1
            y: {str:int} = {x = 3, z = x}
            both: [int] = [x for x in [1, 2]]
            more: str = "m"
        a = A {} | {x = 2}
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_union_gives_what_building_anew_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    same(monkeypatch, files=["main.k"], work_dir="/", texts={"main.k": dedent(PROGRAMS[name])})


def test_many_of_these_take_over_what_does_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    plain = changes._Changes.rebuilding

    def rebuilding(self: changes._Changes, code_of: object) -> object:
        made = plain(self, code_of)  # type: ignore[arg-type]
        written.append(made is not None)
        return made

    monkeypatch.setattr(changes._Changes, "rebuilding", rebuilding)
    for text in PROGRAMS.values():
        same(monkeypatch, files=["main.k"], work_dir="/", texts={"main.k": dedent(text)})
    assert sum(written) >= 12


def _program(rng: random.Random) -> str:
    names = [f"a{number}" for number in range(rng.randint(3, 8))]
    lines = ["variable = 3", "called = lambda x: any -> any {", "    print(x)", "    x", "}"]
    lines += ["schema Inner:", "    cpu: int = 1", "    more: int = cpu + 1", ""]
    split = rng.randint(1, len(names))
    derived = names[split:] + rng.sample(names[:split], 1)
    for schema, own, known in (("Base", names[:split], names[:split]), ("A(Base)", derived, names)):
        lines.append(f"schema {schema}:")
        for name in own:  # each reads those after it: what reads itself by a detour is another matter
            lines.append(f"    {name}?: any = {_default(rng, known[known.index(name) + 1 :] or ['variable'])}")
        if rng.random() < 0.4:
            read = rng.choice(own)
            lines += ["    check:", f"        {read} != 4 if {read}, 'it is {read}'"]
        lines.append("")
    for number in range(rng.randint(1, 3)):
        unions = " | ".join(_config(rng, names) for _ in range(rng.randint(1, 3)))
        lines.append(f"i{number} = A {_config(rng, names)} | {unions}")
        lines.append(f"_base{number} = {_config(rng, names)}")
        first, second = rng.sample(names, 2)
        operator = rng.choice((" =", " =", " =", ":"))
        extended = f"{{**_base{number}, {first} = x, {second}{operator} {rng.choice(('x', 'x + 1', '2'))}}}"
        made = rng.choice((f"A {extended}", extended, f"A {extended} | {_config(rng, names)}"))
        lines.append(f"l{number} = [{made} for x in [1, 2, 1]]")
    if rng.random() < 0.5:
        lines.append("count = [len(A.instances()), len(Inner.instances())]")
    return "\n".join(lines) + "\n"


def _default(rng: random.Random, names: list[str]) -> str:
    read = rng.choice(names)
    plain = [str(rng.randint(0, 9)), f'"t{rng.randint(0, 9)}"', "None", f"[{read}]", f"{{k = {read}}}", read]
    rare = [f"called({read})", "variable", "Inner {}", f"Inner {{cpu = {rng.randint(1, 5)}}}", f"[{read}, variable]"]
    also = [f'"${{{read}}}-x"', f"{read} if {rng.choice(names)} else 1", f"[x for x in [1, 2] if {read}]"]
    return rng.choice(rng.choice((plain, plain, also, rare)))


def _config(rng: random.Random, names: list[str]) -> str:
    def value() -> str:
        return rng.choice((str(rng.randint(0, 5)), '"g"', "[1]", "{k = 2}", "Inner {cpu = 2}", "None", "Undefined"))

    operator = rng.choice((" = ", " = ", ": "))
    return "{" + ", ".join(f"{name}{operator}{value()}" for name in rng.sample(names, rng.randint(0, 2))) + "}"


def test_any_union_gives_what_building_anew_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them with KONFIG_WORKBENCH_UNIONS."""
    for seed in range(_PROGRAMS):
        text = _program(random.Random(seed))
        same(monkeypatch, files=["main.k"], work_dir="/", texts={"main.k": text})
