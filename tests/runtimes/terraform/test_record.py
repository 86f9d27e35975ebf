"""What is written down about an apply, and what it leaves in doubt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import TerraformId
from runtimes.terraform import record
from runtimes.terraform.events import ApplyHook, Diagnosed, Event, Phase
from runtimes.terraform.folder import Folder
from runtimes.terraform.process import ProcessMark
from runtimes.terraform.record import Creation, Doubt, Record, candidates

BUCKET = TerraformId("sandbox", "sandbox", "sandbox_bucket", "invoices")
CREATION = Creation(BUCKET, "sandbox_bucket.invoices", ("invoices",))
BEGUN = "2026-11-21T14:04:52Z"


def hook(phase: Phase, action: str = "create", id_value: str = "") -> ApplyHook:
    return ApplyHook(phase, "sandbox_bucket.invoices", action, BEGUN, 0.0, id_value)


CRASH = Diagnosed({"severity": "error", "summary": "Plugin did not respond", "address": "sandbox_bucket.invoices"})
NAMELESS = Diagnosed({"severity": "error", "summary": "Plugin did not respond"})
REFUSED = Diagnosed({"severity": "error", "summary": "Quota exceeded", "address": "sandbox_bucket.invoices"})


@pytest.mark.parametrize(
    ("events", "is_known", "doubts"),
    [
        ([], False, ()),
        ([hook(Phase.STARTED)], False, (Doubt(CREATION, BEGUN),)),
        ([hook(Phase.STARTED)], True, ()),
        ([hook(Phase.STARTED), hook(Phase.COMPLETED, id_value="invoices")], True, ()),
        # made, and lost with the state before that was written
        (
            [hook(Phase.STARTED), hook(Phase.COMPLETED, id_value="b-7")],
            False,
            (Doubt(Creation(BUCKET, "sandbox_bucket.invoices", ("b-7", "invoices")), BEGUN),),
        ),
        ([hook(Phase.STARTED), hook(Phase.ERRORED), REFUSED], False, ()),
        ([hook(Phase.STARTED), hook(Phase.ERRORED), NAMELESS], False, (Doubt(CREATION, BEGUN),)),
        ([hook(Phase.STARTED), hook(Phase.ERRORED), CRASH], False, (Doubt(CREATION, BEGUN),)),
        # of a replacement, the deletion alone was begun
        ([hook(Phase.STARTED, "delete")], False, ()),
        (
            [hook(Phase.STARTED, "delete"), hook(Phase.COMPLETED, "delete"), hook(Phase.STARTED)],
            False,
            (Doubt(CREATION, BEGUN),),
        ),
    ],
)
def test_what_may_have_been_created_without_the_state_knowing(
    events: list[Event], is_known: bool, doubts: tuple[Doubt, ...]
) -> None:
    assert record.doubts([CREATION], events, lambda id_: is_known) == doubts


STARTED, MADE = hook(Phase.STARTED), hook(Phase.COMPLETED, id_value="b-8")
MADE_ALIKE = hook(Phase.COMPLETED, id_value="b-7")


@pytest.mark.parametrize(
    ("former", "events", "has", "serial", "is_outlived"),
    [
        ("b-7", [STARTED], "b-7", 5, True),
        ("b-7", [STARTED, MADE], "b-7", 5, True),
        ("b-7", [STARTED, MADE_ALIKE], "b-7", 5, True),
        # written after another resource was done, and before this one was
        ("b-7", [STARTED], "b-7", 6, True),
        ("b-7", [STARTED, MADE], "b-7", 6, True),
        # the state has the new one
        ("b-7", [STARTED, MADE], "b-8", 6, False),
        ("b-7", [STARTED, MADE_ALIKE], "b-7", 6, False),
        # nothing new was begun, or what was there stays until the new one is
        ("b-7", [], "b-7", 5, False),
        ("b-7", [hook(Phase.STARTED, "delete")], "b-7", 5, False),
        ("", [STARTED], "b-7", 5, False),
        ("b-7", [STARTED], None, 5, False),
    ],
)
def test_what_is_no_more_does_not_hide_what_was_begun_after_it(
    former: str, events: list[Event], has: str | None, serial: int, is_outlived: bool
) -> None:
    planned = replace(CREATION, former=former)
    opened = Record(ProcessMark(1, "2", "here"), BEGUN, (planned,), {}, (), serial=5)
    identities = {BUCKET: has} if has is not None else {}
    found = record.outlived(opened, events, identities, serial)
    assert found == ({CREATION.address} if is_outlived else frozenset())


def test_a_doubt_stays_until_the_state_knows_the_resource() -> None:
    opened = Record(ProcessMark(1, "2", "here"), BEGUN, (), {}, (Doubt(CREATION, "earlier"),))
    assert opened.closed([], lambda id_: False).doubts == (Doubt(CREATION, "earlier"),)
    assert opened.closed([], lambda id_: True).doubts == ()
    again = Record(opened.process, BEGUN, (CREATION,), {}, opened.doubts)
    assert again.closed([hook(Phase.STARTED)], lambda id_: False).doubts == (Doubt(CREATION, BEGUN),)


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert record.load(folder) == record.NOTHING
    written = Record(
        ProcessMark(41, "77", "here"),
        BEGUN,
        (CREATION,),
        {"sandbox_bucket.invoices": BUCKET},
        (Doubt(replace(CREATION, former="b-6"), "earlier"),),
        7,
    )
    record.save(folder, written)
    assert record.load(folder) == written
    assert folder.run.stat().st_mode & 0o777 == 0o600
    closed = written.closed([], lambda id_: True)
    record.save(folder, closed)
    assert not record.load(folder).is_open


@pytest.mark.parametrize(
    ("planned", "masks", "texts"),
    [
        ({"name": "orders", "size": 4}, {}, ("orders",)),
        ({"id": "orders-7", "name": "orders"}, {}, ("orders-7", "orders")),
        ({"db_cluster_identifier": "main", "engine": "x"}, {}, ("main",)),
        ({"zone": "a.example", "name": "www", "type": "A"}, {}, ("a.example/www/A", "www")),
        # unknown ones are absent, secret ones are left out
        ({"name": "orders"}, {"name": True}, ()),
        ({"name": "orders"}, True, ()),
        ({"token_id": "abc", "name": ""}, {}, ()),
        ({"name": None, "bucket": 3}, None, ()),
    ],
)
def test_by_what_a_created_resource_may_be_found(planned: dict[str, Any], masks: Any, texts: tuple[str, ...]) -> None:
    assert candidates(planned, masks) == texts
