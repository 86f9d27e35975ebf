"""Where the code of a plugin is, and who decides about it: what a program's runner tells `kcl.api.run`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kcl.plugins.contract import DEFAULT_MEMORY_BYTES, DEFAULT_TIMEOUT_SECONDS, Plugin
from kcl.records import dataclass, field


class PluginRefused(Exception):
    """Why a program may not import a plugin, in words for the user; raised by a `PluginFinder`."""


@dataclass(frozen=True, slots=True)
class FileCode:
    """A plugin that is one Python file; `text` is what is run, whatever `path` holds by then."""

    path: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class EntryPointCode:
    """A plugin that an installed package offers under an entry point."""

    group: str
    name: str


@dataclass(frozen=True, slots=True)
class ForkedCode:
    """A plugin of functions that exist in this process: its own is a fork of it."""

    plugin: Plugin = field(repr=False)


def _nobody(secret: Any) -> None:
    """Hears of secrets where nobody else does."""


@dataclass(frozen=True, slots=True)
class PluginCode:
    """A plugin that may run. `timeout_seconds` is the most a call may take, `budget_seconds` all calls of one run."""

    code: FileCode | EntryPointCode | ForkedCode
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    budget_seconds: float = 120.0
    files: tuple[str, ...] = ()
    """Absolute paths of what was read to find it: the result of the run depends on them."""
    name: str = ""
    """What it is called in the log."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that it gets beside those every program needs; no others of this process."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Settings that are secret whatever they are called: what it prints is logged without them."""
    memory_bytes: int = DEFAULT_MEMORY_BYTES
    on_secret: Callable[[Any], None] = field(default=_nobody, repr=False, compare=False)
    """Is told, as plain data, what a function returned that declares that this is secret."""


class PluginFinder(Protocol):
    """Decides which plugins a program may import."""

    def find(self, name: str) -> PluginCode:
        """Returns the plugin that `import kcl_plugin.NAME` means; raises `PluginRefused`."""
