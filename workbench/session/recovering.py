"""Recovering: an incident's document previewed, and run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import replace
from workbench.session.opened import Opened

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.recovery.document import Limits as RecoveryLimits
    from workbench.engine.recovery.document import RecoveryDocument
    from workbench.engine.recovery.execute import RecoveryRun
    from workbench.engine.recovery.values import Recovery


class Recovering(Opened):
    """See `workbench.engine.recovery`."""

    async def recovery(
        self,
        source: str | Path | RecoveryDocument,
        inputs: CompileInputs | None = None,
        *,
        limits: RecoveryLimits | None = None,
    ) -> Recovery:
        """Resolves and previews a recovery: what would be done, and why not for everything else. Writes nothing.

        `source` is a KCL file (relative to `path`, else to the root) or a document; `limits` replaces the document's.
        What any run of the same incident (the document's reason) did before is not done again, and counts towards the
        limits. A cluster that does not answer is a `Problem` in the result. Raises `CompileFailed`,
        `InvalidRecovery` or `ReleaseFailure`.
        """
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.recovery.document import RecoveryDocument
        from workbench.engine.recovery.preview import preview
        from workbench.project.masking import read_masking
        from workbench.release.recoveries import RecoveryStore

        if not isinstance(source, RecoveryDocument):
            from workbench.engine.shipped import compile_document

            file = self._file(Path(source))
            source = await compile_document(
                file,
                inputs or CompileInputs(),
                self._root,
                self._settings.allowance,
                self._plain_plugins(),
                secrets=read_masking(self._root),
            )
        else:
            source = replace(source, withheld=replace(source.withheld, rules=read_masking(self._root)))
        if limits is not None:
            source = replace(source, limits=limits)
        store = RecoveryStore(self._settings.state_dir, self._root)
        return await preview(
            source,
            self._connections.operations,
            now=self._now(),
            ledger=store.ledger,
            seal=lambda: self._store().seal(),
        )

    @asynccontextmanager
    async def recover(
        self, recovery: Recovery, *, confirm: str = "", dry_run: bool = True
    ) -> AsyncIterator[RecoveryRun]:
        """Runs a recovery; the events are `RecoveryStarted` first and `RecoveryFinished` last.

        A dry run, the default, writes nothing and reports what would be done. Entering raises `Refused` (read-only),
        `ConfirmationRequired` (anything but the exact phrase), `Locked` (another run of the incident goes on, here or
        elsewhere), `StalePlan` (one did something since it was previewed) or `ReleaseFailure`, each before anything is
        written. What fails at single objects are events. Leaving early starts nothing more and lets writes in flight
        finish.
        """
        from workbench.engine.recovery.approval import approve
        from workbench.recovering import recovering
        from workbench.release.recoveries import RecoveryStore

        approve(recovery, confirm, dry_run=dry_run, is_read_only=self.settings.is_read_only)
        store = RecoveryStore(self._settings.state_dir, self._root)
        async with recovering(
            recovery,
            self._connections.operations,
            store,
            self.audit(),
            self._actor(),
            self._now,
            confirm=confirm,
            dry_run=dry_run,
            identities=await self._identities(recovery.clusters),
        ) as run:
            yield run
