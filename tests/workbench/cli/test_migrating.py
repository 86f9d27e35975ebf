"""`wb migrate`: a diff at first, edits once they are proven, and nothing at all where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workbench.cli.command import Wb
from workbench.exit_codes import ExitCode

CANARY = "canary-77c1"
MAIN = (
    "import names\nimport manifests\n"
    'manifests.yaml_stream([{apiVersion = "v1", kind = "ConfigMap", data = {}, '
    'metadata = {name = names.__NAME, namespace = "n"}}])\n'
)


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two stacks of 2023 that share a package."""
    root = tmp_path / "repo"
    for name, text in {
        "kcl.mod": '[expected]\nkclvm_version = "v0.4.6"\n',
        "names/names.k": '__NAME = "front"\n',
        "web/project.yaml": "name: web\n",
        "web/dev/stack.yaml": "name: dev\n",
        "web/dev/main.k": MAIN,
        "web/prod/stack.yaml": "name: prod\n",
        "web/prod/main.k": MAIN,
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(root)
    return root


def test_check_lists_each_use_with_its_line(wb: Wb, old: Path) -> None:
    ended = wb("migrate", "--check")
    assert ended.code == ExitCode.DIFFERENT
    assert ended.out.count("warning[W2001]") == 3
    assert f"--> {old}/web/dev/main.k:3:" in ended.out
    assert "4 legacy uses in 4 files" in ended.err


def test_without_write_there_is_a_diff_and_a_proof(wb: Wb, old: Path) -> None:
    ended = wb("migrate")
    assert ended.code == 0
    assert '--- a/names/names.k\n+++ b/names/names.k\n@@ -1 +1 @@\n-__NAME = "front"\n+NAME = "front"\n' in ended.out
    assert "= web/dev" in ended.err
    assert "2 of 2 compilations give the same values" in ended.err
    assert (old / "names/names.k").read_text() == '__NAME = "front"\n'


def test_written_repository_gives_the_same_spec(wb: Wb, old: Path) -> None:
    before = wb("compile", "web/dev").out
    ended = wb("migrate", "--write")
    assert (ended.code, ended.out) == (0, "")
    assert "4 files written" in ended.err
    assert wb("compile", "web/dev").out == before
    again = wb("migrate", "--check")
    assert (again.code, again.out) == (0, "")
    assert "nothing is legacy here" in again.err


def test_one_stack_brings_along_what_it_shares(wb: Wb, old: Path) -> None:
    ended = wb("migrate", "web/dev", "--write")
    assert ended.code == 0, ended.err
    assert "2 of 2 compilations" in ended.err
    assert "names.NAME" in (old / "web/prod/main.k").read_text()
    assert "v0.4.6" in (old / "kcl.mod").read_text()
    assert wb("compile", "web/prod").code == 0


def test_folder_says_which_files(wb: Wb, old: Path) -> None:
    (old / "web/prod/main.k").write_text(MAIN + "_a = true\n")
    (old / "web/dev/main.k").write_text(MAIN + "_a = true\n")
    ended = wb("migrate", "web/prod/main.k", "--check")
    assert ended.out.count("warning[W2002]") == 1
    assert wb("migrate", "no/such").code == ExitCode.USAGE


def test_change_of_values_is_refused(wb: Wb, old: Path) -> None:
    (old / "web/dev/kcl.yaml").write_text("kcl_cli_configs:\n  file:\n    - ../../names/names.k\n    - main.k\n")
    (old / "web/dev/main.k").write_text(
        'import names\nresources = [{apiVersion = "v1", kind = "ConfigMap", metadata = {name = names.__NAME}}]\n'
    )
    ended = wb("migrate")
    assert ended.code == ExitCode.REFUSED
    assert "! web/dev would change:\n    [0].NAME: is new" in ended.err
    ended = wb("migrate", "--write")
    assert ended.code == ExitCode.REFUSED
    assert (old / "names/names.k").read_text() == '__NAME = "front"\n'


def test_stack_that_cannot_be_compared_is_refused(wb: Wb, old: Path) -> None:
    (old / "web/prod/main.k").write_text(MAIN + f'_a = 1 + {{}}\n_b = option("token")\nassert _b != "{CANARY}", _b\n')
    ended = wb("migrate", "--write", "-D", f"token={CANARY}")
    assert ended.code == ExitCode.REFUSED
    assert "web/prod did not compile before" in ended.err
    assert CANARY not in ended.text
    assert "__NAME" in (old / "web/dev/main.k").read_text()


def test_what_is_no_kcl_is_an_error_with_its_place(wb: Wb, old: Path) -> None:
    (old / "web/dev/main.k").write_text("a = [\n")
    ended = wb("migrate", "--check")
    assert ended.code == ExitCode.ERROR
    assert "web/dev/main.k:" in ended.err


def test_repository_of_today_has_nothing_legacy(wb: Wb, old: Path) -> None:
    (old / "kcl.mod").write_text("")
    ended = wb("migrate", "--check")
    assert (ended.code, ended.out) == (0, "")
    assert wb("migrate", "--check", "--dialect", "konfig-2023").code == ExitCode.DIFFERENT
    (old / "kcl.mod").write_text("[expected\n")
    assert wb("migrate", "--check").code == ExitCode.ERROR


def test_a_broken_file_of_the_repository_may_hide_what_is_legacy(wb: Wb, old: Path) -> None:
    wb("migrate", "--write")
    (next(old.rglob("stack.yaml"))).write_text("name: [\n")
    for arguments in (["--check"], []):
        ended = wb("migrate", *arguments)
        assert ended.code == ExitCode.ERROR and "is not valid YAML" in ended.err, ended.text


def test_check_and_write_exclude_each_other(wb: Wb, old: Path) -> None:
    assert wb("migrate", "--check", "--write").code == ExitCode.USAGE
