"""A rollout as a secret of a cluster (or a bucket, or a folder), and back.

    wb-rollout-ID-DIGEST     type workbench.konfig.io/rollout.v1; its data:
        about                JSON: format, repository, id, fence, size and digest of the records
        records              one line of JSON a record (`workbench.engine.rollout.records`), compressed

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
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from kcl.bounds import MOST_BYTES
from runtimes.base import StoredSecret
from runtimes.base.documents import load_json
from workbench.engine.errors import ReleaseFailure
from workbench.engine.rollout.progress import Progress, progress
from workbench.engine.rollout.records import decode, encode
from workbench.engine.rollout.values import Began, Record
from workbench.release.encoding import BrokenRecord
from workbench.release.packing import PIECE_BYTES, repository_label, unpacked

TYPE: Final = "workbench.konfig.io/rollout.v1"
REPOSITORY: Final = "rollouts.workbench.konfig.io/repository"
ID: Final = "rollouts.workbench.konfig.io/id"
ID_FORM: Final = re.compile(r"r-[0-9a-f]{8}")
MOST_BEGAN_BYTES: Final = PIECE_BYTES // 2
"""Of the record that a rollout begins with: the rest is room for what happens to it."""

_FORMAT = 1
_ABOUT, _RECORDS = "about", "records"
_NAME = re.compile(r"wb-rollout-(r-[0-9a-f]{8})-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class StoredRollout:
    """A rollout as it was found. `load` returns its records; raises `BrokenRecord`."""

    id: str
    version: str
    where: str
    fence: int
    load: Callable[[], tuple[Record, ...]] = field(repr=False, compare=False)

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
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    return StoredSecret(
        namespace,
        name(repository, began.id),
        TYPE,
        labels(repository, began.id),
        {_ABOUT: json.dumps(about).encode(), _RECORDS: data},
        {
            "rollouts.workbench.konfig.io/repository": repository,
            "rollouts.workbench.konfig.io/by": f"{began.user}@{began.host}",
        },
        version,
    )


def unpack(secret: StoredSecret, repository: str) -> StoredRollout | None:
    """Returns None for what is no rollout of this repository; a broken one says so when it is loaded."""
    named = _NAME.fullmatch(secret.name)
    id_ = secret.labels.get(ID, "") if secret.labels else (named[1] if named else "")
    if not ID_FORM.fullmatch(id_) or (not secret.labels and secret.name != name(repository, id_)):
        return None
    where = f"{secret.namespace}/{secret.name}"
    try:
        about = _about(secret)
    except BrokenRecord as error:
        return StoredRollout(id_, secret.version, where, 0, partial(_fail, str(error)))
    if about["repository"] != repository:
        return None
    load = partial(_load, secret, about, repository, id_)
    return StoredRollout(id_, secret.version, where, about["fence"], load)


def _fail(why: str) -> tuple[Record, ...]:
    raise BrokenRecord(why)


def _about(secret: StoredSecret) -> dict[str, Any]:
    if secret.unreadable:
        raise BrokenRecord(f"cannot be read: {secret.unreadable}")
    if secret.type != TYPE:
        raise BrokenRecord(f"is of the type {secret.type[:60]!r}: this version reads {TYPE}")
    try:
        about = load_json(secret.data[_ABOUT])
        if about["format"] != _FORMAT:
            raise BrokenRecord(f"has format {str(about['format'])[:20]}, this version reads {_FORMAT}")
        if not isinstance(about["repository"], str) or not isinstance(about["id"], str):
            raise BrokenRecord("is not the record of a rollout")
        if type(about["fence"]) is not int or type(about["size"]) is not int:
            raise BrokenRecord("is not the record of a rollout")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, BrokenRecord):
            raise
        raise BrokenRecord("is not the record of a rollout") from None
    return dict(about)


def _load(secret: StoredSecret, about: dict[str, Any], repository: str, id_: str) -> tuple[Record, ...]:
    if secret.name != name(repository, id_) or about["id"] != id_:
        raise BrokenRecord("is a copy: the record of this rollout has another name")
    data = secret.data.get(_RECORDS, b"")
    if len(data) != about["size"] or hashlib.sha256(data).hexdigest() != about.get("sha256"):
        raise BrokenRecord("does not match its checksum")
    return tuple(decoded(unpacked(data)))


def decoded(text: bytes) -> Iterable[Record]:
    """Yields the records of whole lines; raises `BrokenRecord`. Half a line at the end was reported to nobody."""
    *lines, _torn = text.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            yield decode(load_json(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise BrokenRecord(f"has no record of a rollout in line {number}, or one of a newer version") from None
