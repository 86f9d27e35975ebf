"""What a test leaves in the sample repository is not there for the next."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.sample import SAMPLE, SampleCopy


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> SampleCopy:
    return SampleCopy(tmp_path_factory.mktemp("copies") / "konfig")


def content(folder: Path) -> dict[str, bytes | str | None]:
    return {
        path.relative_to(folder).as_posix(): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def edit(root: Path) -> None:
    (root / "project.txt").write_text("new")


def same_time(root: Path) -> None:
    path = root / "storefront/checkout/prod/main.k"
    status = path.stat()
    path.write_text(path.read_text().replace("replicas = 4", "replicas = 9"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def no_folder(root: Path) -> None:
    shutil.rmtree(root / "storefront")


def linked(root: Path) -> None:
    shutil.rmtree(root / "models")
    (root / "models").symlink_to(SAMPLE / "models")


def swapped(root: Path) -> None:
    (root / "clusters.yaml").unlink()
    (root / "clusters.yaml").mkdir()
    (root / "clusters.yaml/x").touch()


def renamed(root: Path) -> None:
    (root / "payments").rename(root / "paid")


def gone(root: Path) -> None:
    shutil.rmtree(root)


@pytest.mark.parametrize("change", [edit, same_time, no_folder, linked, swapped, renamed, gone])
def test_a_change_is_taken_back(copy: SampleCopy, change: object) -> None:
    assert callable(change)
    change(copy.folder)
    assert content(copy.restored()) == content(SAMPLE)


def test_what_nobody_changed_stays_the_same_file(copy: SampleCopy) -> None:
    path = copy.restored() / "storefront/checkout/prod/main.k"
    before = path.stat()
    assert copy.restored() == copy.folder and path.stat() == before
