"""After any edit a session's compilation equals one that knows nothing, diagnostics and provenance included."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kcl import api

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample-konfig"
KONFIG = Path(os.environ.get("KONFIG_WORKBENCH_CONFORMANCE", ROOT.parent / "shared" / "conformance")) / "konfig-2023"
SEED = 20231121
FEW = 12
MANY = int(os.environ.get("KONFIG_WORKBENCH_EDITS", "40"))
"""Each takes a cold compilation; 500 are for who changes what is kept between compilations."""


@dataclass(frozen=True)
class Outcome:
    """Everything that can be seen of a compilation."""

    text: str
    printed: str
    findings: str
    places: tuple[object, ...]
    files: frozenset[Path]


def _outcome(stack: Path, overlay: Mapping[str, str], cache: api.ParseCache | None) -> Outcome:
    files = api.OverlayFileSystem(api.OsFileSystem(), overlay)
    try:
        result = api.run((), work_dir=stack, settings=["kcl.yaml"], file_system=files, cache=cache)
    except api.ProgramError as problem:
        return Outcome("", problem.printed, problem.render(), (), frozenset())
    places = tuple(
        (index, path, result.provenance.lookup(index, path))
        for index, document in enumerate(result.documents)
        for path in _leaves(document)
    )
    return Outcome(result.yaml(), result.printed, repr(result.diagnostics), places, result.dependencies)


def _leaves(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    match value:
        case dict():
            return [leaf for key, item in value.items() for leaf in _leaves(item, (*path, key))]
        case list():
            return [leaf for index, item in enumerate(value) for leaf in _leaves(item, (*path, index))]
        case _:
            return [path]


def _edited(text: str, chance: random.Random) -> str:
    """One change as somebody might make it; it may well be wrong."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    match chance.randrange(7):
        case 0:
            lines.insert(at, "")
        case 1:
            del lines[at]
        case 2:
            lines.insert(at, lines[at])
        case 3:
            lines.append(f"_added{chance.randrange(9)} = {chance.randrange(100)}")
        case 4:
            lines.append(f"schema Added{chance.randrange(9)}:\n    size: int = {chance.randrange(100)}\n")
        case 5:
            numbers = [index for index, line in enumerate(lines) if re.search(r"\b\d+\b", line)]
            if numbers:
                chosen = chance.choice(numbers)
                lines[chosen] = re.sub(r"\b\d+\b", str(chance.randrange(1, 99)), lines[chosen], count=1)
        case _:
            words = [index for index, line in enumerate(lines) if re.search(r'"\w+"', line)]
            if words:
                chosen = chance.choice(words)
                lines[chosen] = re.sub(r'"\w+"', f'"w{chance.randrange(99)}"', lines[chosen], count=1)
    return "\n".join(lines)


def _check(root: Path, edits: int) -> None:
    if not root.is_dir():
        pytest.skip(f"the inputs are not there: {root}")
    chance = random.Random(SEED)
    stacks = sorted(each.parent for each in root.rglob("kcl.yaml"))
    cache = api.ParseCache()
    overlay: dict[str, str] = {}
    wrong = 0
    for number in range(edits):
        stack = chance.choice(stacks)
        before = _outcome(stack, overlay, cache)
        own = sorted(each for each in before.files if each.suffix == ".k" and each.is_file())
        if not own or chance.random() < 0.4:
            own = sorted(stack.glob("*.k"))
        file = chance.choice(own)
        text = overlay.get(str(file)) or file.read_text(encoding="utf-8")
        overlay[str(file)] = _edited(text, chance)
        warm = _outcome(stack, overlay, cache)
        cold = _outcome(stack, overlay, None)
        assert warm == cold, f"edit {number} of {file} under {stack}"
        wrong += not warm.text
        if not warm.text or chance.random() < 0.3:
            overlay.clear()  # back to what is on disk, which the session must find again
    assert wrong < edits


@pytest.mark.parametrize("root", [SAMPLE, KONFIG], ids=["sample", "konfig-2023"])
def test_an_edit_compiles_as_if_nothing_were_known(root: Path) -> None:
    _check(root, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("root", [SAMPLE, KONFIG], ids=["sample", "konfig-2023"])
def test_any_of_many_edits_compiles_as_if_nothing_were_known(root: Path) -> None:
    _check(root, MANY)


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
