"""kcl.mod: the version it expects chooses the dialect, so a migration ends with changing it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kcl.api import KCL, KONFIG_2023, Dialect, FileSystem
from kcl.diagnostics import Code, Span, warning
from kcl.loader.manifest import MANIFEST_NAME, read_manifest
from kcl.patterns import pattern
from kcl.tools.migrate.lint import Edit, Lint

_VERSION: Final = pattern(r"""^[ \t]*kclvm_version[ \t]*=[ \t]*(["'])(?P<version>[^"'\n]*)\1""", re.MULTILINE)
_PROFILE: Final = pattern(r"^[ \t]*\[profile\][^\n]*(\n|\Z)", re.MULTILINE)
TARGET_VERSION: Final = "v0.13.2"
"""The official compiler that migrated repositories are tried with."""


def written_in(root: Path, files_from: FileSystem) -> Dialect:
    """The dialect that a repository's kcl.mod asks for. Raises KclError where that cannot be read."""
    return KONFIG_2023 if read_manifest(str(root), files_from).expects_before_0_5 else KCL


def manifest_lints(root: Path, files_from: FileSystem) -> list[Lint]:
    """The line that asks for a compiler of 2023; none where kcl.mod asks for no such compiler."""
    manifest = read_manifest(str(root), files_from)
    if manifest.path is None or not manifest.expects_before_0_5:
        return []
    text = files_from.read_text(manifest.path)
    found = _VERSION.search(text)
    if found is None:
        return []
    start, end = found.span("version")
    edits = [Edit(manifest.path, start, end, TARGET_VERSION)]
    if not manifest.omit_empty_lists:
        edits.append(_omission(manifest.path, text))
    message = f"{MANIFEST_NAME} expects the compiler {found['version']}, and so the dialect konfig-2023"
    note = ("empty lists are left out of resources in that dialect: 'omit_empty_lists' under [profile] keeps it so",)
    return [Lint(warning(Code.LEGACY_VERSION, message, Span(manifest.path, start, end), notes=note), tuple(edits))]


def _omission(path: str, text: str) -> Edit:
    line = "omit_empty_lists = true\n"
    profile = _PROFILE.search(text)
    if profile is not None:
        lead = "" if profile[1] else "\n"
        return Edit(path, profile.end(), profile.end(), lead + line)
    lead = "" if not text or text.endswith("\n") else "\n"
    return Edit(path, len(text), len(text), f"{lead}[profile]\n{line}")
