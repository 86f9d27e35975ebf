"""Who compiles the chunks of a sweep: processes of this machine, or the workers of a dask scheduler.

Processes are started anew, not forked: whoever starts them may have threads. What is in the hands of a process that
dies is tried again stack by stack, each in a process of its own, so that one that eats all memory costs only itself.

Workers of a scheduler need this package in the same version, and the repository and the folder for Specs at the same
paths, as on a shared file system. The scheduler gives what a lost worker had to others.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.context import BaseContext

from workbench.engine.compile_all import Chunk, Crew, Failure, Outcome, compile_chunk, spec_file
from workbench.engine.errors import EngineError

_AHEAD = 2
"""Chunks that wait for each process: none runs dry, and little is lost when one dies."""
_CONNECT_SECONDS = 15.0
_RETRIES = 5
_SAFE_PATH = "PYTHONSAFEPATH"


def cores() -> int:
    """Returns how many processes make sense here: the cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def in_processes(jobs: int) -> Crew:
    """A crew of `jobs` processes; with one the work is done in this process."""

    def crew(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
        if jobs == 1 or len(chunks) < 2:
            for chunk in chunks:
                yield compile_chunk(chunk)
            return
        lost: list[Chunk] = []
        yield from _pooled(chunks, min(jobs, len(chunks)), lost)
        suspects: list[Chunk] = []
        yield from _pooled([each for chunk in lost for each in chunk.apart()], 1, suspects)
        for suspect in suspects:
            guilty: list[Chunk] = []
            yield from _pooled([suspect], 1, guilty)
            yield from ([_died(each)] for each in guilty)

    return crew


def _pooled(chunks: Sequence[Chunk], jobs: int, lost: list[Chunk]) -> Iterator[Sequence[Outcome]]:
    """Yields what is done; puts into `lost` what was in the hands of a pool that broke, and starts another."""
    waiting = deque(chunks)
    while waiting:
        pool = ProcessPoolExecutor(jobs, mp_context=_context(), initializer=_begin)
        at_work: dict[Future[Sequence[Outcome]], Chunk] = {}
        try:
            while waiting or at_work:
                while waiting and len(at_work) < jobs * _AHEAD:
                    at_work[pool.submit(compile_chunk, waiting[0])] = waiting[0]
                    waiting.popleft()
                done, _ = wait(at_work, return_when=FIRST_COMPLETED)
                for future in done:
                    outcomes = future.result()
                    del at_work[future]
                    yield outcomes
        except BrokenProcessPool:
            lost.extend(at_work.values())
        finally:
            pool.shutdown(cancel_futures=True)


def _context() -> BaseContext:
    methods = multiprocessing.get_all_start_methods()
    if "forkserver" not in methods:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["workbench.engine.compile_all"])
    with _without_current_folder():
        forkserver.ensure_running()
    return context


@contextmanager
def _without_current_folder() -> Iterator[None]:
    """Python processes started meanwhile import nothing from the current folder, which may be a hostile checkout."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def _begin() -> None:
    """An interrupt is for whoever asked for the work: it ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _died(chunk: Chunk) -> Outcome:
    (stack,) = chunk.stacks
    failure = Failure(
        "the process that compiled it died",
        str(stack.directory),
        "it may have run out of memory; compile it alone to see",
    )
    return Outcome(stack.name, spec_file(stack.path, chunk.format), 0.0, failure=failure)


def on_scheduler(address: str) -> Crew:
    """A crew of dask workers behind a scheduler such as `tcp://10.0.0.5:8786`. Raises `EngineError`."""
    try:
        import distributed
    except ImportError as error:
        raise EngineError(
            "dask.distributed is not installed", hint="pip install 'konfig-workbench[scheduler]'"
        ) from error

    def crew(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
        hint = "is the scheduler there, and has it workers? `dask scheduler` and `dask worker ADDRESS` start them"
        try:
            client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(f"no scheduler answers: {error}", where=address, hint=hint) from error
        with client:
            try:
                client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
            except TimeoutError as error:
                raise EngineError("the scheduler has no workers", where=address, hint=hint) from error
            futures = {client.submit(compile_chunk, each, pure=False, retries=_RETRIES): each for each in chunks}
            lost: list[Chunk] = []
            for future in distributed.as_completed(list(futures), loop=client.loop):
                chunk = futures.pop(future)
                try:
                    outcomes: Sequence[Outcome] = future.result()
                except distributed.KilledWorker:
                    lost.append(chunk)  # it ended several workers; which of its stacks does?
                    continue
                future.release()
                yield outcomes
            for single in (each for chunk in lost for each in chunk.apart()):
                try:
                    yield client.submit(compile_chunk, single, pure=False, retries=_RETRIES).result()
                except distributed.KilledWorker:
                    yield [_died(single)]

    return crew
