"""What a cluster has after a write, held against the change that was approved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Address, Basis, FieldPath, KubernetesId
from tests.workbench.engine.world import config_map, deployment, spec_of
from workbench.engine.changes import Change, ChangeClass, FieldChange, Op
from workbench.engine.diff import differences
from workbench.engine.events import Action
from workbench.engine.spec import SourceSite
from workbench.engine.taken import not_as_approved

CONTAINERS: FieldPath = ("spec", "template", "spec", "containers")
OWNER: FieldPath = ("metadata", "labels", "workbench.konfig.io/stack")
NONCE: FieldPath = ("metadata", "annotations", "nonce")
SOURCE = (SourceSite(Path("/repo/main.k"), 1, 1, "literal"),)


def otherwise(applied: dict[str, Any], live: dict[str, Any], *fields: FieldChange) -> list[FieldPath]:
    (resource,) = spec_of(applied)
    address = Address("hz", KubernetesId("v1", "ConfigMap", "shop", "any"))
    change = Change(address, Action.UPDATE, None, resource, fields=fields, basis=Basis.DRY_RUN)
    return list(not_as_approved(change, resource, live))


def test_elements_that_only_change_places_are_as_approved() -> None:
    before, after = deployment("web"), deployment("web")
    two = [{"name": "web", "image": "web:1"}, {"name": "log", "image": "log:1"}]
    before["spec"]["template"]["spec"]["containers"] = two
    after["spec"]["template"]["spec"]["containers"] = two[::-1]
    (moved,) = differences(before, after, lambda path: ("name",) if path == CONTAINERS else ())
    change = FieldChange(moved.path, Op.CHANGE, ChangeClass.INTENDED, moved.before, moved.after, source=SOURCE)
    assert otherwise(after, after, change) == []


@pytest.mark.parametrize("is_configured", [True, False])
def test_what_a_webhook_writes_anew_each_time_is_looked_at_only_where_it_is_configured(is_configured: bool) -> None:
    applied = config_map("any", {})
    if is_configured:
        applied["metadata"]["annotations"] = {"nonce": "1"}
    live = config_map("any", {})
    live["metadata"]["annotations"] = {"nonce": "3"}
    change = FieldChange(NONCE, Op.CHANGE, ChangeClass.DRIFT, "0", "1", source=SOURCE)
    assert otherwise(applied, live, change) == ([NONCE] if is_configured else [])


def test_a_label_of_ownership_that_is_stripped_again_is_not_as_approved() -> None:
    applied = config_map("any", {})
    applied["metadata"]["labels"] = {OWNER[-1]: "prod"}
    assert otherwise(applied, config_map("any", {}), FieldChange(OWNER, Op.ADD, ChangeClass.DRIFT, None, "prod")) == [
        OWNER
    ]


def test_a_field_of_others_that_was_to_be_taken_away_and_stays_is_not_as_approved() -> None:
    live = config_map("any", {"theirs": "1"})
    path = ("data", "theirs")
    assert otherwise(config_map("any", {}), live, FieldChange(path, Op.REMOVE, ChangeClass.DRIFT, "1", None)) == [path]
