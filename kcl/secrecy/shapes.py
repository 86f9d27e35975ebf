"""Texts that tell by their look that they are, or hold, a secret, whatever they are called.

the password in a URL, in the name of a data source or in the settings of one
private keys in their armour, logins of a registry, of `netrc`
tokens that their makers gave a look of their own, signed URLs, what stands behind `Bearer` and `Basic`

Each shape has words without which it cannot occur: one look for these, in everything at once, tells which shapes are
worth a closer one. No text makes a pattern slow: what repeats is bounded, or ends where it may not go on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final

from kcl.patterns import pattern
from kcl.records import dataclass

_PLACEHOLDER: Final = pattern(r"\$.*|\{\{.*|<.*>|%[({].*|\*+|x+|X+|\.{3}|changeme|password|secret|REDACTED|«.*»?", re.S)
"""Stands for a secret that something else puts in, or for any at all."""
_SHORTEST: Final = 3


@dataclass(frozen=True, slots=True)
class _Shape:
    """`signs` are texts of which at least one occurs in every text of this shape."""

    signs: tuple[str, ...]
    find: Callable[[str], Iterable[str]]


def secrets_by_shape(texts: Iterable[str], everything: str = "") -> Iterator[str]:
    """Yields what is secret in texts by its look.

    `everything` is one text that holds them all, in whatever notation, to be looked through first.
    """
    every = tuple(texts) if not everything else texts
    if likely := _likely(everything or "\0".join(every)):
        for text in every:
            for shape in likely:
                yield from shape.find(text)


def may_occur(everything: str) -> bool:
    """Whether some shape may be in a text, or in any of those that it holds in whatever notation."""
    return bool(_likely(everything))


@lru_cache(maxsize=1 << 10)
def _likely(whole: str) -> tuple[_Shape, ...]:
    """The shapes that may occur in a text. Remembered, as of what is compiled again and again most stays as it is."""
    return tuple(dict.fromkeys([shape for sign, shape in _SIGNS if sign in whole]))


def is_placeholder(text: str) -> bool:
    return len(text) < _SHORTEST or bool(_PLACEHOLDER.fullmatch(text))


def _matches(pattern: str) -> Callable[[str], Iterable[str]]:
    """Finds what the first group of a pattern matches."""
    compiled: list[re.Pattern[str]] = []  # few texts need any: compiled when one does

    def find(text: str) -> Iterator[str]:
        if not compiled:
            compiled.append(re.compile(pattern))
        for found in compiled[0].finditer(text):
            if not is_placeholder(found[1]):
                yield found[1]

    return find


_LOGIN: Final = pattern(
    r"""(?<=["'])(auth|password|identitytoken|registrytoken)\\?["']\s{0,3}:\s{0,3}\\?"([^"\\]{1,8192})"""
)


def _registry_logins(text: str) -> Iterator[str]:
    """The file `~/.docker/config.json`, also where it is a part of something else."""
    for name, said in _LOGIN.findall(text) if "auths" in text else ():
        if not is_placeholder(said):
            yield said
            if name == "auth":
                yield from _of_pair(said)


def _of_pair(encoded: str) -> Iterator[str]:
    """The password of `user:password` in base64."""
    import base64  # hardly any text looks so

    try:
        user, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        return
    if colon and user.isprintable() and not is_placeholder(password):
        yield password


_BASIC: Final = pattern(r"(?i:\bbasic)[ \t]{1,3}([A-Za-z0-9+/]{8,4096}={0,2})")
_BEARER: Final = pattern(r"(?i:\b(?:bearer|token))[ \t]{1,3}([\w+/=.~-]{12,4096})")


def _credentials(text: str) -> Iterator[str]:
    for found in _BASIC.finditer(text):
        password = next(_of_pair(found[1]), "")
        if password:
            yield found[1]
            yield password
    for found in _BEARER.finditer(text):
        if any(map(str.isdigit, found[1])) and any(map(str.isalpha, found[1])):
            yield found[1]


_SOURCE: Final = pattern(
    r"(?i)(?:^|[\s;])(?:host|server|data source|addr|address|endpoint|accountname|dbname|database|user|user id|uid)\s?="
)
_PASSWORD_OF_SOURCE: Final = pattern(
    r"""(?i)(?:^|[\s;])(?:password|passwd|pwd|accountkey|sharedaccesskey)\s?=\s?("[^"\n]*"|'[^'\n]*'|[^\s;"']+)"""
)


def _settings_of_sources(text: str) -> Iterator[str]:
    """One line that tells where a database is and how to get in, as libpq, ODBC and Azure write it."""
    if len(text) > 4096 or "\n" in text.strip() or not _SOURCE.search(text):
        return
    for found in _PASSWORD_OF_SOURCE.finditer(text):
        if not is_placeholder(password := found[1].strip("\"'")):
            yield password


_TOKENS: Final = {
    "ghp_": r"ghp_\w{36,255}",
    "gho_": r"gho_\w{36,255}",
    "ghu_": r"ghu_\w{36,255}",
    "ghs_": r"ghs_\w{36,255}",
    "ghr_": r"ghr_\w{36,255}",
    "github_pat_": r"github_pat_\w{22,255}",
    "glpat-": r"glpat-[\w.-]{20,255}",
    "glrt-": r"glrt-[\w.-]{20,255}",
    "gldt-": r"gldt-[\w.-]{20,255}",
    "xox": r"xox[abceoprs]-[\w-]{10,255}",
    "xapp-": r"xapp-[\w-]{10,255}",
    "k_live_": r"[srp]k_live_\w{16,255}",
    "k_test_": r"[sr]k_test_\w{16,255}",
    "whsec_": r"whsec_[\w+/=]{16,255}",
    "hvs.": r"hvs\.[\w-]{20,255}",
    "hvb.": r"hvb\.[\w-]{20,1023}",
    "npm_": r"npm_\w{36}",
    "pypi-": r"pypi-[\w-]{50,1023}",
    "AIza": r"AIza[\w-]{35}",
    "ya29.": r"ya29\.[\w-]{20,1023}",
    "SG.": r"SG\.[\w-]{16,32}\.[\w-]{16,64}",
    "dop_v1_": r"dop_v1_\w{64}",
    "dckr_pat_": r"dckr_pat_[\w-]{20,64}",
    "hf_": r"hf_\w{30,64}",
    "sk-": r"sk-[\w-]{32,255}",
    "shpat_": r"shpat_\w{32}",
    "AGE-SECRET-KEY-1": r"AGE-SECRET-KEY-1\w{58}",
}
"""Tokens by what they begin with."""
_SHAPES: Final = (
    _Shape(
        ("://",),
        _matches(r"""(?<=://)(?>[^\s:/?#@"'<>]{0,256}):(?!\d{1,5}[/?#])([^\s"'<>,;]{1,512})@"""),
    ),
    _Shape(("@tcp(", "@unix("), _matches(r"""(?:^|[\s"'])[\w.-]{1,64}:([^\s"'@]{1,256})@(?:tcp|unix)\(""")),
    _Shape(
        ("PRIVATE KEY",),
        _matches(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----((?>(?:[^-]|-(?!----)){8,65536}))"),
    ),
    _Shape(("auths",), _registry_logins),
    _Shape(("machine ",), _matches(r"\bmachine \S{1,256}\s{1,8}login \S{1,256}\s{1,8}password (\S{1,1024})")),
    _Shape(("asic ", "ASIC ", "earer ", "EARER ", "oken ", "OKEN "), _credentials),
    _Shape(("assword", "ASSWORD", "asswd", "wd=", "WD=", "wd =", "AccountKey", "AccessKey"), _settings_of_sources),
    _Shape(("eyJ",), _matches(r"(?<![\w-])(eyJ[\w-]{8,4096}\.eyJ[\w-]{4,8192}\.[\w-]{10,2048})")),
    _Shape(("hooks.slack.com/",), _matches(r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,255})")),
    _Shape(("/api/webhooks/",), _matches(r"discord(?:app)?\.com/api/webhooks/\d{1,30}/([\w-]{20,255})")),
    _Shape(
        ("sig=", "-Signature="),
        _matches(r"[?&](?:sig|X-Amz-Signature|X-Goog-Signature)=([\w%+/=-]{20,2048})"),
    ),
    *(_Shape((sign,), _matches(rf"(?<![\w.-])({pattern})")) for sign, pattern in _TOKENS.items()),
)
_SIGNS: Final = tuple((sign, shape) for shape in _SHAPES for sign in shape.signs)
"""In one row: every text of a stack and of its clusters passes here."""
