"""Packages kept on disk from one process to the next: parsed, with the stamps of all they were read from.

An entry is taken as it is while its stamps hold. Where they do not, each of its trees still stands for its text, so
files that only have other times (a fresh checkout, say) are read and not parsed.

What stands in a schema is bytes of its own within the entry, which are read when somebody asks for it
(`kcl.unread`): models have thousands of schemas of which a program uses some. What the checker asks of every text of a
package is in the entry as well.
"""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from kcl.cache.entries import entry_name
from kcl.cache.objects import BROKEN, from_bytes, to_bytes
from kcl.diagnostics import Span
from kcl.loader.queries import LoadedPackage, PackageKey
from kcl.loader.texts import PARSED, TEXT
from kcl.memo.queries import Codec, Memo
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
    return to_bytes(facts) + to_bytes(known, {Span: _reduced_span, ast.Schema: _reduced_schema})


def _from_bytes(data: bytes) -> LoadedPackage:
    try:
        stream = BytesIO(data)
        from_bytes(stream, ())  # the facts
        known = from_bytes(stream, _MODULES, _MEANINGS)
    except BROKEN:
        known = None
    if not isinstance(known, LoadedPackage):
        raise ValueError("no package")
    return known


def _seed(memo: Memo, key: PackageKey, known: LoadedPackage, data: bytes) -> None:
    facts = from_bytes(data, ())
    for query, fact in zip(_FACTS, facts, strict=True):
        memo.seed(query, known.package, fact)
    for module in known.package.modules:
        parsed = (module.source, module.tree, ())
        memo.seed(PARSED, (module.name, key[1]), parsed, (TEXT, module.name, module.source.text))


def _reduced_span(span: Span) -> object:
    return Span, (span.path, span.start, span.end)


_READ_LATER: Final = ("doc", "params", "parent", "host", "mixins", "decorators", "body", "index_signature", "checks")
"""What a schema says; the other fields are what declaring it takes."""


def _reduced_schema(schema: ast.Schema) -> object:
    later = to_bytes(tuple(getattr(schema, name) for name in _READ_LATER), {Span: _reduced_span})
    place = schema.start, schema.end, schema.name_start, schema.name_end
    return schema_read_later, (*place, schema.name, schema.is_mixin, schema.is_protocol, later)


def schema_read_later(
    start: int, end: int, name_start: int, name_end: int, name: str, is_mixin: bool, is_protocol: bool, later: bytes
) -> ast.Schema:
    """A schema of an entry, of whose fields most are still the bytes `later`."""
    schema = ast.Schema.__new__(ast.Schema)
    schema.start, schema.end = start, end
    schema.name_start, schema.name_end = name_start, name_end
    schema.name, schema.is_mixin, schema.is_protocol = name, is_mixin, is_protocol
    schema.leave_unread(partial(_rest, later))
    return schema


def _rest(later: bytes) -> dict[str, object]:
    return dict(zip(_READ_LATER, from_bytes(later, _MODULES), strict=True))


_MEANINGS: Final = {(__name__, schema_read_later.__name__): schema_read_later}


PACKAGES: Final[Codec[PackageKey, LoadedPackage]] = Codec(_name, _to_bytes, _from_bytes, _seed)
