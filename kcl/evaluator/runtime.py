"""What one evaluation shares: the program, its options, the packages being evaluated, and what has been collected.

A `Runtime` serves one evaluation at a time, in one thread; the next may find packages compiled, and values that it
would come to as well (`prepared`, `reuse`). Nothing else in the evaluator keeps state, so evaluations never see each
other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final, Generic, ParamSpec, TypeVar

from kcl.diagnostics import Code, Diagnostic, KclError, Label, Span, error
from kcl.evaluator.dialect import Dialect
from kcl.evaluator.instances import Instances
from kcl.evaluator.observing import Observation
from kcl.evaluator.operations import Arithmetic
from kcl.evaluator.provenance import SiteTable
from kcl.evaluator.reuse import Parts
from kcl.evaluator.scopes import PackageScope
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.value import KDict, Library, SchemaInstance, Sites, Value, ValueFailure
from kcl.loader.program import Import, Imported, Module, Package, Program
from kcl.memo.queries import Memo, Query, Request
from kcl.records import dataclass, field, replace
from kcl.syntax import ast

P = ParamSpec("P")
Made = TypeVar("Made")


class StartOver(Exception):
    """Generated code failed. Nothing says where: the evaluation is done again without it, and fails properly.

    So it is before the first thing a program does outside: that must not be done twice.
    """


MOST_NESTED_CALLS: Final = 1_500
"""Calls and schema instantiations inside each other; one costs some ten Python frames."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The optional range checks on numbers (`-r`, `-d`)."""

    strict_range_check: bool = False
    debug: bool = False


class CodeKind(Generic[P, Made]):
    """A kind of code that can be generated: what it is written from (`P`), and how it is called (`Made`).

    Each is named beside what runs such code, and written by a stage above, which knows all kinds.
    """


@dataclass(frozen=True, slots=True)
class Compiling:
    """What makes generated code of schemas, lambdas, elements of comprehensions and variables, where it can be had.

    `after` is how many instances, calls or evaluations go before it is made; of the items of a loop twice that.
    `after_again` is the same where a main package is evaluated over and over, as while somebody edits it: then code
    pays that is made for what runs once each time.
    """

    after: int
    after_again: int
    _writers: Mapping[CodeKind[..., Any], Callable[..., Any]] = field(default_factory=dict)

    def writing(self, kind: CodeKind[P, Made], write: Callable[P, Made | None]) -> Compiling:
        """The same, with code of one more kind. `write` answers None where there can be none."""
        return replace(self, _writers={**self._writers, kind: write})

    def code(self, kind: CodeKind[P, Made], *args: P.args, **kwargs: P.kwargs) -> Made | None:
        """The code made of what is given, None where there can be none."""
        made: Made | None = self._writers[kind](*args, **kwargs)
        return made

    def again(self) -> Compiling:
        """For an evaluation of what was evaluated before."""
        return replace(self, after=self.after_again)


TRIED: Final = -1
"""Instead of a number of instances or calls: generated code was asked for."""


_ASKING: Final = re.compile(r"\.[\s\\]*instances\b")
"""How a program comes by the instances of a schema; other texts that look so make no difference but in time."""


def _ask_for_instances(request: Request, imported: Imported) -> bool:
    return any(request.get(_MAY_ASK, package) for package in imported.packages.values())


def _may_ask(request: Request, package: Package) -> bool:
    return _names_instances(package)


def _names_instances(package: Package) -> bool:
    texts = [module.source.text for module in package.modules]
    return any("instances" in text and _ASKING.search(text) for text in texts)


_MAY_ASK: Final = Query("may ask for instances", _may_ask, lives_with_key=True)
_ASK_FOR_INSTANCES: Final = Query("imported packages may ask for instances", _ask_for_instances, lives_with_key=True)


@dataclass(slots=True)
class Remembered:
    """An instance, what it was made of and where; `is_proven` says that it was found to lack nothing then."""

    left: object
    right: KDict
    origin: Span | None
    made: SchemaInstance
    is_proven: bool


class Runtime:
    """The state of one evaluation. `origin` holds the sites of the value a tracked expression has just produced."""

    def __init__(
        self,
        program: Program,
        library: Library,
        options: Mapping[str, Value],
        dialect: Dialect,
        limits: Limits,
        memo: Memo,
        observation: Observation | None = None,
    ) -> None:
        self.memo = memo
        self.observation = observation
        self.library = library
        self.dialect = dialect
        self.arithmetic = Arithmetic(limits.strict_range_check, limits.debug)
        self.table = SiteTable()
        self.packages: dict[str, PackageScope] = {}
        self.beyond = 0
        """How often something was read that may be another after an edit of the main package, or anything was done
        besides making a value; see `reuse`."""
        self.begin(program, options)

    def begin(
        self,
        program: Program,
        options: Mapping[str, Value],
        compiling: Compiling | None = None,
        but: Container[str] = (),
    ) -> None:
        """Starts an evaluation: nothing is computed yet, `but` in these packages, though others may be compiled."""
        self.program = program
        self.options = options
        self.compiling = compiling
        self.records_instances = self.memo.get(_ASK_FOR_INSTANCES, program.imported) or _names_instances(program.main)
        self.forget_values(but)

    def forget_values(self, but: Container[str] = ()) -> None:
        """Forgets what was computed and collected; the variables of some packages may keep their values."""
        for path, scope in self.packages.items():
            if path not in but:
                scope.forget_values()
        self.parts: Parts | None = None
        """Where an evaluation finds what parts of it came to the last time; None where nothing of the kind is known."""
        self.origin: Sites = ()
        self.module: ModuleContext | None = None
        self.depth = 0
        self.schema_depth = 0
        self.schema_expression_depth = 0
        self.instances = Instances()
        self.made: dict[tuple[int, int, int], Remembered] = {}
        """Instances that may stand wherever the same is made again, see `SchemaType.made_before`."""
        self.printed: list[str] = []
        self.stated: list[tuple[ast.ExprStmt, Where, Value]] = []
        """The expression statements of the main package that have been run, and their values."""
        self.emitted: Callable[[], str] | None = None
        self.emitted_values: list[Value] = []
        self.warnings: list[Diagnostic] = []

    def enter(self, span: Span | None) -> None:
        """Counts a call in; every call of this is matched by `self.depth -= 1`."""
        if self.depth >= MOST_NESTED_CALLS:
            raise KclError(
                (
                    error(
                        Code.EVALUATION,
                        f"more than {MOST_NESTED_CALLS} nested calls: this never ends",
                        span,
                        line_only=True,
                    ),
                )
            )
        self.depth += 1

    def warn(self, diagnostic: Diagnostic) -> None:
        self.beyond += 1
        if diagnostic not in self.warnings:
            self.warnings.append(diagnostic)


class ModuleContext:
    """One file while it is evaluated: where names it imports lead, and how its places are named in diagnostics."""

    __slots__ = ("_sites", "imports", "module", "package", "path", "runtime", "scope")

    def __init__(self, runtime: Runtime, package: str, module: Module, imports: Mapping[str, Import]) -> None:
        self.runtime = runtime
        self.package = package
        self.module = module
        self.path = module.source.path
        self.imports = imports
        self.scope: PackageScope = runtime.packages[package]
        self._sites: dict[tuple[int, int, SiteKind, tuple[int, int] | None], Sites] = {}

    def where(self, node: Any) -> Where:
        return Where(self, node.start, node.end)

    def site(self, node: Any, kind: SiteKind, value: ast.Expr | None = None) -> Sites:
        """A site at `node` for the value that `value` stands for.

        Whatever asks for the same place gets the same: closures, generated code, code for a union. Else one place would
        be counted several times where chains are bounded.
        """
        literal = None
        if value is not None and is_literal(value):
            literal = (value.start, value.end)
        elif kind is SiteKind.LITERAL and not isinstance(value, (ast.Config, ast.List, ast.SchemaExpr)):
            kind = SiteKind.EXPRESSION
        key = node.start, node.end, kind, literal
        known = self._sites.get(key)
        if known is None:
            known = self._sites[key] = self.runtime.table.add(self.module.source, node.start, node.end, kind, literal)
        return known

    def option_site(self, node: ast.Call) -> Sites:
        """A site at a call of `option`, with the name it asks for where that is written out."""
        named = [keyword.value for keyword in node.keywords if keyword.name == "key"]
        asked = [*node.args[:1], *named]
        name = asked[0].value if asked and isinstance(asked[0], ast.Str) else ""
        return self.runtime.table.add(self.module.source, node.start, node.end, SiteKind.OPTION, None, name)


class Where:
    """A place in a file, to blame when something there goes wrong."""

    __slots__ = ("_span", "arguments", "end", "module", "start")

    def __init__(self, module: ModuleContext, start: int, end: int) -> None:
        self.module = module
        self.start = start
        self.end = end
        self._span: Span | None = None
        # For a call: the expressions given for its parameters, by position or by name, and by `NAME=` the whole
        # keyword arguments.
        self.arguments: Mapping[int | str, ast.Expr | ast.Keyword] = {}

    def argument(self, key: int | str) -> tuple[Span, bool]:
        """Where an argument stands, and whether it stands there as a literal; the call itself if that is unknown."""
        node = self.arguments.get(key)
        if node is None:
            return self.span, False
        literal = not isinstance(node, ast.Keyword) and is_literal(node)
        return Span(self.module.path, node.start, node.end), literal

    @property
    def span(self) -> Span:
        if self._span is None:
            self._span = Span(self.module.path, self.start, self.end)
        return self._span

    def error(
        self,
        code: Code,
        message: str,
        *,
        labels: Iterable[Label] = (),
        notes: Iterable[str] = (),
        line_only: bool = False,
    ) -> KclError:
        return KclError(
            (error(code, message, self.span, labels=tuple(labels), notes=tuple(notes), line_only=line_only),)
        )

    def located(self, failure: ValueFailure) -> KclError:
        """The failure of an operation at this place."""
        return evaluation_error(failure.message, self.span)


_MOST_LABELS = 6


def on_the_way(problem: KclError, places: Iterable[tuple[Span | None, str]]) -> KclError:
    """The error, labelled with those of the places that lie in a file it does not name yet.

    An error deep in shared models so leads back, file by file, to what the user wrote.
    """
    first, *rest = problem.diagnostics
    if first.primary is None:
        return problem
    labels = list(first.labels)
    named = {first.primary.path, *(label.span.path for label in labels)}
    for span, message in places:
        if span is not None and span.path not in named and len(labels) < _MOST_LABELS:
            named.add(span.path)
            labels.append(Label(span, message))
    if len(labels) == len(first.labels):
        return problem
    return KclError((replace(first, labels=tuple(labels)), *rest))


def is_literal(node: ast.Expr) -> bool:
    """Whether the expression is the value itself: a string, number, truth value, None or Undefined."""
    if isinstance(node, ast.Unary):
        node = node.operand
    return isinstance(node, (ast.Str, ast.Int, ast.Float, ast.Constant))


def evaluation_error(message: str, span: Span | None) -> KclError:
    return KclError((error(Code.EVALUATION, message, span, line_only=True),))
