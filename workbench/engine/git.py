"""Git as this program runs it: it looks at a checkout and starts nothing the checkout names.

The configuration and the attributes of a repository can name programs: hooks, a file system monitor, clean and smudge
filters, external diffs, text conversions, a pager, and, where objects are missing and a promised remote would have to
send them, credential helpers, an ssh command or a transport. A branch nobody has read may come with all of them, as a
repository embedded in the tree too. What stands on the command line and in the environment overrules them.

What it keeps may also make git blind: replacements of commits, another work tree, marks in the index that a file need
not be looked at, rules for when a file counts as the same. These are overruled as well.

A file that only a filter makes equal to its committed form (LFS) may thus count as changed: too much, never too little.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kcl.records import dataclass
from kcl.secrecy.environments import without_secrets
from workbench.project import checkout

_FIXED: Final = (
    "--no-pager", "--no-optional-locks", "--no-replace-objects",
    "-c", "safe.bareRepository=explicit",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.pager=cat",
    "-c", "diff.external=",
    "-c", "credential.helper=",
    "-c", "core.checkStat=default",
    "-c", "core.trustctime=true",
    "-c", "core.warnAmbiguousRefs=true",
)  # fmt: skip
_DIFFS: Final = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
# A look into a submodule would be a git of its own, with the configuration of that submodule: it is asked by `run_git`.
_OPTIONS: Final = {"diff": _DIFFS, "status": ("--ignore-submodules=dirty",)}
SUBMODULE: Final = "160000"
"""The mode of a submodule among the files of a commit, or of the index."""
_NO_FILTER: Final = {"clean": "", "smudge": "", "process": "", "required": "false"}


def run_git(root: Path, command: str, *arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
    """Runs a git command that only looks, in a folder; without a network, a prompt, or a program of the repository.

    Raises `OSError` where git cannot be started and `subprocess.TimeoutExpired` where it does not answer.
    """
    ended = run_git_bytes(root, command, *arguments, timeout=timeout)
    return subprocess.CompletedProcess(ended.args, ended.returncode, _text(ended.stdout), _text(ended.stderr))


def run_git_bytes(
    root: Path, command: str, *arguments: str, timeout: float, given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """The same for what is no text: the content of files. `given` is what the command reads."""
    environment = _environment(root)
    names = _run(root, environment, timeout, b"", "config", "--null", "--name-only", "--get-regexp", r"^filter\.")
    if names.returncode not in (0, 1):  # 1: there are none
        return names
    environment |= _without_filters(environment, _text(names.stdout))
    return _run(root, environment, timeout, given, command, *_OPTIONS.get(command, ()), *arguments)


def _text(said: bytes) -> str:
    return said.decode("utf-8", "surrogateescape")


def _run(
    root: Path, environment: Mapping[str, str], timeout: float, given: bytes, *words: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["git", *_FIXED, "-C", str(root), *words],
        env=environment,
        input=given,
        capture_output=True,
        timeout=timeout,
        check=False,
    )


@dataclass(frozen=True, slots=True)
class Overlooked:
    """What git does not look at when it is asked what changed: `files` that may have, and folders of `submodules`."""

    files: tuple[Path, ...] = ()
    submodules: tuple[Path, ...] = ()


def overlooked(root: Path, *, timeout: float) -> Overlooked:
    """Returns what below a folder git does not look at, and is there. Raises as `run_git`.

    Files are those it was told not to look at. One that only a sparse checkout leaves out is not there. Of a submodule
    it compares which commit is checked out, and not its files. A folder that is none of its checkouts any more, and has
    files, is among the files.
    """
    files: list[Path] = []
    submodules: list[Path] = []
    for line in run_git(root, "ls-files", "-v", "-s", "-z", timeout=timeout).stdout.split("\0"):
        said, _, name = line.partition("\t")
        path, is_marked = root / name, said[:1].islower() or said[:1] == "S"
        if said[2:].startswith(f"{SUBMODULE} "):
            (submodules if os.path.lexists(path / ".git") else files).append(path)
        elif is_marked:
            files.append(path)
    return Overlooked(tuple(filter(_has_something, files)), tuple(submodules))


def _has_something(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() and not path.is_symlink() else os.path.lexists(path)


def _environment(root: Path) -> dict[str, str]:
    """Returns the environment of this process without secrets, and with nothing left to ask, nor a remote to ask."""
    return {
        "GIT_WORK_TREE": str(checkout(root)),
        **without_secrets(os.environ, kept="GIT_"),
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "none",  # also overrules `protocol.ext.allow` of the repository
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_SSH_COMMAND": "false",
        "GIT_ASKPASS": "false",
        "GCM_INTERACTIVE": "never",
    }


def _without_filters(environment: Mapping[str, str], names: str) -> dict[str, str]:
    """Returns the variables that empty every filter driver named.

    In the environment, because `-c` ends a key at its first `=`, and a driver's name may hold one.
    """
    drivers = dict.fromkeys(
        each.removeprefix("filter.").rpartition(".")[0] for each in names.split("\0") if each.count(".") > 1
    )
    settings = [(f"filter.{driver}.{key}", value) for driver in drivers for key, value in _NO_FILTER.items()]
    count = environment.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    result = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for position, (key, value) in enumerate(settings, first):
        result |= {f"GIT_CONFIG_KEY_{position}": key, f"GIT_CONFIG_VALUE_{position}": value}
    return result
