"""From the repository's KCL to Specs; edits and migrations of it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kcl.records import dataclass, replace
from workbench.project import (
    Stack,
    WorkbenchError,
    with_targets,
)
from workbench.session.opened import Opened

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from kcl.tools.migrate import Outcome
    from workbench.engine.cells import Configured
    from workbench.engine.compile_all import Batch
    from workbench.engine.compiled import CompiledStack, CompileInputs
    from workbench.engine.migration import Migration
    from workbench.engine.spec import Spec
    from workbench.engine.whatif import WhatIf


@dataclass(frozen=True, slots=True)
class _Ahead:
    inputs: CompileInputs
    stacks: Mapping[str, CompiledStack | WorkbenchError]


_AHEAD: ContextVar[_Ahead | None] = ContextVar("compiled ahead", default=None)


class Compiling(Opened):
    """Compiles what is in the working tree, or with edits that exist only here."""

    async def compile(self, stack: Stack, inputs: CompileInputs | None = None) -> CompiledStack:
        """Raises `CompileFailed` (the KCL is wrong) or `SpecInvalid` (what it yields is no Spec); `FinalOverridden`
        where `inputs` set otherwise what a baseline says for good."""
        from workbench.engine.evaluators import evaluators

        evaluators.warm()  # while this process reads what it needs of the language
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.shipped import compile_stack

        given = inputs or CompileInputs()
        await self._hold_finals(stack, given)
        ahead = _AHEAD.get()
        if ahead is not None and ahead.inputs == given and (found := ahead.stacks.get(stack.name)) is not None:
            if isinstance(found, WorkbenchError):
                raise found
            compiled = found
        else:
            compiled = await compile_stack(stack, given, self._root, self._settings.allowance, self._plain_plugins())
        self._read[stack.path] = compiled.dependencies
        compiled = replace(compiled, spec=self._with_sensitive(stack, compiled.spec))
        self._secrets |= compiled.spec.secrets
        return compiled

    async def _hold_finals(self, stack: Stack, inputs: CompileInputs) -> None:
        """Raises `FinalOverridden`. What a stack is without what is given is what the last word is about."""
        if not (inputs.options or inputs.settings or inputs.overlay):
            return
        import anyio.to_thread

        from workbench.engine.configuration import ConfigurationRequest, configured
        from workbench.engine.evaluators import evaluators
        from workbench.engine.final_inputs import refuse_overridden

        key = secrets.token_bytes(32)

        def evaluate(given: CompileInputs) -> Configured:
            allowance, plugins = self._settings.allowance, self._plain_plugins()
            request = ConfigurationRequest((stack,), self._root, plugins, {}, allowance, given.plain(), key)
            return next(configured(request, evaluators))

        today = self._now().date()
        await anyio.to_thread.run_sync(refuse_overridden, stack, self._root, inputs, today, evaluate)

    @asynccontextmanager
    async def compiled_ahead(
        self, scheduler: str, stacks: Sequence[Stack], inputs: CompileInputs
    ) -> AsyncIterator[None]:
        """Has stacks compiled on the workers of a dask scheduler; `compile` takes them from there inside of the block,
        in this task and those that it starts. Without a `scheduler` nothing is done ahead. Raises `EngineError`."""
        if not scheduler:
            yield
            return
        import anyio.to_thread

        from workbench.engine.worker_pools import Compiling as Work
        from workbench.engine.worker_pools import compiled_on

        work = Work(inputs.plain(), self._root, self._settings.allowance, self._plain_plugins())
        found = await anyio.to_thread.run_sync(compiled_on, scheduler, stacks, work)
        token = _AHEAD.set(_Ahead(inputs, found))
        try:
            yield
        finally:
            _AHEAD.reset(token)

    async def _resolved(self, stack: Stack, spec: Spec) -> Spec:
        """Returns the Spec with the secrets that it refers to. Raises `SecretsUnavailable`."""
        found = await self._secret_stores.resolved(stack, spec)
        self._secrets |= found.secrets
        return found

    def _with_sensitive(self, stack: Stack, spec: Spec) -> Spec:
        from runtimes.base import TerraformId

        if not any(isinstance(each.id, TerraformId) for each in spec):
            return spec
        return spec.with_sensitive(self._workspace().recorded_sensitive(stack, spec))

    @property
    def specs_folder(self) -> Path:
        """Where the Specs of all stacks are unless somebody says so, with what they were made from."""
        name = hashlib.sha256(str(self.root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return self.settings.cache_dir / "specs" / f"{self.root.name}-{name}"

    def compile_all(
        self,
        folder: Path,
        inputs: CompileInputs | None = None,
        *,
        format_: Literal["yaml", "json"] = "yaml",
        only: Sequence[Path] | None = None,
        force: bool = False,
    ) -> Batch:
        """Finds out which Specs in `folder` are out of date; iterating over `run(pool)` of what is returned makes them.

        `only` leaves out stacks that none of these files touches, `force` makes those up to date again as well.
        """
        from workbench.engine.compile_all import Wanted, prepare
        from workbench.engine.compiled import CompileInputs

        plugins = self._plain_plugins()
        self.refuse_outside(folder)
        chosen = None if only is None else with_targets(self._root, only)
        return prepare(
            Wanted(
                self.tree(),
                inputs or CompileInputs(),
                folder.resolve(),
                format_,
                plugins,
                chosen,
                force,
                self._settings.allowance,
                self._now().date(),
            )
        )

    def whatif(self, stack: Stack, inputs: CompileInputs | None = None) -> WhatIf:
        """Starts a set of edits that exist only in this session; `whatif.inputs` go into compile, diff and plan."""
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.whatif import WhatIf

        return WhatIf(self._root, inputs or CompileInputs())

    async def migration(
        self,
        only: Sequence[Stack | Path] = (),
        inputs: CompileInputs | None = None,
        dialect: str | None = None,
    ) -> Migration:
        """Finds what is legacy in the repository, or in some stacks, files or folders. Reads, and writes nothing.

        `dialect` is what the repository is written in, by default what its kcl.mod asks for.
        """
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.migrating import find_legacy

        stacks, given = tuple(self.tree().stacks()), inputs or CompileInputs()
        return await find_legacy(self._root, stacks, only, given, dialect, self._settings.allowance)

    async def proof(self, migration: Migration, on_outcome: Callable[[Outcome], None]) -> list[Outcome]:
        """Compiles each stack that a migration touches, before and after; what `migration.write` wants to see.

        `on_outcome` is told each as soon as it is known.
        """
        from workbench.engine.migrating import prove

        return await prove(migration, self._settings.allowance, on_outcome, self._plain_plugins())
