"""Components that nothing renders: a stack that makes its output of `Schema.instances()` drops what no one asks for.

What makes the output (`render.k`) asks for the instances of each schema by name. A component of another schema, a new
model or one made from another, compiles all the same, and its objects are missing: a plan would take them away. So a
stack whose program prints by `manifests.yaml_stream` is searched for variables that hold a component which no file
asks for, and that no file reads. Read from what is written; nothing is evaluated.

Not looked at are names that begin with `_`, schemas of the stack's own files, and what is below a comprehension.
Where `instances(full_pkg=True)` is asked for, what is made of a schema counts as well: then nothing is said, and
nothing where only packages ask, or where a file says a schema of a package that it does not import.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import ast, parse
from kcl.syntax.walking import walk

_ASKING: Final = "instances"
_STREAM: Final = "yaml_stream"
_NO_TREES: Final[Mapping[str, ast.Module]] = MappingProxyType({})
_MOST_TEXTS: Final = 4096
"""Of which it is known what they say."""


@dataclass(frozen=True, slots=True)
class Unrendered:
    """A variable, the schema it is made of as the file says it, and the line; `asked_in` is the file that renders."""

    variable: str
    schema: str
    file: str
    line: int
    asked_in: str


@dataclass(frozen=True, slots=True)
class _Made:
    variable: str
    spelled: str
    package: str
    schema: str
    line: int


@dataclass(frozen=True, slots=True)
class _Read:
    """What a file says. `asked` are packages and schemas; an empty package is that of the file."""

    made: tuple[_Made, ...]
    asked: frozenset[tuple[str, str]]
    asks_for_all: bool
    names: frozenset[str]
    streams: bool


_NOTHING: Final = _Read((), frozenset(), False, frozenset(), False)
_known: Final[dict[str, _Read]] = {}
_changing: Final = threading.Lock()


def unrendered(
    main: Iterable[tuple[str, str]], imported: Callable[[], Iterable[str]], trees: Mapping[str, ast.Module] = _NO_TREES
) -> tuple[Unrendered, ...]:
    """`main` are the files of the program with their texts, `imported` gives the texts of packages, which are looked at
    where a component is asked for by no file of the program. Files with syntax errors say nothing. `trees` are what
    texts of `main` were parsed to without any, by name, as far as somebody knows."""
    own = [(name, _said_by(text, trees.get(name))) for name, text in main]
    asking = next((name for name, each in own if each.asked), "")
    asked = {pair for _, each in own for pair in each.asked}
    read = {name for _, each in own for name in each.names}
    found = [
        (name, made)
        for name, each in own
        for made in each.made
        if (made.package, made.schema) not in asked and made.variable not in read
    ]
    if not asking or not found:
        return ()
    others = [_said_by(text) for text in imported() if _ASKING in text or _STREAM in text]
    every = [*(each for _, each in own), *others]
    if not any(each.streams for each in every) or any(each.asks_for_all for each in every):
        return ()
    elsewhere = {schema for each in others for _, schema in each.asked}
    return tuple(
        Unrendered(made.variable, made.spelled, name, made.line, asking)
        for name, made in found
        if made.schema not in elsewhere
    )


def _said_by(text: str, tree: ast.Module | None = None) -> _Read:
    """What a text says, which is read once."""
    with _changing:
        known = _known.get(text)
    if known is not None:
        return known
    if tree is None:
        parsed = parse(SourceFile("", text))
        tree = None if parsed.diagnostics else parsed.module
    said = _NOTHING if tree is None else _read(tree, text)
    with _changing:
        _known[text] = said
        while len(_known) > _MOST_TEXTS:
            del _known[next(iter(_known))]
    return said


def _read(module: ast.Module, text: str) -> _Read:
    # the last step: one package may be named from the root of this module, or as that of another
    packages = {each.name: each.path.rpartition(".")[2] for each in module.body if isinstance(each, ast.Import)}
    asked: set[tuple[str, str]] = set()
    names: set[str] = set()
    asks_for_all = streams = False
    made_of: set[int] = set()
    """The names of schemas that make an instance, which come after it: they are no variables that are read."""
    for node in walk(module):
        match node:
            case ast.Name(id=name):
                if id(node) not in made_of:
                    names.add(name)
            case ast.SchemaExpr(name=schema):
                made_of.add(id(schema))
                if isinstance(schema, ast.Selector):
                    made_of.add(id(schema.value))
            case ast.Call(func=ast.Selector(value=schema, name="instances"), args=args, keywords=keywords):
                asks_for_all = asks_for_all or bool(args or keywords)
                asked.add(_spelled(schema, packages))
            case ast.Selector(name="instances", value=schema):
                asked.add(_spelled(schema, packages))
            case ast.Selector(name="yaml_stream"):
                streams = True
            case _:
                pass
    made = tuple(_made(module.body, packages, text))
    return _Read(made, frozenset(asked), asks_for_all, frozenset(names), streams)


def _spelled(schema: ast.Expr, packages: dict[str, str]) -> tuple[str, str]:
    """The package and name of a schema; of what is no plain name nothing, which fits no component."""
    match schema:
        case ast.Selector(value=ast.Name(id=package), name=name):
            return packages.get(package, ""), name
        case ast.Name(id=name):
            return "", name
        case _:
            return "", ""


def _made(body: Iterable[ast.Stmt], packages: dict[str, str], text: str) -> Iterator[_Made]:
    for statement in body:
        match statement:
            case ast.If(body=inside, orelse=orelse):
                yield from _made([*inside, *orelse], packages, text)
            case ast.Unification(target=target, value=value):
                yield from _component(target, value, packages, text)
            case ast.Assign(targets=[target], value=value):
                yield from _component(target, value, packages, text)
            case _:
                pass


def _component(target: ast.Target, value: ast.Expr, packages: dict[str, str], text: str) -> Iterator[_Made]:
    if not isinstance(value, ast.SchemaExpr) or target.path or target.name.startswith("_"):
        return
    package, schema = _spelled(value.name, packages)
    if package and schema:
        spelled, line = text[value.name.start : value.name.end], text.count("\n", 0, target.start) + 1
        yield _Made(target.name, spelled, package, schema, line)
