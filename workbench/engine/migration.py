"""A repository of 2023 brought to today's language, with proof that every stack stays what it is.

`find_legacy` reads, `proven` compiles each stack as it is and as it would be, `Migration.write` writes. Nothing is
written before all of it is proven. The first two read what nobody may have read before: `shipped` has them done in a
process that can be ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from functools import cached_property
from pathlib import Path

from kcl import api
from kcl.bounded import in_force
from kcl.bounded.watchdog import is_crowded
from kcl.diagnostics import render
from kcl.records import dataclass, field, replace
from kcl.tools.migrate import (
    Lint,
    NotWritten,
    Outcome,
    Overlap,
    Plan,
    Subject,
    choose,
    find,
    load_all,
    plan_edits,
    prove,
    texts,
    write,
    written_in,
)
from workbench.engine.compile import failed, program_of, read_from, shown
from workbench.engine.compiled import CompileFailed, CompileInputs
from workbench.engine.errors import EngineError, Refused
from workbench.project import Stack, checkout, refuse_outside

_TEST_SETTINGS = "ci-test/settings.yaml"
"""What Konfig repositories compile their stacks with when they test them."""


@dataclass(frozen=True)
class Migration:
    """What is legacy in a repository, and what changes if it is brought up to date.

    `lints` are the findings that were asked for; those without edits need a person. With `whole` they are all there
    are, and kcl.mod changes too: from then on the repository is read in the dialect `kcl`. `report` is every finding
    with its place and source line, as `kcl lint` prints them; `diff` a unified diff of all edits, paths relative to the
    root, "" if there are none.
    """

    root: Path
    lints: tuple[Lint, ...]
    whole: bool
    plan: Plan = field(repr=False)
    subjects: tuple[Subject, ...] = field(repr=False)
    chosen: frozenset[str] = field(repr=False)
    """Names of the subjects that are brought to the dialect `kcl`; the others stay in theirs."""
    inputs: CompileInputs = field(repr=False)
    report: str = field(repr=False)
    diff: str = field(repr=False)

    @cached_property
    def by_hand(self) -> tuple[Lint, ...]:
        """The findings that no edit mends."""
        return tuple(lint for lint in self.lints if not lint.edits)

    def write(self, outcomes: Sequence[Outcome]) -> None:
        """Writes all files or none. Raises `Refused` unless the outcomes prove every stack unchanged."""
        wrong = [each for each in outcomes if each.problem is not None or each.differences]
        if wrong:
            raise Refused(
                [f"{each.subject.name} would not stay what it is" for each in wrong],
                where=str(self.root),
                hint="`wb migrate` without --write says what differs",
            )
        unproven = sorted(_stacks(outcomes) - {_stack(each) for each in outcomes if each.same})
        if unproven:
            raise Refused(
                [f"{name} did not compile before, so nothing can be said of it" for name in unproven],
                where=str(self.root),
                hint="give the options they need with -D or -Y, or correct them first",
            )
        for path in self.plan.after:
            refuse_outside(Path(path), self.root, hint="take the link out, or migrate what it leads to by itself")
        try:
            write(self.plan)
        except NotWritten as error:
            raise EngineError(str(error), where=str(self.root)) from None


def proven(migration: Migration, plugins: api.PluginFinder | None = None) -> Iterator[Outcome]:
    """Compiles every stack that reads a changed file, before and after, and compares the values.

    One outcome a stack and way to compile it; fewer than all where the process has no room left for the next. A stack
    that the migration does not bring along is compiled in its old dialect, over the changed files it shares.
    """
    for outcome in prove(
        migration.subjects,
        migration.plan.after,
        after=lambda subject: api.KCL if subject.name in migration.chosen else api.KONFIG_2023,
        plugins=plugins,
    ):
        problem, broken = (
            None if text is None else shown(text, migration.inputs) for text in (outcome.problem, outcome.broken_before)
        )
        yield replace(outcome, problem=problem, broken_before=broken)
        if (allowance := in_force()) is not None and is_crowded(allowance):
            return


def _stack(outcome: Outcome) -> str:
    return outcome.subject.name.partition(" ")[0]


def _stacks(outcomes: Sequence[Outcome]) -> set[str]:
    return {_stack(each) for each in outcomes}


def find_legacy(
    root: Path,
    stacks: Sequence[Stack],
    only: Sequence[Stack | Path] = (),
    inputs: CompileInputs | None = None,
    dialect: str | None = None,
) -> Iterator[Migration | None]:
    """Finds legacy constructs: yields None after each program that it read, and the whole in the end.

    `only` are stacks, or files and folders; without any it is the whole repository.

    `dialect` is what the repository is written in, by default what its kcl.mod asks for. In one that is written in
    `kcl` nothing is legacy.

    Raises `CompileFailed` for files that cannot be parsed, and `EngineError` for edits that exclude each other.
    """
    given = inputs or CompileInputs()
    files = read_from(checkout(root), root, CompileInputs())
    try:
        old = dialect or written_in(root, files).name
    except api.KclError as error:
        raise CompileFailed(
            str(error), where=str(root), diagnostics=error.diagnostics, rendered=render(error.diagnostics, {})
        ) from None
    if old == api.KCL.name:
        yield Migration(root, (), not only, Plan({}, {}, ()), (), frozenset(), given, "", "")
        return
    subjects = [each for stack in stacks for each in _subjects(stack, given)]
    try:
        programs = []
        for program in load_all(subjects, root, files):
            programs.append(program)
            yield None
        lints = find(programs, root, files)
    except api.ProgramError as error:
        raise failed(error, str(root), given) from None
    except api.KclError as error:
        raise CompileFailed(
            str(error), where=str(root), diagnostics=error.diagnostics, rendered=render(error.diagnostics, {})
        ) from None
    read = {each.subject.name: each.paths for each in programs if each.subject is not None}
    if only:
        wanted = set(_files(only, read, programs_paths=frozenset().union(*(each.paths for each in programs))))
        lints = choose(lints, wanted)
    sources = texts(programs, root, files)
    try:
        plan = plan_edits(lints, sources)
    except Overlap as error:
        raise EngineError(
            "has edits that exclude each other", where=str(error), hint="edit this file by hand"
        ) from None
    changed = set(plan.after)
    touched = [each for each in subjects if not only or read[each.name] & changed]
    named = {str(each.path) for each in only if isinstance(each, Stack)}
    chosen = {each.name for each in touched if not only or each.name.partition(" ")[0] in named}
    yield Migration(
        root,
        tuple(lints),
        not only,
        plan,
        tuple(touched),
        frozenset(chosen),
        given,
        report=render((lint.diagnostic for lint in lints), sources),
        diff=_diff(root, plan),
    )


def _diff(root: Path, plan: Plan) -> str:
    pieces: list[str] = []
    for path, text in plan.after.items():
        name = Path(path).relative_to(root).as_posix()
        before = plan.before[path].splitlines(keepends=True)
        for each in unified_diff(before, text.splitlines(keepends=True), f"a/{name}", f"b/{name}"):
            pieces.append(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n")
    return "".join(pieces)


def _subjects(stack: Stack, inputs: CompileInputs) -> Iterator[Subject]:
    """The ways a stack is compiled: as asked for, and as the repository tests it."""
    program = program_of(stack, inputs)
    name = str(stack.path)
    yield Subject(name, stack.directory, program.files, program.settings, program.options, program.read_from)
    if _TEST_SETTINGS not in inputs.settings and (stack.directory / _TEST_SETTINGS).is_file():
        program = program_of(stack, replace(inputs, settings=(*inputs.settings, _TEST_SETTINGS)))
        shown_as = f"{name} (-Y {_TEST_SETTINGS})"
        yield Subject(shown_as, stack.directory, program.files, program.settings, program.options, program.read_from)


def _files(
    only: Sequence[Stack | Path], read: dict[str, frozenset[str]], programs_paths: frozenset[str]
) -> Iterator[str]:
    for each in only:
        if isinstance(each, Stack):
            yield from read.get(str(each.path), ())
        else:
            folder = each.absolute()
            yield from (path for path in programs_paths if Path(path).is_relative_to(folder))
