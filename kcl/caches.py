"""What a caller of `kcl.api.run` keeps from one run to the next: for each stage what is its own, made in one place."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from kcl.diagnostics import KclError
from kcl.evaluator.prepared import Prepared
from kcl.loader.queries import PACKAGE
from kcl.loader.texts import PARSED
from kcl.memo.inputs import Clock, now
from kcl.memo.queries import Memo
from kcl.records import replace
from kcl.results import ResultCache
from kcl.secrecy.rules import BUILT_IN, SecretRules
from kcl.semantic.checked import CHECKED
from kcl.stdlib import Access, build_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcl.cache.store import Store
    from kcl.evaluator.runtime import Compiling
    from kcl.memo.queries import Codec, Query


class ParseCache:
    """What runs leave to those after them. Hand one to every run of the same repository; threads may share it.

    `store` is where packages are kept, parsed and checked, for other processes, and their code, and with `results`
    what whole runs came to; None for nowhere. `secrets` says what is secret by name and look, so that the store has it
    sealed, or not at all; `clock` how old files are when a run ends.
    """

    def __init__(
        self,
        *,
        store: Store | None = None,
        results: bool = True,
        secrets: SecretRules = BUILT_IN,
        clock: Clock = now,
    ) -> None:
        self.store = store
        self.secrets = secrets
        self.clock = clock
        self._disk = None if store is None else _Disk(store, secrets)
        self.memo = Memo() if self._disk is None else self._disk.memo
        self.results = ResultCache(store, secrets, clock) if store is not None and results else None
        self._idle: list[tuple[Prepared, Access]] = []

    def files(self) -> int:
        """How many parsed files are kept."""
        return self.memo.count(PARSED)

    def compiling(self, plain: Compiling | None) -> Compiling | None:
        """Generated code of the same things, taken from the store as far as it is there."""
        return plain if plain is None or self._disk is None else self._disk.compiling(plain, self.memo)

    def write(self) -> None:
        """Keeps in the store what is new to it."""
        if self._disk is not None:
            self._disk.leave_compiled(self._disk.entries)
            self._disk.entries.write()

    @contextmanager
    def prepared(self, access: Access) -> Iterator[Prepared]:
        """What earlier evaluations compiled, bound to `access`, while no other thread has it."""
        try:
            prepared, own = self._idle.pop()
        except IndexError:
            own = replace(access)
            prepared = Prepared(build_library(own), self.memo)
        own.become(replace(access, on_use=_noted(prepared, access.on_use)))
        try:
            yield prepared
        except KclError:
            prepared.forget_values(failed=True)
            self._idle.append((prepared, own))
            raise
        prepared.forget_values()
        self._idle.append((prepared, own))


class _Disk:
    """What is kept in a store of each stage."""

    def __init__(self, store: Store, secrets: SecretRules) -> None:
        from kcl.cache.by_text import answers_by_text
        from kcl.cache.checks import checked
        from kcl.cache.code import CODE, CODES, compiling  # most runs have no store
        from kcl.cache.compiled import leave, share
        from kcl.cache.entries import Entries
        from kcl.cache.packages import PACKAGES

        self.entries = Entries(store)
        share(self.entries)
        codecs: dict[Query[Any, Any], Codec[Any, Any]] = {PACKAGE: PACKAGES, CODE: CODES}
        by_text = answers_by_text(self.entries, secrets)
        self.memo = Memo(self.entries, codecs, {**by_text, CHECKED: partial(checked, self.entries)})
        self.compiling = compiling
        self.leave_compiled = leave


def _noted(prepared: Prepared, on_use: Callable[[str], None]) -> Callable[[str], None]:
    def note(name: str) -> None:
        prepared.note_use()
        on_use(name)

    return note
