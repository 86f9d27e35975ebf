"""Packages kept on disk from one process to the next: parsed, with the stamps of all they were read from.

An entry is taken as it is while its stamps hold. Where they do not, each of its trees still stands for its text, so
files that only have other times (a fresh checkout, say) are read and not parsed.

What stands in a schema is bytes of its own within the entry, which are read when somebody asks for it
(`ast.Unread`): models have thousands of schemas of which a program uses some. What the checker asks of every text of a
package is in the entry as well.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any, Final

from kcl.cache.entries import entry_name
from kcl.cache.objects import BROKEN, from_bytes, to_bytes
from kcl.diagnostics import Span
from kcl.loader.queries import LoadedPackage, PackageKey
from kcl.loader.texts import PARSED, TEXT
from kcl.memo.queries import Codec, Memo
from kcl.records import fields
from kcl.semantic.checked import IMPORTED_BY, TEXTS, USED
from kcl.syntax import ast

if TYPE_CHECKING:
    from kcl.loader.program import Package
    from kcl.memo.queries import Query

_MODULES: Final = ("kcl.diagnostics.", "kcl.loader.", "kcl.source.", "kcl.syntax.")


def _name(key: PackageKey) -> str:
    found, dedent, (root, externals) = key
    place = (found.path, found.directory, found.files, found.root, found.prefix, found.is_folder)
    return entry_name("parsed", place, dedent, root, sorted(externals))


_FACTS: Final[tuple[Query[Package, Any], ...]] = (IMPORTED_BY, TEXTS, USED)
"""What the checker asks of all texts of a package, and of nothing else."""


def _to_bytes(known: LoadedPackage) -> bytes:
    memo = Memo()
    facts = tuple(memo.get(query, known.package) for query in _FACTS)
    return marshal.dumps((facts, to_bytes(known, {Span: _reduced_span, ast.Schema: _reduced_schema})))


def _from_bytes(data: bytes) -> LoadedPackage:
    try:
        _, pickled = marshal.loads(data)
        known = from_bytes(pickled, _MODULES, _MEANINGS)
    except BROKEN:
        known = None
    if not isinstance(known, LoadedPackage):
        raise ValueError("no package")
    return known


def _seed(memo: Memo, key: PackageKey, known: LoadedPackage, data: bytes) -> None:
    facts, _ = marshal.loads(data)
    for query, fact in zip(_FACTS, facts, strict=True):
        memo.seed(query, known.package, fact)
    for module in known.package.modules:
        parsed = (module.source, module.tree, ())
        memo.seed(PARSED, (module.name, key[1]), parsed, (TEXT, module.name, module.source.text))


def _reduced_span(span: Span) -> object:
    return Span, (span.path, span.start, span.end)


# What declaring a schema takes; the rest says what it is.
_READ_AT_ONCE: Final = ("start", "end", "name", "name_start", "name_end", "is_mixin", "is_protocol")
_READ_LATER: Final = tuple(each.name for each in fields(ast.Schema) if each.name not in _READ_AT_ONCE)


def _reduced_schema(schema: ast.Schema) -> object:
    at_once = tuple(getattr(schema, name) for name in _READ_AT_ONCE)
    later = to_bytes(tuple(getattr(schema, name) for name in _READ_LATER), {Span: _reduced_span})
    return schema_read_later, (at_once, later)


def schema_read_later(at_once: tuple[object, ...], later: bytes) -> ast.Schema:
    """A schema of an entry, of whose fields most are still the bytes `later`."""
    schema = ast.Schema.__new__(ast.Schema)
    for name, value in zip(_READ_AT_ONCE, at_once, strict=True):
        setattr(schema, name, value)
    schema.leave_unread(lambda: dict(zip(_READ_LATER, from_bytes(later, _MODULES), strict=True)))
    return schema


_MEANINGS: Final = {(__name__, schema_read_later.__name__): schema_read_later}


PACKAGES: Final[Codec[PackageKey, LoadedPackage]] = Codec(_name, _to_bytes, _from_bytes, _seed)
