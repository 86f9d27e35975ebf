"""Schemas, and how an instance comes to be.

A schema is a stack of *levels*: its bases from the root down, itself, its mixins, each contributing statements that
set attributes. An instance runs them all over one `SchemaFrame`, so a base's default that reads an attribute sees what
a derived schema, a mixin or the user made of it. Where the user configured an attribute, the configuration is merged
over every value the statements give it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from kcl.diagnostics import Code, Diagnostic, KclError, Span, error
from kcl.evaluator.layouts import Build, CompiledBody, IndexSignatureCode, Level, Rebuild, SchemaFrame, SchemaLayout
from kcl.evaluator.runtime import (
    MOST_NESTED_CALLS,
    TRIED,
    CodeKind,
    ModuleContext,
    Remembered,
    Runtime,
    Where,
    evaluation_error,
    on_the_way,
)
from kcl.evaluator.runtime_types import RuntimeType, pack, pack_whole
from kcl.evaluator.scopes import Setter
from kcl.evaluator.type_lowering import find_schema
from kcl.evaluator.union import configured, joined_sites
from kcl.evaluator.value import (
    INSERT,
    OVERRIDE,
    SCALARS,
    UNDEFINED,
    UNION,
    Builtin,
    KDict,
    KList,
    SchemaInstance,
    Sites,
    Value,
    ValueFailure,
)
from kcl.loader.program import MAIN_PACKAGE
from kcl.syntax import ast

_MOST_CHANGES: Final = 16
"""Sets of keys for which one schema gets code of its own."""
_MOST_MADE: Final = 64
"""Instances that are remembered for who makes the same again."""
_ANEW: Final = 0
"""How `constant` makes instances; unions say theirs."""


class SchemaType:
    """A schema as a value. Compiled when the first instance is built or the first value checked against it."""

    __slots__ = ("_compile", "_layout", "_lineage", "_own", "module", "name", "node", "package")

    is_type = True
    is_schema = True
    is_function = False

    def __init__(self, node: ast.Schema, module: ModuleContext, compile_: Callable[[SchemaType], CompiledBody]) -> None:
        self.node = node
        self._compile = compile_
        self.module = module
        self.name = node.name
        self.package = module.package
        self._own: CompiledBody | None = None
        self._layout: SchemaLayout | None = None
        self._lineage: tuple[SchemaType, ...] | None = None

    # --- What it is made of ---

    @property
    def own(self) -> CompiledBody:
        if self._own is None:
            self._own = self._compile(self)
        return self._own

    @property
    def lineage(self) -> tuple[SchemaType, ...]:
        """The schema, its base, its base's base and so on."""
        if self._lineage is None:
            chain: list[SchemaType] = [self]
            met = {id(self)}
            known: tuple[SchemaType, ...] = ()
            while not known and chain[-1].node.parent is not None:
                parent = chain[-1].resolve(chain[-1].node.parent)
                if id(parent) in met:
                    message = f"There is a circular reference between schemas {self.name}, {parent.name}"
                    raise self.module.where(self.node).error(Code.COMPILE, message)
                if parent._lineage is not None:
                    known = parent._lineage
                else:
                    chain.append(parent)
                    met.add(id(parent))
            whole = (*chain, *known)
            for index, schema in enumerate(chain):  # each is asked for next: a line of thousands is followed once
                schema._lineage = whole[index:]
            return whole
        return self._lineage

    @property
    def layout(self) -> SchemaLayout:
        if self._layout is None:
            self._layout = self._build_layout()
        return self._layout

    @property
    def marked(self) -> Sequence[str]:
        """The attributes of its own body that say `@info(type="attr")`."""
        declared = (each for each in self.node.body if isinstance(each, ast.SchemaAttr) and each.decorators)
        return tuple(dict.fromkeys(each.name for each in declared if any(map(_is_role, each.decorators))))

    def resolve(self, name: ast.Name | ast.Selector) -> SchemaType:
        found = find_schema(dotted(name), name, self.module)
        assert isinstance(found, SchemaType)
        return found

    def _stack(self) -> list[SchemaType]:
        stack: list[SchemaType] = []
        if len(self.lineage) > 1:
            stack += self.lineage[1]._stack()
        stack.append(self)
        for mixin in self.node.mixins:
            stack += self.resolve(mixin)._stack()
        return stack

    def _optional(self) -> dict[str, bool]:
        """Whether each attribute may be left out: the body says it, else its mixins, else its base."""
        found = self.lineage[1]._optional() if len(self.lineage) > 1 else {}
        for mixin in self.node.mixins:
            found |= self.resolve(mixin)._optional()
        return found | self.own.optional

    def _build_layout(self) -> SchemaLayout:
        levels: list[Level] = []
        setters: dict[str, list[Setter]] = {}
        types: dict[str, list[RuntimeType | None]] = {}
        optional: dict[str, bool] = {}
        signature: IndexSignatureCode | None = None
        signature_level = 0
        for schema in self._stack():
            body = schema.own
            level = Level(schema, body)
            for name, own_setters in body.setters.items():
                known = setters.setdefault(name, [])
                level.first[name] = len(known)
                known += [setter.at_level(len(levels)) for setter in own_setters]
                types.setdefault(name, []).extend(body.types[name])
            optional.update(body.optional)
            if schema is self:  # officially the signature of a base says nothing of the schemas derived from it
                signature, signature_level = body.index_signature, len(levels)
            levels.append(level)
        decided = self._optional()
        return SchemaLayout(
            levels,
            setters,
            {name: _carried(declared) for name, declared in types.items()},
            frozenset(optional),
            tuple(name for name in optional if not decided[name]),
            signature,
            signature_level,
        )

    def is_base_of(self, other: object) -> bool:
        return isinstance(other, SchemaType) and self in other.lineage

    def fits(self, config: KDict) -> bool:
        """Whether a config may become an instance: it has no key that the schema does not know."""
        return not self.unknown_keys(config)

    def misfits(self, value: KDict, text: str) -> list[str]:
        """Why a config or an instance of another schema cannot be an instance of this one, in the official words."""
        found = []
        declared = self.layout.declared
        if self.layout.index_signature is None:
            found += [
                f"Schema {text} does not contain attribute {key}"
                for key in value
                if key not in declared and not key.startswith("_")
            ]
        found += [f"Schema {text}'s attribute {name} is missing" for name in self.layout.required if name not in value]
        return found

    # --- Members and calls ---

    def member(self, name: str) -> Value:
        if name == "instances":
            return Builtin("instances", self._instances, contextual=False)
        raise ValueFailure(f"attribute '{name}' not found in schema '{self.name}'")

    def _instances(self, full_pkg: bool = False) -> KList:
        runtime = self.module.runtime
        runtime.beyond += 1
        recorded = runtime.instances.of(self)
        return KList([instance for package, instance in recorded if full_pkg or package == MAIN_PACKAGE])

    def instantiate(
        self, config: KDict, args: Sequence[Value], kwargs: Mapping[str, Value], where: Where
    ) -> SchemaInstance:
        """A new instance as written in the program, with arguments that must fit the parameters."""
        parts = self.module.runtime.parts
        if parts is None or config or kwargs or not args or not all(isinstance(each, SchemaInstance) for each in args):
            return self._instantiated(config, args, kwargs, where)
        place = where.module.path, where.start, where.end
        return parts.part((self, *args), lambda: self._instantiated(config, args, kwargs, where), place)

    def _instantiated(
        self, config: KDict, args: Sequence[Value], kwargs: Mapping[str, Value], where: Where
    ) -> SchemaInstance:
        parameters = self.own.parameters
        parameters.check_call(self.name, args, kwargs, where)
        parameters.check_types(args, kwargs, where)
        return self.rebuild(config, args, kwargs, where.span)

    def rebuild(
        self, config: KDict, args: Sequence[Value], kwargs: Mapping[str, Value], origin: Span | None
    ) -> SchemaInstance:
        """Builds an instance: every statement run, the configuration merged in, checks passed."""
        runtime = self.module.runtime
        layout = self.layout
        if runtime.compiling is not None:
            if layout.built != TRIED:
                layout.built += 1
                if layout.built >= runtime.compiling.after:
                    layout.built = TRIED
                    layout.build = runtime.compiling.code(SCHEMAS, self)
            if layout.build is not None:
                return layout.build(self, config, args, kwargs, origin)
        caller = runtime.module
        instance = SchemaInstance(self)
        instance.args, instance.kwargs, instance.origin = args, kwargs, origin
        instance.config_keys = tuple(config)
        instance.required = layout.required
        frame = SchemaFrame(runtime, layout, instance, config, args, kwargs)
        runtime.enter(origin)
        runtime.schema_depth += 1
        try:
            for index, level in enumerate(layout.levels):
                runtime.module = level.schema.module
                environment = frame.level_environment(index)
                for statement in level.body.statements:
                    statement(environment, frame, level.first)
                for decorator in level.body.decorators:
                    decorator(environment, frame)
            runtime.module = self.module
            self._finish(frame, caller)
        except ValueFailure as failure:
            raise self._on_the_way(evaluation_error(failure.message, origin), args, origin) from None
        except KclError as problem:
            raise self._on_the_way(problem, args, origin) from None
        finally:
            runtime.depth -= 1
            runtime.schema_depth -= 1
            runtime.module = caller
            frame.release()
        return instance

    def rebuild_changed(
        self, left: SchemaInstance, changed: Iterable[str], config: KDict, origin: Span | None
    ) -> SchemaInstance:
        """As `rebuild`, from what `left` was given, of which a union has `changed` some keys; all are overridden."""
        compiling, layout = self.module.runtime.compiling, self.layout
        if compiling is not None and layout.build is not None:
            keys = tuple(changed)
            code = layout.rebuilds.get(keys, 0)
            if isinstance(code, int) and (code or len(layout.rebuilds) < _MOST_CHANGES):
                code += 1
                if code >= compiling.after:
                    code = compiling.code(CHANGES, self, frozenset(keys))
                layout.rebuilds[keys] = code
            if code is not None and not isinstance(code, int):
                return code(self, left, config, origin)
        return self.rebuild(config, left.args, left.kwargs, origin)

    # --- Instances that are made once ---

    def constant(self, config: KDict, origin: Span | None) -> SchemaInstance:
        """`rebuild` of a configuration that is the same object each time."""
        made = self.made_before(self, config, _ANEW, origin)
        if made is None:
            made = self.rebuild(config, (), {}, origin)
            self.remember(self, config, _ANEW, origin, made)
        return made

    def made_before(self, left: object, right: KDict, how: int, origin: Span | None) -> SchemaInstance | None:
        """What was made of the same two the last time, by the same rules (`how`) and at the same place.

        None where that is not known, and where somebody could tell: `instances()` counts each instance.
        """
        layout = self._layout
        if layout is None or not layout.is_function:
            return None
        runtime = self.module.runtime
        known = runtime.made.get((id(left), id(right), how))
        if known is None or runtime.depth >= MOST_NESTED_CALLS:
            return None
        if known.origin is not origin and known.origin != origin:
            return None
        if _proves(runtime) and not known.is_proven:
            return None  # made inside of another the first time, and never asked whether it lacks something
        return known.made

    def remember(self, left: object, right: KDict, how: int, origin: Span | None, made: SchemaInstance) -> None:
        """Keeps what was made of two for `made_before`; both stay as they are, as all values do."""
        runtime = self.module.runtime
        if self.layout.is_function and runtime.compiling is not None and not runtime.records_instances:
            if SCALARS.issuperset(map(type, right.values())):  # else what is inside may be more than a function
                if len(runtime.made) >= _MOST_MADE:
                    runtime.made.clear()
                runtime.made[id(left), id(right), how] = Remembered(left, right, origin, made, _proves(runtime))

    def _on_the_way(self, problem: KclError, args: Sequence[Value], origin: Span | None) -> KclError:
        given = [(arg.origin, f"from this {arg.schema.name}") for arg in args if isinstance(arg, SchemaInstance)]
        return on_the_way(problem, [(origin, f"while building this {self.name}"), *given])

    def _finish(self, frame: SchemaFrame, caller: ModuleContext | None) -> None:
        runtime, instance, layout = self.module.runtime, frame.instance, self.layout
        sites: dict[str, Sites] = {}
        operators: dict[str, int] = {}
        for name in layout.setters:
            value = frame.read(name)
            dict.__setitem__(instance, name, value)
            if frame.sites[name]:
                sites[name] = frame.sites[name]
            if name in frame.config:
                operator = frame.config.operator(name)
                if operator != UNION:
                    operators[name] = operator
            elif value is not UNDEFINED:
                operators[name] = OVERRIDE
        instance.sites, instance.operators = sites or None, operators or None
        extra = [key for key in frame.config if key not in layout.setters]
        if extra:
            self.add_extra(frame, extra)
        if runtime.records_instances:
            self.record(instance, MAIN_PACKAGE if caller is None else caller.package)
        if runtime.schema_depth <= 1 and runtime.schema_expression_depth <= 1:
            require_attributes(instance, runtime)
        self.run_checks(frame, extra)

    def record(self, instance: SchemaInstance, caller: str) -> None:
        """Keeps the instance for `instances()`, of this schema and its bases; `caller` is the package that made it."""
        self.module.runtime.instances.add(instance, caller)

    def add_extra(self, frame: SchemaFrame, extra: Sequence[str]) -> None:
        """Attributes the schema does not declare: those an index signature admits."""
        signature = self.layout.index_signature
        config, instance, runtime = frame.config, frame.instance, self.module.runtime
        if signature is None:
            places = [(key, config.sites_of(key)) for key in extra]
            spans = [(key, runtime.table.span(sites[0]) if sites else instance.origin) for key, sites in places]
            raise KclError(tuple(self._unknown_attribute(key, span) for key, span in spans))
        for key in extra:
            default: Value = UNDEFINED
            if signature.default is not None:
                environment = frame.level_environment(self.layout.index_signature_level)
                if signature.name is not None:
                    frame.final[signature.name] = key
                default = signature.default(environment)
            place = default.origin if isinstance(default, SchemaInstance) else instance.origin
            value = configured(default, config, key, place)
            value = pack_whole(signature.type, value, instance.origin)
            dict.__setitem__(instance, key, value)
            if signature.name != key:
                frame.final[key] = value
            if config.operator(key) != UNION:
                instance.operators = instance.operators or {}
                instance.operators[key] = config.operator(key)
            if config.sites_of(key):
                instance.sites = instance.sites or {}
                instance.sites[key] = config.sites_of(key)

    def unknown_keys(self, config: KDict) -> list[str]:
        """The keys of a config that are no attributes of the schema; none when it has an index signature."""
        setters = self.layout.setters
        if self.layout.index_signature is not None or config.keys() <= setters.keys():
            return []
        return [key for key in config if key not in setters and not key.startswith("_")]

    def _unknown_attribute(self, key: str, span: Span | None) -> Diagnostic:
        """The finding that a key given at `span` is no attribute."""
        return error(Code.EVALUATION, f"No attribute named '{key}' in the schema '{self.name}'", span, line_only=True)

    def run_checks(self, frame: SchemaFrame, extra: Sequence[str]) -> None:
        signature = self.layout.index_signature
        named = signature is not None and signature.name is not None
        for key in extra if named else [None]:
            if key is not None and signature is not None and signature.name is not None:
                frame.final[signature.name] = key
            for index, level in enumerate(self.layout.levels):
                if level.body.checks:
                    self.module.runtime.module = level.schema.module
                    environment = frame.level_environment(index)
                    for check in level.body.checks:
                        check(environment)


SCHEMAS: Final[CodeKind[[SchemaType], Build]] = CodeKind()
CHANGES: Final[CodeKind[[SchemaType, frozenset[str]], Rebuild]] = CodeKind()
"""Of a schema, and of the keys that a union changes in an instance of it."""


def _carried(declared: list[RuntimeType | None]) -> list[RuntimeType | None]:
    """For each setter of a name the type that holds for it: the last one declared so far, else the first at all."""
    current = next((type_ for type_ in declared if type_ is not None), None)
    result = []
    for type_ in declared:
        current = type_ or current
        result.append(current)
    return result


def _is_role(decorator: ast.Decorator) -> bool:
    said = {each.name: each.value for each in decorator.keywords}.get("type")
    return dotted(decorator.name) == ("info",) and isinstance(said, ast.Str) and said.value == "attr"


def dotted(name: ast.Expr) -> tuple[str, ...]:
    """The segments of `a.b.c`."""
    if isinstance(name, ast.Selector):
        return (*dotted(name.value), name.name)
    assert isinstance(name, ast.Name)
    return (name.id,)


def store(frame: SchemaFrame, name: str, value: Value, declared: Span, merge_insertions: bool = True) -> Value:
    """What an attribute becomes when a statement gives it a value: its type, and the configuration merged over it.

    Called by a setter while it runs; `declared` is the place of its statement. The value's sites are read from and left
    in `Runtime.origin`.
    """
    runtime, config = frame.runtime, frame.config
    type_ = attribute_type(frame, name)
    sites = runtime.origin
    table, instance = runtime.table, frame.instance
    if type_ is not None:
        # A value that came from elsewhere is of a type only known now, and told here.
        default_place = table.span(sites[0]) if sites else None
        value = pack(type_, value, default_place)
    if name in config and (merge_insertions or config.operator(name) != INSERT):
        given = config.sites_of(name)
        place = table.span(given[0]) if given else instance.origin
        value = configured(value, config, name, place)
        if type_ is not None:
            value = pack(type_, value, place)
        sites = joined_sites(given, sites)
    runtime.origin = sites
    return value


def attribute_type(frame: SchemaFrame, name: str) -> RuntimeType | None:
    """The declared type that holds where a setter of the attribute is running."""
    types = frame.layout.types.get(name)
    return types[frame.running(name)] if types else None


def _proves(runtime: Runtime) -> bool:
    """Whether an instance that is made now has to have all that is required."""
    return runtime.schema_depth < 1 and runtime.schema_expression_depth <= 1


def require_attributes(value: Value, runtime: Runtime, origin: Span | None = None) -> None:
    """Checks that no required attribute is missing in the instances a value holds. Raises KclError at the instance."""
    if isinstance(value, SchemaInstance):
        if value.complete:
            return
        none_counts = runtime.dialect.explicit_none_is_a_value
        for name in value.required:
            present = value.get(name, UNDEFINED)
            if present is UNDEFINED or (present is None and not (none_counts and name in value.config_keys)):
                raise evaluation_error(
                    f"attribute '{name}' of {value.schema.name} is required and can't be None or Undefined",
                    value.origin or origin,
                )
        origin = value.origin or origin
    items = value.values() if isinstance(value, dict) else value
    if not SCALARS.issuperset(map(type, items)):
        for item in items:
            if isinstance(item, (list, dict)):
                require_attributes(item, runtime, origin)
    if isinstance(value, SchemaInstance):
        value.complete = True
