"""What `wb impact` says of an edit is what compiling everything before and after it says.

Seeds are fixed; KONFIG_WORKBENCH_IMPACTS=200 tries more of them.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from workbench.engine.compile import compile_now
from workbench.engine.compiled import CompileInputs
from workbench.engine.impact import ImpactReport, State
from workbench.project import WorkbenchError, discover
from workbench.session import Session
from workbench.settings import Settings

SEEDS = range(int(os.environ.get("KONFIG_WORKBENCH_IMPACTS", "3")))
_WHO = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
_STACKS = ("alpha/dev", "alpha/prod", "beta/dev", "beta/prod")
_READING = """\
import file
import models.link.linked
_at = file.modpath() + "/data/"
_there = str(file.exists(_at + "flag")) + str(file.exists(_at + "deep/er/flag")) + file.read(_at + "read.txt")
_there += str(len(file.glob(_at + "*.txt")))
"""
Specs = Mapping[str, Mapping[str, Any] | None]


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *_WHO, *words], check=True, capture_output=True)


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def repository(root: Path) -> Path:
    """Two projects of two stacks below the top of a checkout, which has a package as well.

    Models are imported by all, some or none of them, one by a link, and one looks for files by a glob.
    """
    write(root.parent / "library/kcl.mod", '[package]\nname = "library"\n')
    write(root.parent / "library/lib.k", "lib = 'lib'\n")
    write(root / "kcl.mod", '[package]\nname = "konfig"\n[dependencies]\nlibrary = {path = "../library"}\n')
    write(root / "models/shared.k", "schema Config:\n    name: str\n    size: int = 1\n    note: str = 'n'\n")
    write(root / "models/alpha_only.k", "limit = 7\n")
    write(root / "models/unused.k", "nothing = 1\n")
    write(root / "real/linked.k", "linked = 'l'\n")
    (root / "models/link").symlink_to("../real")
    write(root / "data/one.txt", "1")
    write(root / "data/read.txt", "r")
    for stack in _STACKS:
        project, name = stack.split("/")
        write(root / project / "project.yaml", f"name: {project}\n")
        write(root / project / "base/base.k", f"import models.shared\nconfig = shared.Config {{name = '{project}'}}\n")
        write(root / stack / "stack.yaml", f"name: {name}\n")
        more = "import models.alpha_only\nimport library.lib\n" if project == "alpha" else _READING
        value = "str(alpha_only.limit) + lib.lib" if project == "alpha" else "linked.linked + _there"
        write(
            root / stack / "main.k",
            f"import models.shared\n{more}config: shared.Config {{note = '{name}'}}\nobjects = [{{\n"
            "    apiVersion = 'v1', kind = 'ConfigMap', metadata = {name = config.name}\n"
            f"    data = {{note = config.note, size = str(config.size), more = {value}}}\n}}]\n"
            "manifests = [each for each in objects]\n",
        )
        write(
            root / stack / "kcl.yaml",
            "kcl_cli_configs:\n  files: [../base/base.k, main.k]\n  path_selector: [objects]\n",
        )
    git(root.parent, "init", "-q")
    git(root.parent, "add", "-A")
    git(root.parent, "commit", "-qm", "x")
    return root


def _replace(file: str, old: str, new: str) -> Callable[[Path, random.Random], None]:
    def edit(root: Path, rng: random.Random) -> None:
        path = root / file
        if path.is_file():
            path.write_text(path.read_text().replace(old, new + str(rng.randrange(2)) if new.isdecimal() else new))

    return edit


def _append(file: str, text: str) -> Callable[[Path, random.Random], None]:
    def edit(root: Path, rng: random.Random) -> None:
        path = root / file
        if path.parent.is_dir():
            path.write_text((path.read_text() if path.is_file() else "") + text)

    return edit


def _remove(file: str) -> Callable[[Path, random.Random], None]:
    return lambda root, rng: (root / file).unlink(missing_ok=True)


def _relink(root: Path, rng: random.Random) -> None:
    write(root / "other/linked.k", f"linked = 'other{rng.randrange(2)}'\n")
    (root / "models/link").unlink(missing_ok=True)
    (root / "models/link").symlink_to("../other")


def _deepen(root: Path, rng: random.Random) -> None:
    write(root / "data/deep/er/flag", "")


EDITS: tuple[Callable[[Path, random.Random], None], ...] = (
    _replace("models/shared.k", "size: int = 1", "size: int = 1"),
    _append("models/shared.k", "# a comment\n"),
    _append("models/shared.k", "schema Other:\n    x: int\n"),
    _replace("models/alpha_only.k", "7", "8"),
    _append("models/unused.k", "more = 2\n"),
    _replace("real/linked.k", "'l'", "'m'"),
    _append("data/two.txt", "2"),
    _remove("data/one.txt"),
    _append("data/flag", ""),
    _append("data/read.txt", "more"),
    _deepen,
    _append("models/new.k", "fresh = 1\n"),
    _append("alpha/base/base.k", "config: shared.Config {size = 4}\n"),
    _replace("beta/prod/main.k", "note = 'prod'", "note = 'changed'"),
    _append("beta/dev/main.k", "}{\n"),
    _remove("alpha/dev/main.k"),
    _remove("beta/dev/stack.yaml"),
    _replace("beta/prod/stack.yaml", "prod", "live"),
    _append("README.md", "read me\n"),
    _append("kcl.mod", "# a comment\n"),
    _append("kcl.mod", '[profile]\nentries = ["main.k"]\n'),
    _append("../library/lib.k", "# a comment\n"),
    _replace("../library/lib.k", "'lib'", "'lob'"),
    _replace("alpha/prod/kcl.yaml", "files: [../base/base.k, main.k]", "files: [main.k, ../base/base.k]"),
    _append("alpha/crd/one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"),
    _replace("beta/project.yaml", "beta", "gamma"),
    _append("gamma/fresh/stack.yaml", "name: fresh\n"),
    _relink,
)


def brute(root: Path) -> Specs:
    """All stacks compiled, without any record; None for one that cannot be."""
    found: dict[str, Mapping[str, Any] | None] = {}
    for stack in discover(root).stacks():
        try:
            spec = compile_now(stack, CompileInputs()).spec
            found[stack.name] = {str(each.id): dict(each.attributes) for each in spec}
        except WorkbenchError:
            found[stack.name] = None
    return found


def impact(root: Path, state: Path, revision: str = "") -> ImpactReport:
    async def run() -> ImpactReport:
        settings = Settings.load({"WB_STATE_DIR": str(state / "state"), "WB_CACHE_DIR": str(state / "cache")})
        async with Session.open(root, settings=settings) as session:
            return await session.impact(revision=revision)

    return asyncio.run(run())


def expected(before: Specs, after: Specs, renamed: Mapping[str, str]) -> dict[str, State]:
    found: dict[str, State] = {}
    for name in after.keys() | (before.keys() - renamed.values()):
        former = renamed.get(name, name)
        sides = [each[key] for each, key in ((before, former), (after, name)) if key in each]
        if any(each is None for each in sides):
            found[name] = State.UNKNOWN
        elif former not in before:
            found[name] = State.NEW
        elif name not in after:
            found[name] = State.REMOVED
        elif former != name:
            found[name] = State.RENAMED
        elif before[name] != after[name]:
            found[name] = State.CHANGED
    return found


def told(report: ImpactReport) -> dict[str, State]:
    return {each.stack: each.state for each in report.affected}


@pytest.mark.parametrize("seed", SEEDS)
def test_impact_equals_compiling_everything_twice(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    root = repository(tmp_path / "checkout" / "repo")
    before = brute(root)
    was = {str(each.directory): each.name for each in discover(root).stacks()}
    assert len(before) == len(_STACKS) and None not in before.values()
    for each in rng.sample(EDITS, rng.choice((1, 1, 2, 3))):
        each(root, rng)
    after = brute(root)
    folders = {str(each.directory): each.name for each in discover(root).stacks()}
    renamed = {folders[folder]: name for folder, name in was.items() if folder in folders and folders[folder] != name}
    wanted = expected(before, after, renamed)
    report = impact(root, tmp_path)
    assert told(report) == wanted, report
    for stack in report.affected:
        if stack.state in (State.CHANGED, State.RENAMED):
            one, other = before[renamed.get(stack.stack, stack.stack)], after[stack.stack]
            assert one is not None and other is not None
            differing = {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
            assert {str(each.address.id) for each in stack.changes} == differing
            assert all(each.fields for each in stack.changes)
    assert report.is_certain == (State.UNKNOWN not in wanted.values())
    git(root.parent, "add", "-A")
    git(root.parent, "commit", "-qm", "y", "--allow-empty")
    assert told(impact(root, tmp_path, "HEAD~1..HEAD")) == wanted
    assert not impact(root, tmp_path).affected or State.UNKNOWN in wanted.values()
