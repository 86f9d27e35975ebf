"""A rollout as a secret of a cluster (or a bucket, or a folder), and back.

    wb-rollout-ID-DIGEST     type workbench.konfig.io/rollout.v1; its data:
        about                JSON: format, repository, id, fence, how many records, their size and digest
        records              one line of JSON a record (`workbench.engine.rollout.records`), compressed
    wb-rollout-ID-DIGEST-copy     the same once more, written after it

Where the first is damaged, gone or set back to an earlier one, the copy tells (`stored`), and that is said. What a
newer version wrote is neither: nothing else is read in its place, nor written over it.

It is replaced as a whole by whoever adds a record, bound to the version that was read: of two that add one at the same
time the second reads again. `fence` is greater for each that carries it out: who finds a greater one than its own has
been replaced. What is read was written by whoever may write there, so nothing of it is believed that can be checked.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from kcl.bounds import MOST_BYTES
from kcl.records import dataclass, field, replace
from runtimes.base import StoredSecret
from runtimes.base.documents import load_json
from workbench.engine.errors import ReleaseFailure
from workbench.engine.rollout.progress import Progress, progress
from workbench.engine.rollout.records import decode, encode
from workbench.engine.rollout.values import Began, Record
from workbench.release.encoding import BrokenRecord
from workbench.release.packing import ABOUT, PIECE_BYTES, load_about, repository_label, unpacked

TYPE: Final = "workbench.konfig.io/rollout.v1"
REPOSITORY: Final = "rollouts.workbench.konfig.io/repository"
ID: Final = "rollouts.workbench.konfig.io/id"
ID_FORM: Final = re.compile(r"r-[0-9a-f]{8}")
MOST_BEGAN_BYTES: Final = PIECE_BYTES // 2
"""Of the record that a rollout begins with: the rest is room for what happens to it."""

_FORMAT = 1
_RECORDS: Final = "records"
_COPY: Final = "-copy"
_NAME = re.compile(r"(wb-rollout-(r-[0-9a-f]{8})-[0-9a-f]{12})(-copy)?")


class NewerRecord(BrokenRecord):
    """It is whole, and a newer version wrote it: nothing else is to be read in its place, nor written over it."""


@dataclass(frozen=True, slots=True)
class StoredRollout:
    """A rollout as it was found. `load` returns its records; raises `BrokenRecord`.

    `version` is that of the record itself, empty where it is gone, and `copied` that of its copy. `damage` says what
    is wrong with the record where the copy is read instead. `is_stray`: it has the labels of a rollout, and not its
    name, which nobody but a person can have done. `is_alien`: it has to be deleted before it can be written again.
    """

    id: str
    version: str
    where: str
    fence: int
    load: Callable[[], tuple[Record, ...]] = field(repr=False, compare=False)
    copied: str = ""
    damage: str = ""
    is_stray: bool = False
    is_alien: bool = False

    def progress(self) -> Progress:
        """Returns where it stands; raises `BrokenRecord`."""
        return stands(self.load(), self.id)


def stands(records: Iterable[Record], id_: str) -> Progress:
    """Returns where a rollout stands by its records; raises `BrokenRecord` where they are not of that one."""
    try:
        found = progress(records)
    except ValueError as error:
        raise BrokenRecord(f"is not the record of one rollout: {error}") from None
    if found.began.id != id_:
        raise BrokenRecord(f"is a copy: its records are of rollout {found.began.id[:40]!r}")
    return found


def labels(repository: str, id_: str = "") -> dict[str, str]:
    """Returns those by which the rollouts of a repository are found, or one of them."""
    return {REPOSITORY: repository_label(repository), **({ID: id_} if id_ else {})}


def name(repository: str, id_: str) -> str:
    return f"wb-rollout-{id_}-{hashlib.sha256(repository.encode()).hexdigest()[:12]}"


def copy_of(secret: StoredSecret, version: str) -> StoredSecret:
    """Returns what stands in for a record that is damaged later; `version` is that of the copy there is."""
    return replace(secret, name=f"{secret.name}{_COPY}", version=version)


def copy_name(repository: str, id_: str) -> str:
    return f"{name(repository, id_)}{_COPY}"


def pack(
    records: tuple[Record, ...], fence: int, *, namespace: str, repository: str, version: str = ""
) -> StoredSecret:
    """Returns the secret of a rollout. Raises `ReleaseFailure` for one that is too large to be kept."""
    began = records[0]
    assert isinstance(began, Began), "a rollout begins with its intent"
    text = b"".join(json.dumps(encode(each), separators=(",", ":")).encode() + b"\n" for each in records)
    data = gzip.compress(text, mtime=0)
    most = MOST_BEGAN_BYTES if len(records) == 1 else PIECE_BYTES
    if len(data) > most or len(text) > MOST_BYTES:
        raise ReleaseFailure(
            f"its record is too large: {len(data)} bytes compressed, and {most} are kept",
            where=f"rollout {began.id}",
            hint="take fewer stacks into one rollout" if len(records) == 1 else "go back with wb rollback STACK",
        )
    about = {
        "format": _FORMAT,
        "repository": repository,
        "id": began.id,
        "fence": fence,
        "count": len(records),
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    return StoredSecret(
        namespace,
        name(repository, began.id),
        TYPE,
        labels(repository, began.id),
        {ABOUT: json.dumps(about).encode(), _RECORDS: data},
        {
            "rollouts.workbench.konfig.io/repository": repository,
            "rollouts.workbench.konfig.io/by": f"{began.user}@{began.host}",
        },
        version,
    )


def stored(secrets: Iterable[StoredSecret], repository: str) -> list[StoredRollout]:
    """Returns the rollouts of a repository among what was found; a broken one says so when it is loaded."""
    own: dict[str, dict[bool, _Read]] = {}
    strays: list[StoredRollout] = []
    for secret in secrets:
        if (named := _NAME.fullmatch(secret.name)) is not None and named[1] == name(repository, named[2]):
            own.setdefault(named[2], {})[bool(named[3])] = _Read.of(secret, repository, named[2])
        elif ID_FORM.fullmatch(id_ := secret.labels.get(ID, "")):
            load = partial(_fail, BrokenRecord("is a copy: the record of this rollout has another name"))
            where = f"{secret.namespace}/{secret.name}"
            strays.append(StoredRollout(id_, secret.version, where, 0, load, is_stray=True))
    return [*(_chosen(id_, found.get(False), found.get(True)) for id_, found in own.items()), *strays]


@dataclass(frozen=True, slots=True)
class _Read:
    """One of the two secrets of a rollout. `count` is how many records it says it has, -1 where it does not say."""

    secret: StoredSecret
    problem: BrokenRecord | None = None
    fence: int = 0
    count: int = -1
    digest: str = ""

    @classmethod
    def of(cls, secret: StoredSecret, repository: str, id_: str) -> _Read:
        try:
            about = _about(secret)
        except BrokenRecord as error:
            return cls(secret, error)
        fence, count, digest = about["fence"], about.get("count"), str(about.get("sha256"))
        problem = None
        try:
            _check(secret, about, repository, id_)
        except BrokenRecord as error:
            problem = error
        return cls(secret, problem, fence, count if type(count) is int else -1, digest)

    def load(self) -> tuple[Record, ...]:
        if self.problem is not None:
            raise self.problem
        return tuple(decoded(unpacked(self.secret.data[_RECORDS])))


def _chosen(id_: str, first: _Read | None, copy: _Read | None) -> StoredRollout:
    """Returns the rollout by what tells more of it: its record, unless that is damaged, gone or an earlier one."""
    damage = _damage(first, copy)
    read = copy if damage and copy is not None and copy.problem is None else first or copy
    assert read is not None, "one of them was found"
    named = (first or read).secret
    return StoredRollout(
        id_,
        first.secret.version if first is not None else "",
        f"{named.namespace}/{named.name.removesuffix(_COPY)}",
        read.fence,
        read.load,
        copied=copy.secret.version if copy is not None else "",
        damage=damage if read is copy and read.problem is None else "",
        is_alien=first is not None and first.secret.type != TYPE and not first.secret.unreadable,
    )


def _damage(first: _Read | None, copy: _Read | None) -> str:
    """Returns what is wrong with a record that its copy can stand in for, empty for nothing."""
    exactly = "what was recorded last may be missing"
    if first is None:
        return f"is gone; {exactly}"
    if isinstance(first.problem, NewerRecord):
        return ""
    if first.problem is not None:
        is_same = copy is not None and first.digest == copy.digest and first.fence == copy.fence
        return f"{first.problem}; {'nothing is missing' if is_same else exactly}"
    is_ahead = copy is not None and first.count >= 0 and (copy.fence, copy.count) > (first.fence, first.count)
    return "was set back to an earlier one; nothing is known to be missing" if is_ahead else ""


def _fail(error: BrokenRecord) -> tuple[Record, ...]:
    raise error


def _about(secret: StoredSecret) -> dict[str, Any]:
    try:
        about = load_about(secret, TYPE)
        if type(about["format"]) is int and about["format"] > _FORMAT:
            raise NewerRecord(f"has format {about['format']:.0f}, this version reads {_FORMAT}")
        if about["format"] != _FORMAT:
            raise BrokenRecord("is not the record of a rollout")
        if not isinstance(about["repository"], str) or not isinstance(about["id"], str):
            raise BrokenRecord("is not the record of a rollout")
        if type(about["fence"]) is not int or type(about["size"]) is not int:
            raise BrokenRecord("is not the record of a rollout")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, BrokenRecord):
            raise
        raise BrokenRecord("is not the record of a rollout") from None
    return dict(about)


def _check(secret: StoredSecret, about: dict[str, Any], repository: str, id_: str) -> None:
    if about["repository"] != repository:
        raise BrokenRecord("says that it is of another repository")
    if about["id"] != id_:
        raise BrokenRecord("is a copy: the record of this rollout has another name")
    data = secret.data.get(_RECORDS, b"")
    if len(data) != about["size"] or hashlib.sha256(data).hexdigest() != about.get("sha256"):
        raise BrokenRecord("does not match its checksum")


def decoded(text: bytes) -> Iterable[Record]:
    """Yields the records of whole lines; raises `BrokenRecord`. Half a line at the end was reported to nobody."""
    *lines, _torn = text.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            yield decode(load_json(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise NewerRecord(f"has no record of a rollout in line {number}, or one of a newer version") from None
