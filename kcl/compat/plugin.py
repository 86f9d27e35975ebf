"""`kcl_lib.plugin`: Python functions that programs call as `kcl_plugin.NAME.function(...)`.

A program may call what was registered here and nothing else. The functions run in a process of their own, forked from
this one when a program first calls one: they see what this process held then, and what they change is gone with the
run. Each call is bounded in time, and the process in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kcl.plugins import Call, Plugin, PluginError
from kcl.plugins.code import ForkedCode, PluginCode, PluginRefused


class Registered:
    """Plugins by name; finds them for a run."""

    def __init__(self) -> None:
        self._plugins: dict[str, Plugin] = {}

    def register(self, name: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        """Offers functions as a plugin, in place of one of that name."""
        plugin = Plugin()
        for each, function in functions.items():
            plugin.function(f"{each}(*args: any, **named: any) -> any")(_called(function))
        self._plugins[name] = plugin

    def find(self, name: str) -> PluginCode:
        """Raises `PluginRefused` for one that nobody registered."""
        if name not in self._plugins:
            raise PluginRefused(f"no plugin {name!r} is registered; kcl.compat.plugin.register_plugin does that")
        return PluginCode(ForkedCode(self._plugins[name]), name=name)


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Says of a failure what the function says: whoever registered it wrote that for the caller to read."""

    def implementation(call: Call, *args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except Exception as error:
            raise PluginError(f"{type(error).__name__}: {error}") from None

    return implementation


REGISTERED = Registered()
"""What this process registered; what a run may call unless its caller hands in others."""


def register_plugin(name: str, method_map: Mapping[str, Callable[..., Any]]) -> None:
    """Offers functions to all runs of `kcl.compat.api.API`."""
    REGISTERED.register(name, method_map)
