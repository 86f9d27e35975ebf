"""A file of the repository is one file by all its names: an edit of it reaches who reads it through a link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workbench.session.shop import Clusters, session, shop
from workbench.session import Session


def _folder(root: Path) -> None:
    (root / "models").rename(root / "real")
    (root / "models").symlink_to("real")


def _file(root: Path) -> None:
    (root / "real").mkdir()
    (root / "models/server.k").rename(root / "real/server.k")
    (root / "models/server.k").symlink_to("../real/server.k")


DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: lamps, singular: lamp, kind: Lamp}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""
LINKED = pytest.mark.parametrize("link", [_folder, _file])
NAMED = pytest.mark.parametrize("name", ["real/server.k", "models/server.k"])


async def _opened(tmp_path: Path, link: Callable[[Path], None]) -> tuple[Path, Session]:
    root = shop(tmp_path / "repo")
    link(root)
    return root, session(root, Clusters())


@NAMED
@LINKED
async def test_an_edit_reaches_who_reads_the_file_by_another_name(
    tmp_path: Path, link: Callable[[Path], None], name: str
) -> None:
    root, opened = await _opened(tmp_path, link)
    text = (root / name).read_text().replace("replicas = s.replicas", "replicas = s.replicas + 1")
    async with opened:
        edits = opened.whatif(opened.select("web/dev")).edit(name, text)
        report = await opened.effect(edits)
        assert {each.stack: each.state.value for each in report.stacks} == {"web/dev": "changed", "web/prod": "changed"}
        assert all(each.reads == edits.files for each in report.stacks)
        again = opened.affected([name])
        assert sorted(map(str, again.certain)) == ["web/dev", "web/prod"] and not again.possible


async def test_a_new_file_of_a_linked_folder_is_found(tmp_path: Path) -> None:
    root, opened = await _opened(tmp_path, _folder)
    main = root / "web/dev/main.k"
    async with opened:
        edits = opened.whatif(opened.select("web/dev")).edit("real/sizes.k", "big = 7\n")
        edits = edits.edit(
            main, f"import models.sizes\n{main.read_text()}".replace("replicas = 1", "replicas = sizes.big")
        )
        report = await opened.effect(edits)
    assert {each.stack: each.state.value for each in report.stacks} == {"web/dev": "changed", "web/prod": "same"}


async def test_an_edit_of_definitions_beside_the_stacks_is_seen(tmp_path: Path) -> None:
    root = shop(tmp_path / "repo", {"web/crd/a.yaml": DEFINITION})
    async with session(root, Clusters()) as opened:
        edits = opened.whatif(opened.select("web/dev")).edit(
            "web/crd/a.yaml", DEFINITION.replace("Namespaced", "Cluster")
        )
        edits = edits.edit("web/crd/b.yaml", DEFINITION.replace("lamp", "door").replace("Lamp", "Door"))
        report = await opened.effect(edits)
    assert {each.stack: len(each.changes) for each in report.stacks} == {"web/dev": 2, "web/prod": 2}
