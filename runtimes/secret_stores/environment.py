"""Secrets in variables of the environment, as a CI hands them to its jobs.

Only variables that were named for this: a repository must not get at whatever else is in the environment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kcl.records import dataclass, field
from runtimes.base import Misconfigured, NotThere, RuntimeFailure, SecretReference

PREFIX: Final = "WB_SECRET_"


@dataclass(frozen=True, slots=True)
class EnvironmentStore:
    environment: Mapping[str, str] = field(repr=False)

    async def read(self, references: Collection[SecretReference]) -> Mapping[SecretReference, str | RuntimeFailure]:
        return {each: self._read(each) for each in references}

    def _read(self, reference: SecretReference) -> str | RuntimeFailure:
        name = PREFIX + reference.path[0]
        value = self.environment.get(name)
        if value is None:
            return NotThere(f"the environment has no {name}", hint=f"set {name}")
        return value or Misconfigured(f"{name} is empty", hint=f"set {name}, or take the reference out")
