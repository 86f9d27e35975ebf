"""`wb update images`: the newest that a policy allows, at the line that names the image."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workbench.cli.command import Ended, Wb
from tests.workbench.cli.oci_registry import OciRegistry, served
from tests.workbench.cli.test_impact import commit, git

pytest.importorskip("oras", reason="the Python package oras is not installed")

NAMED = "registry.orchard.example"
BASE, DEV = "storefront/checkout/base/base.k", "storefront/checkout/dev/main.k"


@pytest.fixture
def registry() -> Iterator[OciRegistry]:
    with served() as found:
        found.tags = {
            "checkout/web": ["2.4.1", "2.4.2", "2.5.0", "3.0.0", "2.6.0-rc.1", "latest"],
            "checkout/cart": ["1.9.0", "1.8.0"],
        }
        yield found


@pytest.fixture
def sample(sample_konfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: OciRegistry) -> Path:
    root = sample_konfig
    for other in ("payments", "ops", "storefront/catalog", "storefront/orders"):
        shutil.rmtree(root / other)
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOME", str(tmp_path))
    base = root / BASE
    base.write_text(base.read_text().replace(NAMED, registry.host))
    git(root, "init", "-q")
    git(root, "config", "user.name", "ann")
    git(root, "config", "user.email", "ann@example.org")
    commit(root)
    return root


def policies(root: Path, text: str) -> None:
    (root / "images.yaml").write_text(text)
    git(root, "add", "images.yaml")
    commit(root)


def changed(root: Path) -> list[str]:
    lines = git(root, "diff", "--unified=0").splitlines()
    return [each.strip() for each in lines if each[:1] in "+-" and not each.startswith(("+++", "---"))]


ALL = "images: [{image: '*/checkout/*', policy: ^2}, {image: '*', policy: '*'}]\n"


def update(wb: Wb, registry: OciRegistry, *arguments: str) -> Ended:
    return wb("update", "images", "checkout/dev", "--registry", registry.host, *arguments)


def test_the_line_that_names_the_image_gets_the_newest_of_the_range(
    wb: Wb, sample: Path, registry: OciRegistry
) -> None:
    policies(sample, "images: [{image: '*/checkout/web', policy: ^2}, {image: '*/checkout/*', policy: ^1}]\n")
    ended = update(wb, registry, "--yes")
    assert ended.code == 0, ended.text
    image = f"{registry.host}/checkout/web"
    assert changed(sample) == [f'-    image = "{image}:2.4.1"', f'+    image = "{image}:2.5.0"']
    assert f"{registry.host}/checkout/cart:1.9.0  nothing newer" in ended.out
    assert "redis:7.4.2  no policy in images.yaml" in ended.out
    assert update(wb, registry, "--yes").code == 0 and len(changed(sample)) == 2


def test_a_dry_run_shows_the_patch_and_writes_nothing(wb: Wb, sample: Path, registry: OciRegistry) -> None:
    policies(sample, "images: [{image: '*/checkout/web', policy: ~2.4}]\n")
    ended = update(wb, registry, "--dry-run", "-o", "json")
    assert ended.code == 0, ended.text
    (stack,) = ended.json()["stacks"]
    standings = {each["image"].rpartition("/")[2]: (each["standing"], each["after"]) for each in stack["images"]}
    assert standings["web:2.4.1"] == ("updated", f"{registry.host}/checkout/web:2.4.2")
    assert "+    image = " in stack["patch"] and changed(sample) == []


def test_without_confirmation_nothing_is_written(wb: Wb, sample: Path, registry: OciRegistry) -> None:
    policies(sample, "images: [{image: '*/checkout/web', policy: ^2}]\n")
    ended = update(wb, registry)
    assert ended.code == 4 and "give --yes" in ended.err and changed(sample) == []


def test_stacks_under_another_policy_keep_what_they_have(wb: Wb, sample: Path, registry: OciRegistry) -> None:
    policies(sample, "images: [{image: '*/checkout/web', policy: ^2, stacks: ['*/dev']}]\n")
    ended = update(wb, registry, "--yes")
    assert ended.code == 0, ended.text
    assert git(sample, "diff", "--name-only") == DEV
    assert "checkout/web:2.5.0" in wb("compile", "checkout/dev").out
    assert "checkout/web:2.4.1" in wb("compile", "checkout/prod").out


def test_a_commit_for_each_stack_holds_its_files_alone(wb: Wb, sample: Path, registry: OciRegistry) -> None:
    policies(sample, "images: [{image: '*/checkout/web', policy: ^2, stacks: ['*/dev']}]\n")
    (sample / "README.md").write_text("mine\n")
    ended = update(wb, registry, "--yes", "--commit")
    assert ended.code == 0, ended.text
    assert git(sample, "show", "--name-only", "--format=%s").splitlines()[0].startswith("checkout/dev: ")
    assert git(sample, "diff", "--name-only") == "README.md"


def test_a_digest_follows_its_tag(wb: Wb, sample: Path, registry: OciRegistry) -> None:
    policies(sample, "images: [{image: '*/checkout/web', policy: digest}]\n")
    ended = update(wb, registry, "--yes")
    assert ended.code == 0, ended.text
    pinned = f"{registry.host}/checkout/web:2.4.1@{registry.digest('checkout/web', '2.4.1')}"
    assert changed(sample)[1] == f'+    image = "{pinned}"'
    assert "nothing newer" in update(wb, registry, "--yes").out


@pytest.mark.parametrize(("status", "said"), [(500, "500"), (401, "401"), (404, "404")])
def test_a_registry_that_does_not_say_is_never_up_to_date(
    wb: Wb, sample: Path, registry: OciRegistry, status: int, said: str
) -> None:
    policies(sample, ALL)
    registry.failing = status
    ended = update(wb, registry, "--yes")
    assert ended.code == 3 and "not known: cannot list the versions of checkout/web" in ended.out, ended.text
    assert "nothing newer" not in ended.out and changed(sample) == []


def test_a_registry_that_is_away_is_never_up_to_date(wb: Wb, sample: Path) -> None:
    policies(sample, ALL)
    host = next(each for each in (sample / BASE).read_text().split('"') if each.startswith("127."))
    with served() as other:
        gone = other.host
    base = sample / BASE
    base.write_text(base.read_text().replace(host.partition("/")[0], gone))
    ended = wb("update", "images", "checkout/dev", "--registry", gone, "--yes")
    assert ended.code == 3 and "not known: " in ended.out and "nothing newer" not in ended.out, ended.text


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        ([], "does not have the version in use among its 0 tags"),
        (["latest"], "does not have the version in use among its 1 tags"),
    ],
)
def test_a_registry_without_the_version_in_use_proves_nothing(
    wb: Wb, sample: Path, registry: OciRegistry, tags: list[str], said: str
) -> None:
    policies(sample, "images: [{image: '*/checkout/web', policy: ^2}]\n")
    registry.tags["checkout/web"] = tags
    ended = update(wb, registry, "--yes")
    assert ended.code == 3 and said in ended.out, ended.text


def test_no_registry_is_asked_that_the_user_did_not_name(wb: Wb, sample: Path, registry: OciRegistry) -> None:
    policies(sample, ALL)
    ended = wb("update", "images", "checkout/dev", "--registry", "other.example", "--yes")
    assert ended.code == 3 and f"{registry.host} was not asked: --registry {registry.host} lets it be" in ended.out
    assert registry.seen == []
    ended = wb("--untrusted", "update", "images", "checkout/dev", "--registry", registry.host, "--dry-run")
    assert ended.code == 3 and "no registry was asked" in ended.out and registry.seen == []


def test_an_image_that_is_computed_is_overridden_in_the_stack(wb: Wb, sample: Path, registry: OciRegistry) -> None:
    policies(sample, "images: [{image: '*/checkout/web', policy: ^2}]\n")
    base = sample / BASE
    text = (
        base.read_text()
        .replace('checkout/web:2.4.1"', 'checkout/web:${_tag}"')
        .replace("# The page", '_tag = "2.4.1"\n# The page')
    )
    base.write_text(text)
    ended = update(wb, registry, "--yes")
    assert ended.code == 0 or (ended.code == 1 and "not edited: " in ended.out), ended.text
    assert ("checkout/web:2.5.0" in wb("compile", "checkout/dev").out) is (ended.code == 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("images: []\n", "needs a list of images"),
        ("images: [{image: x}]\n", "an entry needs image and policy"),
        ("images: [{image: x, polcy: y}]\n", "unknown key 'polcy'"),
        ("images: [{image: '*/web', policy: newest}]\n", "'newest' is no range of versions"),
        ("", "is not there: nobody said which images may be updated"),
    ],
)
def test_a_policy_that_is_not_understood_is_named(
    wb: Wb, sample: Path, registry: OciRegistry, text: str, said: str
) -> None:
    if text:
        policies(sample, text)
    ended = update(wb, registry, "--yes")
    assert ended.code == 1 and said in ended.err, ended.text
    assert changed(sample) == []


@pytest.mark.skipif(
    shutil.which("docker-registry") is None, reason="docker-registry (a package of Debian) is not installed"
)
def test_a_real_registry_says_the_same(tmp_path: Path) -> None:
    from kcl.packages.oci import Artifact, Registry
    from tests.kcl.packages.test_oci import served_registry
    from workbench.engine.images import Image
    from workbench.session.updating import _newest

    with served_registry(tmp_path) as host:
        registry = Registry(host, {})
        for tag in ("2.4.1", "2.5.0", "3.0.0"):
            registry.push("shop/web", tag, "web", Artifact(tag.encode(), {}))
        image = Image(f"{host}/shop/web", "2.4.1")
        assert _newest(image, "^2") == (f"{host}/shop/web:2.5.0", "")
        pinned, _ = _newest(image, "digest")
        assert pinned == f"{image}@{registry.digest('shop/web', '2.4.1')}"
