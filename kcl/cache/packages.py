"""Packages kept on disk from one process to the next: parsed, with the stamps of all they were read from.

An entry is taken as it is while its stamps hold. Where they do not, each of its trees still stands for its text, so
files that only have other times (a fresh checkout, say) are read and not parsed.
"""

from __future__ import annotations

from typing import Final

from kcl.cache.entries import entry_name
from kcl.cache.objects import BROKEN, from_bytes, to_bytes
from kcl.diagnostics import Span
from kcl.loader.queries import LoadedPackage, PackageKey
from kcl.loader.texts import PARSED, TEXT
from kcl.memo.queries import Codec, Memo

_MODULES: Final = ("kcl.diagnostics.", "kcl.loader.", "kcl.source.", "kcl.syntax.")


def _name(key: PackageKey) -> str:
    found, dedent, (root, externals) = key
    place = (found.path, found.directory, found.files, found.root, found.prefix, found.is_folder)
    return entry_name("parsed", place, dedent, root, sorted(externals))


def _to_bytes(known: LoadedPackage) -> bytes:
    return to_bytes(known, {Span: _reduced_span})


def _from_bytes(data: bytes) -> LoadedPackage:
    try:
        known = from_bytes(data, _MODULES)
    except BROKEN:
        known = None
    if not isinstance(known, LoadedPackage):
        raise ValueError("no package")
    return known


def _seed_trees(memo: Memo, key: PackageKey, known: LoadedPackage) -> None:
    for module in known.package.modules:
        parsed = (module.source, module.tree, ())
        memo.seed(PARSED, (module.name, key[1]), parsed, (TEXT, module.name, module.source.text))


def _reduced_span(span: Span) -> object:
    return Span, (span.path, span.start, span.end)


PACKAGES: Final[Codec[PackageKey, LoadedPackage]] = Codec(_name, _to_bytes, _from_bytes, _seed_trees)
