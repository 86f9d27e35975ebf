"""A Terraform workspace as a `Runtime`: single resources, by way of the verbs for all of them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from runtimes.base import (
    ApplyRequest,
    DeleteRequest,
    Identity,
    LiveResource,
    LogRequest,
    Misconfigured,
    Moved,
    Owned,
    PlanRequest,
    Prediction,
    ProviderUse,
    ReadRequest,
    Rejected,
    Resource,
    ResourceFailed,
    ResourceId,
    StateMove,
    StateRecord,
    TerraformId,
    WatchReport,
    WatchRequest,
    WorkspacePlan,
    WorkspacePlanRequest,
    WorkspaceRun,
)
from runtimes.terraform import diagnostics, plan
from runtimes.terraform.terraform import Settings, Terraform
from runtimes.terraform.watch import watching
from runtimes.terraform.workspace import TerraformWorkspace


class TerraformRuntime:
    """See `runtimes.base.Runtime` and `runtimes.base.Workspace`: it is both.

    `read`, `owned` and `watch` tell what the state has, which is what the last plan or apply saw. Planning, applying or
    deleting one resource starts terraform for it alone: for more than one, use `survey` and `apply_all`.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._workspace = TerraformWorkspace(settings)

    @classmethod
    def connect(
        cls,
        *,
        folder: str | Path,
        place: str = "terraform",
        binary: str | None = None,
        backend: Mapping[str, Any] | None = None,
        cli_config: str | Path | None = None,
        mirrors: tuple[str | Path, ...] = (),
        plugin_cache: str | Path | None = None,
        required_version: str = "",
        lock_timeout_seconds: float = 10,
        environment: Mapping[str, str] | None = None,
        lock: str = "",
        may_run: Callable[[Sequence[ProviderUse]], None] | None = None,
        fetched: Callable[[], Collection[str] | None] | None = None,
    ) -> TerraformRuntime:
        """Touches nothing yet. Raises `Misconfigured` for settings that can't be."""
        if backend is not None and not isinstance(backend.get("type"), str):
            raise Misconfigured(
                "the backend of Terraform has no type", target=place, hint="give it a type: local, s3, ..."
            )
        return cls(
            Settings(
                folder=Path(folder).expanduser().absolute(),
                place=place,
                binary=binary,
                backend=backend,
                cli_config=Path(cli_config) if cli_config else None,
                mirrors=tuple(Path(each).expanduser().absolute() for each in mirrors),
                plugin_cache=Path(plugin_cache).expanduser().absolute() if plugin_cache else None,
                required_version=required_version,
                lock_timeout_seconds=lock_timeout_seconds,
                environment=dict(environment or {}),
                inherited=dict(os.environ),
                lock=lock,
                may_run=may_run,
                fetched=fetched,
            )
        )

    @property
    def place(self) -> str:
        return self._settings.place

    async def survey(self, request: WorkspacePlanRequest) -> WorkspacePlan:
        return await self._workspace.survey(request)

    def apply_all(
        self, request: WorkspacePlanRequest, accept: Callable[[WorkspacePlan], None]
    ) -> AbstractAsyncContextManager[WorkspaceRun]:
        return self._workspace.apply_all(request, accept)

    async def record(self, request: WorkspacePlanRequest) -> StateRecord:
        return await self._workspace.record(request)

    async def move_state(self, request: WorkspacePlanRequest) -> StateMove:
        return await self._workspace.move_state(request)

    async def unlock_state(self, request: WorkspacePlanRequest, lock: str) -> None:
        await self._workspace.unlock_state(request, lock)

    async def read(self, request: ReadRequest) -> LiveResource | None:
        return (await self._live()).get(request.id)

    async def owned(self, labels: Mapping[str, str], known: Collection[str] = ()) -> Owned:
        """Finds everything in the state, whatever the labels: the workspace is one stack's, and has none."""
        return Owned(tuple((await self._live()).values()))

    async def plan(self, request: PlanRequest) -> Prediction:
        planned = await self.survey(_alone(request.resource))
        errors = [each for each in planned.findings if each.is_error]
        found = planned.get(request.resource.id)
        if errors or found is None:
            raise diagnostics.failure(errors, place=self.place, id_=request.resource.id, doing="plan")
        return found.prediction

    async def apply(self, request: ApplyRequest) -> LiveResource:
        id_ = request.resource.id
        live = await self._run(_alone(request.resource), id_, request.expected)
        if id_ not in live:
            raise Rejected("the state has nothing of it after the apply", target=self.place, subject=str(id_))
        return live[id_]

    async def delete(self, request: DeleteRequest) -> None:
        if request.id in await self._live():
            await self._run(
                WorkspacePlanRequest((), only=frozenset([request.id])), request.id, request.expected, is_deletion=True
            )

    def watch(self, request: WatchRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchReport]]:
        terraform = Terraform(self._settings)
        ids = tuple(each for each in request.ids if isinstance(each, TerraformId))
        if len(ids) != len(request.ids):
            raise Rejected("a Terraform workspace holds Terraform resources only", target=self.place)
        file = terraform.state_file if terraform.has_local_state else None
        return watching(ids, terraform.folder, file, self._workspace.state)

    async def logs(self, request: LogRequest) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        pass

    async def _live(self) -> Mapping[ResourceId, LiveResource]:
        return plan.live_resources(await self._workspace.state())

    async def _run(
        self,
        request: WorkspacePlanRequest,
        id_: ResourceId,
        expected: Identity | None,
        *,
        is_deletion: bool = False,
    ) -> Mapping[ResourceId, LiveResource]:
        def accept(planned: WorkspacePlan) -> None:
            found = planned.get(id_)
            live = found.prediction.live if found else None
            if (live.identity if live else None) != expected and not (is_deletion and expected is None):
                raise Moved(
                    "it is not what the plan was made from",
                    target=self.place,
                    subject=str(id_),
                    hint="plan again to see what is there now",
                )

        failed: ResourceFailed | None = None
        async with self.apply_all(request, accept) as run:
            async for report in run:
                if isinstance(report, ResourceFailed):
                    failed = report if failed is None or report.id == id_ else failed
            if failed is not None:
                raise failed.error
            return await run.outcome()


def _alone(resource: Resource) -> WorkspacePlanRequest:
    return WorkspacePlanRequest((resource,), only=frozenset([resource.id]))
