"""Asking what all stacks are configured with: a value over the cube, two points of it, conflicts of its dimensions."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kcl.records import dataclass
from workbench.project import Dimensions, Finding, KonfigTree, Stack, WorkbenchError
from workbench.project.dimensions import read_dimensions
from workbench.session.compiling import Compiling

if TYPE_CHECKING:
    # The engine pulls in the language; a session that only lists stacks must not pay for it.
    from workbench.engine.cells import Configured, Failed
    from workbench.engine.compiled import CompileInputs
    from workbench.engine.cube import Answer, CubeQuery, Difference, Point, Subject
    from workbench.engine.cube_conflicts import Conflict
    from workbench.engine.cube_index import CubeIndex

Advance = Callable[[int], None]
"""Told how many stacks are to be evaluated, and then 1 for each that was."""


def _nobody(count: int) -> None:
    """Nobody looks."""


@dataclass(frozen=True, slots=True)
class ValueOverCube:
    """`findings` are those of the repository: where one is an error, stacks may be missing."""

    asked: CubeQuery
    answers: tuple[Answer, ...]
    declared: Dimensions | None
    findings: tuple[Finding, ...]
    without: int
    """How many stacks there have no such variable or resource."""
    evaluated: int
    """How many stacks had to be evaluated."""


@dataclass(frozen=True, slots=True)
class PointsCompared:
    """`alone` are stacks of one point without a counterpart, `failed` those of which nothing is known."""

    pairs: tuple[tuple[Subject, Subject], ...]
    differences: tuple[Difference, ...]
    alone: tuple[Subject, ...]
    failed: tuple[tuple[Subject, Failed], ...]
    declared: Dimensions | None
    findings: tuple[Finding, ...]


class Configuring(Compiling):
    """Compiles what is asked about and was not evaluated before; writes nothing but the cache of this machine."""

    def config_value(
        self,
        subject: str,
        path: str = "",
        where: str = "",
        inputs: CompileInputs | None = None,
        advance: Advance = _nobody,
    ) -> ValueOverCube:
        """Returns a value in each stack that lies at `where`, all if it is empty.

        `subject` is a path that begins with a variable of the program (`web.replicas`), or with `path` a resource.
        With `inputs` nothing is kept, and what was is not asked.

        Raises `NoSuchValue`, and `EngineError` for what can't be read as a path or point.
        """
        from kcl.collection import paused
        from workbench.engine.cube_index import BrokenIndex

        asked = _request(subject, path)
        try:
            with paused():  # what is kept of thousands of stacks is read at once, and holds no cycles
                return self._value(asked, where, inputs, advance)
        except BrokenIndex:
            with suppress(OSError):
                (self._cube_folder / "head").unlink()
            return self._value(asked, where, inputs, advance)

    def config_diff(
        self, left: str, right: str, inputs: CompileInputs | None = None, advance: Advance = _nobody
    ) -> PointsCompared:
        """Compares all values of stacks that lie at two points and differ in nothing but the dimensions these name."""
        from workbench.engine.cube import differences, pairs, parse_point

        tree = self.tree()
        subjects = {each.name: each for each in _subjects(tree)}
        one, other = parse_point(left, tree.declared), parse_point(right, tree.declared)
        paired, alone = pairs(tuple(subjects.values()), one, other)
        names = {each.name for pair in paired for each in pair}
        stacks = tuple(each for each in tree.stacks() if each.name in names)
        advance(len(stacks))
        cells, failed = {}, {}
        for found in self._configured(stacks, inputs, secrets.token_bytes(32)):
            advance(1)
            if found.failed is not None:
                failed[found.stack] = (subjects[found.stack], found.failed)
            cells[found.stack] = found.cells
        known = [each for each in paired if failed.keys().isdisjoint((each[0].name, each[1].name))]
        findings = tuple(tree.all_findings())
        told = tuple(failed[each] for each in sorted(failed))
        return PointsCompared(tuple(paired), differences(known, cells), tuple(alone), told, tree.declared, findings)

    def config_conflicts(self, *globs: str) -> tuple[KonfigTree, tuple[Conflict, ...], tuple[Finding, ...]]:
        """Returns where only the order of dimensions decides, in all stacks or those that a glob covers.

        Evaluates nothing. With the tree, and findings of baselines that can't be read and of what overrides what is
        final.
        """
        from workbench.engine.cube_conflicts import conflicts
        from workbench.engine.cube_finals import final_findings

        tree = self.tree()
        if tree.declared is None:
            return tree, (), ()
        stacks = tree.matching(*globs) if globs else tuple(tree.stacks())
        chosen = {each.name for each in stacks}
        subjects = [each for each in _subjects(tree) if each.name in chosen]
        found, unread = conflicts(tree.declared, subjects)
        overrides = final_findings(tree.declared, subjects, self._now().date(), is_all=not globs)
        return tree, found, (*unread, *overrides)

    # ---------------------------------------------------------------- one value

    def _value(self, asked: CubeQuery, where: str, inputs: CompileInputs | None, advance: Advance) -> ValueOverCube:
        from kcl.memo.inputs import now
        from workbench.engine.cube import answers, lies_at, parse_point, tree_paths
        from workbench.engine.cube_index import CubeIndex

        started = now()
        folder, version = self._cube_folder, self._cube_version()
        index = CubeIndex.load(folder, version) if inputs is None else CubeIndex(folder, version)
        if not index.is_whole():
            index.drop_changed()
        tree: KonfigTree | None = None
        paths: frozenset[str] | None = index.tree
        if not paths:
            paths, tree = tree_paths(self._root), self.tree()
            _take_tree(index, tree)
        declared = read_dimensions(self._root) if tree is None else tree.declared
        point: Point = parse_point(where, declared) if where else {}
        chosen = {each.name: each for each in index.subjects if lies_at(each.coordinates, point)}
        if not chosen:
            raise _nothing_there(where, self._root)
        missing = chosen.keys() - {each.name for each in index.stacks.values()}
        failed: list[tuple[Subject, Failed]] = []
        if missing:
            tree = tree or self.tree()
            failed = [(chosen[name], why) for name, why in self._evaluate(index, tree, missing, inputs, advance)]
        findings = () if tree is None else tuple(tree.all_findings())
        if inputs is None and (missing or index.tree != paths):
            index.save(paths if paths is not None and not findings else frozenset(), started)
        numbers = {number: chosen[each.name] for number, each in index.stacks.items() if each.name in chosen}
        found = answers(asked, numbers, failed, index.group(asked.group), index.names)
        return ValueOverCube(asked, found, declared, findings, len(chosen) - len(found), len(missing))

    def _evaluate(
        self,
        index: CubeIndex,
        tree: KonfigTree,
        names: Collection[str],
        inputs: CompileInputs | None,
        advance: Advance,
    ) -> Iterator[tuple[str, Failed]]:
        """Puts into the index what is to be found there; yields the stacks of which nothing is known."""
        stacks = {each.name: each for each in tree.stacks() if each.name in names}
        advance(len(stacks))
        for found in self._configured(tuple(stacks.values()), inputs):
            advance(1)
            if found.failed is None:
                index.put(_key(stacks[found.stack]), found)
            else:
                yield found.stack, found.failed
        for name in names - stacks.keys():
            yield name, _gone(name, self._root)

    # ---------------------------------------------------------------- evaluating

    def _configured(
        self, stacks: tuple[Stack, ...], inputs: CompileInputs | None, key: bytes | None = None
    ) -> Iterator[Configured]:
        from runtimes.registry import recorded_sensitive
        from workbench.engine.compiled import CompileInputs
        from workbench.engine.configuration import ConfigurationRequest, in_processes
        from workbench.engine.evaluators import cores

        store = self._store()
        sensitive = {each.name: partial(recorded_sensitive, store.workspace_folder(each.path)) for each in stacks}
        given = (inputs or CompileInputs()).plain()
        request = ConfigurationRequest(
            stacks, self._root, self._plain_plugins(), sensitive, self._settings.allowance, given, key
        )
        return in_processes(request, cores())

    @property
    def _cube_folder(self) -> Path:
        name = hashlib.sha256(str(self.root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return self.settings.cache_dir / "cube" / f"{self.root.name}-{name}"

    def _cube_version(self) -> str:
        """What stands for the compiler, and for what it is told beside files of the repository."""
        from workbench.engine.versions import code

        # where packages are looked for
        packages = [os.environ.get(name) for name in ("KCL_PKG_PATH", "HOME", "USERPROFILE")]
        return f"{code()} {self._root} {packages}"


def _take_tree(index: CubeIndex, tree: KonfigTree) -> None:
    """Has the index know which stacks there are, and forget those that are others than they were."""
    index.subjects = _subjects(tree)
    keys = {each.name: _key(each) for each in tree.stacks()}
    index.drop([number for number, each in index.stacks.items() if keys.get(each.name) != each.key])


def _subjects(tree: KonfigTree) -> tuple[Subject, ...]:
    from workbench.engine.cube import Subject

    return tuple(
        Subject(each.name, str(each.directory), str(each.project_directory), each.coordinates) for each in tree.stacks()
    )


def _key(stack: Stack) -> str:
    """What a stack is beside its files."""
    namespace = stack.placement.namespace if stack.placement is not None else None
    by = namespace.by if namespace is not None else ""
    said = (stack.name, str(stack.directory), str(stack.project_directory), str(by), stack.unmasked, stack.secrets)
    return hashlib.sha256(repr(said).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _gone(name: str, root: Path) -> Failed:
    from workbench.engine.cells import Failed

    return Failed(f"{name} is not there any more", str(root), "ask again")


def _nothing_there(where: str, root: Path) -> WorkbenchError:
    from workbench.engine.cells import NoSuchValue

    if where:
        return NoSuchValue(f"no stack lies at {where}", where=str(root), hint="`wb ls -o json` lists the coordinates")
    return NoSuchValue("there are no stacks here", where=str(root))


def _request(subject: str, path: str) -> CubeQuery:
    from workbench.engine.cube import CubeQuery
    from workbench.engine.errors import EngineError
    from workbench.present import paths

    if path or "/" in subject:
        return CubeQuery(subject, paths.parse(path))
    steps = paths.parse(subject)
    if not steps or not isinstance(steps[0], str):
        raise EngineError(f"{subject!r} names no variable", hint="write web.replicas, or Deployment/web spec.replicas")
    return CubeQuery(steps[0], steps[1:])
