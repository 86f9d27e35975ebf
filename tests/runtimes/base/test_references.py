"""References from one resource's field to another's value."""

from __future__ import annotations

import pytest

from runtimes.base import (
    UNKNOWN,
    InvalidReference,
    KubernetesId,
    ResourceId,
    TerraformId,
    parse_reference,
    references,
    referred,
    replaced,
    unknown_paths,
)

SERVICE = KubernetesId("v1", "Service", "shop", "web")
DOTTED = KubernetesId("v1", "Service", "shop", "web.status")
DATABASE = TerraformId("hashicorp", "aws", "aws_db_instance", "main")
IDS: dict[str, ResourceId] = {str(each): each for each in (SERVICE, DOTTED, DATABASE)}


@pytest.mark.parametrize(
    ("text", "id_", "attribute"),
    [
        ("hashicorp:aws:aws_db_instance:main.address", DATABASE, ("address",)),
        ("hashicorp:aws:aws_db_instance:main.endpoints.0.port", DATABASE, ("endpoints", "0", "port")),
        ("hashicorp:aws:aws_db_instance:main.endpoints[0].port", DATABASE, ("endpoints", 0, "port")),
        ('hashicorp:aws:aws_db_instance:main.tags["a.b/c"]', DATABASE, ("tags", "a.b/c")),
        ("v1:Service:shop:web.spec.clusterIP", SERVICE, ("spec", "clusterIP")),
        ("v1:Service:shop:web.status.loadBalancer", DOTTED, ("loadBalancer",)),
    ],
)
def test_the_longest_known_id_is_meant(text: str, id_: ResourceId, attribute: tuple[str | int, ...]) -> None:
    found = parse_reference(f"$kusion_path.{text}", IDS)
    assert (found.id, found.attribute) == (id_, attribute)
    assert parse_reference(found.text, IDS) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$kusion_path.v1:Service:shop:other.spec", "names no resource of this stack"),
        ("$kusion_path.v1:Service:shop:web", "names v1:Service:shop:web, but no attribute of it"),
        ("$kusion_path.v1:Service:shop:web.", "names v1:Service:shop:web, but no attribute of it"),
        ("$kusion_path.v1:Service:shop:web.a[b]", "names v1:Service:shop:web, but no attribute of it"),
        ("$kusion_path.", "names no resource of this stack"),
    ],
)
def test_what_names_nothing_is_told(text: str, message: str) -> None:
    with pytest.raises(InvalidReference, match=message):
        parse_reference(text, IDS)


def test_references_are_found_and_replaced_wherever_they_are() -> None:
    text = "$kusion_path.hashicorp:aws:aws_db_instance:main.address"
    untouched = {"b": ["costs $kusion_path"]}
    body = {"a": [{"value": text}], "rest": untouched}
    assert [path for path, _ in references(body, IDS)] == [("a", 0, "value")]
    new = replaced(body, IDS, lambda reference: UNKNOWN)
    assert new == {"a": [{"value": UNKNOWN}], "rest": untouched}
    assert new["rest"] is untouched
    assert list(unknown_paths(new)) == [("a", 0, "value")]


def test_a_path_may_join_keys_with_dots_and_index_lists() -> None:
    body = {"labels": {"a.b/c": "x", "a": {"b/c": "y"}}, "hosts": [{"name": "one"}], "later": UNKNOWN}
    assert referred(body, ("labels", "a", "b/c")) == "x"
    assert referred(body, ("hosts", "0", "name")) == "one"
    assert referred(body, ("later", "any", "thing")) is UNKNOWN
    for missing in (("labels", "z"), ("hosts", "1"), ("hosts", "name"), ("hosts", 0, "name", "x")):
        with pytest.raises(KeyError):
            referred(body, missing)
