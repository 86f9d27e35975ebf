"""Every stack of a repository → one Spec file each, in a folder; and after an edit, only those that it touches.

    batch = prepare(Wanted(tree, CompileInputs(), Path("specs")))
    for outcome in batch.run(in_processes(jobs=2)):
        ...                                 # as they are done; a Spec is on disk before its outcome is told

Who does the work is a `WorkerPool`: processes of this machine, or the workers of a scheduler (worker_pools.py).
Whatever the pool, the same function compiles, so the same files come out. Each Spec appears whole or not at all. A
stack that fails has no Spec afterwards, rather than one of before. What one run has done the next does not do again,
also when it was stopped.
"""

from __future__ import annotations

import gc
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from kcl.api import Bounds, downloaded_folder, yaml_text
from kcl.bounded import Allowance
from kcl.memo.contents import State, digest_of
from kcl.memo.inputs import Clock, Moment, now
from kcl.records import dataclass, field, replace
from kcl.regular import read_regular
from workbench.engine.cells import Configured
from workbench.engine.compile import compile_now
from workbench.engine.compiled import CompileFailed, CompileInputs
from workbench.engine.compiled_index import (
    NOTHING_WRITTEN,
    Index,
    Record,
    place,
    write_private,
    written_state,
)
from workbench.engine.configuration import ConfigurationRequest, evaluate_each
from workbench.engine.errors import EngineError, EvaluationEnded
from workbench.engine.final_inputs import refuse_overridden
from workbench.engine.memos import memos
from workbench.engine.plugins import RepositoryPlugins
from workbench.engine.read_files import read_by
from workbench.engine.versions import code, version
from workbench.project import KonfigTree, Stack, StackPath, WorkbenchError, affected, checkout
from workbench.project.dimensions import DIMENSIONS_FILE

Format = Literal["yaml", "json"]

_CHUNK = 16
_SAVED_EVERY_SECONDS = 30.0
_ALLOWANCE = Allowance(program="wb")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to compile into `folder`. `only` are files (absolute): stacks that none of them touches are left out.

    `force` compiles what is up to date as well. `allowance` is what each stack may take. Waivers of what is final hold
    until `today`.
    """

    tree: KonfigTree
    inputs: CompileInputs
    folder: Path
    format: Format = "yaml"
    plugins: RepositoryPlugins | None = None
    only: tuple[Path, ...] | None = None
    force: bool = False
    allowance: Allowance = _ALLOWANCE
    today: date = date.max


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the work, small enough to be lost and done again."""

    stacks: tuple[Stack, ...]
    root: Path
    inputs: CompileInputs
    folder: Path
    format: Format
    plugins: RepositoryPlugins | None
    code: str
    """The compiler that is meant, see `version`."""
    allowance: Allowance = _ALLOWANCE
    today: date = date.max


@dataclass(frozen=True, slots=True)
class Failure:
    """`rendered` is the message with source lines, for failures of the language; else empty."""

    message: str
    where: str = ""
    hint: str = ""
    rendered: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one stack: a Spec at `file` (relative to the folder), or a failure. `shared`, `own`: as Record."""

    stack: str
    file: str
    seconds: float
    lines: int = 0
    written: State = NOTHING_WRITTEN
    shared: frozenset[str] = field(default=frozenset(), repr=False)
    own: frozenset[str] = field(default=frozenset(), repr=False)
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None


WorkerPool = Callable[[Sequence[Chunk]], Iterator[Sequence[Outcome]]]
"""Has `compile_chunk` called for every chunk, in any order, and yields what comes back."""


@dataclass
class Batch:
    """`stale` is what is to be compiled. `fresh` are up to date, `left` out of date and not wanted now.

    `former` are those of `left` whose Spec of an earlier time lies in the folder.
    `ignored` are stacks whose record in the folder names a file outside of it: nothing was done to that file.
    """

    wanted: Wanted
    stale: tuple[Stack, ...]
    fresh: int
    left: int
    former: tuple[str, ...]
    ignored: tuple[str, ...]
    _index: Index = field(repr=False)
    _keys: Mapping[str, str] = field(repr=False)

    def run(self, pool: WorkerPool) -> Iterator[Outcome]:
        """Compiles, and yields every outcome once. Closed early, or by an error, it keeps what was done until then.

        Raises `EngineError` where the folder cannot be written or the pool cannot work.
        """
        began, saved = self._index.clock(), time.monotonic()
        self._index.save()
        waiting = {each.name for each in self.stale}
        try:
            for outcomes in pool(_chunks(self.wanted, self.stale)):
                for each in outcomes:
                    if each.stack not in waiting:  # a scheduler may do a thing twice
                        continue
                    waiting.discard(each.stack)
                    self._note(each, began)
                    yield each
                if time.monotonic() - saved > _SAVED_EVERY_SECONDS:
                    self._index.save()
                    saved = time.monotonic()
        finally:
            self._index.save()

    def read(self, stack: Stack) -> frozenset[str] | None:
        """Returns what an up-to-date stack was read from: files, folders, and what was not there; None for another."""
        record = self._index.records.get(stack.name)
        return None if record is None else record.shared | record.own

    def lines(self) -> int:
        """How many lines all Specs have that are up to date."""
        return sum(each.lines for each in self._index.records.values())

    def _note(self, outcome: Outcome, began: Moment) -> None:
        if outcome.failure is not None:
            self._index.put_failed(outcome.stack)
            _remove(self.wanted.folder, outcome.file)
            return
        record = Record(
            self._keys[outcome.stack], outcome.file, outcome.written, outcome.lines, outcome.shared, outcome.own
        )
        self._index.put(outcome.stack, record, began=began)


def prepare(wanted: Wanted, clock: Clock = now) -> Batch:
    """Finds out what is to be done. Removes Specs of stacks that are gone; compiles nothing. `clock` is the files'.

    Raises `EngineError` for a folder that cannot be written.
    """
    stacks = {each.name: each for each in wanted.tree.stacks()}
    bounds = Bounds(str(checkout(wanted.tree.root)), downloaded_folder(os.environ))
    index = Index.load(wanted.folder, bounds, clock)
    known = dict(index.records)
    index.drop_outdated()
    common = _common_key(wanted, bounds)
    keys = {name: _key(each, wanted, common) for name, each in stacks.items()}
    for name, record in known.items():
        is_current = name in index.records and keys.get(name) == record.key and index.is_written(record)
        if not is_current or wanted.force:
            index.records.pop(name, None)
        if name not in stacks or record.file != spec_file(stacks[name].path, wanted.format):
            _remove(wanted.folder, record.file)
    index.failed &= stacks.keys()
    # what failed the last time is tried again whatever is named: nobody knows what it would have read
    chosen = _touched(wanted, known, index) | index.failed if wanted.only is not None else stacks.keys()
    outdated = [each for name, each in stacks.items() if name not in index.records]
    index.outdated = {each.name: known[each.name] for each in outdated if each.name in known}
    stale = tuple(each for each in outdated if each.name in chosen)
    left = [each.name for each in outdated if each.name not in chosen]
    former = tuple(name for name in left if _is_there(wanted.folder, known.get(name)))
    return Batch(wanted, stale, len(stacks) - len(outdated), len(left), former, index.ignored, index, keys)


def spec_file(path: StackPath, format_: Format) -> str:
    """Returns where a stack's Spec lies in the folder: `project/stack.yaml`. Names can lead nowhere else."""
    parts = (*str(path.project).split("/"), str(path.stack))
    safe = [quote(each, safe=" +@=,()") for each in parts]
    return "/".join(f"%2E{each[1:]}" if each.startswith(".") else each for each in safe) + f".{format_}"


def compile_chunk(chunk: Chunk) -> Sequence[Outcome]:
    """Compiles some stacks here and now, without limits."""
    return list(compile_each(chunk))


def compile_each(chunk: Chunk) -> Iterator[Outcome]:
    """Compiles some stacks in order and writes their Specs. Failures of stacks are values.

    Raises `EngineError` where the compiler is not the one that is meant, or the folder cannot be written.
    """
    if chunk.code != version():
        raise EngineError(
            "a worker has another version of the workbench",
            where=f"{version()} instead of {chunk.code}",
            hint="install the same one on all workers",
        )
    sets: dict[frozenset[str], frozenset[str]] = {}
    collecting = gc.isenabled()
    gc.disable()  # once for all stacks: a compilation leaves next to no garbage, and each would be searched for it
    try:
        for each in chunk.stacks:
            yield _outcome(chunk, each, sets)
    finally:
        if collecting:
            gc.enable()


def ended_outcome(chunk: Chunk, stack: Stack, ended: EvaluationEnded) -> Outcome:
    """What became of a stack whose evaluation was ended."""
    failure = Failure(ended.message, ended.where or str(stack.directory), ended.hint)
    return Outcome(stack.name, spec_file(stack.path, chunk.format), 0.0, failure=failure)


def _outcome(chunk: Chunk, stack: Stack, sets: dict[frozenset[str], frozenset[str]]) -> Outcome:
    started = time.perf_counter()
    file = spec_file(stack.path, chunk.format)
    try:
        target = place(chunk.folder, file)
        compiled = compile_now(stack, chunk.inputs, memos.cache_for(chunk.root, results=False), chunk.plugins)
        _hold_finals(stack, chunk)
    except WorkbenchError as error:
        rendered = error.rendered if isinstance(error, CompileFailed) else ""
        failure = Failure(error.message, error.where, error.hint, rendered)
        return Outcome(stack.name, file, time.perf_counter() - started, failure=failure)
    except (RecursionError, MemoryError, OSError) as error:
        memos.forget()
        failure = Failure(f"the compiler gave up: {error or type(error).__name__}", str(stack.directory))
        return Outcome(stack.name, file, time.perf_counter() - started, failure=failure)
    documents = compiled.spec.documents()
    if chunk.format == "json":
        text = json.dumps(documents, indent=2, ensure_ascii=False) + "\n"
    else:
        text = yaml_text(documents)
        text = text if text.endswith("\n") else text + "\n"
    content = text.encode("utf-8", "surrogatepass")
    write_private(target, content)
    own, shared = read_by(stack, compiled.dependencies)
    return Outcome(
        stack.name,
        file,
        time.perf_counter() - started,
        text.count("\n"),
        written_state(target, content),
        sets.setdefault(shared, shared),  # the same set is sent to whoever waits once
        own,
        tuple(each.message for each in compiled.diagnostics),
    )


def _hold_finals(stack: Stack, chunk: Chunk) -> None:
    """Raises `FinalOverridden` where what is given sets otherwise what a baseline says for good."""
    key = secrets.token_bytes(32)

    def evaluate(given: CompileInputs) -> Configured:
        request = ConfigurationRequest((stack,), chunk.root, chunk.plugins, {}, chunk.allowance, given, key)
        return next(evaluate_each(request))

    refuse_overridden(stack, chunk.root, chunk.inputs, chunk.today, evaluate)


def _chunks(wanted: Wanted, stacks: Sequence[Stack]) -> Sequence[Chunk]:
    size = max(1, min(_CHUNK, len(stacks) // 16))
    whole = Chunk(
        (),
        wanted.tree.root,
        wanted.inputs.plain(),
        wanted.folder,
        wanted.format,
        wanted.plugins,
        version(),
        wanted.allowance,
        wanted.today,
    )
    return [replace(whole, stacks=tuple(stacks[at : at + size])) for at in range(0, len(stacks), size)]


def _touched(wanted: Wanted, known: Mapping[str, Record], index: Index) -> frozenset[str]:
    """Returns the stacks that the files in `only` touch: exactly where a stack was compiled, else by place.

    A folder, such as that of a submodule with another commit, stands for all that is in it.
    """
    files = {str(each): each for each in wanted.only or ()}
    meant = index.meant(files) | index.below(filter(os.path.isdir, files))
    folders = index.meant({os.path.dirname(each) for each in files})
    read: dict[StackPath, frozenset[Path]] = {}
    for stack in wanted.tree.stacks():
        record = known.get(stack.name)
        if record is not None:
            found = {meant[each] for each in record.has_read(meant)}
            if not found:  # a file that is new was not read: its folder was
                listed = {folders[each] for each in record.has_read(folders)}
                found = {each for each in files if os.path.dirname(each) in listed}
            read[stack.path] = frozenset(files[each] for each in found)
    return frozenset(map(str, affected(wanted.tree, files.values(), read).stacks))


def _common_key(wanted: Wanted, bounds: Bounds) -> str:
    options = [f"{key}={value}" for key, value in sorted(wanted.inputs.options.items())]
    options += [f"{path}={text}" for path, text in sorted(wanted.inputs.overlay.items())]
    if options or wanted.inputs.settings:  # what is final decides whether they may be given
        options.append(_text_of(wanted.tree.root / DIMENSIONS_FILE))
    plugins = wanted.plugins
    settings = sorted((name, sorted(values.items())) for name, values in plugins.settings.items()) if plugins else []
    return digest_of(
        [version(), wanted.format, *options, "", *wanted.inputs.settings, "", code(), repr(settings), repr(bounds)]
    )


def _text_of(file: Path) -> str:
    try:
        return read_regular(file).decode("utf-8", "replace")
    except OSError:
        return ""


def _key(stack: Stack, wanted: Wanted, common: str) -> str:
    by = stack.placement.namespace.by if stack.placement is not None and stack.placement.namespace is not None else ""
    return digest_of([common, str(stack.path), str(stack.directory), str(stack.project_directory), by])[:32]


def _is_there(folder: Path, record: Record | None) -> bool:
    try:
        return record is not None and os.path.lexists(place(folder, record.file))
    except EngineError:
        return False


def _remove(folder: Path, file: str) -> None:
    """What a link leads to outside of the folder is not the Spec that was written, and stays."""
    try:
        found = place(folder, file)
    except EngineError:
        return
    try:
        found.unlink()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise EngineError(
            f"cannot be removed: {error.strerror}", where=str(found), hint="name another folder with --into"
        ) from error
