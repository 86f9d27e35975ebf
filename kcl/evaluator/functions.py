"""What can be called: lambdas, rules, and any callable value through `call`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from kcl.diagnostics import Code, Span
from kcl.evaluator.environments import Environment
from kcl.evaluator.lexical import LambdaScope
from kcl.evaluator.operations import kind, type_name
from kcl.evaluator.parameters import Parameters
from kcl.evaluator.runtime import TRIED, CodeKind, Compiling, ModuleContext, Runtime, StartOver, Where
from kcl.evaluator.runtime_types import RuntimeType, pack
from kcl.evaluator.schemas import SchemaType
from kcl.evaluator.value import UNDEFINED, Builtin, KDict, Method, Value, ValueFailure
from kcl.syntax import ast


class LambdaCode:
    """A lambda expression, compiled; shared by the function values it creates."""

    __slots__ = ("body", "called", "generated", "module", "node", "parameters", "result", "scope", "span", "statements")

    def __init__(
        self,
        node: ast.Lambda,
        module: ModuleContext,
        scope: LambdaScope,
        parameters: Parameters,
        statements: Sequence[Callable[[Environment], Value]],
        result: RuntimeType | None,
        span: Span,
    ) -> None:
        self.node = node
        self.body: Callable[[Environment], Value] | None = None
        """Generated code for all the statements at once."""
        self.called = 0
        """How often it ran so far, or TRIED."""
        self.generated: LambdaCode | None = None
        """The same with a `body`, in a scope of its own."""
        self.module = module
        self.scope = scope
        self.parameters = parameters
        self.statements = statements
        self.result = result
        self.span = span

    def packed(self, value: Value) -> Value:
        """The value as what the lambda says it answers. Raises KclError at the statement that made it."""
        assert self.result is not None
        try:
            return pack(self.result, value, self.span)
        except ValueFailure as failure:
            raise self.module.where(self.node.body[-1] if self.node.body else self.node).located(failure) from None

    def generated_by(self, compiling: Compiling) -> LambdaCode | None:
        """The same with generated code, if there is any; counts a call until there may be."""
        if self.called != TRIED:
            self.called += 1
            if self.called >= compiling.after:
                self.called = TRIED
                self.generated = compiling.code(LAMBDAS, self)
        return self.generated


LAMBDAS: Final[CodeKind[[LambdaCode], LambdaCode]] = CodeKind()


class Lambda:
    """A function value: the code, and the outer variables it uses as they were when it was created.

    Generated code that captures variables has places of its own for them. `plain` is then the same function without
    generated code: the value may be kept, and called by an evaluation that is done again without it.
    """

    __slots__ = ("_captured", "_code", "_frame", "_plain")

    is_type = False
    is_function = True
    name = "lambda"

    def __init__(self, code: LambdaCode, outer: Environment, plain: Lambda | None = None) -> None:
        self._code = code
        self._plain = plain
        self._frame = outer[0]
        self._captured = [(slot, outer[outer_slot]) for outer_slot, slot in code.scope.captures]

    @property
    def parameter_types(self) -> tuple[RuntimeType | None, ...]:
        return self._code.parameters.types

    def __call__(self, args: Sequence[Value], kwargs: Mapping[str, Value], where: Where) -> Value:
        code = self._code
        runtime = code.module.runtime
        if runtime.compiling is None:
            if self._plain is not None:
                return self._plain(args, kwargs, where)
        elif code.body is None:
            generated = code.generated_by(runtime.compiling)
            if generated is not None and not self._captured and not generated.scope.captures:
                code = generated
        code.parameters.check_call("lambda", args, kwargs, where)
        environment = code.scope.unit.environment(self._frame)
        for slot, captured in self._captured:
            environment[slot] = captured
        caller = runtime.module
        runtime.enter(where.span)
        runtime.module = code.module
        value: Value = UNDEFINED
        try:
            code.parameters.bind(environment, args, kwargs, where)
            if code.body is not None:
                value = code.body(environment)
            else:
                for statement in code.statements:
                    value = statement(environment)
            if code.result is not None:
                value = code.packed(value)
        finally:
            runtime.depth -= 1
            runtime.module = caller
        return value


RunRule = Callable[["RuleType", KDict, Sequence[Value], Mapping[str, Value], Where], Value]


class RuleType:
    """A rule as a value: calling it checks its host (or the arguments) and answers the host's value."""

    __slots__ = ("_run", "module", "name", "node", "package")

    is_type = True
    is_schema = False
    is_function = False

    def __init__(self, node: ast.Rule, module: ModuleContext, run: RunRule) -> None:
        self.node = node
        self._run = run
        self.module = module
        self.name = node.name
        self.package = module.package

    def check(self, config: KDict, args: Sequence[Value], kwargs: Mapping[str, Value], where: Where) -> Value:
        return self._run(self, config, args, kwargs, where)


class Context:
    """What a library function may know of the call it serves; satisfies `value.CallContext`."""

    __slots__ = ("_runtime", "_where")

    def __init__(self, runtime: Runtime, where: Where) -> None:
        self._runtime = runtime
        self._where = where

    @property
    def options(self) -> Mapping[str, Value]:
        return self._runtime.options

    @property
    def file(self) -> str:
        return self._where.module.path

    @property
    def package(self) -> str:
        return self._where.module.package

    def call(self, function: Value, args: Iterable[Value]) -> Value:
        # The expressions written at this call are the library function's arguments, not those of `function`.
        where = Where(self._where.module, self._where.start, self._where.end)
        return call(self._runtime, function, list(args), {}, where)

    def acts(self) -> None:
        self._runtime.beyond += 1
        if self._runtime.compiling is not None:
            raise StartOver  # generated code may have to be done again

    def log(self, text: str) -> None:
        self._runtime.beyond += 1
        self._runtime.printed.append(text)

    def emit(self, text: Callable[[], str]) -> None:
        self._runtime.beyond += 1
        self._runtime.emitted = text

    def emit_values(self, documents: Iterable[Value]) -> None:
        self._runtime.beyond += 1
        self._runtime.emitted_values[:] = documents

    def type_name(self, value: Value, full: bool = False) -> str:
        return type_name(value, full)


def call(runtime: Runtime, function: Value, args: Sequence[Value], kwargs: Mapping[str, Value], where: Where) -> Value:
    """Calls a value. Raises ValueFailure where the function does, or if the value is none; KclError from KCL code."""
    if isinstance(function, Lambda):
        return function(args, kwargs, where)
    if isinstance(function, Builtin):
        return _call_builtin(runtime, function, args, kwargs, where)
    if isinstance(function, Method):
        return _call_builtin(runtime, function.builtin, [function.receiver, *args], kwargs, where)
    if isinstance(function, SchemaType):
        return function.instantiate(KDict(), args, kwargs, where)
    if isinstance(function, RuleType):
        return function.check(KDict(), args, kwargs, where)
    if function is None or function is UNDEFINED:
        # `x?.method()` of a value that is not there: the call is not there either.
        return UNDEFINED
    raise where.error(Code.COMPILE, f"'{kind(function)}' object is not callable")


def _call_builtin(
    runtime: Runtime, builtin: Builtin, args: Sequence[Value], kwargs: Mapping[str, Value], where: Where
) -> Value:
    positional = [Context(runtime, where), *args] if builtin.contextual else args
    try:
        return builtin.function(*positional, **kwargs)
    except TypeError:
        import inspect  # takes long to load, and is asked only when something is wrong

        try:
            inspect.signature(builtin.function).bind(*positional, **kwargs)
        except TypeError as mismatch:
            raise ValueFailure(f"{builtin.name}(): {mismatch}") from None
        raise
