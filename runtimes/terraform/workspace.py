"""Planning and applying everything in a stack's working folder: the verbs of `runtimes.base.Workspace`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kcl import whole_file
from kcl.records import dataclass, field, replace
from runtimes.base import (
    Finding,
    Overloaded,
    PlannedAction,
    Rejected,
    ResourceId,
    RuntimeFailure,
    StateMove,
    StateRecord,
    TerraformId,
    WorkspacePlan,
    WorkspacePlanRequest,
    WorkspaceRun,
)
from runtimes.terraform import (
    adoption,
    attempts,
    configuration,
    diagnostics,
    events,
    former,
    last_state,
    moving,
    plan,
    record,
    restoring,
)
from runtimes.terraform.adoption import Adoption
from runtimes.terraform.attempts import Attempt, Configured
from runtimes.terraform.configuration import Configuration
from runtimes.terraform.events import Follower
from runtimes.terraform.last_state import LastState
from runtimes.terraform.losses import Losses
from runtimes.terraform.planned import UnreadablePlan, whole_document
from runtimes.terraform.process import ProcessMark, Running
from runtimes.terraform.record import Record
from runtimes.terraform.run import ApplyRun, Left, Reporter
from runtimes.terraform.schema import Schemas
from runtimes.terraform.state import OtherFormat, PriorState, State, UnreadableState, read_new, read_prior
from runtimes.terraform.terraform import Planned, Settings, Terraform

_POLL_SECONDS = 0.1
_SAVED_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Saved:
    """What a survey planned and `terraform apply` could do: with the plan's file, and what it was made over."""

    request: WorkspacePlanRequest
    attempt: Attempt
    content: bytes = field(repr=False)
    state: bytes | None = field(repr=False)
    made: float


class TerraformWorkspace:
    """See `runtimes.base.Workspace`. One at a time works in the folder, whichever process it is in.

    A survey right before an apply of the same is what is applied: asking the providers once more would tell nothing
    new. terraform refuses a saved plan itself where the state was written since.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._saved: _Saved | None = None

    @property
    def place(self) -> str:
        return self._settings.place

    async def survey(self, request: WorkspacePlanRequest) -> WorkspacePlan:
        async with self._working("plans", request.accepts_lost) as terraform:
            try:
                attempt = await self._planned(terraform, request, always_show=False)
                self._saved = await self._save(terraform, request, attempt)
                return attempt.plan
            finally:
                terraform.folder.remove_leftovers()

    @asynccontextmanager
    async def apply_all(
        self, request: WorkspacePlanRequest, accept: Callable[[WorkspacePlan], None]
    ) -> AsyncIterator[WorkspaceRun]:
        async with self._working("applies", request.accepts_lost) as terraform:
            try:
                attempt = await self._saved_for(terraform, request)
                if attempt is None:
                    attempt = await self._planned(terraform, request, always_show=True)
                if attempt.errors:
                    raise diagnostics.failure(attempt.errors, place=self.place, doing="plan")
                accept(attempt.plan)
                if request.forgets:
                    await self._back_up(terraform, attempt.configured.prior)
                run = await self._start(terraform, attempt)
                try:
                    await run.life()
                    yield run
                finally:
                    await run.end()
            finally:
                if not record.load(terraform.folder).is_open:
                    terraform.folder.remove_leftovers()

    async def _back_up(self, terraform: Terraform, prior: PriorState) -> None:
        """Leaves the state as it is; raises `RuntimeFailure` where that can't be done: then nothing is forgotten."""
        path = terraform.folder.before_forgetting(prior.serial)
        try:
            whole_file.write(path, await terraform.state())
            terraform.folder.remove_old_copies()
        except OSError as error:
            raise RuntimeFailure(
                f"the state can't be copied before something of it is forgotten: {path}: {error.strerror}",
                target=self.place,
                hint="free some space; nothing was forgotten",
            ) from error

    async def _save(self, terraform: Terraform, request: WorkspacePlanRequest, attempt: Attempt) -> _Saved | None:
        if attempt.errors or attempt.shown is None:
            return None
        state = await terraform.state() if terraform.has_local_state else None
        return _Saved(request, attempt, terraform.folder.plan.read_bytes(), state, time.monotonic())

    async def _saved_for(self, terraform: Terraform, request: WorkspacePlanRequest) -> Attempt | None:
        """Puts the plan of the last survey back into the folder, where it is of the same and not old; once."""
        saved, self._saved = self._saved, None
        if saved is None or saved.request != request or time.monotonic() - saved.made > _SAVED_SECONDS:
            return None
        if terraform.has_local_state and await terraform.state() != saved.state:
            return None
        terraform.restore_plan(saved.content)
        return saved.attempt

    async def record(self, request: WorkspacePlanRequest) -> StateRecord:
        """See `runtimes.base.StateKeeper`."""
        async with self._working("reads its state", accepts_lost=False) as terraform:
            state = await self._read_now(terraform, request)
            return moving.recorded(state, self._settings)

    async def move_state(self, request: WorkspacePlanRequest) -> StateMove:
        """See `runtimes.base.StateKeeper`."""
        terraform = Terraform(self._settings)
        terraform.folder.prepare()
        async with terraform.folder.held(self.place, "moves its state", self._settings.lock_timeout_seconds):
            await terraform.prepare()
            return await moving.move(terraform, self._settings, self._written(request), self._unreadable)

    async def unlock_state(self, request: WorkspacePlanRequest, lock: str) -> None:
        """See `runtimes.base.StateKeeper`."""
        terraform = Terraform(self._settings)
        if terraform.has_local_state:
            raise Rejected(
                "its state is a file, locked only while a terraform works on it: there is no lock to take away",
                target=self.place,
            )
        terraform.folder.prepare()
        async with terraform.folder.held(self.place, "unlocks its state", self._settings.lock_timeout_seconds):
            await terraform.prepare()
            terraform.refuse_untrusted(self._written(request))
            # the folder can not be initialised for what is locked, as after a move that was killed
            async with moving.looking(terraform, self._settings) as there:
                await there.unlock_state(lock)

    async def _read_now(self, terraform: Terraform, request: WorkspacePlanRequest) -> PriorState:
        """Reads the state where it is kept, initialising the folder for it if need be."""
        if terraform.has_local_state:
            moving.refuse_elsewhere(terraform, self._settings)
            state = await self._prior(terraform)
        else:
            state = (await self._configured(terraform, request, None, {})).prior
        before = last_state.load(terraform.folder)
        self._refuse_lossy(state, before)
        self._refuse_missing(state, before)
        return state

    def _written(self, request: WorkspacePlanRequest) -> Configuration:
        return configuration.build(
            request.resources,
            secrets=request.secrets,
            backend=self._settings.backend,
            required_version=self._settings.required_version,
            former=request.former,
        )

    async def state(self) -> State:
        """Returns what is recorded. Raises `RuntimeFailure`, also where the state has lost what it had."""
        terraform = Terraform(self._settings)
        if terraform.has_local_state:
            moving.refuse_elsewhere(terraform, self._settings)
        else:
            await terraform.prepare()
        state = await self._prior(terraform)
        before = last_state.load(terraform.folder)
        self._refuse_lossy(state, before)
        self._refuse_missing(state, before)
        terraform.refuse_unpushed()
        return state

    def _refuse_missing(self, state: State, before: LastState | None) -> None:
        """Refuses a state that has lost what no apply has brought back since, though a plan has looked at it."""
        lost = tuple(id_ for id_ in (before.missing if before else {}) if id_ not in state.resources)
        if lost:
            raise RuntimeFailure(
                f"the state has lost {len(lost)} resources ({last_state.named(lost)})",
                target=self.place,
                hint="plan: that looks for them; an apply takes over again what exists",
            )

    def _refuse_lossy(self, state: State, before: LastState | None) -> None:
        found = last_state.condition(state, before, moving.place(self._settings))
        if before is not None and before.resources and last_state.is_damaged(found, before):
            raise RuntimeFailure(
                f"the state is {found.value}, and had {len(before.resources)} resources when it was last read",
                target=self.place,
                hint="plan: that puts it back, or looks for what it has lost",
            )

    @asynccontextmanager
    async def _working(self, doing: str, accepts_lost: bool) -> AsyncIterator[Terraform]:
        terraform = Terraform(self._settings)
        try:
            terraform.folder.prepare()
            async with terraform.folder.held(self.place, doing, self._settings.lock_timeout_seconds):
                await terraform.prepare()
                await self._settle(terraform, accepts_lost)
                yield terraform
        except RuntimeFailure as failure:
            failure.target = failure.target or self.place
            raise

    async def _settle(self, terraform: Terraform, accepts_lost: bool) -> None:
        """Waits for an apply that outlived its workbench, and takes down what one left that was killed."""
        folder = terraform.folder
        left = record.load(folder)
        if left.process is not None:
            await self._wait_for(left, left.process, folder.apply_events)
            await left.process.end_leftovers()
        await terraform.end_orphans()
        if terraform.has_local_state:
            moving.refuse_elsewhere(terraform, self._settings)
            told = events.read(folder.apply_events) if left.process is not None else ()
            restoring.put_back(folder, terraform.state_file, restoring.deletions(told))
            await self._without_torn(terraform, left, accepts_lost)
        self._set_torn_aside(terraform)
        await terraform.restore_state()
        if left.process is not None:
            await self._take_out_outlived(terraform, left, events.read(folder.apply_events))
            content = await terraform.state()
            state = self._read(content)
            if terraform.has_local_state:
                restoring.keep_copy(folder, content)  # before the events are gone: they tell what an older one lacks
            record.save(folder, left.closed(events.read(folder.apply_events), lambda id_: id_ in state.resources))
            folder.apply_events.unlink(missing_ok=True)
        folder.remove_leftovers()

    async def _take_out_outlived(self, terraform: Terraform, left: Record, told: tuple[events.Event, ...]) -> None:
        state = await self._prior(terraform)
        if addresses := record.outlived(left, told, last_state.identities(state, frozenset()), state.serial):
            await terraform.take_out_of_state(addresses)

    async def _without_torn(self, terraform: Terraform, left: Record, accepts_lost: bool) -> None:
        """Puts a torn state aside where there was none before the apply that tore it, or where that is accepted."""
        before = last_state.load(terraform.folder)
        is_first = left.process is not None and before is not None and not before.lineage
        if not is_first and not accepts_lost:
            return
        try:
            read_prior(await terraform.state())
        except OtherFormat as error:
            raise self._unreadable(error) from None  # whole, and not ours to put aside
        except UnreadableState:
            restoring.start_over(terraform.state_file)

    def _set_torn_aside(self, terraform: Terraform) -> None:
        """Sets aside what can't be taken back of a state that terraform could not write. What it was creating is in
        the record, and looked for; raises `RuntimeFailure` where nothing was written down that says so."""
        if not (why := terraform.why_rescue_is_torn()):
            return
        folder = terraform.folder
        before = last_state.load(folder)
        if before is None:
            raise RuntimeFailure(
                f"terraform could not write its state, and what it left can't be taken back: {why}",
                target=self.place,
                hint=f"compare what exists with the state, then move {folder.rescued_state} away",
            )
        aside = restoring.put_aside(folder.rescued_state, folder.torn_rescue)
        repair = (
            f"terraform could not write the state at the end of an apply, and what it left instead can't be taken back "
            f"({why}): it is in {aside.name}; what was being created is looked for"
        )
        last_state.save(folder, replace(before, repair=f"{before.repair}; {repair}" if before.repair else repair))

    async def _wait_for(self, left: Record, process: ProcessMark, told: Path) -> None:
        deadline = time.monotonic() + self._settings.lock_timeout_seconds
        while process.is_running():
            if time.monotonic() >= deadline:
                done = sum(
                    isinstance(each, events.ApplyHook) and each.phase is events.Phase.COMPLETED
                    for each in events.read(told)
                )
                raise Overloaded(
                    f"terraform is still applying what was begun at {left.begun} (process {process.pid}); "
                    f"it has done {done} of {len(left.ids)} steps",
                    target=self.place,
                    hint=f"wait until it is done, or end it in order with: kill -INT {process.pid}",
                )
            await asyncio.sleep(_POLL_SECONDS)

    async def _planned(self, terraform: Terraform, request: WorkspacePlanRequest, *, always_show: bool) -> Attempt:
        """Plans, looking first for what an interrupted apply may have created, and for what the state has lost."""
        recorded = await terraform.state() if terraform.has_local_state else None
        configured = await self._configured(terraform, request, recorded, {})
        known = self._without_settled(terraform, configured.prior)
        losses = self._losses(terraform, configured)
        adoptions = Adoption.of(known.doubts, request.resources, losses.lost, request.secrets)
        chosen: Mapping[ResourceId, str] = {}
        is_initialised_again = False
        while True:
            if adoptions.chosen != chosen:
                chosen = adoptions.chosen
                configured = await self._configured(terraform, request, recorded, chosen)
            planned = await terraform.plan(configured.written, configured.targets, configured.replaces)
            if planned.needs_init and not is_initialised_again:
                is_initialised_again = True
                await terraform.initialise(configured.written)
                configured = await self._configured(terraform, request, recorded, chosen)
                continue
            further = adoptions.after(planned.errors, configured.written.address_of)
            if further is adoptions:
                break
            adoptions = further
        if adoptions.not_there:
            kept = tuple(each for each in known.doubts if each.id not in adoptions.not_there)
            record.save(terraform.folder, replace(known, doubts=kept))
        findings = (*planned.findings, *adoptions.findings, *adoption.unasked(known.doubts, request.resources))
        attempt = await self._attempt(
            terraform, configured, planned, findings, always_show or bool(adoptions.chosen or request.forgets)
        )
        attempt = self._accounted(terraform, attempt, losses, adoptions)
        if recorded is not None and not losses.lost:
            restoring.keep_copy(terraform.folder, recorded)
        return attempt

    def _without_settled(self, terraform: Terraform, prior: PriorState) -> Record:
        """Returns what is recorded of the last apply, without doubts of what the state has since: taken back from where
        terraform had left what it could not write."""
        known = record.load(terraform.folder)
        open_ = tuple(each for each in known.doubts if each.id not in prior.resources)
        if len(open_) < len(known.doubts):
            known = replace(known, doubts=open_)
            record.save(terraform.folder, known)
        return known

    def _losses(self, terraform: Terraform, configured: Configured) -> Losses:
        """Raises `RuntimeFailure` where the state knows other objects than were there, which none can put right."""
        before, request = last_state.load(terraform.folder), configured.request
        place = moving.place(self._settings)
        found = last_state.condition(configured.prior, before, place)
        if before is not None and last_state.is_damaged(found, before) and not request.accepts_lost:
            if outdated := last_state.outdated(configured.prior, before):
                raise RuntimeFailure(
                    f"the state is {found.value}: {len(outdated)} of its resources were made again after it was "
                    f"written ({last_state.named(outdated)}), and applying would make them once more",
                    target=self.place,
                    hint=f"put the newer state back ({self._settings.folder}), or go on without it with --accept-lost",
                )
        return Losses.of(configured.prior, before, request, configured.written.moved, place)

    def _accounted(self, terraform: Terraform, attempt: Attempt, losses: Losses, adoptions: Adoption) -> Attempt:
        """Adds to an attempt what became of what the state had lost, and writes down what was seen."""
        configured, folder = attempt.configured, terraform.folder
        account = losses.accounted(adoptions, configured.request)
        before = last_state.load(folder)
        secrets = configured.written.secrets
        last_state.save(
            folder, last_state.look(configured.prior, secrets, before, account.missing, moving.place(self._settings))
        )
        repairs = (before.repair,) if before is not None and before.repair else ()
        if said := moving.unfinished(self._settings):
            repairs = (*repairs, said)
        result = replace(
            attempt.plan,
            resources=tuple(
                account.explained(each) for each in attempt.plan.resources if each.id not in account.refused
            ),
            findings=(*attempt.plan.findings, *account.findings),
            cautions=(*repairs, *account.cautions, *attempts.doubtful(adoptions)),
        )
        errors = tuple(each for each in account.findings if each.is_error)
        return replace(attempt, plan=result, errors=(*attempt.errors, *errors))

    async def _attempt(
        self,
        terraform: Terraform,
        configured: Configured,
        planned: Planned,
        findings: tuple[Finding, ...],
        always_show: bool,
    ) -> Attempt:
        prior, written, schemas = configured.prior, configured.written, configured.schemas
        shown: Mapping[str, Any] | None = None
        if planned.errors:
            if all(each.id is None for each in planned.errors):
                raise diagnostics.failure(planned.errors, place=self.place, doing="plan")
            result = plan.unfinished(prior, written, schemas=schemas)
        elif always_show or planned.is_changing or planned.is_drifted:
            content = await terraform.show_plan(written)
            try:
                shown = whole_document(content, planned.changing)
                result = plan.read(shown, written, schemas=schemas, recorded=prior)
            except UnreadablePlan as error:
                raise RuntimeFailure(str(error), target=self.place) from None
        else:
            result = plan.unchanged(prior, written, schemas=schemas)
        twice = adoption.taken_twice(result, lambda id_: attempts.provider_of(id_, written, prior))
        result = attempts.alone(result, configured)
        told = (*findings, *result.findings, *twice, *attempts.outputs(prior))
        result = replace(result, findings=tuple(dict.fromkeys(told)))
        return Attempt(configured, attempts.limited(result, configured.request), (*planned.errors, *twice), shown)

    async def _configured(
        self,
        terraform: Terraform,
        request: WorkspacePlanRequest,
        recorded: bytes | None,
        adopt: Mapping[ResourceId, str],
    ) -> Configured:
        """Writes the configuration and initialises the folder for it, if need be.

        `recorded` is the state, where it could be read before that.
        """
        folder = terraform.folder
        terraform.refuse_forgetting(request.forgets)
        before = (*former.load(folder), *request.former)

        prior = self._read(recorded) if recorded is not None else None

        def built(schemas: Schemas | None) -> Configuration:
            return configuration.build(
                request.resources,
                secrets=request.secrets,
                backend=self._settings.backend,
                required_version=self._settings.required_version,
                schemas=schemas,
                adopt=adopt,
                forget=request.forgets,
                state=prior,
                former=before,
            )

        written = built(None)
        terraform.refuse_untrusted(written)
        if not terraform.is_initialised(written):
            folder.write(folder.configuration, written.text)
            await terraform.initialise(written)
        if prior is None:
            recorded = await terraform.state()
            prior = self._read(recorded)
            written = built(None)
            terraform.refuse_untrusted(written)
        types = attempts.types(request.resources) | {each.resource_type for each in prior.resources}
        schemas = await terraform.schemas(written, types)
        if schemas is not None:
            assert recorded is not None
            prior = self._read(recorded, schemas)
            written = built(schemas)
        folder.write(folder.configuration, written.text)
        targets = () if request.only is None else written.targets(request.only)
        if request.only is not None and not targets:
            raise Rejected(
                "none of the requested resources can be planned: each needs a value that is known only later",
                target=self.place,
            )
        return Configured(request, prior, written, schemas, targets)

    async def _start(self, terraform: Terraform, attempt: Attempt) -> ApplyRun:
        configured, folder = attempt.configured, terraform.folder
        written = configured.written
        folder.apply_events.unlink(missing_ok=True)
        running = await terraform.start_apply(written)
        opened = Record(
            running.mark,
            datetime.now(UTC).isoformat(timespec="seconds"),
            attempts.creations(attempt),
            {
                written.address_of(each.id): each.id
                for each in attempt.plan.resources
                if each.action is not PlannedAction.NONE and isinstance(each.id, TerraformId)
            },
            record.load(folder).doubts,
            configured.prior.serial,
        )
        record.save(folder, opened)
        await running.go()

        async def ended(told: tuple[events.Event, ...]) -> Left:
            return await self._ended(terraform, configured, opened, running, told)

        reporter = Reporter(attempt.plan, written, self.place)
        return ApplyRun(running, Follower(folder.apply_events), reporter, ended, time.monotonic)

    async def _ended(
        self,
        terraform: Terraform,
        configured: Configured,
        opened: Record,
        running: Running,
        told: tuple[events.Event, ...],
    ) -> Left:
        await running.mark.end_leftovers()
        terraform.protect_state()
        folder = terraform.folder
        if terraform.has_local_state:
            restoring.put_back(folder, terraform.state_file, restoring.deletions(told))
            await self._without_torn(terraform, opened, accepts_lost=False)
        if running.code:
            await self._take_out_outlived(terraform, opened, told)
        content = await terraform.state()
        try:
            state = read_new(content, schemas=configured.schemas)
        except UnreadableState as error:
            raise self._unreadable(error) from None
        before = last_state.load(folder)
        missing, place = before.missing if before else {}, moving.place(self._settings)
        now = last_state.look(state, configured.written.secrets, before, missing, place)
        last_state.save(folder, now if running.code else last_state.settled(now))
        if terraform.has_local_state:
            restoring.keep_copy(folder, content)
        record.save(folder, opened.closed(told, lambda id_: id_ in state.resources))
        recorded = {str(each) for each in state.resources}
        former.save(folder, configured.request.resources, recorded, configured.request.secrets)
        folder.apply_events.unlink(missing_ok=True)
        live = plan.live_resources(state, configured.written, schemas=configured.schemas)
        return Left(live, state.serial > opened.serial)

    async def _prior(self, terraform: Terraform) -> PriorState:
        return self._read(await terraform.state())

    def _read(self, content: bytes, schemas: Schemas | None = None) -> PriorState:
        try:
            return read_prior(content, schemas=schemas)
        except UnreadableState as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: UnreadableState) -> RuntimeFailure:
        hint = error.hint if isinstance(error, OtherFormat) else ""
        return RuntimeFailure(
            f"the state can't be read: {error}",
            target=self.place,
            hint=hint or f"look at the state in {self._settings.folder} and at its backup beside it",
        )
