"""A release as secrets of a cluster, and back.

    NAME                 type workbench.konfig.io/release.v1; its data:
        about            JSON: format, repository, home, size, and for every piece its name and digest
        record           the first piece
    NAME-DIGEST-1 ...    the further pieces, where the record is larger than one secret may be

The pieces together are the record (`encoding`), compressed. Further pieces are written before the secret that names
them, under names that have the digest of the whole: replacing that one secret replaces the record, and a write that was
torn leaves the former one as it was.

What is read was written by whoever may write secrets there. So nothing of it is believed that can be checked: names,
labels, sizes, digests; and nothing is unpacked beyond what a record may have.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from kcl.records import dataclass
from runtimes.base import StoredSecret
from runtimes.base.documents import load_json
from workbench.engine.errors import ReleaseFailure
from workbench.engine.placement import label_value
from workbench.engine.release import Release
from workbench.project import ProjectName, StackName, StackPath
from workbench.release.contract import Entry
from workbench.release.encoding import MOST_RECORD_BYTES, BrokenRecord, decode, encode, still_to_come

TYPE: Final = "workbench.konfig.io/release.v1"
PIECE_TYPE: Final = "workbench.konfig.io/release-piece.v1"
PROJECT: Final = "releases.workbench.konfig.io/project"
STACK: Final = "releases.workbench.konfig.io/stack"
REVISION: Final = "releases.workbench.konfig.io/revision"
REPOSITORY: Final = "releases.workbench.konfig.io/repository"
PART: Final = "releases.workbench.konfig.io/part"
"""`whole`, `cluster` for what one cluster has of a release, or `piece`."""

STACK_NAMES: Final = "wb-release-"
"""What the names begin with that `stack_name` gives."""
PIECE_BYTES: Final = 700_000  # as base64 a request stays below 1 MiB, which some servers in between refuse beyond
MOST_PIECES: Final = 64
_FORMAT = 1
_REVISION = re.compile(r"[1-9]\d{0,8}")
ABOUT: Final = "about"
_RECORD: Final = "record"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the records of a stack lie in a cluster, and whose they are. `repository` is never empty."""

    namespace: str
    stack: StackPath
    repository: str

    @property
    def selector(self) -> dict[str, str]:
        """The labels of all records of stacks of this name, of whatever repository."""
        return {PROJECT: label_value(self.stack.project), STACK: label_value(self.stack.stack)}

    def name(self, revision: int) -> str:
        return f"{stack_name(self.stack, self.repository)}-{revision}"


def stack_name(stack: StackPath, repository: str = "") -> str:
    """Returns a name for what is kept of a stack that no other stack, of that repository, has."""
    digest = hashlib.sha256("\0".join((stack.project, stack.stack, repository)).encode()).hexdigest()[:12]
    readable = re.sub(r"[^a-z0-9]+", "-", f"{stack.project}-{stack.stack}".lower()).strip("-")[:80].strip("-")
    return f"{STACK_NAMES}{readable or 'x'}-{digest}"


def pack(release: Release, place: Place, *, home: str = "", version: str = "") -> tuple[StoredSecret, ...]:
    """Returns the secrets of a release, in the order in which they are to be written: the one that counts is last.

    `version` is of the one to be replaced. Raises `ReleaseFailure` for one that is too large ever to be read again.
    """
    if not _REVISION.fullmatch(str(release.revision)):
        raise ReleaseFailure(
            f"there is no release number {release.revision}",
            where=f"namespace {place.namespace}",
            hint="somebody wrote a record with the last number there is: delete that record",
        )
    record = encode(release, indent=None)
    size = len(record) + still_to_come(release)  # what can't be written when it ends must not begin
    data = gzip.compress(record, mtime=0)
    if size > MOST_RECORD_BYTES or len(data) > PIECE_BYTES * MOST_PIECES:
        raise ReleaseFailure(
            f"its record is too large: {size} bytes, and {MOST_RECORD_BYTES} may be read",
            where=str(place.stack),
            hint="split the stack",
        )
    name, digest = place.name(release.revision), hashlib.sha256(data).hexdigest()
    pieces = [data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES)]
    names = [name, *(f"{name}-{digest[:16]}-{number}" for number in range(1, len(pieces)))]
    about = {
        "format": _FORMAT,
        "repository": place.repository,
        "home": home,
        "size": len(data),
        "sha256": digest,
        "pieces": [
            {"name": each, "sha256": hashlib.sha256(piece).hexdigest()}
            for each, piece in zip(names, pieces, strict=True)
        ],
    }
    labels = {
        **place.selector,
        REVISION: str(release.revision),
        REPOSITORY: repository_label(place.repository),
    }
    further = tuple(
        StoredSecret(place.namespace, each, PIECE_TYPE, {**labels, PART: "piece"}, {_RECORD: piece})
        for each, piece in zip(names[1:], pieces[1:], strict=True)
    )
    head = StoredSecret(
        place.namespace,
        name,
        TYPE,
        {**labels, PART: "cluster" if home else "whole"},
        {ABOUT: json.dumps(about).encode(), _RECORD: pieces[0]},
        {
            "releases.workbench.konfig.io/repository": place.repository,
            "releases.workbench.konfig.io/phase": release.phase.value,
            "releases.workbench.konfig.io/by": f"{release.user}@{release.host}",
        },
        version,
    )
    return (*further, head)


def unpack(secrets: Sequence[StoredSecret], place: Place) -> list[Entry]:
    """Returns the records among secrets with the labels of the stack, newest first; broken ones say so when loaded.

    Secrets that carry the labels and are no record of any revision are no entries: somebody else's.
    """
    by_name = {each.name: each for each in secrets}
    found = [entry for each in secrets if (entry := _entry(each, by_name, place)) is not None]
    return sorted(found, key=lambda each: each.revision, reverse=True)


def pieces_of(secrets: Sequence[StoredSecret], revisions: frozenset[int], place: Place) -> list[StoredSecret]:
    """Returns the further pieces of these revisions that this repository made."""
    names = {place.name(each) for each in revisions}
    return [each for each in secrets if each.labels.get(PART) == "piece" and each.name.rsplit("-", 2)[0] in names]


def repository_label(repository: str) -> str:
    return hashlib.sha256(repository.encode()).hexdigest()[:16]


def stacks_of(labels: Iterable[Mapping[str, str]], repository: str) -> frozenset[StackPath]:
    """Returns the stacks that records with these labels are of: one whose name a label can't hold by what it has."""
    return frozenset(
        StackPath(ProjectName(each[PROJECT]), StackName(each[STACK]))
        for each in labels
        if {PROJECT, STACK, REVISION} <= each.keys() and each.get(REPOSITORY) == repository_label(repository)
    )


def labelled(stack: StackPath) -> StackPath:
    """Returns a stack by the names that the labels of its records have."""
    return StackPath(ProjectName(label_value(stack.project)), StackName(label_value(stack.stack)))


def _entry(secret: StoredSecret, by_name: Mapping[str, StoredSecret], place: Place) -> Entry | None:
    named, where = _named_revision(secret, place), f"{secret.namespace}/{secret.name}"
    label = secret.labels.get(REVISION, "") if secret.labels else named
    if not _REVISION.fullmatch(label) or secret.labels.get(PART) == "piece":
        if not named:
            return None  # a piece of a record, or somebody else's
        edited = "has been edited: its labels are not those of the record that it is called"
        return Entry(int(named), secret.version, where, partial(_fail, edited), place.repository)
    revision = int(label)
    try:
        about = _about(secret)
    except BrokenRecord as error:
        # whose it is can only be told by its label then
        own = not secret.labels or secret.labels.get(REPOSITORY) == repository_label(place.repository)
        return Entry(revision, secret.version, where, partial(_fail, str(error)), place.repository if own else "?")
    return Entry(
        revision,
        secret.version,
        where,
        partial(_load, secret, about, by_name, place, revision),
        about["repository"],
        about["home"],
    )


def _named_revision(secret: StoredSecret, place: Place) -> str:
    """Returns the revision that the name of a record says, where it is this repository's; else nothing."""
    revision = secret.name.rpartition("-")[2]
    return revision if _REVISION.fullmatch(revision) and secret.name == place.name(int(revision)) else ""


def _fail(why: str) -> Release:
    raise BrokenRecord(why)


def load_about(secret: StoredSecret, type_: str) -> Any:
    """Returns the description in a record of this type; raises `BrokenRecord`, and `KeyError` or `ValueError`."""
    if secret.unreadable:
        raise BrokenRecord(f"cannot be read: {secret.unreadable}")
    if secret.type != type_:
        raise BrokenRecord(f"is of the type {secret.type[:60]!r}: this version reads {type_}")
    return load_json(secret.data[ABOUT])


def _about(secret: StoredSecret) -> dict[str, Any]:
    try:
        about = load_about(secret, TYPE)
        if about["format"] != _FORMAT:
            raise BrokenRecord(f"has format {str(about['format'])[:20]}, this version reads {_FORMAT}")
        texts = (about["repository"], about["home"], about["sha256"])
        if not all(isinstance(each, str) and (each.isprintable() or not each) for each in texts):
            raise BrokenRecord("is not a release record")
        pieces = about["pieces"]
        if not 0 < len(pieces) <= MOST_PIECES or not 0 < int(about["size"]) <= PIECE_BYTES * MOST_PIECES:
            raise BrokenRecord("is not a release record: it has an impossible size")
        if not all(isinstance(each["name"], str) and isinstance(each["sha256"], str) for each in pieces):
            raise BrokenRecord("is not a release record")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, BrokenRecord):
            raise
        raise BrokenRecord("is not a release record") from None
    return dict(about)


def _load(
    secret: StoredSecret, about: dict[str, Any], by_name: Mapping[str, StoredSecret], place: Place, revision: int
) -> Release:
    own = Place(place.namespace, place.stack, about["repository"])
    if secret.name != own.name(revision):
        raise BrokenRecord("is a copy: a record of this revision has another name")
    release = decode(unpacked(_joined(secret, about, by_name)))
    if release.stack != str(place.stack) or release.revision != revision:
        raise BrokenRecord(f"is of release {release.revision} of another stack or revision than it says")
    return release


def _joined(secret: StoredSecret, about: dict[str, Any], by_name: Mapping[str, StoredSecret]) -> bytes:
    joined: list[bytes] = []
    for number, each in enumerate(about["pieces"]):
        piece = secret if number == 0 else by_name.get(each["name"])
        if piece is None or piece.labels.get(REPOSITORY) != secret.labels.get(REPOSITORY):
            raise BrokenRecord(f"lacks piece {number + 1} of {len(about['pieces'])}")
        data = piece.data.get(_RECORD, b"")
        if hashlib.sha256(data).hexdigest() != each["sha256"]:
            raise BrokenRecord(f"does not match its checksum (piece {number + 1} of {len(about['pieces'])})")
        joined.append(data)
    whole = b"".join(joined)
    if len(whole) != about["size"] or hashlib.sha256(whole).hexdigest() != about["sha256"]:
        raise BrokenRecord("does not match its checksum")
    return whole


def unpacked(data: bytes) -> bytes:
    """Unpacks no more than a record may have, whatever the data claim to be."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        record = unpacker.decompress(data, MOST_RECORD_BYTES + 1)
    except zlib.error:
        raise BrokenRecord("is not compressed as records are") from None
    if len(record) > MOST_RECORD_BYTES:
        raise BrokenRecord(f"unpacks to more than {MOST_RECORD_BYTES} bytes")
    if not unpacker.eof:
        raise BrokenRecord("ends in the middle")
    return record
