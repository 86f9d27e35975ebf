"""What settings files and kcl.mod say, kept on disk by their texts: who finds it there loads no reader of YAML or TOML.

What may hold a secret is not kept, since what it says could be tried against a digest of its text.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kcl.cache.entries import entry_name
from kcl.cache.objects import BROKEN, from_bytes, to_bytes
from kcl.loader.manifest import MANIFEST, Manifest
from kcl.loader.settings import SETTINGS, Settings
from kcl.loader.texts import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcl.cache.entries import Entries
    from kcl.memo.queries import Override, Query, Request
    from kcl.secrecy.rules import SecretRules

V = TypeVar("V", Settings, Manifest)
_MODULES: Final = ("kcl.diagnostics.", "kcl.loader.")


def answers_by_text(entries: Entries, secrets: SecretRules) -> dict[Query[Any, Any], Override]:
    """Who answers instead, by query."""

    def settings(
        request: Request, key: tuple[str, str], read: Callable[[Request, tuple[str, str]], Settings]
    ) -> Settings:
        return _said(entries, secrets, Settings, key[0], request, partial(read, request, key))

    def manifest(request: Request, path: str, read: Callable[[Request, str], Manifest]) -> Manifest:
        return _said(entries, secrets, Manifest, path, request, partial(read, request, path))

    return {SETTINGS: settings, MANIFEST: manifest}


def _said(
    entries: Entries, secrets: SecretRules, kind: type[V], path: str, request: Request, read: Callable[[], V]
) -> V:
    """What a file with this text said to a process before, else what it says, kept for those to come."""
    text = request.read(TEXT, path)
    name = entry_name("said", kind.__name__, path, text)
    data = entries.read(name)
    if data is not None:
        try:
            known = from_bytes(data, _MODULES)
        except BROKEN:
            known = None
        if isinstance(known, kind):
            return known
    said = read()
    has_login = "://" in text and "@" in text  # as an address may have it, too short to be told by its look
    if not (has_login or secrets.may_be_in(text) or any(map(secrets.suggests, _options(said)))):
        entries.note(name, lambda: to_bytes(said))
    return said


def _options(said: Settings | Manifest) -> list[str]:
    if isinstance(said, Settings):
        return [name for name, _ in said.options]
    return [each.partition("=")[0] for each in said.profile.arguments]
