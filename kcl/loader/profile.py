"""`[profile]` of kcl.mod: what is run, and how, where neither the command line nor a settings file says it."""

from __future__ import annotations

import os.path

from kcl.loader.manifest import Manifest, read_manifest
from kcl.loader.settings import Settings, load_settings, merge_settings, parse_argument
from kcl.memo.queries import Request
from kcl.records import dataclass
from kcl.source import FileSystem

_SETTINGS_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ProfileRun:
    """`files` and `settings` of the package in `folder`."""

    folder: str
    files: tuple[str, ...]
    """As in `LoadRequest.files`: absolute, or with `${KCL_MOD}` or `${name:KCL_MOD}` before them."""
    settings: Settings


def profile_run(folder: str, file_system: FileSystem, request: Request | None = None) -> ProfileRun | None:
    """What the kcl.mod in `folder` says is run; None when it names no entries. Raises KclError."""
    manifest = read_manifest(folder, file_system, request)
    profile = manifest.profile
    if not profile.entries:
        return None
    said = Settings(
        options=tuple(parse_argument(text) for text in profile.arguments),
        overrides=profile.overrides,
        path_selector=profile.selectors,
        disable_none=profile.disable_none,
        sort_keys=profile.sort_keys,
    )
    named = [name for name in _named(folder, manifest) if _is_settings(name)]
    loaded = [load_settings(name, file_system, request=request) for name in named]
    return ProfileRun(folder, entry_names(folder, manifest), merge_settings([*loaded, said]))


def entry_names(folder: str, manifest: Manifest) -> tuple[str, ...]:
    """The files among the entries of the kcl.mod in `folder`, named as `LoadRequest.files` are."""
    return tuple(name for name in _named(folder, manifest) if not _is_settings(name))


def _named(folder: str, manifest: Manifest) -> list[str]:
    return [
        entry if entry.startswith("${") else os.path.normpath(os.path.join(folder, entry)) for entry in manifest.entries
    ]


def _is_settings(name: str) -> bool:
    return name.endswith(_SETTINGS_ENDINGS)
