"""Plugins of the repository: its code and its settings together, as those say where a plugin sends its tokens."""

from __future__ import annotations

from workbench.engine.plugins import digest, read_code
from workbench.project.plugins import PLUGINS_FILE, AllowedPlugin
from workbench.trust.wants import Kind, Want


def want(found: AllowedPlugin) -> Want:
    """Returns what trust in a plugin is bound to; raises `WorkbenchError` where its code can't be read."""
    where = str(found.file.parents[1] / PLUGINS_FILE if found.package else found.file)
    return Want(
        Kind.PLUGIN, found.name, digest(found, read_code(found)), where, command=f"wb trust plugin {found.name}"
    )
