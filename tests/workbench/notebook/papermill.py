"""papermill for tests that run notebook after notebook: one process has imported it, and forks for each.

Importing it takes longer than most notebooks do. What is forked is papermill's command, with its own environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_SERVE: Final = """
import json, os, sys
from papermill.cli import papermill
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if not child:
        os.environ.update(order["environment"])
        said = os.open(order["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1), os.dup2(said, 2)
        papermill(order["arguments"])
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Executed:
    returncode: int
    stderr: str


@dataclass(frozen=True)
class Papermill:
    process: subprocess.Popen[str]
    root: Path

    def execute(self, environment: Mapping[str, str], name: str, target: Path, **parameters: Any) -> Executed:
        """Runs a notebook of the repository as a scheduler would; its warnings are its own."""
        said = target.with_suffix(".said")
        own = {"PYTHONPATH": str(self.root), "IPYTHONDIR": str(target.parent / "ipython")}
        given = [part for key, value in parameters.items() for part in ("-p", key, str(value))]
        paths = [str(self.root / "notebooks" / name), str(target)]
        arguments = ["--no-progress-bar", "--cwd", str(target.parent), *given, *paths]
        order = {"environment": {**environment, **own}, "said": str(said), "arguments": arguments}
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        code = self.process.stdout.readline()
        assert code, "papermill's process is gone"
        return Executed(int(code), said.read_text())


@contextmanager
def started(root: Path) -> Iterator[Papermill]:
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        env={**os.environ, "PYTHONPATH": str(root)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Papermill(process, root)
        assert process.stdin is not None
        process.stdin.close()
