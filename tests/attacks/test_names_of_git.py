"""One rule says what is git's, in any spelling that some file system takes for `.git`, for all that read and write."""

from __future__ import annotations

import pytest

from kcl import api
from kcl.evaluator.value import ValueFailure
from tests.attacks.conftest import Hostile
from workbench.engine.errors import EditFailed
from workbench.engine.whatif import WhatIf
from workbench.project import OutsideRepository, refuse_outside
from workbench.trust.backends import needs_trust

_SPELLINGS = (".git", ".GIT", ".git.", ".git ", ".Git. .", "git~1", "GIT~1", ".g\u200cit", "\u200d.git",
              ".git::$INDEX_ALLOCATION")  # fmt: skip
_OTHERS = (".gitignore", ".github", "a.git", "git", ".gitlab-ci", "g", ".", "\u00fcgit")


def _taken_for_git(hostile: Hostile, name: str) -> dict[str, bool]:
    """By who is asked, whether a file in a folder of that name is refused."""
    path = hostile.root / "web" / name / "x.tfstate"
    found = {}
    reading = api.BoundedFileSystem(api.Bounds(str(hostile.root)))
    found["reading"] = reading.refusal(str(path)) is not None
    access = api.Access(write_roots=(str(hostile.root),), read_roots=(str(hostile.root),), file_system=reading)
    for who, ask in (("file.read", access.readable), ("file.write", access.writable)):
        try:
            ask(str(path), str(hostile.stack))
            found[who] = False
        except ValueFailure:
            found[who] = True
    try:
        refuse_outside(path, hostile.root, hint="")
        found["output"] = False
    except OutsideRepository:
        found["output"] = True
    try:
        WhatIf(hostile.root).edit(path, "x")
        found["what-if"] = False
    except EditFailed:
        found["what-if"] = True
    local = {"type": "local", "config": {"path": str(path)}}
    found["backend"] = needs_trust(local, folder=hostile.root / "state", root=hostile.root)
    return found


@pytest.mark.parametrize("name", _SPELLINGS)
def test_every_spelling_is_refused_by_all(hostile: Hostile, name: str) -> None:
    assert set(_taken_for_git(hostile, name).values()) == {True}, _taken_for_git(hostile, name)


@pytest.mark.parametrize("name", _OTHERS)
def test_other_names_are_no_matter(hostile: Hostile, name: str) -> None:
    assert set(_taken_for_git(hostile, name).values()) == {False}, _taken_for_git(hostile, name)
