"""dimensions.yaml, the coordinates of stacks, and whether stacks list the baselines that these ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kcl.api import run
from tests.dimensioned import Size, settings, write, write_company
from tests.properties.official import official
from tests.workbench.cli.command import Wb
from workbench.project import BrokenFile, KonfigTree, OutsideRepository, discover
from workbench.project.dimensions import read_dimensions

STACK = "apps/app000/hangzhou-birch-prod"
OTHER = "shanghai-acorn-pre"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "company"
    write_company(root, Size(applications=1))
    return root


def _said(tree: KonfigTree, root: Path) -> list[str]:
    """Findings as `file:line message`, file without the root."""
    found = [f"{each.where} {each.message}" for each in tree.all_findings()]
    return [each.replace(f"{root}/", "") for each in found]


def test_stacks_have_coordinates_and_a_company_as_written_no_findings(root: Path) -> None:
    tree = discover(root)
    assert _said(tree, root) == []
    stack = tree.select("app000/hangzhou-birch-prod")
    assert stack.coordinates == {"site": "hangzhou", "tenant": "birch", "env": "prod"}
    assert tree.declared is not None
    baselines = [
        (str(each), each.file.relative_to(root).as_posix()) for each in tree.declared.baselines(stack.coordinates)
    ]
    assert baselines == [
        ("global", "dimensions/global.k"),
        ("site hangzhou", "dimensions/site/hangzhou.k"),
        ("tenant birch", "dimensions/tenant/birch.k"),
        ("env prod", "dimensions/env/prod.k"),
    ]


def test_labels_of_stack_and_project_are_coordinates_too(root: Path) -> None:
    write(root, "apps/app000/project.yaml", "name: app000\nlabels: {site: shanghai}\n")
    write(root, f"{STACK}/stack.yaml", "labels: {tenant: birch, site: hangzhou}\ndimensions: {env: prod}\n")
    tree = discover(root)
    assert _said(tree, root) == []
    assert tree.select("app000/hangzhou-birch-prod").coordinates["site"] == "hangzhou"


def test_a_repository_without_the_file_has_none(tmp_path: Path) -> None:
    write(tmp_path, "kcl.mod", "[package]\n")
    assert not read_dimensions(tmp_path)
    assert discover(tmp_path).declared is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("dimensions: {sit: hangzhou}", "stack.yaml:1:14 there is no dimension 'sit', did you mean site?"),
        ("dimensions: {global: x}", "stack.yaml:1:14 there is no dimension 'global'"),
        (
            "dimensions: {site: hangzhou, tenant: birch, env: prd}",
            "stack.yaml:1:45 env has no value 'prd', did you mean prod?",
        ),
        ("dimensions: {site: hangzhou, tenant: birch, env: 3}", "stack.yaml:1:45 env has no value 3"),
        ("labels: {site: hangzou}", "stack.yaml:1:10 site has no value 'hangzou', did you mean hangzhou?"),
        ("dimensions: {site: hangzhou}", "stack.yaml:1:1 says site, and not which tenant, env"),
        ("dimensions: [site]", "stack.yaml:1:1 dimensions needs to be a mapping"),
    ],
)
def test_a_coordinate_that_is_not_declared_is_a_finding(root: Path, said: str, expected: str) -> None:
    write(root, f"{STACK}/stack.yaml", f"{said}\n")
    tree = discover(root)
    assert tree.select(STACK).coordinates == {}
    found = _said(tree, root)
    assert len(found) == 1 and found[0].startswith(f"{STACK}/{expected}"), found


def _swapped(text: str, one: str, other: str) -> str:
    return text.replace(one, "@").replace(other, one).replace("@", other)


GOOD = settings("hangzhou", "birch", "prod")
LISTS = {
    "another value": (
        settings("shanghai", "birch", "prod"),
        [
            "kcl.yaml:4 lists the baseline of site shanghai, and the stack is of site hangzhou",
            "kcl.yaml does not list dimensions/site/hangzhou.k, the baseline of site hangzhou",
        ],
    ),
    "one is missing": (
        "\n".join(each for each in GOOD.split("\n") if "tenant" not in each),
        ["kcl.yaml does not list dimensions/tenant/birch.k, the baseline of tenant birch"],
    ),
    "another order": (
        _swapped(GOOD, "tenant/birch", "site/hangzhou"),
        [
            f"kcl.yaml:4 lists the baseline of tenant birch before that of site hangzhou ({STACK}/kcl.yaml:5), "
            "and dimensions.yaml gives tenant the higher priority"
        ],
    ),
    "the project before a baseline": (
        _swapped(GOOD, "${KCL_MOD}/dimensions/env/prod.k", "../base/base.k"),
        ["kcl.yaml:6 lists ../base/base.k before the baseline of env prod, which would win over it"],
    ),
    "nothing": ("kcl_options: []\n", ["lists no files, so the baseline of global is not compiled"]),
}


@pytest.mark.parametrize("case", LISTS)
def test_a_list_that_is_not_as_declared_is_a_finding(root: Path, case: str) -> None:
    text, expected = LISTS[case]
    write(root, f"{STACK}/kcl.yaml", text)
    prefix = STACK if case == "nothing" else f"{STACK}/"
    joint = " " if case == "nothing" else ""
    assert _said(discover(root), root) == [f"{prefix}{joint}{each}" for each in expected]


def test_a_stack_without_coordinates_lists_no_baseline(root: Path) -> None:
    write(root, f"{STACK}/stack.yaml", "name: alone\n")
    found = _said(discover(root), root)
    assert len(found) == 4
    assert f"{STACK}/kcl.yaml:4 lists the baseline of site hangzhou, and the stack says no coordinates" in found
    write(root, f"{STACK}/kcl.yaml", "kcl_cli_configs: {file: [../base/base.k, main.k]}\n")
    assert _said(discover(root), root) == []


def test_entries_of_a_kcl_mod_are_held_to_the_order_as_well(root: Path) -> None:
    names = [line.strip("- ") for line in GOOD.split("\n")[2:-1]]
    names[0], names[1] = names[1], names[0]
    (root / STACK / "kcl.yaml").unlink()
    entries = ", ".join(f'"{each.replace("${KCL_MOD}", "${company:KCL_MOD}")}"' for each in names)
    write(root, f"{STACK}/kcl.mod", f'[package]\nname = "x"\n[profile]\nentries = [{entries}]\n')
    found = _said(discover(root), root)
    assert len(found) == 1 and "lists the baseline of site hangzhou before that of global" in found[0]


WRONG = {
    "dimensions: 3": "dimensions needs to be a list",
    "dimension: []": "unknown key 'dimension'",
    "dimensions: [3]": "dimension 1: needs to be a mapping with a name",
    "dimensions: [{name: a}]": "dimension 1 (a): needs either files, values or folder",
    "dimensions: [{name: a, file: x}]": "dimension 1: unknown key 'file'",
    "dimensions: [{name: 'a=b', values: {x: []}}]": "got 'a=b'",
    "dimensions: [{name: a, values: {true: []}}]": "a value needs to be text without spaces, slashes, commas and =",
    "dimensions: [{name: a, values: {x: []}}, {name: a, values: {x: []}}]": "two dimensions are called a",
    "dimensions: [{name: a, values: {x: 3}}]": "x needs to be a list of files",
    "dimensions: [{name: a, values: {x: [none.k]}}]": "none.k is no KCL file of the repository",
    "dimensions: [{name: a, values: {x: [kcl.mod]}}]": "kcl.mod is no KCL file of the repository",
    "dimensions: [{name: a, values: {x: [../x.k]}}]": "'../x.k' does not lie below the root",
    "dimensions: [{name: a, values: {x: [/etc/x.k]}}]": "'/etc/x.k' does not lie below the root",
    "dimensions: [{name: a, folder: none}]": "folder none cannot be read",
    "dimensions: [{name: a, folder: empty}]": "folder empty needs 1 to 10000 files",
    "dimensions: [{name: a, files: [dimensions/global.k], optional: 1}]": "optional needs to be true or false",
    "dimensions: [{name: a, files: [dimensions/global.k]}, {name: b, values: {c: dimensions/global.k}}]": (
        "dimensions/global.k is the baseline of both a and b c"
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_not_understood_is_an_error_with_its_place(root: Path, text: str) -> None:
    (root / "empty").mkdir()
    write(root, "dimensions.yaml", f"{text}\n")
    with pytest.raises(BrokenFile) as raised:
        read_dimensions(root)
    assert WRONG[text] in f"{raised.value.where}: {raised.value.message}"
    assert raised.value.where.startswith(str(root / "dimensions.yaml"))
    tree = discover(root)
    assert tree.declared is None and len(_said(tree, root)) == 1


def test_too_many_dimensions_and_values_are_refused(root: Path) -> None:
    for text in (
        "dimensions: [" + ", ".join(f"{{name: d{n}, values: {{x: []}}}}" for n in range(33)) + "]",
        "dimensions: [{name: a, values: {" + ", ".join(f"v{n}: []" for n in range(10_001)) + "}}]",
    ):
        write(root, "dimensions.yaml", text)
        with pytest.raises(BrokenFile, match="more than"):
            read_dimensions(root)


def test_links_out_of_the_repository_pipes_and_loops_are_refused(root: Path, tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.k", "a = 1\n")
    site = root / "dimensions/site/hangzhou.k"
    site.unlink()
    site.symlink_to(tmp_path / "outside/secret.k")
    with pytest.raises(OutsideRepository, match=r"site/hangzhou\.k is a link out of the repository"):
        read_dimensions(root)
    site.unlink()
    os.mkfifo(site)
    with pytest.raises(BrokenFile, match="is no KCL file"):
        read_dimensions(root)
    site.unlink()
    site.symlink_to(site)
    with pytest.raises(BrokenFile):
        read_dimensions(root)
    site.unlink()
    folder = root / "dimensions/tenant"
    folder.rename(tmp_path / "outside/tenant")
    folder.symlink_to(tmp_path / "outside/tenant")
    write(root, "dimensions/site/hangzhou.k", "")
    with pytest.raises(OutsideRepository, match="dimensions/tenant is a link out of the repository"):
        read_dimensions(root)


def test_the_official_compiler_reads_the_same(root: Path) -> None:
    files = [each.strip(" -").replace("${KCL_MOD}", str(root)) for each in GOOD.split("\n")[2:-1]]
    with official() as compiler:
        theirs = compiler.run_files(
            str(root / STACK), {"files": [str(root / STACK / each) for each in files], "options": []}
        )
    assert theirs.yaml is not None, theirs.complaint
    assert run(work_dir=root / STACK).yaml() == theirs.yaml + "\n"
    assert "replicas: 5" in theirs.yaml


def test_explain_names_the_dimension(root: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wb = Wb(capsys)
    ended = wb("-w", root, "explain", "app000/hangzhou-birch-prod", "Deployment/app000", "spec.replicas")
    assert ended.code == 0
    assert "set by  dimensions/tenant/birch.k:5  (override)  tenant birch" in ended.out
    ended = wb("-w", root, "explain", "app000/hangzhou-birch-prod", "Deployment/app000", "metadata.name")
    assert "apps/app000/base/base.k:4" in ended.out and "tenant" not in ended.out


def test_the_folder_of_a_stack_says_where_it_lies(tmp_path: Path) -> None:
    write_company(tmp_path, Size(1, 1, 2, 2))
    file = tmp_path / "dimensions.yaml"
    file.write_text(file.read_text() + 'folders: ["other/{env}", "apps/*/{site}-{tenant}-{env}"]\n')
    for stack in tmp_path.glob("apps/*/*/stack.yaml"):
        stack.write_text(stack.read_text().partition("dimensions:")[0])
    tree = discover(tmp_path)
    assert [*tree.all_findings()] == []
    points = {each.name: dict(each.coordinates) for each in tree.stacks()}
    assert points["app000/hangzhou-birch-prod"] == {"site": "hangzhou", "tenant": "birch", "env": "prod"}
    folder = tmp_path / "apps/app000/hangzhou-birch-prod"
    (folder / "stack.yaml").write_text("name: x\ndimensions: {tenant: acorn}\n")
    found = discover(tmp_path).select("app000/x")
    assert found.coordinates["tenant"] == "acorn", "what is said comes first"
    where = "apps/app000/hangzhou-birch-prod"
    said = f"is at tenant acorn by stack.yaml, and at tenant birch by its folder ({where})"
    assert (found.findings[0].message, found.findings[0].is_error) == (said, True)
    assert found.findings[0].where == f"{folder}/stack.yaml:2:14"
    folder.rename(folder.parent / "hangzhou-brich-prod")
    (folder.parent / "hangzhou-brich-prod/stack.yaml").write_text("name: x\n")
    finding = discover(tmp_path).select("app000/x").findings[0]
    assert finding.message == "tenant has no value 'brich', did you mean birch?"
    assert finding.where.endswith("apps/app000/hangzhou-brich-prod")


CLUSTERS = """clusters:
  hz-1: {labels: {site: hangzhou, zone: a}}
  hz-2: {labels: {site: hangzhou, zone: b}}
  sh-1: {labels: {site: shanghai}}
  lost: {labels: {site: hangzou}}
  bare: {}
placements:
  - {stacks: ["*"], clusters: [hz-1, hz-2]}
"""


def test_the_clusters_of_a_stack_say_where_it_lies_and_contradict_what_says_otherwise(root: Path) -> None:
    write(root, "clusters.yaml", CLUSTERS)
    file = f"{STACK}/stack.yaml"

    def found(text: str) -> tuple[dict[str, str], list[str]]:
        write(root, file, f"name: x\n{text}\n")
        stack = discover(root).select("app000/x")
        return dict(stack.coordinates), [
            f"{each.where} {each.message}".replace(f"{root}/", "") for each in stack.findings
        ]

    point = {"site": "hangzhou", "tenant": "birch", "env": "prod"}
    rest = "dimensions: {tenant: birch, env: prod}"
    assert found(rest) == (point, []), "all of its clusters say the same"
    contradicted = "is at site hangzhou by stack.yaml, and at site shanghai by its cluster sh-1 (clusters.yaml:4:19)"
    assert found("dimensions: {site: hangzhou, tenant: birch, env: prod}\nclusters: [hz-1, sh-1]") == (
        point,
        [f"{file}:2:14 {contradicted}"],
    )
    for clusters, several in (("hz-1, sh-1", "hangzhou, shanghai"), ("hz-1, bare", "hangzhou and none")):
        incomplete = f"says tenant, env, and not which site; site of its clusters: {several}"
        assert found(f"{rest}\nclusters: [{clusters}]") == ({}, [f"{file}:2:1 {incomplete}"])
    unknown = "clusters.yaml:5:19 site has no value 'hangzou', did you mean hangzhou?"
    assert found(f"{rest}\nclusters: [lost]") == ({}, [unknown])
    assert found("labels: {site: shanghai, tenant: birch, env: prod}")[1][:1] == [
        f"{file}:2:10 is at site shanghai by the label site, and at site hangzhou by its cluster hz-1 "
        "(clusters.yaml:2:19)"
    ]
    outside = found("")
    assert outside[0] == {} and all(each.endswith("and the stack says no coordinates") for each in outside[1])


@pytest.mark.parametrize("pattern", ["apps/*/{sight}", "apps", "{env}/{env}", "{env", "{global}"])
def test_a_pattern_of_folders_that_means_nothing(tmp_path: Path, pattern: str) -> None:
    write_company(tmp_path, Size(1, 1, 1, 1))
    file = tmp_path / "dimensions.yaml"
    file.write_text(file.read_text() + f"folders: ['{pattern}']\n")
    with pytest.raises(BrokenFile) as raised:
        read_dimensions(tmp_path)
    assert raised.value.where.startswith(str(file))
