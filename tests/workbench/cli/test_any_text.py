"""What characters a value holds makes no difference to diff, plan and apply."""

from __future__ import annotations

import base64

from tests.runtimes.kubernetes.test_texts import EDGES, WORDS
from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode

TEXTS = (*EDGES.replace("\x00", ""), *WORDS)
"""A source file holds all of them but NUL."""


def _written(text: str) -> str:
    """A KCL text with every character as an escape, but those of which it has none."""
    return '"' + "".join(f"\\U{ord(each):08x}" for each in text) + '"'


async def test_every_text_is_diffed_planned_and_applied(place: Place) -> None:
    settings = ", ".join(f"t{number} = {_written(text)}" for number, text in enumerate(TEXTS))
    place.edit("web/dev/main.k", "replicas = 1", f'replicas = 1\n    settings = {{{settings}}}\n    token = "😀 token"')
    assert (await place("diff", "web/dev")).code == ExitCode.DIFFERENT
    planned = await place("plan", "web/dev", "--out", place.root / "saved.plan")
    assert planned.code == 0, planned.text
    applied = await place("apply", place.root / "saved.plan", "--confirm", "yes", "--no-watch")
    assert applied.code == 0, applied.text
    live = place.live("configmaps", "web-dev", "front")["data"]
    assert [live[f"t{number}"] for number in range(len(TEXTS))] == list(TEXTS)
    secret = place.live("secrets", "web-dev", "front")["data"]["token"]
    assert base64.b64decode(secret).decode() == "😀 token"
    again = await place("diff", "web/dev")
    assert again.code == 0, again.text
