"""How much a test tries: little in `make test`, all of it in `make soak`."""

from __future__ import annotations

import os

SOAK = "KONFIG_WORKBENCH_SOAK"


def is_soak() -> bool:
    return os.environ.get(SOAK) == "1"


def size(short: int, long: int) -> int:
    return long if is_soak() else short
