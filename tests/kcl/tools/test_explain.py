"""`kcl explain`: a page for each code, whose example gives exactly this code, and is mended by what the page says."""

from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest

from kcl.api import InMemoryFileSystem, ProgramError, run
from kcl.cli import main
from kcl.diagnostics import Code, Diagnostic
from kcl.tools.explain import PAGES, find, text
from kcl.tools.explain.page import Page, Reporter
from kcl.tools.lint.rules import ASKED_FOR
from kcl.tools.migrate import Subject, load_all
from kcl.tools.migrate import find as find_legacy

_KCL = Path(__file__).parents[3] / "kcl"


def _told(page: Page, files: dict[str, str], folder: Path) -> list[Diagnostic]:
    match page.told:
        case Reporter.RUN:
            texts = {f"/{name}": said for name, said in {"kcl.mod": "", **files}.items()}
            try:
                return list(run(["main.k"], work_dir="/", file_system=InMemoryFileSystem(texts)).diagnostics)
            except ProgramError as problem:
                return list(problem.diagnostics)
        case Reporter.MIGRATE:
            for name, said in files.items():
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text(said)
            found = find_legacy(list(load_all([Subject("main", folder, ("main.k",))], folder)), folder)
            return [lint.diagnostic for lint in found]
        case Reporter.LINT | Reporter.NOBODY:
            raise AssertionError("asked elsewhere")


_SHOWN = [page for page in PAGES if page.told in (Reporter.RUN, Reporter.MIGRATE)]


@pytest.mark.parametrize("page", _SHOWN, ids=lambda page: page.code.title)
def test_example_gives_exactly_this_code(page: Page, tmp_path: Path) -> None:
    codes = {each.code for each in _told(page, dict(page.wrong), tmp_path)}
    if page.told is Reporter.MIGRATE and page.code is not Code.LEGACY_VERSION:
        codes -= {Code.LEGACY_VERSION}  # the kcl.mod of every such repository
    assert codes == {page.code}


@pytest.mark.parametrize("page", _SHOWN, ids=lambda page: page.code.title)
def test_mended_example_gives_nothing(page: Page, tmp_path: Path) -> None:
    codes = {each.code for each in _told(page, dict(page.right), tmp_path)}
    assert codes <= {Code.LEGACY_VERSION} - {page.code}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.told is Reporter.LINT], ids=lambda page: page.code.title
)
def test_example_of_the_linter(page: Page, tmp_path: Path) -> None:
    for files, expected in ((page.wrong, True), (page.right, False)):
        for name, said in files.items():
            (tmp_path / name).write_text(said)
        out, err = io.StringIO(), io.StringIO()
        asked = ["--select", page.code.number] if page.code in ASKED_FOR else []
        asked += ["--stacks", "."] if page.code is Code.ALWAYS_OVERRIDDEN else []
        main(["lint", "main.k", *asked], cwd=tmp_path, stdin=io.StringIO(), stdout=out, stderr=err)
        assert (page.code.number in out.getvalue() + err.getvalue()) is expected


def test_every_code_has_one_page() -> None:
    assert sorted(page.code.name for page in PAGES) == sorted(code.name for code in Code)


def test_codes_without_an_example_are_never_given() -> None:
    given = set()
    for path in _KCL.rglob("*.py"):
        if "diagnostics" in path.parts or "explain" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Code":
                given.add(node.attr)
    assert {page.code.name for page in PAGES if page.told is Reporter.NOBODY} & given == set()


def _explain(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    status = main(["explain", *argv], cwd="/", stdin=io.StringIO(), stdout=out, stderr=err)
    return status, out.getvalue(), err.getvalue()


def test_page_shows_the_example_and_what_it_gives() -> None:
    status, out, err = _explain("E2L23")
    assert (status, err) == (0, "")
    assert out.startswith("E2L23: CompileError\n")
    assert '    web = Server {imag = "nginx"}' in out
    assert "     --> main.k:4:15" in out
    assert "Cannot add member 'imag' to schema 'Server'" in out
    assert out.index("What to do") < out.index('    web = Server {image = "nginx"}')


def test_several_kinds_of_one_number_are_all_shown() -> None:
    assert [page.code.title for page in find("E1001")].count("ImmutableError") == 1
    assert len(find("E1001")) > 5
    assert _explain("E1001")[1].count("\nWhat to do\n") == len(find("E1001"))


def test_names_and_case_are_forgiven() -> None:
    assert find("immutableerror") == find("ImmutableError")
    assert find("[e2l23]") == find("E2L23")


def test_unknown_code_names_a_near_one() -> None:
    status, out, err = _explain("E2L24", "E3M38")
    assert status == 1
    assert "there is no code 'E2L24': did you mean E2L2" in err
    assert out.startswith("E3M38: EvaluationError")
    assert "lists the codes" in _explain("nonsense")[2]


def test_without_a_code_all_are_listed() -> None:
    status, out, _ = _explain()
    assert (status, len(out.splitlines())) == (0, len(PAGES))
    assert _explain("--help")[0] == 0
    assert _explain("--all")[0] == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code.title)
def test_page_fits_a_terminal(page: Page) -> None:
    assert max(map(len, text(page).splitlines())) <= 130
