"""Finds the plugins that the KCL of a repository may call: listed in its plugins.yaml, and trusted on this machine.

Listing is the repository's word, and whoever can change the code of a plugin can change that too. So a plugin that is a
file of the repository runs only when its user has trusted exactly this code here (`wb trust plugin`), or trusts the
repository's code as such (`WB_TRUST_PLUGINS=1`, as a CI of one's own repository does). Trust covers the settings in
plugins.yaml as well: they say where the plugin sends the tokens it is given. Code of installed packages was trusted by
installing it, but not what the repository tells it, nor under another plugin's name, which has that one's tokens.

Settings of a plugin come from plugins.yaml, over them those that `WB_PLUGIN_NAME_KEY` gives: that is where tokens go.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import dataclass, field
from kcl.regular import read_regular_text
from kcl.secrecy.names import is_about_property
from workbench.project import WorkbenchError, refuse_foreign
from workbench.project.plugins import ENTRY_POINT_GROUP, PLUGINS_FILE, AllowedPlugin, read_allowed_plugins

if TYPE_CHECKING:
    # found where a program is evaluated; who asks for that hands this over, and loads nothing that evaluates
    from kcl import api

_LARGEST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class TrustedCode:
    """Which plugin code of the repository may run, as a value that other processes can be told."""

    everything: bool = False
    digests: frozenset[str] = frozenset()

    def __call__(self, digest: str) -> bool:
        return self.everything or digest in self.digests


@dataclass(frozen=True, slots=True)
class RepositoryPlugins:
    """A `PluginFinder`. `is_trusted(digest)` decides about code and settings of the repository.

    `refusal` is why none may run, empty where that is decided for each. `settings` by plugin are put over those of
    plugins.yaml, and under those of the `environment`.
    """

    root: Path
    is_trusted: Callable[[str], bool]
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    refusal: str = ""

    def find(self, name: str) -> api.PluginCode:
        """Returns the plugin; raises `PluginRefused` with the reason and what to do."""
        from kcl import api

        listed_in = self.root / PLUGINS_FILE
        try:
            every = read_allowed_plugins(self.root)
            if name not in every:
                raise api.PluginRefused(f"the plugin {name} is not allowed here: it is not listed in {listed_in}")
            if self.refusal:
                raise api.PluginRefused(f"the plugin {name} was not run, so this is not known: {self.refusal}")
            return self._code(every[name], listed_in, frozenset(every))
        except WorkbenchError as error:
            raise api.PluginRefused(f"the plugin {name} cannot be used: {error}") from error

    def _code(self, allowed: AllowedPlugin, listed_in: Path, every: frozenset[str]) -> api.PluginCode:
        from kcl import api

        files: tuple[str, ...] = (str(listed_in),)
        code: api.FileCode | api.EntryPointCode
        text = read_code(allowed)
        if needs_trust(allowed) and not self.is_trusted(digest(allowed, text)):
            raise api.PluginRefused(_why_refused(allowed, listed_in))
        if allowed.package:
            code = api.EntryPointCode(ENTRY_POINT_GROUP, allowed.package)
        else:
            code, files = api.FileCode(str(allowed.file), text), (*files, str(allowed.file))
        own = self._own_environment(allowed.name, every)
        of_environment = {key.removeprefix(_prefix(allowed.name)).lower(): value for key, value in own.items()}
        given = {**self.settings.get(allowed.name, {}), **of_environment}
        return api.PluginCode(
            code,
            {**allowed.settings, **given},
            allowed.timeout_seconds,
            allowed.budget_seconds,
            files,
            name=allowed.name,
            environment=own,
            secrets=frozenset(value for key, value in given.items() if not is_about_property(key)),
        )

    def _own_environment(self, name: str, every: frozenset[str]) -> dict[str, str]:
        """Returns the variables of one plugin: `WB_PLUGIN_CMDB_EU_TOKEN` is of `cmdb_eu` where there is such a one."""
        others = tuple(_prefix(each) for each in every if each.startswith(f"{name}_"))
        return {
            key: value
            for key, value in self.environment.items()
            if key.startswith(_prefix(name)) and not (others and key.startswith(others))
        }


def _prefix(name: str) -> str:
    return f"WB_PLUGIN_{name.upper()}_"


def _why_refused(allowed: AllowedPlugin, listed_in: Path) -> str:
    if allowed.package:
        return (
            f"the plugin {allowed.name} is the installed package {allowed.package} with a name or settings of this "
            f"repository that are not trusted on this machine: read {listed_in}, then wb trust plugin {allowed.name}"
        )
    return (
        f"the plugin {allowed.name} is code of this repository that is not trusted on this machine, or not with these "
        f"settings: read {allowed.file} and {listed_in}, then wb trust plugin {allowed.name}"
    )


def needs_trust(allowed: AllowedPlugin) -> bool:
    """Returns whether the repository decides anything about a plugin but that it may be called."""
    return not allowed.package or bool(allowed.settings) or allowed.package != allowed.name


def read_code(allowed: AllowedPlugin) -> str:
    """Returns the text of a plugin that is a file, "" of an installed one; raises `WorkbenchError`."""
    if allowed.package:
        return ""
    refuse_foreign(allowed.file, allowed.file.parents[1])
    try:
        text = read_regular_text(allowed.file, _LARGEST_BYTES + 1)
    except OSError as error:
        raise WorkbenchError(f"cannot be read: {error.strerror}", where=str(allowed.file)) from error
    except UnicodeDecodeError as error:
        raise WorkbenchError("is not UTF-8 text", where=str(allowed.file)) from error
    if len(text) > _LARGEST_BYTES:
        raise WorkbenchError(f"is larger than {_LARGEST_BYTES} bytes", where=str(allowed.file))
    return text


def digest(allowed: AllowedPlugin, text: str) -> str:
    """What trust in a plugin is bound to: any change of its code or its settings has to be trusted again."""
    bound = ["plugin", allowed.name, allowed.package, text, sorted(allowed.settings.items())]
    return hashlib.sha256(json.dumps(bound).encode()).hexdigest()
