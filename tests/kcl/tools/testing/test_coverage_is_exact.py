"""What coverage says holds: a part said never reached may be anything, a part said reached may not.

Each part of the models in turn is replaced by something that fails as soon as it is evaluated. Of parts that no program
reaches nobody notices; of those that one reaches, a program fails or says otherwise.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kcl.api import Coverage, Observation, ParseCache, ProgramError, downloaded_folder, parse, run
from kcl.evaluator.coverage import Place, parts
from kcl.loader import default_settings_file
from kcl.source import OsFileSystem, OverlayFileSystem
from kcl.syntax import ast
from tests.kcl.conformance import ROOT, corpus
from tests.sizes import is_soak

_FAILS = '(option("reached nobody knows when", required=True))'
_EACH = int(os.environ.get("KONFIG_WORKBENCH_COVERED_PARTS", "12"))

Outcome = str
Reached = Mapping[str, frozenset[Place]]


def _outcome(folder: str, cache: ParseCache | None, texts: Mapping[str, str], coverage: Coverage | None) -> Outcome:
    files = OverlayFileSystem(OsFileSystem(), dict(texts)) if texts else None
    observation = None if coverage is None else Observation(coverage=coverage)
    try:
        result = run(
            (),
            work_dir=folder,
            vendor_dir=downloaded_folder({}),
            cache=cache,
            file_system=files,
            observation=observation,
        )
    except ProgramError as problem:
        return f"failed: {[each.message for each in problem.diagnostics]}"
    return result.yaml()


def _reached(folders: Sequence[str]) -> tuple[Reached, dict[str, Outcome]]:
    coverage = Coverage()
    observed = {folder: _outcome(folder, None, {}, coverage) for folder in folders}
    plain = {folder: _outcome(folder, None, {}, None) for folder in folders}
    assert observed == plain  # to be observed changes nothing
    return {path: frozenset(file.points) for path, file in coverage.taken().items()}, plain


def _held(folders: Sequence[str], models: Path) -> tuple[int, int]:
    """Replaces all parts never reached at once, and some reached ones in turn. Returns how many of each."""
    reached, before = _reached(folders)
    changed: dict[str, str] = {}
    never = 0
    some: list[tuple[str, Place]] = []
    for file in sorted(models.rglob("*.k")):
        if file.name.endswith("_test.k"):
            continue
        path, text = str(file), file.read_text()
        there = reached.get(path, frozenset())
        places = _replaceable(text, path)
        some += [(path, place) for place in places if place in there]
        outer = _outermost([place for place in places if place not in there])
        never += len(outer)
        for place in reversed(outer):
            text = _replaced(text, place)
        changed[path] = text
    cache = ParseCache()  # of what was not replaced: that an edit is seen is held elsewhere
    for folder in folders:
        assert _outcome(folder, cache, changed, None) == before[folder], f"{folder} reaches what it was said not to"
    chosen = random.Random(7).sample(some, min(_EACH, len(some)))
    for path, place in chosen:
        texts = {path: _replaced(Path(path).read_text(), place)}
        differs = any(_outcome(folder, cache, texts, None) != before[folder] for folder in folders)
        assert differs, f"{path} at {place} was said to be reached:\n{texts[path]}"
    return never, len(chosen)


def _outermost(places: Sequence[Place]) -> list[Place]:
    """Those that lie in no other, in order."""
    found: list[Place] = []
    for start, end in sorted(places, key=lambda place: (place[0], -place[1])):
        if not found or start >= found[-1][1]:
            found.append((start, end))
    return found


def _replaceable(text: str, path: str) -> list[Place]:
    """The points of a file that may be any expression, as far as the language's rules for texts go."""
    tree = parse(text, path).module
    fixed = {(each.start, each.end) for each in tree.body if isinstance(each, ast.Schema)}
    for statement in _statements(tree.body):
        match statement:
            case ast.Unification() | ast.Assign(value=ast.SchemaExpr() | ast.Lambda()):
                fixed.add((statement.value.start, statement.value.end))
            case _:
                pass
    return [place for place in parts(tree).points if place not in fixed]


def _statements(body: Sequence[ast.Stmt]) -> list[ast.Stmt]:
    found: list[ast.Stmt] = []
    for each in body:
        found.append(each)
        if isinstance(each, ast.Schema):
            found += _statements(each.body)
        elif isinstance(each, ast.If):
            found += [*_statements(each.body), *_statements(each.orelse)]
    return found


def _replaced(text: str, place: Place) -> str:
    return text[: place[0]] + _FAILS + text[place[1] :]


def _programs(root: Path) -> list[str]:
    files = OsFileSystem()
    folders = [folder for folder, _, _ in os.walk(root) if default_settings_file(folder, files) is not None]
    return sorted(folders)


def test_of_the_sample_repository() -> None:
    folders = _programs(ROOT / "sample-konfig")[:: 1 if is_soak() else 5]
    assert folders
    never, some = _held(folders, ROOT / "sample-konfig" / "models")
    assert never >= 20
    assert some >= 8


def test_of_the_konfig_of_2023() -> None:
    root = corpus("konfig-2023")
    folders = _programs(root / "appops")[:2]
    assert folders
    never, some = _held(folders, root / "base" / "pkg" / "kusion_models")
    assert never >= 100
    assert some >= 8


_PROGRAM = """schema Base:
    kept: int = 1
    given: int = 2
    computed: int = kept + 1 if kept > 0 else kept - 1

    check:
        kept > 0 if given > 100, "never asked"
        kept < 10 and given < 10

schema Never(Base):
    more: str = "x"

pick = lambda n: int -> str {
    word = "small"
    if n > 5:
        word = "large"
    elif n == 5:
        word = "five"
    else:
        word = "little"
    word
}
_items = [n for n in [1, 2, 3] if n > 1]
base = Base {
    given = 7
}
text = pick(1)
entries = {
    if text == "large":
        one = 1
    else:
        two = 2
    three = [
        4
        if text == "little":
            5
        else:
            6
    ]
}
found = all n in _items {
    n > 0
}
either = text or "nothing"
"""


@pytest.mark.parametrize("cached", [False, True])
def test_lines_of_each_construct(cached: bool, tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text(_PROGRAM)
    cache = ParseCache() if cached else None
    coverage = Coverage()
    observation = Observation(coverage=coverage)
    for _ in range(2):
        run(["main.k"], work_dir=tmp_path, cache=cache, observation=observation)
    (reached,) = coverage.taken().values()
    points = parts(parse(_PROGRAM).module).points
    missed = {_PROGRAM[start:end].split("\n")[0] for start, end in points if (start, end) not in reached.points}
    assert missed == {
        *("2", "kept - 1", "kept > 0", "schema Never(Base):", '"x"', '"large"', '"five"', "1", "6", '"nothing"')
    }


def test_outcomes_of_conditions(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text(_PROGRAM)
    coverage = Coverage()
    run(["main.k"], work_dir=tmp_path, observation=Observation(coverage=coverage))
    (reached,) = coverage.taken().values()
    outcomes = {_PROGRAM[start:end]: counts for (start, end), counts in reached.decisions.items()}
    assert {text: (bool(true), bool(false)) for text, (true, false) in outcomes.items()} == {
        "kept > 0": (True, False),
        "given > 100": (False, True),
        "n > 5": (False, True),
        "n == 5": (False, True),
        "n > 1": (True, True),
        'text == "large"': (False, True),
        'text == "little"': (True, False),
    }
