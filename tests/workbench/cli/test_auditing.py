"""The audit trail of what commands write: why, how it ended, and what is known of it elsewhere."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.workbench.cli.conftest import Place
from workbench.exit_codes import ExitCode


def trail(place: Place) -> Path:
    return place.root.parent / "state" / "audit"


async def entries(place: Place) -> list[dict[str, Any]]:
    """Oldest first."""
    found: list[dict[str, Any]] = (await place("audit", "-n", "500", "-o", "json")).json()["entries"]
    return found[::-1]


async def test_an_apply_is_in_the_trail_and_a_changed_entry_is_found(place: Place) -> None:
    await place.released("web/dev")
    entries = (await place("audit", "-o", "json")).json()["entries"]
    assert entries[-1]["action"] == "apply" and entries[-1]["confirm"] == "yes"
    assert {"create", "apply"} == {each["action"] for each in entries}
    (file,) = (Path(place.root).parent / "state" / "audit").glob("*.jsonl")
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text()
    file.write_text(text.replace('"target":"web/dev"', '"target":"web/prd"', 1))
    broken = await place("audit", "--verify")
    assert broken.code == ExitCode.ERROR and "was changed" in broken.out
    file.write_text("".join(text.splitlines(keepends=True)[:-1]))
    assert "its end is cut" in (await place("audit", "--verify")).out
    file.write_text("".join(text.splitlines(keepends=True)[1:]))
    assert "one is missing" in (await place("audit", "--verify")).out


async def test_what_is_written_says_why_and_how_it_ended(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    await place.released("web/dev", "--reason", "CHG-1")
    monkeypatch.setenv("WB_REASON", "CHG-2")
    assert (await place("destroy", "web/dev", "--confirm", "web/dev")).code == ExitCode.OK
    found = await entries(place)
    assert {each["reason"] for each in found} == {"CHG-1", "CHG-2"}
    ends = [(each["reason"], each["result"]) for each in found if each["action"] == "apply"]
    assert ends == [("CHG-1", "begun"), ("CHG-1", "succeeded"), ("CHG-2", "begun"), ("CHG-2", "succeeded")]


async def test_every_cut_that_a_release_knows_better_is_found(place: Place) -> None:
    """The head is rewritten to fit: alone, the trail cannot know."""
    await place.released("web/dev")
    assert (await place("audit", "--verify")).code == ExitCode.OK
    (file,), head = trail(place).glob("*.jsonl"), trail(place) / "head"
    lines = file.read_text().splitlines(keepends=True)
    assert len(lines) > 3
    for keep in range(1, len(lines)):
        last = json.loads(lines[keep - 1])
        file.write_text("".join(lines[:keep]))
        head.write_text(f"{last['number']} {last['hash']}\n")
        if keep % 3 == 1 or keep == len(lines) - 1:
            broken = await place("audit", "--verify")
            assert broken.code == ExitCode.ERROR and "release 1 of web/dev knows entry" in broken.out, keep
    file.write_text("".join(lines))
    last = json.loads(lines[-1])
    head.write_text(f"{last['number']} {last['hash']}\n")
    assert (await place("audit", "--anchor", f"{last['number']}:{last['hash']}")).code == ExitCode.OK
    assert (await place("audit", "--anchor", f"{last['number'] + 1}:{last['hash']}")).code == ExitCode.ERROR
    assert (await place("audit", "--anchor", "9:zz")).code == ExitCode.USAGE


async def test_of_a_trail_that_is_gone_it_is_not_said_that_nothing_was_written(place: Place) -> None:
    ended = await place("audit")
    assert ended.code == 0 and "nothing was written from this machine yet" in ended.err
    await place.released()
    (file,) = trail(place).glob("*.jsonl")
    file.write_text("")
    ended = await place("audit")
    assert ended.code == 1 and "its end is cut" in ended.out and "nothing was written" not in ended.err, ended.text
    shutil.rmtree(trail(place))
    ended = await place("audit", "-o", "json")
    assert ended.code == 1 and "its end is cut" in ended.json()["broken"], ended.text


async def test_a_damaged_trail_holds_up_no_write_and_can_be_repaired(place: Place) -> None:
    await place.released("web/dev")
    (file,), head = trail(place).glob("*.jsonl"), trail(place) / "head"
    head.write_bytes(b"\x00\xffgarbage")
    file.write_bytes(file.read_bytes() + b'{"number":9')
    await place.released("web/prod")
    assert (await place("audit", "--verify")).code == ExitCode.OK
    assert [each["result"] for each in await entries(place) if each["action"] == "audit"] == ["repaired"]

    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[2:]))
    assert (await place("audit", "--verify")).code == ExitCode.ERROR
    repaired = await place("audit", "--repair", "--verify")
    assert repaired.code == ExitCode.OK and "moved to broken-" in repaired.err
    assert "an earlier trail was broken and set aside" in repaired.out


async def test_entries_are_sent_to_syslog_and_a_dead_one_stops_what_writes(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WB_AUDIT_SYSLOG", str(tmp_path / "log"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(tmp_path / "log"))
        log.settimeout(30)
        await place.released("web/dev")
        sent = [log.recv(65536) for _ in await entries(place)]
    assert all(each.startswith(b"<134>") for each in sent)
    hashes = [json.loads(each[each.index(b"{") :])["hash"] for each in sent]
    (file,) = trail(place).glob("*.jsonl")
    assert hashes == [json.loads(each)["hash"] for each in file.read_text().splitlines()]
    before = place.names("deployments.apps", 1), place.names("deployments.apps")
    refused = await place("apply", "web/prod", "--confirm", "web/prod", "--no-watch")
    assert refused.code == ExitCode.ERROR and "cannot be sent" in refused.err
    assert (place.names("deployments.apps", 1), place.names("deployments.apps")) == before
