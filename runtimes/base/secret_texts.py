"""Texts that are secret wherever they turn up, in whatever form a program may have put them.

A value that is secret by its place (a Secret's data, a sensitive attribute) is repeated elsewhere: in a URL, in JSON,
in base64. `SecretTexts` finds all of these in one pass over a text, however many secrets there are.

How a secret is looked for depends on how much it tells. One that looks like nothing else is found as a part of any
text and in every form. A short one, a number or a word is found where it stands for itself: `pin=47b11`, `u:letmein@h`.
What is shorter still (`true`, `1`, `web`) and words that are in every other file (`production`) are not looked for:
that would hide everything, and who reads them learns nothing.

What one program wrote is often wrapped by the next: JSON in JSON, an escaped URL in a URL, base64 of base64, a text
that goes on in the next line. Nobody can list these forms; so what looks wrapped is unwrapped, again and again, and
looked at each time (`_views`).
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Final
from urllib.parse import quote, quote_plus, unquote

from kcl.secrecy.rules import BUILT_IN, MASK, is_secret_name

_SHORTEST_PART: Final = 8
_SHORTEST: Final = 4
_SHORTEST_NUMBER: Final = 6
_SHORTEST_WORD: Final = 6
_LONGEST_WORD: Final = 11
_COMMON: Final = frozenset(
    [
        "access",
        "account",
        "address",
        "admin",
        "administrator",
        "always",
        "application",
        "backend",
        "bucket",
        "certificate",
        "checkout",
        "client",
        "cluster",
        "cluster.local",
        "config",
        "configuration",
        "console",
        "database",
        "debug",
        "default",
        "deployment",
        "development",
        "disable",
        "disabled",
        "docker",
        "enable",
        "enabled",
        "endpoint",
        "example",
        "external",
        "false",
        "frontend",
        "gateway",
        "github",
        "global",
        "google",
        "graphql",
        "ingress",
        "internal",
        "kubernetes",
        "latest",
        "localhost",
        "manager",
        "memcached",
        "metrics",
        "mongodb",
        "monitoring",
        "mysql",
        "namespace",
        "network",
        "object",
        "opaque",
        "orders",
        "password",
        "payments",
        "persistent",
        "platform",
        "plugin",
        "policy",
        "postgres",
        "postgresql",
        "primary",
        "private",
        "process",
        "production",
        "project",
        "protected",
        "provider",
        "public",
        "rabbitmq",
        "readonly",
        "recreate",
        "redis",
        "region",
        "registry",
        "release",
        "remote",
        "replica",
        "require",
        "required",
        "resource",
        "root",
        "sandbox",
        "schema",
        "secret",
        "secrets",
        "server",
        "service",
        "session",
        "shared",
        "staging",
        "standard",
        "storage",
        "string",
        "system",
        "template",
        "terraform",
        "testing",
        "token",
        "tracing",
        "undefined",
        "update",
        "upstream",
        "username",
        "value",
        "version",
        "warning",
        "website",
        "worker",
    ]
)
_WORD = re.compile(r"[a-z]+|[A-Z]+|[A-Z][a-z]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_PAIR = re.compile(r"""([A-Za-z_][\w.-]{0,60})["']?\s{0,3}[=:]\s{0,3}("[^"\n]*"|'[^'\n]*'|[^\s;&,"'}]+)""")
_ARMOUR = re.compile(r"-----[A-Z0-9 ]+-----")
_LONGEST_WINDOW: Final = 8
_LONGEST_REMEMBERED: Final = 1024
_LONGEST: Final = 1 << 14
"""A longer secret is looked for as it is, and its lines in every form."""
_MOST_VIEWS: Final = 12
_MOST_WRAPPED: Final = 32
"""So many places of a text are taken out one by one, and all of it where there are more."""
_LONGEST_UNWRAPPED: Final = 1 << 20
_WRAPPED = re.compile(r"[\\%\n]|&[#a-z]|[A-Za-z0-9+/_-]{20}")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.S)
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_GOES_ON = re.compile(r"\\?\r?\n[ \t]*")
_BASE64_IN_TEXT = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")


def texts(value: Any) -> Iterator[str]:
    """Yields all texts and numbers in a value, as texts."""
    match value:
        case str():
            yield value
        case bool() | None:
            pass
        case int() | float():
            yield str(value)
        case dict() | Mapping():
            for each in value.values():
                yield from texts(each)
        case list() | tuple():
            for each in value:
                yield from texts(each)
        case _:
            pass


def telling(found: Iterable[str], public: frozenset[str] = frozenset()) -> frozenset[str]:
    """Returns those texts that can be looked for, what is inside them included.

    `public` are names that everybody may know: a Secret that repeats one of them does not make it secret.
    """
    whole = {part for text in found for part in _to_look_for(text)}
    return frozenset(whole - public)


def _to_look_for(text: str) -> tuple[str, ...]:
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _parts(text)


def _parts(text: str) -> tuple[str, ...]:
    """The text and what is inside it, as far as that can be looked for."""
    return tuple(each for each in (text, *inside(text)) if _is_part(each) or _is_token(each))


_remembered: Final = lru_cache(maxsize=1 << 12)(_parts)
"""Of what is compiled again and again the secrets stay as they are."""


def inside(text: str) -> Iterator[str]:
    """Yields what a secret text is a wrapping of: base64, the password of a URL or of settings, the lines of a key."""
    stripped = text.strip()
    if stripped != text:
        yield stripped
    if _BASE64.fullmatch(stripped) and len(stripped) % 4 == 0:
        try:
            decoded = base64.b64decode(stripped, altchars=b"-_" if re.search("[-_]", stripped) else None).decode()
        except (binascii.Error, ValueError):
            pass
        else:
            if decoded.isprintable() or "\n" in decoded:
                yield decoded
                yield from inside(decoded)
    for found in BUILT_IN.found([stripped]):
        if found != stripped:
            yield found
            yield unquote(found)
    for name, value in _PAIR.findall(stripped):
        if is_secret_name(name):
            yield value.strip("\"'")
    if "\n" in stripped:
        lines = [line.strip() for line in stripped.split("\n")]
        yield from (line for line in lines if len(line) >= 2 * _SHORTEST_PART and not _ARMOUR.fullmatch(line))


def _is_part(text: str) -> bool:
    return len(text) >= _SHORTEST_PART and not text.isspace() and not _is_alone(text)


def _is_token(text: str) -> bool:
    """Whether a text is looked for only where no letter or digit is beside it."""
    if text.isdigit():
        return len(text) >= _SHORTEST_NUMBER
    if _WORD.fullmatch(text):
        return len(text) >= _SHORTEST_WORD and text.lower() not in _COMMON
    return len(text) >= _SHORTEST and any(each.isdigit() for each in text) and any(each.isalpha() for each in text)


def _is_alone(text: str) -> bool:
    return text.isdigit() or (len(text) <= _LONGEST_WORD and bool(_WORD.fullmatch(text)))


def _forms(secret: str) -> Iterator[str]:
    """Yields the ways to write a secret that nobody takes for another text."""
    quoted = json.dumps(secret)[1:-1]
    yield from (secret, quoted, json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(quoted)[1:-1])
    for one in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        yield from (one, re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), one))
    yield from (html.escape(secret), secret.replace("'", "''"), secret.replace("'", "'\"'\"'"))
    yield secret.replace("${", "$${").replace("%{", "%%{")
    data = secret.encode("utf-8", "surrogatepass")
    yield data.hex()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode()
        # what neighbours have a say in is left out: the first characters, and those of an incomplete last group
        inner = encoded[(0, 2, 3)[shift] : len(encoded) - (0, 3, 2)[(shift + len(data)) % 3]]
        if len(inner) >= _SHORTEST_PART:
            yield from (inner, inner.replace("+", "-").replace("/", "_"))


def _views(text: str) -> Iterator[tuple[str, bool]]:
    """Yields what a text is a wrapping of, and whether lines were joined for it: that makes words of parts."""
    seen, views = {text}, [(text, False)]
    for view, was_joined in views:  # which grows meanwhile
        for other, is_joined in _unwrapped(view):
            if other not in seen and len(views) <= _MOST_VIEWS:
                seen.add(other)
                views.append((other, was_joined or is_joined))
                yield views[-1]


def _unwrapped(text: str) -> Iterator[tuple[str, bool]]:
    if "\\" in text:
        yield _ESCAPE.sub(_plain_character, text), False
    if "%" in text:
        yield unquote(text), False
    if "&" in text:
        yield html.unescape(text), False
    if "\n" in text:
        yield _GOES_ON.sub("", text), True
    if decoded := "\n".join(each for run in _BASE64_IN_TEXT.findall(text) if (each := _decoded(run))):
        yield decoded, False


def _plain_character(escape: re.Match[str]) -> str:
    if code := escape[1] or escape[2]:
        return chr(int(code, 16))
    return _CONTROLS.get(escape[3], escape[3])


def _decoded(run: str) -> str:
    """Returns the text of which this is base64, empty where it is none."""
    bare = run.rstrip("=")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), b"-_" if re.search("[-_]", bare) else None).decode()
    except (binascii.Error, ValueError):
        return ""


class SecretTexts:
    """Finds secrets in texts. Looking takes time that grows with the text, not with the number of secrets.

    This is the algorithm of Wu and Manber: the last two characters of a window tell how far the next place may be
    where a secret could begin, so that most of a text is stepped over.
    """

    __slots__ = ("_by_start", "_steps", "_tokens", "_whole", "_window")

    def __init__(self, secrets: Iterable[str]) -> None:
        found = [each for each in secrets if each]
        self._whole = frozenset(found)
        self._tokens = frozenset(each for each in found if _is_token(each) and not _is_part(each))
        parts = {
            form for each in found if _is_part(each) for form in ([each] if len(each) > _LONGEST else _forms(each))
        }
        written = sorted({*parts, *self._tokens}, key=lambda each: (-len(each), each))
        self._window = min(_LONGEST_WINDOW, min(map(len, written), default=_LONGEST_WINDOW))
        self._by_start: dict[str, list[str]] = {}
        self._steps: dict[str, int] = {}
        for each in written:
            start = each[: self._window]
            self._by_start.setdefault(start, []).append(each)
            for index in range(self._window - 1):
                pair, step = start[index : index + 2], self._window - 2 - index
                self._steps[pair] = min(step, self._steps.get(pair, step))

    def hides(self, value: Any) -> bool:
        """Whether a value is a secret or holds one."""
        if isinstance(value, str):
            return value in self._whole or any(True for _ in self._found(value)) or self._is_in_wrapped(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value) in self._whole
        return False

    def masked(self, text: str, mask: Callable[[str], str] = lambda secret: MASK) -> str:
        """Returns a text for people with the secrets in it taken out.

        Where one is wrapped, nobody can tell which part of a line it is: the lines it is in are taken out.
        """
        if not self._by_start:
            return text
        said = self._masked(text, mask)
        if not self._is_in_wrapped(said):
            return said
        lines = said.split("\n")
        for _ in range(_MOST_WRAPPED):
            if not self._is_in_wrapped("\n".join(lines)):
                return "\n".join(lines)
            first, end = self._wrapping(lines)
            lines[first:end] = [mask("\n".join(lines[first:end]))]
        return mask(text)

    def _wrapping(self, lines: list[str]) -> tuple[int, int]:
        """Returns where the first lines that a wrapped secret is in begin and end; there is one."""
        end = (
            bisect_left(range(len(lines)), True, key=lambda last: self._is_in_wrapped("\n".join(lines[: last + 1]))) + 1
        )
        begins_later = partial(self._is_in_rest, lines[:end])
        return bisect_left(range(end), True, key=lambda first: not begins_later(first)) - 1, end

    def _is_in_rest(self, lines: list[str], first: int) -> bool:
        return self._is_in_wrapped("\n".join(lines[first:]))

    def _masked(self, text: str, mask: Callable[[str], str]) -> str:
        parts: list[str] = []
        at = 0
        for start, end in self._found(text):
            parts += (text[at:start], mask(text[start:end]))
            at = end
        return "".join((*parts, text[at:])) if parts else text  # the very same text, where nothing was found

    def _is_in_wrapped(self, text: str) -> bool:
        if not self._by_start or not _WRAPPED.search(text) or len(text) > _LONGEST_UNWRAPPED:
            return False
        return any(
            not (is_joined and text[start:end] in self._tokens)
            for text, is_joined in _views(text)
            for start, end in self._found(text)
        )

    def _found(self, text: str) -> Iterator[tuple[int, int]]:
        window, by_start = self._window, self._by_start
        if not by_start:
            return
        steps, longest_step = self._steps, window - 1
        at, last = 0, len(text) - window
        while at <= last:
            step = steps.get(text[at + window - 2 : at + window], longest_step)
            if step:
                at += step
                continue
            candidates = by_start.get(text[at : at + window], ())
            length = next((len(each) for each in candidates if self._stands(each, text, at)), 0)
            if length:
                yield at, at + length
            at += length or 1

    def _stands(self, secret: str, text: str, at: int) -> bool:
        if not text.startswith(secret, at):
            return False
        if secret not in self._tokens:
            return True
        end = at + len(secret)
        return not (text[at - 1 : at].isalnum() if at else False) and not text[end : end + 1].isalnum()

    def __repr__(self) -> str:
        return "SecretTexts()"


@lru_cache(maxsize=64)
def secret_texts(secrets: frozenset[str]) -> SecretTexts:
    """Returns the finder of these secrets, made once."""
    return SecretTexts(secrets)
