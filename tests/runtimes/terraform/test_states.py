"""States in both forms read alike, with what is secret, unfinished or left over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Status, TerraformId
from runtimes.terraform import configuration, live, plan, planned, schema, state
from runtimes.terraform.state import NewState, PriorState, UnreadableState
from tests.runtimes.terraform import direct
from tests.runtimes.terraform.direct import data
from tests.runtimes.terraform.practice import bucket, database, network

THING = TerraformId("acme", "acme", "acme_thing", "one")


def _raw(*instances: dict[str, Any], **resource: Any) -> dict[str, Any]:
    provider = 'provider["registry.terraform.io/acme/acme"].meta_1'
    one = {"mode": "managed", "type": "acme_thing", "name": "one", "provider": provider, "instances": list(instances)}
    return {"version": 4, "serial": 7, "lineage": "line", "resources": [{**one, **resource}]}


def test_both_forms_say_the_same(tmp_path: Path, mirror: Path) -> None:
    real = direct.made(tmp_path, mirror)
    secret = "canary-text"
    resources = (
        network("shop"),
        database("orders", "shop"),
        bucket("files", tags={"a.b": "c"}),
        data("any", input={"value": secret, "type": "string", "list": [1, {"x": None}]}, triggers_replace=["a"]),
    )
    real.apply(*resources, secrets=frozenset({secret}))
    written = real.write(*resources, secrets=frozenset({secret}))
    raw = real.state()
    shown = state.read_new(real.run("show", "-json", configuration=written))
    assert list(shown.resources) == list(raw.resources)
    for id_, recorded in raw.resources.items():
        assert dict(recorded.attributes) == dict(shown.resources[id_].attributes)
        assert recorded.depends_on == shown.resources[id_].depends_on
    assert plan.live_resources(raw, written) == plan.live_resources(shown, written)
    assert "canary" not in repr(raw)
    assert raw.serial > 0
    assert raw.lineage


def test_instances_that_are_tainted_or_deposed_are_told() -> None:
    content = _raw(
        {"attributes": {"id": "new"}, "status": "tainted", "dependencies": ["acme_thing.two"]},
        {"attributes": {"id": "old"}, "deposed": "0a1b"},
    )
    found = state.read_prior(content)
    recorded = found.resources[THING]
    assert (recorded.is_tainted, recorded.deposed, recorded.exists) == (True, ("0a1b",), True)
    assert (recorded.attributes, recorded.alias) == ({"id": "new"}, "meta_1")
    assert (recorded.depends_on, found.serial, found.lineage) == (("acme_thing.two",), 7, "line")
    health = plan.live_resources(found)[THING].health
    assert health is not None
    assert health.status is Status.FAILED


def test_what_is_only_deposed_does_not_exist() -> None:
    found = state.read_new(_raw({"attributes": {"id": "old"}, "deposed": "0a1b"}))
    assert not found.resources[THING].exists
    assert plan.live_resources(found) == {}


def test_instances_of_modules_and_counts_have_ids_of_their_own() -> None:
    content = _raw({"attributes": {}, "index_key": 0}, {"attributes": {}, "index_key": "k:v"}, module="module.net")
    addresses = {each.address for each in state.read_prior(content).resources.values()}
    assert addresses == {"module.net.acme_thing.one[0]", 'module.net.acme_thing.one["k:v"]'}


def test_what_is_marked_sensitive_is_hidden() -> None:
    marks = [
        [{"type": "get_attr", "value": "pin"}],
        [{"type": "get_attr", "value": "map"}, {"type": "index", "value": {"value": "k", "type": "string"}}],
        [{"type": "get_attr", "value": "set"}, {"type": "index", "value": {"value": {"a": 1}, "type": ["object", {}]}}],
        [{"type": "get_attr", "value": "absent"}],
    ]
    attributes = {"pin": "1", "map": {"k": "v", "o": "p"}, "set": ["x"], "absent": None, "db_password": "y", "id": "i"}
    recorded = state.read_prior(_raw({"attributes": attributes, "sensitive_attributes": marks})).resources[THING]
    assert recorded.hidden == (("db_password",), ("map", "k"), ("pin",), ("set",))


def test_values_of_any_type_are_taken_out_of_their_wrapping() -> None:
    wrapped = {"value": [1], "type": ["tuple", ["number"]]}
    attributes = {"any": wrapped, "block": [wrapped], "own": {"value": "v", "type": "A"}}
    plain = state.read_prior(_raw({"attributes": attributes})).resources[THING]
    assert plain.attributes == {"any": [1], "block": [wrapped], "own": {"value": "v", "type": "A"}}
    text = {"type": "string", "optional": True}
    any_ = {"type": "dynamic", "optional": True}
    block = {
        "attributes": {
            "any": any_,
            "own": {"type": ["object", {"value": "string", "type": "string"}], "optional": True},
        },
        "block_types": {"block": {"nesting_mode": "list", "block": {"attributes": {"value": any_, "type": text}}}},
    }
    schemas = schema.read({"provider_schemas": {"p": {"resource_schemas": {"acme_thing": {"block": block}}}}})
    attributes = {"any": wrapped, "own": {"value": "v", "type": "string"}, "block": [{"value": wrapped, "type": "x"}]}
    known = state.read_prior(_raw({"attributes": attributes}), schemas=schemas).resources[THING]
    expected = {"any": [1], "own": {"value": "v", "type": "string"}, "block": [{"value": [1], "type": "x"}]}
    assert known.attributes == expected


def test_an_identity_changes_with_anything_but_secrets() -> None:
    secrets = frozenset({"canary-text"})
    one = live.identity({"id": "i", "a": 1, "password": "x", "dsn": "u:canary-text@h"}, secrets)
    same = live.identity({"id": "i", "a": 1, "password": "y", "dsn": None, "n": None}, secrets)
    assert one.uid == "i"
    assert one == same
    assert live.identity({"id": "i", "a": 2}, secrets) != one


@pytest.mark.parametrize("content", ["", b"", {}, '{"version": 4}', {"version": 4, "resources": []}])
def test_nothing_is_an_empty_state(content: Any) -> None:
    assert state.read_prior(content) == PriorState()
    assert state.read_new(content) == NewState()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"version": 4, "resou', "cut off"),
        ("[]", "not a JSON object"),
        ('{"version": 3, "resources": []}', "format 3"),
        (json.dumps({"version": 4, "resources": [{"mode": "managed", "secret": "canary"}]}), "lacks what a state has"),
        ("{}", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"secret": "canary"}', "which format"),
        ('{"version": "4"}', "which format"),
        ('{"version": 4, "serial": -1}', "its serial"),
        ('{"version": 4, "lineage": 5}', "its serial, its lineage"),
        ('{"version": 4, "terraform_version": "canary"}', "the version of terraform"),
        ('{"version": 4, "resources": [{"type": "canary"}]}', "of mode None"),
        ('{"version": 4, "resources": "canary"}', "lacks what a state has"),
        ('{"format_version": "2.0", "values": {}}', "format 2.0, and not of 1.x"),
        ('{"format_version": 1, "values": {}}', "format 1, and not of 1.x"),
    ],
)
def test_what_is_no_state_is_refused_without_telling_what_is_in_it(content: str, message: str) -> None:
    with pytest.raises(UnreadableState, match=message) as raised:
        state.read_prior(content)
    assert "canary" not in str(raised.value)


def test_a_configuration_knows_what_is_recorded() -> None:
    found = state.read_prior(_raw({"attributes": {"id": "x"}}))
    assert configuration.build([], state=found).id_at("acme_thing.one") == THING


def _shown(*actions: str, format_version: str = "1.2") -> dict[str, Any]:
    entry = {"address": "acme_thing.one", "mode": "managed", "change": {"actions": list(actions), "after": {"id": "x"}}}
    return {"format_version": format_version, "resource_changes": [entry]}


def test_a_plan_that_is_newer_than_what_is_known_is_no_plan_without_changes() -> None:
    """A word that nobody knows, or a format that means something else: to be taken for `no-op` it is not."""
    written = configuration.build([], state=state.read_prior(_raw({"attributes": {"id": "x"}})))
    for known in (("no-op",), ("update",), ("create", "delete"), ("create", "forget"), ("forget",)):
        assert planned.read(_shown(*known), written).resources[0].actions == known
    assert planned.read(_shown("no-op", format_version="0.2"), written).resources
    for said, message in (
        (_shown("rename"), "for acme_thing.one what is not known here: rename;"),
        (_shown(), "no action at all"),
        (_shown("update", "delete"), "update and delete"),
        (_shown("no-op", format_version="2.0"), "format 2.0"),
    ):
        with pytest.raises(planned.UnreadablePlan, match=message):
            planned.read(said, written)
