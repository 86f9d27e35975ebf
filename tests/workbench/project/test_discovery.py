"""Finding projects, stacks and components, and where stacks go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from workbench.project import NotARepository, UnknownCluster, UnknownStack, affected, discover, discover_clusters

CLUSTERS = """
clusters:
  hangzhou: {context: hz, environment: prod}
  shanghai: {context: sh}
placements:
  - stacks: ["*/prod"]
    clusters: [hangzhou, shanghai]
    protected: true
  - stacks: ["*/dev"]
    clusters: [hangzhou]
    namespace: {by: stack, name: "{project}-{stack}"}
"""


def repository(root: Path, extra: Mapping[str, str] | None = None) -> Path:
    files = {
        "kcl.mod": "",
        "clusters.yaml": CLUSTERS,
        "pay/gateway/project.yaml": "name: gateway\nlabels: {owner: ann}\n",
        "pay/gateway/base/base.k": 'import models\n"""\nnot: A {\n"""\napi: models.Server {\n}\nn = 1\n',
        "pay/gateway/prod/stack.yaml": "name: prod\n",
        "pay/gateway/prod/main.k": "api: models.Server {\n}\nworker: Job {}\n",
        "pay/gateway/dev/stack.yaml": "name: dev\n",
        "shop/web/project.yaml": "name: web\n",
        "shop/web/dev/stack.yaml": "name: dev\n",
        "models/server.k": "schema Server:\n    name: str\n",
        **(extra or {}),
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_the_tree_has_domains_projects_stacks_and_components(tmp_path: Path) -> None:
    tree = discover(repository(tmp_path) / "pay" / "gateway" / "dev")
    assert tree.root == tmp_path
    assert [(each.domain, each.name) for each in tree.projects] == [("pay", "gateway"), ("shop", "web")]
    assert [str(each.path) for each in tree.stacks()] == ["gateway/dev", "gateway/prod", "web/dev"]
    prod = tree.select("gateway/prod")
    assert [(each.name, each.schema, each.file.name, each.line) for each in prod.components] == [
        ("api", "models.Server", "base.k", 5),
        ("worker", "Job", "main.k", 3),
    ]
    assert list(tree.all_findings()) == []


def test_a_stack_belongs_to_the_projects_it_lies_in_and_to_no_other(tmp_path: Path) -> None:
    marks = {
        "a/project.yaml": "name: a\n",
        "a/stack.yaml": "name: itself\n",
        "a/in/here/stack.yaml": "name: here\n",
        "a/nested/project.yaml": "name: nested\n",
        "a/nested/x/stack.yaml": "name: x\n",
        "a-b/deep/down/stack.yaml": "name: of-none\n",
        "a.b/c/project.yaml": "name: c\n",
        "a.b/c/node_modules/y/stack.yaml": "name: never\n",
        "/".join(["z"] * 12) + "/project.yaml": "name: deepest\n",
        "/".join(["z"] * 24) + "/stack.yaml": "name: deepest\n",
        "/".join(["z"] * 25) + "/stack.yaml": "name: too-deep\n",
        "/".join(["y"] * 13) + "/project.yaml": "name: too-deep\n",
    }
    tree = discover(repository(tmp_path, marks))
    found = {each.name: [stack.path.stack for stack in each.stacks] for each in tree.projects}
    assert found == {
        "a": ["itself", "here", "x"],
        "nested": ["x"],
        "c": [],
        "gateway": ["dev", "prod"],
        "web": ["dev"],
        "deepest": ["deepest"],
    }


def test_a_kcl_mod_with_entries_makes_a_stack_of_the_project_it_lies_in_else_of_the_folder_above(
    tmp_path: Path,
) -> None:
    run = '[profile]\nentries = ["main.k"]\n'
    marks = {
        "kcl.mod": run,
        "apps/kcl.mod": "",
        "apps/guestbook/kcl.mod": '[package]\nname = "entries"\n',
        "apps/guestbook/dev/kcl.mod": run,
        "apps/guestbook/prod/kcl.mod": '[profile]\nentries = ["${lib:KCL_MOD}/render.k"]\n',
        "apps/guestbook/broken/kcl.mod": "[profile]\nentries = [",
        "apps/library/kcl.mod": "[profile]\nentries = []\n",
        "other/guestbook/dev/kcl.mod": run,
        "shop/web/new/kcl.mod": run,
        "shop/web/dev/kcl.mod": run,
        "shop/web/kcl.mod": run,
    }
    tree = discover(repository(tmp_path, marks))
    found = {each.name: [str(stack.path.stack) for stack in each.stacks] for each in tree.projects}
    assert found == {
        "gateway": ["dev", "prod"],
        "web": ["dev", "new"],
        "apps/guestbook": ["broken", "dev", "prod"],
        "other/guestbook": ["dev"],
    }
    assert {each.message for each in tree.all_findings()} == {"no placement covers this stack"}


def test_placements_say_where_a_stack_goes(tmp_path: Path) -> None:
    tree = discover(repository(tmp_path))
    prod, dev = tree.select("gateway/prod"), tree.select("gateway/dev")
    assert prod.clusters == ("hangzhou", "shanghai")
    assert prod.placement is not None and prod.placement.protected
    assert dev.placement is not None and dev.placement.namespace is not None
    assert dev.placement.namespace.namespace(dev.path, "api") == "gateway-dev"
    assert tree.clusters.cluster("shanghai").context == "sh"
    with pytest.raises(UnknownCluster, match="no cluster 'mars'"):
        tree.clusters.cluster("mars")


def test_clusters_are_read_alone_as_with_all_of_the_repository(tmp_path: Path) -> None:
    root = repository(tmp_path)
    assert discover_clusters(root / "pay/gateway") == discover(root).clusters
    assert len(discover_clusters(root).clusters) == 2
    (root / "clusters.yaml").write_text("clusters: 7\n")
    assert discover_clusters(root) == discover(root).clusters


def test_a_stack_may_say_itself_where_it_goes(tmp_path: Path) -> None:
    text = "name: dev\nclusters: [shanghai]\nprotected: true\n"
    tree = discover(repository(tmp_path, {"shop/web/dev/stack.yaml": text}))
    placement = tree.select("web/dev").placement
    assert placement is not None and (placement.clusters, placement.protected) == (("shanghai",), True)


def test_without_clusters_yaml_everything_goes_to_the_current_context(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "clusters.yaml").unlink()
    tree = discover(tmp_path / "pay")
    assert not tree.clusters.is_declared
    assert tree.select("gateway/prod").clusters == ("current",)
    assert tree.clusters.cluster("current").context == ""


@pytest.mark.parametrize(
    ("file", "text", "message", "where"),
    [
        ("pay/gateway/prod/stack.yaml", "", "is empty, which may be what is left of it", "prod/stack.yaml"),
        ("pay/gateway/project.yaml", "# nothing\n", "is empty, which may be what is left of it", "project.yaml"),
        ("pay/gateway/prod/stack.yaml", "name: [", "is not valid YAML", "prod/stack.yaml:2:1"),
        ("pay/gateway/prod/stack.yaml", "- a\n", "needs a mapping", "prod/stack.yaml"),
        ("pay/gateway/prod/stack.yaml", "name: {a: 1}\n", "name needs to be text", "prod/stack.yaml"),
        ("pay/gateway/prod/stack.yaml", "name: prod\nclusters: [mars]\n", "no cluster 'mars'", "prod/stack.yaml"),
        ("pay/gateway/project.yaml", "name: gateway\nlabels: 3\n", "labels needs to be a mapping", "project.yaml"),
        ("clusters.yaml", "clusters: {a: {context: x}}\nplacement: []\n", "unknown key 'placement'", "clusters.yaml"),
        ("clusters.yaml", "clusters: {a: {}}\nplacements: [{stacks: ['*'], clusters: [b]}]\n", "no cluster 'b'", ""),
    ],
)
def test_one_broken_file_is_one_finding_and_the_rest_stays(
    tmp_path: Path, file: str, text: str, message: str, where: str
) -> None:
    tree = discover(repository(tmp_path, {file: text}))
    (finding,) = tree.all_findings()
    assert message in finding.message
    assert where in finding.where
    assert [each.path.stack for each in tree.stacks()] == ["dev", "prod", "dev"]


def test_files_that_are_not_text_are_findings_too(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "shop/web/project.yaml").write_bytes(b"\xff\xfe")
    (finding,) = discover(tmp_path).all_findings()
    assert "is not UTF-8" in finding.message


def test_stacks_of_projects_with_one_name_are_told_apart_by_their_folder(tmp_path: Path) -> None:
    tree = discover(repository(tmp_path, {"shop/web/project.yaml": "name: gateway\n"}))
    assert [str(each.path) for each in tree.stacks()] == ["pay/gateway/dev", "pay/gateway/prod", "shop/web/dev"]
    assert len(list(tree.all_findings())) == 2


def test_a_stack_is_found_by_name_by_folder_and_from_inside_it(tmp_path: Path) -> None:
    tree = discover(repository(tmp_path))
    prod = tree.select("gateway/prod")
    for text, current in [
        ("gateway/prod/", None),
        ("pay/gateway/prod", None),
        (str(tmp_path / "pay/gateway/prod/main.k"), None),
        (".", tmp_path / "pay/gateway/prod"),
        ("prod", tmp_path / "pay/gateway"),
    ]:
        assert tree.select(text, current=current) == prod


def test_an_unknown_stack_names_the_nearest(tmp_path: Path) -> None:
    tree = discover(repository(tmp_path))
    with pytest.raises(UnknownStack) as unknown:
        tree.select("gatway/prod")
    assert "gateway/prod" in unknown.value.hint
    with pytest.raises(UnknownStack) as nothing:
        tree.select("x")
    assert "wb ls" in nothing.value.hint


def test_outside_of_a_repository_it_says_so(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(NotARepository, match="no Konfig repository"):
        discover(tmp_path)
    with pytest.raises(NotARepository, match="no such folder"):
        discover(tmp_path / "nowhere")


def test_links_that_lead_round_in_a_circle_are_not_followed(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "pay/gateway/loop").symlink_to(tmp_path)
    assert len(list(discover(tmp_path).stacks())) == 3


@pytest.mark.parametrize(
    ("file", "stacks"),
    [
        ("pay/gateway/prod/main.k", ["gateway/prod"]),
        ("pay/gateway/base/base.k", ["gateway/dev", "gateway/prod"]),
        ("pay/gateway/project.yaml", ["gateway/dev", "gateway/prod"]),
        ("models/server.k", ["gateway/dev", "gateway/prod", "web/dev"]),
        ("README.md", []),
    ],
)
def test_what_a_change_touches_by_its_place(tmp_path: Path, file: str, stacks: list[str]) -> None:
    impact = affected(discover(repository(tmp_path)), [Path(file)])
    assert [str(each) for each in impact.stacks] == stacks
    assert impact.certain == ()


def test_what_a_change_touches_is_exact_once_compiled(tmp_path: Path) -> None:
    tree = discover(repository(tmp_path))
    server = (tmp_path / "models/server.k").resolve()
    read = {tree.select("gateway/prod").path: frozenset({server}), tree.select("gateway/dev").path: frozenset[Path]()}
    impact = affected(tree, [Path("models/server.k")], read)
    assert [str(each) for each in impact.certain] == ["gateway/prod"]
    assert [str(each) for each in impact.possible] == ["web/dev"]
