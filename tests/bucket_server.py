"""moto's S3 server on loopback, in a process and an environment of its own: it needs other versions than we do.

It answers one request at a time: stores in earnest decide of two conditional writes which was first, moto leaves it to
chance where both come at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from workbench.bucket_url import BucketUrl

PYTHON: Final = Path(sys.prefix) / "moto" / "bin" / "python"
CREDENTIALS: Final = {
    "AWS_ACCESS_KEY_ID": "AKIA-of-the-tests",
    "AWS_SECRET_ACCESS_KEY": "hush-aws-secret-key",
    "AWS_SESSION_TOKEN": "hush-aws-session-token",
}
REGION: Final = "us-east-1"
_SERVE: Final = """
import os
from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server
application = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", 0, application, threaded=False, request_handler=MotoRequestHandler)
os.environ["MOTO_PORT"] = str(server.port)
print(server.port, flush=True)
server.serve_forever()
"""
_STARTING_SECONDS = 60.0
_counter = count(1)


@dataclass(frozen=True)
class BucketServer:
    endpoint: str

    def bucket(self, prefix: str = "konfig") -> BucketUrl:
        """Makes a bucket that nobody had before."""
        name = f"releases-{os.getpid()}-{next(_counter)}"
        self.request("PUT", name)
        return self.url(name, prefix)

    def url(self, name: str, prefix: str = "konfig") -> BucketUrl:
        return BucketUrl("s3", name, prefix, endpoint=self.endpoint, region=REGION)

    def keys(self, url: BucketUrl) -> list[str]:
        """Returns the keys of a bucket, without its prefix."""
        from xml.etree import ElementTree

        listing = ElementTree.fromstring(self.request("GET", f"{url.bucket}?list-type=2"))
        found = [each.text or "" for each in listing.iter() if each.tag.endswith("}Key") or each.tag == "Key"]
        return [each.removeprefix(f"{url.prefix}/") for each in found]

    def read(self, url: BucketUrl, key: str) -> bytes:
        return self.request("GET", f"{url.bucket}/{url.prefix}/{key}")

    def write(self, url: BucketUrl, key: str, content: bytes) -> None:
        """Writes over whatever is there, as somebody with another tool does."""
        self.request("PUT", f"{url.bucket}/{url.prefix}/{key}", content)

    def remove(self, url: BucketUrl, key: str) -> None:
        self.request("DELETE", f"{url.bucket}/{url.prefix}/{key}")

    def request(self, method: str, path: str, content: bytes = b"") -> bytes:
        signed = f"AWS4-HMAC-SHA256 Credential=x/20260101/{REGION}/s3/aws4_request, SignedHeaders=host, Signature=x"
        made = urllib.request.Request(
            f"{self.endpoint}/{path}",
            method=method,
            data=content if method == "PUT" else None,
            headers={"Authorization": signed, "Content-Type": "application/octet-stream"},
        )
        with urllib.request.urlopen(made, timeout=60) as answer:
            return bytes(answer.read())


@contextmanager
def serving() -> Iterator[BucketServer]:
    """Skips where moto is not there."""
    if not PYTHON.with_name("moto_server").exists():
        pytest.skip("moto's S3 server is not installed: make .venv/.moto")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    process = subprocess.Popen(
        [PYTHON, "-c", _SERVE],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**environment, **CREDENTIALS},
        text=True,
    )
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, "moto's S3 server ended at once"
        server = BucketServer(f"http://127.0.0.1:{port}")
        _wait(server)
        yield server
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _wait(server: BucketServer) -> None:
    until = time.monotonic() + _STARTING_SECONDS
    while True:
        try:
            server.request("GET", "")
        except urllib.error.HTTPError:
            return
        except OSError:
            assert time.monotonic() < until, "moto's S3 server does not answer"
            time.sleep(0.05)
        else:
            return
