"""The audit trail: a chain that shows what was changed, survives crashes, and takes writers side by side."""

from __future__ import annotations

import json
import os
import threading
import tracemalloc
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.audit import Actor, Anchor, AuditTrail, chain
from workbench.audit import trail as audit
from workbench.engine.errors import ReleaseFailure

ANN = Actor("ann", "box", "cli")
NOW = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)
LATER = datetime(2026, 2, 1, 0, 1, tzinfo=UTC)


def filled(folder: Path) -> AuditTrail:
    trail = AuditTrail(folder)
    for number in range(3):
        trail.append(ANN, NOW, action="delete", plan="p", target=f"shop/Pod/web-{number}", result="done")
    trail.append(ANN, LATER, action="apply", plan="q", target="shop/prod", result="succeeded", confirm="shop/prod")
    return trail


def test_entries_are_kept_newest_first_and_followed_over_months(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    assert [each.target for each in trail.entries(limit=2)] == ["shop/prod", "shop/Pod/web-2"]
    assert [each.number for each in trail.entries()] == [4, 3, 2, 1]
    assert trail.verify().is_intact and trail.verify().entries == 4
    assert sorted(each.name for each in trail.folder.iterdir()) == ["2026-01.jsonl", "2026-02.jsonl", "head"]
    assert {each.stat().st_mode & 0o777 for each in trail.folder.iterdir()} == {0o600}


def test_an_empty_trail_is_intact(tmp_path: Path) -> None:
    assert AuditTrail(tmp_path).verify().is_intact
    assert AuditTrail(tmp_path).entries() == ()


@pytest.mark.parametrize("line", range(3))
def test_every_change_of_any_entry_is_found(tmp_path: Path, line: int) -> None:
    trail = filled(tmp_path)
    file = trail.folder / "2026-01.jsonl"
    lines = file.read_text().splitlines()
    for name, value in json.loads(lines[line]).items():
        changed = {**json.loads(lines[line]), name: value + 1 if isinstance(value, int) else f"{value}x"}
        file.write_text("\n".join([*lines[:line], json.dumps(changed), *lines[line + 1 :]]) + "\n")
        check = trail.verify()
        assert not check.is_intact and check.broken.startswith(f"2026-01.jsonl:{line + 1}"), (name, check)


def test_what_is_taken_out_or_cut_off_is_missed(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    january, february = trail.folder / "2026-01.jsonl", trail.folder / "2026-02.jsonl"
    whole, end = january.read_text(), february.read_text()
    january.write_text("".join(whole.splitlines(keepends=True)[:-1]))
    assert "2026-02.jsonl:1" in trail.verify().broken
    january.write_text(whole)
    february.unlink()
    assert "its end is cut" in trail.verify().broken
    february.write_text(end)
    assert trail.verify().is_intact


def test_a_crash_between_entry_and_head_breaks_nothing(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    head = (trail.folder / "head").read_text()
    trail.append(ANN, LATER, action="apply", plan="r", target="shop/dev", result="begun")
    (trail.folder / "head").write_text(head)
    trail.append(ANN, LATER, action="apply", plan="r", target="shop/dev", result="succeeded")
    assert trail.verify().is_intact and trail.verify().entries == 6


def content(folder: Path) -> dict[Path, bytes]:
    return {each: each.read_bytes() for each in folder.iterdir() if each.is_file()}


def restored(saved: dict[Path, bytes]) -> None:
    for path, data in saved.items():
        path.write_bytes(data)


def test_a_write_that_is_torn_anywhere_costs_itself_and_nothing_else(tmp_path: Path) -> None:
    """Whatever a crash left of an entry and of the head after it: the next write follows, and the trail is intact."""
    trail = filled(tmp_path)
    before = content(trail.folder)
    trail.append(ANN, LATER, action="apply", plan="r", target="shop/dev", result="begun")
    file, head = trail.folder / "2026-02.jsonl", trail.folder / "head"
    whole, new_head = file.read_bytes(), head.read_bytes()
    old = len(before[file])
    for length in [*range(old, len(whole), 37), len(whole) - 2, len(whole) - 1, len(whole)]:
        for torn_head in (before[head], b"", new_head[:1], new_head[:40], b"\xff\xfe garbage", b"9 not-a-hash\n"):
            restored(before)
            file.write_bytes(whole[:length])
            head.write_bytes(torn_head)
            trail.append(ANN, LATER, action="apply", plan="s", target="shop/test", result="begun")
            check = trail.verify()
            assert check.is_intact, (length, torn_head, check)
            targets = [each.target for each in reversed(trail.entries())]
            assert targets[:4] == ["shop/Pod/web-0", "shop/Pod/web-1", "shop/Pod/web-2", "shop/prod"]
            assert targets[-1] == "shop/test" and targets.count("shop/test") == 1
            repaired = [each for each in trail.entries() if each.result == "repaired"]
            assert len(repaired) == (torn_head not in (before[head], b"")), "a head that is made again is said to be"


def test_a_full_disk_at_any_byte_leaves_a_trail_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trail = filled(tmp_path)
    real = os.write
    for room in (0, 1, 50, 200):
        monkeypatch.setattr(os, "write", lambda handle, data, room=room: real(handle, data[:room]))
        with pytest.raises(ReleaseFailure, match="No space left"):
            trail.append(ANN, LATER, action="apply", plan="r", target="shop/dev", result="begun")
        assert trail.verify().is_intact
        monkeypatch.undo()
        trail.append(ANN, LATER, action="apply", plan="r", target="shop/dev", result="begun")
    assert trail.verify() == replace(trail.verify(), entries=8, broken="", torn=())


def test_a_torn_line_in_the_middle_is_named_and_breaks_nothing(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    file = trail.folder / "2026-01.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + b'{"number": 5, "at"\n' + b"".join(lines[1:]))
    assert trail.verify().is_intact and trail.verify().torn == ("2026-01.jsonl:2",)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(-900, 900), max_size=8))
def test_a_clock_may_be_set_to_anything(days: list[int]) -> None:
    with TemporaryDirectory() as folder:
        trail = AuditTrail(Path(folder))
        for number, each in enumerate(days):
            trail.append(ANN, NOW + timedelta(days=each), action="delete", plan="p", target=str(number))
        assert trail.verify().is_intact and trail.verify().entries == len(days)
        assert [each.target for each in reversed(trail.entries())] == [str(number) for number in range(len(days))]


def test_entries_that_a_clock_put_into_an_earlier_month_still_follow(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    february = trail.folder / "2026-02.jsonl"
    february.rename(trail.folder / "2025-12.jsonl")
    assert trail.verify().is_intact


def rewritten(trail: AuditTrail, keep: int) -> None:
    """Cuts all but the oldest entries and writes the head that fits, as one does who knows how."""
    left = keep
    for path in sorted(trail.folder.glob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)[:left]
        left -= len(lines)
        path.write_bytes(b"".join(lines))
        if lines:
            last = json.loads(lines[-1])
            (trail.folder / "head").write_text(f"{last['number']} {last['hash']}\n")


def test_what_is_cut_with_a_rewritten_head_is_missed_by_any_later_anchor(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    anchors = []
    for number in range(3):
        trail.append(ANN, LATER, action="apply", plan="r", target=f"shop/{number}")
        anchors.append(Anchor.parse(trail.verify().tip, f"release {number}"))
    assert trail.verify(anchors).is_intact
    saved = content(trail.folder)
    for keep in range(1, 7):
        rewritten(trail, keep)
        assert trail.verify().is_intact, "alone it cannot know"
        for anchor in anchors:
            check = trail.verify([anchor])
            assert check.is_intact is (anchor.number <= keep), (keep, anchor)
            assert check.is_intact or anchor.where in check.broken
        restored(saved)


def test_a_chain_that_was_written_again_is_found_by_any_anchor(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    anchor = Anchor.parse(trail.verify().tip, "release shop/prod 7")
    forged = AuditTrail(tmp_path / "forged")
    for each in reversed(trail.entries()):
        forged.append(ANN, each.at, action=each.action, plan=each.plan, target=each.target, result="forged")
    assert forged.verify().is_intact
    assert "another entry than release shop/prod 7 knows" in forged.verify([anchor]).broken


def test_a_broken_trail_is_set_aside_and_a_new_one_says_so(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    old = Anchor.parse(trail.verify().tip, "a release of before")
    (trail.folder / "2026-02.jsonl").unlink()
    assert "its end is cut" in trail.verify().broken
    done = trail.repair(ANN, LATER)
    assert "its end is cut" in done and "3 entries were intact" in done
    assert trail.verify([old]).is_intact and trail.verify().first == 5
    (entry,) = trail.entries()
    assert (entry.number, entry.action, entry.result, entry.detail) == (5, "audit", "begun again", done)
    (aside,) = trail.folder.glob("broken-*")
    assert len((aside / "2026-01.jsonl").read_text().splitlines()) == 3
    assert trail.repair(ANN, LATER) == ""
    trail.append(ANN, LATER, action="apply", plan="r", target="shop/dev")
    assert trail.verify().is_intact and trail.verify().entries == 2


def test_a_head_of_garbage_is_red_until_it_is_made_again(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    (trail.folder / "head").write_text("?")
    assert "head cannot be read" in trail.verify().broken
    assert "made again from entry 4" in trail.repair(ANN, LATER)
    assert trail.verify().is_intact and trail.entries(limit=1)[0].result == "repaired"


def test_every_entry_goes_to_the_sink_once(tmp_path: Path) -> None:
    sent: list[bytes] = []
    trail = AuditTrail(tmp_path, sent.append)
    for number in range(3):
        trail.append(ANN, NOW, action="delete", plan="p", target=str(number))
    assert [json.loads(each)["hash"] for each in sent] == [each.hash for each in reversed(trail.entries())]


def test_writers_side_by_side_make_one_chain(tmp_path: Path) -> None:
    def write(name: str) -> None:
        trail = AuditTrail(tmp_path)
        for _ in range(20):
            trail.append(Actor(name, "box", "cli"), NOW, action="delete", plan="p", target="x")

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    check = AuditTrail(tmp_path).verify()
    assert check.is_intact and check.entries == 80


def test_writers_need_not_wait_while_a_trail_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trail = filled(tmp_path)
    real, waited = chain.follow, list[bool]()

    def slow(lines: Iterable[tuple[str, bytes]], sought: Collection[int]) -> chain.Chain:
        entry = {"action": "delete", "plan": "p", "target": "x"}
        writer = threading.Thread(target=lambda: AuditTrail(tmp_path).append(ANN, LATER, **entry), daemon=True)
        writer.start()
        writer.join(5)
        waited.append(writer.is_alive())
        return real(lines, sought)

    monkeypatch.setattr(audit, "follow", slow)
    assert (trail.verify().is_intact, trail.verify().entries) == (True, 5), "of what there was when it began"
    assert waited == [False, False]


def test_a_trail_that_is_repaired_while_it_is_verified_is_called_neither_intact_nor_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trail = filled(tmp_path)
    real = chain.follow

    def set_aside(lines: Iterable[tuple[str, bytes]], sought: Collection[int]) -> chain.Chain:
        (trail.folder / "2026-01.jsonl").rename(tmp_path / "aside")
        return real(lines, sought)

    monkeypatch.setattr(audit, "follow", set_aside)
    with pytest.raises(ReleaseFailure, match="taken away while it was read"):
        trail.verify()


def long_trail(folder: Path, entries: int) -> AuditTrail:
    """As many appends would leave it, without waiting for a disk at each."""
    trail, previous, lines = AuditTrail(folder), chain.FIRST, list[bytes]()
    for number in range(1, entries + 1):
        content = {"number": number, "at": NOW.isoformat(), "user": "ann", "host": "box", "origin": "cli"}
        content |= {"action": "update", "plan": "p", "target": f"shop/Pod/web-{number}", "result": "done"}
        content["previous"] = previous
        previous = chain.digest(content)
        lines.append(json.dumps({**content, "hash": previous}).encode() + b"\n")
    trail.folder.mkdir(parents=True)
    (trail.folder / "2026-01.jsonl").write_bytes(b"".join(lines))
    (trail.folder / "head").write_text(f"{entries} {previous}\n")
    return trail


def test_a_long_trail_is_followed_and_listed_without_being_held(tmp_path: Path) -> None:
    trail = long_trail(tmp_path, 4_000)
    size = (trail.folder / "2026-01.jsonl").stat().st_size
    tracemalloc.start()
    try:
        check = trail.verify([Anchor.parse(f"2000:{'0' * 64}", "a note")])
        newest = trail.entries(limit=3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert check.broken == "2026-01.jsonl:2000 is another entry than a note knows: the trail was written again"
    assert check.entries == 4_000 and [each.number for each in newest] == [4_000, 3_999, 3_998]
    assert peak < size / 2


def test_lines_without_end_and_without_number_are_told_and_not_held(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    with (trail.folder / "2026-02.jsonl").open("ab") as file:
        file.write(b"x" * 3 * 1024 * 1024 + b"\n" + b"?\n" * (chain.MOST_TORN + 4))
    trail.append(ANN, LATER, action="delete", plan="p", target="shop/Pod/web-9", result="done")
    check = trail.verify()
    assert check.is_intact and check.entries == 5
    assert (len(check.torn), check.more_torn) == (chain.MOST_TORN, 5)
    assert [each.number for each in trail.entries()] == [5, 4, 3, 2, 1]


def test_a_trail_in_more_pieces_than_are_looked_at_is_not_called_intact() -> None:
    def line(number: int) -> bytes:
        content = {"number": number, "previous": chain.FIRST}
        return json.dumps({**content, "hash": chain.digest(content)}).encode()

    found = chain.follow(((f"f:{number}", line(1)) for number in range(9)), most_runs=4)
    assert found.broken == "f:4 begins one piece more than the 4 that are looked at"


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40)), st.integers(1, 30))
def test_lines_are_the_same_from_either_end(lines: list[bytes], block: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "_TAIL_BYTES", block)
        file = Path(folder) / "lines"
        file.write_bytes(b"\n".join(lines))
        length = audit._Length(file, file.stat().st_ino, file.stat().st_size)
        forth = [line.rstrip(b"\n") for _, line in audit._lines(length)]
        assert list(audit._lines_back(file)) == forth[::-1]
        patch.setattr(audit, "_MOST_LINE_BYTES", 3 * block)
        back = [each for each in audit._lines_back(file) if len(each) <= 3 * block]
        assert back == [each for each in forth[::-1] if len(each) <= 3 * block]
