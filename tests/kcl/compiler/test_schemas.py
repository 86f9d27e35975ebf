"""What generated code must not change, a program each."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from textwrap import dedent

import pytest

from kcl.api import ParseCache
from kcl.cli import main
from kcl.compiler import GENERATED
from kcl.compiler.schemas import compile_schema
from kcl.evaluator.schemas import SCHEMAS
from tests.kcl.compiler.both_ways import AT_ONCE, outcome, same

_SAY = """
        say = lambda text: str, value {
            print(text)
            value
        }
        schema N:
            v: int = 1
"""
"""What can be told of order: what is printed, and the instances of N."""

PROGRAMS = {
    "an instance inside another of the same schema, after what both take from their names": """
        schema Node:
            name: str
            label: str = "of " + name
            labels: {str:str} = {app = name}
            depth: int = 0
            child?: Node = Node {name = "inside", depth = depth - 1} if depth > 0 else None
            last: str = name + "!"
        a = Node {name = "a", depth = 2}
        b = Node {
            name = "b"
            depth = 1
        }
        c = [Node {name = each, depth = 1, label = each} for each in ["x", "y"]]
        """,
    "the same attribute left, merged, replaced and inserted into, by turns": """
        schema S:
            name: str
            items: [int] = [1, 2]
            labels: {str:str} = {app = name}
            size: int = 1
            note?: str
            twice: int = size * 2
        _config = {size = 4}
        _other = {labels.team = "o", note = "n"}
        a = S {name = "a"}
        b = S {name = "b", labels = {team = "t"}}
        c = S {name = "c", labels: {team = "t"}}
        d = S {name = "d", items += [3], size: 2}
        e = S {name = "e", items[0] += [5], note = "n"}
        f = S {**_config, name = "f"}
        g = S {**_other, name = "g", twice = 7}
        h = S {name = "h"} | {labels: {team = "u"}} | {size = 3}
        i = S {name = "i", labels = {team = "v"}, size = 9} | {name = "j"}
        """,
    "a configuration that extends another": """
        _plain = {a = 1, b.c = 2}
        _says = {a: 1, list += [2], other = {x = 1}}
        schema S:
            [...str]: any
            own: int = 1
        _instance = S {more = 2}
        _nothing = None
        extended = lambda base: any, value: any {
            {**base, name = value, last: "l"}
        }
        plain = [extended(base, "n") for base in [_plain, _says, _instance, _nothing, {}, _plain, {name: "n"}]]
        again = [{**_plain, d = each, e: each + d} for each in [1, 2, 3]]
        over = [{**_plain, a = each} for each in [1, 2]]
        nested = [{**_plain, inner = {**_says, list = [each]}} for each in [1, 2]]
        merged = [{**_plain, d = each} | {d: each, b: {e = each}} for each in [1, 2]]
        deep = [{**_plain, more = {**_plain, d = each}} | {more.b.c: 2, more.z = each} for each in [1, 2]]
        """,
    "what loops run over": """
        _items = ["a", "b"] + ["c"]
        _by_name = {first = "a", second = ["b"]}
        items = [each + "!" for each in _items]
        keys = [each + "!" for each in _by_name]
        pairs = [{"${key}" = value} for key, value in _by_name]
        letters = [each for each in "ab"]
        numbered = [{"${index}" = each} for index, each in _items]
        whole = {each: each for each in _items}
        parts = [each for each in _items[1:]]
        inserted = [each for each in ({list = [1]} | {list += [2]}).list]
        """,
    "a circle that reads another circle directly and by a detour": """
        schema A:
            p?: int = (y or 1) * 10 + d + (q or 5)
            q?: int = (p or 5) + 1
            d?: int = (x or 1) * 2
            x?: int = (y or 3) + 1
            y?: int = (x or 4) + 2
        a = A {}
        b = A {} | {q = 3}
        """,
    "an attribute declared again, both times by a call": _SAY
    + """
        schema A:
            first: int = again + 1
            again: int = say("base", 1)
            last: int = say("last", 2)
        schema B(A):
            again: int = say("derived", 2)
        a = B {}
        b = B {again = 4}
        """,
    "an attribute declared again, both times by an instance": _SAY
    + """
        schema A:
            first: int = n.v
            n: N = N {v = 1}
            other: N = N {v = 2}
        schema B(A):
            n: N = N {v = 3}
        a = B {}
        every = [n.v for n in N.instances()]
        """,
    "a default of a mixin that calls": _SAY
    + """
        schema TagMixin:
            tag: str = say("mixin", "m")
        schema A:
            mixin [TagMixin]
            first: str = tag + say("first", "f")
            tag: str = say("own", "o")
        a = A {}
        """,
    "conditions that print and make instances": _SAY
    + """
        schema A:
            size: int = 1
            if say("condition", size) > 0:
                if N {v = size}.v == 1:
                    kind = "one"
                other = "more"
            else:
                kind = "none"
            kind?: str
            other?: str
        a = A {}
        b = A {size = 2}
        every = [n.v for n in N.instances()]
        """,
    "variables that print when they are read first": _SAY
    + """
        schema A:
            sum: int = left + other
            other: int = right
        a = A {}
        b = A {}
        left = say("left", 1)
        right = say("right", 2) if within else 3
        within = say("within", True)
        """,
    "a default that calls, read by one that the configuration replaces": _SAY
    + """
        schema BothMixin:
            a?: int = say("a", 1)
            b?: int = say("b", 2)
        schema A:
            mixin [BothMixin]
            c?: int = 2 + (b or 3)
        a = A {c = 3}
        b = A {c = 3, b = 1}
        """,
    "a union that builds an instance again on the way": _SAY
    + """
        schema A:
            whole: int = (n | {v = 5}).v + later
            later: int = (n | {v = 6}).v
            n: N = N {}
        a = A {}
        every = [n.v for n in N.instances()]
        """,
    "a default in terms of a later one": """
        schema A:
            first: int = second + 1
            second: int = 1
        a = A {}
        b = A {second = 5}
        """,
    "attributes in terms of each other": """
        schema A:
            low?: int = high - 1 if high else 1
            high?: int = low + 1 if low else 2
        a = A {high = 4}
        b = A {low = 4}
        """,
    "an attribute in terms of itself": """
        schema A:
            names: [str] = ["a"]
            names = [n + "x" for n in names]
        schema B(A):
            names = [n + "y" for n in names] + names
        a = B {}
        b = B {names = ["q"]}
        """,
    "a base's default in terms of what a derived schema says": """
        schema Base:
            image: str = name + ":" + tag
            name: str = "base"
            tag: str = "1"
        schema Derived(Base):
            name = "derived"
            tag: str = "2" if name == "derived" else "3"
        a = Derived {}
        b = Derived {name = "own"}
        """,
    "conditions": """
        schema A:
            size: int = 1
            if size > 3:
                kind = "large"
                note: str = "of ${size}"
            else:
                kind: str = "small"
            shown: str = kind + "!"
        a = A {}
        b = A {size = 9}
        """,
    "conditions inside conditions, about what they assign": """
        schema A[mode: str]:
            name?: str
            level: int = 0
            if not name:
                name = "unnamed"
            if mode == "deep":
                level = level + 1
                if level > 0:
                    level = level * 10
                    note: str = "level ${level} of ${name}"
                elif level == 0:
                    note = "flat"
                else:
                    note = "below"
            elif mode == "text":
                note = (name or "none") + "!"
                assert level == 0, "texts are flat"
            else:
                assert mode, "no mode"
            if note:
                shown: [str] = [note]
            else:
                shown = []
            later: str = first
            if mode == "text":
                first: str = "t"
            else:
                first = "f"
        many = [A(m) {level = n} for m in ["deep", "other"] for n in [-1, 0, 1]]
        texts = [A("text") {name = n} for n in ["a", "", None]]
        """,
    "mixins and parameters": """
        protocol NamedProtocol:
            name: str
        mixin LabelsMixin for NamedProtocol:
            labels?: {str:str} = {app = name, "with space" = name + "!"}
        schema A[n: int, m=n * 2]:
            mixin [LabelsMixin]
            name: str = "n${n}"
            double: int = m
        a = A(3)
        b = A(3, 4) {name = "own"}
        c = A(n=1) {labels.extra = "e"}
        """,
    "an index signature": """
        schema Ports:
            [name: str]: int = 80
            check:
                name != "bad", "called bad"
        a = Ports {http = 8080, metrics = 9090}
        b = a | {other: 1}
        """,
    "operators of a configuration": """
        schema Inner:
            x: int = 1
            y: [int] = [1, 2]
        schema Outer:
            inner: Inner = Inner {x = 2}
            items: [Inner] = [Inner {}, {x = 7}]
            named: {str:Inner} = {one = {}}
            free: any = {a.b = 1}
        a = Outer {inner.y += [3], items: [{x = 5}, {x = 7}], named.two.x: 2}
        b = Outer {inner = {y = []}, items = []} | {inner.x = 9}
        c = Outer {inner: Inner {y = [5]}, free.a.c: 2}
        """,
    "values that are not there": """
        schema A:
            a?: str
            b?: int = None
            c?: any = Undefined
            d?: str = a
            e: str = a or "none"
            f?: {str:int} = None if not b else {x = b}
        one = A {}
        two = A {a = "x", b = 1}
        three = A {a = None, b = Undefined}
        """,
    "lambdas and comprehensions over attributes": """
        schema A:
            factor: int = 2
            scale: any = lambda n: int { n * factor }
            scaled: [int] = [scale(n) for n in [1, 2, factor]]
            found: bool = any n in scaled { n > limit }
            limit: int = 3
            lookup: {str:int} = {str(n) = n for n in scaled if n != 4}
        a = A {}.scaled
        b = A {factor = 10}.lookup
        c = A {}.found
        """,
    "keys that are read in their own configuration": """
        name = "outer"
        schema A:
            name: str = "attribute"
            data: any = {name = "own", shown = name, nested = {shown = name, other = data2}, data2 = "late"}
            data2: str = "field"
        a = A {}
        """,
    "unifications and unions of instances": """
        schema Spec:
            replicas: int = 1
            labels: {str:str} = {}
        schema A:
            spec: Spec {replicas = 2}
            spec |= Spec {labels = {a = "b"}}
        a = A {spec.replicas = 5} | A {spec.labels.c: "d"}
        """,
    "types that convert, and those that only hold": """
        schema P:
            x: int = 0
        schema A:
            p: P | str = {x = 1}
            q: [P | int] = [{x = 2}, 3]
            r: "a" | "b" | 1 = "b"
            s: float = 1
            t: {str:P} = {k = {x = 4}}
            u: int | [int] = [1]
        a = A {p = "s", r = "a"}
        b = A {q = [{x = 9}], s = 2.5}
        """,
    "instances in their order": """
        schema A:
            n: int = 0
            inner?: B = B {m = n + later}
            later: int = B {m = 100}.m
        schema B:
            m: int
        a = A {n = 1}
        b = A {n = 2, inner = None}
        every = [i.m for i in B.instances()] + [i.n for i in A.instances()]
        """,
    "what is printed, in its order": """
        say = lambda text: str {
            print(text)
            text
        }
        schema A:
            one: str = say("one") + two
            two: str = say("two")
        a = A {}
        """,
    "deprecation": """
        schema A:
            @deprecated(version="1.2", reason="old", strict=False)
            x: int = 1
            @info(hidden=True)
            y: int = x + 1
        a = A {x = 2}
        """,
    "containers that are the same for every instance": """
        schema A:
            labels: {str:str} = {app = "a", "q" = "z"}
            ports: [int] = [80, 443]
            deep: any = {list = [{a = 1}, [2]], none = None, empty = {}}
        a = A {}
        b = A {labels.app: "b", ports += [1], deep.list: [{b = 2}, [3]]}
        c = A {} | {labels = {new = "n"}}
        d = [A {}.labels | {more = "m"}, A {}.ports + [1], A {}]
        """,
    "lambdas of every kind of statement": """
        factor = 3
        grade = lambda n: int, low=10 -> any {
            half = n // 2
            double: int = n * 2
            if half > low:
                name = "high"
                label = name + str(half)
            elif half == 0:
                label = "zero"
            else:
                label = "low${half}"
            assert double >= 0, "negative"
            list = [double, *[half, factor], if n > 3: n]
            list += [1]
            {label = label, items = list, **{extra = n}, if half > 2: big = True}
        }
        compose = lambda f, g { lambda x { f(g(x)) } }
        add = lambda n { n + factor }
        graded = [grade(n) for n in range(30)] + [grade(4, low=1)]
        composed = [compose(add, lambda x { x * 2 })(n) for n in range(4)]
        last = lambda { factor }
        schema WithLambda[size: int]:
            base: int = size
            scale = lambda n: int -> int {
                result = n * base
                result + size
            }
            scaled: [int] = [scale(n) for n in range(12)]
        made = [WithLambda(n).scaled for n in range(3)] + [[last() for _ in range(10)]]
        """,
    "calls of every kind": """
        import math
        import json
        import base64
        text = "a-b-c"
        parts = text.split("-")
        shown = [p.upper() + "{}:{}".format(p, len(p)) for p in parts * 40]
        found = [math.floor(n / 2.0) if n > 3 else min([n, 3]) for n in range(100)]
        coded = [json.encode({a = n, b = base64.encode("x" * n)}) for n in range(80)]
        texts = [str(n).replace("1", "one") for n in range(90)]
        types = [typeof(n) for n in [1, "a", None, [1], {a = 1}] * 20]
        named = [sorted([n, 2, 1], reverse=True) for n in range(70)]
        optional = [x?.a?.b for x in [{a = {b = 1}}, None, {a = None}] * 30]
        """,
    "comprehensions of every kind": """
        grid = [[x * y for x in range(4) if x != 2] for y in range(80)]
        pairs = [{"${i}-${v}" = v} for i, v in ["a", "b"] * 50]
        keyed = [{k = v for k, v in {a = n, b = n + 1} if v % 2} for n in range(90)]
        all_small = [all v in [1, n] { v < 50 } for n in range(90)]
        any_big = [any i, v in [1, n] { v > 50 if i > 0 } for n in range(90)]
        mapped = [map v in [n, 2] { v + 1 } for n in range(70)]
        filtered = [filter v in [n, 2] { v > 1 } for n in range(70)]
        nested = [a + b for a in ["x", "y"] for b in ["1", "2"] * 40 if a + b != "x1"]
        """,
    "numbers with units": """
        schema A:
            memory: units.NumberMultiplier = 1Mi
            none: 0m = 0m
            kept: bool = True if none else False
        import units
        a = A {}
        """,
}
FAILURES = {
    "a check": """
        schema A:
            x: int = 1
            check:
                x < 3 if x != 7, "too large: ${x}"
        schema B:
            a: A = A {x = 5}
        b = B {}
        """,
    "a type": """
        schema A:
            x: int = 1
            y: [int] = [x]
        value: any = "text"
        a = A {x = value}
        """,
    "an attribute nobody declared": """
        schema A:
            x: int = 1
        config = {z = 1}
        a = A {**config}
        """,
    "a missing attribute": """
        schema A:
            x: str
            inner?: A
        a = A {x = "a", inner = A {}}
        """,
    "an assertion under a condition": """
        schema A:
            n: int
            if n > 2:
                assert n < 5, "too large: ${n}"
        a = [A {n = i} for i in range(8)]
        """,
    "an attribute taken away": """
        schema A:
            x: str = "a"
            y?: str
        a = A {x = None, y = None}
        """,
    "a conflict": """
        schema A:
            x: {str:int} = {a = 1}
        a = A {x: {a: 2}} | {x: {a: 3}}
        """,
    "an operation": """
        schema A:
            x: any = 1
            y: int = 10 // x
        a = A {x = 0}
        """,
    "no end": """
        schema A:
            inner?: A = A {}
        a = A {}
        """,
    "printed before it": """
        schema A:
            x: int = 1
            check:
                x > 5
        print("before")
        a = A {}
        """,
}


@pytest.mark.parametrize("title", PROGRAMS)
def test_results_are_the_same(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = dedent(PROGRAMS[title])
    found = same(monkeypatch, files=["main.k"], work_dir="/", texts={"main.k": text})
    assert len(found) == 4, found[0]


@pytest.mark.parametrize("title", FAILURES)
def test_failures_are_told_the_same_way(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = dedent(FAILURES[title])
    found = same(monkeypatch, files=["main.k"], work_dir="/", texts={"main.k": text})
    assert len(found) == 2


def test_a_caught_failure_says_what_it_says_without(monkeypatch: pytest.MonkeyPatch) -> None:
    text = dedent("""
        import runtime
        schema A:
            x: int = 1
            check:
                x > 1, "too small"
        caught = runtime.catch(lambda { A {} })
        """)
    found = same(monkeypatch, files=["main.k"], work_dir="/", texts={"main.k": text})
    assert found[0] == "caught: too small\n"


def test_schemas_get_code_when_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def remember(schema):  # type: ignore[no-untyped-def]
        compiled.append(schema.name)
        return compile_schema(schema)

    text = dedent("""
        schema Many:
            x: int = 1
        schema Few:
            x: int = 1
        a = [Many {x = n} for n in range(20)]
        b = [Few {x = n} for n in range(3)]
        """)
    found = outcome(
        replace(GENERATED, after=5).writing(SCHEMAS, remember),
        monkeypatch,
        files=["main.k"],
        work_dir="/",
        texts={"main.k": text},
    )
    assert len(found) == 4
    assert compiled == ["Many"]


def test_what_a_program_does_outside_it_does_once(tmp_path: Path) -> None:
    text = dedent("""
        import file
        schema A:
            n: int
            noted: str = file.append("log.txt", "${n} ") or "noted"
            check:
                n < 60
        a = [A {n = i} for i in range(70)]
        """)
    (tmp_path / "main.k").write_text(text)
    stderr = StringIO()
    assert main(["run", "main.k"], cwd=tmp_path, stdin=StringIO(), stdout=StringIO(), stderr=stderr) == 1
    assert "Instance check failed" in stderr.getvalue()
    assert (tmp_path / "log.txt").read_text().split() == [str(n) for n in range(61)]


def test_a_lambda_of_a_package_that_fails_in_a_check_fails_in_a_warm_process_as_in_a_cold_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.k").write_text(
        "_length = lambda v { len(v) }\nschema S:\n    items?: [int]\n    check:\n        _length(items) > 0\n"
    )
    cache = ParseCache()
    for given in ("items = [1]", "", "", "items = None", "items = [1]", "items = None", ""):
        run = {"files": ["main.k"], "work_dir": tmp_path, "texts": {"main.k": f"import lib\na = lib.S {{{given}}}\n"}}
        warm = outcome(AT_ONCE, monkeypatch, cache=cache, **run)
        assert warm == outcome(None, monkeypatch, **run)
        assert len(warm) == (4 if "1" in given else 2)
