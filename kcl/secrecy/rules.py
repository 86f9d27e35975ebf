"""What is secret by name and by look, with what a repository adds to it.

A repository only ever adds: nothing in it makes a value less secret than it is without.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.secrecy import names, shapes

MASK: Final = "«masked»"
"""What stands for a secret wherever one would be shown."""
_TOKEN: Final = pattern(r"[\w.~+/=:@#$%^&*!-]{4,4096}")
_SHORTEST: Final = 8
_SIGNS: Final = ("secret", "passw", "passphrase", "pwd", "token", "jwt", "dsn", "credential", "terraform")
_PART: Final = pattern("(?i)pass|pw|key|cred|auth|cookie|bearer|otp|psk|hmac|mnemonic|netrc|docker|conn|pat|sas")
"""Every telling name has one of these, or one of the signs above."""
_NAME: Final = pattern(r"[A-Za-z_][\w.-]{2,60}")
_LONGEST_REMEMBERED: Final = 1024

Path = tuple[str | int, ...]

is_secret_name = lru_cache(maxsize=1 << 12)(names.is_secret_name)
"""For those who ask of every attribute of every resource, which have the same few names."""


@dataclass(frozen=True, slots=True)
class PathRule:
    """A place in resources of some kind: `kind` is a glob, so is each step; elements of lists by `*` or number."""

    kind: str
    steps: tuple[str, ...]

    def paths(self, kind: str, body: Any) -> Iterator[Path]:
        if fnmatchcase(kind, self.kind):
            yield from _matching(body, self.steps, ())


@dataclass(frozen=True, slots=True)
class SecretRules:
    """`names` are globs over names in small letters, `patterns` globs over words that stand alone in a text."""

    names: tuple[str, ...] = ()
    paths: tuple[PathRule, ...] = ()
    patterns: tuple[str, ...] = ()

    def names_secret(self, name: str) -> bool:
        """Whether the value of an option, a variable, a setting or an attribute of this name is secret."""
        return is_secret_name(name) or self._adds(name)

    def names_block(self, name: str) -> bool:
        """Whether all of what is grouped below this name is secret."""
        return names.is_secret_block(name) or self._adds(name)

    def suggests(self, name: str) -> bool:
        """Whether a value of this name may be secret, so that it is not to be written down anywhere."""
        return names.suggests_secret(name) or self._adds(name)

    def is_secret_text(self, text: str) -> bool:
        """Whether a text is, or holds, a secret by its look."""
        if len(text) < _SHORTEST:
            return False
        return (
            _is_secret_text(self, text) if len(text) <= _LONGEST_REMEMBERED else any(True for _ in self.found([text]))
        )

    def found(self, texts: Iterable[str], everything: str = "") -> Iterator[str]:
        """Yields what is secret in texts by its look; see `shapes.secrets_by_shape`."""
        every = texts if not self.patterns else tuple(texts)
        yield from shapes.secrets_by_shape(every, everything)
        for text in every if self.patterns else ():
            for word in _TOKEN.findall(text):
                if any(fnmatchcase(word, each) for each in self.patterns):
                    yield word

    def may_find(self, everything: str) -> bool:
        """Whether `found` may yield anything of texts that are all in this one; False where none has the look."""
        return bool(self.patterns) or shapes.may_occur(everything)

    def may_be_in(self, output: str) -> bool:
        """Whether there may be a secret in what a program evaluates to: when in doubt there is.

        One may be in a Secret, in what is called one, in a text by its look, or, with Terraform, in an attribute of
        which only its provider knows that it is sensitive.
        """
        small = output.lower()
        if any(sign in small for sign in _SIGNS) or any(True for _ in self.found([output])):
            return True
        found = set(_NAME.findall(output))
        return any(_PART.search(each) and is_secret_name(each) for each in found) or any(map(self._adds, found))

    def masked(self, text: str, mask: str) -> str:
        """Returns a text for people with what is secret in it by its look taken out."""
        if len(text) < _SHORTEST or not self.is_secret_text(text):
            return text
        for each in sorted(set(self.found([text])), key=len, reverse=True):
            # a short one is taken out where it stands for itself
            text = text.replace(each, mask) if len(each) >= _SHORTEST else re.sub(_alone(each), mask, text)
        return text

    def _adds(self, name: str) -> bool:
        return bool(self.names) and any(fnmatchcase(name.lower(), each) for each in self.names)


BUILT_IN: Final = SecretRules()


def _alone(text: str) -> str:
    return rf"(?<!\w){re.escape(text)}(?!\w)"


@lru_cache(maxsize=1 << 14)
def _is_secret_text(rules: SecretRules, text: str) -> bool:
    return any(True for _ in rules.found([text]))


def _matching(body: Any, steps: tuple[str, ...], path: Path) -> Iterator[Path]:
    if not steps:
        yield path
    elif isinstance(body, Mapping):
        for key, value in body.items():
            if fnmatchcase(str(key), steps[0]):
                yield from _matching(value, steps[1:], (*path, key))
    elif isinstance(body, list):
        for index, value in enumerate(body):
            if steps[0] not in ("*", str(index)):
                continue
            yield from _matching(value, steps[1:], (*path, index))
