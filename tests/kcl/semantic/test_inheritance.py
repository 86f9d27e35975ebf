"""What declarations alone show to be wrong."""

from typing import Any

import pytest

from kcl.loader import LoadRequest, load
from kcl.semantic import check
from kcl.source import InMemoryFileSystem
from kcl.stdlib.library import TYPES


def _findings(main: str, **files: str) -> Any:
    texts = {"/repo/kcl.mod": "", "/repo/main.k": main}
    texts |= {f"/repo/{name}/{name}.k": text for name, text in files.items()}
    loaded = load(LoadRequest(("main.k",), "/repo"), InMemoryFileSystem(texts))
    return [(found.code.number, found.message) for found in check(loaded.program, TYPES)]


def test_a_sound_program_has_no_findings() -> None:
    assert _findings("schema A:\n    a: int\nschema B(A):\n    b?: int\nx = 1\n_y = 1\n_y = 2\n") == []


def test_schemas_that_inherit_from_each_other_are_all_named() -> None:
    message = "There is a circular reference between schemas A, B"
    assert _findings("schema A(B):\n    a: int\nschema B(A):\n    b: int\n") == [("E2L23", message)] * 2


def test_a_cycle_in_a_package_is_told_once() -> None:
    found = _findings(
        "import p\nschema S(p.A):\n    s: int\n", p="schema A(B):\n    a: int\nschema B(A):\n    b: int\n"
    )
    assert found == [("E2L23", "There is a circular reference between schemas p.A, p.B")] * 2


def test_two_schemas_of_one_name() -> None:
    assert [code for code, _ in _findings("schema A:\n    a: int\nschema A:\n    b: int\n")] == ["E2L28", "E2L28"]


def test_a_required_attribute_stays_required() -> None:
    found = _findings("schema A:\n    a: int\nschema B(A):\n    a?: int\n")
    assert found == [("E2G22", "can't change the required schema attribute of 'a' to optional")]


@pytest.mark.parametrize(("declared", "right"), [("str", True), ("int", False), ("any", False)])
def test_attributes_meet_the_index_signature(declared: str, right: str) -> None:
    assert (_findings(f"schema A:\n    [str]: str\n    a: {declared}\n") == []) is right


def test_parameters_with_defaults_come_last() -> None:
    assert _findings("schema A[x=1, y, z=2]:\n    a: int\n") == [
        ("E1001", "non-default argument follows default argument")
    ]
