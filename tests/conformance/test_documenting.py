"""`kcl doc` over repositories and packages that nobody here wrote: pages without broken links, the same again.

`KCL_MODULES_PROGRAMS=all` takes all published packages, else one in eight.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.kcl.conformance import ROOT, corpus
from tests.kcl.tools.doc.documented import broken_links, kcl_doc

FORMS = ("md", "html")
BROKEN = ("karmada/", "kops/", "kwok/")
"""Published packages with files that have syntax errors."""


def pages_are_whole(folder: Path, target: Path, form: str, paths: Sequence[str] = ("./...",)) -> int:
    """Writes pages twice and follows their links; gives the exit status."""
    words = (*paths, "-o", str(target), "--format", form)
    first = kcl_doc(folder, *words)
    assert "Traceback" not in first.err and len(list(target.iterdir())) > len(paths), first.err
    assert list(broken_links(target)) == []
    again = kcl_doc(folder, *words)
    assert (again.out, again.status) == ("", first.status) and ": 0 of " in again.err
    return first.status


@pytest.mark.parametrize("form", FORMS)
def test_the_sample_repository(form: str, tmp_path: Path) -> None:
    assert pages_are_whole(ROOT / "sample-konfig", tmp_path / "out", form) == 0


@pytest.mark.parametrize("form", FORMS)
def test_konfig_2025(form: str, tmp_path: Path) -> None:
    assert pages_are_whole(corpus("konfig-2025") / "konfig", tmp_path / "out", form) == 0


@pytest.mark.parametrize(("form", "path"), [("md", "./..."), ("html", "base/pkg/kusion_models/...")])
def test_konfig_2023(form: str, path: str, tmp_path: Path) -> None:
    assert pages_are_whole(corpus("konfig-2023"), tmp_path / "out", form, [path]) == 0


@pytest.mark.parametrize("form", FORMS)
def test_published_packages(form: str, tmp_path: Path) -> None:
    folder = corpus("kcl-modules")
    every = sorted(each.name for each in folder.iterdir() if each.is_dir() and any(each.rglob("*.k")))
    step = 1 if os.environ.get("KCL_MODULES_PROGRAMS") == "all" else 8
    chosen = [f"{each}/..." for each in every[::step]]
    chosen = [each for each in chosen if any((folder / each[:-4]).rglob("[!_]*[!t].k"))]
    has_broken = any(each.startswith(BROKEN) for each in chosen)
    assert pages_are_whole(folder, tmp_path / "out", form, chosen) >= int(has_broken)


def test_examples_of_konfig_are_run_and_those_that_rotted_are_told() -> None:
    folder, packages = corpus("konfig-2025") / "konfig", corpus("kcl-modules") / "k8s" / "1.31"
    ran = kcl_doc(folder, "--test", "-E", f"k8s={packages}", environment=dict(os.environ))
    assert ran.status == 1 and ran.err == "19 examples: 5 passed, 14 failed\n"
    assert "models/kube/frontend/secret/secret.k:22: example of Secret: FAIL" in ran.out
    assert "--> models/kube/frontend/secret/secret.k:26:15" in ran.out and "name 'bar' is not defined" in ran.out
