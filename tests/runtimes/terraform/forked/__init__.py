"""The practice provider for tests that start terraform hundreds of times: one process has imported it, and forks.

terraform starts a provider three times for a plan and twice for an apply, and most of that is Python that imports
gRPC. Here it starts `client`, which hands its folder, environment and streams to `server` and lives as long as the
process that is forked for it; from there on all is as without: the same code, socket, TLS and shutdown, and whoever
is killed takes the other with him. Where its process is what is tried, `tests/runtimes/sandbox/provider` starts the
provider as it is installed.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from runtimes.sandbox.provider.mirror import install

_HERE = Path(__file__).parent
_ROOT = Path(__file__).parents[4]
_ENDED: Final = ".ended"


@contextmanager
def forking(mirror: Path) -> Iterator[None]:
    """Lays the provider into a mirror, in force until the end; raises `ProviderMissing` as `install` does."""
    install(mirror)
    if sys.platform != "linux":  # where a process may not be forked once certain libraries are loaded
        yield
        return
    (program,) = mirror.glob("*/*/*/*/*/terraform-provider-*")
    with tempfile.TemporaryDirectory(prefix="wb-") as folder:  # short, as paths of sockets have to be
        address, ended = f"{folder}/socket", str(mirror.with_suffix(_ENDED))
        words = (sys.executable, "-I", "-S", str(_HERE / "client.py"), address, ended)
        program.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
        command = [sys.executable, "-m", "tests.runtimes.terraform.forked.server", address, ended]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_ROOT) as server:
            assert server.stdin is not None and server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            try:
                yield
            finally:
                server.stdin.close()


def ended_early(mirror: Path) -> str:
    """Returns what is known of providers that ended otherwise than as asked to, empty where there were none."""
    try:
        return mirror.with_suffix(_ENDED).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
