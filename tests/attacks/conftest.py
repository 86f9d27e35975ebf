"""A hostile repository that tests write, `wb` in it, and beside it what is none of the repository's business."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workbench.cli.command import Wb

_SETTINGS = ("WB_CONTEXT", "WB_READONLY", "WB_TIMEOUT", "WB_ASCII", "NO_COLOR", "FORCE_COLOR", "KUBECONFIG")
CANARY = "canary-of-a-foreign-file"


@dataclass(frozen=True)
class Hostile:
    """`root` is the checkout; `outside` holds files of the user that no command may read, write or delete."""

    root: Path
    outside: Path
    before: Mapping[str, bytes]

    @property
    def stack(self) -> Path:
        return self.root / "web" / "dev"

    def link(self, name: str, target: Path | str) -> Path:
        """A link as Git checks it out, in place of what may lie there."""
        link = self.root / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        return link

    def write(self, name: str, text: str) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def to_outside(self, start: Path, name: str = "notes.txt") -> str:
        """The way from a folder to a file of the user, as a repository would write it."""
        return os.path.relpath(self.outside / name, start)

    def assert_untouched(self) -> None:
        assert held(self.outside) == self.before


def held(folder: Path) -> dict[str, bytes]:
    """Everything below a folder, by path: files with their content, folders and links by what they are."""
    found = {}
    for each in sorted(folder.rglob("*")):
        if each.is_symlink():
            content = b"link to " + os.fsencode(each.readlink())
        else:
            content = each.read_bytes() if each.is_file() else b"folder"
        found[each.relative_to(folder).as_posix()] = content
    return found


@pytest.fixture
def wb(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wb:
    for name in _SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("WB_CACHE_DIR", str(tmp_path / "cache"))
    return Wb(capsys)


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    outside = tmp_path / "home"
    (outside / "web").mkdir(parents=True)
    for name in ("notes.txt", "dev.yaml", "web/dev.yaml", "web/gone.yaml"):
        (outside / name).write_text(f"{CANARY}: {{ [ $ of {name}\n")
    root = tmp_path / "repo"
    (root / ".git" / "hooks").mkdir(parents=True)
    found = Hostile(root, outside, held(outside))
    found.write("kcl.mod", '[package]\nname = "repo"\n')
    found.write("web/project.yaml", "name: web\n")
    found.write("web/dev/stack.yaml", "name: dev\n")
    found.write(
        "web/dev/main.k",
        'resources = [{id = "v1:ConfigMap:shop:web", type = "Kubernetes", attributes = {'
        'apiVersion = "v1", kind = "ConfigMap", metadata = {name = "web", namespace = "shop"}}}]\n',
    )
    monkeypatch.chdir(root)
    return found
