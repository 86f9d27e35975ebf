"""The stories of the README: what a recording holds, and that none gives away the machine it was made on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.stories.recording import Recording
from tests.workbench.session.shop import Clusters
from tests.workbench.tui.test_screens import SMALL, opened, workbench

STORIES = Path(__file__).parents[2] / "docs" / "stories"
SVG = "{http://www.w3.org/2000/svg}"


async def test_a_recording_has_what_was_on_the_screen(tmp_path: Path) -> None:
    app = workbench(tmp_path, Clusters("hz", "sh"))
    recording = Recording("Shop <1>", *SMALL)
    async with app.run_test(size=SMALL) as pilot:
        await opened(pilot)
        recording.take(app, "The stacks & what is known", 2)
        await pilot.press("question_mark")
        await pilot.pause()
        recording.take(app, "? shows the keys", 1.5)
    recording.save(tmp_path / "made", "shop")
    head, *events = map(json.loads, (tmp_path / "made/shop.cast").read_text().splitlines())
    assert (head["version"], head["width"], head["height"]) == (2, *SMALL)
    assert [(at, kind) for at, kind, _ in events] == [(0.0, "m"), (0.0, "o"), (2, "m"), (2, "o"), (3.5, "o")]
    assert all(
        len(each.replace("\r\n", "")) and each.count("\r\n") == SMALL[1] - 1 for _, _, each in (events[1], events[3])
    )
    tree = ElementTree.parse(tmp_path / "made/shop.svg")
    texts = [each.text or "" for each in tree.iter(f"{SVG}text")]
    assert "The stacks & what is known" in texts and any("prod" in each for each in texts)
    ids = {each.get("id") for each in tree.iter(f"{SVG}g")}
    assert {each.get("href", "")[1:] for each in tree.iter(f"{SVG}use")} <= ids
    words = {word for line in recording.texts() for word in line.split()}
    assert words <= {word for each in texts for word in each.split()}


@pytest.mark.parametrize("name", ["newcomer", "on-call"])
def test_a_story_names_no_place_of_the_machine_it_was_made_on(name: str) -> None:
    texts = [(STORIES / f"{name}.{kind}").read_text(encoding="utf-8") for kind in ("cast", "svg")]
    assert not [each for text in texts for each in re.findall(r"(?:/home|/root|/tmp|/Users|/var|/work|/opt)\b", text)]
    readme = (STORIES.parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"docs/stories/{name}.svg" in readme and f"docs/stories/{name}.cast" in readme
