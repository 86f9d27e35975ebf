"""The library as programs are checked against it before they run.

That is the declarations, but for the functions below: the official checker asks for less or more there than a call at
run time does, and programs are held to what it asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kcl.records import dataclass
from kcl.stdlib.declaration import Module

_NUMBER: Final = "int | float"
_ITERABLE: Final = "str | {:} | []"
_CHECKED: Final[Mapping[str, Mapping[str, str]]] = {
    "": {
        "all_true": "all_true(inval: []) -> bool",
        "any_true": "any_true(inval: []) -> bool",
        "dict": "dict(x?: any, **entries: any) -> {:}",
        "float": "float(number: any) -> float",
        "int": "int(number: any, base?: int) -> int",
        "isunique": "isunique(inval: []) -> bool",
        "len": f"len(inval: {_ITERABLE}) -> int",
        "option": "option(key: str, type?: str, required?: bool, default?: any, help?: str) -> any",
        "pow": f"pow(x: {_NUMBER}, y: {_NUMBER}, z?: {_NUMBER}) -> {_NUMBER}",
        "range": "range(start?: int, stop?: int, step?: int) -> [int]",
        "reduce": "reduce(reducer: (any, any) -> any, list: [], initial?: any) -> any",
        "sorted": f"sorted(inval: {_ITERABLE}, reverse?: bool) -> []",
        "sum": "sum(iterable: [], start?: any) -> any",
    },
    "base32": {"encode": "encode(value: str) -> str"},
    "file": {
        "append": "append(filepath: str, content: str) -> any",
        "cp": "cp(src: str, dest: str) -> any",
        "delete": "delete(filepath: str) -> any",
        "mkdir": "mkdir(directory: str, exists?: bool) -> any",
        "mv": "mv(src: str, dest: str) -> any",
        "write": "write(filepath: str, content: str) -> any",
    },
    "json": {
        "dump_to_file": "dump_to_file(data: any, filename: str, sort_keys?: bool, indent?: int, ignore_private?: bool,"
        " ignore_none?: bool) -> str",
    },
    "manifests": {"yaml_stream": "yaml_stream(values: any, opts?: {str:any}) -> any"},
    "math": {
        "factorial": f"factorial(x: {_NUMBER}) -> int",
        "isfinite": f"isfinite(x: {_NUMBER}) -> bool",
        "isinf": f"isinf(x: {_NUMBER}) -> bool",
        "isnan": f"isnan(x: {_NUMBER}) -> bool",
        "log": f"log(x: {_NUMBER}, e?: float) -> float",
        "log2": f"log2(x: {_NUMBER}) -> float",
        "pow": f"pow(x: {_NUMBER}, y: {_NUMBER}) -> float",
    },
    "regex": {"findall": "findall(string: str, pattern: str) -> [str]"},
    "runtime": {"catch": "catch(func: () -> any) -> str"},
    "yaml": {
        "dump_all_to_file": "dump_all_to_file(data: [], filename: str, sort_keys?: bool, ignore_private?: bool,"
        " ignore_none?: bool) -> str",
        "dump_to_file": "dump_to_file(data: any, filename: str, sort_keys?: bool, ignore_private?: bool,"
        " ignore_none?: bool) -> str",
    },
}
"""Signatures by module ("" for the builtins) and name."""

_CONSTANTS: Final[Mapping[str, str]] = {"units": "int"}
"""The type of all constants of a module."""

DECORATORS: Final[Mapping[str, str]] = {
    "deprecated": "deprecated(version?: str, reason?: str, strict?: bool) -> any",
    "info": "info(*values: any, **named: any) -> any",
}


@dataclass(frozen=True, slots=True)
class TypedModule:
    """What a checker asks about a module; both questions are answered None for a name that is not there."""

    module: Module

    def signature_of(self, name: str) -> str | None:
        function = self.module.functions.get(name)
        if function is None:
            return None
        return _CHECKED.get(self.module.name, {}).get(name) or function.signature

    def type_of_constant(self, name: str) -> str | None:
        return _CONSTANTS.get(self.module.name, "any") if name in self.module.constants else None

    def names(self) -> list[str]:
        return [*self.module.functions, *self.module.constants]

    def signatures(self) -> dict[str, str]:
        checked = _CHECKED.get(self.module.name, {})
        return {name: checked.get(name) or function.signature for name, function in self.module.functions.items()}
