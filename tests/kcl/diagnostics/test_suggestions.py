"""A name that is near one that is there is offered, in the official words or, where those offer nothing, in a note."""

from __future__ import annotations

import pytest

from kcl.api import InMemoryFileSystem, ProgramError, run

_MODEL = "value = 1\nschema App:\n    image: str\n"


@pytest.mark.parametrize(
    ("program", "offered"),
    [
        ("import math\na = math.celi(0.5)\n", "note: did you mean 'ceil'?"),
        ("import model\na = model.valeu\n", "note: did you mean 'value'?"),
        ("import model\na = model.Appp {}\n", "note: did you mean 'App'?"),
        ("a = 'x'.uper()\n", "note: did you mean 'upper'?"),
        ("import model\na = model.App {imag = 'x'}\n", """did you mean '["image"]'?"""),
        ("value = 1\nb = valeu\n", """did you mean '["value"]'?"""),
    ],
)
def test_near_name_is_offered(program: str, offered: str) -> None:
    assert offered in _told(program)


@pytest.mark.parametrize("program", ["import math\na = math.zzz\n", "import model\na = model.zzz\n", "a = 'x'.zzz\n"])
def test_nothing_is_offered_where_nothing_is_near(program: str) -> None:
    assert "did you mean" not in _told(program)


def _told(program: str) -> str:
    files = InMemoryFileSystem({"/kcl.mod": "", "/main.k": program, "/model/app.k": _MODEL})
    with pytest.raises(ProgramError) as caught:
        run(["main.k"], work_dir="/", file_system=files)
    return caught.value.render()
