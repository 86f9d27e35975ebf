"""One line of kcl.mod changes, and nothing else."""

import tomllib

import pytest

from kcl.packages.editing import with_dependency
from kcl.packages.failure import PackageFailure


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[dependencies]\nx = "2"\n'),
        ('[package]\nname = "a"\n', '[package]\nname = "a"\n\n[dependencies]\nx = "2"\n'),
        ("[dependencies]\n", '[dependencies]\nx = "2"\n'),
        ('[dependencies] # all\ny = "1" # y\n', '[dependencies] # all\ny = "1" # y\nx = "2"\n'),
        ('[dependencies]\nx = { path = "a" }\ny = "1"\n', '[dependencies]\nx = "2"\ny = "1"\n'),
        (
            '[dependencies]\ny = "1"\n\n[profile]\nentries = []\n',
            '[dependencies]\ny = "1"\nx = "2"\n\n[profile]\nentries = []\n',
        ),
        ('[dependencies.x]\npath = "a"\n\n[profile]\n', '[profile]\n\n[dependencies]\nx = "2"\n'),
        ('[dependencies]\r\ny = "1"\r\n', '[dependencies]\r\ny = "1"\r\nx = "2"\r\n'),
        ('[other]\nx = "1"\n[dependencies]\n', '[other]\nx = "1"\n[dependencies]\nx = "2"\n'),
        ('[dependencies]\ny = "1"', '[dependencies]\ny = "1"\nx = "2"\n'),
    ],
)
def test_one_line_changes(before: str, after: str) -> None:
    assert with_dependency(before, "x", '"2"') == after
    assert tomllib.loads(after)["dependencies"]["x"] == "2"


@pytest.mark.parametrize(
    "text",
    ['dependencies = { y = "1" }\n', 'dependencies.y = "1"\n', '[dependencies]\nx.path = "a"\nx.package = "b"\n'],
)
def test_layout_that_cannot_be_changed_is_left_to_a_person(text: str) -> None:
    with pytest.raises(PackageFailure, match="cannot change the dependency 'x'") as caught:
        with_dependency(text, "x", '"2"')
    assert 'x = "2"' in caught.value.advice


def test_odd_name_is_quoted() -> None:
    assert with_dependency("", "a.b", '"2"') == '[dependencies]\n"a.b" = "2"\n'
