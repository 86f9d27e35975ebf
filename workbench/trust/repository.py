"""Whether a checkout is looked at as data only: the untrusted mode, and the rule for when it begins by itself.

It begins where one of these is seen, and ends for that with `wb trust repository`, or `--trusted`:

- the folder, or its .git, belongs to another user of this machine (git's own rule for "dubious ownership", with the
  exceptions that the user's own git configuration names as safe.directory), or what makes it a repository does, in a
  folder where everybody may put files;
- a CI says that it builds a pull or merge request;
- what is checked out came by a pull or merge request (`gh pr checkout`, a fetched refs/pull/N/head): this commit of it
  is trusted then, and the next one is not.

Git is not started for this: it would have to be trusted with the checkout first.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kcl.records import dataclass
from workbench.trust.wants import Kind, Want, digest, short

_REQUEST: Final = re.compile(
    r"refs/(?:pull|pulls|merge-requests|pull-requests|changes)/\S+|refs/remotes/\S*\b(?:pr|pull|mr)/\S+"
)
_FETCHED: Final = re.compile(r"(?:pull|pulls|merge-requests|pull-requests)/\d+/(?:head|merge|from)(?=[\s:'])")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LARGEST_BYTES: Final = 4_000_000
_MARKS: Final = ("clusters.yaml", "kcl.mod", "project.yaml")


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Why a checkout is not taken for its user's own, as a clause; `digest` is what trusting it is bound to."""

    why: str
    digest: str


def suspicion(folder: Path) -> Suspicion | None:
    """Returns why the checkout at `folder` may not be its user's own; None where nothing says so. Reads a few files."""
    for owned in (folder, folder / ".git", *_marks_among_others(folder)):
        if (owner := _foreign_owner(owned)) is not None and not _is_safe(folder, os.environ):
            return Suspicion(f"{owned} belongs to another user of this machine ({owner})", digest("owner", owner))
    git = _git_folder(folder)
    if git is None:
        return None
    commit, names = _checked_out(git)
    request = next((match[0] for name in names if (match := _REQUEST.search(name))), "")
    return Suspicion(f"it is a pull request, {short(request)}", digest("commit", commit)) if request else None


def stamp(folder: Path) -> tuple[int, ...]:
    """Returns what changes with what is checked out: cheap enough to ask each time."""
    git = _git_folder(folder)
    return () if git is None else tuple(map(_changed, (git / "HEAD", git / "logs" / "HEAD")))


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def want(folder: Path, found: Suspicion) -> Want:
    return Want(Kind.REPOSITORY, short(folder.name), found.digest, where=str(folder), command="wb trust repository")


def _marks_among_others(folder: Path) -> Iterator[Path]:
    """Yields what makes a folder a repository, where everybody may put such a file: below /tmp, say."""
    try:
        is_open = folder.stat().st_mode & stat.S_IWOTH
    except OSError:
        return
    yield from (folder / each for each in _MARKS if is_open)


def _foreign_owner(path: Path) -> int | None:
    try:
        owner = path.lstat().st_uid
    except OSError:
        return None
    users = {str(os.geteuid())}
    if os.geteuid() == 0:
        users.add(os.environ.get("SUDO_UID", ""))  # who became root to do this is not somebody else
    return None if str(owner) in users else owner


def _is_safe(folder: Path, environment: Mapping[str, str]) -> bool:
    """Returns whether the user told git to take the folder for theirs. What the folder itself says does not count."""
    home = environment.get("HOME", "")
    own = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    named = environment.get("GIT_CONFIG_GLOBAL")
    files = [Path(named)] if named else [Path(own, "git/config"), Path(home, ".gitconfig")]
    found: list[str] = []
    for file in (Path("/etc/gitconfig"), *files):
        for value in _values(_text(file), "[safe]", "directory"):
            found = [*found, value] if value else []
    return any(each in ("*", str(folder)) or Path(each) == folder for each in found)


def _git_folder(folder: Path) -> Path | None:
    """Returns the folder with HEAD of a checkout; of a worktree that is not the one with the config."""
    git = folder / ".git"
    if git.is_dir():
        return git
    named = _text(git)
    return folder / named.removeprefix("gitdir:").strip() if named.startswith("gitdir:") else None


def _checked_out(git: Path) -> tuple[str, Iterator[str]]:
    """Returns the commit, and the names that tell where it came from."""
    named = _text(git / "commondir").strip()
    shared = git / named if named else git
    head = _text(git / "HEAD").strip()
    branch = head.removeprefix("ref:").strip() if head.startswith("ref:") else ""
    commit = (_ref(shared, branch) or _ref(git, branch)) if branch else head
    return commit, _origins(git, shared, branch, commit)


def _origins(git: Path, shared: Path, branch: str, commit: str) -> Iterator[str]:
    """Yields where a branch is pulled from and was fetched from, or of a detached HEAD all refs of its commit.

    Not of a branch: one's own may be the head of one's own request as well.
    """
    if branch:
        yield from _pulled_from(_text(shared / "config"), branch.removeprefix("refs/heads/"))
        yield from (f"refs/{match[0]}" for match in _FETCHED.finditer(_text(shared / "logs" / branch)))
        return
    if not _COMMIT.fullmatch(commit):
        return
    for line in (*_text(shared / "packed-refs").splitlines(), *_text(git / "FETCH_HEAD").splitlines()):
        if line.startswith(commit):
            yield line
    for place in ("pull", "merge-requests", "pull-requests", "remotes"):
        yield from _same(shared / "refs" / place, shared, commit)


def _same(folder: Path, shared: Path, commit: str) -> Iterator[str]:
    if not folder.is_dir():
        return
    for each in folder.rglob("*"):
        if each.is_file() and _text(each).strip() == commit:
            yield each.relative_to(shared).as_posix()


def _pulled_from(config: str, branch: str) -> Iterator[str]:
    """Yields `merge` of the branch's section, which `gh pr checkout` and `glab mr checkout` set to the request."""
    yield from _values(config, f'[branch "{branch}"]', "merge")


def _values(config: str, section: str, name: str) -> Iterator[str]:
    """Yields the values of a name in a section of git's configuration."""
    is_there = False
    for line in config.splitlines():
        plain = line.strip()
        if plain.startswith("["):
            is_there = plain == section
        elif is_there and re.match(rf"{name}\s*=", plain, re.IGNORECASE):
            yield plain.partition("=")[2].strip().strip('"')


def _ref(shared: Path, name: str) -> str:
    if found := _text(shared / name).strip():
        return found
    lines = (line.partition(" ") for line in _text(shared / "packed-refs").splitlines())
    return next((commit for commit, _, ref in lines if ref == name), "")


def _text(path: Path) -> str:
    """Returns a file of git's, "" where it is none that can be read."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
