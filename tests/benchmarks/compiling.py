"""Compiling: what somebody waits for who edits, and what a whole repository costs. Ours and the official compiler's.

The official compiler rejects Konfig as of 2023: it gets a copy that `wb migrate` has brought to today's language, made
for the run in a temporary folder. Both sides are given the same copy, options and edits, and work from text to YAML
where a row does not say otherwise. Before anything is measured, the results of both are compared.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kcl import api
from kcl.loader import load_settings, merge_settings
from kcl.memo.inputs import SETTLED_NANOSECONDS
from kcl.source import OsFileSystem
from tests.benchmarks import programs
from tests.benchmarks.edits import Edit, edits
from tests.benchmarks.measuring import Faster, Group, Planned, Variant
from tests.benchmarks.sessions import Editor
from tests.kcl.conformance import FOLDER
from workbench.engine.compile import compile_now, new_cache
from workbench.engine.compiled import CompileInputs
from workbench.project import discover

SAMPLE = Path(__file__).parents[2] / "sample-konfig"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SHORT_ROUNDS = 15


@dataclass(frozen=True)
class Repository:
    """`stacks` are folders, `one` of them that is edited; `settings` those of their files that are read."""

    name: str
    root: Path
    stacks: tuple[Path, ...]
    one: Path
    settings: tuple[str, ...]

    def run(
        self, stack: Path, cache: api.ParseCache | None = None, overlay: Mapping[str, str] | None = None
    ) -> api.RunResult:
        files = api.OverlayFileSystem(api.OsFileSystem(), overlay) if overlay else None
        return api.run(work_dir=stack, settings=self.settings, cache=cache, file_system=files)

    def ours(self, stack: Path, cache: api.ParseCache | None = None, overlay: Mapping[str, str] | None = None) -> str:
        return self.run(stack, cache, overlay).yaml()

    def arguments(self, stack: Path) -> dict[str, Any]:
        """What the official compiler has to be told, in a form that another process can be given as well."""
        merged = merge_settings(load_settings(str(stack / name), OsFileSystem()) for name in self.settings)
        return {
            "work_dir": str(stack),
            "k_filename_list": [str(stack / name.replace("${KCL_MOD}", str(self.root))) for name in merged.files],
            "args": {name: json.dumps(value) for name, value in merged.option_values().items()},
        }

    def peers(self, stack: Path) -> str:
        return official(self.arguments(stack))


def agree(ours: str, theirs: str) -> None:
    """Raises AssertionError when two texts of YAML do not say the same."""
    if ours.rstrip("\n") != theirs.rstrip("\n"):
        mine, other = (list(yaml.load_all(text, Loader=_LOADER)) for text in (ours, theirs))
        assert mine == other, "the two compilers come to different results: there is nothing to compare"


def official(arguments: dict[str, Any]) -> str:
    from kcl_lib import api as peer

    told = dict(arguments)
    args = [peer.Argument(name=name, value=value) for name, value in told.pop("args", {}).items()]
    result = peer.API().exec_program(peer.ExecProgramArgs(**told, args=args))
    if result.err_message:
        raise RuntimeError(result.err_message)
    text: str = result.yaml_result
    return text


def konfig_2023(folder: Path) -> Repository | None:
    """Makes the migrated copy in `folder`; None where the real one is not there."""
    source = FOLDER / "konfig-2023"
    if not source.is_dir():
        return None
    root = folder / "konfig"
    shutil.copytree(source, root)
    subprocess.run(
        [sys.executable, "-m", "workbench", "-w", str(root), "migrate", "--write"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "WB_STATE_DIR": str(folder / "state")},
    )
    stacks = tuple(sorted(each.parent for each in root.rglob("kcl.yaml")))
    # the first of its applications whose main.k writes out a value that is deployed
    one = root / "appops/guestbook/dev"
    return Repository("konfig-2023", root, stacks, one, ("kcl.yaml", "ci-test/settings.yaml"))


def sample(folder: Path) -> Repository:
    root = folder / "sample"
    shutil.copytree(SAMPLE, root)
    stacks = tuple(each.directory for each in discover(root).stacks())
    return Repository("sample-konfig", root, stacks, root / "storefront/checkout/prod", ("kcl.yaml",))


def repositories(folder: Path) -> Iterator[Repository]:
    """Those that can be had, each made in `folder` when its turn comes."""
    konfig = konfig_2023(folder)
    if konfig is None:
        sys.stderr.write("konfig-2023 is not there: its rows are left out\n")
    else:
        yield konfig
    yield sample(folder)


def rows(repository: Repository, folder: Path) -> Iterator[Planned]:
    """The rows of one repository. `folder` is for what is kept on disk."""
    name, everything = repository.name, f"all {len(repository.stacks)} stacks"
    runs = folder / f"runs-{name}"
    yield Planned(
        (
            f"what-if: one value changed in main.k, until the new Spec ({name})",
            f"what-if: the same, until documents and provenance ({name})",
            f"what-if: the same, through a session until the Spec ({name})",
        ),
        lambda: _what_if(repository, folder / f"session-{name}"),
    )
    yield Planned((f"one stack, fresh process, warm cache ({name})",), lambda: _fresh(repository, runs))
    yield Planned(
        (f"one stack, fresh process, warm cache, main.k edited ({name})",), lambda: _fresh_edited(repository, runs)
    )
    yield Planned(
        (
            f"{everything}, one process, warm on-disk cache ({name})",
            f"{everything}, one process, warm on-disk cache, results not cached ({name})",
            f"{everything}, one process, cold, no cache ({name})",
            f"a shared model edited, {everything}, resident ({name})",
            f"{everything}, one process, resident, nothing edited ({name})",
        ),
        lambda: _all_stacks(repository, folder / f"packages-{name}"),
    )


def made_up() -> Iterator[Planned]:
    """The rows of programs that are written for measuring."""
    evaluation = "evaluation-bound: 5,000 instances, 30 attributes over 4 levels"
    yield Planned((evaluation,), lambda: _text(10, programs.EVALUATION))
    yield Planned(("a generated file of 100,000 lines",), lambda: _text(1, programs.generated(100_000)))


@dataclass
class Editing:
    """Makes one edit after the other, in memory for us and on disk for the official compiler."""

    repository: Repository
    stack: Path
    edit: Edit

    def __post_init__(self) -> None:
        self.numbers = itertools.count()

    def next(self) -> tuple[int, dict[str, str]]:
        number = next(self.numbers)
        return number, {self.edit.name: self.edit.edited(number)}

    def on_disk(self, work: Callable[[], object]) -> None:
        _, changed = self.next()
        file = Path(self.edit.name)
        file.write_text(changed[self.edit.name])
        try:
            work()
        finally:
            file.write_text(self.edit.text)

    def is_possible(self) -> bool:
        """Whether both compilers take it, and come to the same, in which the new value is."""
        number, changed = self.next()
        file = Path(self.edit.name)
        try:
            ours = self.repository.run(self.stack, overlay=changed)
            file.write_text(changed[self.edit.name])
            theirs = self.repository.peers(self.stack)
        except (api.ProgramError, RuntimeError):
            return False
        finally:
            file.write_text(self.edit.text)
        agree(ours.yaml(), theirs)
        return self.edit.is_in(ours.documents, number)


def _first_possible(repository: Repository, found: Iterable[tuple[Path, Edit]]) -> Editing:
    for stack, edit in found:
        editing = Editing(repository, stack, edit)
        if editing.is_possible():
            return editing
    raise AssertionError(f"nothing in {repository.name} can be edited")


def own_edit(repository: Repository) -> Editing:
    """An edit of a value in the one stack's main.k."""
    stack, main = repository.one, str(repository.one / "main.k")
    return _first_possible(repository, [(stack, each) for each in edits(repository.run(stack)) if each.name == main])


def shared_edit(repository: Repository) -> Editing:
    """An edit of a value in an imported file, which shows in the output of more stacks than any other does."""
    cache, reached = api.ParseCache(), Counter[tuple[str, int]]()
    examples: dict[tuple[str, int], tuple[Path, Edit]] = {}
    for stack in repository.stacks:
        result = repository.run(stack, cache)
        own = {(each.name, each.start): (stack, each) for each in edits(result)}
        imported = {place: found for place, found in own.items() if place[0] not in result.provenance.user_files}
        reached.update(imported.keys())
        examples.update(imported)
    first = sorted(reached, key=lambda place: (-reached[place], isinstance(examples[place][1].value, str), place))
    return _first_possible(repository, [examples[place] for place in first])


def _what_if(repository: Repository, state: Path) -> Group:
    """One value in the stack's main.k, another one every time, without anything on disk being touched by us."""
    editing = own_edit(repository)
    edit, stack = editing.edit, repository.one
    known = next(each for each in discover(repository.root).stacks() if each.directory == stack)
    settings = tuple(name for name in repository.settings if name != "kcl.yaml")  # which is read anyhow
    sessions, kept = new_cache(), api.ParseCache()

    def spec() -> None:
        _, changed = editing.next()
        overlay = {Path(name): text for name, text in changed.items()}
        compiled = compile_now(known, CompileInputs(settings=settings, overlay=overlay), sessions)
        assert compiled.spec.resources

    def documents() -> None:
        number, changed = editing.next()
        result = repository.run(stack, kept, changed)
        assert edit.is_in(result.documents, number) and result.provenance.lookup(*edit.reached)

    editor = Editor(repository.root, stack, settings, state)

    def session() -> None:
        number, _ = editing.next()
        editor.see(edit, number)

    return Group(
        (Variant(Faster(20), spec), Variant(Faster(20), documents), Variant(Faster(20), session)),
        lambda: editing.on_disk(lambda: repository.peers(stack)),
        _SHORT_ROUNDS,
        editor.close,
    )


def _fresh(repository: Repository, kept: Path) -> Group:
    """A process from start to end. The cache on disk is warm: the stack was compiled before by another process."""
    ours, theirs = _processes(repository, kept)
    time.sleep(2 * SETTLED_NANOSECONDS / 1e9)  # what was written a moment ago is not kept
    agree(ours(), theirs())
    return Group((Variant(Faster(5), ours),), theirs, _SHORT_ROUNDS)


def _fresh_edited(repository: Repository, kept: Path) -> Group:
    """The same after an edit of the stack: what is kept of the rest is all there is."""
    ours, theirs = _processes(repository, kept)
    editing = own_edit(repository)
    return Group((Variant(None, lambda: editing.on_disk(ours)),), lambda: editing.on_disk(theirs))


def _processes(repository: Repository, kept: Path) -> tuple[Callable[[], str], Callable[[], str]]:
    stack = repository.one
    settings = [part for name in repository.settings for part in ("-Y", name)]
    python = _installed(kept.with_name(f"{kept.name}-python"))
    ours = [python, "-m", "kcl", "run", *settings]
    script = "import sys, json; from tests.benchmarks.peer import run; run(json.loads(sys.argv[1]))"
    theirs = [python, "-c", script, json.dumps(repository.arguments(stack))]
    # Both sides begin from bytecode, as they do where they are installed.
    left_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    environment["KCL_RUN_CACHE"] = str(kept)

    def process(command: list[str]) -> str:
        ended = subprocess.run(command, cwd=stack, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        return ended.stdout

    return lambda: process(ours), lambda: process(theirs)


def _installed(folder: Path) -> str:
    """A Python that finds both compilers as where they are installed: without the hook of an editable installation,
    which takes as long to start as Python itself."""
    venv.create(folder, symlinks=os.name != "nt")
    places = (Path(__file__).parents[2], sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    own = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(folder)}))
    (own / "both.pth").write_text("".join(f"{each}\n" for each in dict.fromkeys(places)), encoding="utf-8")
    return str(Path(sysconfig.get_path("scripts", "venv", vars={"base": str(folder)})) / Path(sys.executable).name)


def _all_stacks(repository: Repository, on_disk: Path) -> Group:
    """All stacks in one process: with all that is kept on disk, a part of it, nothing, or all but a shared model."""
    stacks, editing = repository.stacks, shared_edit(repository)
    resident, kept = api.ParseCache(), api.ParseCache()
    for each in stacks:
        agree(repository.ours(each, resident), repository.peers(each))
        repository.ours(each, kept)

    def once(cache: api.ParseCache) -> None:
        for each in stacks:
            repository.ours(each, cache)

    def warm() -> None:
        """As a new process begins: all that there is lies on disk."""
        once(api.ParseCache(store=api.Store(str(on_disk))))

    def packages() -> None:
        """The same where imported packages are all that lies there."""
        once(api.ParseCache(store=api.Store(str(on_disk)), results=False))

    def cold() -> None:
        once(api.ParseCache())

    def edited() -> None:
        _, changed = editing.next()
        for each in stacks:
            repository.ours(each, resident, changed)

    def again() -> None:
        """Everything but results is in memory: they are kept nowhere but on disk."""
        once(kept)

    time.sleep(2 * SETTLED_NANOSECONDS / 1e9)
    warm()
    variants = (
        Variant(Faster(10), warm),
        Variant(None, packages),
        Variant(Faster(1), cold),
        Variant(Faster(5), edited),
        Variant(None, again),
    )
    return Group(variants, lambda: [repository.peers(each) for each in stacks])


def _text(goal: float, text: str) -> Group:
    told = {"work_dir": "/", "k_filename_list": ["main.k"], "k_code_list": [text]}

    def ours() -> str:
        return api.run(["main.k"], work_dir="/", texts={"main.k": text}).yaml()

    def theirs() -> str:
        return official(told)

    agree(ours(), theirs())
    return Group((Variant(Faster(goal), ours),), theirs)
