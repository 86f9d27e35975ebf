"""A program that may write writes nothing git would run or obey."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kcl.cli import main

_PATHS = (
    ".git/hooks/pre-commit",
    ".GIT/config",
    ".git",
    "sub/.git/config",
    "sub/.git",
    "link/config",
    ".g\u200cit/x",
    "git~1/x",
)
_CALLS = {
    "write": 'file.write("{path}", "evil")',
    "append": 'file.append("{path}", "evil")',
    "mkdir": 'file.mkdir("{path}")',
    "delete": 'file.delete("{path}")',
    "cp": 'file.cp("source", "{path}")',
    "mv": 'file.mv("source", "{path}")',
    "mv away": 'file.mv("{path}", "target")',
}


def _run(root: Path, call: str) -> tuple[int, str]:
    (root / "main.k").write_text(f"import file\n{call}\n")
    out, err = io.StringIO(), io.StringIO()
    status = main(["run", "main.k"], cwd=str(root), stdin=io.StringIO(), stdout=out, stderr=err, environment={})
    return status, out.getvalue() + err.getvalue()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    for each in (".git/hooks", "sub/.git"):
        (root / each).mkdir(parents=True)
        (root / each / "config").write_text("true\n")
    (root / ".git" / "config").write_text("true\n")
    (root / "link").symlink_to(".git")
    (root / "source").write_text("evil")
    return root


def _state(root: Path) -> dict[str, bytes | None]:
    files = sorted(each for each in root.rglob("*") if each.name != "main.k")
    return {str(each.relative_to(root)): each.read_bytes() if each.is_file() else None for each in files}


@pytest.mark.parametrize("path", _PATHS)
@pytest.mark.parametrize("call", _CALLS)
def test_nothing_below_git_is_written(call: str, path: str, root: Path) -> None:
    before = _state(root)
    status, said = _run(root, _CALLS[call].format(path=path))
    assert status != 0
    assert "it belongs to git" in said
    assert _state(root) == before


def test_names_that_only_look_like_it_are_written(root: Path) -> None:
    (root / ".github").mkdir()
    for path in (".gitignore", ".github/x.yaml", "a.git", "git"):
        status, said = _run(root, f'file.write("{path}", "text")')
        assert status == 0, said
        assert (root / path).read_text() == "text"
