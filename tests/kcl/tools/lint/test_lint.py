"""`kcl lint` on files: what each rule finds and leaves alone, what is allowed, mended, and not known."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from kcl.cli import main


class _Ran:
    def __init__(self, folder: Path, *words: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.status = main(["lint", *words], cwd=folder, stdin=io.StringIO(), stdout=out, stderr=err)
        self.out, self.err = out.getvalue(), err.getvalue()

    @property
    def found(self) -> list[str]:
        """Line and code of each finding, as `2 W0411`."""
        lines = [line.split(": ", 2) for line in self.out.splitlines() if line[:5] != "note:"]
        return [f"{place.split(':')[-2]} {kind.split('[')[1].rstrip(']')}" for place, kind, _ in lines]


def _lint(folder: Path, text: str, *words: str) -> _Ran:
    (folder / "main.k").write_text(text)
    return _Ran(folder, "--error_format", "short", *words, "main.k")


CASES = {
    "shared data that is changed below who reads it": ("_a = {x = 1}\nb = {k = _a}\n_a |= {y = 2}\n", ["3 W3012"]),
    "a part of shared data that is changed below who reads it": ("_a = {x = 1}\nb = _a\n_a.x = 2\n", ["3 W3012"]),
    "data that is changed before anybody reads it": ("_a = {x = 1}\n_a |= {y = 2}\nb = _a\n", []),
    "a new value below who reads the old one": ("_a = [1]\nb = _a\n_a = [2]\nc = _a\n", ["3 W3012"]),
    "a key of the same name": ("_a = {x = 1}\nb = {_a = 1}\n_a |= {y = 2}\nc = _a\n", []),
    "what a lambda reads when it is called": ("_a = {x = 1}\nb = lambda { _a }\n_a |= {y = 2}\nc = b()\n", []),
    "an import of which something is changed": ("import math\nmath.pi |= 2\n", None),
    "an import that is only a key": ("import math\na = {math = 1}\n", ["1 W0411"]),
    "an import used as a type": ("import a.b\nx: b.T = Undefined\n", None),
    "an import used in a string": ("import math\na = '${math.ceil(0.5)}'\n", []),
    "an import of a decorator's argument": (
        "import math\nschema S:\n    @deprecated(version='${math.ceil(0.5)}')\n    a?: int\n",
        None,
    ),
    "one path twice under two names": ("import math\nimport math as m\na = m.ceil(math.ceil(0.5))\n", ["2 W0404"]),
    "two reads of one key": ("a = {\n    b = 1\n    c = b\n    b = 2\n}\n", []),
    "a value that is merged": ("a = {\n    b: {x = 1}\n    b: {y = 2}\n}\n", []),
    "a key twice with the same value": ("a = {\n    b: 1\n    'b': 1\n}\n", ["3 W3007"]),
    "a key given by = and again by :": ("a = {\n    b = 1\n    b: 1\n}\n", ["3 W3007"]),
    "a key that is None as well": ("a = {\n    b: 1\n    b: None\n}\n", ["3 W3007"]),
    "a key twice in a schema nobody makes": ("schema S:\n    a?: {str:int} = {b: 1, b: 2}\n", ["2 W3007"]),
    "a key twice with what is not known": ("x = option('x')\na = {\n    b: 1\n    b: x\n}\n", []),
    "a key under a condition, by :": ("x = option('x')\na = {\n    b: 1\n    if x: b: 1\n    b: 1\n}\n", []),
    "one key in two configurations": ("a = {\n    b: 1\n    c: {b: 1}\n}\n", []),
    "a dotted key twice": ("a = {\n    b.x = 1\n    b.y = 2\n}\n", []),
    "a value that is replaced": ("a = {\n    'b' = 1\n    b = 2\n}\n", ["2 W3001"]),
    "a value under a condition": ("x = option('x')\na = {\n    b = 1\n    if x: b = 2\n}\n", []),
    "a private variable set twice": ("_a = 1\n_a = 2\nb = _a\n", ["1 W3001"]),
    "one that is read between": ("_a = 1\n_a = _a + 2\nb = _a\n", []),
    "one that a lambda reads between": ("_a = 1\n_f = lambda {\n    _a\n}\nc = _f()\n_a = 2\nb = _a\n", []),
    "one that grows": ("_a = [1]\n_a += [2]\nb = _a\n", []),
    "a private variable": ("_a = 1\nb = 2\n", ["1 W3002"]),
    "a private variable in a string": ("_a = 1\nb = '${_a}'\n", []),
    "a variable of a lambda": ("f = lambda {\n    x = 1\n    2\n}\n", ["2 W3002"]),
    "the value of a lambda": ("f = lambda {\n    x = 1\n}\n", []),
    "a private attribute": ("schema S:\n    _a = 1\n    b = 2\n", ["2 W3002"]),
    "itself": ("x = {y = 1}\na = 1 if x.y == x.y else 2\n", ["2 W3003"]),
    "a literal as condition": ("a = 1 if not 0 else 2\n", ["1 W3004"]),
    "calls are not the same twice": ("import random\na = random.random() == random.random()\n", None),
    "an assert of False": ("x = option('x')\nif x:\n    assert False, 'never'\n", []),
    "a check that always holds": ("schema S:\n    a: int = 1\n    check:\n        True\n", ["4 W3004"]),
    "a loop variable": ("import math\na = [math for math in [1]]\nb = math.ceil(0.5)\n", ["2 W3006"]),
    "an elif that asks again": (
        "x = option('x')\nif x == 1:\n    _a = 1\nelif (x==1):\n    _a = 2\nb = _a\n",
        ["4 W3010"],
    ),
    "an elif that asks for more": ("x = option('x')\na = [\n    if x: 1\n    elif x > 2 and x: 2\n]\n", ["4 W3010"]),
    "an elif that asks for less": ("x = option('x')\na = [\n    if x > 2 and x: 1\n    elif x: 2\n]\n", []),
    "an if inside of another": ("x = option('x')\na = {\n    if x: b = 1 if x else 2\n}\n", []),
    "a row with one operand twice": ("x = option('x')\na = x.y or x.z or (x.y)\n", ["2 W3010"]),
    "a key that is there twice": ("x = option('x')\na = x.y or x.z\nb = x[0] or x[1]\n", []),
    "two checks that ask the same": (
        "schema S:\n    a: int\n    check:\n        a > 1, 'no'\n        a > 1 if a\n        (a > 1)\n",
        ["6 W3010"],
    ),
    "calls that may differ": ("import uuid\na = 1 if uuid.uuid() == 'a' else 2 if uuid.uuid() == 'a' else 3\n", None),
    "two values at once": ("x = option('x')\na = [1 for i in [2] if x == 1 and i and 2 == x]\n", ["2 W3011"]),
    "another value than either": ("x = option('x')\na = x != 1 or x != 2\n", ["2 W3011"]),
    "neither value": ("x = option('x')\na = x != 1 and x != 2\nb = x == 1 or x == 2\n", []),
    "equal in KCL": ("x = option('x')\na = x == 1 and x == 1.0\n", []),
    "no equals in KCL": ("x = option('x')\na = x == 1 and x == True\n", ["2 W3011"]),
    "a range with nothing in it": ("x = option('x')\na = x > 5 and 3 >= x\n", ["2 W3011"]),
    "a range with a number in it": ("x = option('x')\na = x >= 5 and x <= 5\nb = x > -5 and x < 5\n", []),
    "checks that exclude each other": (
        "schema S:\n    a?: int\n    check:\n        a > 5 if a\n        a < 9\n        a < 5 if a\n",
        ["6 W3011"],
    ),
    "sizes in digits": ("a = {b = 1073741824, c = 1_572_864, d = -2097152}\n", ["1 W3009"] * 2),
    "numbers that are no sizes": ("a = {b = 0x40000000, c = 2147483648, d = 1000000, e = 65536, f = 1Gi}\n", []),
    "a size that is said": ("_GIB = 1073741824\na = {b = _GIB, c = 1073741824  # a gibibyte\n}\n", []),
    "a size as text": ("a = {memory = '1073741824', id = '1073741824'}\n", ["1 W3009"]),
    "times": ("a = {ttlSecondsAfterFinished = 86400, ttl = 90, timeout = 86400}\n", ["1 W3009"]),
    "times that are said": ("day_seconds = 86400\na = {ttl_ms = 3600000, ttlSeconds = 7200  # two hours\n}\n", []),
    "nothing": ("", []),
}


@pytest.mark.parametrize("text, expected", CASES.values(), ids=CASES)
def test_rules(text: str, expected: list[str] | None, tmp_path: Path) -> None:
    ran = _lint(tmp_path, text)
    warnings = [each for each in ran.found if " W" in each]
    assert warnings == (expected or [])
    if expected is not None:
        assert ran.found == expected and ran.status == (1 if expected else 0), ran.err


_OLD = """import old
schema Base:
    @deprecated(version="1.2", reason="use image", strict=False)
    picture?: str
    image?: str

@deprecated
schema Gone(Base):
    size?: int

schema Web(Base):
    name: str = picture or image

web = Web {
    picture = "x"
}
_found = web.picture
_gone?: Gone = Undefined
_more = [old.Thing {of.size = 1}, lambda {
    Gone {}
}]
found = [_found, _gone, _more, {picture = "y"}]
"""


def test_what_is_deprecated_is_told_wherever_it_is_named(tmp_path: Path) -> None:
    """Attributes of bases and of other packages too; a key of that name that is none of theirs is left alone."""
    (tmp_path / "kcl.mod").write_text("")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "old.k").write_text(
        "schema Thing:\n    of?: Inner\nschema Inner:\n    @deprecated\n    size?: int\n"
    )
    text = _OLD.replace("_gone?: Gone", "_gone: Gone")
    ran = _lint(tmp_path, text, "--select", "W1002")
    assert ran.found == ["15 W1002", "17 W1002", "18 W1002", "19 W1002", "20 W1002"], ran.out + ran.err
    assert "'picture' is deprecated since version 1.2: use image" in ran.out


def test_a_size_is_mended_and_a_time_is_left_to_people(tmp_path: Path) -> None:
    ran = _lint(tmp_path, "a = {b = 1073741824 * 2, ttl = 7200}\n", "--fix")
    assert (tmp_path / "main.k").read_text() == "a = {b = int(1Gi) * 2, ttl = 7200}\n"
    assert ran.found == ["1 W3009"] and "7200 seconds are 2 hours" in ran.out


_STACKS = {
    "kcl.mod": "",
    "models/server.k": "schema Server:\n    replicas: int = 1\n    image: str = 'a'\n    on: bool = True\n"
    "schema Never:\n    a: int = 1\n",
    "base/base.k": "import models.server\nweb: server.Server {\n    replicas = 2\n    image = 'b'\n    on = False\n}\n",
    "dev/kcl.yaml": "kcl_cli_configs:\n  file:\n    - ../base/base.k\n    - main.k\n",
    "dev/main.k": "import models.server\nweb: server.Server {\n    replicas = 3\n    if False: on = True\n}\n",
    "prod/kcl.yaml": "kcl_cli_configs:\n  file:\n    - ../base/base.k\n    - main.k\n",
    "prod/main.k": "import models.server\nweb: server.Server {\n    replicas = 4\n    image = 'c'\n}\n",
}


def _stacks(folder: Path) -> None:
    for name, text in _STACKS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def test_what_all_stacks_override_is_found_where_stacks_are_run(tmp_path: Path) -> None:
    """A default or an entry that one of them uses, and a schema that none makes, are no findings."""
    _stacks(tmp_path)
    words = ("--select", "W3008", "--error_format", "short", "./...")
    ran = _Ran(tmp_path, "--stacks", "./...", *words)
    found = [line.removeprefix(f"{tmp_path}/").split(": ")[0] for line in ran.out.splitlines()]
    assert found == ["base/base.k:3:5", "models/server.k:2:5", "models/server.k:3:5", "models/server.k:4:5"], ran.err
    assert _Ran(tmp_path, *words).status == 0
    reason = "  # kcl-lint: allow W3008 because the base shows what there is"
    (tmp_path / "base/base.k").write_text(_STACKS["base/base.k"].replace("= 2", f"= 2{reason}"))
    assert "base.k" not in _Ran(tmp_path, "--stacks", "./...", *words).out
    assert _Ran(tmp_path, "base").status == 0


@pytest.mark.parametrize(
    "named, said", [("./...", "1 of 2 stacks failed"), ("models/...", "no folder"), ("x", "no such")]
)
def test_what_stacks_override_is_not_known_where_one_fails_or_there_is_none(
    named: str, said: str, tmp_path: Path
) -> None:
    _stacks(tmp_path)
    (tmp_path / "prod/main.k").write_text("web: 5\n")
    ran = _Ran(tmp_path, "--stacks", named, "models")
    assert ran.status == 2 and said in ran.err and "W3008" not in ran.out


def test_imports_hold_for_the_files_beside(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text("")
    (tmp_path / "a.k").write_text("import math\na = 1\n")
    (tmp_path / "b.k").write_text("b = math.ceil(0.5)\n")
    assert _Ran(tmp_path, ".").status == 0


def test_a_private_name_that_another_file_mentions_is_no_finding(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.k").write_text("import main\nb = '_a of the template'\n")
    (tmp_path / "main.k").write_text("_a = 1\nc = 2\n")
    assert "W3002" not in _Ran(tmp_path, "main.k").out


def test_a_file_of_no_package_is_held_against_its_own_folder_alone(tmp_path: Path) -> None:
    """The folders below may be somebody's whole home."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.k").write_text("b = '_a'\n")
    assert _lint(tmp_path, "_a = 1\n").found == ["1 W3002"]
    (tmp_path / "beside.k").write_text("b = '_a'\n")
    assert _lint(tmp_path, "_a = 1\n").found == []


ALLOWED = {
    "behind": ("_a = 1  # kcl-lint: allow W3002 because a script reads it\n", []),
    "by name, above": ("# kcl-lint: allow UnusedVariable because a script reads it\n\n# more\n_a = 1\n", []),
    "for the file": ("b = 1\n_a = 1\n_c = 2\n# kcl-lint: allow-file W3002 because of a script\n", []),
    "two": ("import math  # kcl-lint: allow W0411, W3002 because of a script\n_a = 1\n", ["2 W3002"]),
    "without reason": ("_a = 1  # kcl-lint: allow W3002\n", ["1 W3002", "1 W3900"]),
    "unknown": ("_a = 1  # kcl-lint: allow W9999 because I say so\n", ["1 W3002", "1 W3900"]),
    "an error": ("a = 1  # kcl-lint: allow E2G22 because I say so\n", ["1 W3900"]),
    "nothing": ("a = 1  # kcl-lint: allow W3002 because a script reads it\n", ["1 W3900"]),
    "no order": ("a = 1  # kcl-lint: off\n", ["1 W3900"]),
    "other comments": ("a = 1  # see kcl-lint: its page\n", []),
    "in a string": ("a = '# kcl-lint: off'\n", []),
}


@pytest.mark.parametrize("text, expected", ALLOWED.values(), ids=ALLOWED)
def test_allowing(text: str, expected: list[str], tmp_path: Path) -> None:
    assert sorted(_lint(tmp_path, text).found) == expected


def test_what_is_not_looked_for_needs_no_suppression(tmp_path: Path) -> None:
    text = "_a = 1  # kcl-lint: allow W3002 because a script reads it\n"
    assert _lint(tmp_path, text, "--ignore", "W3002").found == []


def test_select_and_ignore(tmp_path: Path) -> None:
    text = "import math\n_a = 1\nschema S:\n    b?: int\n"
    assert _lint(tmp_path, text).found == ["1 W0411", "2 W3002"]
    assert _lint(tmp_path, text, "--select", "W3005,UnusedImportWarning").found == ["1 W0411", "3 W3005"]
    assert _lint(tmp_path, text, "--ignore", "W0411").found == ["2 W3002"]
    ran = _lint(tmp_path, text, "--select", "W1")
    assert ran.status == 2 and "there is no rule 'W1'" in ran.err


def test_errors_are_told_beside_what_is_mended(tmp_path: Path) -> None:
    ran = _lint(tmp_path, "import math\na: int = 'x'\n", "--fix")
    assert ran.found == ["1 E2G22"] and ran.status == 1
    assert (tmp_path / "main.k").read_text() == "a: int = 'x'\n"
    broken = _lint(tmp_path, "import math\na = {\n")
    assert broken.found and all(each.endswith("E1001") for each in broken.found)


def test_fix_takes_imports_away_and_nothing_else(tmp_path: Path) -> None:
    text = "# head\nimport math  # why\nimport json\nimport json\n\n_a = 1\nb = json.encode({})\r\n"
    (tmp_path / "main.k").write_bytes(text.encode())
    (tmp_path / "main.k").chmod(0o640)
    ran = _Ran(tmp_path, "--fix", "--error_format", "short", "main.k")
    assert (tmp_path / "main.k").read_bytes() == b"# head\nimport json\n\n_a = 1\nb = json.encode({})\r\n"
    assert (tmp_path / "main.k").stat().st_mode & 0o777 == 0o640
    assert "2 fixed in 1 files" in ran.err and ran.found == ["4 W3002"]
    assert "fixed" not in _Ran(tmp_path, "--fix", "main.k").err


def test_a_fix_that_would_break_the_program_is_refused(tmp_path: Path) -> None:
    """Another program reads the import of a file: what is not known from one alone is proven by checking again."""
    for name, text in {
        "kcl.mod": "",
        "base/base.k": "import math\na = 1\n",
        "prod/kcl.yaml": "kcl_cli_configs:\n  file:\n    - ../base/base.k\n    - main.k\n",
        "prod/main.k": "x = math.ceil(0.5)\n",
        "zone/kcl.yaml": "kcl_cli_configs:\n  file:\n    - ../base/base.k\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    _Ran(tmp_path, "--fix", "--error_format", "short", "./...")
    assert (tmp_path / "base/base.k").read_text() == "import math\na = 1\n"


def test_formats(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text("import math\na = 1\n")
    github = _Ran(tmp_path, "--error_format", "github", "main.k").out
    place = str(tmp_path / "main.k").replace(":", "%3A").replace(",", "%2C")
    assert github == (
        f"::warning file={place},line=1,col=1,title=W0411 UnusedImportWarning::Module 'math' imported but unused\n"
    )
    sarif = json.loads(_Ran(tmp_path, "--error_format", "sarif", "main.k").out)
    assert [each["ruleId"] for each in sarif["runs"][0]["results"]] == ["W0411"]
    (tmp_path / "main.k").write_text("a = 1\n")
    assert json.loads(_Ran(tmp_path, "--error_format", "sarif", "main.k").out)["runs"][0]["results"] == []


@pytest.mark.parametrize("name", ["gone.k", "gone", "empty", "pipe.k", "latin.k", "gone/..."])
def test_what_cannot_be_looked_at_is_no_success(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe.k")
    (tmp_path / "latin.k").write_bytes(b"a = '\xe9'\n")
    (tmp_path / "good.k").write_text("a = 1\n")
    for words in ([name], ["good.k", name]):
        ran = _Ran(tmp_path, *words)
        assert ran.status == 2 and f"kcl lint: {name}: " in ran.err
        assert "Traceback" not in ran.err + ran.out


def test_folders_are_looked_through_but_hidden_ones(tmp_path: Path) -> None:
    for name in ("a/b/c.k", ".git/d.k", "e.k"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import math\n")
    assert _Ran(tmp_path, "--error_format", "short").found == ["1 W0411"]
    assert _Ran(tmp_path, "--error_format", "short", "-R").found == ["1 W0411", "1 W0411"]
    deep = _Ran(tmp_path, "a")
    assert deep.status == 2 and "say a/..." in deep.err
    assert _Ran(tmp_path, "--error_format", "short", "./...", "e.k").found == ["1 W0411", "1 W0411"]


def test_a_stack_is_looked_at_as_it_is_compiled(tmp_path: Path) -> None:
    """A name of base.k is known in main.k, since kcl.yaml compiles them together."""
    for name, text in {
        "kcl.mod": "",
        "base/base.k": "schema S:\n    a: int\n",
        "prod/kcl.yaml": "kcl_cli_configs:\n  file:\n    - ../base/base.k\n    - main.k\n",
        "prod/main.k": "x = S {a = 1}\n",
        "prod/wrong.k": "x = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert _Ran(tmp_path, "prod/main.k").status == 0
    (tmp_path / "prod/main.k").write_text("x = S {a = 'one'}\n")
    ran = _Ran(tmp_path, "--error_format", "short", "base")
    assert ran.status == 1 and ran.found == ["1 E2G22"]


def test_files_that_declare_the_same_name_are_programs_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text("")
    folder = tmp_path / "sites"
    folder.mkdir()
    for name in ("north", "south"):
        (folder / f"{name}.k").write_text(f"import math\n\nsite = {{name = '{name}'}}\n")
    ran = _Ran(tmp_path, "--error_format", "short", "sites")
    assert (ran.status, ran.found) == (1, ["1 W0411", "1 W0411"])
    assert "one by one, as they declare the same names" in ran.err and "sites/north.k, sites/south.k" in ran.err
    (folder / "north.k").write_text("site: int = 'x'\n")
    ran = _Ran(tmp_path, "--error_format", "short", "sites")
    assert "E1001" in ran.out and "E2G22" in ran.out, "what is wrong by itself is told with what is wrong together"
