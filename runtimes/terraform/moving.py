"""Moving a state from the backend it was in to the one that is configured now.

terraform copies it (`init -migrate-state`) and writes over whatever is there, asking nobody where nobody can be asked.
So the new place is looked into first, from a folder of its own in which no provider is got: a state that is another's,
or an older one, stays, and one that is this very state, as a colleague moved it, is taken as it is. Afterwards it is
read from the new place, and has to have what it had.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from kcl.records import dataclass, replace
from kcl.regular import read_regular
from kcl.secrecy.rules import is_secret_name
from runtimes.base import (
    Misconfigured,
    PossiblyCreated,
    RuntimeFailure,
    StateEntry,
    StateMove,
    StateRecord,
    TerraformId,
)
from runtimes.terraform import last_state, live, record, restoring
from runtimes.terraform.configuration import Configuration, build
from runtimes.terraform.folder import read_json
from runtimes.terraform.last_state import LastState
from runtimes.terraform.state import PriorState, State, UnreadableState, read_prior
from runtimes.terraform.terraform import Settings, Terraform

_MOVED_SUFFIX = ".moved"
_BACKEND = "backend "
Unreadable = Callable[[UnreadableState], RuntimeFailure]


@dataclass(frozen=True, slots=True)
class _Had:
    """What the state had, as far as this machine knows: `objects` with their ids in the infrastructure."""

    lineage: str
    serial: int
    objects: Mapping[TerraformId, str]

    @classmethod
    def of(cls, own: State | None, before: LastState | None) -> _Had:
        """`own` is the state where it was a file in the folder, `before` what was seen of one elsewhere."""
        if own is not None and (own.lineage or before is None):
            return cls(own.lineage, own.serial, last_state.identities(own, frozenset()))
        return cls(before.lineage, before.serial, before.resources) if before is not None else cls("", 0, {})

    def is_in(self, state: State) -> bool:
        """Whether a state has all of these objects."""
        found = last_state.identities(state, frozenset())
        return all(each in found and (not uid or found[each] in ("", uid)) for each, uid in self.objects.items())


def recorded(state: State, settings: Settings) -> StateRecord:
    """Returns a state as it is shown, with what may exist besides; what a provider would say of it is not asked."""
    doubts = record.load(Terraform(settings).folder).doubts
    unsure = tuple(
        PossiblyCreated(each.id, each.creation.candidates, each.since)
        for each in doubts
        if each.id not in state.resources
    )
    entries = tuple(
        StateEntry(
            live.of_recorded(each, None, None),
            each.address,
            str(each.source),
            each.is_tainted,
            len(each.deposed),
            each.exists,
        )
        for each in state.resources.values()
    )
    return StateRecord(entries, state.lineage, state.serial, where(settings), unsure, unfinished(settings))


def unfinished(settings: Settings) -> str:
    """Says that a move was begun and did not end, as where terraform was killed; empty where none was."""
    match read_json(Terraform(settings).folder.move):
        case None:
            return ""
        case {"from": str(former), "to": str(to)}:
            between = f"from {former} to {to}"
        case _:
            between = "to another place"
    return (
        f"a move of the state {between} was begun and did not end: it may be in both, and each may go on by itself. "
        "Name the one that is to have it, then wb state migrate STACK"
    )


def where(settings: Settings) -> str:
    """Says where a state is kept: the file, or the type of the backend; its settings may hold what is secret."""
    terraform = Terraform(settings)
    if terraform.has_local_state:
        return str(terraform.state_file)
    return f"{_BACKEND}{(settings.backend or {}).get('type')}"


def place(settings: Settings) -> str:
    """Returns `where` as it is written down: below the working folder, which may be moved, as seen from there.

    Of a backend it also tells one bucket from another, by a digest of its settings without what is secret.
    """
    terraform = Terraform(settings)
    if not terraform.has_local_state:
        config = (settings.backend or {}).get("config")
        said = json.dumps(_without_logins(config), sort_keys=True, default=str)
        return f"{where(settings)} {hashlib.sha256(said.encode()).hexdigest()[:12]}"
    if terraform.state_file.is_relative_to(terraform.folder.path):
        return str(terraform.state_file.relative_to(terraform.folder.path))
    return where(settings)


def _without_logins(config: object) -> object:
    """Settings of a backend that say where it is: how often it is tried does so as well, and matters little."""
    match config:
        case Mapping():
            return {str(name): _without_logins(each) for name, each in config.items() if not is_secret_name(str(name))}
        case str() if "://" in config:
            head, _, rest = config.partition("://")
            authority, slash, path = rest.partition("/")
            return f"{head}://{authority.rpartition('@')[2]}{slash}{path}"
        case _:
            return config


def refuse_elsewhere(terraform: Terraform, settings: Settings) -> None:
    """Raises `Misconfigured` where a local state is another file now, which does not have what the former one had.

    It would be taken for one that was lost: nothing is put back where nothing was. What somebody moved there, whole,
    is taken as it is.
    """
    before, now = last_state.load(terraform.folder), where(settings)
    former = _former(terraform, before)
    if not former or os.path.realpath(former) == os.path.realpath(now):
        return
    try:
        state = read_prior(terraform.written_state())
    except UnreadableState:
        state = None
    if last_state.is_damaged(last_state.condition(state, before), before):
        raise Misconfigured(
            f"the backend has changed: the state is in {former}, and {now} is configured now, which does not have it",
            target=settings.place,
            hint="a plan moves nothing, and until it is moved nothing is applied: wb state migrate STACK; "
            "or put terraform.backend back as it was",
        )


def _former(terraform: Terraform, before: LastState | None) -> str:
    """Returns where the state was read last, as far as that was written down: by us, else by terraform."""
    if before is None or not before.lineage:
        return ""
    if before.place:
        if before.place.startswith(_BACKEND):
            return " ".join(before.place.split(" ")[:2])
        return str(terraform.folder.path / before.place)
    match read_json(terraform.folder.path / ".terraform" / "terraform.tfstate"):
        case {"backend": {"type": "local", "config": {"path": str(path)}}}:
            return str(terraform.folder.path / path)
        case _:
            return str(terraform.folder.state) if terraform.folder.state.exists() else ""


async def move(terraform: Terraform, settings: Settings, written: Configuration, unreadable: Unreadable) -> StateMove:
    """Moves the state; the folder is held. Raises `RuntimeFailure`, and then it is still where it was.

    `written` is what is configured, `unreadable` makes the failure of a state that can't be read.
    """
    folder = terraform.folder
    if record.load(folder).is_open:
        raise RuntimeFailure(
            "an apply was begun and it is not known how it ended",
            target=settings.place,
            hint="put terraform.backend back as it was and plan, which finds out; then move the state",
        )
    terraform.refuse_untrusted(written)
    before = last_state.load(folder)
    if terraform.is_initialised(written) and (terraform.has_local_state or await terraform.state()):
        state = _read(await terraform.state(), unreadable)
        if before is not None and last_state.is_elsewhere(before, place(settings)):
            _refuse_incomplete(state, _Had.of(None, before), settings, _kept_copy(terraform))
        folder.move.unlink(missing_ok=True)
        return StateMove(recorded(state, settings), was_there=True)
    had = _Had.of(_own(terraform, unreadable), before)
    there = _read(await _there(terraform, settings), unreadable)
    was_there = _refuse_other(there, had, settings)
    backup = _keep_copy(terraform)
    former = _former(terraform, before) or str(folder.state)
    folder.write(folder.move, json.dumps({"from": former, "to": where(settings)}) + "\n")
    folder.write(folder.configuration, written.text)
    try:
        if was_there:
            await _begin_anew(terraform, written)
        else:
            await terraform.initialise(written, moves=True)
    except RuntimeFailure as error:
        error.hint = error.hint or unfinished(settings)
        raise
    state = _read(await terraform.state(), unreadable)
    _refuse_incomplete(state, had, settings, backup)
    missing = before.missing if before is not None else {}
    last_state.save(folder, last_state.look(state, written.secrets, before, missing, place(settings)))
    folder.move.unlink(missing_ok=True)
    if terraform.has_local_state:
        restoring.keep_copy(folder, await terraform.state())
        terraform.protect_state()
    return StateMove(recorded(state, settings), was_there, backup)


def _own(terraform: Terraform, unreadable: Unreadable) -> PriorState | None:
    """Returns what the file in the folder has, which is the state where no backend was named before."""
    file = terraform.folder.state
    is_elsewhere = (terraform.folder.path / ".terraform" / "terraform.tfstate").exists()
    if is_elsewhere or not file.exists() or (terraform.has_local_state and terraform.state_file == file):
        return None
    return _read(read_regular(file), unreadable)


async def _there(terraform: Terraform, settings: Settings) -> bytes:
    """Returns what the new place has, empty for nothing."""
    if terraform.has_local_state:
        return terraform.written_state()
    async with looking(terraform, settings) as there:
        return await there.state()


@asynccontextmanager
async def looking(terraform: Terraform, settings: Settings) -> AsyncIterator[Terraform]:
    """Gives the backend from a folder of its own: whatever the folder of the stack was initialised for stays."""
    path = Path(tempfile.mkdtemp(prefix="looking-", dir=terraform.folder.path))
    try:
        there = Terraform(replace(settings, folder=path, mirrors=(), fetched=frozenset, may_run=None))
        await there.prepare()
        alone = build((), backend=settings.backend, required_version=settings.required_version)
        there.folder.write(there.folder.configuration, alone.text)
        failure: RuntimeFailure | None = None
        try:
            await there.initialise(alone, forgets=True)
        except RuntimeFailure as error:
            failure = error  # of the providers that a state there names, none can be got: it can be read all the same
        try:
            yield there
        except RuntimeFailure as error:
            raise failure or error from None
    finally:
        shutil.rmtree(path, ignore_errors=True)


async def _begin_anew(terraform: Terraform, written: Configuration) -> None:
    """Initialises the folder for a place that has the state. terraform would still move a file that lies in it."""
    file = terraform.folder.state
    aside = file.with_name(file.name + ".aside")
    is_in_the_way = file.exists() and not (terraform.has_local_state and terraform.state_file == file)
    if is_in_the_way:
        file.replace(aside)
    try:
        await terraform.initialise(written, forgets=True)
    except BaseException:
        if is_in_the_way:
            aside.replace(file)
        raise
    aside.unlink(missing_ok=True)  # `_keep_copy` has it


def _refuse_other(there: State, had: _Had, settings: Settings) -> bool:
    """Returns whether this very state is there already. Raises where something else is.

    Not every backend keeps the lineage of what is moved to it; what has the same objects of all resources is it too.
    """
    if not there.lineage and not there.resources:
        return False
    if had.lineage and there.lineage == had.lineage:
        if there.serial >= had.serial:
            return True
        how = "an older one of this stack"
    elif had.objects and had.is_in(there):
        return True
    else:
        how = "another one" if had.lineage else "and this machine has seen none of this stack"
    raise Misconfigured(
        f"{where(settings)} has a state already, {how}, with {len(there.resources)} resources (serial {there.serial}): "
        f"it is not written over",
        target=settings.place,
        hint="name another place for this one, or look at what is there and take it away"
        if had.lineage
        else "if it is this stack's: take .terraform/terraform.tfstate out of the working folder, and plan",
    )


def _keep_copy(terraform: Terraform) -> Path | None:
    """Keeps what is in the folder, where the state was there: terraform empties it."""
    file = terraform.folder.state
    try:
        content = read_regular(file)
    except OSError:
        return None
    if not content.strip():
        return None
    kept = file.with_name(file.name + _MOVED_SUFFIX)
    terraform.folder.write(kept, content.decode(errors="replace"))
    return kept


def _kept_copy(terraform: Terraform) -> Path | None:
    """Returns what `_keep_copy` left for the last move."""
    kept = terraform.folder.state.with_name(terraform.folder.state.name + _MOVED_SUFFIX)
    return kept if kept.exists() else None


def _refuse_incomplete(state: State, had: _Had, settings: Settings, backup: Path | None) -> None:
    if had.is_in(state):
        return
    lost = sorted(had.objects.keys() - state.resources.keys(), key=str)
    what = (
        f"lacks {len(lost)} of {len(had.objects)} resources ({last_state.named(lost)})" if lost else "has other objects"
    )
    raise RuntimeFailure(
        f"what {where(settings)} has after the move {what}",
        target=settings.place,
        hint=(f"the state as it was is in {backup}" if backup else "the former backend has the state as it was")
        + "; the next plan looks for what is missing, takes over what exists, and creates none of it twice",
    )


def _read(content: bytes, unreadable: Unreadable) -> PriorState:
    try:
        return read_prior(content)
    except UnreadableState as error:
        raise unreadable(error) from None
