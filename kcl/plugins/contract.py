"""What a plugin's author imports. Light on purpose: it is loaded into the plugin's own process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from kcl.records import dataclass, field

_Implementation = TypeVar("_Implementation", bound=Callable[..., Any])
DEFAULT_TIMEOUT_SECONDS: Final = 10.0
DEFAULT_MEMORY_BYTES: Final = 2 * 1024**3
"""The address space of one process of a plugin: libraries map much more than they use."""


class PluginError(Exception):
    """Raised by a plugin's function for its caller to read. Both texts are shown: no secrets in them."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(frozen=True, slots=True)
class Call:
    """What a function is told besides its arguments.

    `settings` are the plugin's, from whoever runs the program; they may hold secrets. `deadline` is on the clock of
    `time.monotonic`: the process is ended when it has passed.
    """

    settings: Mapping[str, str] = field(repr=False)
    deadline: float

    def seconds_left(self) -> float:
        """Seconds until the call is given up, never below 0; what a request over the network should wait at most."""
        return max(0.0, self.deadline - time.monotonic())


@dataclass(frozen=True, slots=True)
class Declared:
    """One function on offer: `signature` in KCL's notation, `what` the first line of its docstring.

    `is_secret` says that what it returns is a secret, wherever that ends up.
    """

    signature: str
    implementation: Callable[..., Any]
    timeout_seconds: float
    what: str
    is_secret: bool = False


class Plugin:
    """The functions of one plugin. The module of a plugin calls its instance `PLUGIN`."""

    def __init__(self) -> None:
        self.functions: dict[str, Declared] = {}

    def function(
        self, signature: str, *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS, is_secret: bool = False
    ) -> Callable[[_Implementation], _Implementation]:
        """Offers the decorated function, which takes a `Call` and then what the signature says.

        `?` marks a parameter that may be left out, `*name` takes any number of values, `**name` any keywords:
        `"find(name: str, limit?: int) -> [{str:any}]"`. The name in the signature is the one KCL uses.
        With `is_secret`, texts that it returns are masked like any other secret, wherever they end up.
        """

        def declare(implementation: _Implementation) -> _Implementation:
            name = signature.partition("(")[0].strip()
            if name in self.functions:
                raise ValueError(f"the plugin has a function {name} already")
            lines = (implementation.__doc__ or "").strip().splitlines()
            what = lines[0] if lines else ""
            self.functions[name] = Declared(signature, implementation, timeout_seconds, what, is_secret)
            return implementation

        return declare
