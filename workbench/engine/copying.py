"""New projects, stacks and components after ones that are there: copies of their files with other names.

What the repository has is its own template: a copy fits its models, its layout and its placements, and a project that
is kept as a template is one as any other. Names are replaced where they stand as words; what else a copy says (hosts,
images, sizes) is for its author, who is shown the lines that were changed. Reads files, writes none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from kcl import api
from kcl.records import dataclass, field
from kcl.regular import read_regular
from workbench.engine.errors import EngineError
from workbench.engine.spec import Spec
from workbench.project import Component, Project, ProjectName, Stack, StackName, StackPath
from workbench.project.bounds import refuse_foreign

_COPIED: Final = frozenset({".k", ".yaml", ".yml", ".mod", ".toml", ".json", ".md"})
_NEVER: Final = frozenset({"kcl.mod.lock"})
_LARGEST: Final = 1_000_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME_LINE: Final = re.compile(r"^name:[^\n]*$", re.MULTILINE)
_NAMESPACE_LINE: Final = re.compile(r"^namespace:\s*\{[^{}\n]*(?:\{[a-z]+\}[^{}\n]*)*\}[ \t]*$", re.MULTILINE)


class CopyRefused(EngineError):
    """Nothing is written: a name is taken, or what would come of the copy is not what was asked for."""


@dataclass(frozen=True, slots=True)
class CopiedStack:
    path: StackPath
    like: Stack
    directory: Path
    project_directory: Path


@dataclass(frozen=True, slots=True)
class Copy:
    """`files` are new texts by absolute path, `changed` what is there and gets another text. `renamed` are the lines
    in which a name was replaced, as `file:line` with their number of places; `left_out` what was not copied."""

    stacks: tuple[CopiedStack, ...]
    files: Mapping[Path, str] = field(repr=False)
    changed: Mapping[Path, str] = field(default_factory=dict, repr=False)
    renamed: tuple[tuple[Path, int], ...] = ()
    left_out: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Created:
    """A copy that was compiled: how many objects each stack has then, and what its author should know."""

    copy: Copy
    objects: Mapping[StackPath, int]
    notes: tuple[str, ...] = ()


def new_stack(like: Stack, name: str, namespace: str = "") -> Copy:
    """Returns a stack beside `like`. Raises `CopyRefused` for a name that is taken or none."""
    _refuse_name(name, "stack")
    copying = _Copying()
    target = like.directory.parent / name
    copying.folder(like.directory, target, (_option("stack", like.path.stack, name),))
    _settle(copying, target / "stack.yaml", name, namespace)
    path = StackPath(like.path.project, StackName(name))
    return copying.copy((CopiedStack(path, like, target, like.project_directory),))


def new_project(like: Project, name: str, folder: Path, stacks: Iterable[Stack]) -> Copy:
    """Returns a project with these stacks of `like`, in an absolute folder. Raises `CopyRefused`."""
    _refuse_name(name, "project")
    replaced = (_word(str(like.name), name),)
    copying = _Copying()
    copying.folder(like.directory, folder, replaced)
    for each in ("base", "crd"):
        if (like.directory / each).is_dir():
            copying.folder(like.directory / each, folder / each, replaced)
    made = []
    for stack in stacks:
        directory = folder / stack.directory.relative_to(like.directory)
        copying.folder(stack.directory, directory, replaced)
        path = StackPath(ProjectName(name), stack.path.stack)
        made.append(CopiedStack(path, stack, directory, folder))
    _settle(copying, folder / "project.yaml", name, "")
    return copying.copy(tuple(made))


def new_component(like: Component, name: str) -> Copy:
    """Returns the base of a project with one component more, after one that is there. Raises `CopyRefused`."""
    if not _IDENTIFIER.fullmatch(name):
        raise CopyRefused(
            f"{name!r} is no name for a component", hint="letters, digits and '_': a variable is called so"
        )
    text = _text(like.file)
    start, end = _statement(text, like)
    spoken = re.sub(r"(?<=[a-z0-9])([A-Z])", r"-\1", like.name).lower()
    words = [(like.name, name)] + ([(spoken, _spoken(name))] if spoken != like.name else [])
    block = text[start:end]
    for old, new in words:
        block = _word(old, new)(block)
    made = f"{text.rstrip()}\n\n{block.rstrip()}\n"
    first = made.count("\n", 0, len(text.rstrip())) + 2
    lines = tuple(
        (like.file, first + number)
        for number, (one, other) in enumerate(zip(text[start:end].splitlines(), block.splitlines(), strict=True), 1)
        if one != other
    )
    return Copy((), {}, {like.file: made}, lines)


def shared_objects(spec: Spec, others: Mapping[StackPath, Spec]) -> dict[StackPath, tuple[str, ...]]:
    """Returns the objects that other stacks of the same places have as well: two stacks would write them."""
    ids = {str(each.id) for each in spec}
    found = {path: tuple(sorted(ids & {str(each.id) for each in other})) for path, other in others.items()}
    return {path: each for path, each in found.items() if each}


def imported_ids(spec: Spec) -> tuple[str, ...]:
    """Returns the resources that take over something of the infrastructure by its id: a copy would take it as well."""
    keys = ("importId", "kusionstack.io/import-id")
    return tuple(str(each.id) for each in spec if any(each.extensions.get(key) for key in keys))


class _Copying:
    """Files that are copied, with texts replaced on the way."""

    def __init__(self) -> None:
        self.files: dict[Path, str] = {}
        self._renamed: dict[Path, list[int]] = {}
        self._left_out: list[Path] = []

    def folder(self, source: Path, target: Path, replaced: Iterable[_Replacing]) -> None:
        """The files of one folder, and none below it."""
        refuse_foreign(source, source.parent)
        for file in sorted(source.iterdir()):
            refuse_foreign(file, source)
            if not file.is_file():
                continue
            if file.suffix not in _COPIED or file.name in _NEVER or file.stat().st_size > _LARGEST:
                self._left_out.append(file)
                continue
            self._file(file, target / file.name, replaced)

    def _file(self, file: Path, target: Path, replaced: Iterable[_Replacing]) -> None:
        if target.exists() or target.is_symlink():
            raise CopyRefused(
                "is there already, and nothing is overwritten", where=str(target), hint="choose another name"
            )
        before = after = _text(file)
        for each in replaced:
            after = each(after)
        self.files[target] = after
        lines = zip(before.splitlines(), after.splitlines(), strict=True)
        self._renamed[target] = [number for number, (one, other) in enumerate(lines, 1) if one != other]

    def settle(self, file: Path, text: str) -> None:
        self.files[file] = text

    def copy(self, stacks: tuple[CopiedStack, ...]) -> Copy:
        renamed = tuple((file, line) for file, lines in self._renamed.items() for line in lines)
        return Copy(stacks, dict(sorted(self.files.items())), {}, renamed, tuple(self._left_out))


class _Replacing:
    """Replaces what a pattern finds, in a whole text, line by line."""

    def __init__(self, pattern: str, by: str) -> None:
        self._pattern, self._by = re.compile(pattern), by

    def __call__(self, text: str) -> str:
        return self._pattern.sub(lambda found: found[0].replace(found["old"], self._by), text)


def _word(old: str, new: str) -> _Replacing:
    return _Replacing(rf"(?<![A-Za-z0-9_])(?P<old>{re.escape(old)})(?![A-Za-z0-9_])", new)


def _option(key: str, old: str, new: str) -> _Replacing:
    """The option of a settings file that tells a program the name of its stack."""
    return _Replacing(rf"- key: {key}\n\s+value: (?P<old>{re.escape(old)})(?=\s*$|\s*\n)", new)


def _settle(copying: _Copying, file: Path, name: str, namespace: str) -> None:
    """Says the new name in project.yaml or stack.yaml, which need not be there."""
    text = copying.files.get(file, "")
    text = _NAME_LINE.sub(f"name: {name}", text) if _NAME_LINE.search(text) else f"name: {name}\n{text}"
    if namespace:
        said = f"namespace: {{by: stack, name: {namespace}}}"
        if _NAMESPACE_LINE.search(text):
            text = _NAMESPACE_LINE.sub(said, text)
        elif re.search(r"^namespace:", text, re.MULTILINE):
            raise CopyRefused(
                "its namespace stands over several lines",
                where=str(file),
                hint="leave --namespace out, and edit the copy",
            )
        else:
            text = f"{text.rstrip()}\n{said}\n"
    copying.settle(file, text)


def _statement(text: str, component: Component) -> tuple[int, int]:
    """Returns where a component stands in its file, the comment right above it included."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    wanted = starts[component.line - 1]
    statement = next((each for each in api.parse(text).module.body if each.start == wanted), None)
    if statement is None:
        raise CopyRefused(f"{component.name} cannot be found there", where=f"{component.file}:{component.line}")
    line = component.line - 1
    while line > 0 and text[starts[line - 1] : starts[line]].startswith("#"):
        line -= 1
    return starts[line], statement.end


def _spoken(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"-\1", name).lower().replace("_", "-")


def _refuse_name(name: str, what: str) -> None:
    if not _NAME.fullmatch(name) or name in ("base", "crd"):
        raise CopyRefused(
            f"{name!r} cannot be the name of a {what}",
            hint="letters, digits, '-', '_' and '.', beginning with a letter or digit; a folder is called so",
        )


def _text(file: Path) -> str:
    try:
        return read_regular(file, _LARGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CopyRefused("cannot be read as text", where=str(file)) from error


def lines_of(copy: Copy, root: Path) -> Iterator[str]:
    """Yields `file:line` of the lines in which a name was replaced."""
    for file, line in copy.renamed:
        yield f"{file.relative_to(root).as_posix()}:{line}"
