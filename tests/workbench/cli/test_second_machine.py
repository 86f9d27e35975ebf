"""Commands on a machine that released nothing: what others applied is found, said, and no good end is claimed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode


async def test_destroying_what_another_machine_applied(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = await place("destroy", "web/dev")
    assert never.code == ExitCode.OK and "nothing to change" in never.out
    await place.released("web/dev")
    monkeypatch.setenv("WB_STATE_DIR", str(tmp_path / "second"))
    found = await place("destroy", "web/dev", "--confirm", "web/dev")
    assert found.code == ExitCode.REFUSED and "nothing to change" not in found.text
    assert "ConfigMap:web-dev:front@hz: carries the labels of this stack" in found.out
    assert "--adopt deletes them too" in found.out
    assert "web-dev" in place.names("namespaces")
    gone = await place("destroy", "web/dev", "--adopt", "--confirm", "web/dev")
    assert gone.code == ExitCode.OK and "web-dev" not in place.names("namespaces"), gone.text


async def test_what_left_the_configuration_is_a_difference_that_no_command_passes_over(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.released("web/dev")
    place.edit("models/render.k", "for r in server.resources(s, _space)]", "for r in server.resources(s, _space)[1:]]")
    monkeypatch.setenv("WB_STATE_DIR", str(tmp_path / "second"))
    diff = await place("diff", "web/dev")
    assert diff.code == ExitCode.DIFFERENT and "left alone" in diff.text and "nothing to change" not in diff.text
    plan = await place("plan", "web/dev", "--detailed-exitcode")
    assert plan.code == ExitCode.CHANGES and "nothing to change" not in plan.out
    assert (await place("plan", "web/dev", "-o", "json")).json()["status"] == "unknown"
    applied = await place("apply", "web/dev", "--yes", "--no-watch")
    assert applied.code == ExitCode.PARTIAL
    kept = await place("apply", "web/dev", "--yes", "--no-watch", "--no-prune")
    assert kept.code == ExitCode.OK
    pruned = await place("apply", "web/dev", "--confirm", "web/dev", "--yes", "--no-watch", "--adopt")
    assert pruned.code == ExitCode.OK and "front" not in place.names("configmaps"), pruned.text


async def test_a_moved_checkout_takes_its_records_over(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    await place.released("web/dev")
    former = place.root
    place.root = former.rename(former.with_name("moved"))
    monkeypatch.chdir(place.root)
    away = await place("destroy", "web/dev", "--dry-run")
    assert f"the checkout in {former}, which is gone, has 4 released objects" in away.out
    moved = await place("release", "move", former)
    assert (moved.code, moved.out) == (0, f"taken over from {former}: web/dev\n"), moved.text
    assert "✓ nothing to change" in (await place("plan", "web/dev")).out
    again = await place("release", "move", former)
    assert again.code == ExitCode.ERROR and "there are no records of that checkout" in again.err
