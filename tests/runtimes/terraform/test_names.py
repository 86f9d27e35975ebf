"""Names of resources in a configuration: never changed where they need not be, and read back as they were."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runtimes.base import TerraformId
from runtimes.terraform import names
from runtimes.terraform.names import DEFAULT_HOST, ProviderSource, parse_source

NAMES = st.text(st.characters(exclude_characters=":", exclude_categories=["Cs"]), min_size=1)
TRICKY = st.text(st.sampled_from("-_x0af2.9"), min_size=1)


@given(NAMES | TRICKY)
@example("_.")
@example("__.")
@example("-xyz")
@example("_-x2e-")
@example("a-x2.")
@example("@a.b")
def test_a_name_comes_back_from_its_label(name: str) -> None:
    written = names.label(name)
    assert names.name_of(written) == name
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", written)
    assert written != names.OWN_LABEL


@given(NAMES | TRICKY)
def test_an_id_comes_back_from_its_address(name: str) -> None:
    id_ = TerraformId("hashicorp", "aws", "aws_s3_bucket", name)
    assert names.id_at(names.address(id_), ProviderSource(DEFAULT_HOST, "hashicorp", "aws")) == id_


@pytest.mark.parametrize("name", ["orders", "orders-db", "my_db_2", "_x", "a-xylophone", "A-b--c"])
def test_a_name_that_terraform_takes_stays(name: str) -> None:
    assert names.label(name) == name


@pytest.mark.parametrize(
    "address",
    [
        "module.net.aws_vpc.main",
        'aws_vpc.main["eu:west"]',
        "aws_vpc.main[0]",
        "aws_vpc.web-x1-",
        "aws_vpc.web-x0ffffffff-",
        'module.a["x.y"].module.b[1].aws_vpc.main[0]',
    ],
)
def test_what_comes_from_elsewhere_keeps_its_address(address: str) -> None:
    id_ = names.id_at(address, ProviderSource(DEFAULT_HOST, "hashicorp", "aws"))
    assert id_.resource_type == "aws_vpc"
    assert str(id_).count(":") == 3
    assert names.address(id_) == address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hashicorp/aws", (ProviderSource(DEFAULT_HOST, "hashicorp", "aws"), "")),
        ("workbench.local/sandbox/sandbox", (ProviderSource("workbench.local", "sandbox", "sandbox"), "")),
        ('provider["terraform.io/builtin/terraform"]', (names.BUILT_IN, "")),
        (
            'provider["registry.terraform.io/hashicorp/aws"].west_1',
            (ProviderSource(DEFAULT_HOST, "hashicorp", "aws"), "west_1"),
        ),
    ],
)
def test_sources_are_read_in_every_form(text: str, expected: tuple[ProviderSource, str]) -> None:
    assert parse_source(text) == expected


@pytest.mark.parametrize("text", ["", "aws", "a/b/c/d", "a//b"])
def test_what_is_no_source_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not the source of a provider"):
        parse_source(text)
