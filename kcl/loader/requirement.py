"""What a kcl.mod asks for: packages by name, each with the place it comes from."""

from __future__ import annotations

from kcl.diagnostics import Span
from kcl.records import dataclass


@dataclass(frozen=True, slots=True)
class LocalSource:
    """A folder of this machine."""

    path: str
    """Absolute."""
    written: str
    """As kcl.mod has it, relative to kcl.mod."""


@dataclass(frozen=True, slots=True)
class GitSource:
    """A state of a git repository; at most one of `tag`, `branch` and `commit` is said, none is the default branch."""

    url: str
    tag: str = ""
    branch: str = ""
    commit: str = ""

    @property
    def reference(self) -> str:
        return self.tag or self.commit or self.branch


@dataclass(frozen=True, slots=True)
class OciSource:
    """An artifact in an OCI registry."""

    registry: str
    """Host and port; "" for the default registry."""
    repository: str
    """Path of the package in the registry; "" for the default place of a package of that name."""
    tag: str = ""
    """"" for the newest version."""


Source = LocalSource | GitSource | OciSource


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of `[dependencies]`."""

    key: str
    """The name as it is written there."""
    package: str
    """The package's own name, which differs from `key` where the line renames it."""
    source: Source
    span: Span
    """The line."""
    version: str = ""
    """Said beside the source; "" when it is not."""

    @property
    def name(self) -> str:
        """How imports spell it: a dash is no part of a name there."""
        return import_name(self.key)

    @property
    def wanted(self) -> str:
        """The version, tag, commit or branch that is asked for; "" for whatever is newest, or for a folder."""
        match self.source:
            case GitSource() as git:
                return git.reference or self.version
            case OciSource(tag=tag):
                return tag or self.version
            case LocalSource():
                return self.version

    @property
    def folder_names(self) -> tuple[str, ...]:
        """What its folder among downloaded packages may be called, the likeliest first."""
        names = [self.package, self.key]
        if isinstance(self.source, GitSource):
            names.append(repository_name(self.source.url))
        suffix = f"_{self.wanted}" if self.wanted else ""
        return tuple(dict.fromkeys(f"{name}{suffix}" for name in names))


def import_name(name: str) -> str:
    """How imports spell the name of a package."""
    return name.replace("-", "_")


def oci_place(url: str) -> tuple[str, str] | None:
    """Host and path of `oci://HOST/PATH`, None for a text of another form."""
    scheme, found, rest = url.partition("://")
    host, _, path = rest.partition("/")
    path = path.strip("/")
    if scheme != "oci" or not found or not host or not path or any(char in rest for char in "@?# \t"):
        return None
    return host, path


def repository_name(url: str) -> str:
    """The last part of a repository's address, without `.git`."""
    return url.rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")
