"""`import file`. Reads through the run's file system, and only what the run may read; paths are relative to the
calling file. Writing is off unless granted."""

from __future__ import annotations

import fnmatch
import os
import os.path
from collections.abc import Iterator
from typing import Final

from kcl import whole_file
from kcl.evaluator.value import UNDEFINED, CallContext, KList, Value, ValueFailure
from kcl.stdlib.access import Access
from kcl.stdlib.declaration import Module

MODULE: Final = Module("file")
_MAGIC: Final = frozenset("*?[")


def _writable(access: Access, context: CallContext, path: str) -> str:
    """The absolute form of a path that is about to be written."""
    found = access.writable(path, _folder(context))
    context.acts()
    return found


def _folder(context: CallContext) -> str:
    return os.path.dirname(context.file)


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return f"{problem.strerror} (os error {problem.errno})"
    return str(problem)


def write_text(access: Access, context: CallContext, filename: str, text: str) -> None:
    """Writes a file of the real disk, relative to the calling file, when the run may."""
    path = _writable(access, context, filename)
    try:
        whole_file.save(path, text.encode(), durable=False)  # a program that runs again writes it again
    except OSError as problem:
        raise ValueFailure(f"Failed to create file '{filename}': {_reason(problem)}") from None


@MODULE.function("read(filepath: str) -> str", contextual=True, needs_access=True, capture="file")
def read(access: Access, context: CallContext, filepath: str) -> str:
    path = access.readable(filepath, _folder(context))
    try:
        return access.file_system.read_text(path)
    except (OSError, UnicodeDecodeError) as problem:
        raise ValueFailure(f"failed to access the file '{filepath}': {_reason(problem)}") from None


@MODULE.function("exists(filepath: str) -> bool", contextual=True, needs_access=True, capture="file")
def exists(access: Access, context: CallContext, filepath: str) -> bool:
    return access.file_system.exists(access.readable(filepath, _folder(context)))


@MODULE.function("size(filepath: str) -> int", contextual=True, needs_access=True, capture="file")
def size(access: Access, context: CallContext, filepath: str) -> int:
    path = access.readable(filepath, _folder(context))
    try:
        return len(access.file_system.read_bytes(path))
    except OSError as problem:
        raise ValueFailure(f"failed to get size of '{filepath}': {_reason(problem)}") from None


@MODULE.function("glob(pattern: str) -> [str]", contextual=True, needs_access=True, capture="file")
def glob(access: Access, context: CallContext, pattern: str) -> KList:
    """Absolute paths, as the official compiler answers since 0.13."""
    folder = _folder(context)
    access.absolute(pattern, folder)
    relative = not os.path.isabs(pattern)
    parts = os.path.normpath(pattern).split(os.sep)
    start = folder if relative else os.sep
    if not relative:
        parts = parts[1:]
    found = sorted(set(_matches(access, folder, start, parts)))
    return KList(found)


def _matches(access: Access, caller: str, folder: str, parts: list[str]) -> Iterator[str]:
    """Existing paths below `folder` that fit the pattern's parts; `**` stands for any number of folders.

    `caller` is the folder of the file that asks.
    """
    if not parts:
        yield folder
        return
    head, rest = parts[0], parts[1:]
    files = access.file_system
    if head == "**":
        yield from _matches(access, caller, folder, rest)
        for name in files.list_dir(access.readable(folder, caller)):
            path = os.path.join(folder, name)
            if files.refusal(path) is None and files.is_dir(path):  # links out are not followed, as nobody named them
                yield from _matches(access, caller, path, parts)
    elif not _MAGIC.intersection(head):
        path = os.path.normpath(os.path.join(folder, head))
        if access.own_folder_only:
            is_there = head == os.pardir or files.exists(path)
        else:  # nothing is asked of what is only on the way: it may lie above what may be read
            is_there = bool(rest) or files.exists(access.readable(path, caller))
        if is_there:
            yield from _matches(access, caller, path, rest)
    else:
        for name in files.list_dir(access.readable(folder, caller)):
            if fnmatch.fnmatchcase(name, head):
                yield from _matches(access, caller, os.path.join(folder, name), rest)


@MODULE.function("modpath() -> str", contextual=True, needs_access=True)
def modpath(access: Access, context: CallContext) -> str:
    return access.root


@MODULE.function("workdir() -> str", contextual=True, needs_access=True)
def workdir(access: Access, context: CallContext) -> str:
    return access.work_dir


@MODULE.function("current() -> str", contextual=True)
def current(context: CallContext) -> str:
    return context.file


@MODULE.function("abs(filepath: str) -> str", contextual=True, needs_access=True)
def absolute(access: Access, context: CallContext, filepath: str) -> str:
    return access.absolute(filepath, _folder(context))


@MODULE.function("read_env(key: str) -> str", contextual=True, needs_access=True, capture="environment")
def read_env(access: Access, context: CallContext, key: str) -> Value:
    """Undefined when the variable is not set."""
    if access.environment is None:
        raise ValueFailure(f"reading the environment variable '{key}' is not allowed in this run")
    return access.environment.get(key, UNDEFINED)


@MODULE.function("write(filepath: str, content: str) -> None", contextual=True, needs_access=True)
def write(access: Access, context: CallContext, filepath: str, content: str) -> None:
    write_text(access, context, filepath, content)


@MODULE.function("append(filepath: str, content: str) -> None", contextual=True, needs_access=True)
def append(access: Access, context: CallContext, filepath: str, content: str) -> None:
    path = _writable(access, context, filepath)
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(content)
    except OSError as problem:
        raise ValueFailure(f"Failed to open or create file '{filepath}': {_reason(problem)}") from None


@MODULE.function("mkdir(directory: str, exists?: bool) -> None", contextual=True, needs_access=True)
def mkdir(access: Access, context: CallContext, directory: str, exists: bool = False) -> None:
    path = _writable(access, context, directory)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as problem:
        raise ValueFailure(f"Failed to create directory '{directory}': {_reason(problem)}") from None


@MODULE.function("delete(filepath: str) -> None", contextual=True, needs_access=True)
def delete(access: Access, context: CallContext, filepath: str) -> None:
    """A file, or a folder that is empty."""
    path = _writable(access, context, filepath)
    try:
        if os.path.isdir(path):
            os.rmdir(path)
        else:
            os.unlink(path)
    except OSError as problem:
        raise ValueFailure(f"failed to delete '{filepath}': {_reason(problem)}") from None


@MODULE.function("cp(src: str, dest: str) -> None", contextual=True, needs_access=True)
def copy(access: Access, context: CallContext, src: str, dest: str) -> None:
    import shutil  # takes long to load, and next to no program copies files

    source, target = _writable(access, context, src), _writable(access, context, dest)
    try:
        shutil.copyfile(source, target)
    except OSError as problem:
        raise ValueFailure(f"Failed to copy from '{src}' to '{dest}': {_reason(problem)}") from None


@MODULE.function("mv(src: str, dest: str) -> None", contextual=True, needs_access=True)
def move(access: Access, context: CallContext, src: str, dest: str) -> None:
    source, target = _writable(access, context, src), _writable(access, context, dest)
    try:
        os.replace(source, target)
    except OSError as problem:
        raise ValueFailure(f"Failed to move '{src}' to '{dest}': {_reason(problem)}") from None
