"""Examples of docstrings, run."""

from __future__ import annotations

from pathlib import Path

from tests.kcl.tools.doc.documented import kcl_doc, write

MANIFEST = '[package]\nname = "my-shop"\n'


def schema(name: str, *example: str) -> str:
    lines = "".join(f"    {each}\n" if each else "\n" for each in example)
    body = '    a: int\n\n    check:\n        a > 0, "too small"\n\n'
    return f'schema {name}:\n    """A thing.\n\n    Examples\n    --------\n{lines}    """\n{body}'


def test_an_example_sees_the_names_of_its_package_and_fails_with_its_line(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "kcl.mod": MANIFEST,
            "m/one.k": schema("One", "a = One {a = 1}", "b = Two {a = 2}"),
            "m/two.k": schema("Two", "a = Two {", "    a = -1", "}") + schema("Three", "x = Three {a = 'text'}"),
        },
    )
    ran = kcl_doc(tmp_path, "--test")
    assert ran.status == 1
    assert ran.err == "3 examples: 1 passed, 2 failed\n"
    assert "m/one.k:6: example of One: PASS (" in ran.out
    assert "m/two.k:6: example of Two: FAIL (" in ran.out and "too small" in ran.out
    assert "--> m/two.k:20:" in ran.out and "expected int, got str" in ran.out
    assert not (tmp_path / "docs").exists()


def test_one_that_imports_its_own_package_is_run_as_a_user_would(tmp_path: Path) -> None:
    text = schema("One", "import models.m", "", "a = m.One {a = 1}") + schema(
        "Two", "import my_shop.models.m as x", "a = x.One {a = 1}"
    )
    write(tmp_path, {"kcl.mod": MANIFEST, "models/m/one.k": text + 'level = option("level", required=True)\n'})
    ran = kcl_doc(tmp_path, "models/m", "--test")
    assert "2 examples" in ran.err
    lone = schema("One", "import models.m", "", "a = One {a = 1}")
    write(tmp_path, {"models/m/one.k": lone})
    ran = kcl_doc(tmp_path, "models/m", "--test")
    assert ran.status == 1 and "name 'One' is not defined" in ran.out


def test_prose_stands_outside_of_fences(tmp_path: Path) -> None:
    example = (
        "Usually:",
        "",
        "```kcl",
        "a = One {a = 1}",
        "```",
        "",
        "What it prints:",
        "",
        "```yaml",
        "a: 1",
        "```",
        "```",
        "b = 1 +",
        "```",
    )
    write(tmp_path, {"kcl.mod": MANIFEST, "m/one.k": schema("One", *example)})
    ran = kcl_doc(tmp_path, "--test")
    assert ran.err == "2 examples: 1 passed, 1 failed\n" and "m/one.k:18: example of One: FAIL" in ran.out
    kcl_doc(tmp_path)
    assert "Usually:\n\n```kcl\na = One {a = 1}\n```\n" in (tmp_path / "docs" / "m.md").read_text()


def test_no_examples_are_no_success(tmp_path: Path) -> None:
    write(tmp_path, {"kcl.mod": MANIFEST, "m/one.k": "schema One:\n    a: int\n"})
    ran = kcl_doc(tmp_path, "--test")
    assert (ran.status, ran.err) == (5, "kcl doc: no example of 1 schemas was run\n")
    write(tmp_path, {"m/one.k": schema("One", "# kcl-doc: not run because it needs a cluster", "a = nothing")})
    ran = kcl_doc(tmp_path, "--test")
    assert ran.status == 5 and "1 not run" in ran.err
    assert "m/one.k:6: example of One: not run: it needs a cluster" in ran.out


def test_examples_of_files_that_cannot_be_read_are_no_success_either(tmp_path: Path) -> None:
    write(tmp_path, {"kcl.mod": MANIFEST, "m/one.k": schema("One", "a = One {a = 1}"), "n/bad.k": "x = {\n"})
    ran = kcl_doc(tmp_path, "--test")
    assert ran.status == 1 and "1 passed, 0 failed" in ran.err and "n/bad.k:" in ran.err


def test_an_example_is_ended_and_writes_nothing(tmp_path: Path) -> None:
    endless = schema(
        "One", "f = lambda n: int -> int { f(n) if n > 0 else sum([i for i in range(1000000000)]) }", "a = f(0)"
    )
    writing = schema("Two", "import file", 'file.write("made.txt", "x")')
    write(tmp_path, {"kcl.mod": MANIFEST, "m/one.k": endless, "n/two.k": writing})
    ran = kcl_doc(tmp_path, "--test", "--deadline", "1")
    assert ran.status == 1 and ran.err.startswith("2 examples: 0 passed, 2 failed")
    assert not list(tmp_path.rglob("made.txt"))
