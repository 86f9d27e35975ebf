"""Any value that a Spec may hold comes back from terraform as it was written."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runtimes.base import Reference, TerraformId, composed, parts, referred
from runtimes.terraform import expressions
from tests.runtimes.terraform import direct
from tests.runtimes.terraform.direct import Direct, data

# what a later Unicode assigns may have a normal form that only one of the two knows
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=12) | st.text(st.sampled_from('$%{}~"\\ if\n'))
NUMBERS = st.integers(-(2**60), 2**60) | st.floats(-1e15, 1e15, allow_nan=False).map(lambda each: round(each, 6))
VALUES = st.recursive(
    TEXTS | NUMBERS | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Direct:
    return direct.made(tmp_path_factory.mktemp("escapes"), None)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(VALUES, min_size=10, max_size=60))
@example(
    ["${x}", "$${x}", "$$${x}", "%{if true}x%{endif}", "%%{", "$", "$$", "${", "a$", "\0", '${"', {"${k}": 1, "//": 2}]
)
@example(["$kusion_path", "e\u0301", "\u2028", "\ud7ff", 1.0, 0.1, -0.0, 10**18])
@example([{"\U0002f800": []}, {"e\u0301": {"e\u0301": []}}, {"\u212b": "\u212b"}])
def test_values_come_back_as_they_were_written(bare: Direct, written: list[Any]) -> None:
    plan = bare.plan(data("all", input={"values": written}))
    assert plan.resources[0].prediction.after["input"] == _as_terraform_has_it({"values": written})


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), min_size=5))
@example(["${x}", "%{x}", 'qu"ote', "\\", "new\nline", "$"])
def test_secrets_come_back_and_are_not_in_the_file(bare: Direct, secrets: list[str]) -> None:
    canaries = [f"canary-{each}" for each in secrets]
    resource = data("secrets", input={"values": canaries})
    written = bare.write(resource, secrets=frozenset(canaries))
    plan = bare.plan(resource, secrets=frozenset(canaries))
    assert plan.resources[0].prediction.after["input"] == _as_terraform_has_it({"values": canaries})
    assert "canary" not in written.text
    assert "canary" not in repr(written)
    assert {path[:2] for path in plan.resources[0].prediction.sensitive} == {("input", "values")}


@given(TEXTS)
def test_an_escaped_text_can_be_read_back(text: str) -> None:
    if "$${" not in text and "%%{" not in text:
        assert expressions.unescaped(expressions.escaped(text)) == text


def test_names_that_terraform_does_not_take_are_written_otherwise(bare: Direct) -> None:
    names = ["a.b", "1st", "-x", "naïve", "x y", "数据库", "a/b", "_-x", "$", "unknown-xa"]
    plan = bare.plan(*(data(name, input=name) for name in names))
    found = {
        each.id.name: each.prediction.after["input"] for each in plan.resources if isinstance(each.id, TerraformId)
    }
    assert found == {name: name for name in names}


def test_references_find_what_they_name(tmp_path: Path) -> None:
    place = direct.made(tmp_path, None)
    producer = data("a.b", input={"list": [{"x": "one"}, {"x": "two"}], "app.io/name": "shop", "plain": {"deep": 1}})
    named = "$kusion_path.builtin:terraform:terraform_data:a.b.output"
    references = {
        "digits": f"{named}.list.1.x",
        "index": f"{named}.list[0].x",
        "key": f'{named}["app.io/name"]',
        "deep": f"{named}.plain.deep",
    }
    state = place.apply(producer, data("consumer", input=references))
    recorded = state.resources[TerraformId("builtin", "terraform", "terraform_data", "consumer")]
    assert recorded.attributes["input"] == {"digits": "two", "index": "one", "key": "shop", "deep": 1}
    assert recorded.depends_on == ("terraform_data.a-x2e-b",)


AROUND = st.text(st.sampled_from('$%{}~"\\ i\n:/@x😀'), max_size=6)
PIECES = st.lists(AROUND | st.sampled_from([("host", "db.example"), ("port", "5432"), ("on", "true")]), min_size=2)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES, min_size=20, max_size=40))
@example([["cost_$", ("host", "db.example")], ["%", ("host", "db.example"), "{"], ["${", ("port", "5432"), "}"]])
def test_texts_around_references_stay_as_they_are(tmp_path_factory: pytest.TempPathFactory, texts: list[Any]) -> None:
    place = direct.made(tmp_path_factory.mktemp("texts"), None)
    producer = data("db", input={"host": "db.example", "port": 5432, "on": True})
    named = "$kusion_path.builtin:terraform:terraform_data:db.output"
    written, expected = [], []
    for pieces in texts:
        template = text = ""
        for each in pieces:
            # in brackets nothing that follows goes on with the attribute; `$$` would escape the reference
            whole = isinstance(each, tuple)
            gap = "_" if whole and template.endswith("$") else ""
            template += gap + (f'{named}["{each[0]}"]' if whole else each.replace("[", ""))
            text += gap + (each[1] if whole else each.replace("[", ""))
        written.append(f"<{template}>")
        expected.append(f"<{text}>")
    state = place.apply(producer, data("consumer", input=written))
    recorded = state.resources[TerraformId("builtin", "terraform", "terraform_data", "consumer")]
    assert recorded.attributes["input"] == _as_terraform_has_it(expected)


def test_an_attribute_in_a_text_ends_where_terraform_says(tmp_path: Path) -> None:
    place = direct.made(tmp_path, None)
    named = "$kusion_path.builtin:terraform:terraform_data:db"
    written = [f"postgres://{named}.id:5432/x", f"{named}.id-replica", f"{named}.id/path", f"see {named}.id."]
    state = place.apply(data("db", input="x"), data("consumer", input=written))
    id_ = state.resources[TerraformId("builtin", "terraform", "terraform_data", "db")].attributes["id"]
    recorded = state.resources[TerraformId("builtin", "terraform", "terraform_data", "consumer")]
    assert recorded.attributes["input"] == [f"postgres://{id_}:5432/x", f"{id_}-replica", f"{id_}/path", f"see {id_}."]


def _as_terraform_has_it(value: Any) -> Any:
    """Texts in normal form C, which is what the language has; whole numbers as ints."""
    match value:
        case dict():
            return {unicodedata.normalize("NFC", key): _as_terraform_has_it(each) for key, each in value.items()}
        case list():
            return [_as_terraform_has_it(each) for each in value]
        case str():
            return unicodedata.normalize("NFC", value)
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def test_functions_make_the_same_here_and_there(tmp_path: Path) -> None:
    """Terraform evaluates those over its own values; the same ones over plain values are ours."""
    place = direct.made(tmp_path, None)
    texts = ['a"b\\c', "${x} %{y} <&>\u2028\té😀", "eA==", "[1, 2.5]", "x$"]
    values: dict[str, Any] = {f"t{index}": each for index, each in enumerate(texts)}
    values |= {"n": 7, "f": 2.5, "on": True, "map": {"b": 1, "a": ["x", None]}}
    named = "$kusion_path.builtin:terraform:terraform_data:db.output"
    written = [
        *(f'$workbench.{name}["{named}.t{index}"]' for name in ("base64encode", "jsonencode") for index in range(5)),
        f'$workbench.join[" $", ["{named}.t0", "${{x}}\\"\\\\", "{named}.n", 1.0, true]]',
        f'$workbench.format["%s %d %% ${{z}} %s", "a{named}.t1", "{named}.n", "{named}.f"]',
        f'$workbench.base64decode["{named}.t2"] and $workbench.jsonencode[{{"<k>": "{named}.map", "n": null}}]',
        f'$workbench.jsondecode["{named}.t3"]',
        f'$workbench.base64encode["$workbench.jsonencode[\\"{named}.on\\"]"]',
    ]
    producer = data("db", input=values)
    state = place.apply(producer, data("consumer", input=written))
    recorded = state.resources[TerraformId("builtin", "terraform", "terraform_data", "consumer")]

    def value(reference: Reference) -> Any:
        return referred({"output": values}, reference.attribute)

    assert recorded.attributes["input"] == [
        composed(parts(each, {str(producer.id): producer.id}), value) for each in written
    ]


def test_a_secret_in_a_function_is_not_in_the_file(bare: Direct) -> None:
    call = '$workbench.join["canary-1", ["canary-2$kusion_path.builtin:terraform:terraform_data:db.id"]]'
    written = bare.write(data("db"), data("secrets", input=call), secrets=frozenset({"canary-1", "canary-2"}))
    assert "canary" not in written.text and "canary" not in repr(written)
    bare.plan(data("db"), data("secrets", input=call), secrets=frozenset({"canary-1", "canary-2"}))
