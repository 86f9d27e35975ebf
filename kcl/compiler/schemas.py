"""Compiles schemas to Python functions: one a schema, which builds an instance from a configuration.

Attributes of a schema are lazy: `a = b + 1` above `b = 2` is right, and so is an attribute that a base, a mixin or
the schema itself assigns several times, each time in terms of the value before. Evaluation by closures finds the
order while it runs, by a lazy scope (`evaluator.scopes.SchemaFrame`). Here it is found once, when the code is
written:

1. Each attribute has its setters, from all levels (bases and mixins first, then the schema), in the order in which
   they run. What a setter reads is known from its expression.
2. An attribute is *dynamic* if its order can't be known from that: it is assigned in another way than by its name
   alone, as in `a.b = 1` or `a = b = 1`. Dynamic attributes stay with the lazy scope.
   All others become local variables, `v3` for the value of the attribute with number 3 and `s3` for its sites.
3. The statements are written in the order of the levels. Before an expression is written, what it reads is *settled*:
   the setters of those attributes are written first, by recursion, which ends since they are in no circle. So code
   comes out in an order in which every local variable is set before it is read. The condition of an `if` around
   setters is written once, with the values its variables have before the `if`; these are *pinned* meanwhile.
4. Where a closure or the lazy scope will read an attribute (a lambda, a dynamic attribute, a decorator), the variable
   is *published*: a line that hands its value to the frame follows the one that computes it. An attribute that would
   have to be published before it is computed makes the writing fail with `Lazy`; it joins the dynamic ones and the
   writing begins again. Each round adds to them, so there are no more rounds than attributes.
5. Last come the dynamic attributes, read from the frame, then what the instance is made of, and the checks.
   Sites that *follow*, of an attribute with one declaration, from this, from what it reads and from the configuration,
   have no variable unless they are read. They are put together only if those of the configuration are others than the
   last time; else the instance shares the dict of the last one.

Whether a frame is needed at all, and what is published, is known at the end only. So a line of `source` may be a
function, which is called when the whole is put together.

The order is that of closures, with three differences: what an expression reads is computed before the expression and
not in the middle of it; who reads an attribute has all its setters run and not only the last that counts; and the
condition of an `if` is evaluated once and not again before each setter below it. Where that could be told, since what
would run at another time makes instances, prints, or is the first to read a variable of a package that does (`shows`),
the schema stays with closures (`Unordered`). So it does where attributes need each other in a circle: what they come to
depends on which of them is read first. Generated code reports nothing: where something fails it raises `StartOver`,
and the evaluation is done again by closures.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, Final

from kcl.compiler import values
from kcl.compiler.attributes import Attributes
from kcl.compiler.containers import TooDeep
from kcl.compiler.expressions import Expressions
from kcl.compiler.pure import is_function
from kcl.compiler.setters import (
    Setter,
    decorators,
    may_hold_instances,
    shows,
)
from kcl.compiler.source import CodeOf, Source, compiled
from kcl.compiler.types import kind_of
from kcl.compiler.writing import Followers, names_in, united
from kcl.diagnostics import KclError
from kcl.evaluator.layouts import Build, CompiledBody, Level, SchemaFrame
from kcl.evaluator.lexical import Scope
from kcl.evaluator.lowering import may_be_left_out
from kcl.evaluator.runtime import MOST_NESTED_CALLS, ModuleContext, StartOver
from kcl.evaluator.runtime_types import (
    pack,
)
from kcl.evaluator.schema_lowering import ignore, literal_default
from kcl.evaluator.schemas import SchemaType, require_attributes
from kcl.evaluator.sites import SiteKind
from kcl.evaluator.statements import Body, Conditions, lower_statements
from kcl.evaluator.union import bit_or
from kcl.evaluator.value import (
    INSERT,
    OVERRIDE,
    UNDEFINED,
    SchemaInstance,
    Sites,
)
from kcl.loader.program import MAIN_PACKAGE
from kcl.syntax import ast

_HEAD: Final = "def build(schema, config, args, kwargs, origin):"


class Unordered(Exception):
    """The order in which instances are made could differ from that of closures."""


class Lazy(Exception):
    """Attributes that can only be left to the lazy scope: a closure reads them while they are computed."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self.names = frozenset(names)


def compile_schema(schema: SchemaType, code_of: CodeOf = compiled) -> Build | None:
    """The function that builds instances of `schema`; None where only closures will do."""
    dynamic: set[str] = set()
    while True:
        writer = Writer(schema, dynamic)
        try:
            return writer.function(code_of)
        except (Unordered, TooDeep):
            return None
        except KclError:  # closures report it when they get there, if they do
            return None
        except Lazy as found:
            dynamic |= found.names


class Writer:
    """Writes the function of one schema. Serves `Expressions` as the attributes of the instance being built."""

    may_have = False

    def __init__(self, schema: SchemaType, dynamic: set[str]) -> None:
        self.schema = schema
        self.runtime = schema.module.runtime
        self.layout = schema.layout
        self.source = Source()
        self.expressions = Expressions(self.source, self)
        known = Attributes(self.layout, dynamic)
        self.setters, self._own_names, self._showing = known.setters, known.own_names, known.showing
        self._dynamic, self._reach, self._is_circular = known.dynamic, known.reach, known.is_circular
        self.current: str | None = None
        self._numbers = {name: number for number, name in enumerate(self.layout.setters)}
        self._settled: dict[str, int] = {}
        self._published: set[str] = set()
        self._environments: set[str] = set()
        self._uses_frame = False
        self._conditions: dict[tuple[int, int], str] = {}
        """By level and identity, whether the conditions of `if` statements hold."""
        self._pinned: frozenset[str] = frozenset()
        self._certain: set[str] = set()
        """Attributes whose defaults are neither None nor Undefined."""
        self._simple = known.simple
        self._followers: dict[str, Followers] = {}
        """By the atom of an attribute's sites, once these stay what they are."""
        self._read: set[str] = set()
        """Attributes whose sites other code reads than that of their own."""
        self._default_sites: dict[str, str] = {}
        """What is written for the sites of attributes that have them from their one declaration and the configuration.

        This is where the configuration has nothing for them.
        """
        self._declared: dict[str, Sites] = {}
        """Of the same attributes the sites of the declaration, which stay beside those of a configuration."""

    # --- As the attributes of `Expressions` ---

    def known(self, name: str) -> bool:
        return name in self.setters

    def read(self, name: str) -> tuple[str, str]:
        if name in self._dynamic:
            self._uses_frame = True
            value = self.source.assign(f"frame.read({name!r})")
            return value, self.source.assign(f"{self.source.constant(self.runtime)}.origin")
        if name not in self._settled:
            return self.source.constant(UNDEFINED), "()"
        self._read.add(name)
        value = self._value(name)
        self.expressions.kinds[value] = united(kind_of(setter.type) for setter in self.setters[name])
        return value, self._sites(name)

    def publish(self, names: Iterable[str]) -> None:
        self._uses_frame = True
        for name in names:
            if name in self.setters and name not in self._dynamic:
                if name == self.current or name in self._pinned:
                    raise Lazy({name} | self._pinned)
                self._published.add(name)
        if self.layout.index_signature is not None:
            self._published.update(self.setters.keys() - self._dynamic)

    def followers(self, sites: str) -> Followers | None:
        return self._followers.get(sites)

    def _lead(self, name: str) -> None:
        """Lines for what follows from the sites of an attribute, which are what they will be from here on."""
        sites = self._sites(name)
        self._followers[sites] = Followers(self.source, sites)
        self.source.line(self._followers[sites].looked_at)
        self.source.line(self._followers[sites].taken)

    def _value(self, name: str) -> str:
        return f"v{self._numbers[name]}"

    def _sites(self, name: str) -> str:
        return f"s{self._numbers[name]}"

    # --- The function ---

    def function(self, code_of: CodeOf) -> Build:
        if self._is_circular or any(self._reads_attributes(level) for level in self.layout.levels):
            raise Unordered
        source = self.source
        self._begin()
        with source.tried():
            self._made("args", "kwargs")
            self._template()
            source.line(self._frame_line)
            for number in range(len(self.layout.levels)):
                source.line(lambda number=number: self._environment_line(number))  # type: ignore[misc]
            for number, level in enumerate(self.layout.levels):
                self._level(number, level)
            self._finish()
            source.line(lambda: "frame.release()" if self._frame_line() else None)
        self._end()
        build = source.function("build", _HEAD, self.schema.package, self.schema.name, code_of)
        self.layout.certain = frozenset(self._certain)
        self.layout.is_function = not self._dynamic and is_function(self.layout, self.setters)
        return build

    def _begin(self) -> None:
        source, runtime = self.source, self.source.constant(self.runtime)
        source.line(f"if {runtime}.depth >= {MOST_NESTED_CALLS}: raise {source.constant(StartOver)}")
        source.line(f"caller = {runtime}.module")
        source.line(f"{runtime}.depth += 1")
        source.line(f"{runtime}.schema_depth += 1")

    def _made(self, args: str, kwargs: str) -> None:
        """Lines for an instance that has no attributes yet."""
        source = self.source
        source.line(f"instance = {source.constant(SchemaInstance.__new__)}({source.constant(SchemaInstance)})")
        source.line(
            "instance.indexes = None; instance.holder = (); instance.complete = False; instance.schema = schema"
        )
        source.line(f"instance.args = {args}; instance.kwargs = {kwargs}; instance.origin = origin")
        source.line("instance.config_keys = keys = tuple(config)")
        source.line(f"instance.required = {source.constant(self.layout.required)}")

    def _end(self) -> None:
        source, runtime = self.source, self.source.constant(self.runtime)
        with source.block("finally:"):
            source.line(f"{runtime}.depth -= 1")
            source.line(f"{runtime}.schema_depth -= 1")
            source.line(f"{runtime}.module = caller")
        source.line("return instance")

    def _template(self) -> None:
        """What an instance is before anything is computed: its attributes in their order, with the simple defaults."""
        if not self._simple:
            return
        source = self.source
        whole = {name: self._simple.get(name, UNDEFINED) for name in self.layout.setters}
        for name, default in self._simple.items():
            sites: Sites = ()
            if default is not UNDEFINED:
                setter = self.setters[name][0]
                statement = setter.assigning.statement
                sites = setter.scope.module.site(statement, SiteKind.DEFAULT, statement.value)
                self._certain.add(name)
            self._follows(name, self.expressions.sites(sites), sites)
        source.line(f"instance.update({source.constant(whole)})")

    def _reads_attributes(self, level: Level) -> bool:
        """Whether the parameters of a level have defaults in terms of attributes."""
        return any(name in self.setters for param in level.schema.node.params for name in names_in(param.default))

    def _frame_line(self) -> str | None:
        if not self._uses_frame and not self._environments and not self.expressions.used:
            return None
        source = self.source
        frame, runtime = source.constant(SchemaFrame), source.constant(self.runtime)
        made = f"frame = {frame}({runtime}, {source.constant(self.layout)}, instance, config, args, kwargs)"
        return f"{made}; final = frame.final; final_sites = frame.sites"

    def _environment_line(self, number: int) -> str | None:
        if f"e{number}" not in self._environments | self.expressions.used:
            return None
        return f"e{number} = frame.level_environment({number})"

    def _environment(self, number: int) -> str:
        self._environments.add(f"e{number}")
        return f"e{number}"

    def _level(self, number: int, level: Level) -> None:
        source = self.source
        if level.schema.node.params:
            self._environment(number)
        source.line(f"{source.constant(self.runtime)}.module = {source.constant(level.schema.module)}")
        self._statements(number, level, level.schema.node.body, ())
        for decorator, node in zip(level.body.decorators, decorators(level.schema.node), strict=True):
            self._settle_all(names_in(node), node, level.schema.module)
            self.publish(names_in(node))
            source.line(f"{source.constant(decorator)}({self._environment(number)}, frame)")

    def _statements(self, number: int, level: Level, statements: Iterable[ast.Stmt], conditions: Conditions) -> None:
        """Lines for the statements of a level in their order; `conditions` are those they stand under."""
        body = level.body.body
        for statement in statements:
            if isinstance(statement, ast.ExprStmt) and isinstance(statement.value, (ast.Str, ast.Constant)):
                continue
            places = body.of(statement)
            if len(places) == 1 and places[0].name not in self._dynamic:
                (place,) = places
                self._settle(place.name, level.first[place.name] + place.index)
            elif isinstance(statement, ast.If):
                self._statements(number, level, statement.body, (*conditions, (statement, True)))
                self._statements(number, level, statement.orelse, (*conditions, (statement, False)))
            else:
                # What a setter of the lazy scope depends on it looks at itself.
                self._statement(number, level, statement, body, () if places else conditions)

    def _statement(self, number: int, level: Level, statement: ast.Stmt, body: Body, conditions: Conditions) -> None:
        """A statement that closures run, on what has been computed so far."""
        runs = lower_statements([statement], body, level.body.scope, ignore)
        names = set(names_in(statement)) | {place.name for place in body.of(statement)}
        names |= {other for name in names for other in self._reach.get(name, ())}
        self._settle_all(names, statement, level.schema.module)
        self.publish(names)
        first = self.source.constant(level.first)
        environment, self.expressions.environment = self.expressions.environment, f"e{number}"
        test = self._test(number, level.body, conditions)
        self.expressions.environment = environment
        with self.source.block(f"if {test}:") if test else nullcontext():
            for run in runs:
                self.source.line(f"{self.source.constant(run)}({self._environment(number)}, frame, {first})")

    def _settle_all(self, names: Iterable[str], before: ast.Node, module: ModuleContext) -> None:
        """Computes the attributes that `before` reads, and those that the lazy ones among them read."""
        wanted = dict.fromkeys(name for name in names if name in self.setters)
        for name in list(wanted):
            if name in self._dynamic:
                wanted.update(dict.fromkeys(self._reach[name]))
                self.publish(self._reach[name])
        new = [name for name in wanted if name not in self._dynamic and name != self.current]
        new = [name for name in new if self._settled.get(name, -1) < len(self.setters[name]) - 1]
        if any(map(self._makes_instances, new)) and (self._showing > 1 or shows(before, module, self._own_names)):
            raise Unordered  # closures may read them later, or not at all until it is their turn
        for name in sorted(new, key=self._numbers.__getitem__):
            self._settle(name, len(self.setters[name]) - 1)

    def _makes_instances(self, name: str) -> bool:
        return any(setter.creates for each in (name, *self._reach[name]) for setter in self.setters[each])

    def _settle(self, name: str, index: int) -> None:
        """Writes the setters of an attribute up to `index`, after everything that they read."""
        while self._settled.get(name, -1) < index:
            number = self._settled.get(name, -1) + 1
            setter = self.setters[name][number]
            outer, self.current = self.current, name
            statement = setter.assigning.statement
            self._settle_all(setter.reads(), statement.value or statement, setter.scope.module)
            environment, self.expressions.environment = self.expressions.environment, f"e{setter.level}"
            test = self._test(setter.level, setter.body, setter.assigning.conditions)
            if test and number == 0:
                self.source.line(f"{self._value(name)} = {self.source.constant(UNDEFINED)}; {self._sites(name)} = ()")
            with self.source.block(f"if {test}:") if test else nullcontext():
                self._write(setter)
            self.expressions.environment = environment
            self.current = outer
            self._settled[name] = number
            if number == len(self.setters[name]) - 1:
                self.source.line(lambda: self._publication(name))
                self._lead(name)

    def _test(self, level: int, body: CompiledBody, conditions: Conditions) -> str:
        """Conditions as a test; "" for none."""
        tests: list[str] = []
        for statement, expected in conditions:
            holds = self._condition(level, body, statement, " and ".join(tests))
            tests.append(holds if expected else f"not {holds}")
        return " and ".join(tests)

    def _condition(self, level: int, body: CompiledBody, statement: ast.If, outer: str) -> str:
        """An atom for whether the condition of an `if` holds, of what its variables are before it."""
        key = (level, id(statement))
        known = self._conditions.get(key)
        if known is not None:
            return known
        first = self.layout.levels[level].first
        if shows(statement.cond, body.scope.module, self._own_names):
            raise Unordered  # closures evaluate it before the statements below it, and before each of their setters
        pins = {name: first[name] + index for name, index in body.body.pins(statement).items()}
        names = dict.fromkeys(names_in(statement.cond))
        for name in names:
            if name in pins:
                if name in self._dynamic:
                    raise Lazy(pins)
                self._settle(name, pins[name] - 1)
        self._settle_all(names.keys() - pins.keys(), statement.cond, body.scope.module)
        source = self.source
        holds = source.assign("False")
        pinned, self._pinned = self._pinned, frozenset(pins)
        with source.block(f"if {outer}:") if outer else nullcontext():
            value = self.expressions.value(statement.cond, body.scope)
            source.line(f"{holds} = bool({value})")
        self._pinned = pinned
        self._conditions[key] = holds
        return holds

    def _publication(self, name: str) -> str | None:
        if name not in self._published:
            return None
        return f"final[{name!r}] = {self._value(name)}; final_sites[{name!r}] = {self._sites(name)}"

    # --- One attribute ---

    def _write(self, setter: Setter) -> None:
        statement = setter.assigning.statement
        if isinstance(statement, ast.SchemaAttr):
            self._declaration(setter, statement)
        else:
            self._assignment(setter, statement)

    def _simple_declaration(self, setter: Setter) -> None:
        source, name = self.source, setter.name
        default, type_ = source.constant(self._simple[name]), source.constant(setter.type)
        arguments = f"config, {name!r}, {default}, {type_}, origin, {source.constant(self.runtime)}"
        configured = source.constant(values.configured_default)
        source.line(f"if {name!r} in config: instance[{name!r}] = {configured}({arguments})")

    def _declaration(self, setter: Setter, statement: ast.SchemaAttr) -> None:
        if setter.name in self._simple:
            self._simple_declaration(setter)
            return
        source, expressions = self.source, self.expressions
        name, scope = setter.name, setter.scope
        own = scope.module.site(statement, SiteKind.DEFAULT, statement.value)
        literal = literal_default(statement)
        has_default = statement.value is not None or literal is not None
        given = source.assign(f"{name!r} in config")
        own = own if has_default else ()
        at = expressions.sites(own)
        with source.block(f"if {given} and {source.constant(values.replaced)}(config, {name!r}):"):
            self._replacement(setter, at)
        if not has_default:
            self._without_default(setter, given)
            return
        with source.block("else:"):
            if statement.value is None:
                assert literal is not None
                default, default_sites = expressions.literal(literal.value), at
            else:
                default, default_sites = expressions.stored(statement.value, scope, own, chooses=True)
            if statement.op is ast.AugOp.BIT_OR:
                present, _ = self.read(name)
                span = source.constant(scope.module.where(statement).span)
                default = source.assign(f"{source.constant(bit_or)}({present}, {default}, {span})")
            late = expressions.late(default_sites) if self._is_only(setter) else None
            if late is not None:
                self._follows(name, late, own)
                expressions.leave(default_sites)
            self._store(setter, default, late or default_sites, given)
            if self._is_certain(default) and not setter.assigning.conditions:
                self._certain.add(name)

    def _is_only(self, setter: Setter) -> bool:
        """Whether an attribute is what this sets in any case, and nothing else."""
        return len(self.setters[setter.name]) == 1 and not setter.assigning.conditions

    def _follows(self, name: str, default: str, declared: Sites) -> None:
        """Notes that an attribute's sites follow from those of the configuration and of what else is read."""
        self._default_sites[name], self._declared[name] = default, declared

    def _needs_sites(self, name: str) -> bool:
        """Whether there must be a variable for the sites of an attribute, since they do not follow or are read."""
        return name not in self._default_sites or name in self._read or name in self._published

    def _set(self, name: str, value: str, sites: str) -> None:
        """Lines for the variables of an attribute; that of its sites is only known to be needed at the end."""
        self.source.line(f"{self._value(name)} = {value}")
        self.source.line(lambda: f"{self._sites(name)} = {sites}" if self._needs_sites(name) else None)

    def _replacement(self, setter: Setter, at: str) -> None:
        """The line for an attribute that the configuration has instead of a default at `at`."""
        source, name = self.source, setter.name
        value, type_, configured = self._value(name), source.constant(setter.type), f"config[{name!r}]"
        if setter.type is not None:
            configured = f"{source.constant(pack)}({type_}, {configured}, origin)"
        both = f"{source.constant(values.replacement)}(config, {name!r}, {type_}, {at}, origin)"
        source.line(
            lambda: f"{value}, {self._sites(name)} = {both}" if self._needs_sites(name) else f"{value} = {configured}"
        )

    def _given(self, setter: Setter, default: str, sites: str) -> None:
        """The line for an attribute that the configuration has over a default."""
        source, name = self.source, setter.name
        value, type_, runtime = self._value(name), source.constant(setter.type), source.constant(self.runtime)
        both = f"{source.constant(values.given)}(config, {name!r}, {default}, {sites}, {type_}, origin, {runtime})"
        merged = f"{source.constant(values.merged)}(config, {name!r}, {default}, {type_}, origin, {runtime})"
        source.line(
            lambda: f"{value}, {self._sites(name)} = {both}" if self._needs_sites(name) else f"{value} = {merged}"
        )

    def _is_certain(self, atom: str) -> bool:
        """Whether an atom is known to be neither None nor Undefined."""
        kind = self.expressions.kinds.get(atom)
        return kind is not None and kind != "none" and not (isinstance(kind, str) and kind.endswith("?"))

    def _without_default(self, setter: Setter, given: str) -> None:
        source = self.source
        name, type_ = setter.name, setter.type
        value = self._value(name)
        undefined = source.constant(UNDEFINED)
        if setter.index == 0:
            if self._is_only(setter):
                self._follows(name, "()", ())
            with source.block(f"elif {given}:"):
                self._given(setter, undefined, "()")
            with source.block("else:"):
                self._set(name, undefined, "()")
            return
        with source.block(f"elif {value} is not {undefined}:"):
            if type_ is not None:
                source.line(f"{value} = {source.constant(pack)}({source.constant(type_)}, {value}, origin)")
        with source.block(f"elif {given}:"):
            self._given(setter, undefined, "()")

    def _assignment(self, setter: Setter, statement: Any) -> None:
        source, expressions = self.source, self.expressions
        scope = setter.scope
        target = setter.assigning.target
        assert target is not None
        site = scope.module.site(target, SiteKind.LITERAL, statement.value)
        value, sites = expressions.stored(statement.value, scope, site)
        merges_insertions = True
        if isinstance(statement, ast.Unification):
            present, present_sites = self.read(setter.name)
            sites = expressions.joined(sites, present_sites)
            span = source.constant(scope.module.where(statement).span)
            value = source.assign(f"{source.constant(bit_or)}({present}, {value}, {span})")
            merges_insertions = False
        elif statement.type is not None:
            raise Unordered  # an assignment with a type of its own: rare
        given = source.assign(f"{setter.name!r} in config")
        if not merges_insertions:
            source.line(f"{given} = {given} and config.operator({setter.name!r}) != {INSERT}")
        self._store(setter, value, sites, given)
        if self._is_certain(value) and not setter.assigning.conditions:
            self._certain.add(setter.name)

    def _store(self, setter: Setter, default: str, default_sites: str, given: str) -> None:
        """What an attribute becomes by a statement: of its type, and the configuration merged over it."""
        default = self.expressions.packed(setter.type, default, default_sites, setter.scope)
        self._set(setter.name, default, default_sites)
        with self.source.block(f"if {given}:"):
            self._given(setter, self._value(setter.name), default_sites)

    # --- The end ---

    def _finish(self) -> None:
        source, runtime = self.source, self.source.constant(self.runtime)
        source.line(f"{runtime}.module = {source.constant(self.schema.module)}")
        self._instance()
        caller = f"{MAIN_PACKAGE!r} if caller is None else caller.package"
        source.line(f"if {runtime}.records_instances: schema.record(instance, {caller})")
        with source.block(f"if {runtime}.schema_depth <= 1 and {runtime}.schema_expression_depth <= 1:"):
            self._require()
        self._checks()

    def _instance(self) -> None:
        """Lines that give the instance what has been computed."""
        source = self.source
        names = [name for name in self.layout.setters if name not in self._simple]
        for name in names:
            if name in self._dynamic:
                self._uses_frame = True
                source.line(f"{self._value(name)} = frame.read({name!r}); {self._sites(name)} = final_sites[{name!r}]")
        undefined = source.constant(UNDEFINED)
        if names:
            entries = ", ".join(f"{name!r}: {self._value(name)}" for name in names)
            source.line(f"instance.update({{{entries}}})")
        chosen = [name for name in self.layout.setters if self._simple.get(name) is not UNDEFINED]
        unsure = [name for name in names if name not in self._certain]
        if self.layout.index_signature is None:
            unset = "".join(f"{self._value(name)} is {undefined}, " for name in unsure)
            last = source.constant(values.LastOperators(dict.fromkeys(chosen, OVERRIDE), unsure, self.layout.setters))
            self._give_operators(last, f"(keys, config.operators, {unset})", "config")
            self._give_sites(list(self.layout.setters), last)
            return
        source.line(f"instance.sites = {self._all_sites(list(self.layout.setters))}")
        source.line(f"operators = {source.constant(dict.fromkeys(chosen, OVERRIDE))}.copy()")
        for name in unsure:
            source.line(f"if {self._value(name)} is {undefined}: del operators[{name!r}]")
        source.line("extra = None")
        settle = source.constant(values.settle_operators)
        with source.block("if config:"):
            setters = source.constant(self.layout.setters)
            source.line(f"extra = {settle}(operators, config, {setters})")
        source.line("instance.operators = operators or None")
        self.publish(())
        source.line("if extra: schema.add_extra(frame, extra)")

    def _give_operators(self, last: str, of: str, *arguments: str) -> None:
        """Lines that give an instance its operators, which are those of the `last` time if they are `of` the same."""
        key = self.source.assign(of)
        self.source.line(f"if {last}.of != {key}: {last}.settle({', '.join([key, *arguments])})")
        self.source.line(f"instance.operators = {last}.operators")

    def _give_sites(self, names: Sequence[str], operators: str, before: str | None = None) -> None:
        """Lines that give an instance the sites of attributes, over those `before`; mostly they are those of the last.

        What follows from the configuration does so from its sites, and from how it was written: so from what the
        operators of the instance are `of`, which were compared then.
        """
        source = self.source
        moving = [*([before] if before else ()), *(self._sites(each) for each in names if each not in self._declared)]
        whole = self._all_sites(names, before)
        if not self._declared:
            source.line(f"instance.sites = {self.expressions.shared_sites(whole, moving)}")
            return
        last = source.constant(values.LastSites())
        key = f"({', '.join([f'{operators}.of', 'config.sites', 'config.indexes', 'config.holder', *moving])})"
        with source.block(f"if {last}.key != {key}:"):
            source.line(f"{last}.key = {key}; {last}.sites = {whole}")
        source.line(f"instance.sites = {last}.sites")

    def _all_sites(self, names: Iterable[str], before: str | None = None) -> str:
        """What is written for the sites of attributes, over those `before`."""
        entries = [f"{name!r}: {self._default_sites.get(name) or self._sites(name)}" for name in names]
        whole = f"{{{', '.join([f'**({before} or {{}})', *entries] if before else entries)}}}"
        if not self._declared:
            return whole
        return f"{self.source.constant(values.sites_given)}({whole}, config, {self.source.constant(self._declared)})"

    def _require(self) -> None:
        """As `require_attributes`, which only what may hold instances is handed to."""
        source, runtime = self.source, self.source.constant(self.runtime)
        require = source.constant(require_attributes)
        if self.layout.index_signature is not None:
            source.line(f"{require}(instance, {runtime})")
            return
        held = {name for name, setters in self.setters.items() if may_hold_instances(setters)}
        others = [self._value(name) for name in self.setters if name in held and name not in self._simple]
        self._require_all(self._certain, others, held & self._simple.keys())

    def _require_all(self, certain: Container[str], held: Iterable[str], simple: frozenset[str] | set[str]) -> None:
        """Lines that look whether all is there: what is not `certain`, in the values `held`, in `simple` attributes."""
        source, runtime = self.source, self.source.constant(self.runtime)
        required = self.layout.required
        unsure = tuple(name for name in required if name not in certain)
        arguments = ", ".join(map(source.constant, (unsure, frozenset(required), simple)))
        source.line(f"{source.constant(values.require)}(instance, config, {arguments}, {runtime})")
        for value in held:
            require = f"{source.constant(require_attributes)}({value}, {runtime}, origin)"
            source.line(f"if isinstance({value}, (list, dict)): {require}")

    def _checks(self) -> None:
        source, runtime = self.source, self.source.constant(self.runtime)
        signature = self.layout.index_signature
        if signature is not None:
            if any(level.body.checks for level in self.layout.levels):
                source.line("schema.run_checks(frame, extra or ())")
            return
        for number, level in enumerate(self.layout.levels):
            node = level.schema.node
            if node.checks:
                source.line(f"{runtime}.module = {source.constant(level.schema.module)}")
                self.expressions.environment = f"e{number}"
            for check in node.checks:
                self._check(check, level)

    def _check(self, check: ast.Check, level: Level) -> None:
        if check.cond is None:
            self._must_hold(check, level.body.scope)
            return
        condition = self.expressions.value(check.cond, level.body.scope)
        with self.source.block(f"if {condition}:"):
            self._must_hold(check, level.body.scope)

    def _must_hold(self, check: ast.Check, scope: Scope) -> None:
        holds = self.expressions.value(check.test, scope)
        if check.message is not None and not may_be_left_out(check.message):
            self.expressions.value(check.message, scope)
        self.source.line(f"if not {holds}: raise {self.source.constant(StartOver)}")
