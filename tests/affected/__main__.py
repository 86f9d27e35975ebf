"""Run the tests that what you changed may break: `python -m tests.affected [argument of pytest ...]`.

Changed is what differs from where this branch left `main` (from `origin/main` on `main` itself; `BASE` names another
commit), committed or not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.affected import reach, seconds
from tests.affected.selection import Selection, is_test_file, select

ROOT = Path(__file__).parents[2]
SECONDS = 35.0
PROCESSES = 2


def main(arguments: list[str]) -> int:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_WORK_TREE"):
        os.environ.pop(name, None)  # a hook of git has them, and tests make repositories of their own
    try:
        base = base_commit()
        changed = changed_files(base)
    except (OSError, subprocess.CalledProcessError):
        _say("git does not say what changed here: no test ran. `make test` runs all of them.")
        return 1
    if not changed:
        _say(f"nothing differs from {base}: no test ran. `make test` runs all of them.")
        return 0
    known = reach.read(ROOT)
    costs = seconds.by_file(ROOT, [each.path for each in known.modules.values() if is_test_file(each.path)])
    budget = SECONDS * PROCESSES
    chosen = select(changed, known, costs, budget)
    files = (*chosen.near, *chosen.far)
    _say(f"{len(changed)} files differ from {base}")
    ended = pytest.main([*arguments, "-m", "not slow", *files]) if files else pytest.ExitCode.NO_TESTS_COLLECTED
    _say(_report(chosen))
    return 0 if ended == pytest.ExitCode.NO_TESTS_COLLECTED else int(ended)


def base_commit() -> str:
    """The commit that this work began from."""
    if base := os.environ.get("BASE"):
        return base
    main = "origin/main" if _git("branch", "--show-current") == "main" else "main"
    try:
        return _git("merge-base", "HEAD", main)[:12]
    except subprocess.CalledProcessError:
        return "HEAD"


def changed_files(base: str) -> list[str]:
    tracked = _git("diff", "--name-only", "--no-renames", "-z", base)
    return [path for path in f"{tracked}{_git('ls-files', '--others', '--exclude-standard', '-z')}".split("\0") if path]


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _report(chosen: Selection) -> str:
    ran = f"ran {len(chosen.near)} test files nearest to the change and {len(chosen.far)} more that it may break"
    if not chosen.left:
        return f"{ran}: all that it may break, but for tests marked slow. `make test` runs everything."
    return f"{ran}; {len(chosen.left)} that it may break did not fit, nor did tests marked slow: `make test` runs them."


def _say(message: str) -> None:
    sys.stderr.write(f"check: {message}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
