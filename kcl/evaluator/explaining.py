"""What an evaluation that fails can tell of the values it failed on: where one is missing, and who wrote the others.

The message is official; this is put beside it, as hints. All of it is worked out when something has failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kcl.diagnostics import Hint, KclError, Label, Span
from kcl.evaluator.environments import Environment
from kcl.evaluator.lexical import Scope
from kcl.evaluator.lowering import lower
from kcl.evaluator.runtime import Runtime
from kcl.evaluator.value import UNDEFINED, KDict, SchemaInstance, Value, ValueFailure
from kcl.patterns import pattern
from kcl.records import replace
from kcl.secrecy.names import suggests_secret
from kcl.secrecy.shapes import secrets_by_shape
from kcl.syntax import ast
from kcl.syntax.walking import walk

if TYPE_CHECKING:
    from kcl.evaluator.layouts import SchemaFrame

_MOST_READ: Final = 4
_NAMED = pattern(r"([A-Za-z_][\w-]*)[\"']?[ \t]*[:=]")


def with_hints(problem: KclError, hints: Sequence[Hint]) -> KclError:
    first, *rest = problem.diagnostics
    return KclError((replace(first, hints=(*first.hints, *hints)), *rest)) if hints else problem


# ------------------------------------------------------------------ what is missing


def missing(problem: KclError, operands: Sequence[ast.Expr], scope: Scope, environment: Environment) -> KclError:
    """The failure of an operation, with what is said of those of its operands that are Undefined."""
    hints = []
    for operand in operands:
        try:
            hint = _missing(operand, scope, environment)
        except (KclError, ValueFailure, LookupError, AttributeError, TypeError):
            continue  # what could be said of it cannot be found out
        if hint is not None and hint not in hints:
            hints.append(hint)
    return with_hints(problem, hints)


def _missing(operand: ast.Expr, scope: Scope, environment: Environment) -> Hint | None:
    """Looks at a chain of names from its beginning: the first step that leads to nothing is what is missing."""
    steps: list[ast.Selector | ast.Subscript] = []
    node = operand
    while isinstance(node, ast.Paren):
        node = node.value
    while True:
        if isinstance(node, ast.Selector) or (isinstance(node, ast.Subscript) and isinstance(node.index, ast.Str)):
            steps.insert(0, node)
            node = node.value
        else:
            break
    if not isinstance(node, ast.Name):
        return None
    if not steps:
        return _missing_name(node, scope, environment)
    for step in steps:
        holder = lower(step.value, scope)(environment)
        key = step.name if isinstance(step, ast.Selector) else getattr(step.index, "value", "")
        if isinstance(holder, KDict) and holder.get(key, UNDEFINED) is UNDEFINED:
            said = scope.module.module.source.text[step.value.start : step.value.end]
            return _absent(holder, key, said, scope.module.runtime)
        if not isinstance(holder, KDict):
            return None
    return None


def _missing_name(node: ast.Name, scope: Scope, environment: Environment) -> Hint | None:
    frame: SchemaFrame | None = environment[0] if environment else None
    instance = getattr(frame, "instance", None)
    value = lower(node, scope)(environment)
    if value is not UNDEFINED or not isinstance(instance, SchemaInstance):
        return None
    declared = _declared(instance, node.id)
    return None if declared is None else _no_value(instance, node.id, declared)


def _absent(holder: KDict, key: str, said: str, runtime: Runtime) -> Hint | None:
    if isinstance(holder, SchemaInstance):
        declared = _declared(holder, key)
        return None if declared is None else _no_value(holder, key, declared)
    near = _nearest(key, holder)
    message = f"`{said}` has no key `{key}`"
    if near is not None:
        message += f": did you mean `{near}`?"
    keys = [name for name in (near, *holder) if name is not None]
    spans = [runtime.table.span(index) for name in keys for index in holder.sites_of(name)[:1]]
    if near is not None and spans:
        return Hint(message, (Label(spans[0], f"`{near}` is there"),))
    return Hint(message)


def _no_value(instance: SchemaInstance, name: str, declared: tuple[Span, str]) -> Hint:
    """`declared` is where the attribute is declared, and as what."""
    span, how = declared
    labels = [Label(span, f"`{name}` is declared here{how}")]
    if instance.origin is not None:
        labels.insert(0, Label(instance.origin, f"this {instance.schema.name} gives no `{name}`"))
    message = f"attribute `{name}` of {instance.schema.name} has no value: give it one, or test it before it is used"
    return Hint(message, tuple(labels))


def _declared(instance: SchemaInstance, name: str) -> tuple[Span, str] | None:
    """Where an attribute is declared, in the schema or one it is built upon."""
    layout = getattr(instance.schema, "layout", None)
    for level in reversed(layout.levels if layout is not None else []):
        for statement in level.schema.node.body:
            if isinstance(statement, ast.SchemaAttr) and statement.name == name:
                path = level.schema.module.path
                optional = ", optional and without a default" if statement.optional and statement.value is None else ""
                return Span(path, statement.start, statement.name_end), optional
    return None


def _nearest(key: str, holder: KDict) -> str | None:
    """The one key that is a letter away from `key`, or differs in upper and lower case or in signs between words."""
    from kcl.teaching.distances import distance  # nothing fails in most runs

    def plain(name: str) -> str:
        return name.replace("_", "").replace("-", "").lower()

    near = [name for name in holder if plain(name) == plain(key) or (len(key) > 2 and distance(name, key) == 1)]
    return near[0] if len(near) == 1 else None


# ------------------------------------------------------------------ what a check read


def written(problem: KclError, test: ast.Expr, frame: SchemaFrame | None, runtime: Runtime) -> KclError:
    """A failed check, with the places that wrote the values it read."""
    if frame is None:
        return problem
    labels: list[Label] = []
    said: list[str] = []
    for path, value, span in list(_read(test, frame.instance, runtime))[:_MOST_READ]:
        name = ".".join(path)
        if any(each.startswith(f"`{name}`") for each in said):
            continue
        is_secret = any(map(suggests_secret, path))
        shown = f" = {value}" if type(value) in (int, float, bool) and not is_secret else ""
        said.append(f"`{name}`{shown}")
        if span is not None:
            text = next((source for source in _sources(runtime) if source[0] == span.path), None)
            if is_secret or text is None or _holds_secret(text[1], span):
                said[-1] += f", written in {_place(span, text)}"
            elif all(each.span != span for each in labels):
                labels.append(Label(span, f"`{name}` is written here"))
    return with_hints(problem, [Hint(f"the check reads {' and '.join(said)}", tuple(labels))] if said else [])


def _sources(runtime: Runtime) -> Iterator[tuple[str, str]]:
    for package in runtime.program.packages.values():
        for module in package.modules:
            yield module.source.path, module.source.text


def _place(span: Span, text: tuple[str, str] | None) -> str:
    return span.path if text is None else f"{span.path}:{text[1].count(chr(10), 0, span.start) + 1}"


def _holds_secret(text: str, span: Span) -> bool:
    """Whether the line that would be shown holds a secret, of this or another value."""
    end = text.find("\n", span.start)
    line = text[text.rfind("\n", 0, span.start) + 1 : end if end >= 0 else len(text)]
    named = any(suggests_secret(found[1]) for found in _NAMED.finditer(line))
    return named or any(True for _ in secrets_by_shape([line]))


def _read(
    test: ast.Expr, instance: SchemaInstance, runtime: Runtime
) -> Iterator[tuple[tuple[str, ...], Value, Span | None]]:
    """The attributes that an expression reads, with their values and where those were written."""
    inner: set[int] = set()
    for node in sorted(walk(test), key=lambda each: (each.start, -each.end)):
        if id(node) in inner or not isinstance(node, (ast.Name, ast.Selector)):
            continue
        names: list[str] = []
        head: ast.Expr = node
        while isinstance(head, ast.Selector):
            names.insert(0, head.name)
            head = head.value
            inner.add(id(head))
        if not isinstance(head, ast.Name) or head.id not in instance:
            continue
        path = [head.id]
        value, span = instance[head.id], _site(instance, head.id, runtime)
        for name in names:
            if not isinstance(value, KDict) or name not in value:
                break
            path.append(name)
            value, span = value[name], _site(value, name, runtime) or span
        yield tuple(path), value, span


def _site(holder: KDict, key: str, runtime: Runtime) -> Span | None:
    sites = holder.sites_of(key)
    return runtime.table.span(sites[0]) if sites else None
