"""Mistakes people make who write KCL: one message, a hint on what is wrong, and edits that mend it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kcl.api import ProgramError, parse, run, taught
from kcl.cli import main
from tests.kcl.teaching.mending import mended, told

_MENDED = [
    ("a = [1, 2\nb = 1\nc = {x = 1}\n", "`]` is missing", "a = [1, 2]\nb = 1\nc = {x = 1}\n"),
    ("a = [\n    1\n    2\nb = 1\n", "`]` is missing", "a = [\n    1\n    2\n]\nb = 1\n"),
    (
        "a = {\n    y = {\n        z = 1\nb = 1\n",
        "`}` `}` are missing",
        "a = {\n    y = {\n        z = 1\n    }\n}\nb = 1\n",
    ),
    ("a = f(1, 2\nb = 1\n", "`)` is missing", "a = f(1, 2)\nb = 1\n"),
    ("a = [1, 2]]\nb = 1\n", "take it away", "a = [1, 2]\nb = 1\n"),
    ("a = [1, 2)\nb = 1\n", "closed by `]`, not by `)`", "a = [1, 2]\nb = 1\n"),
    ('a = "abc\nb = 1\n', 'a `"` is missing', 'a = "abc"\nb = 1\n'),
    ('a = f("abc)\nb = 1\n', 'a `"` is missing', 'a = f("abc")\nb = 1\n'),
    ('a = """abc\nb = 1\n', '`"""` is missing', 'a = """abc"""\nb = 1\n'),
    ('a = "${x"\n', "`}` is missing", 'a = "${x}"\n'),
    (
        "schema A:\n    x: int\n      y: int\n    z: int\nb = 1\n",
        "indent this line by 4",
        "schema A:\n    x: int\n    y: int\n    z: int\nb = 1\n",
    ),
    (
        "schema A:\n    x: int\n  y: int\n    z: int\n",
        "indent this line by 4",
        "schema A:\n    x: int\n    y: int\n    z: int\n",
    ),
    ("a = 1\n  b = 2\nc = 3\n", "indent this line not at all", "a = 1\nb = 2\nc = 3\n"),
    ("schema A:\nx: int\ny: str\nb = 1\n", "is indented below it", "schema A:\n    x: int\n    y: str\nb = 1\n"),
    ("schema A:\n    x: int\n\ty: int\n", "indent by blanks alone", "schema A:\n    x: int\n    y: int\n"),
    (
        "a = {\n    b:\n        - 1\n        - 2\n    c: 1\n}\n",
        "a list is written",
        "a = {\n    b: [\n        1\n        2\n    ]\n    c: 1\n}\n",
    ),
    (
        "a = [\n    - name: x\n      port: 1\n    - name: y\n]\nb = 1\n",
        "without `-`, and one with keys in braces",
        'a = [\n    {\n      name: "x"\n      port: 1\n    }\n    {\n      name: "y"\n    }\n]\nb = 1\n',
    ),
    ("a:\n  - 1\n  - 2\nb = 1\n", "`key = [...]`", "a = [\n  1\n  2\n]\nb = 1\n"),
    ("a:\n- 1\nb = 1\n", "`key = [...]`", "a = [\n1\n]\nb = 1\n"),
    ("a:\n  b: 1\nc = 1\n", "`key = {...}`", "a = {\n  b: 1\n}\nc = 1\n"),
    ("a = {\n    b:\n        c: x\n}\n", "nested is written in braces", 'a = {\n    b: {\n        c: "x"\n    }\n}\n'),
    (
        "a = {\n    b: &x\n        c: &y d\n        e: *y\n}\n",
        "there are no anchors",
        'a = {\n    b: {\n        c: "d"\n        e: y\n    }\n}\n',
    ),
    (
        "a = {\n    f:\n        <<: *x\n        g: 1\n}\n",
        "there are no anchors",
        "a = {\n    f: {\n        **x\n        g: 1\n    }\n}\n",
    ),
    ("a: &x 5\nb = 1\n", "`_x = ...` gives a value a name", "a = 5\nb = 1\n"),
    ("a: *x\nb = 1\n", "there are no aliases", "a = x\nb = 1\n"),
    ('a: "x"\nb: 1\nc = 2\n', "outside of braces", 'a = "x"\nb = 1\nc = 2\n'),
    ("a = True && False\n", "`and`", "a = True and False\n"),
    ("a = True || False\n", "`or`", "a = True or False\n"),
    ("a = !True\n", "`not`", "a = not True\n"),
    ("a = 1 === 2\n", "`==`", "a = 1 == 2\n"),
    ("// hello there\na = 1\n", "begins with `#`", "# hello there\na = 1\n"),
    ("/* hello */\na = 1\n", "begins with `#`", "# hello\na = 1\n"),
    ("a = 1;\nb = 2\n", "no `;`", "a = 1\nb = 2\n"),
    ("a = {x: 1; y: 2}\n", "separated by `,`", "a = {x: 1, y: 2}\n"),
    ("if True:\n    a = 1\nelse if False:\n    a = 2\n", "`elif`", "if True:\n    a = 1\nelif False:\n    a = 2\n"),
    ("def f(x):\n    return x\nb = 1\n", "a function is a value", "f = lambda x {\n    x\n}\nb = 1\n"),
    ("f = lambda x: x + 1\n", "stands in braces", "f = lambda x {x + 1}\n"),
    ("f = (x, y) => x + y\n", "a function is written", "f = lambda x, y {x + y}\n"),
    ("a = 1\na++\n", "no `++`", "a = 1\na += 1\n"),
    ("schema A\n    x: int\nb = 1\n", "a `:` is missing", "schema A:\n    x: int\nb = 1\n"),
    ("schema A {\n    x: int\n}\n", "no braces", "schema A:\n    x: int\n\n"),
    ("class A:\n    x: int\n", "`schema` for `class`", "schema A:\n    x: int\n"),
    ("schema A extends B:\n    x: int\n", "names its base", "schema A(B):\n    x: int\n"),
    ("schema A:\n    x?: int?\n", "optional by a `?`", "schema A:\n    x?: int\n"),
    ("schema A:\n    x: int,\n    y: int\n", "no `,` is needed", "schema A:\n    x: int\n    y: int\n"),
    ("b = True\na = b ? 1 : 2\n", "`1 if b else 2`", "b = True\na = 1 if b else 2\n"),
    ("a = 1 +\n    2\nb = 1\n", "unless a `\\`", "a = 1 + \\\n    2\nb = 1\n"),
    ("a = {\n    1a = 2\n}\n", "in quotes", 'a = {\n    "1a" = 2\n}\n'),
    ("a = {\n    image = /usr/bin\n}\n", "in quotes", 'a = {\n    image = "/usr/bin"\n}\n'),
    ("a = “x”\n", "quotes are written", 'a = "x"\n'),
    ('import "a/b"\n', "`import a.b`", "import a.b\n"),
    ('a = {"x": 1, "y" 2}\n', "a `:` is missing", 'a = {"x": 1, "y": 2}\n'),
    ("f = lambda (x, y) { x + y }\n", "stand in no brackets", "f = lambda x, y { x + y }\n"),
    ("f = lambda x -> int: { x }\n", "no `:` stands before", "f = lambda x -> int { x }\n"),
    ("b = {x = 1}\na = {...b, y = 2}\n", "`**` for `...`", "b = {x = 1}\na = {**b, y = 2}\n"),
    ("x = None\na = x ?? 1\n", "`or` for `??`", "x = None\na = x or 1\n"),
    ("a = if True { 1 } else { 2 }\n", "`1 if True else 2`", "a = 1 if True else 2\n"),
    (
        "schema A:\n    x: int\n    check:\n        x > 0 : 'bad'\n",
        "behind a `,`",
        "schema A:\n    x: int\n    check:\n        x > 0, 'bad'\n",
    ),
    ("schema A:\n    x: list<str>\n", "`[str]`", "schema A:\n    x: [str]\n"),
    ("import a.b.*\n", "without `.*`", "import a.b\n"),
    ("a = {{ .Values.image }}\n", "no templates", 'a = option("image")\n'),
    ("a = ${HOME}\n", "an option", 'a = option("HOME")\n'),
    ("a = 2GiB\n", "`2Gi`", "a = 2Gi\n"),
]
_TOLD = [
    ("for x in [1]:\n    a = x\n", "there are no loops"),
    ("schema A(B, C):\n    x: int\nb = 1\n", "one base"),
    ("a =\nb = 1\n", "a value is missing behind `=`"),
    ("a = 1\n---\nb = 2\n", "manifests.yaml_stream"),
]


@pytest.mark.parametrize(("text", "message", "right"), _MENDED, ids=[each[0] for each in _MENDED])
def test_a_mistake_is_one_error_with_a_hint_whose_edits_mend_it(text: str, message: str, right: str) -> None:
    assert not parse(right).diagnostics
    [error] = told(text)
    [hint] = error.hints
    assert message in hint.message
    assert mended(text, [error]) == right


@pytest.mark.parametrize(("text", "message"), _TOLD)
def test_where_only_a_person_can_mend_it_the_hint_has_no_edits(text: str, message: str) -> None:
    [error] = told(text)
    [hint] = error.hints
    assert message in hint.message and not hint.edits


@pytest.mark.parametrize("text", [each[0] for each in _MENDED])
def test_the_first_official_message_stays_as_it_is(text: str) -> None:
    official = parse(text).diagnostics
    shown = taught(official, {"main.k": text})
    assert [(each.code, each.message, each.primary) for each in shown] == [
        (each.code, each.message, each.primary) for each in official
    ]
    assert not shown[0].follows


def test_errors_apart_from_each_other_are_all_told() -> None:
    text = "a = f(1, 2\nb = 1\nschema A\n    x: int\nc = True && False\nd = 1\n"
    messages = [hint.message for each in told(text) for hint in each.hints]
    assert len(messages) == 3
    assert "`)`" in messages[0] and "`:`" in messages[1] and "`and`" in messages[2]
    assert not parse(mended(text, told(text))).diagnostics


def test_an_error_nobody_knows_a_remedy_for_is_told_without_a_hint_and_once() -> None:
    [error] = told("a = 1 @ ) ( 2 ?? 3\nb = 1\n")[:1]
    assert not error.hints
    assert len(told("schema A:\n    x: int\n    ? ? ?\n    y: int\nb = 1\n")) == 1


def test_a_large_text_with_errors_is_answered_soon() -> None:
    text = "".join(f"a{number} = {{x = {number}}}\n" for number in range(60_000)) + "b = [1\nc = 2\n"
    shown = told(text)
    assert shown and shown[0].message.startswith("expected one of")


def _run(folder: Path, *flags: str) -> tuple[int, str]:
    stderr = io.StringIO()
    status = main(["run", "main.k", *flags], cwd=folder, stdin=io.StringIO(), stdout=io.StringIO(), stderr=stderr)
    return status, stderr.getvalue()


_UNCLOSED = "a = [\n    1\n    2\nb = 1\nc = {x = unknown}\n"


def test_the_command_line_shows_one_error_where_the_bracket_was_opened_and_the_count_of_the_rest(
    tmp_path: Path,
) -> None:
    (tmp_path / "main.k").write_text(_UNCLOSED)
    status, said = _run(tmp_path)
    assert status == 1
    assert said.count("error[") == 1
    assert "main.k:1:5" in said and "this `[` is never closed" in said and "help: `]` is missing" in said
    assert "7 more messages may follow from the above; kcl run --all-errors shows all" in said


@pytest.mark.parametrize("flags", [["--all-errors"], ["--dialect", "kcl-0.12"]])
def test_who_asks_for_them_gets_the_official_messages_and_nothing_else(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "main.k").write_text(_UNCLOSED)
    _, said = _run(tmp_path, *flags)
    assert said.count("error[") == 8
    assert "help:" not in said and "never closed" not in said and "more messages" not in said


@pytest.mark.parametrize(("form", "messages"), [("short", 8), ("github", 1), ("sarif", 8), ("arcanist", 8)])
def test_formats_for_people_leave_out_what_follows_and_those_for_programs_do_not(
    tmp_path: Path, form: str, messages: int
) -> None:
    (tmp_path / "main.k").write_text(_UNCLOSED)
    _, said = _run(tmp_path, "--error_format", form)
    mark = {"short": ": error[", "github": "::error ", "sarif": '"ruleId"', "arcanist": '"severity"'}[form]
    assert said.count(mark) == messages
    assert ("7 more messages" in said) == (messages == 1)


def test_the_api_gives_all_diagnostics_with_marks_and_hints(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text(_UNCLOSED)
    with pytest.raises(ProgramError) as problem:
        run(["main.k"], work_dir=tmp_path)
    first, *rest = problem.value.diagnostics
    assert not first.follows and first.hints[0].edits[0].text == "\n]"
    assert len(rest) == 7 and all(each.follows for each in rest)
    assert problem.value.render(guided=True).count("error[") == 1
    assert problem.value.render().count("error[") == 8


@pytest.mark.parametrize("command", [["fmt", "--check", "main.k"], ["lint", "main.k"]])
def test_the_tools_show_the_same(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "main.k").write_text(_UNCLOSED)
    out = io.StringIO()
    status = main(command, cwd=tmp_path, stdin=io.StringIO(), stdout=out, stderr=out)
    assert status != 0
    assert out.getvalue().count("error[") == 1 and "this `[` is never closed" in out.getvalue()
