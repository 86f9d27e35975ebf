"""The whole library, bound to the capabilities of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kcl.evaluator.value import Builtin, Library, Value
from kcl.stdlib import collection, datetime, documents, encodings, files, math, net, regex, runtime, template, units
from kcl.stdlib.access import Access
from kcl.stdlib.builtins import BUILTINS
from kcl.stdlib.declaration import Module
from kcl.stdlib.strings import METHODS

MODULES: Final[Mapping[str, Module]] = {
    module.name: module
    for module in (
        encodings.BASE32,
        encodings.BASE64,
        collection.MODULE,
        encodings.CRYPTO,
        datetime.MODULE,
        files.MODULE,
        documents.JSON,
        documents.MANIFESTS,
        math.MODULE,
        net.MODULE,
        regex.MODULE,
        runtime.MODULE,
        template.MODULE,
        units.MODULE,
        documents.YAML,
    )
}
"""The system modules by the name an import uses."""


class _Members(Mapping[str, Mapping[str, Builtin | Value]]):
    """The modules of a run, each bound when it is first looked into: most programs import two or three."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._bound: dict[str, Mapping[str, Builtin | Value]] = {}

    def __getitem__(self, name: str) -> Mapping[str, Builtin | Value]:
        if name not in self._bound:
            self._bound[name] = MODULES[name].members(self._access)
        return self._bound[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


def build_library(access: Access) -> Library:
    """The library as the evaluator takes it; functions that reach outside do so through `access`."""
    return Library(
        builtins={name: function.builtin(access) for name, function in BUILTINS.functions.items()},
        string_methods={name: function.builtin(access, method=True) for name, function in METHODS.functions.items()},
        modules=_Members(access),
    )
