"""What extensions may say is documented, key by key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runtimes.terraform import settings

PAGE = (Path(__file__).parents[3] / "docs" / "repository.md").read_text(encoding="utf-8")
KEYS = re.findall(r"^(\w+) {2,}", settings.__doc__ or "", re.MULTILINE)


def test_there_are_keys_to_look_for() -> None:
    assert {"resourceType", "importId", "lifecycle"} <= set(KEYS)


@pytest.mark.parametrize("key", ["provider", "providerMeta", *KEYS])
def test_every_extension_has_a_row(key: str) -> None:
    assert re.search(rf"^\| `{key}` \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("name", [*settings.IMPORT_IDS, *settings.LIFECYCLE, *sorted(set(settings.RESERVED) - {"//"})])
def test_every_name_is_told(name: str) -> None:
    assert f"`{name}`" in PAGE
