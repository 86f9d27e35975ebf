"""Which Python functions the KCL of a repository may call: plugins.yaml at its root.

    plugins:
      cmdb:                         # import kcl_plugin.cmdb
        timeoutSeconds: 10          # the most one call may take
        budgetSeconds: 120          # the most all calls of one compilation may take
        settings: {url: "https://cmdb.example"}
      inventory: {package: inventory}   # the entry point `inventory` of an installed package

What is not listed may not be imported. A plugin's code is plugins/NAME.py beside the file, one file by itself, unless
`package` names an entry point of the group `workbench.kcl_plugins`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field
from workbench.project.errors import BrokenFile
from workbench.project.yaml_file import is_named, mapping_at, read_mapping, text_at

PLUGINS_FILE, PLUGINS_FOLDER = "plugins.yaml", "plugins"
ENTRY_POINT_GROUP = "workbench.kcl_plugins"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_KEYS = frozenset({"package", "timeoutSeconds", "budgetSeconds", "settings"})
_LONGEST_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class AllowedPlugin:
    """One entry. `package` is the entry point's name, empty for a file of the repository, which is then `file`."""

    name: str
    file: Path
    package: str = ""
    timeout_seconds: float = 10.0
    budget_seconds: float = 120.0
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_allowed_plugins(root: Path) -> Mapping[str, AllowedPlugin]:
    """Returns the plugins by name, none where there is no plugins.yaml; raises `BrokenFile`."""
    path = root / PLUGINS_FILE
    if not is_named(path):
        return {}
    content = read_mapping(path)
    _only(content, frozenset({"plugins"}), "", path)
    return {str(name): _plugin(name, entry, path) for name, entry in mapping_at(content, "plugins", path).items()}


def _plugin(name: object, entry: Any, path: Path) -> AllowedPlugin:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BrokenFile(f"plugin name {name!r} needs to be lower case letters, digits and _", where=str(path))
    entry = {} if entry is None else entry
    if not isinstance(entry, dict):
        raise BrokenFile(f"plugin {name} needs to be a mapping", where=str(path))
    _only(entry, _KEYS, f"plugin {name}: ", path)
    return AllowedPlugin(
        name,
        path.parent / PLUGINS_FOLDER / f"{name}.py",
        text_at(entry, "package", path),
        _seconds(entry, "timeoutSeconds", 10.0, name, path),
        _seconds(entry, "budgetSeconds", 120.0, name, path),
        {str(key): str(value) for key, value in mapping_at(entry, "settings", path).items()},
    )


def _only(content: Mapping[str, Any], known: frozenset[str], what: str, path: Path) -> None:
    for key in content:
        if key not in known:
            hint = f"known are {', '.join(sorted(known))}"
            raise BrokenFile(f"{what}{key!r} is no key of this file", where=str(path), hint=hint)


def _seconds(entry: Mapping[str, Any], key: str, default: float, name: str, path: Path) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LONGEST_SECONDS:
        raise BrokenFile(
            f"plugin {name}: {key} needs to be above 0 and at most {_LONGEST_SECONDS:.0f} s; got {value!r}",
            where=str(path),
        )
    return float(value)
