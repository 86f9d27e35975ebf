"""A file of the repository that is a link out of it is not read, and is a finding that names the link."""

from __future__ import annotations

import os

import pytest

from tests.attacks.conftest import CANARY, Hostile
from tests.workbench.cli.command import Wb
from workbench.project import discover

_LINKS = [
    "web/project.yaml",
    "web/dev/stack.yaml",
    "clusters.yaml",
    "dimensions.yaml",
]
_OF_STACK = ["web/dev/main.k", "web/dev/more.k", "web/dev/kcl.yaml", "web/base/base.k", "web/crd/widgets.yaml"]


@pytest.mark.parametrize("way", ["absolute", "relative", "chain"])
@pytest.mark.parametrize("name", [*_LINKS, *_OF_STACK])
def test_a_link_out_of_the_repository_is_a_finding(hostile: Hostile, wb: Wb, name: str, way: str) -> None:
    folder = (hostile.root / name).parent
    target = str(hostile.outside / "notes.txt") if way != "relative" else hostile.to_outside(folder)
    if way == "chain":
        target = str(hostile.link("docs/notes.txt", target))
    hostile.link(name, target)
    ended = wb("ls") if name in _LINKS else wb("compile", "web/dev")
    assert str(hostile.root / name) in ended.text or name in ended.text, ended.text
    assert "is a link out of the repository" in ended.text and CANARY not in ended.text
    if name in _OF_STACK:
        assert ended.code == 1 and "put a copy in its place" in ended.text
    hostile.assert_untouched()


@pytest.mark.parametrize("name", [*_LINKS, *_OF_STACK])
def test_a_link_to_what_git_keeps_is_a_finding(hostile: Hostile, wb: Wb, name: str) -> None:
    """There are credentials in it, above all on machines that build."""
    hostile.write(".git/config", f"{CANARY}: {{ [\n")
    hostile.link(name, os.path.relpath(hostile.root / ".git/config", (hostile.root / name).parent))
    ended = wb("ls") if name in _LINKS else wb("compile", "web/dev")
    assert "belongs to git: not read" in ended.text and CANARY not in ended.text, ended.text


@pytest.mark.parametrize("target", ["{outside}/notes.txt", ".git/config"])
def test_the_code_of_a_plugin_is_a_file_of_the_repository(hostile: Hostile, wb: Wb, target: str) -> None:
    hostile.write("plugins.yaml", "plugins: {told: {}}\n")
    hostile.link("plugins/told.py", hostile.root / target.format(outside=hostile.outside))
    hostile.write("web/dev/main.k", "import kcl_plugin.told\nx = told.x()\nresources = []\n")
    for arguments in (["compile", "web/dev"], ["plugins", "trust", "told"]):
        ended = wb(*arguments)
        assert ended.code == 1 and ": not read" in ended.text and CANARY not in ended.text, ended.text


@pytest.mark.parametrize("target", ["{outside}/notes.txt", ".git/config"])
@pytest.mark.parametrize("name", [".terraform.lock.hcl", "web/dev/.terraform.lock.hcl"])
def test_a_lock_file_of_providers_is_a_file_of_the_repository(hostile: Hostile, wb: Wb, name: str, target: str) -> None:
    hostile.write(".git/config", f"{CANARY}: {{ [\n")
    hostile.write(
        "web/dev/main.k",
        'import manifests\nmanifests.yaml_stream([{id = "builtin:terraform:terraform_data:x", type = "Terraform", '
        'attributes = {input = "x"}}])\n',
    )
    hostile.link(name, hostile.root / target.format(outside=hostile.outside))
    ended = wb("trust", "list")
    assert ended.code == 1 and ": not read" in ended.text and CANARY not in ended.text, ended.text


@pytest.mark.parametrize(("link", "file"), [("web/crd", "widgets.yaml"), ("web/base", "base.k")])
def test_a_folder_that_is_a_link_out_of_the_repository_is_a_finding(
    hostile: Hostile, wb: Wb, link: str, file: str
) -> None:
    (hostile.outside / file).write_text(f"{CANARY} = {{ [\n")
    hostile.link(link, hostile.outside)
    ended = wb("compile", "web/dev")
    assert ended.code == 1, ended.text
    assert "is a link out of the repository" in ended.text and CANARY not in ended.text


@pytest.mark.parametrize("name", ["web/dev/main.k", "web/project.yaml", "web/dev/stack.yaml", "web/dev/more.k"])
def test_a_link_within_the_repository_is_as_good_as_a_file(hostile: Hostile, wb: Wb, name: str) -> None:
    file = hostile.root / name
    text = file.read_text() if file.exists() else "more = 1\n"
    hostile.link(name, hostile.write(f"shared/{file.name}.txt", text))
    before = wb("compile", "web/dev")
    assert before.code == 0, before.text
    assert "is a link" not in wb("ls").text


@pytest.mark.parametrize("name", ["web/dev/main.k", "web/dev/more.k", "web/base"])
def test_discovery_looks_for_no_components_behind_a_link(hostile: Hostile, name: str) -> None:
    (hostile.outside / "foreign.k").write_text("canary: ac.AppConfiguration {\n}\n")
    hostile.link(name, hostile.outside if name == "web/base" else hostile.outside / "foreign.k")
    (stack,) = discover(hostile.root).stacks()
    assert stack.components == ()
