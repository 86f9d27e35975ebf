"""What programs may touch outside themselves."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kcl.api import Access, InMemoryFileSystem, ProgramError, run


def _value(expression: str, folder: Path, **changes: Any) -> Any:
    module = expression.split(".")[0]
    (folder / "main.k").write_text(f"import {module}\na = {expression}\n")
    return run(["main.k"], work_dir=folder, access=lambda access: replace(access, **changes)).documents[0].get("a")


def test_files_below_the_root_may_be_read_relative_to_the_calling_file(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text("")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/l.k").write_text('import file\ntext = file.read("data.txt")\n')
    (tmp_path / "lib/data.txt").write_text("hello")
    (tmp_path / "main.k").write_text("import lib\na = lib.text\n")
    result = run(["main.k"], work_dir=tmp_path)
    assert result.documents == ({"a": "hello"},)
    assert tmp_path / "lib/data.txt" in result.dependencies


def test_files_outside_of_the_root_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("s")
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "kcl.mod").write_text("")
    for expression in ('file.read("../secret.txt")', 'file.exists("../secret.txt")', 'file.glob("../*")'):
        with pytest.raises(ProgramError, match="is not allowed: it lies outside of"):
            _value(expression, inside)
    assert _value('file.read("../secret.txt")', inside, read_roots=None) == "s"


@pytest.mark.parametrize(
    "expression",
    [
        'file.write("x", "a")',
        'file.append("x", "a")',
        'file.mkdir("x")',
        'file.delete("main.k")',
        'file.cp("main.k", "x")',
        'file.mv("main.k", "x")',
        'json.dump_to_file({}, "x")',
        'yaml.dump_to_file({}, "x")',
    ],
)
def test_nothing_is_written_unless_granted(expression: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="this run may write nothing"):
        _value(expression, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["main.k"]


def test_granted_writing_stays_inside(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "kcl.mod").write_text("")
    assert _value('file.write("x", "a")', inside, write_roots=(str(inside),)) is None
    assert (inside / "x").read_text() == "a"
    with pytest.raises(ProgramError, match=r"writing '\.\./y' is not allowed"):
        _value('file.write("../y", "a")', inside, write_roots=(str(inside),))


def test_link_does_not_lead_reading_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("s")
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "kcl.mod").write_text("")
    (inside / "link").symlink_to(tmp_path)
    with pytest.raises(ProgramError, match="is not allowed"):
        _value('file.read("link/secret.txt")', inside)


def test_link_does_not_lead_writing_outside(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "kcl.mod").write_text("")
    (inside / "link").symlink_to(tmp_path)
    with pytest.raises(ProgramError, match="is not allowed"):
        _value('file.write("link/y", "a")', inside, write_roots=(str(inside),))
    assert not (tmp_path / "y").exists()


def test_environment_is_read_only_when_granted(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="reading the environment variable 'X' is not allowed"):
        _value('file.read_env("X")', tmp_path)
    assert _value('file.read_env("X")', tmp_path, environment={"X": "1"}) == "1"
    assert _value('file.read_env("Y")', tmp_path, environment={"X": "1"}) is None


def test_clock_is_the_run_s_own(tmp_path: Path) -> None:
    moment = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    assert _value("datetime.date()", tmp_path, now=lambda: moment) == "2026-05-04 03:02:01"
    assert _value('datetime.now("%Y/%m/%d")', tmp_path, now=lambda: moment) == "2026/05/04"


def test_files_come_from_the_run_s_file_system() -> None:
    files = InMemoryFileSystem(
        {
            "/w/kcl.mod": "",
            "/w/main.k": 'import file\na = [file.read(f) for f in file.glob("d/*.txt")]\n',
            "/w/d/b.txt": "B",
            "/w/d/a.txt": "A",
        }
    )
    assert run(["main.k"], work_dir="/w", file_system=files).documents == ({"a": ["A", "B"]},)


def test_default_grants_nothing() -> None:
    access = Access()
    with pytest.raises(Exception, match="is not allowed"):
        access.readable("x", "/")
