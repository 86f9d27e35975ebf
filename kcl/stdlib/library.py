"""The whole library, bound to the capabilities of one run.

System modules are imported when a program first imports them: most use two or three of fifteen, and a run from the
command line should not wait for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from kcl.evaluator.value import Builtin, Library, Value
from kcl.semantic.signatures import LibraryTypes
from kcl.stdlib.access import Access
from kcl.stdlib.builtins import BUILTINS
from kcl.stdlib.checked import DECORATORS, TypedModule
from kcl.stdlib.declaration import Module
from kcl.stdlib.strings import METHODS

_PLACES: Final[Mapping[str, tuple[str, str]]] = {
    "base32": ("encodings", "BASE32"),
    "base64": ("encodings", "BASE64"),
    "collection": ("collection", "MODULE"),
    "crypto": ("encodings", "CRYPTO"),
    "datetime": ("datetime", "MODULE"),
    "file": ("files", "MODULE"),
    "json": ("documents", "JSON"),
    "manifests": ("documents", "MANIFESTS"),
    "math": ("math", "MODULE"),
    "net": ("net", "MODULE"),
    "regex": ("regex", "MODULE"),
    "runtime": ("runtime", "MODULE"),
    "template": ("template", "MODULE"),
    "units": ("units", "MODULE"),
    "yaml": ("documents", "YAML"),
}
"""System module → Python module beside this one, and the name of its declarations there."""


class _Modules(Mapping[str, Module]):
    """The system modules by the name an import uses, imported when they are asked for."""

    def __getitem__(self, name: str) -> Module:
        place, attribute = _PLACES[name]
        module = getattr(import_module(f"kcl.stdlib.{place}"), attribute)
        assert isinstance(module, Module)
        return module

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


MODULES: Final[Mapping[str, Module]] = _Modules()


class _Members(Mapping[str, Mapping[str, Builtin | Value]]):
    """The modules of a run, each bound to its capabilities when it is first looked into."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._bound: dict[str, Mapping[str, Builtin | Value]] = {}

    def __getitem__(self, name: str) -> Mapping[str, Builtin | Value]:
        if name not in self._bound:
            self._bound[name] = MODULES[name].members(self._access)
        return self._bound[name]

    def __contains__(self, name: object) -> bool:
        return name in _PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class _Types(Mapping[str, TypedModule]):
    """The system modules as the checker looks into them."""

    def __getitem__(self, name: str) -> TypedModule:
        return TypedModule(MODULES[name])

    def __contains__(self, name: object) -> bool:
        return name in _PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


TYPES: Final = LibraryTypes(
    builtins=TypedModule(BUILTINS).signatures(),
    string_methods=TypedModule(METHODS).signatures(),
    modules=_Types(),
    decorators=DECORATORS,
)
"""The library as the checker sees it."""


def build_library(access: Access) -> Library:
    """The library as the evaluator takes it; functions that reach outside do so through `access`."""
    return Library(
        builtins={name: function.builtin(access) for name, function in BUILTINS.functions.items()},
        string_methods={name: function.builtin(access, method=True) for name, function in METHODS.functions.items()},
        modules=_Members(access),
        types=TYPES,
    )
