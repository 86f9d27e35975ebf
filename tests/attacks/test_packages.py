"""Packages that came from elsewhere, vendored or downloaded: what nothing vouches for is refused, with what to type."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kcl.cli import main
from kcl.loader.checksum import checksum
from kcl.loader.lock import Locked, lock_text
from kcl.loader.requirement import OciSource
from kcl.source import OsFileSystem
from tests.attacks.conftest import Hostile
from tests.workbench.cli.command import Ended, Wb


@dataclass(frozen=True)
class Packaged:
    """A stack that imports the package `limits`, which lies where a test puts it."""

    hostile: Hostile
    downloads: Path
    wb: Wb

    def package(self, folder: Path, memory: str = "64Mi", extra: str = "") -> Path:
        files = {
            "kcl.mod": f'[package]\nname = "limits"\nversion = "1.0.0"\n{extra}',
            "sizes.k": f'memory = "{memory}"\n',
        }
        folder.mkdir(parents=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        return folder

    @property
    def vendored(self) -> Path:
        return self.hostile.root / "vendor" / "limits_1.0.0"

    @property
    def downloaded(self) -> Path:
        return self.downloads / "limits_1.0.0"

    def lock(self, folder: Path, *, sum_: str | None = None, version: str = "1.0.0", name: str = "limits") -> None:
        found = checksum(str(folder), OsFileSystem()) if sum_ is None else sum_
        locked = Locked(name, folder.name, version, found, OciSource("", "", version))
        self.hostile.write("kcl.mod.lock", lock_text([locked]))

    def compile(self) -> Ended:
        return self.wb("compile", "web/dev")


@pytest.fixture
def packaged(hostile: Hostile, wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packaged:
    hostile.write("kcl.mod", '[package]\nname = "repo"\n\n[dependencies]\nlimits = "1.0.0"\n')
    hostile.write(
        "web/dev/main.k",
        'import limits.sizes\n\napiVersion = "v1"\nkind = "ConfigMap"\nmetadata = {name = "web"}\n'
        "data = {memory = sizes.memory}\n",
    )
    downloads = tmp_path / "packages"
    monkeypatch.setenv("KCL_PKG_PATH", str(downloads))
    return Packaged(hostile, downloads, wb)


@pytest.mark.parametrize("place", ["vendored", "downloaded"])
def test_a_locked_package_is_used(packaged: Packaged, place: str) -> None:
    packaged.lock(packaged.package(getattr(packaged, place)))
    ended = packaged.compile()
    assert ended.code == 0 and "64Mi" in ended.out, ended.text


def _without_lock(_: Packaged, folder: Path) -> None:
    """As it is when nobody ever locked it, or the branch took the file away."""


def _without_sum(packaged: Packaged, folder: Path) -> None:
    packaged.lock(folder, sum_="")


def _of_another_version(packaged: Packaged, folder: Path) -> None:
    packaged.lock(folder, version="0.9.0")


def _of_another_package(packaged: Packaged, folder: Path) -> None:
    packaged.lock(folder, name="other")


def _empty(packaged: Packaged, folder: Path) -> None:
    packaged.hostile.write("kcl.mod.lock", "")


def _without_dependencies(packaged: Packaged, folder: Path) -> None:
    packaged.hostile.write("kcl.mod.lock", "[other]\na = 1\n")


def _changed(packaged: Packaged, folder: Path) -> None:
    packaged.lock(folder)
    (folder / "sizes.k").write_text('memory = "64Mi"\nevil = 1\n')


def _with_a_file_more(packaged: Packaged, folder: Path) -> None:
    packaged.lock(folder)
    (folder / "more.k").write_text("evil = 1\n")


def _with_a_file_less(packaged: Packaged, folder: Path) -> None:
    (folder / "more.k").write_text("a = 1\n")
    packaged.lock(folder)
    (folder / "more.k").unlink()


def _of_another_sum(packaged: Packaged, folder: Path) -> None:
    packaged.lock(folder, sum_="0" * 43 + "=")


CHANGED: list[Callable[[Packaged, Path], None]] = [_changed, _with_a_file_more, _with_a_file_less, _of_another_sum]


@pytest.mark.parametrize("place", ["vendored", "downloaded"])
@pytest.mark.parametrize("change", CHANGED)
def test_a_package_that_is_not_what_was_locked_is_refused(
    packaged: Packaged, place: str, change: Callable[[Packaged, Path], None]
) -> None:
    change(packaged, packaged.package(getattr(packaged, place)))
    for _ in range(2):
        ended = packaged.compile()
        assert ended.code != 0 and "64Mi" not in ended.out and "checksum" in ended.text, ended.text


UNVOUCHED: list[Callable[[Packaged, Path], None]] = [
    _without_lock,
    _without_sum,
    _of_another_version,
    _of_another_package,
    _empty,
    _without_dependencies,
]


@pytest.mark.parametrize("place", ["vendored", "downloaded"])
@pytest.mark.parametrize("unlock", UNVOUCHED)
def test_a_package_that_nothing_vouches_for_is_refused(
    packaged: Packaged, place: str, unlock: Callable[[Packaged, Path], None]
) -> None:
    unlock(packaged, packaged.package(getattr(packaged, place)))
    for _ in range(2):  # a result that was kept does not help it through either
        ended = packaged.compile()
        assert ended.code != 0 and "64Mi" not in ended.out
        assert "not locked" in ended.text or "without its checksum" in ended.text
        assert f"run 'kcl mod update' in {packaged.hostile.root}" in ended.text


@pytest.mark.parametrize(
    "command", [("compile", "--all", "--into", "out"), ("diff", "web/dev"), ("explain", "web/dev", "v1:ConfigMap:web")]
)
def test_no_command_takes_what_nothing_vouches_for(packaged: Packaged, command: tuple[str, ...]) -> None:
    packaged.package(packaged.vendored)
    ended = packaged.wb(*command)
    assert ended.code != 0 and "64Mi" not in ended.out and "not locked" in ended.text, ended.text


def test_a_recovery_takes_no_package_that_nothing_vouches_for(packaged: Packaged) -> None:
    packaged.package(packaged.vendored)
    packaged.hostile.write("ops/recovery.k", "import limits.sizes\n\na = sizes.memory\n")
    ended = packaged.wb("run", "ops/recovery.k")
    assert ended.code != 0 and "not locked" in ended.text, ended.text


def test_what_was_locked_and_is_unlocked_later_is_refused_then(packaged: Packaged) -> None:
    packaged.lock(packaged.package(packaged.vendored))
    assert packaged.compile().code == 0
    (packaged.hostile.root / "kcl.mod.lock").unlink()
    assert packaged.compile().code != 0


def test_a_package_that_another_package_needs_is_held_to_the_same(packaged: Packaged) -> None:
    inner = packaged.package(packaged.hostile.root / "vendor" / "inner_2.0.0")
    (inner / "kcl.mod").write_text('[package]\nname = "inner"\nversion = "2.0.0"\n')
    folder = packaged.package(packaged.vendored, extra='\n[dependencies]\ninner = "2.0.0"\n')
    (folder / "sizes.k").write_text("import inner.sizes as theirs\n\nmemory = theirs.memory\n")
    packaged.lock(folder)
    ended = packaged.compile()
    assert ended.code != 0 and "'inner'" in ended.text and "not locked" in ended.text


@pytest.mark.parametrize("name", ["more.tar.k", ".gitk.k", "x.git.k"])
def test_a_file_that_the_checksum_leaves_out_is_no_part_of_a_package(packaged: Packaged, name: str) -> None:
    folder = packaged.package(packaged.vendored)
    packaged.lock(folder)
    (folder / name).write_text('memory2 = "canary"\n')
    ended = packaged.compile()
    assert ended.code != 0 and f"a file that no checksum covers: {name}" in ended.text


def test_what_a_package_leaves_out_of_its_checksum_and_nobody_can_import_stays(packaged: Packaged) -> None:
    folder = packaged.package(packaged.vendored)
    packaged.lock(folder)
    (folder / ".github").mkdir()
    (folder / ".github" / "check.k").write_text("a = 1\n")
    (folder / ".gitignore").write_text("*.tmp\n")
    assert packaged.compile().code == 0


def test_a_package_with_a_path_needs_no_lock(packaged: Packaged) -> None:
    packaged.package(packaged.hostile.root / "libraries" / "limits")
    manifest = '[package]\nname = "repo"\n\n[dependencies]\nlimits = { path = "libraries/limits" }\n'
    packaged.hostile.write("kcl.mod", manifest)
    ended = packaged.compile()
    assert ended.code == 0 and "64Mi" in ended.out, ended.text


def kcl(packaged: Packaged, *arguments: str) -> str:
    """What the official command's own would print; ends with 0."""
    out, err = io.StringIO(), io.StringIO()
    environment = {**os.environ, "KCL_PKG_PATH": str(packaged.downloads)}
    root = packaged.hostile.root
    code = main(arguments, cwd=root, stdin=io.StringIO(), stdout=out, stderr=err, environment=environment)
    assert code == 0, err.getvalue()
    return out.getvalue()


def test_the_command_that_is_named_writes_what_is_missing(packaged: Packaged) -> None:
    """Offline: the package was downloaded before."""
    packaged.package(packaged.downloaded)
    assert packaged.compile().code != 0
    kcl(packaged, "mod", "update")
    ended = packaged.compile()
    assert ended.code == 0 and "64Mi" in ended.out, ended.text


def test_kcl_run_does_as_the_official_tool_does(packaged: Packaged) -> None:
    """It takes what is there: most packages of the official registry are locked without checksums."""
    packaged.package(packaged.downloaded)
    assert "64Mi" in kcl(packaged, "run", "web/dev/main.k")
