"""Where releases are kept in an object store, as its user writes it: `s3://bucket/prefix?endpoint=https://host`.

Only the user's environment names one, never a repository. Credentials are no part of it: a text that could hold some
is refused, and never quoted.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit

from kcl.records import dataclass

SCHEMES: Final = ("s3", "gs", "az")
_OPTIONS: Final = {"s3": ("endpoint", "region"), "gs": ("endpoint",), "az": ("endpoint", "account")}
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_SEGMENT = re.compile(r"[A-Za-z0-9_=+-][A-Za-z0-9._=+-]{0,99}")
_WORD = re.compile(r"[a-z0-9-]{1,60}")
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]")
_LONGEST = 1000


class BadBucketUrl(ValueError):
    """The message says what is wrong and quotes nothing that could be secret."""


@dataclass(frozen=True, slots=True)
class BucketUrl:
    """`endpoint`, `region` and `account` are empty where the environment says them, or the provider's own is meant."""

    scheme: str
    bucket: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""
    account: str = ""

    def __str__(self) -> str:
        """Returns it as it may be written again, and shown."""
        options = [
            f"{name}={quote(value, safe=':/[]')}" for name in _OPTIONS[self.scheme] if (value := getattr(self, name))
        ]
        return "/".join((f"{self.scheme}://{self.bucket}", *filter(None, (self.prefix,)))) + (
            f"?{'&'.join(options)}" if options else ""
        )

    @classmethod
    def parse(cls, text: str) -> BucketUrl:
        """Raises `BadBucketUrl`."""
        try:
            parts = urlsplit(text)
            options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), max_num_fields=8)
        except ValueError:
            raise BadBucketUrl("it is no URL") from None
        if parts.scheme not in SCHEMES or len(text) > _LONGEST:
            raise BadBucketUrl(f"it needs to begin with {', '.join(f'{each}://' for each in SCHEMES)}")
        if "@" in parts.netloc or parts.fragment:
            raise BadBucketUrl(
                "it may hold no credentials: those come from the environment, as with the provider's tools"
            )
        if not _BUCKET.fullmatch(parts.netloc):
            raise BadBucketUrl("what follows :// needs to be the name of a bucket")
        prefix = parts.path.strip("/")
        if prefix and not all(map(_SEGMENT.fullmatch, prefix.split("/"))):
            raise BadBucketUrl("its path may have letters, digits and ._=+- only")
        known = _OPTIONS[parts.scheme]
        given = dict(options)
        if len(given) != len(options) or not set(given) <= set(known):
            raise BadBucketUrl(f"after ? it may say {' and '.join(known)}, each once, and nothing else")
        for name, value in given.items():
            if not (_is_endpoint(value) if name == "endpoint" else _WORD.fullmatch(value)):
                raise BadBucketUrl(
                    f"its {name} can't be used" + ("" if name != "endpoint" else ": it is http(s)://host")
                )
        return cls(parts.scheme, parts.netloc, prefix, **given)


def _is_endpoint(text: str) -> bool:
    try:
        parts = urlsplit(text)
        host, port = parts.netloc, parts.port
    except ValueError:
        return False
    named = host.rpartition(":")[0] if port is not None else host
    plain = all(map(_SEGMENT.fullmatch, parts.path.strip("/").split("/")))
    return (
        parts.scheme in ("http", "https")
        and bool(_HOST.fullmatch(named))
        and not (parts.query or parts.fragment)
        and (plain or parts.path in ("", "/"))
    )
