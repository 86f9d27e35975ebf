"""The authorities of the machine are read by the first connection that needs them, and not before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import ssl



import {first}
from runtimes.lean_aiohttp import aiohttp, _ReadingLater

contexts = [value for value in vars(aiohttp.connector).values() if isinstance(value, ssl.SSLContext)]
assert len(contexts) == 2, contexts
assert all(type(each) is _ReadingLater and each._is_due for each in contexts)
assert "set_default_verify_paths" not in vars(ssl.SSLContext), "as it was"
own = ssl.create_default_context()
assert type(own) is ssl.SSLContext
for each in contexts:
    each.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="x.example")
    assert not each._is_due
    assert super(_ReadingLater, each).cert_store_stats() == own.cert_store_stats()
modes = {{(each.verify_mode, each.check_hostname) for each in contexts}}
assert modes == {{(ssl.CERT_REQUIRED, True), (ssl.CERT_NONE, False)}}, modes
print("well")
"""


@pytest.mark.parametrize(
    "first", ["runtimes.kubernetes.runtime", "runtimes.secret_stores.vault", "runtimes.lean_aiohttp"]
)
def test_whoever_imports_it_first_reads_nothing_and_trusts_all_the_same(first: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(first=first)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "well"), done.stderr
