"""What providers say about their resource types: `terraform providers schema -json`.

Optional everywhere: without schemas, secrets are known by the masks of plans and by their names, and sets by how they
come back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Schemas:
    types: Mapping[str, Any]


def read(content: Mapping[str, Any] | str | bytes, *, types: Collection[str] | None = None) -> Schemas:
    """Reads the output of `terraform providers schema -json`; only these resource types, if given.

    The output of a large provider has tens of megabytes, so it is worth to keep what is returned.
    """
    raise NotImplementedError
