"""Packages in git repositories, through the `git` of the machine. The only module here that starts a process.

Nothing a repository holds is run: no hooks, no filters of its own, links become plain files that hold their target.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kcl.loader.requirement import GitSource
from kcl.packages.failure import PackageFailure, without_credentials
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.secrecy.environments import for_others

_TIMEOUT_SECONDS: Final = 300
_PROTOCOLS: Final = "https:http:ssh:file"
_FULL_COMMIT: Final = pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT_COMMIT: Final = pattern(r"[0-9a-f]{4,64}")
_PASSWORD: Final = pattern(r"[^/]*://[^/@]*:[^/@]*@")
_REFERENCE: Final = pattern(r"(?!-)[\w./+@-]+")
_SECURE: Final = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", "-c", "core.autocrlf=false",
    "-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null", "-c", "core.pager=cat",
    "-c", "diff.external=", "-c", "safe.bareRepository=explicit", "-c", "advice.detachedHead=false",
)  # fmt: skip


def canonical_url(url: str) -> str:
    """`url` as git takes it: `git://` means https here, as in the official tool."""
    return "https://" + url.removeprefix("git://") if url.startswith("git://") else url


def _checked(url: str) -> str:
    """`url` as git takes it. Raises PackageFailure for one that is none, or that gives a password away."""
    result = canonical_url(url)
    if not result or result.startswith("-"):
        raise PackageFailure(f"'{url}' is no address of a git repository")
    if _PASSWORD.match(result):
        raise PackageFailure(
            f"the address {url} holds a password, which kcl.mod.lock would give to everybody",
            "leave it out and let git's credential helper know it",
        )
    return result


@dataclass(frozen=True, slots=True)
class Git:
    """The program, run in this environment."""

    environment: Mapping[str, str]

    def check_out(self, source: GitSource, folder: Path) -> str:
        """Fills `folder`, which must not exist, with the files of that state and answers its commit.

        Raises PackageFailure.
        """
        url = _checked(source.url)
        if source.reference and not _REFERENCE.fullmatch(source.reference):
            raise PackageFailure(f"'{source.reference}' is no tag, branch or commit")
        if source.commit and not _SHORT_COMMIT.fullmatch(source.commit):
            raise PackageFailure(f"'{source.commit}' is no commit")
        folder.mkdir(parents=True)
        self._run(folder, "init", "--quiet")
        wanted = self._fetch(folder, url, source)
        self._run(folder, "checkout", "--quiet", "--force", wanted)
        commit = self._run(folder, "rev-parse", "HEAD").strip()
        shutil.rmtree(folder / ".git")
        return commit

    def newest_commit(self, url: str) -> str:
        """The commit of the default branch. Raises PackageFailure."""
        with tempfile.TemporaryDirectory() as folder:
            answer = self._run(Path(folder), "ls-remote", "--", _checked(url), "HEAD")
        commit = answer.partition("\t")[0].strip()
        if not _FULL_COMMIT.fullmatch(commit):
            raise PackageFailure(f"the repository {url} has no default branch", "say --tag, --branch or --commit")
        return commit

    def _fetch(self, folder: Path, url: str, source: GitSource) -> str:
        """Gets the state from the repository and answers what it is called in `folder` now."""
        if source.tag:
            reference = f"refs/tags/{source.tag}"
        elif source.branch:
            reference = f"refs/heads/{source.branch}"
        elif source.commit and not _FULL_COMMIT.fullmatch(source.commit):
            # The beginning of a name can be told only by who has all commits.
            self._run(folder, "fetch", "--quiet", "--", url, "+refs/heads/*:refs/remotes/all/*")
            return f"{source.commit}^{{commit}}"
        else:
            reference = source.commit or "HEAD"
        self._run(folder, "fetch", "--quiet", "--depth=1", "--no-tags", "--", url, reference)
        return "FETCH_HEAD"

    def _run(self, folder: Path, *arguments: str) -> str:
        program = shutil.which("git", path=self.environment.get("PATH", os.defpath))
        if program is None:
            raise PackageFailure("git is not on this machine, and a package lies in a git repository", "install git")
        environment = {
            **for_others(self.environment),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
            "GIT_SSH_COMMAND": self.environment.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
            "GCM_INTERACTIVE": "never",
            # The folder may lie in a checkout, whose configuration could name a credential helper or another address.
            "GIT_CEILING_DIRECTORIES": os.path.realpath(folder.parent),
            "LC_ALL": "C",
        }
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_TEMPLATE_DIR"):
            environment.pop(name, None)
        try:
            done = subprocess.run(
                [program, *_SECURE, *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PackageFailure(f"git did not answer within {_TIMEOUT_SECONDS} seconds") from None
        except OSError as problem:
            raise PackageFailure(f"cannot run git: {problem.strerror}") from None
        if done.returncode:
            said = without_credentials(done.stderr.decode("utf-8", "replace").strip())
            raise PackageFailure(f"git {arguments[0]} failed: {said}")
        return done.stdout.decode("utf-8", "replace")
