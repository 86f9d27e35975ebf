"""Putting back a local state that was lost, emptied, torn or replaced by an older one.

There are two copies to take it from: our own (`terraform.tfstate.last`), made whenever the state was read whole, and
terraform's backup, which is of the time before its last apply. What an apply did after the copy was made is not in it:
what it deleted is taken out, told by its events, and what it created is a doubt of its record. A later refresh sees the
rest.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field, replace
from kcl.regular import read_regular
from runtimes.base.documents import load_json
from runtimes.terraform import last_state
from runtimes.terraform.events import ApplyHook, Event, Phase
from runtimes.terraform.folder import Folder, is_in_use
from runtimes.terraform.last_state import Condition, LastState
from runtimes.terraform.process import MOST_OUTPUT_BYTES
from runtimes.terraform.state import OtherFormat, PriorState, UnreadableState, read_prior

_REPLACED_SUFFIX = ".replaced"
_LACKING = {
    Condition.NOTHING: "was empty",
    Condition.UNREADABLE: "was torn",
    Condition.OLDER: "was older than what was last seen",
    Condition.FOREIGN: "had lost everything",
}


@dataclass(frozen=True, slots=True)
class Copy:
    path: Path
    content: bytes = field(repr=False)
    state: PriorState = field(repr=False)


def put_back(folder: Folder, state_file: Path, deleted: Collection[str]) -> None:
    """Puts the best copy in place of a state that is damaged, and keeps what was there beside it.

    `deleted` are the addresses of what an apply deleted after the copy was made. Does nothing where the state is whole,
    a terraform is at work on it, or no copy knows more; nor where it is of another format, as a newer one writes: who
    reads it next says so.
    """
    before = last_state.load(folder)
    content = _read(state_file)
    if content and (len(content) > MOST_OUTPUT_BYTES or content == _read(folder.state_copy)):
        return
    try:
        state = _state(content) if content is not None else PriorState()
    except OtherFormat:
        return
    found = last_state.condition(state, before)
    is_of_use = found is Condition.FOREIGN and state is not None and bool(state.resources)
    if not last_state.is_damaged(found, before) or is_of_use or is_in_use(state_file):
        return
    copies = _copies(folder, state_file)
    best = max(copies, key=lambda each: _worth(each, before), default=None)
    if best is None or not _is_better(best, state, found):
        return
    if content:
        folder.write(state_file.with_name(state_file.name + _REPLACED_SUFFIX), content.decode(errors="replace"))
    kept = without(best.content, deleted)
    folder.write(state_file, kept.decode())
    how = "was gone" if content is None else _LACKING[found]
    repair = (
        f"the state file {how} and was put back from {best.path.name}, as it was at serial {best.state.serial} "
        f"with {len(best.state.resources)} resources"
    )
    before = before or LastState()
    gone = {id_ for id_, each in best.state.resources.items() if each.address in deleted}
    left = {id_: uid for id_, uid in before.resources.items() if id_ not in gone}
    last_state.save(folder, replace(before, resources=left, repair=repair))


def take_out(folder: Folder, state_file: Path, addresses: Collection[str]) -> None:
    """Takes objects that are no more out of a local state, as terraform does: the next serial tells of it."""
    document = json.loads(without(read_regular(state_file), addresses))
    document["serial"] += 1
    folder.write(state_file, json.dumps(document, indent=2) + "\n")


def start_over(state_file: Path) -> None:
    """Puts a state that can't be read aside: there was none before the apply that tore it."""
    if state_file.exists():
        put_aside(state_file, state_file.with_name(state_file.name + _REPLACED_SUFFIX))


def put_aside(file: Path, aside: Path) -> Path:
    return file.replace(aside)


def keep_copy(folder: Folder, content: bytes) -> None:
    """Keeps a state that was read whole; there is none to keep where it is empty."""
    if content.strip():
        folder.write(folder.state_copy, content.decode())


def deletions(told: Iterable[Event]) -> frozenset[str]:
    """Returns the addresses of what an apply has deleted, the first half of a replacement included."""
    return frozenset(
        each.address
        for each in told
        if isinstance(each, ApplyHook) and each.phase is Phase.COMPLETED and each.action == "delete"
    )


def without(content: bytes, addresses: Collection[str]) -> bytes:
    """Returns a state of format 4 without the objects at some addresses."""
    if not addresses:
        return content
    document = load_json(content)
    for resource in document.get("resources", []):
        if resource.get("mode") == "managed":
            resource["instances"] = [
                each for each in resource.get("instances", []) if _address(resource, each) not in addresses
            ]
    document["resources"] = [each for each in document.get("resources", []) if each.get("instances")]
    return json.dumps(document, indent=2).encode() + b"\n"


def _address(resource: Any, instance: Any) -> str:
    module = f"{resource['module']}." if resource.get("module") else ""
    key = instance.get("index_key")
    index = "" if key is None else f"[{json.dumps(key, ensure_ascii=False)}]"
    return f"{module}{resource.get('type')}.{resource.get('name')}{index}"


def _copies(folder: Folder, state_file: Path) -> list[Copy]:
    found = []
    for path in (folder.state_copy, state_file.with_name(state_file.name + ".backup")):
        content = _read(path)
        try:
            state = _state(content) if content else None
        except OtherFormat:
            continue
        if content and state is not None and state.lineage:
            found.append(Copy(path, content, state))
    return found


def _worth(copy: Copy, before: LastState | None) -> tuple[bool, int]:
    return before is None or not before.lineage or copy.state.lineage == before.lineage, copy.state.serial


def _is_better(copy: Copy, state: PriorState | None, found: Condition) -> bool:
    if found is Condition.OLDER:
        assert state is not None
        is_same = copy.state.lineage == state.lineage
        return is_same and (copy.state.serial, len(copy.state.resources)) > (state.serial, len(state.resources))
    return bool(copy.state.resources) or found is Condition.UNREADABLE


def _state(content: bytes) -> PriorState | None:
    """Returns None for one that is torn; raises `OtherFormat`."""
    try:
        return read_prior(content)
    except OtherFormat:
        raise
    except UnreadableState:
        return None


def _read(path: Path) -> bytes | None:
    """Returns None where there is none. Of one that is too large, as much as tells so."""
    try:
        return read_regular(path, MOST_OUTPUT_BYTES + 1)
    except OSError:
        return None
