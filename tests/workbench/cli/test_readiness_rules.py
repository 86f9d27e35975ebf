"""readiness.yaml decides what `wb watch` waits for."""

from __future__ import annotations

from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode


async def test_a_repository_says_when_its_resources_are_ready(place: Place) -> None:
    await place.released()
    rules = place.root / "readiness.yaml"
    assert (await place("watch", "web/dev", "--timeout", "60")).code == 0
    rules.write_text("rules: [{kind: ConfigMap, name: front, ready: {field: data.never}}]\n")
    waiting = await place("watch", "web/dev", "--timeout", "2")
    assert waiting.code == ExitCode.NOT_READY
    assert "readiness.yaml, rule 1" in waiting.text
    rules.write_text("rules: [{kind: ConfigMap, ready: exists}]\n")
    ready = await place("watch", "web/dev", "--timeout", "60")
    assert ready.code == 0 and "readiness.yaml, rule 1 asks for no more" in ready.out


async def test_a_broken_file_is_found_before_anything_is_applied(place: Place) -> None:
    (place.root / "readiness.yaml").write_text("rules: [{kind: ConfigMap, ready: soon}]\n")
    ended = await place("apply", "web/dev", "--confirm", "yes")
    assert ended.code == ExitCode.ERROR
    assert "readiness.yaml" in ended.err and "ready needs to be" in ended.err
    assert "front" not in place.names("configmaps")
