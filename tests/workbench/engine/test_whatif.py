"""Edits over the files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from workbench.engine.errors import EditFailed
from workbench.engine.spec import SourceSite
from workbench.engine.whatif import WhatIf


@pytest.fixture
def whatif(tmp_path: Path) -> WhatIf:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "main.k").write_bytes(b"x = {\r\n    n = 1\r\n    # why\r\n    s = 'a'\r\n}\r\n")
    return WhatIf(tmp_path.resolve())


def test_each_edit_is_another_value(whatif: WhatIf) -> None:
    one = whatif.edit("a/main.k", "x = 1\n")
    two = one.edit("b/new.k", "y = 1\n")
    assert (whatif.files, len(one.files), len(two.files)) == ((), 1, 2)
    assert two.text("b/new.k") == "y = 1\n" and two.text("a/main.k") == "x = 1\n"
    assert two.inputs.overlay == {whatif.root / "a/main.k": "x = 1\n", whatif.root / "b/new.k": "y = 1\n"}
    assert two.revert("a/main.k").files == (whatif.root / "b/new.k",)
    assert one.edit("a/main.k", whatif.text("a/main.k")).files == (), "the original text is no edit"


def test_a_value_is_replaced_to_the_letter(whatif: WhatIf) -> None:
    edited = whatif.set_value(SourceSite(whatif.root / "a/main.k", 2, 5), 25)
    assert edited.text("a/main.k") == "x = {\r\n    n = 25\r\n    # why\r\n    s = 'a'\r\n}\r\n"
    edited = edited.set_value(SourceSite(whatif.root / "a/main.k", 4, 5), 'it\'s "b" ${c}')
    from kcl.api import run

    found = run(["main.k"], work_dir=whatif.root, texts={"main.k": edited.text("a/main.k")})
    assert found.documents == ({"x": {"n": 25, "s": 'it\'s "b" ${c}'}},)
    with pytest.raises(EditFailed) as failed:
        whatif.set_value(SourceSite(whatif.root / "a/main.k", 3, 5), 1)
    assert failed.value.where.endswith("a/main.k:3")


def test_the_patch_is_one_that_git_takes(whatif: WhatIf) -> None:
    edited = whatif.edit("a/main.k", "x = 1").edit("b/new.k", "y = 1\n")
    subprocess.run(["git", "init", "-q"], cwd=whatif.root, check=True)
    subprocess.run(["git", "apply", "-"], cwd=whatif.root, input=edited.patch().encode(), check=True)
    assert (whatif.root / "a/main.k").read_text() == "x = 1"
    assert (whatif.root / "b/new.k").read_text() == "y = 1\n"
    assert whatif.patch() == ""


def test_writing_keeps_modes_and_leaves_files_that_moved_alone(whatif: WhatIf) -> None:
    path = whatif.root / "a/main.k"
    path.chmod(0o640)
    edited = whatif.edit("a/main.k", "x = 1\n").edit("b/new.k", "y = 1\n")
    path.write_text("somebody else\n")
    with pytest.raises(EditFailed, match="changed on disk meanwhile"):
        edited.write()
    assert not (whatif.root / "b").exists()
    whatif.edit("a/main.k", "x = 2\n").write()
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("x = 2\n", 0o640)


@pytest.mark.parametrize("file", ["../outside.k", "/etc/passwd"])
def test_nothing_outside_of_the_repository_is_touched(whatif: WhatIf, file: str) -> None:
    with pytest.raises(EditFailed, match="outside of the repository"):
        whatif.edit(file, "x")
    with pytest.raises(EditFailed, match="outside of the repository"):
        whatif.text(file)


def test_a_link_out_of_the_repository_is_outside(whatif: WhatIf, tmp_path_factory: pytest.TempPathFactory) -> None:
    (whatif.root / "link").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    with pytest.raises(EditFailed, match="outside of the repository"):
        whatif.edit("link/x.k", "x")
