"""All files or none, below one folder."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kcl import regular, whole_file
from kcl.terminal import harmless
from kcl.tools.imports.failure import ImportFailure


def write_all(folder: str, shown: str, files: Mapping[tuple[str, ...], str], force: bool, skip: bool) -> list[str]:
    """Writes what is not there yet as it should be; answers the paths, as shown, that were written.

    Files that are there with other content are an ImportFailure, and nothing is written, unless `force` replaces or
    `skip` leaves them. Links that lead out of the folder are one as well. When writing fails halfway, what was
    written is taken back.
    """
    root = os.path.realpath(folder)
    wanted: list[tuple[str, str, bytes, bytes | None]] = []
    different = []
    for parts, text in sorted(files.items()):
        path = os.path.join(root, *parts)
        label = harmless(os.path.join(shown, *parts))
        if any(part in ("", ".", "..") or "/" in part or "\\" in part for part in parts):
            raise ImportFailure(f"{label}: is not a name for a file")
        if os.path.realpath(os.path.dirname(path)) != os.path.dirname(path) or os.path.islink(path):
            raise ImportFailure(f"{label}: a link stands in its way: nothing is written through links")
        data = text.encode()
        old = _content(path, label)
        if old is None or old == data:
            if old is None:
                wanted.append((path, label, data, None))
        elif force:
            wanted.append((path, label, data, old))
        elif not skip:
            different.append(label)
    if different:
        more = f" and {len(different) - 5} more" if len(different) > 5 else ""
        raise ImportFailure(
            f"{', '.join(different[:5])}{more}: there with other content: --force replaces, --skip-existing keeps them"
        )
    _write(root, wanted)
    return [label for _, label, _, _ in wanted]


def _content(path: str, label: str) -> bytes | None:
    try:
        return regular.read_regular(path)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise ImportFailure(f"{label}: cannot be replaced: {problem.strerror}") from None


def _write(root: str, wanted: list[tuple[str, str, bytes, bytes | None]]) -> None:
    made: list[str] = []
    done: list[tuple[str, bytes | None]] = []
    shown = root
    try:
        for path, label, data, old in wanted:
            shown = label
            _make_folders(os.path.dirname(path), made)
            whole_file.save(path, data, durable=False)
            done.append((path, old))
    except OSError as problem:
        for path, old in reversed(done):
            if old is None:
                os.unlink(path)
            else:
                whole_file.save(path, old)
        for folder in reversed(made):
            os.rmdir(folder)
        raise ImportFailure(f"{shown}: cannot be written: {problem.strerror}; nothing was changed") from None


def _make_folders(folder: str, made: list[str]) -> None:
    if not os.path.isdir(folder):
        _make_folders(os.path.dirname(folder), made)
        os.mkdir(folder)
        made.append(folder)
