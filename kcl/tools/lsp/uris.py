"""Files by the names that editors have for them: URIs with the scheme `file`.

Names of files are bytes, of which some are no UTF-8; here they are kept as Python has them in paths.
"""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Final
from urllib.parse import unquote_to_bytes

from kcl.patterns import pattern

_FILE: Final = pattern(r"(?is)file:(?://(?P<host>[^/?#]*))?(?P<path>/[^?#]*)")
_DRIVE: Final = pattern(r"/[A-Za-z]:")
_HERE: Final = ("", "localhost")


def path_of(uri: str) -> str | None:
    """The file that a URI names, as an absolute path; None for what is no file of this machine.

    Such are texts that nobody has saved yet (`untitled:`), other versions of files (`git:`), and what is no path.
    """
    found = _FILE.match(uri)
    if found is None:
        return None
    host = found["host"] or ""
    path = os.fsdecode(unquote_to_bytes(found["path"]))
    if "\0" in path:
        return None
    if os.name == "nt":
        path = f"//{host}{path}" if host.lower() not in _HERE else path
        path = path[1].lower() + path[2:] if _DRIVE.match(path) else path
    elif host.lower() not in _HERE:
        return None
    return os.path.normpath(path)


def uri_of(path: str) -> str:
    """The URI of an absolute path."""
    return PurePath(os.path.abspath(path)).as_uri()
