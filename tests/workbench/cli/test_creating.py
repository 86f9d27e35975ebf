"""`wb new`: projects, stacks and components after ones that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workbench.cli.command import Wb

CHECKOUT = "storefront/checkout"


@pytest.fixture
def sample(sample_konfig: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = sample_konfig
    monkeypatch.chdir(root)
    return root


def files(root: Path) -> dict[str, str]:
    return {each.relative_to(root).as_posix(): each.read_text() for each in sorted(root.rglob("*")) if each.is_file()}


def place(root: Path, line: str) -> None:
    clusters = root / "clusters.yaml"
    clusters.write_text(clusters.read_text().rstrip() + f"\n  - {line}\n")


def test_a_stack_is_made_beside_another(wb: Wb, sample: Path) -> None:
    before = files(sample)
    ended = wb("new", "stack", "staging", "--like", "checkout/pre")
    assert ended.code == 0, ended.text
    assert "checkout/staging: " in ended.out and "→ wb diff checkout/staging" in ended.err
    assert "no placement of clusters.yaml covers checkout/staging" in ended.out
    assert "checkout/staging has the same secrets as checkout/pre" in ended.out
    made = {name: text for name, text in files(sample).items() if name not in before}
    assert [*made] == [f"{CHECKOUT}/staging/{each}" for each in ("kcl.yaml", "main.k", "stack.yaml")]
    assert made[f"{CHECKOUT}/staging/stack.yaml"].startswith("name: staging\n")
    assert "- key: stack\n    value: staging\n" in made[f"{CHECKOUT}/staging/kcl.yaml"]
    compiled = wb("compile", "checkout/staging").out
    assert "namespace: checkout-staging" in compiled and "checkout-pre" not in compiled
    assert all(files(sample)[name] == text for name, text in before.items())


def test_a_project_has_its_name_where_the_others_stood(wb: Wb, sample: Path) -> None:
    ended = wb("new", "project", "basket", "--like", "checkout", "--stack", "dev", "--stack", "prod", "-o", "json")
    assert ended.code == 0, ended.text
    document = ended.json()
    assert [*document["stacks"]] == ["basket/dev", "basket/prod"]
    assert "storefront/basket/base/base.k:7" in document["renamed"]
    assert "registry.orchard.example/basket/web:2.4.1" in files(sample)["storefront/basket/base/base.k"]
    compiled = wb("compile", "basket/prod").out
    assert "namespace: basket-prod" in compiled and "checkout" not in compiled
    assert "basket/dev" in wb("ls").out and not (sample / "storefront/basket/pre").exists()


def test_a_component_is_one_more_for_all_stacks_of_the_project(wb: Wb, sample: Path) -> None:
    before = files(sample)
    ended = wb("new", "component", "sideCache", "--like", "checkout/sessionCache")
    assert ended.code == 0, ended.text
    now = files(sample)
    (changed,) = [name for name in now if now[name] != before.get(name)]
    assert changed == f"{CHECKOUT}/base/base.k" and now[changed].startswith(before[changed].rstrip())
    assert 'sideCache: frontend.Server {\n    name = "side-cache"' in now[changed]
    for stack in ("dev", "pre", "prod"):
        compiled = wb("compile", f"checkout/{stack}").out
        assert "name: side-cache" in compiled and "name: session-cache" in compiled


def test_a_dry_run_writes_nothing(wb: Wb, sample: Path) -> None:
    before = files(sample)
    ended = wb("new", "project", "basket", "--like", "checkout", "--dry-run")
    assert ended.code == 0 and "basket/base/base.k  is new" in ended.out and "nothing was written" in ended.err
    assert files(sample) == before


def test_two_stacks_never_get_the_same_objects(wb: Wb, sample: Path) -> None:
    """An imported stack says its namespace: a copy of it would be the same objects once more."""
    stack = sample / CHECKOUT / "pre"
    identity = stack / "kcl.yaml"
    identity.write_text(
        identity.read_text().replace("value: checkout", "value: fixed").replace("value: pre", "value: x")
    )
    place(sample, '{stacks: ["checkout/staging"], clusters: [shanghai]}')
    before = files(sample)
    ended = wb("new", "stack", "staging", "--like", "checkout/pre")
    assert ended.code == 1 and "objects that checkout/pre has on the same cluster" in ended.err, ended.text
    assert files(sample) == before


def test_a_namespace_that_stack_yaml_says_is_replaced(wb: Wb, root: Path) -> None:
    (root / "web" / "dev" / "stack.yaml").write_text("name: dev\nnamespace: {by: stack, name: web-dev}\n")
    clusters = root / "clusters.yaml"
    clusters.write_text(clusters.read_text() + '  - {stacks: ["*"], clusters: [hz]}\n')
    ended = wb("new", "stack", "qa", "--like", "web/dev", "--namespace", "web-qa")
    assert ended.code == 0, ended.text
    assert (root / "web" / "qa" / "stack.yaml").read_text() == "name: qa\nnamespace: {by: stack, name: web-qa}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("stack", "prod", "--like", "checkout/pre"), "there is a stack checkout/prod already"),
        (("project", "catalog", "--like", "checkout"), "there is a project catalog already"),
        (("component", "web", "--like", "checkout/cart"), "checkout has a component web already"),
        (("project", "basket", "--like", "chekout"), "there is no project 'chekout'"),
        (("project", "basket", "--like", "checkout", "--stack", "qa"), "checkout has no stack 'qa'"),
        (("component", "x", "--like", "checkout/nope"), "the base of checkout has no component 'nope'"),
        (("component", "a-b", "--like", "checkout/web"), "is no name for a component"),
        (("stack", "../x", "--like", "checkout/pre"), "cannot be the name of a stack"),
        (("stack", "base", "--like", "checkout/pre"), "cannot be the name of a stack"),
        (("project", "basket", "--like", "checkout", "--folder", "../out"), "lies outside of the repository"),
    ],
)
def test_what_is_refused_is_named_and_nothing_written(wb: Wb, sample: Path, words: tuple[str, ...], said: str) -> None:
    before = files(sample)
    ended = wb("new", *words)
    assert ended.code == 1 and said in ended.err, ended.text
    assert files(sample) == before and not (sample.parent / "out").exists()


def test_a_folder_that_is_there_is_not_written_over(wb: Wb, sample: Path) -> None:
    mine = sample / CHECKOUT / "staging" / "main.k"
    mine.parent.mkdir()
    mine.write_text("mine = 1\n")
    before = files(sample)
    ended = wb("new", "stack", "staging", "--like", "checkout/pre")
    assert ended.code == 1 and "staging/main.k: is there already, and nothing is overwritten" in ended.err
    assert files(sample) == before


def test_what_does_not_compile_is_not_written(wb: Wb, sample: Path) -> None:
    main = sample / CHECKOUT / "pre" / "main.k"
    main.write_text(main.read_text() + "\nbroken: frontend.Nothing {}\n")
    before = files(sample)
    ended = wb("new", "stack", "staging", "--like", "checkout/pre")
    assert ended.code == 1 and "staging/main.k" in ended.text, ended.text
    assert files(sample) == before


def test_a_link_out_of_the_repository_is_not_copied(wb: Wb, sample: Path) -> None:
    secret = sample.parent / "secret.yaml"
    secret.write_text("a: cnry-outside\n")
    (sample / CHECKOUT / "pre" / "more.yaml").symlink_to(secret)
    ended = wb("new", "stack", "staging", "--like", "checkout/pre")
    assert ended.code == 1 and "cnry" not in ended.text and not (sample / CHECKOUT / "staging").exists(), ended.text


def test_without_a_terminal_nothing_is_asked_for(wb: Wb, sample: Path) -> None:
    ended = wb("new", "stack", "--like", "checkout/pre")
    assert ended.code == 64 and "there is no terminal to ask on" in ended.err


def test_a_terminal_is_asked_for_what_is_missing(wb: Wb, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["staging", "checkout/pre"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(answers))
    ended = wb("new", "stack", "--dry-run")
    assert ended.code == 0 and "checkout/staging: " in ended.out, ended.text
