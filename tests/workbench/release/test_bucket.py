"""A bucket as what it is: addresses, servers that answer wrongly, writes that must be refused, and many processes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from runtimes.base import (
    Forbidden,
    Misconfigured,
    Moved,
    NotThere,
    Overloaded,
    RuntimeFailure,
    Unauthenticated,
    Unreachable,
)
from tests.bucket_server import CREDENTIALS, BucketServer
from tests.sizes import size
from tests.workbench.release.places import AT, in_bucket, released, timing
from workbench.bucket_url import BadBucketUrl, BucketUrl
from workbench.engine.errors import ReleaseFailure
from workbench.release.contract import Holder, NotAllowed
from workbench.release.in_bucket import BucketKeeper
from workbench.release.objects import Objects
from workbench.release.remote_records import RemoteRecords
from workbench.settings import BadSetting, Settings

HOLDER = Holder("ann", "laptop", 7)
PROCESSES, TURNS = size(3, 50), size(2, 4)


@pytest.mark.parametrize(
    "text",
    [
        "s3://acme-releases",
        "s3://acme-releases/konfig/prod",
        "s3://acme?endpoint=http://127.0.0.1:9000&region=eu-central-1",
        "s3://acme/p?endpoint=https://[::1]:9000/minio",
        "gs://acme.example.org/a_b/c=d",
        "az://container/p?account=acmestore",
    ],
)
def test_an_address_is_read_and_shown_as_it_is_written(text: str) -> None:
    assert str(BucketUrl.parse(text)) == text
    assert Settings.load({"WB_RELEASES": text}).releases_bucket == BucketUrl.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "ftp://hush-1", "s3://", "s3:///hush-1", "s3://key:hush-1@bucket/p", "s3://hush-1@bucket", "s3://b:99/hush-1",
        "s3://bucket/../hush-1", "s3://bucket/./hush-1", "s3://bucket/a//hush-1", "s3://bucket/p#hush-1",
        "s3://bucket/p?secret=hush-1", "s3://bucket?region=hush-1&region=b", "s3://bucket?endpoint=hush-1",
        "s3://bucket?endpoint=http://u:hush-1@h", "s3://bucket?endpoint=http://h?k=hush-1", "s3://bucket?region=HUSH-1",
        "s3://bucket/p?account=hush-1", "az://bucket?region=hush-1", "s3://bucket/hush-1\x1b[2J", "s3://[hush-1",
        "s3://bucket/" + "a" * 2000,
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(BadBucketUrl) as refused:
        BucketUrl.parse(text)
    with pytest.raises(BadSetting) as said:
        Settings.load({"WB_RELEASES": text})
    assert "hush-1" not in f"{refused.value}{said.value}{said.value.hint}".lower()


def test_without_obstore_it_is_said_how_to_get_it_and_nothing_else_imports_it(tmp_path: Path) -> None:
    program = (
        "import sys, anyio; sys.modules['obstore'] = None\n"
        "from workbench.bucket_url import BucketUrl\n"
        "import workbench.session, workbench.release.in_bucket as b\n"
        "async def main():\n"
        "    try: await b.BucketKeeper(BucketUrl('s3', 'acme')).secrets('n', {})\n"
        "    except Exception as error: print(type(error).__name__, error.hint)\n"
        "anyio.run(main)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Misconfigured pip install 'konfig-workbench[bucket]'"


class Answering:
    """A server that always answers the same: no store, or one that is out of order. It tells what it was sent."""

    def __init__(self) -> None:
        self.status, self.body, self.headers = 200, b"", dict[str, str]()
        self.requests = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests += 1
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(outer.status)
                for name, value in {**outer.headers, "Content-Length": str(len(outer.body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(outer.body)

            do_PUT = do_HEAD = do_DELETE = do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = BucketUrl("s3", "bucket", "p", f"http://127.0.0.1:{self._server.server_port}", "us-east-1")

    def __enter__(self) -> Answering:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture(scope="module")
def answering() -> Iterator[Answering]:
    with Answering() as found, pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        yield found


def coded(code: str) -> bytes:
    quoted = "".join(CREDENTIALS.values())
    return (
        f"<Error><Code>{code}</Code><Message>{quoted}</Message><StringToSign>{quoted}</StringToSign></Error>".encode()
    )


ANSWERS: dict[str, tuple[int, bytes, type[RuntimeFailure], str]] = {
    "a login page": (200, b"<html>sign in</html>", Misconfigured, "no object store"),
    "nothing": (200, b"", Misconfigured, "no object store"),
    "a page that says it is gone": (404, b"<html>hush</html>", Misconfigured, "no object store"),
    "no bucket": (404, coded("NoSuchBucket"), Misconfigured, "no such bucket"),
    "denied": (403, coded("AccessDenied"), Forbidden, "denies this"),
    "denied without saying why": (403, b"", Forbidden, "denies this"),
    "another clock": (403, coded("RequestTimeTooSkewed"), Unauthenticated, "clock"),
    "an expired session": (400, coded("ExpiredToken"), Unauthenticated, "refuses the credentials"),
    "a wrong signature": (403, coded("SignatureDoesNotMatch"), Unauthenticated, "refuses the credentials"),
    "a wrong login": (401, b"hush", Unauthenticated, "refuses the credentials"),
    "elsewhere": (301, coded("PermanentRedirect"), Misconfigured, "elsewhere"),
    "a code that is no code": (400, b"<Code>\x1b[2J</Code>", Unreachable, "status 400"),
}


@pytest.mark.parametrize("how", ANSWERS)
async def test_what_answers_wrongly_is_said_and_never_means_that_there_is_no_release(
    answering: Answering, how: str
) -> None:
    answering.status, answering.body, kind, said = ANSWERS[how]
    places = [lambda: Objects(answering.url).list("folder"), lambda: Objects(answering.url).write("folder/a", b"1")]
    for asked in places:
        with pytest.raises(RuntimeFailure) as failed:
            await asked()
        text = f"{failed.value}{failed.value.hint}"
        assert not any(each in text for each in CREDENTIALS.values()) and text.isprintable()
        assert type(failed.value) is kind and said in text
        assert failed.value.__cause__ is None and (failed.value.__suppress_context__ or not failed.value.__context__)
    if kind is Forbidden:
        with pytest.raises(NotAllowed, match="may not be kept in s3://bucket/p") as denied:
            await RemoteRecords(BucketKeeper(answering.url), AT, timing()).entries()
        assert "list the bucket" in denied.value.hint and "WB_RELEASES=local" in denied.value.hint


async def test_a_store_that_asks_to_come_back_later_is_not_asked_for_ever(answering: Answering) -> None:
    answering.status, answering.body = 503, coded("SlowDown")
    with pytest.raises(Overloaded, match="SlowDown"):
        await Objects(answering.url).list("folder")


@pytest.mark.parametrize(
    ("status", "headers"), [(200, {"ETag": '"same"'}), (501, {})], ids=["heeds no conditions", "knows none"]
)
async def test_no_lock_is_taken_where_writes_are_not_refused(
    answering: Answering, status: int, headers: dict[str, str]
) -> None:
    answering.status, answering.body, answering.headers = status, b"{}", headers
    try:
        with pytest.raises(Misconfigured, match="no lock can hold there"):
            await RemoteRecords(BucketKeeper(answering.url), AT, timing()).lock(HOLDER)
    finally:
        answering.headers = {}


async def test_a_write_is_bound_to_what_was_read_and_a_lost_answer_is_found(bucket_server: BucketServer) -> None:
    objects = Objects(bucket_server.bucket())
    first = await objects.write("f/a", b"1")
    assert await objects.write("f/a", b"1") == first, "the same write, sent again"
    with pytest.raises(Moved):
        await objects.write("f/a", b"2")
    second = await objects.write("f/a", b"2", first)
    with pytest.raises(Moved):
        await objects.write("f/a", b"3", first)
    assert await objects.read("f/a") == (b"2", second)
    await objects.remove("f/a")
    await objects.remove("f/a")
    with pytest.raises(NotThere):
        await objects.write("f/a", b"3", second)
    assert await objects.list("f") == []


async def test_proving_leaves_nothing_behind_and_other_prefixes_are_not_seen(bucket_server: BucketServer) -> None:
    async with in_bucket(bucket_server) as place:
        assert place.bucket is not None
        held = await place.view().lock(HOLDER)
        await held.release()
        assert [each.rpartition(".")[2] for each in bucket_server.keys(place.bucket)] == ["lease"]
        await place.view().create(released(1))
        beside = bucket_server.url(place.bucket.bucket, "konfig/below")
        assert list(await RemoteRecords(BucketKeeper(beside), AT, timing()).entries()) == []


async def test_who_was_killed_while_it_deleted_leaves_no_release(bucket_server: BucketServer) -> None:
    async with in_bucket(bucket_server) as place:
        assert place.bucket is not None

        class Killed(Exception):
            pass

        class Dying(BucketKeeper):
            async def delete_secret(self, namespace: str, name: str, version: str) -> None:
                async def die(key: str) -> None:
                    raise Killed

                self._objects.remove = die  # type: ignore[method-assign]  # the process ends here
                await super().delete_secret(namespace, name, version)

        for revision in (1, 2):
            await place.view().create(released(revision))
        dying = RemoteRecords(Dying(place.bucket), AT, timing())
        with pytest.raises(Killed):
            await dying.delete((await dying.entries())[1])
        view = place.view()
        assert [each.revision for each in await view.entries()] == [2]
        with pytest.raises(ReleaseFailure):
            await place.view().create(released(1))
        await view.delete((await view.entries())[0])
        assert bucket_server.keys(place.bucket) == [], "the next one clears it away"


LOCKER = """
import sys, anyio
from tests.sizes import size
from workbench.bucket_url import BucketUrl
from workbench.engine.errors import Locked
from workbench.project import StackPath
from workbench.release.contract import Holder
from workbench.release.in_bucket import BucketKeeper
from workbench.release.remote_records import RemoteRecords
from workbench.release.lease import Timing
from workbench.release.packing import Place

AT = Place("folder", StackPath("shop", "dev"), "git.example.org/shop")

async def main(url, log, name, most):
    turns = 0
    while turns < int(most):
        try:
            records = RemoteRecords(BucketKeeper(BucketUrl.parse(url)), AT, Timing(look_seconds=0.05))
            held = await records.lock(Holder(name, "h", 1))
        except Locked:
            await anyio.sleep(0.02)
            continue
        for what in ("in", "out"):
            with open(log, "a") as file:
                file.write(f"{what} {name} {held.fence}\\n")
            await anyio.sleep(0.01)
        held.verify()
        await held.release()
        turns += 1

anyio.run(main, *sys.argv[1:])
"""


@pytest.mark.slow
async def test_of_many_processes_one_is_at_work_at_a_time(bucket_server: BucketServer, tmp_path: Path) -> None:
    url, log = bucket_server.bucket(), tmp_path / "log"
    started = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", LOCKER, str(url), str(log), f"p{number}", str(TURNS))
        for number in range(PROCESSES)
    ]
    assert [await each.wait() for each in started] == [0] * PROCESSES
    lines = [each.split() for each in log.read_text().splitlines()]
    assert len(lines) == 2 * TURNS * PROCESSES
    fences = []
    for entered, left in zip(lines[::2], lines[1::2], strict=True):
        assert (entered[0], left[0]) == ("in", "out") and entered[1:] == left[1:], "nobody else was in between"
        fences.append(int(entered[2]))
    assert fences == sorted(set(fences)), "each later holder has a greater number"
