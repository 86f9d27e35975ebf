"""Warm equals cold: after any edits every way to compile shows what it would if it had never seen the repository.

A sequence begins with the repository as it was, and is some edits (`freshness/edits.py`); after each the ways to
compile (`freshness/faces.py`) are held against themselves without caches, diagnostics and provenance included. The
caches stay from one sequence to the next. `make soak` tries 2,000 for each repository, `make test` few, and
`KONFIG_WORKBENCH_EDIT_SEQUENCES` says how many, `KONFIG_WORKBENCH_EDIT_SEED` which.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from kcl import api
from tests.kcl.clocks import let_tick, wait_until_settled
from tests.properties.freshness.edits import Edits, edited
from tests.properties.freshness.faces import Command, CommandLine, Everything, Face, Places, Resident, Run
from tests.properties.freshness.observation import difference
from tests.properties.freshness.repositories import KONFIG, SAMPLE, Repository, copied, generated
from tests.sizes import size

SEED = int(os.environ.get("KONFIG_WORKBENCH_EDIT_SEED", "20231121"))
SEQUENCES = int(os.environ.get("KONFIG_WORKBENCH_EDIT_SEQUENCES", size(0, 2000)))
_MOST_EDITS = 4
_HOUR = 3_600_000_000_000


class Sequences:
    """Random sequences over one repository."""

    def __init__(self, repository: Repository, faces: Sequence[tuple[Face, float]], run: Run, seed: int = SEED) -> None:
        self._rng = random.Random(seed)
        self._edits = Edits(repository, self._rng)
        self._faces, self._run, self._stacks = faces, run, repository.names()
        self.compared = 0
        self.wrong = 0
        """How often the program was wrong."""

    def check(self, number: int) -> None:
        for each in range(number):
            self._edits.reset()
            for _ in range(self._rng.randrange(1, _MOST_EDITS + 1)):
                self._step(each)

    def _step(self, number: int) -> None:
        rng = self._rng
        stack = rng.choice(self._stacks)
        chosen = [face for face, share in self._faces if rng.random() < share]
        self._run.ahead = rng.choice((0, _HOUR, _HOUR, -_HOUR))
        if chosen and rng.random() < 0.7:
            wait_until_settled()  # what was written just now is not kept
        for face in (self._run, *chosen):
            face.warm(stack)
        files = self._run.files(stack)
        self._run.ahead = rng.choice((0, _HOUR, -_HOUR))
        let_tick(self._run.places.folder)
        for _ in range(rng.choice((1, 1, 2))):
            self._edits.edit(files)
        self._run.overlay = self._what_if(files) if rng.random() < 0.15 else {}
        for face in chosen or (self._run,):
            self._compare(face, stack, number)
        self._run.overlay = {}

    def _what_if(self, files: Sequence[Path]) -> dict[str, str]:
        code = [each for each in files if each.suffix == ".k" and each.is_file()]
        if not code:
            return {}
        file = self._rng.choice(code)
        return {str(file): edited(file.read_text(encoding="utf-8"), self._rng)}

    def _compare(self, face: Face, stack: str, number: int) -> None:
        warm = face.warm(stack)
        cold = face.cold(stack)
        self.compared += 1
        self.wrong += "rendered" in cold or bool(cold.get("failed"))
        told = difference(warm, cold)
        history = "\n".join(self._edits.log)
        assert not told, f"seed {SEED}, sequence {number}: {face.name} of {stack} after\n{history}\n{told}"


def _sequences(repository: Repository, folder: Path, *, shares: tuple[float, float, float, float, float]) -> Sequences:
    """`shares`: how likely `api.run`, `kcl run`, `wb compile --all`, a session and `wb compile` are tried at a step."""
    places = Places(repository, folder / "caches")
    run = Run(places)
    faces = (run, CommandLine(places), Everything(places), Resident(places), Command(places))
    return Sequences(repository, list(zip(faces, shares, strict=True)), run)


def test_a_generated_repository(tmp_path: Path) -> None:
    repository = generated(random.Random(SEED), tmp_path)
    sequences = _sequences(repository, tmp_path, shares=(0.6, 0.4, 0.3, 0.25, 0.02))
    sequences.check(SEQUENCES or 3)
    assert sequences.wrong < 0.7 * sequences.compared, "hardly a program was right: nothing was told apart"


@pytest.mark.parametrize("source", [SAMPLE, KONFIG], ids=["sample", "konfig-2023"])
def test_a_copy_of_a_repository(source: Path, tmp_path: Path) -> None:
    sequences = _sequences(copied(source, tmp_path), tmp_path, shares=(0.5, 0.2, 0.1, 0.2, 0.02))
    sequences.check(SEQUENCES or 1)


_WRITER = """
import os, random, sys, time
rng = random.Random(int(sys.argv[1]))
for number in range(int(sys.argv[2])):
    path = rng.choice(sys.argv[3:])
    written = os.stat(path)
    text = open(path).read()
    digits = [at for at, each in enumerate(text) if each.isdigit() and text[at - 1] == " "]
    if digits:  # it may be empty: the other process is writing it
        at = rng.choice(digits)
        text = text[:at] + rng.choice("123456789") + text[at + 1 :]
        name = path if rng.random() < 0.5 else f"{path}.{os.getpid()}"
        with open(name, "w") as file:
            file.write(text)
        os.replace(name, path)
        os.utime(path, ns=(written.st_mtime_ns, written.st_mtime_ns))
    time.sleep(rng.random() / 100)
"""
_COMPILER = """
import sys
from kcl import api
for _ in range(int(sys.argv[1])):
    try:
        api.run(work_dir=sys.argv[2], settings=["kcl.yaml"], cache=api.ParseCache(store=api.Store(sys.argv[3])))
    except api.ProgramError:
        pass
"""


def test_two_processes_write_while_two_compile(tmp_path: Path) -> None:
    repository = generated(random.Random(SEED), tmp_path)
    places = Places(repository, tmp_path / "caches")
    run, others = Run(places), (CommandLine(places), Everything(places))
    for number in range(SEQUENCES // 20 or 1):
        repository.reset()
        wait_until_settled()
        stack = repository.names()[number % 4]
        run.warm(stack)
        files = [str(each) for each in run.files(stack) if each.suffix == ".k" and "models" in each.parts]
        writers = [[sys.executable, "-c", _WRITER, str(number * 2 + each), "50", *files] for each in range(2)]
        store = places.store(run.name).folder
        compiler = [sys.executable, "-c", _COMPILER, "8", str(repository.folder(stack)), store]
        started = [subprocess.Popen(each) for each in (*writers, compiler)]
        while any(each.poll() is None for each in started):
            for face in (run, *others):
                with suppress(api.SourceChanged):  # between a result and a look at its texts: it says so
                    face.warm(stack)
        assert [each.returncode for each in started] == [0, 0, 0]
        for face in (run, *others):
            told = difference(face.warm(stack), face.cold(stack))
            assert not told, f"round {number}: {face.name} of {stack}\n{told}"


def test_files_changed_on_disk_are_seen(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text('[package]\nname = "p"\n')
    (tmp_path / "models").mkdir()
    (tmp_path / "main.k").write_text("import models\n\na = models.a\n")
    model = tmp_path / "models" / "a.k"
    cache = api.ParseCache()
    for number in range(20):  # faster than the clock of many file systems ticks
        model.write_text(f"a = {number % 10}\n")
        result = api.run(["main.k"], work_dir=tmp_path, cache=cache)
        assert result.documents == ({"a": number % 10},)


def test_options_and_folders_differ_between_runs_that_share_what_was_compiled(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text('[package]\nname = "p"\n')
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.k").write_text(
        'import file\n\n_given = option("given")\n\n'
        'schema A:\n    given: int = _given\n    said: str = file.read("said")\n'
    )
    cache = api.ParseCache()
    for name, given in [("one", 1), ("two", 2), ("one", 3)]:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "main.k").write_text("import models\n\na = models.A {}\n")
        (tmp_path / "models" / "said").write_text(f"from {given}")
        result = api.run(["main.k"], work_dir=folder, options={"given": given}, cache=cache)
        assert result.documents == ({"a": {"given": given, "said": f"from {given}"}},)
