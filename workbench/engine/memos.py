"""What a process that evaluates keeps from one evaluation to the next: parsed files of the repositories used last."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Final, NamedTuple

from kcl import api
from kcl.secrecy.rules import BUILT_IN, SecretRules
from workbench.engine.compile import ParseCache, new_cache

_MOST_REPOSITORIES: Final = 4
_MOST_USES: Final = 400
"""Each stack adds its own files: of a whole repository these are more than those that stacks share."""


class _Key(NamedTuple):
    """What a cache is of. Of the environment it is the two folders alone that an evaluation reads."""

    root: Path
    results: bool
    secrets: SecretRules
    on_disk: str | None
    downloaded: str | None


class Memos:
    """By repository, whether results of whole stacks are kept as well, and the folders that the environment names."""

    def __init__(self) -> None:
        self._caches: dict[_Key, ParseCache] = {}
        self._uses = 0

    def cache_for(self, root: Path, *, results: bool = True, secrets: SecretRules = BUILT_IN) -> ParseCache:
        self._uses += 1
        if self._uses % _MOST_USES == 0:
            self.forget()
        environment = os.environ
        key = _Key(root, results, secrets, api.folder_for(environment), api.downloaded_folder(environment))
        cache = self._caches.pop(key, None) or new_cache(results=results, secrets=secrets)
        self._caches[key] = cache
        while len(self._caches) > _MOST_REPOSITORIES:
            del self._caches[next(iter(self._caches))]
        return cache

    def forget(self) -> None:
        self._caches.clear()
        gc.collect()  # code and what it is of refer to each other


memos: Final = Memos()
"""Those of this process."""
