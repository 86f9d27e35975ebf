"""`wb ls`: what there is, in four shapes, and what is broken."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.workbench.cli.command import Wb
from workbench.exit_codes import ExitCode

KUBECONFIG = """\
clusters: [{name: a, cluster: {server: "https://10.0.0.1:6443"}}]
users: [{name: ann, user: {token: canary-of-a-token}}]
contexts: [{name: one, context: {cluster: a, user: ann}}]
"""


def test_table_has_every_stack_with_where_it_goes_and_what_it_holds(
    wb: Wb, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    ended = wb("ls")
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split() for line in ended.out.splitlines()]
    assert lines[:6] == [
        ["STACK", "ENVIRONMENT", "CLUSTERS", "COMPONENTS"],
        ["web/dev", "hz", "front"],
        ["web/prod", "hz,", "sh", "front"],
        [],
        ["CLUSTER", "CONTEXT", "SERVER", "USER"],
        ["hz", "one", "https://10.0.0.1:6443", "ann"],
    ]
    assert lines[6][:2] == ["sh", "?"] and "there is no context 'two'" in ended.out


def test_documents_say_where_each_cluster_is(
    wb: Wb, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    hz, sh = wb("ls", "-o", "json").json()["clusters"]
    assert hz == {"name": "hz", "context": "one", "server": "https://10.0.0.1:6443", "user": "ann", "problem": ""}
    assert (sh["name"], sh["server"]) == ("sh", "") and "no context 'two'" in sh["problem"]


def test_json_and_yaml_say_the_same(wb: Wb, root: Path) -> None:
    document = wb("ls", "-o", "json").json()
    assert document == yaml.safe_load(wb("ls", "-o", "yaml").out)
    assert (document["apiVersion"], document["kind"], document["status"]) == ("wb/v1", "Tree", "ok")
    assert [(each["stack"], each["protected"], each["clusters"]) for each in document["stacks"]] == [
        ("web/dev", False, ["hz"]),
        ("web/prod", True, ["hz", "sh"]),
    ]
    assert document["stacks"][0]["components"] == [{"name": "front", "schema": "server.Server"}]


def test_names_are_one_a_line_for_other_programs(wb: Wb, root: Path) -> None:
    assert wb("ls", "-o", "name").out == "web/dev\nweb/prod\n"


def test_globs_choose(wb: Wb, root: Path) -> None:
    assert wb("ls", "*/prod", "-o", "name").out == "web/prod\n"
    assert wb("ls", "*/prod", "web/*", "-o", "name").out == "web/dev\nweb/prod\n"
    ended = wb("ls", "nothing/*", "-o", "name")
    assert (ended.code, ended.out, ended.err) == (ExitCode.ERROR, "", "no stack matches 'nothing/*'\n")


def test_the_folder_may_be_given_before_and_after_the_command(wb: Wb, root: Path, tmp_path: Path) -> None:
    expected = wb("ls").out
    below = root / "web" / "dev"
    assert wb("ls", "-w", below).out == wb("-w", below, "ls").out == expected


@pytest.mark.parametrize("name", ["policy", "readiness", "masking", "rollout", "images", "plugins", "clusters"])
@pytest.mark.parametrize("how", ["broken", "empty", "a link that leads nowhere"])
def test_what_governs_what_may_be_done_is_named_where_it_cannot_be_read(
    wb: Wb, root: Path, name: str, how: str
) -> None:
    path = root / f"{name}.yaml"
    path.unlink(missing_ok=True)
    if how == "a link that leads nowhere":
        path.symlink_to("nowhere.yaml")
    else:
        path.write_text("a: [\n" if how == "broken" else "# all gone\n")
    ended = wb("ls")
    if (how, name) == ("empty", "plugins"):  # no plugin is allowed then, which is safe
        assert (ended.code, ended.err) == (ExitCode.OK, "")
        return
    assert ended.code == ExitCode.ERROR and str(path) in ended.err, ended.text
    assert "web/prod" in ended.out, "the stacks are there all the same"


def test_a_broken_project_is_named_and_the_rest_is_listed(wb: Wb, root: Path) -> None:
    broken = root / "cart" / "project.yaml"
    broken.parent.mkdir()
    broken.write_text("name: [cart\n")
    ended = wb("ls")
    assert ended.code == ExitCode.ERROR
    assert "web/prod" in ended.out
    assert f"{broken}:2:1" in ended.err and "not valid YAML" in ended.err and "correct the file" in ended.err
    findings = wb("ls", "-o", "json").json()["findings"]
    assert [each["where"] for each in findings] == [f"{broken}:2:1"]


def test_a_folder_that_is_no_repository(wb: Wb, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        ended = wb("ls", "-w", folder)
        assert ended.code == ExitCode.USAGE
        assert str(folder) in ended.err
