"""What tells the compiler that runs here from any other, so that nothing is believed that another one made."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from kcl.memo.contents import digest_of
from kcl.memo.inputs import Stamp, stamp_as_it_is

_PACKAGES = tuple(Path(__file__).parents[2] / each for each in ("kcl", "workbench", "runtimes"))


@cache
def code() -> str:
    """Returns what tells this compiler from any other, also between releases: what of it lay there when it started."""
    return digest_of(f"{path} {state}" for path, state in _code_state(_PACKAGES).items())


@cache
def version() -> str:
    """Returns the version of the workbench that runs here."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("konfig-workbench")
    except PackageNotFoundError:
        return "0"


def _code_state(folders: Iterable[Path]) -> Mapping[str, Stamp | None]:
    """Returns the stamps of all Python and data files below some packages: another compiler, another state."""
    return {path: stamp_as_it_is(path) for folder in folders for path in _files(str(folder))}


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _files(entry.path)
            elif entry.is_file():
                yield entry.path
