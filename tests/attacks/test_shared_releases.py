"""Whoever may write secrets in the namespace of the releases: what they write is told, and never obeyed.

A record that cannot be believed is no record, and it is not "no release" either. One that is well formed and lies has
nothing deleted that does not carry the stack's labels itself.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import Address, KubernetesId, RuntimeType, StoredSecret
from tests.workbench.release.places import released as released_as
from tests.workbench.session.machines import NAMESPACE, REPOSITORY, Machines, machines, released
from workbench.cli.output import Output
from workbench.engine.errors import ReleaseFailure
from workbench.engine.events import Action
from workbench.engine.release import Phase, Release, ReleasedResource, StepState
from workbench.present.rows import Column, Row
from workbench.present.text import line
from workbench.project import ProjectName, StackName, StackPath
from workbench.release.encoding import decode
from workbench.release.history import Asked, merged
from workbench.release.packing import Place, pack, unpack

STACK = StackPath(ProjectName("web"), StackName("dev"))
Body = dict[str, Any]


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Machines]:
    async with machines(tmp_path, clusters=2) as found:
        ann = found.session("ann")
        await released(ann, ann.select("web/dev"))
        yield found


def data(secret: Body) -> dict[str, bytes]:
    return {name: base64.b64decode(text) for name, text in secret["data"].items()}


def with_record(secret: Body, packed: bytes) -> Body:
    """Puts other content in, with all the checksums of the packing right."""
    digest = hashlib.sha256(packed).hexdigest()
    about = json.loads(data(secret)["about"])
    about |= {"size": len(packed), "sha256": digest, "pieces": [{"name": secret["metadata"]["name"], "sha256": digest}]}
    return with_about(secret, about, packed)


def with_about(secret: Body, about: Any, packed: bytes | None = None) -> Body:
    text = about if isinstance(about, bytes) else json.dumps(about).encode()
    kept = data(secret)["record"] if packed is None else packed
    encoded = {"about": base64.b64encode(text).decode(), "record": base64.b64encode(kept).decode()}
    return {**secret, "data": encoded}


def about_of(secret: Body, **changes: Any) -> Body:
    return with_about(secret, json.loads(data(secret)["about"]) | changes)


def edited(secret: Body, change: Callable[[Body], None], *, honest: bool = False) -> Body:
    record = json.loads(gzip.decompress(data(secret)["record"]))
    change(record["release"])
    if honest:
        text = json.dumps(record["release"], sort_keys=True, separators=(",", ":"))
        record["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    return with_record(secret, gzip.compress(json.dumps(record).encode()))


def labelled(secret: Body, **labels: str) -> Body:
    prefix = "releases.workbench.konfig.io/"
    found = {**secret["metadata"]["labels"], **{prefix + name: text for name, text in labels.items()}}
    return {**secret, "metadata": {**secret["metadata"], "labels": found}}


def piece(name: str, sha256: str = "0" * 64) -> Body:
    return {"name": name, "sha256": sha256}


RUINS: dict[str, Callable[[Body], Body]] = {
    "a bomb of zeros": lambda each: with_record(each, gzip.compress(b"\0" * 40_000_000, compresslevel=1)),
    "a bomb of brackets": lambda each: with_record(each, gzip.compress(b"[" * 4_000_000)),
    "a bomb of digits": lambda each: with_record(each, gzip.compress(b'{"format": ' + b"9" * 4_000_000 + b"}")),
    "a flipped bit": lambda each: with_about(
        each, json.loads(data(each)["about"]), bytes([data(each)["record"][0] ^ 1]) + data(each)["record"][1:]
    ),
    "half a record": lambda each: with_record(each, data(each)["record"][:-40]),
    "no record": lambda each: with_record(each, b""),
    "not compressed": lambda each: with_record(each, gzip.decompress(data(each)["record"])),
    "an edit": lambda each: edited(each, lambda release: release["resources"].clear()),
    "an edit of the revision": lambda each: edited(each, lambda release: release.update(revision=9), honest=True),
    "an edit of the stack": lambda each: edited(each, lambda release: release.update(stack="web/prod"), honest=True),
    "a short salt": lambda each: edited(each, lambda release: release.update(salt="00" * 8), honest=True),
    "an id that is none": lambda each: edited(
        each, lambda release: release["resources"][0].update(id="../../etc"), honest=True
    ),
    "no revision among its labels": lambda each: labelled(each, revision="two"),
    "the label of a piece": lambda each: labelled(each, part="piece"),
    "a newer packing": lambda each: about_of(each, format=2),
    "a newer record": lambda each: with_record(
        each, gzip.compress(gzip.decompress(data(each)["record"]).replace(b'"format":1', b'"format":2', 1))
    ),
    "another type": lambda each: {**each, "type": "workbench.konfig.io/release.v2"},
    "about that is no JSON": lambda each: with_about(each, b"\xff\xfe{"),
    "about that is deep": lambda each: with_about(each, b"[" * 400_000),
    "about that is a list": lambda each: with_about(each, []),
    "about that is null": lambda each: with_about(each, b"null"),
    "a piece less": lambda each: about_of(each, pieces=[]),
    "pieces that are a number": lambda each: about_of(each, pieces=7),
    "a million pieces": lambda each: about_of(each, pieces=[piece("x")] * 10_000),
    "a piece elsewhere": lambda each: about_of(each, pieces=[piece(each["metadata"]["name"]), piece("../../x")]),
    "a piece that is another secret": lambda each: about_of(
        each, pieces=[*json.loads(data(each)["about"])["pieces"], piece("default-token")]
    ),
    "a size below none": lambda each: about_of(each, size=-1),
    "a size beyond all": lambda each: about_of(each, size=10**12),
    "a size that is none": lambda each: about_of(each, size="many"),
    "a repository in colours": lambda each: about_of(each, repository="\x1b[31mred"),
    "data of another kind": lambda each: {**each, "data": {"password": "aGk="}},
    "no data": lambda each: {**each, "data": {}},
}


def answered(*secrets: Body) -> Asked:
    """What a cluster with these secrets answers to whoever asks for the records of the stack."""
    stored = [
        StoredSecret(
            NAMESPACE,
            each["metadata"]["name"],
            each["type"],
            each["metadata"]["labels"],
            data(each),
            each["metadata"]["annotations"],
            "7",
        )
        for each in secrets
    ]
    return Asked("hz", {"hz": unpack(stored, Place(NAMESPACE, STACK, REPOSITORY))})


def kept(revision: int) -> Body:
    """The secret of a release as an apply writes it."""
    id_ = KubernetesId("v1", "ConfigMap", "web-dev", "front")
    resource = ReleasedResource(Address("hz", id_), RuntimeType.KUBERNETES, Action.CREATE, StepState.DONE, "uid", {})
    release = released_as(revision, Phase.SUCCEEDED, [resource], stack=str(STACK), salt=b"s" * 32)
    (head,) = pack(release, Place(NAMESPACE, STACK, REPOSITORY))
    return body_of(head)


@pytest.mark.parametrize("ruin", RUINS)
def test_a_ruined_record_is_neither_believed_nor_taken_for_none(ruin: str) -> None:
    with pytest.raises(ReleaseFailure, match="passed over") as told:
        merged(answered(RUINS[ruin](kept(1))), REPOSITORY, None, 1)
    assert kept(1)["metadata"]["name"] in str(told.value) and str(told.value).isprintable()


@pytest.mark.parametrize("ruin", RUINS)
def test_of_a_ruined_last_record_the_one_before_is_used_and_its_number_never_again(ruin: str) -> None:
    history = merged(answered(kept(1), RUINS[ruin](kept(2))), REPOSITORY, None, 1)
    assert history.latest is not None
    assert (history.latest.revision, history.next_revision) == (1, 3)
    assert any(kept(2)["metadata"]["name"] in each for each in history.latest.warnings)
    assert [each.revision for each in history.releases()] == [1]
    assert history.recorded() == (2, 1), "a comparison of the last two is not one of others"
    with pytest.raises(ReleaseFailure, match="there is no release 2 that can be read"):
        history.find(2, str(STACK))
    with pytest.raises(ReleaseFailure, match="release 2 is newer than 1 and can't be read") as told:
        history.rollback_target(str(STACK))
    assert "--to" in told.value.hint


@pytest.mark.parametrize("ruin", ["a bomb of zeros", "an edit"])
async def test_no_plan_is_made_where_no_record_can_be_believed(fleet: Machines, ruin: str) -> None:
    (secret,) = fleet.secrets()
    plant(fleet, RUINS[ruin](secret))
    ben = fleet.session("ben")
    stack = ben.select("web/dev")
    with pytest.raises(ReleaseFailure, match="passed over"):
        await ben.plan(stack)
    with pytest.raises(ReleaseFailure, match="passed over"):
        await ben.plan_destroy(stack)
    assert any("release records are not used" in each for each in (await ben.diff(stack)).warnings)


STRANGERS: dict[str, Callable[[Body], Body]] = {
    "a copy": lambda each: named(each, "copy"),
    "a copy of a later revision": lambda each: labelled(named(each, "copy"), revision="900"),
    "a revision that is a path": lambda each: labelled(named(each, "x"), revision="1..-etc"),
    "no revision": lambda each: labelled(named(each, "x"), revision=""),
    "revision 0": lambda each: labelled(named(each, "x"), revision="0"),
    "a revision beyond all": lambda each: labelled(named(each, "x"), revision="9" * 60),
    "a piece of nothing": lambda each: labelled(named(each, each["metadata"]["name"] + "-0-1"), part="piece"),
    "another repository": lambda each: about_of(
        labelled(named(each, "x"), revision="77"), repository="evil.example.org/x"
    ),
    "no record at all": lambda each: {**named(each, "x"), "data": {}, "type": "Opaque"},
}


def named(secret: Body, name: str) -> Body:
    kept = {key: secret["metadata"][key] for key in ("namespace", "labels", "annotations")}
    return {**secret, "metadata": {**kept, "name": name}}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_strangers_among_the_records_change_nothing_of_what_is_known(stranger: str) -> None:
    history = merged(answered(kept(1), STRANGERS[stranger](kept(1))), REPOSITORY, None, 1)
    assert history.latest is not None and history.latest.revision == 1
    assert [each.revision for each in history.releases()] == [1]
    assert not history.gaps and not history.problems


def test_the_last_number_there_is_taken_by_somebody_is_said() -> None:
    history = merged(answered(kept(1), labelled(kept(999_999_999))), REPOSITORY, None, 1)
    with pytest.raises(ReleaseFailure, match="no release number 1000000000"):
        kept(history.next_revision)


async def test_strangers_are_passed_over_by_a_plan_and_left_by_an_apply(fleet: Machines) -> None:
    (secret,) = fleet.secrets()
    for number, change in enumerate(STRANGERS.values()):
        stranger = change(secret)
        fleet.sandbox.clusters[0].create("secrets", NAMESPACE, named(stranger, f"stranger-{number}"))
    ben = fleet.session("ben")
    plan = await ben.plan(ben.select("web/dev"))
    assert plan.prior == 1 and plan.is_empty and not plan.gaps
    fleet.edit("ben", "web/dev/main.k", "replicas = 1", "replicas = 2")
    await released(ben, ben.select("web/dev"))
    assert len(fleet.secrets()) == 2 + len(STRANGERS)


async def test_a_record_that_lies_has_nothing_deleted_that_is_not_the_stacks(fleet: Machines) -> None:
    api = fleet.sandbox.clusters[0]
    victim = api.create("configmaps", "kube-system", {"metadata": {"name": "victim"}, "data": {"a": "b"}})
    id_ = KubernetesId("v1", "ConfigMap", "kube-system", "victim")
    claimed = ReleasedResource(
        Address("hz", id_),
        RuntimeType.KUBERNETES,
        Action.CREATE,
        StepState.DONE,
        victim["metadata"]["uid"],
        {"data": {}},
    )
    forge(fleet, lambda latest: replace(latest, revision=2, resources={**latest.resources, claimed.address: claimed}))
    ben = fleet.session("ben")
    plan = await ben.plan(ben.select("web/dev"))
    assert plan.prior == 2 and not any(each.action is Action.DELETE for each in plan.changes)
    assert [each.subject for each in plan.gaps] == [id_]
    gone = await ben.plan_destroy(ben.select("web/dev"))
    assert id_ not in {each.address.id for each in gone.changes}


async def test_what_a_record_says_of_itself_moves_no_terminal(fleet: Machines) -> None:
    evil = "\x1b]0;pwned\x07\x1b[2J"
    forge(fleet, lambda latest: replace(latest, revision=2, user=evil, host=evil, plan=evil))
    ben = fleet.session("ben")
    (newest, *_) = (await ben.history(ben.select("web/dev"))).releases()
    stdout = io.StringIO()
    Output(stdout=stdout, stderr=io.StringIO()).table(
        (Column("By"),), [Row(1, (line(f"{newest.user}@{newest.host} {newest.plan}"),))]
    )
    assert newest.user == evil and "\x1b" not in stdout.getvalue() and "pwned" in stdout.getvalue()


def forge(fleet: Machines, change: Callable[[Release], Release]) -> None:
    """Writes a well-formed record of the stack, as who may write secrets there can."""
    latest = decode(gzip.decompress(data(fleet.secrets()[0])["record"]))
    (head,) = pack(change(latest), Place(NAMESPACE, STACK, REPOSITORY))
    fleet.sandbox.clusters[0].create("secrets", NAMESPACE, body_of(head))


def body_of(secret: StoredSecret) -> Body:
    named_as = {"name": secret.name, "namespace": secret.namespace}
    return {
        "metadata": {**named_as, "labels": dict(secret.labels), "annotations": dict(secret.annotations)},
        "type": secret.type,
        "data": {name: base64.b64encode(each).decode() for name, each in secret.data.items()},
    }


def plant(fleet: Machines, secret: Body) -> None:
    """Puts a secret in the place of one of its name: its type can't be changed in place."""
    api, name = fleet.sandbox.clusters[0], secret["metadata"]["name"]
    api.delete("secrets", NAMESPACE, name)
    api.create("secrets", NAMESPACE, named(secret, name))
