"""Which repository a checkout is: the same on every machine, and never what the repository says of itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from workbench.release.repository import identity, normalised

SAME = {
    "git@github.com:acme/konfig.git": "github.com/acme/konfig",
    "https://github.com/acme/konfig": "github.com/acme/konfig",
    "https://github.com/acme/konfig.git/": "github.com/acme/konfig",
    "https://ann:canary-token@GitHub.com:443/acme/konfig": "github.com/acme/konfig",
    "ssh://git@github.com:22/acme//konfig.git": "github.com/acme/konfig",
    "git://github.com/acme/konfig": "github.com/acme/konfig",
    "github.com:acme/konfig": "github.com/acme/konfig",
    "/srv/git/konfig.git": "/srv/git/konfig",
    "file:///srv/git/konfig.git": "/srv/git/konfig",
}


@pytest.mark.parametrize("url", SAME)
def test_one_place_has_one_name_however_it_is_reached(url: str) -> None:
    assert normalised(url) == SAME[url]


@pytest.mark.parametrize(
    "url", ["", "..", "../konfig", "konfig", "https://", "https://github.com", "https://[::1", "a\nb:c/d", "x" * 5_000]
)
def test_what_names_no_place_is_no_name(url: str) -> None:
    assert normalised(url) == ""


def test_clones_of_one_repository_are_one_and_folders_in_it_are_two(tmp_path: Path) -> None:
    origin = tmp_path / "origin.git"
    git("init", "-q", "--bare", str(origin))
    names = set()
    for machine in ("ann", "ben"):
        clone = tmp_path / machine / f"konfig-of-{machine}"
        git("clone", "-q", str(origin), str(clone))
        (clone / "infra").mkdir()
        names.add((identity(clone), identity(clone / "infra")))
    assert names == {(f"{tmp_path}/origin", f"{tmp_path}/origin//infra")}


def test_without_a_remote_only_its_user_says_what_it_is(tmp_path: Path) -> None:
    assert identity(tmp_path) == ""
    git("init", "-q", str(tmp_path))
    assert identity(tmp_path) == ""
    (tmp_path / "clusters.yaml").write_text("repository: github.com/acme/konfig\n")
    assert identity(tmp_path) == ""
    assert identity(tmp_path, "acme/konfig") == "acme/konfig"


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True)
