"""What is said beside the official message when a program fails as it runs: what is missing, and who wrote what."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kcl.api import Hint, InMemoryFileSystem, ParseCache, ProgramError, run
from kcl.cli import main
from tests.properties.fuzz import own_programs

_SCHEMA = """schema Port:
    number?: int
    name: str = "web"

schema App:
    replicas?: int
    port?: Port
    token: str = "none"
    check:
        replicas < 5 if replicas, "too many"
        port.number > 1000 if port and port.number
        len(token) < 8

"""


def _failure(text: str, cache: ParseCache | None = None) -> ProgramError:
    files = InMemoryFileSystem({"/w/kcl.mod": "", "/w/main.k": text})
    with pytest.raises(ProgramError) as problem:
        run(["main.k"], work_dir="/w", file_system=files, cache=cache)
    return problem.value


def _hints(text: str) -> list[Hint]:
    return [hint for each in _failure(text).diagnostics for hint in each.hints]


def _places(text: str, hint: Hint) -> list[tuple[int, str]]:
    """The line and the text of each place."""
    return [(text.count("\n", 0, each.span.start) + 1, each.message) for each in hint.labels]


@pytest.mark.parametrize(
    "operation", ["x.replicas + 1", "2 > x.replicas", "-x.replicas", "1 < 2 < x.replicas", "(x.replicas) * 2"]
)
def test_a_missing_attribute_is_told_with_its_instance_and_its_declaration(operation: str) -> None:
    text = f"{_SCHEMA}x = App {{}}\ny = {operation}\n"
    [hint] = _hints(text)
    assert hint.message.startswith("attribute `replicas` of App has no value")
    assert _places(text, hint) == [
        (14, "this App gives no `replicas`"),
        (6, "`replicas` is declared here, optional and without a default"),
    ]


def test_the_first_that_is_missing_of_a_chain_is_told() -> None:
    [hint] = _hints(f"{_SCHEMA}x = App {{}}\ny = x.port.number + 1\n")
    assert "`port` of App" in hint.message
    [hint] = _hints(f"{_SCHEMA}x = App {{port = Port {{}}}}\ny = x.port.number + 1\n")
    assert "`number` of Port" in hint.message


def test_a_missing_attribute_read_in_its_own_schema_is_told() -> None:
    text = "schema A:\n    x?: int\n    y: int = x + 1\na = A {}\n"
    [hint] = _hints(text)
    assert "attribute `x` of A has no value" in hint.message


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("1 + d.c", "`d` has no key `c`"),
        ("d.portNumber + 1", "`d` has no key `portNumber`: did you mean `port_number`?"),
        ('d["nam"] + "x"', "`d` has no key `nam`: did you mean `name`?"),
        ("d.e.f + 1", "`d.e` has no key `f`"),
        ("d.g.h + 1", "`d` has no key `g`"),
        ("d.g[0]", "`d` has no key `g`"),
    ],
)
def test_a_missing_key_of_a_configuration_is_told(operation: str, message: str) -> None:
    # Of what is decoded nobody knows the keys before it runs.
    text = f"""import json
d = json.decode('{{"port_number": 1, "name": "n", "e": {{}}}}')
y = {operation}
"""
    [hint] = _hints(text)
    assert hint.message == message


def test_operations_on_what_is_there_get_no_hint() -> None:
    assert not _hints('a = {k: v for k, v in {x = 1, y = "s"}}\nb = a.x + a.y\n')


def test_a_failed_check_names_the_lines_that_wrote_the_values_it_read() -> None:
    text = f"{_SCHEMA}_base = {{replicas = 7}}\nx = App {{**_base}}\n"
    problem = _failure(text)
    assert problem.diagnostics[0].message == "Instance check failed"
    [hint] = problem.diagnostics[0].hints
    assert hint.message == "the check reads `replicas` = 7"
    assert _places(text, hint) == [(14, "`replicas` is written here")]


def test_a_failed_check_follows_a_path_to_the_value_it_read() -> None:
    text = f"{_SCHEMA}_port = Port {{\n    number = 80\n}}\nx = App {{\n    port = _port\n}}\n"
    [hint] = _hints(text)
    assert hint.message == "the check reads `port.number` = 80"
    assert (15, "`port.number` is written here") in _places(text, hint)


def test_a_failed_check_of_a_secret_names_the_line_and_does_not_show_it() -> None:
    text = f'{_SCHEMA}x = App {{\n    token = "hunter2-hunter2"\n}}\n'
    problem = _failure(text)
    [hint] = problem.diagnostics[0].hints
    assert hint.message == "the check reads `token`, written in /w/main.k:15" and not hint.labels
    assert "hunter2" not in problem.render(guided=True)
    beside = f'{_SCHEMA}x = [App {{\n    replicas = 9, token = "hunter2"\n}}]\n'
    problem = _failure(beside)
    assert "hunter2" not in problem.render(guided=True)
    assert "`replicas` = 9, written in /w/main.k:15" in problem.diagnostics[0].hints[0].message


def test_a_cache_changes_nothing_of_what_is_said() -> None:
    text, cache = f"{_SCHEMA}x = App {{replicas = 9}}\n", ParseCache()
    first = _failure(text, cache).diagnostics
    assert first == _failure(text, cache).diagnostics == _failure(text).diagnostics


def test_the_command_line_shows_it(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text(f"{_SCHEMA}_base = {{replicas = 7}}\nx = App {{**_base}}\n")
    stderr = io.StringIO()
    assert main(["run", "main.k"], cwd=tmp_path, stdin=io.StringIO(), stdout=io.StringIO(), stderr=stderr) == 1
    said = stderr.getvalue()
    assert "Instance check failed" in said and "main.k:14:10" in said
    assert "help: the check reads `replicas` = 7" in said


def test_programs_without_errors_get_no_hints() -> None:
    tried = 0
    for program in own_programs()[:60]:
        files = InMemoryFileSystem({"/w/kcl.mod": "", "/w/main.k": program})
        try:
            result = run(["main.k"], work_dir="/w", file_system=files)
        except ProgramError:
            continue
        tried += 1
        assert not any(each.hints or each.follows for each in result.diagnostics)
    assert tried > 10


@pytest.mark.parametrize("condition", ["a", "a == 2", "len([a]) > 1"])
def test_a_message_of_an_assert_without_its_comma_is_told(condition: str) -> None:
    text = f'a = 1\nassert {condition} "too few"\n'
    hint = _failure(text).diagnostics[0].hints[0]
    assert "a `,` is missing before the message" in hint.message
    (edit,) = hint.edits
    assert text[: edit.span.start] + edit.text + text[edit.span.end :] == f'a = 1\nassert {condition}, "too few"\n'


def test_a_text_that_an_assert_compares_with_lacks_no_comma() -> None:
    for condition in ('a == "b"', 'a in "b"', 'a != "a"'):
        failed = _failure(f'a = "a"\nassert {condition}\n').diagnostics
        assert not any("a `,`" in hint.message for each in failed for hint in each.hints)
