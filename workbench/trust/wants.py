"""What a repository wants of this machine, and what trust in it is bound to."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Any, Final

from kcl.records import dataclass

_LONGEST: Final = 160


class Kind(StrEnum):
    """The kinds of things that need trust, as `wb trust list` names them."""

    REPOSITORY = "repository"
    PLUGIN = "plugin"
    BACKEND = "backend"
    PROVIDER = "provider"
    SETTINGS = "provider settings"
    KUBECONFIG = "kubeconfig"
    SECRETS = "secrets"


@dataclass(frozen=True, slots=True)
class Want:
    """One thing. `name` is what people know it by, safe to show; `where` the file or line that asks for it.

    `about` groups digests of the same thing, such as versions of one provider. `command` trusts it.
    """

    kind: Kind
    name: str
    digest: str
    where: str = ""
    about: str = ""
    command: str = ""


def digest(*parts: Any) -> str:
    """Returns what trust is bound to: another one for any other `parts`, which are plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def short(text: str) -> str:
    """Returns a text of the repository as one line without control characters, and not too long.

    Of a long one the end stays too: that of a host's name says whose it is.
    """
    plain = json.dumps(text)[1:-1]
    half = _LONGEST // 2
    return plain if len(plain) <= _LONGEST else f"{plain[:half]}...{plain[-half:]}"
