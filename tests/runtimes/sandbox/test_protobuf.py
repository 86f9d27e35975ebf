"""Bodies in protobuf: what Go clients send."""

from __future__ import annotations

import pytest

from runtimes.sandbox.api import protobuf


def field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    value %= 2**64
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def envelope(version: str, kind: str, body: bytes) -> bytes:
    return protobuf.MAGIC + field(1, field(1, version.encode()) + field(2, kind.encode())) + field(2, body)


def test_maps_bytes_and_metadata() -> None:
    metadata = field(1, b"a") + field(11, field(1, b"x") + field(2, b"1"))
    body = (
        field(1, metadata)
        + field(2, field(1, b"k") + field(2, b"v"))
        + field(3, field(1, b"b") + field(2, b"\x00\x01"))
    )
    assert protobuf.decode(envelope("v1", "ConfigMap", body)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"x": "1"}},
        "data": {"k": "v"},
        "binaryData": {"b": "AAE="},
    }


def test_types_with_their_own_encoding_and_negative_numbers() -> None:
    budget = field(2, field(1, field(1, 1) + field(2, 0) + field(3, b"50%")))
    assert protobuf.decode(envelope("policy/v1", "PodDisruptionBudget", budget))["spec"] == {"minAvailable": "50%"}
    scale = field(2, field(1, -1))
    assert protobuf.decode(envelope("autoscaling/v1", "Scale", scale))["spec"] == {"replicas": -1}
    created = field(1, field(8, field(1, 1704164645)))
    assert protobuf.decode(envelope("v1", "Namespace", created))["metadata"] == {
        "creationTimestamp": "2024-01-02T03:04:05Z"
    }


def test_inlined_structs_have_no_name_in_json() -> None:
    volume = field(1, b"v") + field(2, field(19, field(1, field(1, b"c"))))
    pod = field(2, field(1, volume))
    decoded = protobuf.decode(envelope("v1", "Pod", pod))
    assert decoded["spec"] == {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}


@pytest.mark.parametrize(
    "content",
    [b"{}", protobuf.MAGIC + b"\x0a\xff", envelope("v1", "Nothing", b""), protobuf.MAGIC + b"\x0a\x05ab"],
)
def test_what_is_no_message_is_refused(content: bytes) -> None:
    with pytest.raises(protobuf.Malformed):
        protobuf.decode(content)
