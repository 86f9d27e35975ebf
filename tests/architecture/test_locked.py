"""What the two commands install is locked: every requirement to one version of known content, from the index alone."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKED = ROOT / ".ci" / "locked"
FILES = ("dev.txt", "browser.txt", "practice.txt", "tools.txt")
_PIN = re.compile(r"(?P<requirement>[^\\\n]+?) \\\n(?P<hashes>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")


@cache
def pins(file: str) -> tuple[Requirement, ...]:
    return tuple(Requirement(each["requirement"]) for each in _PIN.finditer((LOCKED / file).read_text()))


def requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return [Requirement(each) for each in (*project["dependencies"], *extras["dev"], *extras["notebook"])]


@pytest.mark.parametrize("file", FILES)
def test_each_line_is_one_version_with_hashes(file: str) -> None:
    text = (LOCKED / file).read_text()
    assert _PIN.sub("", text) == "", "a version that anybody may replace, an address, or an option of pip"
    for each in pins(file):
        (only,) = each.specifier
        assert (only.operator, each.url) == ("==", None), each


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_what_the_project_asks_for_is_locked_for_every_python(version: str) -> None:
    here = {name: str(value) for name, value in default_environment().items()}
    environment = {**here, "python_version": version, "python_full_version": f"{version}.1"}
    found: dict[str, str] = {}
    for pin in pins("dev.txt"):
        if pin.marker is None or pin.marker.evaluate(environment):
            name = canonicalize_name(pin.name)
            assert name not in found, f"two versions of {name}"
            (only,) = pin.specifier
            found[name] = only.version
    for each in requirements():
        assert each.specifier.contains(found.get(canonicalize_name(each.name), ""), prereleases=True), (
            f"{each}: make lock chooses a version"
        )


def test_the_browser_gets_no_other_versions_than_the_rest() -> None:
    rest = {(each.name, str(each.marker)): str(each.specifier) for each in pins("dev.txt")}
    assert rest
    for each in pins("browser.txt"):
        assert rest.get((each.name, str(each.marker)), str(each.specifier)) == str(each.specifier)
