"""Request bodies as the server reads and keeps them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes.base import quantity
from runtimes.sandbox import decode, written
from runtimes.sandbox.go_times import time_text

from .kinds import CONFIG_MAP, DEPLOYMENT, POD, SECRET, SERVICE, config_map, deployment


def test_values_are_kept_as_go_writes_them() -> None:
    body = {
        "metadata": {"name": "a", "labels": {}},
        "spec": {
            "hostNetwork": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "resources": {"limits": {"memory": "1024Mi", "cpu": 0.5}}}],
        },
    }
    assert decode.check(POD, body).object == {
        "metadata": {"name": "a"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "resources": {"limits": {"memory": "1Gi", "cpu": "500m"}}}],
        },
        "status": {},
    }


def test_reading_what_was_kept_changes_nothing() -> None:
    once = decode.check(DEPLOYMENT, deployment(replicas=0, minReadySeconds=0)).object
    assert decode.check(DEPLOYMENT, once).object == once
    assert decode.restore(DEPLOYMENT, once).object == once


def test_unknown_and_duplicate_members_are_listed_in_order() -> None:
    body = decode.parse_json('{"data":{"k":"1","k":"2"},"nothing":1,"data":{"k":"3"},"metadata":{"labell":{}}}')
    read = decode.check(CONFIG_MAP, body)
    assert read.strict == [
        'duplicate field "data.k"',
        'unknown field "nothing"',
        'duplicate field "data"',
        'unknown field "metadata.labell"',
    ]
    assert read.object["data"] == {"k": "3"}


def replicas(value: Any) -> dict[str, Any]:
    return {"spec": {"replicas": value}}


def test_half_of_a_pair_is_read_as_no_letter() -> None:
    assert decode.parse_json(r'{"a": ["\ud83d", "\ud83d\ude00", {"\udc00": 1}]}') == {
        "a": ["\ufffd", "\U0001f600", {"\ufffd": 1}]
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (replicas("many"), "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (replicas(1.5), "cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (replicas(2**31), "number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        ({"spec": "x"}, "cannot unmarshal string into Go struct field Deployment.spec of type v1.DeploymentSpec"),
        (
            {"metadata": {"labels": {"k": 1}}},
            "cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
    ],
)
def test_a_value_of_the_wrong_type_names_the_go_field(body: dict[str, Any], message: str) -> None:
    with pytest.raises(decode.DecodeError) as caught:
        decode.check(DEPLOYMENT, body)
    assert str(caught.value).endswith(message)


def test_patched_objects_are_read_by_another_reader_with_other_words() -> None:
    with pytest.raises(decode.DecodeError, match=r"^unrecognized type: int32$"):
        decode.restore(DEPLOYMENT, replicas("many"))
    with pytest.raises(decode.DecodeError, match=r"^cannot restore struct from: string$"):
        decode.restore(DEPLOYMENT, {"spec": "x"})
    with pytest.raises(decode.DecodeError, match=r"^cannot restore slice from map$"):
        decode.restore(POD, {"spec": {"containers": {}}})


@pytest.mark.parametrize(("text", "at"), [("a", 0), ("new", 0), ("dg==2", 4), ("a b=", 1), ("=", 0), ("dGVz!A==", 4)])
def test_faults_in_base64_are_placed_as_go_places_them(text: str, at: int) -> None:
    with pytest.raises(decode.DecodeError, match=f"^illegal base64 data at input byte {at}$"):
        decode.check(SECRET, {"data": {"k": text}})


def test_bytes_may_come_as_a_list_of_numbers() -> None:
    assert decode.check(SECRET, {"data": {"k": [104, 105, None]}}).object["data"] == {"k": "aGkA"}
    with pytest.raises(decode.DecodeError, match=r"cannot unmarshal number 300 into .*Secret\.data of type uint8$"):
        decode.check(SECRET, {"data": {"k": [300, "x"]}})


def test_what_a_type_says_of_itself_is_told_before_wrong_types_that_came_earlier() -> None:
    spec = {"containers": [{"image": 1, "resources": {"limits": {"cpu": "x"}}}]}
    with pytest.raises(decode.DecodeError, match=r"^quantities must match"):
        decode.check(POD, {"spec": spec})


@pytest.mark.parametrize("text", ["[", '{"a":', ""])
def test_a_cut_off_body_says_so(text: str) -> None:
    with pytest.raises(decode.DecodeError, match=r"^unexpected end of JSON input$"):
        decode.parse_json(text)


def test_a_zero_object_has_the_structs_that_are_always_written() -> None:
    assert written.empty_object(SERVICE) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {},
        "spec": {},
        "status": {"loadBalancer": {}},
    }


def test_storage_does_not_tell_an_empty_list_from_none() -> None:
    read = decode.check(POD, {"spec": {"containers": []}}).object
    assert read["spec"]["containers"] == []
    assert written.stored(POD, read)["spec"]["containers"] is None


def test_an_empty_list_of_owners_is_kept_since_it_asks_to_forget_them() -> None:
    body = config_map()
    body["metadata"]["managedFields"] = []
    assert decode.check(CONFIG_MAP, body).object["metadata"]["managedFields"] == []


@pytest.mark.parametrize(
    ("text", "micro", "kept"),
    [
        ("2024-01-02T03:04:05Z", False, "2024-01-02T03:04:05Z"),
        ("2024-01-02T05:04:05+02:00", False, "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.123456Z", True, "2024-01-02T03:04:05.123456Z"),
    ],
)
def test_times_are_kept_in_utc(text: str, micro: bool, kept: str) -> None:
    assert time_text(text, micro=micro) == kept


def test_what_is_no_time_says_where_it_stops_being_one() -> None:
    with pytest.raises(ValueError, match='cannot parse "x" as "2006"'):
        time_text("x", micro=False)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5", "500m"),
        ("1500m", "1500m"),
        ("1000", "1k"),
        ("1e3", "1e3"),
        ("12e6", "12e6"),
        ("0.1Mi", "104857600m"),
        ("0.0000000001", "1n"),
        ("-1", "-1"),
        ("0", "0"),
    ],
)
def test_quantities_have_one_written_form(text: str, kept: str) -> None:
    assert quantity.canonical(text) == kept


@given(st.decimals(-(10**6), 10**6, places=3), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi", "e3"]))
def test_the_written_form_of_a_quantity_keeps_its_value(number: Any, suffix: str) -> None:
    once = quantity.canonical(f"{number:f}{suffix}")
    assert quantity.canonical(once) == once
    assert quantity.amount(once) == quantity.amount(f"{number:f}{suffix}")


@pytest.mark.parametrize("text", ["much", "", "1 Gi", "1.2.3", "."])
def test_what_is_no_quantity_is_refused_with_the_syntax(text: str) -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        quantity.parse(text)
