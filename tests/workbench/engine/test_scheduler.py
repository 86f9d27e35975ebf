"""The same work by the workers of a dask scheduler: the same files, also when a worker is killed midway."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue

import pytest

from tests.benchmarks import konfig
from tests.workbench.session.shop import shop
from tests.workbench.session.test_stack_order import stacks
from tests.workbench.session.test_terraform import Place
from workbench.engine.compile_all import Wanted, prepare
from workbench.engine.compiled import CompiledStack, CompileFailed, CompileInputs
from workbench.engine.compiled_index import INDEX_FILE
from workbench.engine.errors import EngineError
from workbench.engine.worker_pools import Compiling, compiled_on, in_processes, on_scheduler
from workbench.project import discover

_START_SECONDS = 90
_PREFIX = "import sys; from distributed.cli import {0}; sys.argv[0] = '{0}'; {0}.main()"


@dataclass
class Cluster:
    address: str
    workers: list[subprocess.Popen[str]] = field(default_factory=list)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers, each a process of its own, on free ports of the loopback interface."""
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    folder = tmp_path_factory.mktemp("dask")
    started: list[subprocess.Popen[str]] = []

    def start(name: str, *arguments: str, until: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _PREFIX.format(name), *arguments],
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        started.append(process)
        return process, _said(process, until)

    try:
        _, address = start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", until=r"Scheduler at:\s+(\S+)"
        )
        options = ("--host", "127.0.0.1", "--nworkers", "1", "--nthreads", "1", "--no-nanny", "--no-dashboard")
        workers = [
            start(
                "dask_worker", address, *options, "--local-directory", str(folder / f"w{number}"),
                until=r"Registered to:\s+(\S+)",
            )[0]
            for number in range(2)
        ]  # fmt: skip
        yield Cluster(address, workers)
    finally:
        for each in reversed(started):
            each.kill()
            each.wait(30)
            if each.stderr is not None:
                each.stderr.close()


def _said(process: subprocess.Popen[str], pattern: str) -> str:
    """Waits for a line that a process prints; goes on reading, so that it never waits for a full pipe."""
    found: Queue[str] = Queue()
    stream = process.stderr
    assert stream is not None

    def read() -> None:
        try:
            for line in stream:
                if match := re.search(pattern, line):
                    found.put(match[1])
        except ValueError:  # closed with the process
            return

    threading.Thread(target=read, daemon=True).start()
    return found.get(timeout=_START_SECONDS)


def _files(folder: Path) -> dict[str, bytes]:
    """Returns what was made: not what a worker was writing when it was killed, which has a name of its own."""
    files = (
        each
        for each in folder.rglob("*")
        if each.is_file() and each.name != INDEX_FILE and not each.name.endswith(".unfinished")
    )
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in files}


@pytest.mark.slow
def test_workers_make_the_same_files_and_one_that_is_killed_midway_is_made_up_for(
    cluster: Cluster, tmp_path: Path
) -> None:
    root = tmp_path / "konfig"
    konfig.write(root, 40)
    broken = root / "domains/d000/app-00007/prod/main.k"
    broken.write_text(broken.read_text() + "wrong = nowhere\n")
    wanted = Wanted(discover(root), CompileInputs(), tmp_path / "here")
    here = {each.stack: each for each in prepare(wanted).run(in_processes(1))}
    far = replace(wanted, folder=tmp_path / "far")
    there = {}
    for each in prepare(far).run(on_scheduler(cluster.address)):
        there[each.stack] = each
        if len(there) == 4:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
    assert cluster.workers[0].wait(30) == -signal.SIGKILL
    assert len(there) == 50 and there.keys() == here.keys()
    assert _files(far.folder) == _files(wanted.folder) and len(_files(far.folder)) == 49
    assert {name: each.failure for name, each in there.items()} == {name: each.failure for name, each in here.items()}
    assert [name for name, each in there.items() if each.failure] == ["app-00007/prod"]
    for name, each in there.items():
        assert (each.own, each.shared, each.lines) == (here[name].own, here[name].shared, here[name].lines)
    # nothing but what failed is left to do
    assert [each.name for each in prepare(far).stale] == ["app-00007/prod"]


@pytest.mark.slow
async def test_a_plan_over_many_stacks_is_the_same_from_specs_that_workers_compiled(
    cluster: Cluster, tmp_path: Path
) -> None:
    place = Place(shop(tmp_path / "repo", stacks(a="b", b="", c="")))
    (place.root / "c/prod/main.k").write_text("wrong = nowhere\n")
    async with place.open() as opened:
        here = await opened.plan_stacks("?/prod")
        compiling = Compiling(CompileInputs(), place.root, opened.settings.allowance, None)
        found = compiled_on(cluster.address, opened.choose("?/prod"), compiling)
        there = await opened.plan_stacks("?/prod", scheduler=cluster.address)
        of_b = (await opened.compile(opened.select("b/prod"))).spec
    assert there.unplanned == here.unplanned and [each.stack for each in there.unplanned] == ["c/prod"]
    assert there.stages == here.stages and there.radius == here.radius
    for stack, plan in here.plans.items():
        assert there.plans[stack].spec.digest(b"salt") == plan.spec.digest(b"salt")
    spec = found["b/prod"]
    assert isinstance(spec, CompiledStack) and isinstance(found["c/prod"], CompileFailed)
    (settings,) = [each for each in of_b if "ConfigMap" in str(each.id)]
    assert spec.spec.chain(settings.id, ("data", "version")) == of_b.chain(settings.id, ("data", "version")) != ()


async def test_a_plan_over_many_stacks_needs_the_scheduler_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr("workbench.engine.worker_pools._CONNECT_SECONDS", 1.0)
    place = Place(shop(tmp_path / "repo", stacks(a="")))
    async with place.open() as opened:
        with pytest.raises(EngineError, match="no scheduler answers"):
            await opened.plan_stacks("a/prod", scheduler="tcp://127.0.0.1:1")


def test_an_address_nobody_answers_at_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr("workbench.engine.worker_pools._CONNECT_SECONDS", 1.0)
    konfig.write(tmp_path / "konfig", 1)
    batch = prepare(Wanted(discover(tmp_path / "konfig"), CompileInputs(), tmp_path / "specs"))
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with pytest.raises(EngineError, match="no scheduler answers"):
            list(batch.run(on_scheduler(address)))
