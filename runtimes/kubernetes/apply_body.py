"""The body of a server-side apply: JSON that a YAML reader reads the same.

The API server reads it as YAML, and YAML's escapes are not JSON's: a character beyond the Basic Multilingual Plane,
which JSON escapes as a pair of surrogates, is an "invalid Unicode character escape code" there, and has to stand as
itself. Everything else that is not ASCII is escaped, since YAML folds some of it (U+2028), and refuses or drops other
(U+0080, U+FEFF). https://yaml.org/spec/1.2.2/#51-character-set
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from runtimes.base import FieldPath, Rejected, format_path

# the server reads the media type up to the semicolon; with it the REST client sends our bytes as they are
CONTENT_TYPE: Final = "application/apply-patch+yaml; charset=utf-8"

_ESCAPED: Final = "[\x7f-\uffff]"  # texts: few bodies need them, and the first takes 8 ms to compile
_HALF: Final = "[\ud800-\udfff]"


def apply_body(body: Any, *, target: str = "", subject: str = "") -> bytes:
    """Raises `Rejected`, naming the field, for a text that holds half of a surrogate pair: no encoding has it."""
    text = json.dumps(body, ensure_ascii=False)
    if text.isascii():
        return text.replace("\x7f", "\\u007f").encode()
    if re.search(_HALF, text):
        path = format_path(next(_halves(body, ())))
        why = "the text holds half of a surrogate pair, which is no character"
        raise Rejected(f"{path}: {why}", target=target, subject=subject, causes=((path, why),))
    return re.sub(_ESCAPED, lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def _halves(value: Any, path: FieldPath) -> Iterator[FieldPath]:
    match value:
        case str() if re.search(_HALF, value):
            yield path
        case Mapping():
            for key, each in value.items():
                if re.search(_HALF, key):
                    yield (*path, key.encode(errors="replace").decode())
                yield from _halves(each, (*path, key))
        case list() | tuple():
            for index, each in enumerate(value):
                yield from _halves(each, (*path, index))
