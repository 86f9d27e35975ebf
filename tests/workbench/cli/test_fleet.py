"""`wb fleet` over two sandbox clusters: what is wrong, why, since when, and what can't be told."""

from __future__ import annotations

import re

import pytest

from runtimes.sandbox.api.disturbances import Disturbance
from tests.workbench.cli.conftest import Place
from tests.workbench.cli.test_drifting import colour
from workbench.exit_codes import ExitCode


@pytest.fixture
async def released(place: Place) -> Place:
    await place.released("web/dev")
    await place.released("web/prod")
    return place


def row(text: str, stack: str) -> str:
    return next(each for each in text.splitlines() if re.match(rf"{stack}  ", each))


async def until_ready(place: Place) -> None:
    for stack in ("web/dev", "web/prod"):
        assert (await place("watch", stack, "--timeout", "20")).code == ExitCode.OK


async def test_all_is_well_only_where_everything_was_seen_to_be(released: Place) -> None:
    await until_ready(released)
    (released.root / "web" / "project.yaml").write_text("name: web\ntenant: shop-team\n")
    found = await released("fleet")
    assert (found.code, found.err) == (ExitCode.OK, ""), found.text
    assert re.search(r"✓ Ready +\= same +none +#1 \d+s \w+ +shop-team", row(found.out, "web/prod"))
    assert found.out.splitlines()[-1] == "2 stacks: ✓ 2 ready"
    document = (await released("fleet", "-o", "json")).json()
    assert (document["kind"], document["status"], document["silent"]) == ("Fleet", "ok", [])
    assert [(each["stack"], each["health"], each["sync"], each["drift"]) for each in document["stacks"]] == [
        ("web/dev", "ready", "same", "none"),
        ("web/prod", "ready", "same", "none"),
    ]
    assert document["takenOut"] == {"left": [], "unknown": []}
    (released.root / "web/dev/stack.yaml").unlink()
    for verb in ("fleet", "drift"):
        gone = (await released(verb, "-o", "json")).json()["takenOut"]
        assert [each["stack"] for each in gone["left"]] == ["web/dev"] and gone["unknown"] == []


async def test_each_stack_in_trouble_says_why_and_the_worst_comes_first(released: Place) -> None:
    await until_ready(released)
    colour(released, 1, "grey")
    released.edit("web/dev/main.k", "replicas = 1", "replicas = ")
    found = await released("fleet")
    assert found.code == ExitCode.DIFF_FAILED, "of a configuration that is wrong nobody can tell what it says"
    assert "! KCL error" in row(found.out, "web/dev") and "✓ Ready" in row(found.out, "web/dev"), "that is live"
    assert re.search(r"web/dev: ! .*  web/dev/main\.k:4", found.out), found.out
    assert "! 1 drift" in row(found.out, "web/prod")
    assert "web/prod: ! drift: ConfigMap web-prod/front @sh data.COLOUR by kubectl-edit" in found.out
    grouped = await released("fleet", "--group", "drift", "--sort", "stack", "--reverse")
    assert re.search(r"drifted  1 stack: .*\n.*STACK.*\nweb/prod", grouped.out), grouped.out


async def test_what_was_never_deployed_is_not_well(place: Place) -> None:
    await place.released("web/prod")
    assert (await place("watch", "web/prod", "--timeout", "20")).code == ExitCode.OK
    found = await place("fleet")
    assert found.code == ExitCode.DIFFERENT, found.text
    assert re.search(r"∅ Not deployed +~ 4 to do +none", row(found.out, "web/dev")), found.out
    document = (await place("fleet", "-o", "json")).json()
    assert (document["status"], document["stacks"][0]["drift"]) == ("trouble", "not deployed")
    assert (await place("drift", "web/dev")).code == ExitCode.DIFF_FAILED, "all of it may have been deleted"


async def test_what_may_not_have_been_deployed_is_unknown_where_releases_are_not_told(place: Place) -> None:
    place.sandbox.disturbances[0].add(Disturbance("internal-error"))
    found = await place("fleet", "web/dev")
    assert found.code == ExitCode.DIFF_FAILED and "Not deployed" not in found.out, found.text


async def test_a_silent_cluster_is_named_and_nothing_there_is_called_ready(released: Place) -> None:
    await until_ready(released)
    released.sandbox.disturbances[1].add(Disturbance("internal-error"))
    found = await released("fleet")
    assert found.code == ExitCode.DIFF_FAILED, found.text
    assert "✓ Ready" in row(found.out, "web/dev"), "it is not there"
    assert "? Unknown" in row(found.out, "web/prod")
    assert re.search(r"\? sh is silent: .*; 1 stack goes there", found.out), found.out
    assert found.out.splitlines()[-1].startswith("2 stacks: ? 1 unknown  ✓ 1 ready")
    document = (await released("fleet", "-o", "json")).json()
    assert document["status"] == "unknown" and [each["place"] for each in document["silent"]] == ["sh"]


async def test_a_glob_that_nothing_fits_is_no_answer(place: Place) -> None:
    assert (await place("fleet", "*/nowhere")).code == ExitCode.USAGE


async def test_a_file_that_is_broken_may_hide_a_stack(released: Place) -> None:
    await until_ready(released)
    (released.root / "web" / "broken").mkdir()
    (released.root / "web" / "broken" / "stack.yaml").write_text("{: nonsense")
    assert (await released("fleet")).code == ExitCode.DIFF_FAILED
