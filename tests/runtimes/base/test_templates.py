"""References inside longer texts: what is text stays to the letter, what is a reference becomes its value."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtimes.base import (
    PREFIX,
    UNKNOWN,
    InvalidReference,
    KubernetesId,
    PartlyUnknown,
    Reference,
    ResourceId,
    TerraformId,
    escaped_references,
    followed,
    parts,
    references,
    replaced,
    unknown_paths,
)

SERVICE = KubernetesId("v1", "Service", "shop", "web")
DOTTED = KubernetesId("v1", "Service", "shop", "web.status")
DATABASE = TerraformId("hashicorp", "aws", "aws_db_instance", "main")
IDS: dict[str, ResourceId] = {str(each): each for each in (SERVICE, DOTTED, DATABASE)}
BODIES: dict[ResourceId, Any] = {
    DATABASE: {
        "address": "db.example",
        "port": 5432,
        "is_public": False,
        "bucket": "invoices",
        "later": UNKNOWN,
        "endpoints": [{"host": "e0", "port": 1}],
        "tags": {"app.io/name": "shop", "a": "short", "a-b": "long"},
    },
    SERVICE: {"spec": {"clusterIP": "10.0.0.1"}},
    DOTTED: {"spec": {"clusterIP": "10.0.0.2"}},
}
DB, WEB = f"{PREFIX}{DATABASE}", f"{PREFIX}{SERVICE}"


def _value(reference: Reference) -> Any:
    return followed(BODIES[reference.id], reference)[0]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (f"postgres://host-{DB}.address:5432/db", "postgres://host-db.example:5432/db"),
        (f"{DB}.address:{DB}.port/db?x={DB}.is_public", "db.example:5432/db?x=false"),
        (f"{DB}.address{DB}.port", "db.example5432"),
        (f"{DB}.address", "db.example"),
        (f"{DB}.port", 5432),
        (f"{DB}.port ", "5432 "),
        (f" {DB}.port", " 5432"),
        (f"https://{DB}.bucket.s3.amazonaws.com/{DB}.bucket/x", "https://invoices.s3.amazonaws.com/invoices/x"),
        (f"{DB}.address-replica", "db.example-replica"),
        (f"{DB}.address/path", "db.example/path"),
        (f"{DB}.endpoints[0].host:{DB}.endpoints.0.port", "e0:1"),
        (f"<{DB}.tags.a-b> <{DB}.tags.a> <{DB}.tags.a.b>", "<long> <short> <short.b>"),
        (f"{DB}.tags.app.io/name!", "shop!"),
        (f'{DB}.tags["app.io/name"]-x', "shop-x"),
        (f'{{"host": "{DB}.address", "port": {DB}.port}}', '{"host": "db.example", "port": 5432}'),
        (f"[{DB}.address]", "[db.example]"),
        (f"see {WEB}.spec.clusterIP.", "see 10.0.0.1."),
        (f"{WEB}.status.spec.clusterIP/x", "10.0.0.2/x"),
        (f"two\n{DB}.address\nlines", "two\ndb.example\nlines"),
        (f"a $${PREFIX[1:]}x b", f"a {PREFIX}x b"),
        (f"$${PREFIX[1:]}{DATABASE}.address {DB}.address", f"{DB}.address db.example"),
        ("$kusion_path", "$kusion_path"),
    ],
)
def test_text_stays_and_references_become_values(text: str, result: Any) -> None:
    assert replaced({"a": [text]}, IDS, _value) == {"a": [result]}


@pytest.mark.parametrize(
    ("text", "shown", "found"),
    [
        (f"postgres://host-{DB}.later:5432/db", "postgres://host-(known after apply):5432/db", 1),
        (f"{DB}.later-x/{DB}.address", "(known after apply)-x/db.example", 1),
        (f"x{DB}.later.s3/y", "x(known after apply)/y", 1),
        (f"{DB}.later {DB}.later", "(known after apply) (known after apply)", 2),
    ],
)
def test_what_is_not_known_yet_is_a_part_of_the_text(text: str, shown: str, found: int) -> None:
    result = replaced(text, IDS, _value)
    assert isinstance(result, PartlyUnknown) and result == shown
    assert sum(each is UNKNOWN for each in result.parts) == found
    assert list(unknown_paths({"a": [result]})) == [("a", 0)]
    assert copy.deepcopy(result).parts == pickle.loads(pickle.dumps(result)).parts == result.parts
    assert json.loads(json.dumps(result)) == shown
    assert replaced(f"{DB}.later", IDS, _value) is UNKNOWN


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"x {PREFIX}v1:Service:shop:other.spec", "names no resource of this stack"),
        (f"costs {PREFIX}x", "names no resource of this stack"),
        (f"x {WEB} y", "but no attribute of it"),
        (f"x {WEB}. y", "but no attribute of it"),
        (f"x {WEB}.a[b] y", "but no attribute of it"),
        (f"x{PREFIX}", "names no resource of this stack"),
    ],
)
def test_what_begins_as_a_reference_and_is_none_is_refused_inside_texts_too(text: str, message: str) -> None:
    with pytest.raises(InvalidReference, match=message):
        list(references({"a": text}, IDS))


@pytest.mark.parametrize("text", [f"x {DB}.endpoints", f"x {DB}.tags y", f"x {DB}.endpoints[0]"])
def test_what_has_parts_cannot_stand_in_a_text(text: str) -> None:
    with pytest.raises((InvalidReference, KeyError)):
        replaced(text, IDS, _value)


def test_a_missing_attribute_is_missing_inside_texts_too() -> None:
    for text in (f"x {DB}.nope y", f"x {DB}.tags.nope", f"x {DB}.endpoints[7].host", f"x {DB}.addres:1"):
        with pytest.raises(KeyError):
            replaced(text, IDS, _value)


PIECES = st.lists(
    st.text(max_size=12)
    | st.sampled_from(["$", "$$", "$kusion_path", ".", ":", "/", "${", "\\", PREFIX])
    | st.sampled_from(
        [Reference(DATABASE, ("address",)), Reference(DATABASE, ("port",)), Reference(DATABASE, ("later",))]
    ),
    max_size=6,
)


@given(PIECES)
def test_any_text_around_references_is_kept(pieces: list[str | Reference]) -> None:
    """Written with its own `$kusion_path.` escaped, every text comes back, with values in place of references."""
    merged: list[str | Reference] = []
    for each in pieces:
        if merged and isinstance(each, str) and isinstance(merged[-1], str):
            merged[-1] += each
        else:
            merged.append(each)
    written = ""
    for number, each in enumerate(merged):
        if isinstance(each, Reference):
            # brackets end an attribute, whatever follows
            written += f'{PREFIX}{each.id}["{each.attribute[0]}"]'
        else:
            # what would go on as a step of the attribute before it is not text
            if number and each[:1] in (".", "["):
                each = "-" + each
                merged[number] = each
            if number + 1 < len(merged) and each.endswith("$"):
                each += "_"
                merged[number] = each
            written += escaped_references(each)
    expected = [_value(each) if isinstance(each, Reference) else each for each in merged]
    result = replaced(written, IDS, _value)
    if len(merged) == 1 and isinstance(merged[0], Reference):
        assert result == expected[0]
    else:
        assert str(result) == "".join(str(each) for each in expected)
    assert [each for each in parts(written, IDS) if isinstance(each, Reference)] == [
        each for each in merged if isinstance(each, Reference)
    ]
