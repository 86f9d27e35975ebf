"""`%wb` in a shell of IPython."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.workbench.notebook.conftest import Place

pytest.importorskip("IPython", reason="IPython is not installed: pip install 'konfig-workbench[notebook]'")


@pytest.fixture
def shell(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    for name, value in {**place.environment, "IPYTHONDIR": str(tmp_path_factory.mktemp("ipython"))}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place.root)
    made: Any = InteractiveShell()
    made.history_manager.enabled = False
    made.run_line_magic("load_ext", "workbench")
    yield made
    made.run_line_magic("unload_ext", "workbench")


def test_verbs_return_results(shell: Any) -> None:
    assert len(shell.run_line_magic("wb", "ls */prod")) == 5
    assert len(shell.run_line_magic("wb", "")) == 14
    assert len(shell.run_line_magic("wb", "compile checkout/prod")) == 16
    assert shell.run_line_magic("wb", "diff checkout/prod").summary.drift == 1
    assert "main.k:5" in repr(shell.run_line_magic("wb", "explain checkout/prod Deployment/web spec.replicas"))
    assert len(shell.run_line_magic("wb", "releases checkout/prod")) == 1


def test_options_are_those_of_the_command_line(shell: Any) -> None:
    one = shell.run_line_magic("wb", "compile checkout/prod -D session_key=one")
    two = shell.run_line_magic("wb", "compile checkout/prod -Dsession_key=two")

    assert list(one.df["name"][one.df["hash"] != two.df["hash"]]) == ["web-secrets", "web"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("apply checkout/prod", "apply needs a plan"),
        ("diff", "diff STACK"),
        ("diff checkout/prod -D tag", "needs name=value"),
        ("diff 'checkout", "quotes"),
        ("diff nowhere/prod", "did you mean"),
    ],
)
def test_what_cannot_be_done_is_said_and_what_to_do(shell: Any, line: str, told: str, capsys: Any) -> None:
    result = shell.run_cell(f"%wb {line}")

    assert not result.success
    assert told in capsys.readouterr().out


def test_names_of_variables_are_filled_in(shell: Any) -> None:
    shell.user_ns["stack"] = "checkout/prod"

    assert shell.run_cell("found = %wb compile $stack").success
    assert len(shell.user_ns["found"]) == 16
