"""Finds the plugins that the KCL of a repository may call: listed in its plugins.yaml, and trusted on this machine.

Listing is the repository's word, and whoever can change the code of a plugin can change that too. So a plugin that is a
file of the repository runs only when its user has trusted exactly this code here (`wb plugins trust`), or trusts the
repository's code as such (`WB_TRUST_PLUGINS=1`, as a CI of one's own repository does). Code of installed packages was
trusted by installing it.

Settings of a plugin come from plugins.yaml, over them those that `WB_PLUGIN_NAME_KEY` gives: that is where tokens go.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kcl import api
from workbench.project.errors import WorkbenchError
from workbench.project.plugins import ENTRY_POINT_GROUP, PLUGINS_FILE, AllowedPlugin, read_allowed_plugins

_LARGEST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class RepositoryPlugins:
    """A `PluginFinder`. `is_trusted(name, digest)` decides about code of the repository.

    `settings` by plugin are put over those of plugins.yaml, and under those of the `environment`.
    """

    root: Path
    is_trusted: Callable[[str, str], bool]
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def find(self, name: str) -> api.PluginCode:
        """Returns the plugin; raises `PluginRefused` with the reason and what to do."""
        listed_in = self.root / PLUGINS_FILE
        try:
            allowed = read_allowed_plugins(self.root).get(name)
            if allowed is None:
                raise api.PluginRefused(f"the plugin {name} is not allowed here: it is not listed in {listed_in}")
            return self._code(allowed, listed_in)
        except WorkbenchError as error:
            raise api.PluginRefused(f"the plugin {name} cannot be used: {error}") from error

    def _code(self, allowed: AllowedPlugin, listed_in: Path) -> api.PluginCode:
        files: tuple[str, ...] = (str(listed_in),)
        code: api.FileCode | api.EntryPointCode
        if allowed.package:
            code = api.EntryPointCode(ENTRY_POINT_GROUP, allowed.package)
        else:
            text = read_code(allowed)
            if not self.is_trusted(allowed.name, digest(text)):
                raise api.PluginRefused(
                    f"the plugin {allowed.name} is code of this repository that is not trusted on this machine: "
                    f"read {allowed.file}, then wb plugins trust {allowed.name}"
                )
            code, files = api.FileCode(str(allowed.file), text), (*files, str(allowed.file))
        return api.PluginCode(
            code,
            {**allowed.settings, **self.settings.get(allowed.name, {}), **self._of_environment(allowed.name)},
            allowed.timeout_seconds,
            allowed.budget_seconds,
            files,
        )

    def _of_environment(self, name: str) -> dict[str, str]:
        prefix = f"WB_PLUGIN_{name.upper()}_"
        return {
            key.removeprefix(prefix).lower(): value for key, value in self.environment.items() if key.startswith(prefix)
        }


def read_code(allowed: AllowedPlugin) -> str:
    """Returns the text of a plugin that is a file; raises `WorkbenchError`."""
    try:
        if allowed.file.stat().st_size > _LARGEST_BYTES:
            raise WorkbenchError(f"is larger than {_LARGEST_BYTES} bytes", where=str(allowed.file))
        return allowed.file.read_text(encoding="utf-8")
    except OSError as error:
        raise WorkbenchError(f"cannot be read: {error.strerror}", where=str(allowed.file)) from error
    except UnicodeDecodeError as error:
        raise WorkbenchError("is not UTF-8 text", where=str(allowed.file)) from error


def digest(text: str) -> str:
    """What trust in a plugin's code is bound to: any change of it has to be trusted anew."""
    return hashlib.sha256(text.encode()).hexdigest()
