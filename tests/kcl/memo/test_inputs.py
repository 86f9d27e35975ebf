"""When the stamp of a file tells anything, by a clock that is handed in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kcl.memo.contents import State, look_again, state_of
from kcl.memo.inputs import (
    SETTLED_COARSELY_NANOSECONDS,
    SETTLED_NANOSECONDS,
    Clock,
    Leads,
    Moment,
    Ways,
    direct_stamps,
    hold,
    is_comparable,
    settled,
    settled_each,
    stamp,
    stamp_as_it_is,
    stamp_of,
    stamps,
)
from kcl.source import OsFileSystem
from tests.kcl.clocks import let_tick

_SECOND = 1_000_000_000
_NO_WAYS: Ways = ({}, (), frozenset())
_TICKED = 1_700_000_000 * _SECOND + 4_000_000
"""Stamped by a clock that ticks often; the other by one that may tick once a second."""
_COARSE = 1_700_000_000 * _SECOND


def _at(moment: int) -> Clock:
    return lambda: (moment, moment)


def _found(written: int, changed: int) -> os.stat_result:
    times = {"st_mtime_ns": written, "st_ctime_ns": changed}
    return os.stat_result((0o100644, 5, 7, 1, 0, 0, 3, 0, 0, 0), times)


@pytest.mark.parametrize(
    ("written", "changed", "age", "is_told"),
    [
        (_TICKED, _TICKED, SETTLED_NANOSECONDS, True),
        (_TICKED, _TICKED, SETTLED_NANOSECONDS - 1, False),
        (_TICKED, _TICKED, -_SECOND, False),  # in the time to come
        (_TICKED - 3600 * _SECOND, _TICKED, SETTLED_NANOSECONDS - 1, False),  # put back
        (_TICKED + 3600 * _SECOND, _TICKED, SETTLED_NANOSECONDS, False),  # put forward
        (_COARSE, _COARSE, SETTLED_NANOSECONDS, False),
        (_COARSE, _COARSE, SETTLED_COARSELY_NANOSECONDS - 1, False),
        (_COARSE, _COARSE, SETTLED_COARSELY_NANOSECONDS, True),
        (_COARSE, _TICKED, SETTLED_NANOSECONDS + 10_000_000, False),  # the time of writing may be all there is
        (_COARSE - 3600 * _SECOND, _TICKED, SETTLED_NANOSECONDS, True),  # as git and tar put them back
    ],
)
def test_a_stamp_tells_something_once_another_write_has_another_time(
    written: int, changed: int, age: int, is_told: bool
) -> None:
    found = stamp_of(_found(written, changed), _at(changed + age))
    assert found == ((written, changed, 3, 5, 7) if is_told else None)


@pytest.mark.parametrize("age", [0, SETTLED_NANOSECONDS // 2, SETTLED_NANOSECONDS, 3 * _SECOND])
def test_every_way_to_take_stamps_goes_by_the_one_rule(age: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    paths = [str(tmp_path / name) for name in ("file", "link", "nothing")] + [str(tmp_path)]
    clock = _at(max(os.stat(path).st_ctime_ns for path in paths if os.path.exists(path)) + age)
    alone = {path: stamp(path, clock) for path in paths}
    assert stamps(paths, clock) == alone
    direct, links, folders = direct_stamps(paths, clock)
    assert direct == {path: found for path, found in alone.items() if path not in links}
    assert (links, folders) == ([paths[1]], [paths[3]])
    started = clock()
    each = settled_each(paths, started, clock)
    # what is not there may just have been taken away: its folder tells
    assert each == {**alone, paths[2]: None if alone[paths[3]] is None else False}
    whole = settled(paths, started, clock=clock)
    assert whole == (None if None in each.values() else each)
    assert whole is None or hold(whole, Leads().ways(whole))


def test_folders_lead_where_links_say(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "a/up").symlink_to("..")
    folders = ["/", "/tmp", str(tmp_path), *(str(tmp_path / name) for name in ("a", "a/b", "link/b", "link/up/a/no/x"))]
    assert [Leads().of(each) for each in folders] == [os.path.realpath(each) for each in folders]
    before = Leads().around([str(tmp_path / "a/b/file")])
    assert Leads().hold(before)
    (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "a").symlink_to("c")
    assert not Leads().hold(before)


@pytest.mark.parametrize("moved", ["a", "a/b", "a/b/c", "link"])
@pytest.mark.parametrize("has_stamps", [False, True], ids=["files alone", "with their folders"])
def test_a_way_that_leads_elsewhere_does_not_hold(moved: str, has_stamps: bool, tmp_path: Path) -> None:
    """The file itself is the very same, with all its times: only the way to it is another."""
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/file").write_text("x")
    (tmp_path / "link").symlink_to("a/b")
    paths = [str(tmp_path / name) for name in ("a/b/c/file", "link/c/file", "a/b/c/nothing")]
    folders = [str(tmp_path / name) for name in ("a/b/c", "link", "a/nothing")] if has_stamps else []
    before = {path: found for path in (*paths, *folders) if (found := stamp_as_it_is(path)) is not None}
    ways = Leads().ways(before)
    assert hold(before, ways)
    way = tmp_path / moved
    way.rename(tmp_path / "elsewhere")
    way.symlink_to("elsewhere" if way.parent == tmp_path else tmp_path / "elsewhere")
    assert (tmp_path / "a/b/c/file").read_text() == (tmp_path / "link/c/file").read_text() == "x"
    leads_to_the_same = moved == "link"
    assert hold(before, ways) is leads_to_the_same


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text("y"),
        lambda file: file.chmod(0o600),
        lambda file: file.unlink(),
        lambda file: (file.with_name("other").write_text("y"), file.with_name("other").replace(file)),
        lambda file: (file.unlink(), file.mkdir()),
        lambda file: (file.rename(file.with_name("other")), file.symlink_to("other")),
    ],
    ids=["rewritten", "mode", "removed", "replaced", "a folder", "a link"],
)
def test_no_change_has_the_stamp_of_before_whatever_times_are_put_back(
    change: Callable[[Path], object], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    before, times = stamp_as_it_is(str(file)), file.stat()
    let_tick(tmp_path)
    change(file)
    if file.exists():
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert stamp_as_it_is(str(file)) != before
    assert before is not None and not hold({str(file): before}, _NO_WAYS)


def test_times_tell_nothing_once_the_clock_was_set_back() -> None:
    began: Moment = (1_000 * _SECOND, 5 * _SECOND)
    hour = 3600 * _SECOND
    assert is_comparable(began, (began[0] + _SECOND, began[1] + _SECOND))
    assert is_comparable(began, (began[0] + hour, began[1] + _SECOND)), "set forward, or asleep"
    assert not is_comparable(began, (began[0] - hour + _SECOND, began[1] + _SECOND))
    assert not is_comparable(began, (began[0], began[1] + SETTLED_NANOSECONDS))


def test_nothing_is_settled_that_a_run_read_while_the_clock_was_set_back(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    later = os.stat(tmp_path / "file").st_ctime_ns + 10 * _SECOND
    started = (later, 0)
    assert settled_each([str(tmp_path / "file")], started, lambda: (later + _SECOND, _SECOND)) != {
        str(tmp_path / "file"): None
    }
    assert settled_each([str(tmp_path / "file")], started, lambda: (later - _SECOND, _SECOND)) == {
        str(tmp_path / "file"): None
    }


def test_content_is_read_again_only_where_the_stamp_is_another(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    clock = _at(os.stat(file).st_ctime_ns + 10 * _SECOND)
    first = look_again(str(file), State(None, ""), OsFileSystem(), clock)
    told = State(first.stamp, "believed")
    assert look_again(str(file), told, OsFileSystem(), clock) is told
    os.utime(file)
    again = look_again(str(file), told, OsFileSystem(), clock)
    assert again.digest == first.digest, "as after a fresh checkout"
    assert state_of(*first.plain()) == first


def test_folders_and_what_is_neither_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    digests = {
        name: look_again(str(tmp_path / name), State(None, ""), OsFileSystem()).digest
        for name in ("folder", "pipe", "nothing")
    }
    assert len(set(digests.values())) == 3
    (tmp_path / "folder" / "a").touch()
    assert look_again(str(tmp_path / "folder"), State(None, ""), OsFileSystem()).digest != digests["folder"]


@pytest.mark.parametrize("levels", [1_500, 20_000])
def test_a_way_of_thousands_of_folders_leads_where_it_says(levels: int) -> None:
    assert Leads().of("/a" * levels) == "/a" * levels
