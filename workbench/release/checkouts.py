"""Which checkout the records in a state folder belong to, and what others on this machine have of a stack.

STATE/releases/REPOSITORY/checkout.json    the folder that the repository was released from

The name of a repository's folder has a digest of its path: two checkouts keep apart, as their stacks may go to
different clusters. One that was moved has another name by that, and no records. They are found again here by project
and stack, and taken over when its user says so: which of two checkouts is the right one can't be told by a program.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from kcl.records import dataclass
from kcl.regular import read_regular
from runtimes.base import TerraformId
from runtimes.base.documents import load_json
from workbench.engine.errors import ReleaseFailure
from workbench.release.encoding import BrokenRecord, decode
from workbench.release.files import failure, write_atomically

_FOLDERS = ("releases", "terraform", "recoveries")
_FILE = "checkout.json"


@dataclass(frozen=True, slots=True)
class Records:
    """What another checkout has of a stack. `root` is None where it was never written down.

    `objects` counts what its last release left in clusters, `resources` what its Terraform state has; -1 for what can't
    be read.
    """

    name: str
    root: Path | None
    objects: int
    resources: int

    @property
    def is_orphaned(self) -> bool:
        """The checkout is not there any more: moved or removed."""
        return self.root is not None and not self.root.is_dir()

    def __str__(self) -> str:
        where = str(self.root) if self.root is not None else f"another folder (recorded as {self.name})"
        gone = ", which is gone," if self.is_orphaned else ""
        objects = "a release that can't be read" if self.objects < 0 else f"{self.objects} released objects"
        state = (
            "a Terraform state that can't be read" if self.resources < 0 else f"{self.resources} Terraform resources"
        )
        return f"the checkout in {where}{gone} has {objects} and {state} of it"

    @property
    def hint(self) -> str:
        if self.root is None:
            return "if this repository was moved: wb release move FORMER_FOLDER takes its records over"
        if self.is_orphaned:
            return f"if it was moved here: wb release move {self.root}"
        return f"go on in {self.root}"


def write_down(folder: Path, root: Path) -> None:
    """Writes down whose records a folder holds; raises `ReleaseFailure`."""
    if not (folder / _FILE).exists():
        write_atomically(folder / _FILE, json.dumps({"root": str(root)}).encode())


def others(state_dir: Path, own: str, stack_folder: Path) -> Iterator[Records]:
    """Yields what other checkouts have of a stack; `stack_folder` is its folder below that of a repository."""
    names = {each.name for kind in ("releases", "terraform") for each in _folders(state_dir / kind)}
    for name in sorted(names - {own}):
        releases = state_dir / "releases" / name
        objects = _released(releases / stack_folder)
        resources = state_resources(state_dir / "terraform" / name / stack_folder / "terraform.tfstate")
        if objects or resources:
            yield Records(name, _root(releases), objects, resources)


def state_resources(path: Path) -> int:
    """Counts what a local state holds; 0 without one, -1 for one that can't be read."""
    try:
        content = load_json(read_regular(path))
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except (OSError, ValueError):
        return -1
    resources = content.get("resources") if isinstance(content, dict) else None
    return len(resources) if isinstance(resources, list) else -1


def take_over(state_dir: Path, former: str, own: str, root: Path) -> tuple[str, ...]:
    """Gives the records of a former checkout to this one; returns which stacks, as `project/stack` of their folders.

    Raises `ReleaseFailure`, having moved nothing, where there are none, or where both have records of one stack.
    """
    moves = [move for kind in _FOLDERS for move in _moves(state_dir / kind / former, state_dir / kind / own)]
    if not moves:
        raise ReleaseFailure(
            "there are no records of that checkout",
            where=str(state_dir),
            hint="name the folder that the repository was in, as it was written then",
        )
    taken = next((target for _, target in moves if target.exists()), None)
    if taken is not None:
        raise ReleaseFailure(
            "both checkouts have records of a stack", where=str(taken), hint="move one of the two folders away"
        )
    for source, target in moves:
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            source.rename(target)
        except OSError as error:
            raise failure("cannot be moved", source, error) from error
    write_atomically(state_dir / "releases" / own / _FILE, json.dumps({"root": str(root)}).encode())
    return tuple(sorted({f"{target.parent.name}/{target.name}" for _, target in moves if target.is_dir()}))


def _moves(former: Path, own: Path) -> Iterator[tuple[Path, Path]]:
    """Yields what is to be moved: the folder of each stack, and files that lie at the top."""
    for entry in _entries(former):
        if not entry.is_dir():
            if entry.name != _FILE:
                yield entry, own / entry.name
            continue
        for stack in _entries(entry):
            yield stack, own / entry.name / stack.name


def _released(folder: Path) -> int:
    """Counts the objects in clusters of the last release."""
    records = [each for each in _entries(folder) if each.suffix == ".json" and each.stem.isdecimal()]
    if not records:
        return 0
    try:
        last = decode(read_regular(max(records, key=lambda each: int(each.stem))))
    except (OSError, BrokenRecord):
        return -1
    return sum(not isinstance(each.id, TerraformId) for each in last.resources)


def _root(folder: Path) -> Path | None:
    try:
        return Path(str(load_json(read_regular(folder / _FILE))["root"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _folders(folder: Path) -> list[Path]:
    return [each for each in _entries(folder) if each.is_dir()]
