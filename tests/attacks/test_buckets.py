"""A repository that wants releases sent to a bucket of its own: whatever it says, nobody is contacted.

Releases say what runs where, and sealed digests can be guessed at: only the user's environment says who gets them.
"""

from __future__ import annotations

import base64
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.bucket_server import BucketServer
from tests.workbench.session.machines import NAMESPACE, Machines, machines, released
from workbench.bucket_url import BucketUrl
from workbench.project import ProjectError, ProjectName, StackName, StackPath
from workbench.release.packing import stack_name
from workbench.settings import Settings


class Listening:
    """Who is told of a release, if anybody is."""

    def __init__(self) -> None:
        self.calls = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.05)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.url = f"s3://evil/p?endpoint={self.endpoint}&region=us-east-1"

    def _listen(self) -> None:
        while not self._ended.is_set():
            try:
                asking, _ = self._socket.accept()
            except TimeoutError:
                continue
            self.calls += 1
            asking.close()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()


@pytest.fixture
def listening() -> Iterator[Listening]:
    found = Listening()
    yield found
    found.close()


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Machines]:
    async with machines(tmp_path) as found:
        yield found


def _appended(file: str, text: str) -> Callable[[Path, Listening], None]:
    def write(root: Path, evil: Listening) -> None:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        said = text.replace("URL", evil.url).replace("ENDPOINT", evil.endpoint)
        path.write_text((path.read_text() if path.exists() else "") + said)

    return write


def _remote(root: Path, evil: Listening) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "config", "remote.origin.url", evil.url], check=True)


NAMED: dict[str, Callable[[Path, Listening], None]] = {
    "project.yaml": _appended("web/project.yaml", "\nreleases: URL\n"),
    "project.yaml, nested": _appended("web/project.yaml", '\nworkbench: {releases: "URL", WB_RELEASES: "URL"}\n'),
    "stack.yaml": _appended("web/dev/stack.yaml", "\nreleases: URL\n"),
    "clusters.yaml": _appended("clusters.yaml", "\nreleases: URL\n"),
    "clusters.yaml, nested": _appended(
        "clusters.yaml", '\nsettings: {WB_RELEASES: "URL", releases: {bucket: "URL"}}\n'
    ),
    "workbench.yaml": _appended("workbench.yaml", "releases: URL\n"),
    ".env": _appended(".env", "WB_RELEASES=URL\nAWS_ENDPOINT_URL=ENDPOINT\n"),
    ".aws": _appended(".aws/config", "[default]\nendpoint_url = ENDPOINT\nregion = us-east-1\n"),
    "the remote": _remote,
}


@pytest.mark.parametrize("how", NAMED)
async def test_no_file_of_a_repository_sends_anything_to_a_bucket(
    fleet: Machines, listening: Listening, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    root = fleet.root("ann")
    NAMED[how](root, listening)
    monkeypatch.chdir(root)
    assert Settings.load({}).releases_bucket is None
    ann = fleet.session("ann", repository="" if how == "the remote" else "git.example.org/shop/config")
    stack = ann.select("web/dev")
    with suppress(ProjectError):  # a file with an unknown key is refused
        await ann.plan(stack)
    await ann.history(stack)
    assert ann._releases.bucket is None and listening.calls == 0


async def test_no_record_in_a_cluster_sends_anybody_to_a_bucket(fleet: Machines, listening: Listening) -> None:
    ann, ben = fleet.session("ann"), fleet.session("ben")
    await released(ann, ann.select("web/dev"))
    (secret,) = fleet.secrets()
    about = base64.b64decode(secret["data"]["about"]).replace(b'"home": ""', f'"home": "{listening.url}"'.encode())
    patch = {"data": {"about": base64.b64encode(about).decode()}}
    fleet.sandbox.clusters[0].patch("secrets", NAMESPACE, secret["metadata"]["name"], patch, "merge")
    plan = await ben.plan(ben.select("web/dev"))
    assert any(each.place == listening.url for each in plan.gaps), "where it says the rest is, is said and not asked"
    assert listening.calls == 0


@pytest.mark.parametrize(
    "where",
    [
        {"file": "clusters.yaml", "old": "hz: {", "new": '"s3://evil/p": {context: sandbox-2}, hz: {'},
        {"file": "clusters.yaml", "old": "clusters: [hz]", "new": 'clusters: ["s3://evil/p"]'},
    ],
    ids=["known", "placed"],
)
async def test_a_cluster_with_the_name_of_a_bucket_is_none(
    fleet: Machines, listening: Listening, where: dict[str, str]
) -> None:
    named = listening.url
    fleet.edit("ann", where["file"], where["old"], where["new"].replace("s3://evil/p", named))
    ann = fleet.session("ann")
    stack = ann.select("web/dev")
    with suppress(ProjectError):  # no stack goes to a cluster that is not declared
        await ann.plan(stack)
    await ann.history(stack)
    assert listening.calls == 0


async def test_a_cluster_named_as_the_bucket_is_not_taken_for_it(fleet: Machines, bucket_server: BucketServer) -> None:
    url = bucket_server.bucket()
    fleet.edit("ann", "clusters.yaml", "hz: {", f'"{url}": {{context: sandbox-2}}, hz: {{')
    ann = fleet.session("ann", releases_bucket=url)
    await released(ann, ann.select("web/dev"))
    assert fleet.secrets(0) == fleet.secrets(1) == []


@pytest.mark.parametrize(
    ("project", "stack"),
    [
        ("..", ".."),
        ("../..", "other"),
        ("a/../../b", "c"),
        ("%2e%2e", "x"),
        ("a\x1b[2J", "b"),
        ("", ""),
        ("x" * 500, "y"),
    ],
)
def test_no_name_of_a_stack_leads_out_of_its_folder(project: str, stack: str) -> None:
    folder = stack_name(StackPath(ProjectName(project), StackName(stack)))
    assert folder.startswith("wb-release-") and not set(folder) - set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert folder != stack_name(StackPath(ProjectName(project), StackName(stack + "2")))


def test_two_buckets_are_never_one_by_their_names() -> None:
    urls = ["s3://a-b/c", "s3://a-b/c?region=x", "gs://a-b/c", "s3://a-b", "s3://a-b/c?endpoint=https://c.example.org"]
    assert len({str(BucketUrl.parse(each)) for each in urls}) == len(urls)
