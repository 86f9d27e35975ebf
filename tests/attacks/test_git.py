"""Git inside a checkout runs nothing the checkout names, and the answer stays true."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.engine.errors import EngineError
from workbench.engine.git import run_git
from workbench.engine.revisions import changed_since
from workbench.notebook.worktree import uncommitted

_WHO = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
_Look = Callable[[Path], list[str]]


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *_WHO, *arguments], check=True, capture_output=True)


def _changed(root: Path) -> list[str]:
    return sorted(each.name for each in changed_since(root, "HEAD"))


def _uncommitted(root: Path) -> list[str]:
    found = uncommitted(root)
    assert found is not None
    return sorted(each.name for each in found)


LOOKS: dict[str, _Look] = {"wb compile --since": _changed, "notebook stacks()": _uncommitted}


class Hostile:
    """A repository with two committed files, one of them changed, and a program that leaves a marker when it runs."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.marker = folder / "ran"
        self.root.mkdir(parents=True)
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\necho ran >> '{self.marker}'\ncat\n")
        self.program.chmod(0o755)
        _git(self.root, "init", "-q")
        (self.root / "a.k").write_text("a = 1\n")
        (self.root / "b.k").write_text("b = 1\n")
        _git(self.root, "add", ".")
        _git(self.root, "commit", "-q", "-m", "one")

    def change(self) -> None:
        """The same size and an older time: git has to read the file to know."""
        (self.root / "a.k").write_text("a = 2\n")
        for each in ("a.k", "b.k"):
            os.utime(self.root / each, (1_000_000_000, 1_000_000_000))

    def config(self, *settings: tuple[str, str]) -> None:
        for key, value in settings:
            _git(self.root, "config", key, value)

    def attributes(self, text: str) -> None:
        (self.root / ".git" / "info").mkdir(exist_ok=True)
        (self.root / ".git" / "info" / "attributes").write_text(text)

    def hook(self, folder: Path, name: str) -> None:
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(self.program.read_text())
        (folder / name).chmod(0o755)


def _fsmonitor(it: Hostile) -> None:
    it.config(("core.fsmonitor", str(it.program)))


def _filter(key: str, driver: str = "evil") -> Callable[[Hostile], None]:
    def attack(it: Hostile) -> None:
        it.attributes(f"*.k filter={driver}\n")
        with (it.root / ".git" / "config").open("a") as config:
            config.write(f'[filter "{driver}"]\n\t{key} = {it.program}\n\trequired = true\n')

    return attack


def _included_filter(it: Hostile) -> None:
    it.attributes("*.k filter=evil\n")
    (it.root / ".git" / "more").write_text(f'[filter "evil"]\n\tclean = {it.program}\n')
    it.config(("include.path", "more"))


def _attributes_file(it: Hostile) -> None:
    (it.root / ".git" / "elsewhere").write_text("*.k filter=evil diff=evil\n")
    it.config(("core.attributesFile", str(it.root / ".git" / "elsewhere")), ("filter.evil.clean", str(it.program)))


def _textconv(it: Hostile) -> None:
    it.attributes("*.k diff=evil\n")
    it.config(("diff.evil.textconv", str(it.program)), ("diff.evil.cachetextconv", "false"))


def _driver(it: Hostile) -> None:
    it.attributes("*.k diff=evil\n")
    it.config(("diff.evil.command", str(it.program)))


def _external(it: Hostile) -> None:
    it.config(("diff.external", str(it.program)))


def _hooks(it: Hostile) -> None:
    it.hook(it.root / ".git" / "hooks", "post-index-change")


def _hooks_path(it: Hostile) -> None:
    it.hook(it.root / ".git" / "others", "post-index-change")
    it.config(("core.hooksPath", ".git/others"))


def _pager(it: Hostile) -> None:
    words = ("diff", "status", "ls-files", "config", "rev-parse")
    it.config(("core.pager", str(it.program)), *((f"pager.{each}", "true") for each in words))


def _aliases(it: Hostile) -> None:
    words = ("diff", "status", "ls-files", "config", "rev-parse")
    it.config(*((f"alias.{each}", f"!{it.program}") for each in words))


def _submodule(it: Hostile) -> None:
    inner = Hostile(it.root.parent / "inner")
    _git(it.root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "sub")
    _git(it.root, "commit", "-q", "-m", "two")
    _git(it.root / "sub", "config", "core.fsmonitor", str(it.program))
    _git(it.root / "sub", "config", "filter.other.clean", str(it.program))
    (it.root / ".git" / "modules" / "sub" / "info" / "attributes").write_text("*.k filter=other\n")
    os.utime(it.root / "sub" / "a.k", (1_000_000_000, 1_000_000_000))
    it.marker.unlink(missing_ok=True)  # what git ran for this preparation


ATTACKS: dict[str, Callable[[Hostile], None]] = {
    "fsmonitor": _fsmonitor,
    "clean filter": _filter("clean"),
    "smudge filter": _filter("smudge"),
    "process filter": _filter("process"),
    "filter with = in its name": _filter("clean", "a=b"),
    "filter with . in its name": _filter("clean", "a.clean"),
    "filter of an included file": _included_filter,
    "attributes file": _attributes_file,
    "textconv": _textconv,
    "diff driver": _driver,
    "external diff": _external,
    "hook": _hooks,
    "hooks path": _hooks_path,
    "pager": _pager,
    "aliases": _aliases,
    "submodule": _submodule,
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_look_at_a_checkout_runs_nothing_and_still_sees_the_change(attack: str, look: str, tmp_path: Path) -> None:
    it = Hostile(tmp_path)
    ATTACKS[attack](it)
    it.change()
    assert LOOKS[look](it.root) == ["a.k"]
    assert not it.marker.exists()


def _replaced(it: Hostile) -> None:
    it.change()
    _git(it.root, "commit", "-q", "-a", "-m", "two")
    _git(it.root, "replace", "HEAD~", "HEAD")
    _git(it.root, "reset", "-q", "--soft", "HEAD~")


def _work_tree(it: Hostile) -> None:
    elsewhere = it.root.parent / "elsewhere"
    elsewhere.mkdir()
    for name in ("a.k", "b.k"):
        (elsewhere / name).write_text(f"{name[0]} = 1\n")
    it.config(("core.worktree", str(elsewhere)))


def _marked(mark: str) -> Callable[[Hostile], None]:
    return lambda it: _git(it.root, "update-index", mark, "a.k")


def _times(it: Hostile) -> None:
    """The index says of a file that it had these times when it was the committed one."""
    it.config(("core.checkStat", "minimal"), ("core.trustctime", "false"))
    for each in ("a.k", "b.k"):
        os.utime(it.root / each, (1_000_000_000, 1_000_000_000))
    _git(it.root, "update-index", "--refresh")
    (it.root / "a.k").rename(it.root.parent / "former")  # what is unpacked is another file, and so is this


BLINDS: dict[str, Callable[[Hostile], None]] = {
    "replaced commit": _replaced,
    "another work tree": _work_tree,
    "assumed to be unchanged": _marked("--assume-unchanged"),
    "left out of the work tree": _marked("--skip-worktree"),
    "the same by its times": _times,
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("blind", BLINDS)
def test_nothing_that_git_keeps_hides_a_change(blind: str, look: str, tmp_path: Path) -> None:
    it = Hostile(tmp_path)
    BLINDS[blind](it)
    it.change()
    assert LOOKS[look](it.root) == ["a.k"]


@pytest.mark.parametrize("look", LOOKS)
def test_a_change_in_a_submodule_is_seen_and_runs_nothing(look: str, tmp_path: Path) -> None:
    it = Hostile(tmp_path)
    _submodule(it)
    assert LOOKS[look](it.root) == []
    (it.root / "sub" / "a.k").write_text("a = 2\n")
    assert LOOKS[look](it.root) == ["a.k"]
    _git(it.root / "sub", "update-index", "--assume-unchanged", "a.k")
    it.marker.unlink(missing_ok=True)  # what git ran for this preparation
    assert LOOKS[look](it.root) == ["a.k"]
    (it.root / "sub" / ".git").unlink()  # what is there now is nobody's
    assert LOOKS[look](it.root) == ["sub"]
    assert not it.marker.exists()


def test_what_a_sparse_checkout_leaves_out_has_not_changed(tmp_path: Path) -> None:
    it = Hostile(tmp_path)
    it.config(("core.sparseCheckout", "true"))
    (it.root / ".git/info").mkdir(exist_ok=True)
    (it.root / ".git/info/sparse-checkout").write_text("/a.k\n")
    _git(it.root, "read-tree", "-mu", "HEAD")
    assert not (it.root / "b.k").exists()
    assert [look(it.root) for look in LOOKS.values()] == [[], []]


@pytest.mark.parametrize("is_warned", ["true", "false"])
def test_a_tag_is_not_taken_for_the_branch_of_that_name(tmp_path: Path, is_warned: str) -> None:
    """Tags are fetched with a branch, and come first: `--since origin/main` would compare with such a one."""
    it = Hostile(tmp_path)
    _git(it.root, "update-ref", "refs/remotes/origin/main", "HEAD")
    it.change()
    _git(it.root, "commit", "-q", "-a", "-m", "two")
    _git(it.root, "tag", "origin/main")
    it.config(("core.warnAmbiguousRefs", is_warned))
    with pytest.raises(EngineError, match="several revisions of the name 'origin/main'"):
        changed_since(it.root, "origin/main")
    assert [each.name for each in changed_since(it.root, "refs/remotes/origin/main")] == ["a.k"]


_REMOTES: dict[str, tuple[tuple[str, str], ...]] = {
    "ext transport": (("remote.origin.url", "ext::{program}"), ("protocol.ext.allow", "always")),
    "ssh command": (("remote.origin.url", "ssh://localhost/x"), ("core.sshCommand", "{program}")),
    "credential helper": (("remote.origin.url", "http://127.0.0.1:9/x"), ("credential.helper", "!{program}")),
    "upload-pack": (("remote.origin.url", "."), ("remote.origin.uploadpack", "{program}")),
    "git proxy": (("remote.origin.url", "git://127.0.0.1:9/x"), ("core.gitProxy", "{program}")),
}


@pytest.mark.parametrize("remote", _REMOTES)
def test_objects_that_a_promised_remote_would_have_to_send_are_not_fetched(remote: str, tmp_path: Path) -> None:
    it = Hostile(tmp_path)
    it.change()
    it.config(
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        *((key, value.format(program=it.program)) for key, value in _REMOTES[remote]),
    )
    tree = subprocess.check_output(["git", "-C", str(it.root), "rev-parse", "HEAD^{tree}"], text=True).strip()
    (it.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(EngineError, match="git cannot tell what changed"):
        changed_since(it.root, "HEAD")
    assert uncommitted(it.root) is None
    assert not it.marker.exists()


def test_a_bare_repository_among_the_files_is_not_taken_for_the_repository(tmp_path: Path) -> None:
    it = Hostile(tmp_path)
    embedded = it.root / "stacks"
    subprocess.run(["git", "clone", "-q", "--bare", str(it.root), str(embedded)], check=True, capture_output=True)
    for key, value in (("core.bare", "false"), ("core.worktree", ".."), ("core.fsmonitor", str(it.program))):
        subprocess.run(["git", "config", "--file", str(embedded / "config"), key, value], check=True)
    with pytest.raises(EngineError, match="git cannot tell what changed"):
        changed_since(embedded, "HEAD")
    assert uncommitted(embedded) is None
    assert not it.marker.exists()


def test_settings_of_the_environment_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As CI sets `safe.directory`."""
    it = Hostile(tmp_path)
    _filter("clean")(it)
    it.change()
    for name, value in {"COUNT": "1", "KEY_0": "core.quotePath", "VALUE_0": "false"}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    (it.root / "ä.k").write_text("")
    found = run_git(it.root, "status", "--porcelain=v1", timeout=60)
    assert found.stdout.splitlines() == [" M a.k", "?? ä.k"]
    assert not it.marker.exists()
