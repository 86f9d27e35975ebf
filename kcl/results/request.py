"""The request of one run, and the name under which its result is cached."""

from __future__ import annotations

import marshal
import os
from collections.abc import Mapping
from typing import Any

from kcl.cache.runs import compiler
from kcl.emit.planning import PlanOptions
from kcl.evaluator.dialect import Dialect
from kcl.evaluator.runtime import Limits
from kcl.loader import Settings
from kcl.memo.digest import blake2b
from kcl.reach import Bounds
from kcl.records import dataclass, field, fields
from kcl.secrecy.rules import BUILT_IN, SecretRules


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Everything a result depends on besides files, and what a run may touch: the parameters of `kcl.api.run`.

    `folder` is absolute, and the other paths but `vendor_dir` are relative to it.
    """

    files: tuple[str, ...]
    folder: str
    options: Mapping[str, Any] = field(repr=False)
    settings: tuple[str | Settings, ...] = field(repr=False)
    texts: Mapping[str, str] = field(repr=False)
    dialect: Dialect | None
    package_maps: Mapping[str, str]
    vendor_dir: str | None
    vendored: bool
    needs_sums: bool
    output: PlanOptions | None
    sort_keys: bool
    path_selector: tuple[str, ...]
    overrides: tuple[str, ...]
    limits: Limits | None
    variables: bool = False
    bounds: Bounds | None = None
    """How far the run looks; None for anywhere."""

    def private_options(self) -> Mapping[str, Any]:
        """The options that no file gives and whose values may be secret, by name."""
        private = [each.options for each in self.settings if isinstance(each, Settings) and not each.is_public]
        return {**{name: value for options in private for name, value in options}, **self.options}

    def name(self, secrets: SecretRules = BUILT_IN) -> str | None:
        """The cache key: differs for any two requests that may have different results, and for two compilers.

        None where the result must not be cached: where texts are given instead of files, or options whose names suggest
        a secret (a digest of such a value would be enough to try guesses); or where it depends on the folder that the
        process is in.
        """
        if self.texts or self.overrides or _tells_secrets(self.private_options(), secrets):
            return None
        if self.vendor_dir is not None and not os.path.isabs(self.vendor_dir):
            return None
        settings = [each if isinstance(each, str) else _plain(each) for each in self.settings]
        whole = (
            (compiler(), self.files, self.folder, list(self.options.items()), settings),
            (sorted(self.package_maps.items()), self.vendor_dir, self.vendored, self.sort_keys, self.path_selector),
            (repr(self.dialect), repr(self.output), repr(self.limits), repr(secrets), repr(self.bounds)),
            (self.needs_sums, self.variables),
        )
        try:
            return "result-" + blake2b(marshal.dumps(whole, 2), digest_size=20).hexdigest()
        except ValueError:  # options that are no plain values
            return None


def _plain(settings: Settings) -> list[Any]:
    values = (getattr(settings, each.name) for each in fields(settings))
    return [sorted(each.items()) if isinstance(each, Mapping) else each for each in values]


def _tells_secrets(value: object, secrets: SecretRules) -> bool:
    """Whether the name of an option, or of anything in its value, suggests that it is secret, or its look says so."""
    match value:
        case Mapping():
            return any(secrets.suggests(str(each)) for each in value) or _tells_secrets(list(value.values()), secrets)
        case list() | tuple():
            return any(_tells_secrets(each, secrets) for each in value)
        case _:
            return isinstance(value, str) and secrets.is_secret_text(value)
