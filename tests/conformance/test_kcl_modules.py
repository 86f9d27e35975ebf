"""The published packages: programs made of them compile as officially, or are refused as officially.

Some programs by default, all (an hour on a busy machine) with KCL_MODULES_PROGRAMS=all.
"""

from __future__ import annotations

import os
from collections import Counter

from kcl.api import ParseCache
from tests.conformance.kcl_modules import difference, programs
from tests.kcl.conformance import corpus
from tests.properties.official import Gone, official

_DEFAULT = 60
_SECONDS = 30


def test_programs_of_packages_compile_as_officially() -> None:
    folder = corpus("kcl-modules")
    made = list(programs(folder))
    wanted = os.environ.get("KCL_MODULES_PROGRAMS", str(_DEFAULT))
    chosen = made if wanted == "all" else made[:: max(1, len(made) // int(wanted))]
    found: list[str] = []
    figures: Counter[str] = Counter()
    cache = ParseCache()
    with official(_SECONDS) as peer:
        for program in chosen:
            try:
                different = difference(program, folder, cache, peer)
            except Gone:
                figures["without an official answer"] += 1
                continue
            figures["equal" if different is None else different.kind] += 1
            if different is not None:
                found.append(f"{program.name}: {different.kind}")
    assert not found, f"{dict(figures)}\n" + "\n".join(found)
    assert figures["equal"] > len(chosen) * 0.95
