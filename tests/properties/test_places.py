"""Every diagnostic of mutated programs of several files points into the file that its offset was counted in.

A few dozen programs by default; KCL_MUTATED_PROGRAMS=5000 for as many as that (twenty minutes).
"""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import replace

import pytest

from kcl.api import InMemoryFileSystem, ParseCache, ProgramError, run
from tests.properties.findings import Finding, findings
from tests.properties.places import Report, check
from tests.properties.projects import Project, small, stacks

_PROGRAMS = int(os.environ.get("KCL_MUTATED_PROGRAMS", "40"))


@pytest.fixture(scope="module")
def report() -> Report:
    if importlib.util.find_spec("kcl_lib") is None:
        pytest.skip("kcl-lib is not installed")
    return check(_PROGRAMS, seed=13)


def test_diagnostics_point_into_the_file_they_are_about_and_move_with_it(report: Report) -> None:
    assert not report.wrong, report.wrong[0]
    assert report.places > report.programs
    assert report.gone <= report.programs * 0.01


def test_findings_that_are_official_too_have_the_official_file_and_line(report: Report) -> None:
    assert report.compared > report.programs
    assert report.agreeing >= report.compared * 0.99, report.text()


@pytest.mark.parametrize("project", [*stacks(), *small()])
def test_what_mutations_begin_with_is_right(project: Project) -> None:
    """Or what is wrong with all of them would hide the rest."""
    texts = {f"/w/{path}": text for path, text in {"kcl.mod": "", **project.texts}.items()}
    assert run(project.main, work_dir="/w", options=project.options, file_system=InMemoryFileSystem(texts)).documents
    assert len(project.main) > 1


_VALUE = re.compile(r"^(?P<before>[ ]*[\w.]+ *(?:: *\w+ *)?[=:] *)\S.*(?<![{\[(])$", re.MULTILINE)


@pytest.mark.parametrize("project", [small()[0], stacks()[0]])
def test_an_unknown_name_is_reported_where_it_was_written(project: Project) -> None:
    """In the place of every value of the main package, one after the other, and at the end of each of its files."""
    cache, reported, silent = ParseCache(), 0, 0
    for path in project.main:
        text = project.texts[path]
        places = [(match.end("before"), match.end()) for match in _VALUE.finditer(text)]
        for start, end in [*places, (len(text), len(text))]:
            name = "undefinedname" if start < len(text) else "\ny = undefinedname\n"
            changed = text[:start] + name + text[end:]
            found = _places_of_unknown(replace(project, texts={**project.texts, path: changed}), cache)
            if found:
                assert found == [(path, changed.index("undefinedname"))], changed
                reported += 1
            else:
                silent += 1  # documentation, or a value that a later file replaces
    assert reported > 3 * silent


def _places_of_unknown(project: Project, cache: ParseCache) -> list[tuple[str, int]]:
    texts = {f"/w/{path}": text for path, text in {"kcl.mod": "", **project.texts}.items()}
    files = InMemoryFileSystem(texts)
    try:
        run(project.main, work_dir="/w", options=project.options, file_system=files, cache=cache)
    except ProgramError as problem:
        spans = [each.primary for each in problem.diagnostics if "'undefinedname'" in each.message]
        return [(span.path.removeprefix("/w/"), span.start) for span in spans if span is not None]
    return []


def test_a_shifted_project_has_the_same_texts_further_down() -> None:
    project = Project({"a.k": "a = 1\n", "b.k": '"""Told at the top."""\nb = 1\n', "c.k": "c = 1\n"}, ("a.k",))
    moved, lengths = project.shifted()
    assert {path: text[lengths[path] :] for path, text in moved.texts.items()} == project.texts
    assert lengths["b.k"] == 0 and lengths["a.k"] != lengths["c.k"] != 0


@pytest.mark.parametrize(
    "text",
    [
        "error[E2G22]: TypeError\n --> /w/a.k:3:5\n  |\n3 | a = b\n  |     ^ expected int\n  |\n\n"
        " --> /w/m/b.k:7:1\n  |\n7 | b = 1\n  | ^ declared here\n  |\n",
        "TypeError\n --> /w/a.k:3:5\n  |\n3 | a = b\n  |   expected int\n  |\n\n"
        " --> /w/m/b.k:7:1\n  |\n7 | b = 1\n  |  declared here\n  |\n",
        "\nerror[E2G22]: TypeError\n---> File /w/a.k:3:5: expected int\n---> File /w/m/b.k:7:1: declared here\n\n",
    ],
)
def test_findings_are_read_from_what_a_compiler_prints(text: str) -> None:
    places = (("a.k", 3, 5, "expected int"), ("b.k", 7, 1, "declared here"))
    assert findings(text + text) == [Finding("TypeError", places)]
