"""However an input changes, the next compilation shows it: of all stacks, of one, and in a what-if."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kcl import api
from tests.kcl.clocks import wait_until_settled
from workbench.engine.compile import compile_now
from workbench.engine.compile_all import Chunk, Outcome, Wanted, compile_chunk, prepare
from workbench.engine.compiled import CompileInputs
from workbench.engine.whatif import WhatIf
from workbench.project import discover

BEFORE, AFTER = "before", "after!"
"""Of one length, so that nothing but the content tells files apart."""
_LAYOUT = {
    "clusters.yaml": "clusters: {}\n",
    "kcl.mod": '[package]\nname = "shop"\n',
    "models/app.k": f'colour = "{BEFORE}"\n',
    "models/folder/f.k": "n = 1\n",
    "linked/one/l.k": f'colour = "{BEFORE}"\n',
    "linked/two/l.k": f'colour = "{AFTER}"\n',
    "linked/one.k": f'colour = "{BEFORE}"\n',
    "linked/two.k": f'colour = "{AFTER}"\n',
    "apps/web/project.yaml": "name: web\n",
    "apps/web/base/base.k": "app = {size = 1}\n",
    "apps/web/dev/stack.yaml": "name: dev\n",
    "apps/web/dev/kcl.yaml": f"""\
kcl_cli_configs:
  file: [../base/base.k, main.k]
kcl_options:
  - {{key: colour, value: {BEFORE}}}
""",
    "apps/web/dev/main.k": """\
import models
import models.folder
import links.chosen
import links.file

_from = [models.colour, chosen.colour, file.colour, option("colour"), str(folder.n), option("more") or ""]
{
    apiVersion = "v1"
    kind = "ConfigMap"
    metadata = {name = "web", namespace = "default"}
    data.colours = ",".join(_from)
}
""",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    for name, text in _LAYOUT.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "links").mkdir()
    (root / "links/chosen").symlink_to("../linked/one")
    (root / "links/file.k").symlink_to("../linked/one.k")
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, ns=(_LONG_AGO, _LONG_AGO))
    wait_until_settled()
    return root


_LONG_AGO = 1_700_000_000_000_000_000


def _times_restored(change: Callable[[Path], None]) -> Callable[[Path], None]:
    """The change, after which every file and folder was last written when it was before."""

    def changed(root: Path) -> None:
        written = {path: path.stat().st_mtime_ns for path in (root, *root.rglob("*"))}
        change(root)
        for path, moment in written.items():
            if path.exists():
                os.utime(path, ns=(moment, moment))

    return changed


def _rewrite(root: Path, name: str = "models/app.k", moment: int = _LONG_AGO) -> None:
    path = root / name
    path.write_text(path.read_text().replace(BEFORE, AFTER))
    os.utime(path, ns=(moment, moment))


def _replace(root: Path) -> None:
    other = root / "models" / "other"
    shutil.copy2(root / "models/app.k", other)
    _rewrite(root, "models/other")
    other.replace(root / "models/app.k")


def _link_over(root: Path) -> None:
    (root / "models/app.k").unlink()
    (root / "models/app.k").hardlink_to(root / "linked/two.k")


def _swap(root: Path) -> None:
    (root / "linked/one.k").rename(root / "linked/third")
    (root / "linked/two.k").rename(root / "linked/one.k")


def _retarget(root: Path, link: str, target: str) -> None:
    (root / link).unlink()
    (root / link).symlink_to(target)


def _led_away(root: Path, folder: str) -> None:
    """What lies in the folder stays as it was, to the last time."""
    (root / folder).rename(root.parent / "outside")
    (root / folder).symlink_to("../outside")


def _remove_and_add(root: Path) -> None:
    (root / "models/app.k").unlink()
    _add(root, "models/app.k", f'colour = "{AFTER}"\n')


def _add(root: Path, name: str, text: str) -> None:
    (root / name).write_text(text)
    os.utime(root / name, ns=(_LONG_AGO, _LONG_AGO))


CHANGES: dict[str, Callable[[Path], None]] = {
    "content of the same size": _rewrite,
    "with restored times": _times_restored(_rewrite),
    "with times before those of then": lambda root: _rewrite(root, moment=_LONG_AGO - 3_600_000_000_000),
    "with times to come": lambda root: _rewrite(root, moment=time.time_ns() + 3_600_000_000_000),
    "another file in its place": _times_restored(_replace),
    "a hard link to another file": _times_restored(_link_over),
    "two files that change places": _times_restored(_swap),
    "a link to another file": _times_restored(lambda root: _retarget(root, "links/file.k", "../linked/two.k")),
    "a link to another folder": _times_restored(lambda root: _retarget(root, "links/chosen", "../linked/two")),
    "a file behind a link": _times_restored(lambda root: _rewrite(root, "linked/one.k")),
    "settings": _times_restored(lambda root: _rewrite(root, "apps/web/dev/kcl.yaml")),
    "removed and added": _times_restored(_remove_and_add),
    "added to a package": _times_restored(lambda root: _add(root, "models/folder/g.k", "n: int = 2\n")),
    "removed": _times_restored(lambda root: (root / "models/app.k").unlink()),
    "a folder where a file was": _times_restored(lambda root: (root / "links/file").mkdir()),
    "a folder behind a link out of the repository": lambda root: _led_away(root, "linked"),
    "kcl.mod removed": _times_restored(lambda root: (root / "kcl.mod").unlink()),
}
Seen = str


def _in_this_process(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
    for chunk in chunks:
        yield compile_chunk(chunk)


def _all(root: Path, specs: Path) -> Seen:
    """What `wb compile --all` leaves in its folder."""
    outcomes = list(prepare(Wanted(discover(root), CompileInputs(), specs)).run(_in_this_process))
    if outcomes and outcomes[0].failure is not None:
        return outcomes[0].failure.message
    return (specs / "web/dev.yaml").read_text()


def _one(root: Path, store: api.Store | None, cache: api.ParseCache | None = None) -> Seen:
    """What `api.run` answers."""
    try:
        return api.run(work_dir=root / "apps/web/dev", cache=cache or api.ParseCache(store=store)).yaml()
    except api.ProgramError as problem:
        return problem.render()


def _what_if(root: Path, cache: api.ParseCache) -> Seen:
    """What a what-if of another file shows."""
    tried = WhatIf(root).edit("apps/web/base/base.k", "app = {size = 2}\n")
    try:
        return compile_now(discover(root).select("web/dev"), tried.inputs, cache).spec.to_yaml()
    except Exception as problem:  # any failure is an answer, if it is the one of now
        return str(problem)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_next_compilation_shows_a_change(
    change: Callable[[Path], None], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KCL_RUN_CACHE", str(tmp_path / "cache"))
    store, cache, tried = api.Store(str(tmp_path / "store")), api.ParseCache(), api.ParseCache()
    (tmp_path / "store").mkdir(mode=0o700)
    before = [_all(root, tmp_path / "specs"), _one(root, store), _one(root, None, cache), _what_if(root, tried)]
    assert all(BEFORE in each for each in before)
    assert not prepare(Wanted(discover(root), CompileInputs(), tmp_path / "specs")).stale, "nothing was kept"
    change(root)
    after = [_all(root, tmp_path / "specs"), _one(root, store), _one(root, None, cache), _what_if(root, tried)]
    alone = [_all(root, tmp_path / "new"), _one(root, None), _one(root, None), _what_if(root, api.ParseCache())]
    assert after == alone
    assert all(new != old for new, old in zip(after, before, strict=True))


@pytest.mark.parametrize("moment", [_LONG_AGO, _LONG_AGO - 10**15], ids=["restored", "back"])
def test_a_change_during_the_run_is_shown_by_the_next(moment: int, root: Path, tmp_path: Path) -> None:
    def editing(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
        for outcomes in _in_this_process(chunks):
            _rewrite(root, moment=moment)
            yield outcomes

    wanted = Wanted(discover(root), CompileInputs(), tmp_path / "specs")
    list(prepare(wanted).run(editing))
    assert f"{BEFORE},{BEFORE}" in (tmp_path / "specs/web/dev.yaml").read_text()
    assert f"{AFTER},{BEFORE}" in _all(root, tmp_path / "specs")


def test_a_file_removed_during_the_run_is_missed_by_the_next(root: Path, tmp_path: Path) -> None:
    def removing(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
        for outcomes in _in_this_process(chunks):
            (root / "models/app.k").unlink()
            yield outcomes

    list(prepare(Wanted(discover(root), CompileInputs(), tmp_path / "specs")).run(removing))
    assert "colour" in _all(root, tmp_path / "specs")
    assert not (tmp_path / "specs/web/dev.yaml").exists()


def test_a_spec_that_somebody_edited_is_made_again(root: Path, tmp_path: Path) -> None:
    first = _all(root, tmp_path / "specs")
    spec = tmp_path / "specs/web/dev.yaml"
    written = spec.stat()
    spec.write_text(first.replace(BEFORE, AFTER))
    os.utime(spec, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert _all(root, tmp_path / "specs") == first


def test_a_change_that_is_taken_back_during_the_run_is_compiled_again(root: Path, tmp_path: Path) -> None:
    """Half of the stacks may be made of what was there in between."""
    file = root / "models/app.k"

    def editing(chunks: Sequence[Chunk]) -> Iterator[Sequence[Outcome]]:
        _rewrite(root)
        yield from _in_this_process(chunks)
        file.write_text(_LAYOUT["models/app.k"])

    first = _all(root, tmp_path / "specs")
    (root / "apps/web/base/base.k").write_text("app = {size = 3}\n")
    list(prepare(Wanted(discover(root), CompileInputs(), tmp_path / "specs")).run(editing))
    assert f"{AFTER},{BEFORE}" in (tmp_path / "specs/web/dev.yaml").read_text()
    assert _all(root, tmp_path / "specs") == first.replace("size: 1", "size: 3")


def test_settings_elsewhere_are_read_again_whatever_their_times(root: Path, tmp_path: Path) -> None:
    settings = tmp_path / "mine.yaml"
    to_come = time.time_ns() + 3_600_000_000_000

    def written(colour: str) -> str:
        settings.write_text(f"kcl_options:\n  - {{key: more, value: {colour}}}\n")
        os.utime(settings, ns=(to_come, to_come))
        inputs = CompileInputs(settings=(str(settings),))
        list(prepare(Wanted(discover(root), inputs, tmp_path / "specs")).run(_in_this_process))
        return (tmp_path / "specs/web/dev.yaml").read_text()

    assert ",red" in written("red")
    for colour in ("blu", "lil"):
        assert f",{colour}" in written(colour)
