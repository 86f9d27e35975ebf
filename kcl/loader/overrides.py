"""Overrides (`-O server.replicas=3`): other values for a run, without touching the files.

    path=value     replaces what is there, or adds it
    path:value     merges a configuration into the one that is there
    path+=value    adds items to a list
    path-          takes it away

The texts of the main files are changed as a person would change them, and the run reads those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final

from kcl.diagnostics import Code, KclError, error
from kcl.loader.program import Program
from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.source import SourceFile
from kcl.syntax import ast, parse
from kcl.syntax.edit import expression_text, locate_value, replace_value
from kcl.syntax.removal import remove_value

_PATH: Final = pattern(r"""(?:"[^"]*"|'[^']*'|\[[^\]]*\]|[^=:+\["'-]|-(?!\s*$)|\+(?!=))+""")
_OPERATOR: Final = pattern(r"(\+=|=|:|-\s*$)")
_STEP: Final = pattern(r"""\.?(?:\[(-?\d+)\]|\[?"([^"]*)"\]?|\['([^']*)'\]|([^.\[\]"']+))""")
_USAGE: Final = "write it as path=value, path:value, path+=value or path-"


@dataclass(frozen=True, slots=True)
class _Override:
    spec: str
    variable: str
    path: tuple[str | int, ...]
    operator: str
    value: str
    """An expression; "" for a removal."""


def overridden_texts(program: Program, specs: Sequence[str]) -> dict[str, str]:
    """The texts, by path, of the main files that change when each of `specs` is written into them.

    The last main file that declares the variable is changed, and the last of all where none does. A value that is no
    expression, or a bare word that names nothing, is text. Raises KclError for a spec that makes no sense.
    """
    modules = program.main.modules
    imported = {alias for module in modules for alias in module.imports}
    return _Texts({module.name: module.source.text for module in modules}, imported).overridden(specs)


def overridden_text(source: SourceFile, specs: Sequence[str], imports: Sequence[str] = ()) -> str:
    """The text of one file when each of `specs` is written into it, and what `imports` name (`a.b`, `a.b as c`) is
    imported.

    Raises KclError for a spec or an import that makes no sense, for a text with syntax errors, and for what would make
    it one.
    """
    result = parse(source)
    if result.diagnostics:
        raise KclError(result.diagnostics)
    text = _with_imports(source, imports)
    tree = parse(SourceFile(source.path, text)).module
    imported = {_alias(each) for each in tree.body if isinstance(each, ast.Import)}
    after = _Texts({source.path: text}, imported).overridden(specs).get(source.path, text)
    result = parse(SourceFile(source.path, after))
    if result.diagnostics:
        raise KclError(result.diagnostics)
    return after


def _alias(statement: ast.Import) -> str:
    return statement.alias or statement.names[-1]


def _with_imports(source: SourceFile, imports: Sequence[str]) -> str:
    """The text with imports after those it has, each once."""
    body = parse(source).module.body
    present = [each for each in body if isinstance(each, ast.Import)]
    said = {(each.path, _alias(each)) for each in present}
    lines: list[str] = []
    for text in imports:
        found = parse(SourceFile("import", f"import {text}\n"))
        if found.diagnostics or len(found.module.body) != 1 or not isinstance(found.module.body[0], ast.Import):
            raise _failure(f"invalid import path '{text}', write it as a.b or a.b as c")
        statement = found.module.body[0]
        if (statement.path, _alias(statement)) not in said:
            said.add((statement.path, _alias(statement)))
            lines.append(f"import {text.strip()}\n")
    if not lines:
        return source.text
    if not present:
        return "".join(lines) + "\n" + source.text
    end = source.text.find("\n", present[-1].end)
    gap = "" if end >= 0 else "\n"
    at = len(source.text) if end < 0 else end + 1
    return source.text[:at] + gap + "".join(lines) + source.text[at:]


class _Texts:
    """The main files of a program while overrides are written into them, one after the other."""

    def __init__(self, texts: Mapping[str, str], imported: Set[str]) -> None:
        self._texts = texts
        self._changed: dict[str, str] = {}
        self._names = {name for path, text in texts.items() for name in _declared(parse(SourceFile(path, text)).module)}
        self._names |= imported

    def overridden(self, specs: Sequence[str]) -> dict[str, str]:
        for spec in specs:
            self._apply(self._parsed(spec))
        return self._changed

    # ---------------------------------------------------------------- reading

    def _parsed(self, spec: str) -> _Override:
        text = spec.strip().removeprefix(":")  # an old way to name the main package
        path = _PATH.match(text)
        operator = _OPERATOR.match(text, path.end()) if path is not None else None
        if path is None or operator is None:
            raise _failure(f"invalid override '{spec}', {_USAGE}")
        value = text[operator.end() :].strip()
        kind = operator[1].strip()
        if kind != "-" and not value:
            raise _failure(f"invalid override '{spec}', {_USAGE}")
        steps = path_steps(path[0].strip(), spec)
        if not isinstance(steps[0], str) or not steps[0].isidentifier():
            raise _failure(f"invalid override '{spec}', its path must begin with the name of a variable")
        return _Override(spec, steps[0], tuple(steps[1:]), kind, self._expression(value) if value else "")

    def _expression(self, text: str) -> str:
        result = parse(SourceFile("override", f"value = {text}\n"))
        body = result.module.body
        if result.diagnostics or len(body) != 1 or not isinstance(body[0], ast.Assign) or len(body[0].targets) != 1:
            return expression_text(text)
        value = body[0].value
        return expression_text(text) if isinstance(value, ast.Name) and value.id not in self._names else text

    # ---------------------------------------------------------------- writing

    def _source(self, variable: str) -> SourceFile | None:
        """The file that the variable is changed in, None when no file declares it."""
        for name, text in reversed(tuple(self._texts.items())):
            source = SourceFile(name, self._changed.get(name, text))
            if variable in _declared(parse(source).module):
                return source
        return None

    def _apply(self, override: _Override) -> None:
        source = self._source(override.variable)
        if source is None:
            if override.operator != "-":
                self._declare(override)
            return
        if override.operator == "-":
            for name, original in self._texts.items():
                text = self._changed.get(name, original)
                after = remove_value(SourceFile(name, text), override.variable, override.path)
                if after != text:
                    self._changed[name] = after
            return
        self._changed[source.path] = self._written(source, override)

    def _declare(self, override: _Override) -> None:
        """A variable that no file has, at the end of the last one."""
        name, original = next(reversed(tuple(self._texts.items())))
        value = override.value
        for step in reversed(override.path):
            if isinstance(step, int):
                raise _failure(f"the override '{override.spec}' names item {step} of a list that is nowhere")
            value = f"{{{expression_text(step)} = {value}}}"
        text = self._changed.get(name, original)
        gap = "" if not text or text.endswith("\n") else "\n"
        self._changed[name] = f"{text}{gap}{override.variable} = {value}\n"

    def _written(self, source: SourceFile, override: _Override) -> str:
        present = locate_value(source, override.variable, override.path)
        value = override.value
        old = source.text[present.start : present.end] if present is not None else ""
        if present is not None and override.operator == "+=":
            if not isinstance(_node(value), ast.List | ast.ListComp):
                raise _failure(f"only list type can in inserted, got '{value}', in the override '{override.spec}'")
            value = f"{old} + {value}"
        elif present is not None and override.operator == ":":
            merged = self._merged(source, override)
            if merged is not None:
                return merged
        if override.path and _is_dotted(old):
            text = remove_value(source, override.variable, override.path)
            return replace_value(SourceFile(source.path, text), override.variable, override.path, value)
        return replace_value(source, override.variable, override.path, value)

    def _merged(self, source: SourceFile, override: _Override) -> str | None:
        """The text with each entry of a configuration set, None when the value is none whose keys are written out."""
        node = _node(override.value)
        config = node.config if isinstance(node, ast.SchemaExpr) else node
        if not isinstance(config, ast.Config):
            return None
        text = source.text
        for entry in config.items:
            key = entry.key if isinstance(entry, ast.Entry) and entry.index is None else None
            name = key.id if isinstance(key, ast.Name) else key.value if isinstance(key, ast.Str) else None
            if name is None or not isinstance(entry, ast.Entry):
                return None
            operator = {ast.ConfigOp.UNION: ":", ast.ConfigOp.INSERT: "+="}.get(entry.op, "=")
            inner = override.value[entry.value.start : entry.value.end]
            if isinstance(entry.value, ast.Config) and not entry.value.written:
                inner, operator = f"{{{inner}}}", ":"
            step = _Override(override.spec, override.variable, (*override.path, name), operator, inner)
            text = self._written(SourceFile(source.path, text), step)
        return text


def _node(expression: str) -> ast.Expr | None:
    """The tree of an expression, with the same offsets."""
    body = parse(SourceFile("override", expression)).module.body
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.ExprStmt) else None


def _is_dotted(text: str) -> bool:
    """Whether a value is the rest of a dotted key, `b = 1` of `a.b = 1`, which nothing can take the place of."""
    body = parse(SourceFile("override", text)).module.body
    return bool(text) and not (len(body) == 1 and isinstance(body[0], ast.ExprStmt)) and "=" in text


def path_steps(path: str, spec: str) -> list[str | int]:
    """The names and indexes of a path such as `a."b.c"[0]`. Raises KclError, naming `spec`, for what makes no sense."""
    steps: list[str | int] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None or (not steps and match.group().startswith((".", "["))):
            raise _failure(f"invalid override '{spec}', its path makes no sense at '{path[position:]}'")
        index, *names = match.groups()
        steps.append(int(index) if index is not None else next(name for name in names if name is not None).strip())
        position = match.end()
    return steps


def _declared(tree: ast.Module) -> set[str]:
    """Names that statements of the file give a value, or define."""
    names: set[str] = set()
    for statement in tree.body:
        match statement:
            case ast.Unification(target=target):
                names.add(target.name)
            case ast.Assign(targets=targets):
                names.update(target.name for target in targets)
            case ast.Schema(name=name):
                names.add(name)
            case _:
                pass
    return names


def _failure(message: str) -> KclError:
    return KclError((error(Code.EVALUATION, message, None),))
