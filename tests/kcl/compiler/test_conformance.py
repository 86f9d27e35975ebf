"""Generated code and closures come to the same on programs that nobody wrote for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcl.api import ParseCache
from tests.conformance.kcl_suite import copied
from tests.kcl.compiler.both_ways import AT_ONCE, outcome, same
from tests.kcl.conformance import FOLDER, corpus

_SAMPLE = Path(__file__).parents[3] / "sample-konfig"
_SUITE = "kcl-grammar"


def _topics() -> list[str]:
    folder = FOLDER / _SUITE
    return sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else ["absent"]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(corpus(_SUITE), tmp_path_factory.mktemp("suite") / "cases")


@pytest.mark.parametrize("topic", _topics())
def test_the_official_suite(topic: str, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = sorted((suite / topic).rglob("main.k"))
    assert cases
    for case in cases:
        same(monkeypatch, files=["main.k"], work_dir=case.parent)


def test_konfig_of_2023(monkeypatch: pytest.MonkeyPatch) -> None:
    root = corpus("konfig-2023")
    stacks = sorted(each.parent for each in root.rglob("kcl.yaml"))
    assert stacks
    plain, generated = ParseCache(), ParseCache()
    for stack in stacks:
        arguments = {"work_dir": stack, "settings": ["kcl.yaml", "ci-test/settings.yaml"]}
        expected = outcome(None, monkeypatch, **arguments, cache=plain)
        assert len(expected) == 4, expected[0]
        assert outcome(AT_ONCE, monkeypatch, **arguments, cache=generated) == expected


def test_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, generated = ParseCache(), ParseCache()
    for stack in sorted(each.parent for each in _SAMPLE.rglob("kcl.yaml") if "gateway" not in each.parts):
        arguments = {"work_dir": stack, "settings": ["kcl.yaml"]}
        expected = outcome(None, monkeypatch, **arguments, cache=plain)
        assert len(expected) == 4, expected[0]
        assert outcome(AT_ONCE, monkeypatch, **arguments, cache=generated) == expected
