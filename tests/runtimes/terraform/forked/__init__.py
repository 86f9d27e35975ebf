"""The practice provider for tests that start terraform hundreds of times: one process has imported it, and forks.

terraform starts a provider three times for a plan and twice for an apply, and most of that is Python that imports
gRPC. Here it starts a few lines of shell, since Python takes ten times as long to start at all. They ask `server` for a
provider with their folder, environment and streams, and live as long as it; from there on all is as without: the same
code, socket, TLS and shutdown, and whoever is killed takes the other with him. `tests/runtimes/sandbox/provider` starts
the provider as it is installed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtimes.sandbox.provider.mirror import install

_ROOT = Path(__file__).parents[4]
# The streams are at 7 to 9, since a shell changes its own while it reads or writes another file. As for the provider
# itself, terraform says what is to be done at a ^C.
_CLIENT = """#!/bin/sh
trap '' INT
exec 7<&0 8>&1 9>&2
{mkfifo} {folder}/$$ || exit 1
echo $$ >{folder}/requests
read -r code <{folder}/$$
case $code in -*) kill "$code" $$ ;; esac
exit "${{code:-1}}"
"""


@contextmanager
def forking(mirror: Path) -> Iterator[None]:
    """Lays the provider into a mirror, in force until the end; raises `ProviderMissing` as `install` does."""
    install(mirror)
    mkfifo = shutil.which("mkfifo")
    if sys.platform != "linux" or mkfifo is None or not hasattr(os, "pidfd_open"):
        yield  # elsewhere a process may not be forked once certain libraries are loaded
        return
    (program,) = mirror.glob("*/*/*/*/*/terraform-provider-*")
    with tempfile.TemporaryDirectory(prefix="wb-") as folder:
        os.mkfifo(f"{folder}/requests")
        program.write_text(_CLIENT.format(mkfifo=shlex.quote(mkfifo), folder=shlex.quote(folder)))
        command = [sys.executable, "-m", "tests.runtimes.terraform.forked.server", folder]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_ROOT) as server:
            assert server.stdin is not None and server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            try:
                yield
            finally:
                server.stdin.close()
