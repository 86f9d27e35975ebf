"""kcl.mod: which folder is a program's root, and what it depends on."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from kcl.diagnostics import Code, KclError, Span, error
from kcl.loader.requirement import GitSource, LocalSource, OciSource, Requirement, Source, oci_place
from kcl.loader.texts import TEXT, reading
from kcl.memo.queries import Memo, Query, Request
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.source import FileSystem

MANIFEST_NAME: Final = "kcl.mod"
_VERSION: Final = pattern(r"v?(\d+)\.(\d+)")
_PACKAGE_NAME: Final = pattern(r"[A-Za-z_][A-Za-z0-9_.-]*")
_SOURCE_KEYS: Final = frozenset({"path", "git", "oci", "repo", "reg", "tag", "branch", "commit", "version", "package"})


@dataclass(frozen=True, slots=True)
class Profile:
    """`[profile]`: how the package is run when the command line does not say otherwise."""

    entries: tuple[str, ...] = ()
    """The files of the program when none is named."""
    arguments: tuple[str, ...] = ()
    """`key=value`, as `-D` takes them."""
    selectors: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    disable_none: bool | None = None
    sort_keys: bool | None = None


@dataclass(frozen=True)
class Manifest:
    """What a kcl.mod says. A missing or empty file says nothing."""

    path: str | None
    """Where it was read, None when the program has no kcl.mod."""
    name: str = ""
    version: str = ""
    edition: str = ""
    """The compiler that the package was made with."""
    description: str = ""
    include: tuple[str, ...] = ()
    """Patterns of the files that are published; () for all."""
    exclude: tuple[str, ...] = ()
    """Patterns of files that are not published."""
    vendored: bool = False
    """`[package] vendor`: packages are taken from the folder `vendor` beside kcl.mod, and from nowhere else."""
    language_version: str = ""
    """`[expected] kclvm_version`, the compiler the repository was written for; "" when it does not say."""
    requirements: tuple[Requirement, ...] = ()
    """`[dependencies]`, in the order of the file."""
    profile: Profile = Profile()
    omit_empty_lists: bool = False
    """`[profile] omit_empty_lists`: resources are built without keys whose value is `[]`, as in 2023."""

    @property
    def entries(self) -> tuple[str, ...]:
        return self.profile.entries

    @cached_property
    def expects_before_0_5(self) -> bool:
        """Whether the repository says it was written for a compiler older than 0.5 (the Python generation)."""
        return self._expects_before(0, 5)

    @cached_property
    def expects_before_0_13(self) -> bool:
        """Whether the repository says it was written for a compiler older than 0.13."""
        return self._expects_before(0, 13)

    def _expects_before(self, *version: int) -> bool:
        match = _VERSION.match(self.language_version.lstrip("=^~> "))
        return match is not None and (int(match[1]), int(match[2])) < version


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


def read_manifest(folder: str, file_system: FileSystem, request: Request | None = None) -> Manifest:
    """The kcl.mod of `folder`. Raises KclError with the place when it is not TOML of the right shape.

    `request` reads instead of the file system.
    """
    path = os.path.join(folder, MANIFEST_NAME)
    if not file_system.is_file(path):
        return Manifest(None)
    request = request or reading(Memo(), file_system.read_text)
    try:
        text = request.read(TEXT, path)
    except (OSError, UnicodeDecodeError) as problem:
        raise KclError((error(Code.INVALID_SETTINGS, f"cannot read {path}: {problem}", None),)) from None
    if not text.strip():
        return Manifest(path)
    return request.get(MANIFEST, path)


def _manifest(request: Request, path: str) -> Manifest:
    return _Reading(path, os.path.dirname(path), request.read(TEXT, path)).manifest()


MANIFEST: Final = Query("manifest", _manifest)
"""By its path, of one that is not empty."""


class _Reading:
    """One kcl.mod that is being read."""

    def __init__(self, path: str, folder: str, text: str) -> None:
        from kcl.loader.toml_text import parse_toml  # only repositories with a manifest pay for it

        self._path = path
        self._folder = folder
        self._text = text
        self._data = parse_toml(path, text)

    def manifest(self) -> Manifest:
        profile = self._table("profile")
        return Manifest(
            self._path,
            name=self._string("package", "name"),
            version=self._string("package", "version"),
            edition=self._string("package", "edition"),
            description=self._string("package", "description"),
            include=self._strings("package", "include"),
            exclude=self._strings("package", "exclude"),
            vendored=self._switch("package", "vendor") is True,
            language_version=self._string("expected", "kclvm_version"),
            requirements=tuple(self._requirement(name, wanted) for name, wanted in self._table("dependencies").items()),
            profile=Profile(
                entries=self._strings("profile", "entries"),
                arguments=self._strings("profile", "arguments"),
                selectors=self._strings("profile", "selectors"),
                overrides=self._strings("profile", "overrides"),
                disable_none=self._switch("profile", "disable_none"),
                sort_keys=self._switch("profile", "sort_keys"),
            ),
            omit_empty_lists=profile.get("omit_empty_lists") is True,
        )

    # ---------------------------------------------------------------- values by place

    def _line(self, table: str, key: str | None = None) -> Span:
        """The line of a key, or the header of the table."""
        from kcl.loader.toml_text import line_of_key, line_of_table

        if key is None:
            return line_of_table(self._path, self._text, (table,))
        return line_of_key(self._path, self._text, table, key)

    def _wrong(self, table: str, key: str, message: str, *notes: str) -> KclError:
        return KclError((error(Code.INVALID_SETTINGS, message, self._line(table, key), notes=notes),))

    def _table(self, name: str) -> Mapping[str, Any]:
        value = self._data.get(name, {})
        if not isinstance(value, dict):
            message = f"[{name}] in {self._path} must be a table"
            raise KclError((error(Code.INVALID_SETTINGS, message, self._line(name)),))
        return value

    def _string(self, table: str, key: str) -> str:
        value = self._table(table).get(key, "")
        if not isinstance(value, str):
            raise self._wrong(table, key, f"{key} of [{table}] must be a string")
        return value

    def _strings(self, table: str, key: str) -> tuple[str, ...]:
        value = self._table(table).get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(table, key, f"{key} of [{table}] must be a list of strings")
        return tuple(value)

    def _switch(self, table: str, key: str) -> bool | None:
        value = self._table(table).get(key)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(table, key, f"{key} of [{table}] must be true or false")
        return value

    # ---------------------------------------------------------------- dependencies

    def _requirement(self, key: str, wanted: Any) -> Requirement:
        span = self._line("dependencies", key)
        if not _PACKAGE_NAME.fullmatch(key):
            raise self._wrong("dependencies", key, f"'{key}' is no name of a package")
        if isinstance(wanted, str):
            return Requirement(key, key, OciSource("", "", wanted), span, wanted)
        if not isinstance(wanted, dict) or not all(isinstance(value, str) for value in wanted.values()):
            raise self._wrong("dependencies", key, f"dependency '{key}' must be a version or a table of strings")
        unknown = sorted(wanted.keys() - _SOURCE_KEYS)
        if unknown:
            raise self._wrong(
                "dependencies",
                key,
                f"dependency '{key}' says '{unknown[0]}', which means nothing here",
                "a dependency is a version, or { path }, { git, tag | branch | commit } or { oci, tag }",
            )
        package = wanted.get("package", key)
        if not _PACKAGE_NAME.fullmatch(package):
            raise self._wrong("dependencies", key, f"'{package}' is no name of a package")
        return Requirement(key, package, self._source(key, wanted), span, wanted.get("version", ""))

    def _source(self, key: str, wanted: Mapping[str, str]) -> Source:
        places = [name for name in ("path", "git", "oci", "repo") if name in wanted]
        if len(places) > 1:
            raise self._wrong("dependencies", key, f"dependency '{key}' names two places: {' and '.join(places)}")
        if "path" in wanted:
            written = wanted["path"]
            return LocalSource(os.path.normpath(os.path.join(self._folder, written)), written)
        if "git" in wanted:
            said = [name for name in ("tag", "branch", "commit") if wanted.get(name)]
            if len(said) > 1:
                message = f"dependency '{key}' says {' and '.join(said)}; only one of tag, branch and commit can hold"
                raise self._wrong("dependencies", key, message)
            url, tag, branch, commit = (wanted.get(name, "") for name in ("git", "tag", "branch", "commit"))
            return GitSource(url, tag, branch, commit)
        tag = wanted.get("tag", wanted.get("version", ""))
        if "oci" not in wanted:
            return OciSource(wanted.get("reg", ""), wanted.get("repo", ""), tag)
        place = oci_place(wanted["oci"])
        if place is None:
            message = f"dependency '{key}': '{wanted['oci']}' is no address of a package, write oci://HOST/PATH"
            raise self._wrong("dependencies", key, message)
        return OciSource(*place, tag)
