"""Lines of plain data are read at one go; the tree is the one their tokens make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcl.source import SourceFile
from kcl.syntax import ast, descent, parse, runs
from kcl.syntax.descent.scanner import scan

DATA = """\
servers = {
    name = "web"
    'zone': 'a b'
    port: 80
    weight = 1.50
    enabled = True
    parent = other
    hosts = ["a", 'b', 3, None, x]
    none = [ ]
    limits = {
        cpu = 0
        "memory": 12,
        disk = 1
    }
    # between
    last = Undefined # after
}
list = [
    "a",
    'b'
    1
    x
    ["c", 2]
    {
        d = 1
    }
]
"""


def refuse(*arguments: object) -> None:
    raise AssertionError(arguments)


def by_single_tokens(text: str) -> list[ast.Stmt]:
    assert not any(token[0] in runs.TYPES for token in scan(text, refuse, [], with_runs=False))
    body: list[ast.Stmt] = descent.read(text, refuse, [], dedents=True, with_runs=False)
    return body


def types_of_runs(text: str) -> list[str]:
    return [token[0] for token in scan(text, refuse, [], with_runs=True) if token[0] in runs.TYPES]


def assert_same(text: str) -> None:
    result = parse(SourceFile("main.k", text))
    assert not result.diagnostics
    assert repr(result.module.body) == repr(by_single_tokens(text))


def test_runs_are_told_from_what_surrounds_them() -> None:
    assert types_of_runs(DATA) == ["entries", "entries", "items"]


def test_a_run_makes_the_nodes_its_tokens_make() -> None:
    assert_same(DATA)


@pytest.mark.parametrize(
    "text",
    [
        "a = {\n    b = 1\n    for x in y\n}\n",
        "a = [\n    x\n    for x in y\n]\n",
        "a = [\n    x\n\n    for x in y if x\n]\n",
        "a = {\n    if b:\n        c = 1\n        d = 2\n    else:\n        e = 3\n    f = 4\n}\n",
        "a = {\n    b = 1\n        \n    c = 2, d = 3\n    e = 4,\n}\n",
        "a = {\n    b = 1\r\n    c = 2\r\n}\r\n",
        "a = {\n\tb = 1\n\tc = 2\n}\n",
        "a = {\n  b = 0o17\n  c = 1_0\n  d = 1e3\n  e = 1Ki\n}\n"
        "z = {\n  f = 0x1F\n  g = -1\n  h = 1.\n  i = 1234567890123456789\n}\n",
        'a = {\n  b = "x\\n"\n  c = "${d}"\n  e = r"x"\n  f = """x"""\n  g = ""\n  "h${i}" = 1\n}\n',
        "a = {\n  b = c.d\n  e = f()\n  g = h if i else j\n  k = l and m\n"
        "  n = o as str\n  p = $q\n  $r = 1\n  s.t = 1\n}\n",
        "a = {\n  schema = 1\n  type = 2\n  check = 3\n  rule: 4\n  in: 5\n  as = 6\n}\n",
        "schema A:\n    mixin [\n        BMixin,\n        CMixin\n    ]\n"
        "    a: {str:str} = {\n        b = 1\n        c = 2\n    }\n",
        "a = lambda {\n  b: int = 1\n  c = 2\n} -> int {\n  b\n}\n",
        "a = lambda {\n  b: int\n  c = 2\n} -> int {\n  d = 1\n  if b:\n    e = 1\n    f = 2\n  d\n}\n",
        "a = lambda b {\n  c = 1\n  d = {\n    e = 1\n    f = 2\n  }\n  d\n}\n",
        "a = f(\n    b = 1,\n    c = 2\n)\n",
        "a = {\n    b = 1\n  c = 2\n}\n",
        "a = {\n  b = {\n    c = '}'\n    d: [1, ']{'],\n  },\n"
        "  e = {\n    f = {\n      g = 1\n    }\n    h = 1\n  }\n}\n",
        "a = {\n  b = {\n    c = x\n    for x in y\n  }\n  d = {\n    e = 1\n    # why\n  }\n}\n",
        "a = {\n  b = {\n    c = 1\n    }\n  d = {\n    e = 1 }\n  f = {\n  g = 1\n  }\n}\n",
        "a = [\n  {\n    b = 1\n  }, {\n    b = 2\n  }\n  {\n    'b': 3,\n    c = 4\n  },\n]\n",
        "a = [\n  {\n    b = 1\n  }\n  for x in y\n]\n",
        "a = B {\n    c: 1\n    d: ['x']\n}\n",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_run_is_read_as_ever(text: str) -> None:
    assert_same(text)


@pytest.mark.parametrize(
    "text",
    [
        "a = {\n    if = 1\n}\n",
        "a = [\n    'b\n    'c'\n]\n",
        "a: {\n  str: int\n} = {}\n",
        "a: [\n  str\n] = []\n",
        "a = {\n    b = 1\n    c = 2\n    for x in y\n}\n",
        "a = {\n    b = 1\n",
    ],
)
def test_what_is_wrong_with_a_run_is_said(text: str) -> None:
    assert parse(SourceFile("main.k", text)).diagnostics


names = st.sampled_from(["a", "b1", "ünï", "type", "'q r'", '"s.t"', "in"])
values = st.sampled_from(
    ["1", "0", "2.5", '"x y"', "'#'", '""', "True", "None", "z", '["a", 1]', "[]", "-1", "y.z", "{}", '"${z}"', "1Mi"]
)
ends = st.sampled_from(["\n", "\n", "\n", ",\n", " # why\n", "\n\n", "\r\n", " ,\n"])
lines = st.lists(
    st.tuples(names, st.sampled_from([" = ", ": ", "="]), values, ends).map("".join), min_size=1, max_size=8
)
blocks = st.recursive(
    lines,
    lambda inner: st.lists(
        st.one_of(
            lines,
            inner.map(lambda below: ["k = {\n", *(f"  {line}" for line in below), "}\n"]),
            st.lists(values.map(lambda value: f"  {value}\n"), min_size=1, max_size=5).map(
                lambda items: ["l = [\n", *items, "]\n"]
            ),
        ),
        min_size=1,
        max_size=4,
    ).map(lambda parts: [line for part in parts for line in part]),
    max_leaves=6,
)


@given(blocks)
def test_data_of_any_shape_is_the_same_read_by_runs(block: list[str]) -> None:
    assert_same("".join(["root = {\n", *(f"    {line}" for line in block), "}\n"]))
