"""main.tf.json out of resources: providers, aliases, lifecycle, what is refused, and the way back from a line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from runtimes.base import UNKNOWN, Misconfigured, Rejected, Resource, RuntimeType, TerraformId, parse_id
from runtimes.terraform import configuration
from runtimes.terraform.configuration import Configuration, Place
from runtimes.terraform.schema import Schemas
from runtimes.terraform.schema import read as read_schema
from runtimes.terraform.state import PriorState, read_prior
from tests.runtimes.terraform.direct import data

CANARY = "canary-text"


def aws(
    name: str, type_: str = "aws_vpc", *, extensions: Mapping[str, Any] | None = None, **attributes: Any
) -> Resource:
    said = {"provider": "registry.terraform.io/hashicorp/aws/5.0.1", "resourceType": type_, **(extensions or {})}
    id_ = TerraformId("hashicorp", "aws", type_, name)
    return Resource(id_, RuntimeType.TERRAFORM, attributes, extensions=said)


def other(source: str, type_: str = "aws_vpc", name: str = "main", **extensions: Any) -> Resource:
    namespace, provider = source.split("/")[-3:-1] if source.count("/") > 1 else source.split("/")[-2:]
    id_ = TerraformId(namespace, provider, type_, name)
    return Resource(id_, RuntimeType.TERRAFORM, {}, extensions={"provider": source, **extensions})


def document(*resources: Resource, **options: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(configuration.build(resources, **options).text)
    return content


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "registry.terraform.io/hashicorp/aws/5.0.1",
            {"source": "registry.terraform.io/hashicorp/aws", "version": "5.0.1"},
        ),
        ("hashicorp/aws/5.0.1", {"source": "registry.terraform.io/hashicorp/aws", "version": "5.0.1"}),
        ("hashicorp/aws", {"source": "registry.terraform.io/hashicorp/aws"}),
        ("aws/~> 5.0", {"source": "registry.terraform.io/hashicorp/aws", "version": "~> 5.0"}),
        ("mirror.example:8443/hashicorp/aws", {"source": "mirror.example:8443/hashicorp/aws"}),
    ],
)
def test_a_provider_may_be_written_in_every_form(written: str, expected: dict[str, str]) -> None:
    content = document(aws("main", extensions={"provider": written}))
    assert content["terraform"]["required_providers"] == {"aws": expected}
    assert "provider" not in content["resource"]["aws_vpc"]["main"]


def test_each_configuration_of_a_provider_has_an_alias_of_its_own() -> None:
    east, west = ({"providerMeta": {"region": region}} for region in ("east", "west"))
    content = document(aws("a", extensions=east), aws("b", extensions=west), aws("c", extensions=east), aws("d"))
    blocks = {block["region"]: block["alias"] for block in content["provider"]["aws"]}
    used = {name: block.get("provider") for name, block in content["resource"]["aws_vpc"].items()}
    assert used == {"a": f"aws.{blocks['east']}", "b": f"aws.{blocks['west']}", "c": f"aws.{blocks['east']}", "d": None}
    alone = document(aws("b", extensions=west))
    assert alone["provider"]["aws"][0]["alias"] == blocks["west"]


def test_two_providers_of_one_name_are_told_apart() -> None:
    content = document(
        other("hashicorp/aws"), other("acme/aws", "aws_lake"), other("own.example/acme/aws/1.0", "aws_sea")
    )
    assert set(content["terraform"]["required_providers"]) == {
        "hashicorp-aws", "registry-terraform-io-acme-aws", "own-example-acme-aws"
    }  # fmt: skip
    assert content["resource"]["aws_lake"]["main"]["provider"] == "registry-terraform-io-acme-aws"


def test_secrets_of_a_provider_are_variables_and_do_not_change_its_alias() -> None:
    one, two = (
        configuration.build(
            [aws("a", extensions={"providerMeta": {"region": "east", "secret_key": key, "note": f"x {CANARY}"}})],
            secrets=frozenset({CANARY}),
        )
        for key in ("first-key", "second-key")
    )
    assert one.text == two.text
    assert set(one.environment.values()) == {"first-key", f"x {CANARY}"}
    assert CANARY not in one.text
    assert "first-key" not in one.text


def test_one_configuration_with_two_secrets_is_refused() -> None:
    metas = [{"providerMeta": {"region": "east", "secret_key": key}} for key in ("first-key", "second-key")]
    with pytest.raises(Misconfigured, match="other secrets than the same one"):
        configuration.build([aws("a", extensions=metas[0]), aws("b", extensions=metas[1])])


def test_two_versions_of_one_provider_are_refused_naming_both() -> None:
    newer = aws("b", extensions={"provider": "registry.terraform.io/hashicorp/aws/6.0.0"})
    with pytest.raises(
        Misconfigured, match=r"aws_vpc:b: .*in version 6\.0\.0, but hashicorp:aws:aws_vpc:a needs"
    ) as raised:
        configuration.build([aws("a"), newer])
    assert "one version of each provider" in raised.value.hint


def test_the_digest_changes_with_what_init_is_for() -> None:
    def digest(*resources: Resource, **options: Any) -> str:
        return configuration.build(resources, **options).provider_digest

    plain = digest(aws("a", cidr="x"))
    assert digest(aws("b", "aws_subnet", cidr="y", extensions={"providerMeta": {"region": "west"}})) == plain
    assert digest(aws("a"), state=_recorded("aws_vpc.a", "hashicorp/aws")) == plain
    others = {
        digest(aws("a", extensions={"provider": "hashicorp/aws/6.0.0"})),
        digest(aws("a"), backend={"type": "s3", "config": {"bucket": "x"}}),
        digest(aws("a"), required_version=">= 1.8"),
        digest(aws("a"), state=_recorded("random_id.x", "hashicorp/random")),
    }
    assert len({plain, *others}) == 5


def test_what_is_to_be_deleted_keeps_the_configuration_of_its_provider() -> None:
    former = aws("old", extensions={"providerMeta": {"region": "west"}})
    made = document(former)
    alias = made["provider"]["aws"][0]["alias"]
    content = document(former=[former], state=_recorded("aws_vpc.old", "hashicorp/aws", alias))
    assert content["provider"] == made["provider"]
    assert content["terraform"]["required_providers"] == made["terraform"]["required_providers"]
    assert "resource" not in content
    assert "provider" not in document(former=[former], state=PriorState())


FORMER_LISTS = {
    "no name was secret": {"region": "west", "smtp_auth": "a-1", "session_key": "k-2"},
    "one name was": {"region": "west", "smtp_auth": "a-1"},
    "another was": {"region": "west", "session_key": "k-2"},
    "both are": {"region": "west"},
}


@pytest.mark.parametrize("counted", FORMER_LISTS.values(), ids=FORMER_LISTS)
@pytest.mark.parametrize("still", ["configured", "former"])
def test_what_a_state_names_by_a_former_list_of_secret_names_keeps_its_configuration(
    counted: Mapping[str, str], still: str
) -> None:
    """Terraform deletes nothing that its state knows by an alias that no configuration has."""
    meta = {"region": "west", "smtp_auth": "a-1", "session_key": "k-2"}
    alias = "meta_" + hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:8]
    gone, kept = (aws(name, extensions={"providerMeta": meta}) for name in ("old", "kept"))
    elsewhere = aws("other", extensions={"providerMeta": {**meta, "region": "east"}})
    state = _recorded("aws_vpc.old", "hashicorp/aws", alias)
    content = document(
        elsewhere, *([kept] if still == "configured" else []), state=state, former=[gone] if still == "former" else []
    )
    regions = {block["alias"]: block["region"] for block in content["provider"]["aws"]}
    assert regions[alias] == "west"
    assert sorted(set(regions.values())) == ["east", "west"]


def test_what_another_configuration_made_is_not_deleted_by_one_that_is_nearly_the_same() -> None:
    for before, now in (
        ({"region": "west", "token": "t"}, {"region": "east", "token": "t"}),
        ({"profile": "p", "token": "t"}, {"profile": "p", "region": "east", "token": "t"}),
        ({"profile": "p", "region": "east"}, {"profile": "p"}),
    ):
        alias = document(aws("x", extensions={"providerMeta": before}))["provider"]["aws"][0]["alias"]
        state = _recorded("aws_vpc.old", "hashicorp/aws", alias)
        content = document(aws("kept", extensions={"providerMeta": now}), state=state)
        assert alias not in {block["alias"] for block in content["provider"]["aws"]}


def test_what_can_no_longer_be_read_of_former_resources_is_left_to_terraform() -> None:
    broken = [
        aws("one", extensions={"provider": "registry.terraform.io/acme/aws/1.0"}),
        aws("two", extensions={"providerMeta": {"region": "$kusion_path.hashicorp:aws:aws_vpc:gone.id"}}),
        aws("three", extensions={"providerMeta": {"region": UNKNOWN}}),
    ]
    assert "provider" not in document(aws("a"), former=broken)


def test_what_the_state_knows_is_not_imported_again() -> None:
    written = aws("a", extensions={"importId": "vpc-1"})
    assert document(written)["import"] == [{"to": "aws_vpc.a", "id": "vpc-1"}]
    assert "import" not in document(written, state=_recorded("aws_vpc.a", "hashicorp/aws"))
    assert document(aws("a"), adopt={aws("a").id: "${x}"})["import"] == [{"to": "aws_vpc.a", "id": "$${x}"}]
    assert configuration.build([aws("a")], adopt={aws("a").id: "${x}"}).adopted == {aws("a").id: "${x}"}


def test_lifecycle_and_timeouts_are_blocks() -> None:
    lifecycle = {
        "create_before_destroy": True,
        "ignore_changes": ["tags", 'labels["a.b"]'],
        "replace_triggered_by": ["hashicorp:aws:aws_vpc:b.c", "$kusion_path.hashicorp:aws:aws_vpc:b.c.id"],
    }
    content = document(
        aws("a", extensions={"lifecycle": lifecycle, "timeouts": {"create": "10m"}}, timeouts={"delete": "1h"}),
        aws("b.c"),
        aws("d", lifecycle={"ignore_changes": "all"}),
    )
    block = content["resource"]["aws_vpc"]["a"]
    triggers = ["aws_vpc.b-x2e-c", "aws_vpc.b-x2e-c.id"]
    assert block["lifecycle"] == {**lifecycle, "replace_triggered_by": triggers}
    assert block["timeouts"] == {"delete": "1h", "create": "10m"}
    assert content["resource"]["aws_vpc"]["d"]["lifecycle"] == {"ignore_changes": "all"}


def test_dependencies_inside_the_workspace_are_told() -> None:
    outside = parse_id("apps/v1:Deployment:shop:web", RuntimeType.KUBERNETES)
    second = replace(aws("b"), depends_on=(aws("a").id, outside))
    assert document(aws("a"), second)["resource"]["aws_vpc"]["b"] == {"depends_on": ["aws_vpc.a"]}


def test_secrets_are_found_by_text_by_name_by_extension_and_by_schema() -> None:
    schemas = _schemas({"pin": {"type": "string", "optional": True, "sensitive": True}})
    written = configuration.build(
        [
            aws(
                "a",
                extensions={"sensitive": ["rules[0].key", "word"]},
                note=f"a {CANARY}",
                db_password=12345,
                use_password=True,
                pin="by-schema",
                word={"deep": ["by-extension"]},
                rules=[{"key": "by-path"}, {"key": "open"}],
            )
        ],
        secrets=frozenset({CANARY}),
        schemas=schemas,
    )
    hidden = {f"a {CANARY}", "12345", "by-schema", "by-extension", "by-path"}
    assert set(written.environment.values()) == hidden
    assert not any(each in written.text for each in hidden)
    block = json.loads(written.text)["resource"]["aws_vpc"]["a"]
    assert (block["use_password"], block["rules"][1]) == (True, {"key": "open"})
    assert not any(each in repr(written) for each in hidden)


def test_a_backend_is_written_and_refused_with_a_secret() -> None:
    backend = {"type": "s3", "config": {"bucket": "states", "key": "${x}"}}
    assert document(aws("a"), backend=backend)["terraform"]["backend"] == {"s3": backend["config"]}
    assert "backend" not in document(aws("a"), backend={"type": "local"})["terraform"]
    for config in ({"secret_key": "clear"}, {"endpoint": f"https://{CANARY}@x"}):
        with pytest.raises(Misconfigured, match="holds a secret at") as raised:
            configuration.build([], backend={"type": "s3", "config": config}, secrets=frozenset({CANARY}))
        assert CANARY not in str(raised.value)
        assert "clear" not in str(raised.value)


def test_dotted_keys_of_maps_are_one_key_where_the_schema_tells() -> None:
    schemas = _schemas({"tags": {"type": ["map", "string"], "computed": True}})
    consumer = data("c", input="$kusion_path.hashicorp:aws:aws_vpc:a.tags.app.io/name")
    for known, expected in ((schemas, '${aws_vpc.a.tags["app.io/name"]}'), (None, '${aws_vpc.a.tags.app["io/name"]}')):
        content = document(aws("a"), consumer, schemas=known)
        assert content["resource"]["terraform_data"]["c"]["input"] == expected


def test_what_depends_on_the_unknown_is_unresolved_however_far() -> None:
    chain = [data("a", input=UNKNOWN)]
    chain += [
        data(name, input=f"$kusion_path.builtin:terraform:terraform_data:{before}.id")
        for before, name in (("a", "b"), ("b", "c"))
    ]
    written = configuration.build([*chain, data("free")])
    assert written.unresolved == {each.id for each in chain}
    assert written.id_at("terraform_data.unknown-xa") is None


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (aws("a", count=2), "Terraform keeps the attribute 'count' for itself"),
        (aws("a", depends_on=["x"]), "'depends_on'"),
        (aws("a", extensions={"lifecycle": {"prevent": True}}), "lifecycle has 'prevent'"),
        (
            aws("a", extensions={"lifecycle": {"prevent_destroy": "yes"}}),
            "lifecycle.prevent_destroy is not true or false",
        ),
        (aws("a", extensions={"resourceType": "aws_x"}), "its id is of type aws_vpc"),
        (aws("a", extensions={"movedFrom": "a:b"}), "is not of the form"),
        (aws("a", extensions={"sensitive": "password"}), "not a list of attribute paths"),
        (aws("a", size=float("inf")), "size: inf is no number"),
        (aws("a", at={"x": [object()]}), r"at\.x\[0\]: a object is no value"),
        (aws("a", at="$kusion_path.hashicorp:aws:aws_vpc:none.id"), "at: .* names no resource of this stack"),
        (aws("a", at="$kusion_path.hashicorp:aws:aws_vpc:a"), "but no attribute of it"),
        (aws("a", at={1: 2}), "the key 1 is no text"),
        (aws("a", text="\ud800"), "half of a surrogate pair"),
        (aws("a", password="x\0y"), "a secret with a zero byte"),
    ],
)
def test_what_can_not_be_is_refused_with_its_place(resource: Resource, message: str) -> None:
    with pytest.raises(Rejected, match=message) as raised:
        configuration.build([resource])
    assert raised.value.subject == "hashicorp:aws:aws_vpc:a"


@pytest.mark.parametrize(
    ("extensions", "message"),
    [
        ({"provider": "registry.terraform.io/acme/aws/1.0"}, "its id is of provider hashicorp/aws"),
        ({"provider": "a b"}, "which is no provider"),
        ({"provider": 5}, "which is no provider"),
        ({"providerMeta": "east"}, "not a mapping"),
        ({"providerMeta": {"alias": "x"}}, "has 'alias'"),
    ],
)
def test_a_provider_that_can_not_be_is_refused(extensions: dict[str, Any], message: str) -> None:
    with pytest.raises(Misconfigured, match=message):
        configuration.build([aws("a", extensions=extensions)])


def test_two_resources_of_one_id_are_refused() -> None:
    with pytest.raises(Rejected, match="two resources of this id"):
        configuration.build([aws("a"), aws("a", cidr="x")])


def test_every_line_leads_back_to_what_was_written() -> None:
    written = configuration.build(
        [
            aws("a.b", cidr="10", rules=[{"x${y}": 1}, {"z": [True]}], extensions={"providerMeta": {"region": "east"}}),
            aws("c", extensions={"importId": "vpc-1", "movedFrom": "hashicorp:aws:aws_vpc:d"}),
        ]
    )
    lines = written.text.splitlines()
    first, second = (TerraformId("hashicorp", "aws", "aws_vpc", name) for name in ("a.b", "c"))

    def place(shown: str) -> Place:
        return written.place(next(number for number, line in enumerate(lines, 1) if shown in line))

    assert place('"cidr": "10"') == Place(first, ("cidr",))
    assert place('"x$${y}": 1') == Place(first, ("rules", 0, "x${y}"))
    assert place(" true") == Place(first, ("rules", 1, "z", 0))
    assert place('"a-x2e-b": {') == Place(first, ())
    assert place('"region": "east"') == Place(first, ("region",), in_provider=True)
    assert place('"id": "vpc-1"') == Place(second)
    assert place('"from": "aws_vpc.d"') == Place(second)
    assert written.place(0) == written.place(len(lines) + 1) == written.place(1) == Place()


def test_texts_of_terraform_are_scrubbed() -> None:
    written = configuration.build([aws("a", password='pass"word'), aws("b", pin_token="abc")])
    said = 'got "pass\\"word", pass"word and "abc", not abcdef'
    assert written.scrubbed(said) == 'got "(secret)", (secret) and "(secret)", not abcdef'


def test_ids_are_found_for_what_is_configured_recorded_and_neither() -> None:
    written = configuration.build([aws("a.b")], state=_recorded("random_id.x", "hashicorp/random"))
    assert written.id_at("aws_vpc.a-x2e-b") == aws("a.b").id
    assert written.id_at("random_id.x") == TerraformId("hashicorp", "random", "random_id", "x")
    assert written.id_at("aws_subnet.y") == TerraformId("hashicorp", "aws", "aws_subnet", "y")
    acme = TerraformId("acme-inc", "acme", "acme_lake", "z")
    assert written.id_at("acme_lake.z", "registry.terraform.io/acme-inc/acme") == acme
    assert written.id_at("data.aws_ami.x") is None
    assert written.address_of(acme) == "acme_lake.z"


def _recorded(address: str, source: str, alias: str = "") -> PriorState:
    type_, _, name = address.partition(".")
    provider = f'provider["registry.terraform.io/{source}"]' + (f".{alias}" if alias else "")
    resource = {"mode": "managed", "type": type_, "name": name, "provider": provider, "instances": [{"attributes": {}}]}
    return read_prior({"version": 4, "resources": [resource]})


def _schemas(attributes: dict[str, Any]) -> Schemas:
    schemas = {"aws_vpc": {"version": 0, "block": {"attributes": attributes}}}
    return read_schema({"provider_schemas": {"registry.terraform.io/hashicorp/aws": {"resource_schemas": schemas}}})


def test_a_configuration_can_be_had_of_nothing() -> None:
    written = configuration.build([])
    assert isinstance(written, Configuration)
    assert json.loads(written.text) == {"terraform": {"required_version": configuration.OLDEST_VERSION}}
