"""kcl.mod.lock: which version of each package was chosen, and the checksum of what it holds."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kcl.diagnostics import Code, KclError, Span, error
from kcl.loader.requirement import GitSource, OciSource
from kcl.loader.toml_text import line_of_table, parse_toml, quoted
from kcl.records import dataclass
from kcl.source import FileSystem

LOCK_NAME: Final = "kcl.mod.lock"


@dataclass(frozen=True, slots=True)
class Locked:
    """One package of a lock file."""

    name: str
    """As kcl.mod writes it."""
    full_name: str
    """Name and version: what its folder among downloaded packages is called."""
    version: str
    sum: str = ""
    """Checksum of the package's files; "" for a package of this machine, which may change."""
    source: GitSource | OciSource | None = None
    """None for a package of this machine."""
    span: Span | None = None
    """Where the lock file tells it, None when it was not read from one."""


def read_lock(folder: str, file_system: FileSystem) -> dict[str, Locked]:
    """By name what the kcl.mod.lock of `folder` holds, {} without one. Raises KclError for a broken one."""
    path = os.path.join(folder, LOCK_NAME)
    if not file_system.is_file(path):
        return {}
    try:
        text = file_system.read_text(path)
    except (OSError, UnicodeDecodeError) as problem:
        raise KclError((error(Code.INVALID_SETTINGS, f"cannot read {path}: {problem}", None),)) from None
    packages = parse_toml(path, text).get("dependencies", {})
    if not isinstance(packages, dict):
        raise _broken(path, Span(path, 0, 0), "[dependencies] must be a table")
    return {name: _locked(name, entry, path, text) for name, entry in packages.items()}


def _broken(path: str, span: Span, what: str) -> KclError:
    notes = (f"remove {os.path.basename(path)} and run 'kcl mod update' to write it again",)
    return KclError((error(Code.INVALID_SETTINGS, what, span, notes=notes),))


def _locked(name: str, entry: Any, path: str, text: str) -> Locked:
    span = line_of_table(path, text, ("dependencies", name))
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise _broken(path, span, f"dependencies.{name} must be a table of strings")
    fields: Mapping[str, str] = entry
    source: GitSource | OciSource | None = None
    if "url" in fields:
        source = GitSource(fields["url"], fields.get("git_tag", ""), fields.get("branch", ""), fields.get("commit", ""))
    elif "reg" in fields or "repo" in fields or "oci_tag" in fields:
        source = OciSource(fields.get("reg", ""), fields.get("repo", ""), fields.get("oci_tag", ""))
    version = fields.get("version", "")
    full_name = fields.get("full_name", f"{name}_{version}")
    if full_name in ("", ".", "..") or "/" in full_name or "\\" in full_name or "\0" in full_name:
        raise _broken(path, span, f"full_name of dependencies.{name} must be the name of a folder")
    return Locked(fields.get("name", name), full_name, version, fields.get("sum", ""), source, span)


def lock_text(packages: Iterable[Locked]) -> str:
    """The text of a lock file, as kpm lays it out."""
    lines = ["[dependencies]"]
    for package in sorted(packages, key=lambda item: item.name):
        lines.append(f"  [dependencies.{quoted(package.name, as_key=True)}]")
        fields = {"name": package.name, "full_name": package.full_name, "version": package.version, "sum": package.sum}
        match package.source:
            case OciSource(registry=registry, repository=repository, tag=tag):
                fields |= {"reg": registry, "repo": repository, "oci_tag": tag}
            case GitSource(url=url, tag=tag, branch=branch, commit=commit):
                fields |= {"url": url, "branch": branch, "commit": commit, "git_tag": tag}
            case None:
                pass
        lines += [f"    {key} = {quoted(value)}" for key, value in fields.items() if value]
    return "\n".join(lines) + "\n" if len(lines) > 1 else ""
