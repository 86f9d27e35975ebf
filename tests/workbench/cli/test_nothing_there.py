"""A stack that compiles to nothing: nothing differs from it, drifted or failed, and that is not told as good news."""

from __future__ import annotations

import pytest

from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode

_NOTHING = "import manifests\n\nmanifests.yaml_stream([])\n"
_WARNING = "web/empty compiles to no resources"


@pytest.fixture
def empty(place: Place) -> Place:
    folder = place.root / "web" / "empty"
    folder.mkdir()
    (folder / "stack.yaml").write_text("name: empty\n")
    (folder / "main.k").write_text(_NOTHING)
    text = (place.root / "clusters.yaml").read_text()
    (place.root / "clusters.yaml").write_text(f'{text}  - {{stacks: ["*/empty"], clusters: [hz]}}\n')
    return place


@pytest.mark.parametrize("reachable", [True, False])
async def test_it_is_not_ready(empty: Place, reachable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not reachable:
        monkeypatch.setenv("KUBECONFIG", str(empty.root / "none"))
    ended = await empty("watch", "web/empty", "--timeout", "20")
    assert ended.code == ExitCode.NOT_READY and "✓" not in ended.text, ended.text
    assert "nothing to watch: this stack has no resources" in ended.out
    document = (await empty("watch", "web/empty", "--timeout", "20", "-o", "json")).json()
    assert (document["status"], document["total"]) == ("empty", 0)


async def test_it_is_not_well(empty: Place) -> None:
    found = await empty("fleet", "web/empty")
    assert "Empty" in found.out and found.code == ExitCode.DIFFERENT, found.text
    assert "web/empty: ! compiles to no resources: is a file or an entry of it missing?" in found.out


async def test_comparing_and_planning_warn(empty: Place) -> None:
    for command in (["diff"], ["diff", "--drift"], ["plan"], ["apply", "--yes", "--no-watch"], ["drift"]):
        ended = await empty(command[0], "web/empty", *command[1:])
        assert _WARNING in ended.text, ended.text
    destroyed = await empty("destroy", "web/empty", "--confirm", "web/empty")
    assert _WARNING not in destroyed.text, "a stack to be destroyed may have nothing"


async def test_an_apply_that_deletes_the_last_resource_did_what_it_was_asked_for(empty: Place) -> None:
    main = empty.root / "web" / "empty" / "main.k"
    one = '{apiVersion = "v1", kind = "ConfigMap", metadata = {name = "a", namespace = "default"}}'
    main.write_text(f"import manifests\n\nmanifests.yaml_stream([{one}])\n")
    first = await empty("apply", "web/empty", "--yes")
    assert first.code == ExitCode.OK and "1/1 ready" in first.out
    main.write_text(_NOTHING)
    last = await empty("apply", "web/empty", "--confirm", "web/empty")
    assert last.code == ExitCode.OK and _WARNING in last.text, last.text
    assert "a" not in empty.names("configmaps") and "0/0 ready" not in last.out


@pytest.mark.parametrize(
    ("repository", "said"),
    [("", "of this machine alone"), ("git.example.org/shop", "queried: hz, sh and this machine")],
)
async def test_no_rollouts_are_none_of_those_that_are_seen_from_here(
    place: Place, monkeypatch: pytest.MonkeyPatch, repository: str, said: str
) -> None:
    monkeypatch.setenv("WB_REPOSITORY", repository)
    listed = await place("rollout", "list")
    assert listed.code == 0 and "there is no rollout of this repository that is seen from here" in listed.err
    assert said in listed.err, listed.err
    status = await place("rollout", "status")
    assert status.code == 1 and said in status.err
    assert (await place("rollout", "list", "-o", "json")).json()["asked"][-1] == "this machine"
