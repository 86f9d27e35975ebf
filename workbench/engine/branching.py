"""Edits as a commit on a branch of their own: the work tree, the index and the branch one stands on stay as they are.

The objects are written by `git fast-import`, which runs no hook and no filter, and the branch is made last, in one
step: it either has the whole commit or is not there.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from workbench.engine.committing import refuse_commit
from workbench.engine.errors import EngineError
from workbench.engine.git import run_git_bytes

_SECONDS: Final = 60.0
_INSTEAD: Final = "save a patch instead"
_FILES: Final = ("100644", "100755")


def save_branch(root: Path, name: str, edits: Mapping[Path, str], message: str) -> str:
    """Commits texts of files on top of HEAD as a new branch; returns the short name of the commit.

    Raises `EngineError` where a branch of that name is there, or a commit of the files would hold more than the edits
    or need a program.
    """
    if _run(root, "check-ref-format", "--branch", name).returncode or name.startswith(("-", "@")):
        raise EngineError("is no name of a branch", where=name, hint="letters, digits, - and /")
    refuse_commit(root, tuple(edits), instead=_INSTEAD)
    if not _run(root, "rev-parse", "--verify", "--quiet", f"refs/heads/{name}").returncode:
        raise EngineError("is there already", where=f"branch {name}", hint="choose another name")
    head = _said(root, "rev-parse", "--verify", "HEAD^{commit}")
    interim = f"refs/workbench/{secrets.token_hex(8)}"
    try:
        _said(root, "fast-import", "--quiet", "--done", given=_stream(root, interim, head, edits, message))
        made = _said(root, "rev-parse", "--verify", interim)
        _said(root, "update-ref", "-m", "workbench: what-if", f"refs/heads/{name}", made, "0" * len(made))
    finally:
        _run(root, "update-ref", "-d", interim)
    return _said(root, "rev-parse", "--short=10", made)


def _stream(root: Path, ref: str, head: str, edits: Mapping[Path, str], message: str) -> bytes:
    """Returns what fast-import reads; see gitformat of git-fast-import(1)."""
    text = message.encode()
    lines = [
        b"commit " + ref.encode(),
        b"author " + _said(root, "var", "GIT_AUTHOR_IDENT").encode("utf-8", "surrogateescape"),
        b"committer " + _said(root, "var", "GIT_COMMITTER_IDENT").encode("utf-8", "surrogateescape"),
        b"data %d" % len(text),
        text,
        b"from " + head.encode(),
    ]
    top = Path(_said(root, "rev-parse", "--show-toplevel"))
    for path, content in edits.items():
        name = path.resolve().relative_to(top.resolve()).as_posix()
        data = content.encode()
        lines += [b"M %s inline %s" % (_mode(root, path).encode(), _quoted(name)), b"data %d" % len(data), data]
    return b"\n".join([*lines, b"done", b""])


def _mode(root: Path, path: Path) -> str:
    """Returns the mode that HEAD has a file with, that of a plain one where it has none."""
    found = _said(root, "ls-tree", "HEAD", "--", str(path)).split(" ")[0]
    if found and found not in _FILES:
        raise EngineError("is no plain file in git", where=str(path), hint="commit it yourself: git commit -- FILE")
    return found or _FILES[0]


def _quoted(name: str) -> bytes:
    return b'"' + name.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _said(root: Path, command: str, *arguments: str, given: bytes = b"") -> str:
    ended = _run(root, command, *arguments, given=given)
    if ended.returncode:
        said = ended.stderr.decode("utf-8", "replace").strip().splitlines() or [f"git ended with {ended.returncode}"]
        raise EngineError(f"git {command} failed: {said[0]}", where=str(root), hint=_INSTEAD)
    return ended.stdout.decode("utf-8", "surrogateescape").strip()


def _run(root: Path, command: str, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return run_git_bytes(root, command, *arguments, timeout=_SECONDS, given=given)
    except FileNotFoundError as error:
        raise EngineError("git is not installed", hint=_INSTEAD) from error
    except subprocess.TimeoutExpired as error:
        raise EngineError("git does not answer", where=str(root), hint=_INSTEAD) from error
