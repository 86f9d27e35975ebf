"""The REST client of `kubernetes.aio`, without the rest of the package.

Importing any part of it loads all of it, with the generated models, three ways to log in and a second HTTP library:
300 modules and 0.22 s, a quarter of a small diff. The REST client needs four of these. So it is loaded while the
packages around it are empty; what was loaded so is taken out again, and who imports the package gets all of it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import runtimes.lean_aiohttp  # noqa: F401 - before the client imports aiohttp

_PACKAGES = ("kubernetes", "kubernetes.aio", "kubernetes.aio.client", "kubernetes.aio.utils")
_PARTS = ("kubernetes.aio.client.configuration", "kubernetes.aio.client.rest")


def _loaded() -> list[Any]:
    """Returns the two modules. Raises ImportError where the package is not there."""
    if _PACKAGES[0] in sys.modules:  # somebody wanted all of it
        return [import_module(each) for each in _PARTS]
    found = find_spec(_PACKAGES[0])
    roots = list(found.submodule_search_locations or ()) if found else []
    try:
        for name in _PACKAGES:
            package = sys.modules[name] = ModuleType(name)
            package.__path__ = [str(Path(each, *name.split(".")[1:])) for each in roots]
        return [import_module(each) for each in _PARTS]
    finally:
        for name in [each for each in sys.modules if each.partition(".")[0] == _PACKAGES[0]]:
            del sys.modules[name]


_configuration, _rest = _loaded()
Configuration: Any = _configuration.Configuration
RESTClientObject: Any = _rest.RESTClientObject
