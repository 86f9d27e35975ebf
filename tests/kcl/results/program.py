"""The program whose results are cached, and a run of it by a new process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kcl import api
from kcl.cache.store import Store
from tests.kcl.clocks import later

MAIN = """import models
import single

_size = option("size")
a = models.Thing {name = "x", size = _size or 1}
b: models.Thing {name = "y", labels.team = "t"}
c = [1, single.one, Undefined, {d = [a.name, "z"]}]
print("said")
"""
MODELS = """schema Thing:
    name: str
    size: int = 1
    labels: {str:str} = {app = name}
    note?: str
"""
SETTINGS = "kcl_options:\n  - key: size\n    value: 3\n"


def run(folder: Path, store: Store | None, **more: Any) -> api.RunResult:
    """Runs it as a process would that has just started."""
    return api.run(["main.k"], work_dir=folder, cache=api.ParseCache(clock=later, store=store), **more)
