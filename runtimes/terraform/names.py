"""Addresses in a Terraform configuration for the ids of a Spec, and back.

The name of a resource is the last part of its id. Terraform takes fewer characters there than an id may have, so the
others are written as `-x<hex>-`. The rule depends on nothing but the name itself: a resource never changes its address
because another one came or went, and the id can be read back from a state that nobody else wrote anything down about.

What a state has from elsewhere, under modules, counts or labels that this rule never gives, gets an id whose name is
`@` and its whole address.
"""

from __future__ import annotations

import re
from typing import Final

from kcl.records import dataclass
from runtimes.base import TerraformId

DEFAULT_HOST: Final = "registry.terraform.io"
_BUILT_IN_TYPE: Final = "terraform_data"

OWN_LABEL: Final = "unknown-xa"
"""The label of our own resource, which stands for values not known yet. `label` never gives it."""

OWN_ADDRESS: Final = f"{_BUILT_IN_TYPE}.{OWN_LABEL}"

IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SOURCE = re.compile(r'(?:provider\[")?(?:([^/"\[\]]+)/)?([^/"\[\]]+)/([^/"\[\]]+?)(?:"\](?:\.([\w-]+))?)?')
_FIRST = re.compile(r"[A-Za-z_]")
_PLAIN = re.compile(r"[A-Za-z0-9_]|-(?!x[0-9a-f])")
_ESCAPED = re.compile(r"-x([0-9a-f]+)-")
_BEGINS_ESCAPED = re.compile(r"_*-x")
_ADDRESS = re.compile(r"([A-Za-z_][\w-]*)\.([A-Za-z_][\w-]*)")
_KEY = r'\[(?:[^\]"]*|"(?:[^"\\]|\\.)*")\]'
_FOREIGN_TYPE = re.compile(rf"(?:^|\.)([A-Za-z_][\w-]*)\.[A-Za-z_][\w-]*(?:{_KEY})?$")
_FOREIGN = "@"


@dataclass(frozen=True, slots=True, order=True)
class ProviderSource:
    """Where a provider comes from, as Terraform names it: `registry.terraform.io/hashicorp/aws`."""

    host: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.host}/{self.namespace}/{self.name}"

    @property
    def is_built_in(self) -> bool:
        """Part of terraform itself, so that nothing is to be installed. Of another host, `builtin` is just a name."""
        return self == BUILT_IN


BUILT_IN: Final = ProviderSource("terraform.io", "builtin", "terraform")


def parse_source(text: str) -> tuple[ProviderSource, str]:
    """Parses `host/namespace/name` or `provider["host/namespace/name"].alias`; returns the alias too, or "".

    Raises `ValueError` for anything else. A source without a host is one of the public registry.
    """
    match = _SOURCE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not the source of a provider: host/namespace/name")
    return ProviderSource(match[1] or DEFAULT_HOST, match[2], match[3]), match[4] or ""


def label(name: str) -> str:
    """Returns the name of a resource in the configuration; the same one where Terraform can take it."""
    written = "".join(
        each if _PLAIN.match(name, index) and (index or _FIRST.match(each)) else f"-x{ord(each):x}-"
        for index, each in enumerate(name)
    )
    return f"_{written}" if _BEGINS_ESCAPED.match(written) else written


def name_of(label: str) -> str:
    """The inverse of `label`."""
    written = label[1:] if label.startswith("_") and _BEGINS_ESCAPED.match(label) else label
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), written)


def address(id_: TerraformId) -> str:
    """Returns `type.label`; for what the workspace has from elsewhere its own address."""
    if id_.name.startswith(_FOREIGN) and f"{id_.resource_type}." in id_.name:
        return id_.name.removeprefix(_FOREIGN).replace("%3A", ":").replace("%25", "%")
    return f"{id_.resource_type}.{label(id_.name)}"


def id_at(address: str, source: ProviderSource) -> TerraformId:
    """Returns the id of what stands at an address of a plan or a state, with or without an index or modules."""
    if (match := _ADDRESS.fullmatch(address)) and _is_ours(match[2]):
        return TerraformId(source.namespace, source.name, match[1], name_of(match[2]))
    foreign = _FOREIGN + address.replace("%", "%25").replace(":", "%3A")
    return TerraformId(source.namespace, source.name, type_at(address), foreign)


def type_at(address: str) -> str:
    """Returns the resource type of any address, whatever modules and keys it has; "" for what is no address."""
    found = _FOREIGN_TYPE.search(address)
    return found[1] if found else ""


def _is_ours(written: str) -> bool:
    try:
        return label(name_of(written)) == written
    except (ValueError, OverflowError):  # an escape that is no character: a label from elsewhere
        return False
