"""`wb destroy`: everything a stack has goes, after the phrase, and only what is its own."""

from __future__ import annotations

import pytest

from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode

pytestmark = pytest.mark.slow


async def test_everything_of_a_stack_goes_and_nothing_else(place: Place) -> None:
    await place.released("web/dev")
    await place.released("web/prod")
    before = place.names("deployments.apps")
    ended = await place("destroy", "web/dev", "--confirm", "web/dev")
    assert ended.code == ExitCode.OK, ended.text
    assert "release #2 succeeded: 4 done" in ended.out
    left = place.sandbox.clusters[0].list("configmaps").items
    assert "web-dev" not in {each["metadata"]["namespace"] for each in left if each["metadata"]["name"] == "front"}
    assert "web-prod" in place.names("namespaces") and before == place.names("deployments.apps", 1)
    planned = await place("plan", "web/dev", "--detailed-exitcode")
    assert planned.code == ExitCode.CHANGES


@pytest.mark.parametrize("arguments", [(), ("--yes",), ("--confirm", "yes")])
async def test_without_the_phrase_nothing_is_destroyed(place: Place, arguments: tuple[str, ...]) -> None:
    await place.released("web/dev")
    ended = await place("destroy", "web/dev", *arguments)
    assert ended.code == ExitCode.REFUSED
    assert "Nothing was destroyed." in ended.text and "web-dev" in place.names("namespaces")


async def test_a_dry_run_shows_what_would_go(place: Place) -> None:
    await place.released("web/dev")
    ended = await place("destroy", "web/dev", "--dry-run")
    assert ended.code == ExitCode.OK and "-4 delete" in ended.out
    assert "web-dev" in place.names("namespaces")


async def test_a_protected_stack_is_refused(place: Place) -> None:
    await place.released("web/prod")
    ended = await place("destroy", "web/prod", "--confirm", "web/prod")
    assert ended.code == ExitCode.REFUSED and "stack not protected" in ended.text
    assert "web-prod" in place.names("namespaces")


async def test_a_stack_that_does_not_compile_can_be_destroyed_and_what_nobody_can_know_is_said(place: Place) -> None:
    await place.released("web/dev")
    (place.root / "web/dev/main.k").write_text("no KCL {")
    ended = await place("destroy", "web/dev", "--confirm", "web/dev")
    assert "4 done, 0 failed" in ended.out and "web-dev" not in place.names("namespaces")
    # the release may have been of the clusters alone, and the configuration can't be asked
    assert ended.code == ExitCode.PARTIAL and "Terraform resources" in ended.text, ended.text
    again = await place("destroy", "web/dev", "--confirm", "web/dev")
    assert again.code == ExitCode.REFUSED, again.text
