"""`wb` where a name leads to another cluster than before: two sandbox clusters, and a kubeconfig that changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode


def lead(kubeconfig: Path, **contexts: str) -> None:
    """Has contexts lead to other clusters of the kubeconfig; `current` is the current one."""
    content = json.loads(kubeconfig.read_text())
    for each in content["contexts"]:
        each["context"]["cluster"] = contexts.get(each["name"], each["context"]["cluster"])
    content["current-context"] = contexts.get("current", content["current-context"])
    kubeconfig.write_text(json.dumps(content))


async def test_a_saved_plan_is_for_the_cluster_it_was_made_on(place: Place, tmp_path: Path) -> None:
    assert (await place("plan", "web/dev", "--out", "p.plan")).code == 0
    lead(tmp_path / "kubeconfig", one="two")
    ended = await place("apply", "p.plan", "--yes")
    assert ended.code == ExitCode.STALE
    assert "hz is another cluster: context one" in ended.err and "wb plan web/dev" in ended.err
    assert "web-dev" not in place.names("namespaces", 1)


async def test_what_was_made_elsewhere_is_said_until_it_is_forgotten(place: Place, tmp_path: Path) -> None:
    await place.released()
    lead(tmp_path / "kubeconfig", one="two")
    shown = await place("plan", "web/dev", "-o", "json")
    (gap,) = shown.json()["gaps"]
    assert gap["exists"] and gap["place"].startswith("hz@")
    assert (await place("apply", "web/dev", "--yes", "--no-watch")).code == ExitCode.REFUSED, "it takes the phrase"
    ended = await place("apply", "web/dev", "--confirm", "web/dev", "--no-watch")
    assert ended.code == ExitCode.PARTIAL, "what is on the other cluster is not spoken for"
    assert "web-dev" in place.names("namespaces", 1)

    assert (await place("release", "forget", "web/dev", "--cluster", "elsewhere")).code == ExitCode.ERROR
    assert (await place("release", "forget", "web/dev", "--cluster", gap["place"])).code == 0
    assert (await place("plan", "web/dev", "--detailed-exitcode")).code == 0
    assert "web-dev" in place.names("namespaces", 0), "nothing was deleted anywhere"


async def test_who_goes_from_context_to_context_without_clusters_yaml_is_warned(place: Place, tmp_path: Path) -> None:
    (place.root / "clusters.yaml").unlink()
    lead(tmp_path / "kubeconfig", current="one")
    await place("apply", "web/dev", "--confirm", "yes", "--no-watch")
    lead(tmp_path / "kubeconfig", current="two")
    shown = await place("plan", "web/dev")
    assert "also has resources in current@" in shown.out and "current is another cluster than at release" in shown.out
    ended = await place("apply", "web/dev", "--confirm", "web/dev", "--no-watch")
    assert ended.code == 0, ended.text
    lead(tmp_path / "kubeconfig", current="one")
    again = await place("plan", "web/dev", "--detailed-exitcode")
    assert again.code == 0 and "nothing to change" in again.out, again.text


@pytest.mark.parametrize("verb", ["diff", "plan"])
async def test_documents_say_which_cluster_it_is(place: Place, verb: str) -> None:
    identity = (await place(verb, "web/dev", "-o", "json")).json()["identities"]["hz"]
    uid = place.live("namespaces", "", "kube-system")["metadata"]["uid"]
    assert (identity["uid"], identity["context"], identity["user"]) == (uid, "one", "sandbox-admin")
    assert identity["server"] == place.sandbox.urls[0] and identity["authority"]
