"""Which providers Terraform may fetch and run before their user trusts them, and with which settings.

A provider is a program. A mere diff runs it, with the environment of whoever asks, and its settings say where it goes
and, with some, which command it starts for a credential. So two things need trust:

- the provider, by its source, its version, and what the repository's own lock file says of its package. Those of
  WELL_KNOWN need none: they talk to the interface of one cloud, or to nobody. So do those of a mirror of this machine;
- its settings, where they say more than which region or project: an address, a profile, a file, a program.

Terraform writes down the checksums of each package that it fetched, and takes no other one for it (`lock.py` of the
runtime). What the repository's `.terraform.lock.hcl` says wins over that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from runtimes.base import ProviderUse
from workbench.trust.backends import place
from workbench.trust.wants import Kind, Want, digest, short

_OFFICIAL: Final = (
    "aws",
    "awscc",
    "azuread",
    "azurerm",
    "google",
    "google-beta",
    "local",
    "null",
    "random",
    "time",
    "tls",
)
WELL_KNOWN: Final = tuple(f"registry.terraform.io/hashicorp/{name}" for name in _OFFICIAL)
"""Not all of the publisher's: external and http do what their arguments say, kubernetes, helm and vault go anywhere."""

_WHERE_IN_CLOUD: Final = frozenset(
    {"region", "regions", "zone", "location", "project", "project_id", "billing_project", "account_id", "tenant_id"}
    | {"subscription_id", "allowed_account_ids", "forbidden_account_ids", "partner_id"}
)
_LABELS: Final = frozenset({"default_tags", "ignore_tags", "default_labels"})
_LIMITS: Final = frozenset({"max_retries", "retry_mode", "request_timeout", "features"})
# a region becomes a part of a host's name, so it may not bring another one along
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]*")


def is_well_known(source: str, patterns: Collection[str]) -> bool:
    """Returns whether a source needs no trust of its own. `patterns` are the user's: host/namespace/name, or `*`."""
    parts = source.split("/")
    return any(
        len(each.split("/")) == len(parts) and all(map(fnmatchcase, parts, each.split("/")))
        for each in (*WELL_KNOWN, *patterns)
    )


def are_harmless(settings: Mapping[str, Any]) -> bool:
    """Returns whether settings say no more than which part of a cloud is meant."""
    return all(
        key in _LABELS or (key in _LIMITS and _is_plain(value)) or (key in _WHERE_IN_CLOUD and _is_plain(value))
        for key, value in settings.items()
    )


def code(use: ProviderUse, command: str = "", where: str = "") -> Want:
    """Returns what trust in a provider itself is bound to."""
    name = short(f"{use.source} {use.version or '(any version)'}")
    pinned = f"{name}, checksums in the repository" if use.pin else name
    bound = digest(Kind.PROVIDER, use.source, use.version, list(use.pin))
    return Want(Kind.PROVIDER, pinned, bound, where, about=use.source, command=command)


def settings(use: ProviderUse, command: str = "", where: str = "") -> Want:
    """Returns what trust in the settings of a provider is bound to."""
    bound = digest(Kind.SETTINGS, use.source, use.settings)
    return Want(
        Kind.SETTINGS,
        short(f"{use.source}: {', '.join(_shown(use.settings))}"),
        bound,
        where,
        about=use.source,
        command=command,
    )


def _shown(values: Mapping[str, Any]) -> Iterable[str]:
    """Yields the names of settings, with where they lead as far as that is no secret."""
    for key, value in sorted(values.items()):
        if key == "$":
            yield "values of other resources"
            continue
        leads = place(value) if isinstance(value, str) and "://" in value else ""
        yield f"{key} {leads}" if leads else str(key)


def _is_plain(value: Any) -> bool:
    match value:
        case str():
            return _PLAIN.fullmatch(value) is not None
        case Mapping():
            return all(_is_plain(each) for each in (*value, *value.values()))
        case list() | tuple():
            return all(map(_is_plain, value))
        case _:
            return value is None or isinstance(value, bool | int | float)
