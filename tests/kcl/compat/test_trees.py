"""The tree as JSON, held against the official parser's: every name, every value, every place."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from kcl.compat import api
from tests.kcl.conformance import ROOT, corpus

ALL_KINDS = '''\
"""What stands here."""
import a.b as c
import math
# a comment
type T = [int|str] | "a" | 1Ki | 1.50 | True | {str:} | {:int} | [] | (int, c.X) -> any | ()
schema Base[n: int = 1, $m](c.P) for Q:
    """Words.
        Indented ${no}"""
    mixin [
        M,
        c.N
    ]
    @deprecated(version="1", strict=True)
    x?: int = 1
    "y": {str:[int]} = {}
    z: int |= 18
    f: (int, str) -> bool
    [k: ...str]: int = 3

    x += 2
    if x > 1 and not y:
        z = 1
    elif x in y or z == 1:
        z = 2
    else:
        z = 3

    check:
        x < 3 < 4 if y, "msg"
        all i, v in y { v > 1 if i }
mixin M:
    [str]: int
@info
protocol Q:
    a: int
rule R[a](P) for Q:
    a > 1, "b"
a: int = b = 1
c.d.e[0] = "x${a + 1} ${b: #json} y"
_a["k"].z += 1Ki
v: Base(1, k=2) {a.b.c = 1, d: 2, e += [*x, 3], **f, "${q}": 1, j[0] = 3, s}
l = [
    x * 2 for i, x in l if x for z in w
]
m = {k: v for k, v in d if k}
n = lambda a: int = 1, b -> str {
    c = a
    str(c, end="")
}
o = (a if b else 2.0) as T | [int]
p = l[1:2:3] + l?[0] + a?.b.c + f(x)?.g.h[-1].i
q = -1 ** ~2 + 0x10 - 1.50e3
assert a > 1 if b, "no"
$if = x.$else
t = r'raw\\n' + \\
    """
    several ${words}
      of it"""
w = {
    if c:
        g = 1
        if k: l = 1
        **{m = 2}
    elif z: h = 1
    else:
        i = 2
    "aéb": 1  # é
}
w2 = [
    if c:
        1
        2
    elif d:
        3
    else:
        *y
    4
]
g = lambda {
    a: int
} -> int {
    a
}
if a:
    y = None
'''


def _theirs(path: str, text: str) -> Any:
    kcl_lib = pytest.importorskip("kcl_lib.api")
    answer = kcl_lib.API().parse_file(kcl_lib.ParseFileArgs(path=path, source=text))
    if any(each.code == "Error(InvalidSyntax)" for each in answer.errors):
        return None
    return json.loads(answer.ast_json)


def _ours(path: str, text: str) -> Any:
    answer = api.API().parse_file(api.ParseFileArgs(path=path, source=text)).ast_json
    return json.loads(answer) if answer else None


@pytest.mark.parametrize("change", ["as it is", "lines end in CRLF", "no line end at the end", "empty lines", "blanks"])
def test_the_tree_of_every_construct_is_the_official_one(change: str) -> None:
    match change:
        case "as it is":
            text = ALL_KINDS
        case "lines end in CRLF":
            text = ALL_KINDS.replace("\n", "\r\n")
        case "no line end at the end":
            text = ALL_KINDS.rstrip()
        case "empty lines":
            text = re.sub(r"(?<!\\)\n", "\n\n", ALL_KINDS) + "\n  # the end\n\n   "
        case _:
            text = re.sub(r"(?<=\S) (?=[=+*|])", "  ", ALL_KINDS)
    theirs = _theirs("t.k", text)
    assert theirs is not None
    assert _ours("t.k", text) == theirs


def test_trees_of_files_of_others_are_the_official_ones() -> None:
    files = sorted(path for name in ("kcl-modules", "kcl-grammar", "konfig-2025") for path in corpus(name).rglob("*.k"))
    compared = 0
    for path in map(Path.resolve, random.Random(7).sample(files, 120)):
        text = path.read_text()
        theirs = _theirs(str(path), text)
        assert _ours(str(path), text) == theirs, path
        compared += theirs is not None
    assert compared > 100


def test_trees_of_a_program_name_what_its_imports_lead_to() -> None:
    kcl_lib = pytest.importorskip("kcl_lib.api")
    stack = str(ROOT / "sample-konfig" / "storefront" / "checkout" / "prod")
    theirs = kcl_lib.API().parse_program(kcl_lib.ParseProgramArgs(paths=[stack]))
    ours = api.API().parse_program(api.ParseProgramArgs(paths=[stack]))
    assert json.loads(ours.ast_json) == json.loads(theirs.ast_json)
    assert sorted(ours.paths) == sorted(theirs.paths)


def test_names_of_packages_of_others_and_paths_from_the_folder(tmp_path: Path) -> None:
    kcl_lib = pytest.importorskip("kcl_lib.api")
    for name, text in {
        "own/kcl.mod": '[package]\nname = "own"\n',
        "own/main.k": "import sub\nimport other.inner as o\nimport .sub.deep\nimport math\n",
        "own/sub/deep/d.k": "d = 1\n",
        "own/sub/s.k": "import ..alike\nimport .deep\n",
        "own/alike.k": "a = 1\n",
        "other/kcl.mod": '[package]\nname = "other"\n',
        "other/inner/i.k": "import regex\nimport ..third\nimport third as t\n",
        "other/third/t.k": "c = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    answers = [
        client.API().parse_program(
            client.ParseProgramArgs(
                paths=[str(tmp_path / "own" / "main.k")],
                external_pkgs=[client.ExternalPkg(pkg_name="other", pkg_path=str(tmp_path / "other"))],
            )
        )
        for client in (kcl_lib, api)
    ]
    assert json.loads(answers[1].ast_json) == json.loads(answers[0].ast_json)
    assert sorted(answers[1].paths) == sorted(answers[0].paths)


def test_a_file_that_cannot_be_read_as_a_whole_has_no_tree() -> None:
    answer = api.API().parse_file(api.ParseFileArgs(path="t.k", source="a = [1\nb = 2\n"))
    assert answer.ast_json == ""
    assert [each.code for each in answer.errors][:1] == ["E1001"]


@pytest.mark.parametrize("depth", [2000, 20000])
def test_a_program_nested_deeply_has_a_tree_or_an_error(depth: int) -> None:
    text = "a = " + "[" * depth + "]" * depth + "\n"
    answer = api.API().parse_file(api.ParseFileArgs(path="t.k", source=text))
    assert bool(answer.ast_json) != bool(answer.errors)
