"""aiohttp, imported without reading the certificates of all authorities that this machine trusts, twice.

It makes a context for who names none, and one for who checks nothing, as it is imported: 0.1 s, a tenth of a diff of
1,000 objects, though a cluster is trusted by its own certificate. Here both read them when their first connection is
made. Import `aiohttp` from here: whoever imports it first decides.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _ReadingLater(ssl.SSLContext):
    """A context that reads the authorities of the machine when they are needed first."""

    _is_due = False

    def _read(self) -> None:
        if self._is_due:
            self.set_default_verify_paths()
            self._is_due = False  # only now: another thread that comes meanwhile reads them as well

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        self._read()
        return super().wrap_bio(*arguments, **named)

    def wrap_socket(self, *arguments: Any, **named: Any) -> ssl.SSLSocket:
        self._read()
        return super().wrap_socket(*arguments, **named)

    def cert_store_stats(self) -> dict[str, int]:
        self._read()
        return super().cert_store_stats()

    def get_ca_certs(self, binary_form: bool = False) -> Any:
        self._read()
        return super().get_ca_certs(binary_form)


@contextmanager
def _reading_later() -> Iterator[None]:
    """Contexts that are made meanwhile, by whomever, are of this kind."""

    def put_off(context: ssl.SSLContext) -> None:
        if type(context) is not ssl.SSLContext:
            read(context)
            return
        context.__class__ = _ReadingLater
        context.__dict__["_is_due"] = True

    read = ssl.SSLContext.set_default_verify_paths
    ssl.SSLContext.set_default_verify_paths = put_off  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        del ssl.SSLContext.set_default_verify_paths


with _reading_later():
    import aiohttp as aiohttp
    from aiohttp import http_exceptions as http_exceptions

__all__ = ["aiohttp", "http_exceptions"]
