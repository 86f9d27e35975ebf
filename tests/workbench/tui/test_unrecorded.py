"""A release that was cut off after its last write has no step left, and is recorded by an apply all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import LARGE, confirm, released, says, state, until, workbench
from workbench.engine.release import Phase
from workbench.release import encoding


def _releases(folder: Path) -> list[Path]:
    return sorted(folder.rglob("web/prod/*.json"), key=lambda each: int(each.stem))


async def test_the_plan_of_a_release_that_was_cut_off_can_be_applied(tmp_path: Path) -> None:
    clusters = Clusters("hz", "sh")
    app = workbench(tmp_path, clusters)
    async with app.run_test(size=LARGE) as pilot:
        await released(pilot)
        (record,) = _releases(tmp_path)
        release = encoding.decode(record.read_bytes())
        record.write_bytes(encoding.encode(replace(release, phase=Phase.APPLYING, finished=None)))
        await pilot.press("P")
        await pilot.press("r")
        await until(pilot, lambda: state(app).plan is not None and says(app, "release 1 was not finished"))
        assert state(app).plan.is_as_configured  # type: ignore[union-attr]
        await confirm(pilot)
        await until(pilot, lambda: says(app, "succeeded"))
        assert [encoding.decode(each.read_bytes()).phase for each in _releases(tmp_path)][-1] is Phase.SUCCEEDED
        await pilot.press("r")
        await until(pilot, lambda: not state(app).busy and not state(app).events)
        assert not state(app).plan.is_unrecorded  # type: ignore[union-attr]
