"""Which backends of Terraform a stack may use before its user trusts them: files of its own, and nothing else.

A backend that project.yaml or stack.yaml names is contacted by a mere diff, with the credentials of whoever runs it,
and gets the state, secrets included. So it needs trust (`wb trust backend`), bound to its type and all its settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from workbench.project import TerraformOptions, is_git
from workbench.trust.wants import digest as digest_of
from workbench.trust.wants import short

_TELLING: Final = ("address", "hostname", "endpoint", "endpoints", "bucket", "storage_account_name", "host", "path")
"""Settings that say where a backend is; none of them is secret once a password in an address is taken out."""


def digest(backend: Mapping[str, Any], *, folder: Path) -> str:
    """Returns what trust in a backend is bound to: with any other setting it is another one.

    A local one is bound to the stack's `folder` too: from another folder the same path is another file.
    """
    bound = [backend, str(folder)] if backend.get("type") == "local" else [backend]
    return digest_of("backend", bound)


def needs_trust(backend: Mapping[str, Any] | None, *, folder: Path, root: Path) -> bool:
    """Returns whether the backend is anything else than a state file below the stack's `folder` or the repository.

    A file of another kind, or of git's own, would be overwritten by the state.
    """
    if backend is None:
        return False
    config = backend.get("config") or {}
    if backend.get("type") != "local" or not isinstance(config, Mapping) or not set(config) <= {"path"}:
        return True
    if "path" not in config:
        return False
    written = config["path"]
    if not isinstance(written, str) or not written.endswith(".tfstate") or written.startswith("~") or "\0" in written:
        return True
    try:
        path = (folder / written).resolve()
        if any(each.is_symlink() for each in (path, *path.parents)):
            return True  # a loop of links, which Python from 3.13 on does not refuse to resolve
        around = [real for each in (folder, root) if path.is_relative_to(real := each.resolve())]
    except (OSError, RuntimeError):  # the same loop, before Python 3.13
        return True
    return not around or any(is_git(path, each) for each in around)


def named(backend: Mapping[str, Any]) -> str:
    """Returns the type of a backend and where it is, for people to know it by."""
    config = backend.get("config") or {}
    places = (place(config.get(each)) for each in _TELLING) if isinstance(config, Mapping) else ()
    found = next((each for each in places if each), "")
    return f"{short(str(backend.get('type')))}{f' ({found})' if found else ''}"


def where(options: TerraformOptions) -> str:
    """Returns `file:line:column` of the backend."""
    from workbench.project.yaml_file import place_of

    return place_of(options.backend_file, "terraform", "backend") if options.backend_file else ""


def place(value: Any) -> str:
    """Returns where a setting leads, without what may be secret in an address."""
    if isinstance(value, Mapping):
        value = next(iter(value.values()), "")
    if not isinstance(value, str):
        return ""
    if "://" not in value:
        return short(value)
    try:
        parts = urlsplit(value)
    except ValueError:
        return ""
    return short(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}")
