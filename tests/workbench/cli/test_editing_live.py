"""`wb lsp --live`: what clusters have of what a line decides, and what an apply of the edit there would change."""

from __future__ import annotations

import re
from pathlib import Path

import anyio
import yaml

from tests.kcl.tools.lsp.editor import Editor
from tests.workbench.cli.conftest import Place

FRONT = ("deployments.apps", "web-prod", "front")


class Live:
    """An editor on the stack of two clusters."""

    def __init__(self, place: Place, *more: str) -> None:
        self.place, self.main = place, place.root / "web/prod/main.k"
        self.text = self.main.read_text()
        self.line = next(at for at, each in enumerate(self.text.splitlines()) if "replicas" in each)
        self.editor = Editor(place.root, command=("workbench", "-w", str(place.root), "lsp", *more))

    def lens(self, is_it: str) -> str:
        """What is told above the line once it says that."""
        found = self.editor.lenses(self.main, lambda told: re.search(is_it, told.get(self.line, "")) is not None)
        return found[self.line]

    def difference(self, line: int) -> str:
        asked = {"command": "kcl.live", "arguments": [self.main.as_uri(), line]}
        return str(self.editor.ask("workspace/executeCommand", asked))


def _edited(live: Live) -> tuple[str, str, str, str]:
    with live.editor:
        live.editor.open(live.main)
        same = live.lens(r"live on hz")
        live.editor.edit(live.main, {"text": live.text.replace("replicas = 3", "replicas = 4")})
        changed = live.lens(r"here 4")
        told, nothing = live.difference(live.line), live.difference(0)
        live.editor.edit(live.main, {"text": live.text.replace("replicas = 3", "replicas = (")})
        assert "not known" in live.difference(live.line), "of a text that can't be compiled nothing is told"
    return same, changed, told, nothing


async def test_a_line_tells_what_is_live_what_its_edit_would_change_and_what_is_not_known(
    place: Place, tmp_path: Path
) -> None:
    await place.released("web/prod")
    kubeconfig = tmp_path / "kubeconfig"
    written = yaml.safe_load(kubeconfig.read_text())
    written["clusters"][1]["cluster"]["server"] = "https://127.0.0.1:1"
    kubeconfig.write_text(yaml.safe_dump(written))
    same, changed, told, nothing = await anyio.to_thread.run_sync(_edited, Live(place, "--live"))
    assert re.search(r"live on hz: 3; live on sh: not known, .* \(\d\d:\d\d:\d\d\)", same), same
    assert "live on hz: 3 (here 4); live on sh: not known" in changed, changed
    assert told.count("spec.replicas: 3 → 4") == 1 and "front" in told, told
    assert "sh" in told.split("3 → 4")[1], "what could not be asked is said beside"
    assert "decides nothing" in nothing
    assert place.live(*FRONT)["spec"]["replicas"] == 3, "nothing was written"
