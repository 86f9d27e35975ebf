"""The dependency lock file: which version of each provider, and the checksums its package may have.

Terraform keeps one in the working folder, and refuses a package that has none of the checksums there. Those of a lock
file that came with the repository win over it: whoever wrote the repository says which packages are the right ones.
https://developer.hashicorp.com/terraform/language/files/dependency-lock
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from kcl.records import dataclass, field
from runtimes.base import Misconfigured

FILE: Final = ".terraform.lock.hcl"
_PROVIDER = re.compile(r'^provider "([^"]+)" \{\n.*?^\}\n*', re.MULTILINE | re.DOTALL)
_VERSION = re.compile(r'^  version\s*=\s*"([^"\n]*)"', re.MULTILINE)
_HASH = re.compile(r'"((?:h1|zh):[^"\n]+)"')
_COMMENT = re.compile(r"^\s*(?:#|//).*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Locked:
    """One provider of a lock file. `text` is its block."""

    version: str
    checksums: tuple[str, ...]
    text: str = field(repr=False)

    @property
    def pin(self) -> tuple[str, ...]:
        return (self.version, *self.checksums)


def read(text: str, *, where: str) -> Mapping[str, Locked]:
    """Returns the providers of a repository's lock file by source; raises `Misconfigured` for what is none.

    All of the file has to be blocks as terraform writes them: what is skipped here could mean something to terraform.
    """
    plain = _COMMENT.sub("", text.replace("\r\n", "\n"))
    found = {}
    for match in _PROVIDER.finditer(plain):
        version = _VERSION.search(match[0])
        checksums = tuple(sorted(set(_HASH.findall(match[0]))))
        if version is None or not checksums or match[1] in found:
            raise _unreadable(where, f"what it says of {match[1]} has no version, no checksums, or comes twice")
        found[match[1]] = Locked(version[1], checksums, f"{match[0].rstrip()}\n")
    if _PROVIDER.sub("", plain).strip():
        raise _unreadable(where, "it holds more than blocks of providers")
    return found


def joined(own: str, repository: Mapping[str, Locked], *, without: Collection[str] = ()) -> str:
    """Returns the lock file of a working folder with what the repository's says over it.

    `without` are sources whose own entry is left out: they come from a mirror, which may be rebuilt.
    """
    kept = _PROVIDER.sub(lambda found: "" if found[1] in repository or found[1] in without else found[0], own)
    return "\n".join(each for each in (kept.rstrip() + "\n" if kept.strip() else "", *_texts(repository)) if each)


def refuse_unverifiable(repository: Mapping[str, Locked], mirrored: Collection[str]) -> None:
    """Raises `Misconfigured` where a package of a mirror can't be held to the repository's checksums.

    Of an unpacked package terraform knows `h1:` alone, and takes one that has none of those without a word.
    """
    for source in sorted(set(mirrored) & set(repository)):
        if not any(each.startswith("h1:") for each in repository[source].checksums):
            raise _unreadable(FILE, f"it has no h1 checksum of {source}, which comes from a mirror on this machine")


def _texts(repository: Mapping[str, Locked]) -> list[str]:
    return [repository[source].text for source in sorted(repository)]


def _unreadable(where: str, why: str) -> Misconfigured:
    return Misconfigured(
        f"the repository's lock file of providers {where} can't be used: {why}",
        hint="make it again: terraform providers lock",
    )
