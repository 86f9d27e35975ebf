"""The audit trail: a chain that shows what was changed, survives crashes, and takes writers side by side."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from workbench.audit import Actor, AuditTrail

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


def test_half_a_line_is_told_and_what_follows_is_whole(tmp_path: Path) -> None:
    trail = filled(tmp_path)
    with (trail.folder / "2026-02.jsonl").open("a") as file:
        file.write('{"number": 5, "at"')
    trail.append(ANN, LATER, action="apply", plan="r", target="shop/dev", result="begun")
    assert [each.target for each in trail.entries(limit=1)] == ["shop/dev"]
    assert trail.verify().broken == "2026-02.jsonl:2 is not an entry"


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
