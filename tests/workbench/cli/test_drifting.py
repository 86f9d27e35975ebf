"""`wb drift` over two sandbox clusters: what is found, what can't be told, and both answers to it."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from runtimes.sandbox.api.disturbances import Disturbance
from tests.workbench.cli.command import Wb
from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode


def colour(place: Place, cluster: int, value: str) -> None:
    place.sandbox.clusters[cluster].patch(
        "configmaps", "web-prod", "front", {"data": {"COLOUR": value}}, "merge", manager="kubectl-edit"
    )


def replicas(place: Place, cluster: int, value: int, space: str = "web-prod") -> None:
    place.sandbox.clusters[cluster].patch(
        "deployments.apps", space, "front", {"spec": {"replicas": value}}, "merge", manager="kubectl-scale"
    )


@pytest.fixture
async def released(place: Place) -> Place:
    await place.released("web/dev")
    await place.released("web/prod")
    return place


async def test_many_stacks_are_looked_at_and_only_those_that_drifted_are_shown(released: Place) -> None:
    quiet = await released("drift")
    assert (quiet.code, quiet.err) == (ExitCode.OK, ""), quiet.text
    assert quiet.out.splitlines()[-1] == "2 stacks: 2 without drift"
    colour(released, 1, "grey")
    released.sandbox.clusters[0].delete("configmaps", "web-prod", "front")
    found = await released("drift")
    assert found.code == ExitCode.DIFFERENT
    assert "data.COLOUR" in found.out and "owned by kubectl-edit" in found.out
    assert re.search(r"COLOUR: grey → red  ← web/base/base\.k:\d+", found.out), found.out
    assert "web/prod: 1 drift  1 deleted" in found.out and "web/dev:" not in found.out
    assert found.out.splitlines()[-1] == "2 stacks: 1 drifted  1 without drift"
    document = (await released("drift", "-o", "json")).json()
    assert (document["kind"], document["status"]) == ("Drift", "different")
    assert {each["stack"]: (each["status"], each["certain"]) for each in document["stacks"]} == {
        "web/dev": ("same", True),
        "web/prod": ("different", True),
    }
    other = await released("drift", "*/dev")
    assert other.code == ExitCode.OK and other.out.splitlines()[-1] == "1 stack: 1 without drift"


async def test_what_the_configuration_changed_is_no_drift(released: Place) -> None:
    released.edit("web/prod/main.k", "replicas = 3", "replicas = 4")
    assert (await released("drift")).code == ExitCode.OK


async def test_a_stack_never_released_here_is_not_known(place: Place) -> None:
    await place.released("web/dev")
    found = await place("drift")
    assert found.code == ExitCode.DIFF_FAILED
    assert "may be new or deleted" in found.out and "1 not known for sure" in found.out


async def test_a_cluster_that_does_not_answer_is_not_without_drift(released: Place) -> None:
    colour(released, 0, "grey")
    released.sandbox.disturbances[1].add(Disturbance("internal-error"))
    found = await released("drift", "*/prod")
    assert found.code == ExitCode.DIFF_FAILED, found.text
    assert "COLOUR: grey" in found.out and "0 without drift" in found.out
    only = await released("drift", "*/prod", "--cluster", "hz")
    assert only.code == ExitCode.DIFFERENT


async def test_a_stack_that_does_not_compile_hides_no_other(released: Place) -> None:
    colour(released, 0, "grey")
    released.edit("web/dev/main.k", "replicas = 1", "replicas = nothing")
    found = await released("drift")
    assert found.code == ExitCode.DIFF_FAILED
    assert "web/dev: ? it could not be compared" in found.out and "name 'nothing' is not defined" in found.err
    assert "COLOUR: grey" in found.out
    document = (await released("drift", "-o", "json")).json()
    (dev,) = (each for each in document["stacks"] if each["stack"] == "web/dev")
    assert (dev["status"], dev["certain"]) == ("unknown", False) and "nothing" in dev["message"]


async def test_globs_and_clusters_that_match_nothing_are_no_good_news(released: Place) -> None:
    for arguments, said in (
        (["wbe/*"], "there is no stack"),
        (["web/*", "shop/prd"], "there is no stack"),
        (["--cluster", "mars"], "none of these stacks goes to mars"),
    ):
        ended = await released("drift", *arguments)
        assert ended.code == ExitCode.USAGE and said in ended.err, ended.text
    named = await released("drift", "web/prod", "*/prod")
    assert named.out.splitlines()[-1].startswith("1 stack:"), named.text
    (released.root / "web/dev/stack.yaml").write_text("name: [\n")
    broken = await released("drift", "*/prod")
    assert broken.code == ExitCode.DIFF_FAILED and "stack.yaml" in broken.err


@pytest.mark.parametrize(
    "arguments",
    [["--revert", "--adopt"], ["--write"], ["--every", "5", "--revert"], ["--adopt", "-o", "json"], ["--revert"]],
)
def test_answers_are_for_one_stack_and_one_at_a_time(root: Path, wb: Wb, arguments: list[str]) -> None:
    assert root.is_dir() and wb("drift", *arguments).code == ExitCode.USAGE


def test_a_yes_without_a_question_is_refused(wb: Wb) -> None:
    """Who says yes to a patch that is only shown takes it for written."""
    adopted = wb("drift", "web/prod", "--adopt", "-y")
    assert adopted.code == ExitCode.USAGE and "--adopt --write writes the files" in adopted.err
    assert wb("drift", "--confirm", "web/prod").code == ExitCode.USAGE


async def test_drift_is_taken_back_and_nothing_else_is_done(released: Place) -> None:
    colour(released, 1, "grey")
    replicas(released, 0, 9)
    released.sandbox.clusters[0].delete("secrets", "web-prod", "front")
    undecided = await released("drift", "web/prod", "--revert", "--no-watch")
    assert undecided.code == ExitCode.REFUSED and "not confirmed" in undecided.err
    done = await released("drift", "web/prod", "--revert", "--confirm", "web/prod", "--no-watch", "--reason", "INC-7")
    assert done.code == ExitCode.OK, done.text
    assert released.live("configmaps", "web-prod", "front", 1)["data"]["COLOUR"] == "red"
    assert released.live("deployments.apps", "web-prod", "front")["spec"]["replicas"] == 3
    assert released.live("secrets", "web-prod", "front")
    assert (await released("drift")).code == ExitCode.OK
    trail = (await released("audit", "-o", "json")).json()["entries"]
    assert "INC-7" in {each["reason"] for each in trail}


async def test_taking_back_does_not_bring_along_what_the_configuration_changed(released: Place) -> None:
    colour(released, 1, "grey")
    released.edit("web/prod/main.k", "replicas = 3", "replicas = 4")
    refused = await released("drift", "web/prod", "--revert", "--confirm", "web/prod", "--no-watch")
    assert refused.code == ExitCode.REFUSED and "Nothing was applied" in refused.err
    assert "Deployment web-prod/front @hz" in refused.err and "ConfigMap" not in refused.err
    assert released.live("configmaps", "web-prod", "front", 1)["data"]["COLOUR"] == "grey"


async def test_drift_is_taken_over_as_an_edit_of_its_line(released: Place) -> None:
    before = (released.root / "web/prod/main.k").read_text()
    for cluster in (0, 1):
        replicas(released, cluster, 9)
    shown = await released("drift", "web/prod", "--adopt")
    assert shown.code == ExitCode.OK, shown.text
    assert "-    replicas = 3" in shown.out and "+    replicas = 9" in shown.out
    assert shown.err.splitlines()[-2:] == [
        "nothing was written: --write writes the files, and `git apply` takes this patch",
        "web/prod with this: ✓ no drift",
    ]
    assert (released.root / "web/prod/main.k").read_text() == before, "only shown"
    written = await released("drift", "web/prod", "--adopt", "--write")
    assert (written.code, written.out) == (ExitCode.OK, "web/prod/main.k\n")
    assert (released.root / "web/prod/main.k").read_text() == before.replace("replicas = 3", "replicas = 9")
    assert (await released("drift")).code == ExitCode.OK


async def test_what_one_cluster_has_would_reach_the_other_and_other_stacks(released: Place) -> None:
    colour(released, 1, "grey")
    shown = await released("drift", "web/prod", "--adopt")
    assert "live in sh only: an apply would set it in hz too" in shown.err, shown.text
    assert "the edited files are read by other stacks too: web/dev" in shown.err
    assert shown.code == ExitCode.OK


async def test_of_two_fields_that_one_line_sets_only_one_is_taken_over(released: Place) -> None:
    """Both were said to be taken over, nothing to be left: and the edit gave one of them what the other has."""
    base = released.root / "web/base/base.k"
    text = (
        base.read_text()
        .replace('{COLOUR = "red"}', "{COLOUR = _colour}")
        .replace("front: ", '_colour = "red"\nfront: ')
    )
    base.write_text(text + text[text.index("front: ") :].replace("front", "back"))
    await released.released("web/dev")

    def live(name: str, value: str) -> None:
        body = {"data": {"COLOUR": value}}
        released.sandbox.clusters[0].patch("configmaps", "web-dev", name, body, "merge", manager="kubectl-edit")

    live("front", "grey")
    shown = await released("drift", "web/dev", "--adopt")
    assert shown.code == ExitCode.OK, shown.text
    assert "an apply would change v1:ConfigMap:web-dev:back data.COLOUR too: the same line sets it" in shown.err
    live("back", "blue")
    shown = await released("drift", "web/dev", "--adopt")
    assert shown.code == ExitCode.DIFFERENT, shown.text
    taken = [line for line in shown.out.splitlines() if line.startswith("+_colour")]
    assert taken in (['+_colour = "grey"'], ['+_colour = "blue"']), shown.out
    assert shown.err.count("its line sets data.COLOUR of v1:ConfigMap:web-dev:") == 1, shown.err
    live("back", "grey")
    shown = await released("drift", "web/dev", "--adopt")
    assert shown.code == ExitCode.OK and "an apply would change" not in shown.err, shown.text


async def test_what_cannot_be_taken_over_stays_and_is_said(released: Place) -> None:
    cluster = released.sandbox.clusters[0]

    async def said(words: str) -> None:
        shown = await released("drift", "web/prod", "--adopt")
        assert shown.code == ExitCode.DIFFERENT and words in shown.err, shown.text
        assert shown.out.strip() == "" and "canary" not in shown.text

    def change(resource: str, body: dict[str, Any]) -> None:
        cluster.patch(resource, "web-prod", "front", body, "merge", manager="kubectl-edit")

    change("secrets", {"data": {"token": "bGl2ZS1jYW5hcnk="}})
    await said("it is secret")
    change("configmaps", {"data": {"EXTRA": "1"}})
    await said("only the live object has it")
    change("configmaps", {"data": {"COLOUR": None, "EXTRA": None}})
    await said("somebody removed it")
    colour(released, 0, "grey")
    colour(released, 1, "blue")
    await said("it has another value in each cluster")
    colour(released, 1, "red")
    cluster.delete("configmaps", "web-prod", "front")
    await said("somebody deleted it")


async def test_a_live_text_becomes_that_text_and_no_program(released: Place) -> None:
    source = released.root / "web/base/base.k"
    before = source.read_text()
    for value in ('${option("x")}', "a\nb", 'x" + "y', "'''", "#", "\x1b]52;c;aGk=\x07", "é\u202e"):
        source.write_text(before)
        for cluster in (0, 1):
            colour(released, cluster, value)
        shown = await released("drift", "web/prod", "--adopt", "--write")
        assert "\x1b]" not in shown.text
        assert shown.code == ExitCode.OK, shown.text
        compiled = await released("compile", "web/prod", "-o", "json")
        assert value in {each["attributes"].get("data", {}).get("COLOUR") for each in compiled.json()}


async def test_a_report_says_who_when_and_where_and_nothing_breaks_out_of_it(released: Place) -> None:
    quiet = await released("drift", "-o", "markdown")
    assert quiet.code == ExitCode.OK and "**Nobody changed anything in 2 stacks.**" in quiet.out
    assert "Not known" not in quiet.out and "- `hz  context one, https://127.0.0.1:" in quiet.out
    colour(released, 1, "```\n# a title | <script> @all")
    released.sandbox.clusters[0].delete("configmaps", "web-prod", "front")
    released.sandbox.clusters[0].patch(
        "secrets", "web-prod", "front", {"data": {"token": "bGl2ZS1jYW5hcnk="}}, "merge", manager="kubectl-edit"
    )
    found = await released("drift", "-o", "markdown")
    assert found.code == ExitCode.DIFFERENT and "Nobody changed" not in found.out
    assert "**Others changed 1 of 2 stacks.**" in found.out
    assert "| `web/prod` | 2 fields, 1 resource deleted | yes |" in found.out, found.out
    assert "`ConfigMap web-prod/front @hz`: **deleted**" in found.out
    assert re.search(
        r"````diff\n! data.COLOUR: \"red\" → .*# a title .*  by kubectl-edit on \d{4}-\d\d-\d\d \d\d:\d\d UTC"
        r"  ← web/base/base\.k:\d+\n````\n",
        found.out,
    ), found.out
    assert "masked#" in found.out and "live-canary" not in found.out and "bGl2ZS1j" not in found.out
    assert "`wb drift web/prod --revert` takes it back" in found.out


async def test_a_report_without_drift_is_no_good_news_where_something_is_not_known(released: Place) -> None:
    released.sandbox.disturbances[1].add(Disturbance("internal-error"))
    found = await released("drift", "-o", "markdown")
    assert found.code == ExitCode.DIFF_FAILED and "Nobody changed" not in found.out
    assert "**Of 1 stack it is not known**" in found.out and "| `web/prod` | none seen | **no** |" in found.out
    assert "- `web/prod`\n  - ? sh&#58; " in found.out.replace("&#63;", "?"), found.out
    broken = released.root / "web/dev/stack.yaml"
    broken.write_text("name: [\n")
    found = await released("drift", "*/prod", "--cluster", "hz", "-o", "markdown")
    assert found.code == ExitCode.DIFF_FAILED and "Nobody changed" not in found.out
    assert "**A file of the repository is broken, so stacks may be missing**" in found.out
    assert "- `web/dev/stack.yaml" in found.out
    broken.write_text("name: dev\n")
    released.edit("web/dev/main.k", "replicas = 1", "replicas = nothing")
    found = await released("drift", "*/dev", "-o", "markdown")
    assert found.code == ExitCode.DIFF_FAILED and "Nobody changed" not in found.out
    assert "nothing" in found.out and str(released.root) not in found.out


async def test_a_report_of_a_whole_repository_names_what_stacks_left_that_it_has_no_more(released: Place) -> None:
    (released.root / "web/dev/stack.yaml").unlink()
    found = await released("drift", "-o", "markdown")
    assert found.code == ExitCode.OK and "**1 stack that the repository has no more left something**" in found.out
    assert "### Gone from the repository\n\n- `web/dev` its release 1 left " in found.out, found.out
    assert "Gone from" not in (await released("drift", "*/prod", "-o", "markdown")).out, "nobody asked for all"
    released.sandbox.disturbances[1].add(Disturbance("internal-error"))
    unsure = await released("drift", "-o", "markdown")
    assert "### Gone from the repository\n\n- `web/dev` its release 1 left " in unsure.out, unsure.out


@pytest.mark.slow
async def test_looking_again_and_again_says_what_is_new_and_ends_by_a_signal(released: Place) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workbench", "drift", "--every", "1",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None

    async def until(words: str) -> str:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            async for each in process.stdout:
                if words in each.decode():
                    return each.decode()
        raise AssertionError(f"{words!r} was never printed")

    await until("2 stacks: 2 without drift")
    colour(released, 1, "grey")
    said = await until("drifted")
    assert re.match(r"\d\d:\d\d:\d\d  drifted  web/prod  ConfigMap web-prod/front @sh  data\.COLOUR: red → grey", said)
    colour(released, 1, "red")
    assert "data.COLOUR" in await until("gone")
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert process.returncode == ExitCode.INTERRUPTED and "Traceback" not in err.decode()
