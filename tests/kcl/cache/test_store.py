"""A folder of entries that trusts nothing it did not write."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcl.cache.store import Store, folder_for

KEY = "0123abcd"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "above" / "kept"))


def _entry(store: Store) -> Path:
    (only,) = Path(store.folder).iterdir()
    return only


def test_what_was_kept_is_found_again(store: Store) -> None:
    assert store.read(KEY) is None
    assert store.write(KEY, b"content")
    assert store.read(KEY) == b"content"
    assert store.read("another") is None
    assert store.usage()[0] == 1


def test_folder_and_entries_are_for_their_owner_alone(store: Store) -> None:
    store.write(KEY, b"content")
    assert Path(store.folder).stat().st_mode & 0o777 == 0o700
    assert _entry(store).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"", b"x", b"kclcache2\n", b"kclcache2\n" + bytes(32) + b"content"])
def test_what_is_damaged_or_foreign_is_not_there_and_is_written_anew(store: Store, damage: bytes) -> None:
    store.write(KEY, b"content")
    _entry(store).write_bytes(damage)
    assert store.read(KEY) is None
    assert store.write(KEY, b"new")
    assert store.read(KEY) == b"new"


def test_an_entry_under_another_name_is_not_taken_for_it(store: Store) -> None:
    store.write(KEY, b"content")
    _entry(store).rename(Path(store.folder) / "other.entry")
    assert store.read("other") is None


def test_a_cut_entry_is_not_there(store: Store) -> None:
    store.write(KEY, b"content" * 100)
    entry = _entry(store)
    entry.write_bytes(entry.read_bytes()[:-1])
    assert store.read(KEY) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such modes")
def test_a_folder_or_entry_that_others_may_write_is_not_used(store: Store) -> None:
    store.write(KEY, b"content")
    entry = _entry(store)
    entry.chmod(0o666)
    assert store.read(KEY) is None
    entry.chmod(0o600)
    Path(store.folder).chmod(0o777)
    assert store.read(KEY) is None
    assert not store.write("new", b"content")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="links need rights on Windows")
def test_links_are_not_followed(store: Store, tmp_path: Path) -> None:
    store.write(KEY, b"content")
    elsewhere = tmp_path / "elsewhere"
    _entry(store).rename(elsewhere)
    (Path(store.folder) / f"{KEY}.entry").symlink_to(elsewhere)
    assert store.read(KEY) is None
    linked = Store(str(tmp_path / "linked"))
    Path(linked.folder).symlink_to(store.folder)
    assert not linked.write(KEY, b"content")


def test_entries_used_longest_ago_go_when_there_is_too_much(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "kept"), most_bytes=1_000)
    for number in range(4):
        store.write(f"k{number}", bytes(200))
        os.utime(Path(store.folder) / f"k{number}.entry", (number, number))
    assert store.read("k0") is not None  # and so it was used just now
    store.write("last", bytes(300))
    store.shrink()
    assert store.usage()[1] <= 1_000
    assert store.read("k1") is None
    assert store.read("k0") is not None
    assert not store.write("too large", bytes(2_000))


def test_clearing_leaves_nothing_and_tells_what_was_there(store: Store) -> None:
    store.write(KEY, b"content")
    foreign = Path(store.folder) / "notes.txt"
    foreign.write_text("mine")
    assert store.clear() == (1, len(b"kclcache2\n") + 32 + len(b"content"))
    assert store.usage() == (0, 0)
    assert foreign.exists()


def test_an_entry_that_vanishes_while_they_are_listed_hides_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        store.write(f"k{number}", b"content")
    opened: list[Iterator[os.DirEntry[str]]] = []

    @contextmanager
    def racing(folder: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        with scandir(folder) as listed:
            opened.append(remove_first(listed))
            yield opened[0]

    def remove_first(listed: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        for number, each in enumerate(listed):
            if number == 0:
                os.unlink(each.path)
            yield each

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", racing)
    assert store.usage()[0] == 2
    assert len(opened) == 1


def test_many_processes_write_one_entry_and_it_is_always_whole(store: Store) -> None:
    store.write(KEY, b"0" * 50_000)
    code = (
        "import sys; from kcl.cache.store import Store; s = Store(sys.argv[1])\n"
        "for i in range(60): s.write(sys.argv[2], bytes([i]) * 50_000)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, store.folder, KEY]) for _ in range(3)]
    while any(each.poll() is None for each in writers):
        content = store.read(KEY)
        assert content is not None
        assert len(content) == 50_000
        assert len(set(content)) == 1
    assert [each.wait(timeout=60) for each in writers] == [0, 0, 0]
    assert store.usage()[0] == 1


def test_the_folder_is_the_platforms_unless_told_otherwise(tmp_path: Path) -> None:
    assert folder_for({"KCL_RUN_CACHE": "off", "HOME": "/h"}) is None
    assert folder_for({"KCL_RUN_CACHE": str(tmp_path)}) == str(tmp_path)
    assert folder_for({}) is None
    if sys.platform == "linux":
        assert folder_for({"HOME": "/h"}) == "/h/.cache/konfig-workbench/kcl"
        assert folder_for({"HOME": "/h", "XDG_CACHE_HOME": "/x"}) == "/x/konfig-workbench/kcl"
