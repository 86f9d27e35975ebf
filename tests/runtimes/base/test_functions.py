"""Functions over references: what they make, what they refuse, and what stays open until its parts are known."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from runtimes.base import (
    UNKNOWN,
    InvalidReference,
    PartlyUnknown,
    Reference,
    TerraformId,
    composed,
    parts,
    references_in,
)

DATABASE = TerraformId("hashicorp", "aws", "aws_db_instance", "main")
IDS = {str(DATABASE): DATABASE}
HOST = f"$kusion_path.{DATABASE}.address"

RESULTS: list[tuple[str, Any]] = [
    ('$workbench.join[",", ["a", 1, true, 1.0, 0.5]]', "a,1,true,1,0.5"),
    ('$workbench.join["", []]', ""),
    ('$workbench.base64encode["é\\n"]', "w6kK"),
    ('$workbench.base64decode["w6kK"]', "é\n"),
    (
        '$workbench.jsonencode[{"b": [1.0, null], "a": "<&>\u2028é"}]',
        '{"a":"\\u003c\\u0026\\u003e\\u2028é","b":[1,null]}',
    ),
    ('$workbench.jsondecode["{\\"a\\": [1]}"]', {"a": [1]}),
    ('$workbench.format["%s:%d is 100%%", "db", 5432]', "db:5432 is 100%"),
    ('$workbench.format["%d", "7"]', "7"),
    ('at $workbench.join["-", ["a", "b"]].$workbench.base64encode["x"]!', "at a-b.eA==!"),
    (f'$workbench.base64encode["app:{HOST}"]', "YXBwOmRi"),
    (f'$workbench.jsonencode[{{"host": "{HOST}"}}]', '{"host":"db"}'),
    ('$workbench.base64encode["$workbench.base64encode[\\"x\\"]"]', "ZUE9PQ=="),
    ("$$workbench.join is written $$kusion_path. too", "$workbench.join is written $kusion_path. too"),
    ('$workbench.base64encode["$$workbench.x"]', "JHdvcmtiZW5jaC54"),
]


@pytest.mark.parametrize(("text", "result"), RESULTS)
def test_what_functions_make(text: str, result: Any) -> None:
    assert composed(parts(text, IDS), lambda _: "db") == result


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('$workbench.nosuch["x"]', "there is no function nosuch; known: join, format"),
        ("$workbench.", "none follows"),
        ('$workbench.join(",")', "none follows"),
        ("$workbench.join[", "no list in JSON"),
        ("$workbench.jsonencode[NaN]", "no list in JSON"),
        ("$workbench.jsonencode" + "[" * 100_000, "no list in JSON"),
        ('$workbench.join[","]', r'join is written join\["SEPARATOR"'),
        ('$workbench.join[",", "hunter2"]', "join: the second argument is a text, not a list"),
        ('$workbench.join[",", [["hunter2"]]]', "join: element 0 is a list, not a text"),
        ('$workbench.base64encode[["hunter2"]]', "base64encode: the argument is a list"),
        ('$workbench.base64encode["\\ud800"]', "half of a surrogate"),
        ('$workbench.base64decode["hunter2!"]', "no base64 of a text"),
        ('$workbench.base64decode["/w=="]', "no base64 of a text"),
        ('$workbench.jsondecode["hunter2"]', "jsondecode: the argument is no JSON"),
        ('$workbench.format["%s %s", "hunter2"]', "more verbs than the 1 values"),
        ('$workbench.format["x", "hunter2"]', "no verb for the last 1"),
        ('$workbench.format["%05d", 2]', "no other verbs"),
        ('$workbench.format["%d", "hunter2"]', "value 1 is a text, not a whole number"),
        ('a $workbench.jsondecode["[1]"]', "what jsondecode makes is a list"),
        ('a $workbench.jsondecode["null"]', "what jsondecode makes is null"),
        ('$workbench.base64encode["$kusion_path.nobody.x"]', "names no resource"),
        pytest.param(
            '$workbench.join["' + "x" * 2000 + '", [' + '"",' * 1000 + '""]]', "more than 1048576 characters", id="long"
        ),
    ],
)
def test_what_they_refuse_is_said_without_what_they_got(text: str, said: str) -> None:
    with pytest.raises(InvalidReference, match=said) as raised:
        composed(parts(text, IDS), lambda _: "db")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("arguments", ["[" * 200_000, "[" * 200_000 + "]" * 200_000], ids=["open", "closed"])
def test_arguments_that_nest_too_deeply_end_no_process_that_allows_many_calls(arguments: str) -> None:
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)  # as where a program was evaluated
    try:
        for text in (f"$workbench.jsonencode{arguments}", f'$workbench.jsondecode["{arguments}"]'):
            with pytest.raises(InvalidReference, match="JSON"):
                composed(parts(text, IDS), lambda _: "db")
    finally:
        sys.setrecursionlimit(usual)


def test_what_is_not_known_makes_all_of_a_function_unknown_and_not_the_text_around_it() -> None:
    alone = f'$workbench.join[":", ["{HOST}", "x"]]'
    assert composed(parts(alone, IDS), lambda _: UNKNOWN) is UNKNOWN
    around = composed(parts(f"to {alone}/", IDS), lambda _: PartlyUnknown(["db-", UNKNOWN]))
    assert isinstance(around, PartlyUnknown) and around.parts == ("to ", UNKNOWN, "/")
    assert composed(parts(alone, IDS), lambda _: {"deep": [UNKNOWN]}) is UNKNOWN


def test_references_inside_are_found_however_deep() -> None:
    nested = json.dumps([{"a": [f"x {HOST}", f'$workbench.base64encode["{HOST}.port"]']}])
    assert [each.written for each in references_in(parts(f"$workbench.jsonencode{nested}", IDS))] == [
        ".address",
        ".address.port",
    ]


def test_a_function_over_what_stays_a_reference_stays_and_means_the_same() -> None:
    def stays(reference: Reference) -> Any:
        return reference if reference.attribute == ("address",) else "$kusion_path.é"

    text = (
        f'<$workbench.join["$$workbench.", ["{HOST}", "$kusion_path.{DATABASE}.name", "$workbench.base64encode[1]"]]>'
    )
    kept = composed(parts(text, IDS), stays, again=True)
    assert HOST in kept
    assert composed(parts(kept, IDS), lambda _: "db") == "<db$workbench.$kusion_path.é$workbench.MQ==>"


@pytest.mark.parametrize("again", [True, False])
def test_what_a_function_made_is_text_even_if_it_looks_like_a_reference(again: bool) -> None:
    text = '$workbench.base64decode["JGt1c2lvbl9wYXRoLng="]'
    found = composed(parts(text, IDS), lambda _: "db", again=again)
    assert (composed(parts(found, IDS), lambda _: "db") if again else found) == "$kusion_path.x"
