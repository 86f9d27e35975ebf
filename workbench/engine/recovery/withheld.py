"""What no face of a recovery shows, keeps or sends: secrets that its program knows, and what is one by its look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kcl.records import dataclass, field
from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base import RuntimeFailure
from workbench.engine.scrubbing import masked_text, scrubbed
from workbench.project import WorkbenchError


@dataclass(frozen=True, slots=True)
class Withheld:
    """`secrets` are texts that are known to be secret, `rules` tell others by their look."""

    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    rules: SecretRules = field(default=BUILT_IN, repr=False)

    def text(self, text: str) -> str:
        """Returns a text for people with what is secret taken out; the very same where nothing is."""
        return masked_text(text, self.secrets, self.rules)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Takes what is secret out of failures: servers, proxies and credential programs quote what they were given."""
        try:
            yield
        except (RuntimeFailure, WorkbenchError) as error:
            error.args = scrubbed(error.args, self.secrets, self.rules)
            for name, value in vars(error).items():
                setattr(error, name, scrubbed(value, self.secrets, self.rules))
            raise
