"""`wb plan` and `wb apply` of many stacks on two sandbox clusters: what is shown, asked, saved and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode

pytestmark = pytest.mark.slow

PHRASE = "apply 12 resources of 2 stacks"


async def test_one_plan_one_confirmation_and_nothing_left_to_do(place: Place, tmp_path: Path) -> None:
    saved = tmp_path / "many.plan"
    ended = await place("plan", "web/*", "--out", saved, "--detailed-exitcode")
    assert ended.code == ExitCode.CHANGES, ended.text
    assert "blast radius: 2 stacks in 2 places: 12 resources change" in ended.out
    assert "web/prod: the stack is protected" in ended.out and f"to confirm: {PHRASE}" in ended.out
    for more in (["--yes"], ["--confirm", "web/prod"], ["--confirm", "yes"]):
        ended = await place("apply", saved, *more)
        assert ended.code == ExitCode.REFUSED and "Nothing was applied" in ended.err, ended.text
    assert place.names("deployments.apps") == set()
    unheard = await place("apply", saved, "--force", "--confirm", PHRASE)
    assert unheard.code == ExitCode.USAGE and "--force" in unheard.err
    ended = await place("apply", saved, "--confirm", PHRASE)
    assert ended.code == ExitCode.OK, ended.text
    assert "2 ready, 0 halted, 0 left" in ended.out and "wb rollback --of p-" in ended.err
    assert "part of p-" in (await place("release", "list", "web/dev")).out
    ended = await place("plan", "--stacks", "web/*", "--detailed-exitcode")
    assert ended.code == ExitCode.OK and "nothing to change in any of 2 stacks" in ended.out, ended.text
    ended = await place("plan", "--stacks", "web/*", "--skip-stack", "web/prod", "--detailed-exitcode")
    assert ended.code == ExitCode.ERROR, "of what was skipped nothing is known: " + ended.text
    assert "skipped, so left as they are: web/prod" in ended.out and "nothing to change in any" not in ended.out


async def test_one_stack_without_a_plan_refuses_all_and_is_named(place: Place, tmp_path: Path) -> None:
    (place.root / "web/dev/main.k").write_text("broken {")
    saved = tmp_path / "many.plan"
    ended = await place("plan", "web/*", "--out", saved)
    assert ended.code == ExitCode.REFUSED and "refused by web/dev" in ended.err, ended.text
    assert "--skip-stack web/dev" in ended.err and not saved.exists()
    ended = await place("plan", "web/*", "-o", "json")
    assert ended.json()["status"] == "refused" and [each["stack"] for each in ended.json()["unplanned"]] == ["web/dev"]
    ended = await place("apply", "web/*", "--confirm", PHRASE)
    assert ended.code == ExitCode.REFUSED and place.names("deployments.apps") == set()
