"""`wb compile` and `wb explain`: the Spec for people and programs, and where its fields come from."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.kcl_suite import same
from tests.kcl.conformance import corpus
from tests.workbench.cli.command import Wb
from workbench.exit_codes import ExitCode

CANARY = "canary-4f1d"


@pytest.mark.parametrize(
    "stack",
    [
        "appops/nginx-example/dev",
        "appops/guestbook/dev",
        "appops/guestbook/test",
        "appops/guestbook/prod",
        "appops/http-echo/dev",
    ],
)
def test_stacks_of_konfig_give_their_golden_spec(wb: Wb, stack: str) -> None:
    folder = corpus("konfig-2023") / stack
    ended = wb("compile", folder, "-Y", "ci-test/settings.yaml")
    assert ended.code == 0, ended.err
    golden = _by_id(yaml.safe_load((folder / "ci-test/stdout.golden.yaml").read_text()))
    ours = _by_id(yaml.safe_load(ended.out))
    assert ours.keys() == golden.keys()
    for id_, expected in golden.items():
        assert same(ours[id_], expected), id_


def _by_id(documents: list[Any]) -> dict[str, Any]:
    return {each["id"]: each for each in documents}


def test_yaml_and_json_are_one_list_of_the_same(wb: Wb, root: Path) -> None:
    documents = yaml.safe_load(wb("compile", "web/dev").out)
    assert documents == wb("compile", "web/dev", "-o", "json").json()
    assert documents[0]["id"] == "v1:Namespace:web-dev"
    assert len(documents) == 4


def test_table_is_a_line_each(wb: Wb, root: Path) -> None:
    lines = wb("compile", "web/dev", "-o", "table").out.splitlines()
    assert [line.split() for line in lines] == [
        ["KIND", "NAMESPACE", "NAME"],
        ["Namespace", "web-dev"],
        ["ConfigMap", "web-dev", "front"],
        ["Secret", "web-dev", "front"],
        ["Deployment", "web-dev", "front"],
    ]


def test_options_and_settings_reach_the_program_and_options_win(wb: Wb, root: Path) -> None:
    (root / "web/dev/ci.yaml").write_text("kcl_options: [{key: token, value: from-file}]\n")
    assert "token: canary-4f1d" in wb("compile", "web/dev").out
    assert "token: from-file" in wb("compile", "web/dev", "-Y", "ci.yaml").out
    assert "token: by-hand" in wb("compile", "web/dev", "-Y", "ci.yaml", "-D", "token=by-hand").out


def test_a_stack_is_meant_by_name_by_folder_and_by_standing_in_it(
    wb: Wb, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = wb("compile", "web/prod").out
    assert wb("compile", "web/prod/").out == wb("compile", root / "web/prod").out == expected
    monkeypatch.chdir("/")
    assert wb("compile", root / "web/prod").out == expected
    monkeypatch.chdir(root / "web" / "prod")
    assert wb("compile").out == wb("compile", ".").out == expected


def test_settings_that_are_not_there(wb: Wb, root: Path) -> None:
    ended = wb("compile", "web/dev", "-Y", "nope.yaml")
    assert ended.code == ExitCode.ERROR
    assert str(root / "web/dev/nope.yaml") in ended.err and "stack's folder" in ended.err


def test_a_terminal_sees_no_secrets_unless_it_asks(root: Path) -> None:
    shown = _on_a_terminal("compile", "web/dev")
    assert "masked#" in shown and CANARY not in shown
    assert "image: front:1" in shown
    assert CANARY in _on_a_terminal("compile", "web/dev", "--show-secrets")


def _on_a_terminal(*arguments: str) -> str:
    """What a terminal gets, with its line ends."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "workbench", *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        said = b""
        while chunk := _read(ours):
            said += chunk
        os.close(ours)
        assert process.wait(60) == 0, said
    return said.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


def test_explain_leads_to_the_line_somebody_wrote(wb: Wb, root: Path) -> None:
    ended = wb("explain", "web/prod", "Deployment/front", "spec.replicas")
    assert ended.code == 0
    assert "web/prod/main.k:4" in ended.out and "replicas = 3" in ended.out
    ended = wb("explain", "web/prod", "v1:Secret:web-prod:front", "stringData.token")
    assert ended.code == 0 and "masked#" in ended.out and "web/base/base.k:7" in ended.out
    assert CANARY not in ended.text


def test_a_secret_option_is_not_quoted_by_the_language(wb: Wb, root: Path) -> None:
    model = root / "models/server.k"
    check = '    check:\n        len(token) < 5, "odd: ${token}"\n'
    model.write_text(model.read_text().replace("token: str\n", f"token: str\n{check}"))
    ended = wb("compile", "web/dev", "-D", "token=canary-99aa")
    assert ended.code == ExitCode.ERROR
    assert "odd: «masked»" in ended.err and "canary-99aa" not in ended.text


@pytest.mark.parametrize(
    ("resource", "path", "said"),
    [
        ("Deployment/frnt", "", "did you mean Deployment/front"),
        ("Deployment/front", "spec.replica", "has no field 'spec.replica'"),
        ("Deployment/front", "spec.[", "write it as spec.template.spec.containers[name=web].image"),
    ],
)
def test_explain_says_what_it_cannot_find(wb: Wb, root: Path, resource: str, path: str, said: str) -> None:
    ended = wb("explain", "web/prod", resource, path)
    assert ended.code == ExitCode.ERROR
    assert said in ended.err


def test_a_stack_whose_project_is_broken_still_compiles_but_goes_nowhere(wb: Wb, root: Path) -> None:
    expected = wb("compile", "web/prod").out
    (root / "web/project.yaml").write_text("name: {web\n")
    ended = wb("compile", "web/prod")
    assert (ended.code, ended.out) == (0, expected)
    assert ended.err.startswith(f"warning: {root}/web/project.yaml:2:1: ")
    for command in ("plan", "apply", "watch"):
        ended = wb(command, "web/prod")
        assert ended.code == ExitCode.ERROR
        assert "project.yaml:2:1" in ended.err
