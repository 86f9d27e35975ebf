"""kcl.mod: which folder is a program's root, and what it depends on."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from kcl.diagnostics import Code, KclError, Span, error
from kcl.source import FileSystem

MANIFEST_NAME: Final = "kcl.mod"
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")


@dataclass(frozen=True)
class Manifest:
    """The parts of a kcl.mod that compiling a program depends on. A missing or empty file has none of them."""

    path: str | None
    """Where it was read, None when the program has no kcl.mod."""
    name: str = ""
    version: str = ""
    language_version: str = ""
    """`[expected] kclvm_version`, the compiler the repository was written for; "" when it does not say."""
    dependencies: Mapping[str, str] = field(default_factory=dict)
    """Dependencies with a local path: package name → absolute folder."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Dependencies with a version: package name → version, looked for in the vendor folder."""
    entries: tuple[str, ...] = ()
    """`[profile] entries`: the files of the program when none is named."""
    omit_empty_lists: bool = False
    """`[profile] omit_empty_lists`: resources are built without keys whose value is `[]`, as in 2023."""

    @cached_property
    def expects_before_0_5(self) -> bool:
        """Whether the repository says it was written for a compiler older than 0.5 (the Python generation)."""
        match = _VERSION.match(self.language_version.lstrip("=^~> "))
        return match is not None and (int(match[1]), int(match[2])) < (0, 5)


def find_root(start: str, file_system: FileSystem) -> str | None:
    """The nearest folder at or above `start` that holds a kcl.mod, None when there is none."""
    folder = start
    while True:
        if file_system.is_file(os.path.join(folder, MANIFEST_NAME)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def read_manifest(folder: str, file_system: FileSystem) -> Manifest:
    """The kcl.mod of `folder`. Raises KclError with the place when it is not TOML of the right shape."""
    path = os.path.join(folder, MANIFEST_NAME)
    if not file_system.is_file(path):
        return Manifest(None)
    try:
        text = file_system.read_text(path)
    except (OSError, UnicodeDecodeError) as problem:
        raise KclError((error(Code.INVALID_SETTINGS, f"cannot read {path}: {problem}", None),)) from None
    if not text.strip():
        return Manifest(path)
    return _manifest(path, folder, _parse(path, text))


def _parse(path: str, text: str) -> dict[str, Any]:
    import tomllib  # only repositories with a manifest pay for it

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        offset = _offset_in_message(str(problem), text)
        raise KclError(
            (error(Code.INVALID_SETTINGS, f"not valid TOML: {problem}", Span(path, offset, offset)),)
        ) from None


def _offset_in_message(message: str, text: str) -> int:
    """tomllib tells the place only in words: `(at line 3, column 7)`."""
    match = re.search(r"at line (\d+), column (\d+)", message)
    if match is None:
        return len(text)
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: int(match[1]) - 1])) + int(match[2]) - 1


def _manifest(path: str, folder: str, data: Mapping[str, Any]) -> Manifest:
    package = _table(data, "package", path)
    paths: dict[str, str] = {}
    versions: dict[str, str] = {}
    for name, wanted in _table(data, "dependencies", path).items():
        if isinstance(wanted, str):
            versions[name] = wanted
        elif isinstance(wanted, dict) and isinstance(wanted.get("path"), str):
            paths[name] = os.path.normpath(os.path.join(folder, wanted["path"]))
        elif isinstance(wanted, dict):
            version = wanted.get("version", wanted.get("tag", ""))
            versions[name] = version if isinstance(version, str) else ""
    profile = _table(data, "profile", path)
    entries = profile.get("entries", [])
    return Manifest(
        path,
        name=str(package.get("name", "")),
        version=str(package.get("version", "")),
        language_version=str(_table(data, "expected", path).get("kclvm_version", "")),
        dependencies=paths,
        versions=versions,
        entries=tuple(str(entry) for entry in entries) if isinstance(entries, list) else (),
        omit_empty_lists=profile.get("omit_empty_lists") is True,
    )


def _table(data: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        message = f"[{key}] in {path} must be a table"
        raise KclError((error(Code.INVALID_SETTINGS, message, Span(path, 0, 0)),))
    return value
