"""`import template`: Handlebars templates.

Covers what configuration uses: values by path, `{{{ }}}` and `raw`, `if`/`else if`/`unless`/`each`/`with` with block
parameters, `lookup`, `len`, the comparison and logic helpers, sub-expressions, comments, and the trimming of lines
that hold only a tag. Partials and decorators are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kcl.evaluator.numbers import float_text
from kcl.evaluator.value import Value, ValueFailure
from kcl.patterns import pattern
from kcl.records import dataclass, field
from kcl.stdlib.conversion import to_plain
from kcl.stdlib.declaration import Module

MODULE: Final = Module("template")
_HTML: Final = str.maketrans(
    {"<": "&lt;", ">": "&gt;", '"': "&quot;", "&": "&amp;", "'": "&#x27;", "`": "&#x60;", "=": "&#x3D;"}
)
_TAG: Final = pattern(
    r"\\(?P<escaped>\{\{.*?\}\})|\{\{(?P<trim_left>~)?(?:!--(?P<long>.*?)--|!(?P<short>.*?)|"
    r"\{(?P<raw>.*?)\}|(?P<kind>[#/^&>]?)(?P<body>.*?))(?P<trim_right>~)?\}\}",
    re.DOTALL,
)
_TOKEN: Final = pattern(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<open>\()|(?P<close>\))|(?P<bar>\|)"""
    r"""|(?P<word>[^\s()|"'=]+(?:=(?=[^\s]))?))"""
)


@MODULE.function("execute(template: str, data?: {str:any}) -> str")
def execute(template: str, data: Value = None) -> str:
    plain = to_plain(data) if data is not None else {}
    out: list[str] = []
    _render(_parse(template), _Scope(plain, None, plain), out)
    return "".join(out)


@MODULE.function("html_escape(data: str) -> str")
def html_escape(data: str) -> str:
    return data.translate(_HTML)


# ---------------------------------------------------------------- the tree


@dataclass(frozen=True, slots=True)
class _Literal:
    value: Any


@dataclass(frozen=True, slots=True)
class _Path:
    text: str


@dataclass(frozen=True, slots=True)
class _Invocation:
    """A helper or value with its parameters."""

    name: _Literal | _Path | _Invocation
    params: tuple[_Literal | _Path | _Invocation, ...] = ()
    block_params: tuple[str, ...] = ()


_Expression = _Literal | _Path | _Invocation


@dataclass(slots=True)
class _Output:
    expression: _Invocation
    escaped: bool


@dataclass(slots=True)
class _Block:
    invocation: _Invocation
    body: list[_Node] = field(default_factory=list)
    inverse: list[_Node] = field(default_factory=list)


_Node = str | _Output | _Block


@dataclass(slots=True)
class _Tag:
    kind: str
    body: str
    escaped: bool = True


def _failure(message: str) -> ValueFailure:
    return ValueFailure(f"register template failed: {message}")


def _pieces(template: str) -> list[str | _Tag]:
    """Text and tags in turn, with the blanks removed that standalone tags and `~` take away."""
    pieces: list[str | _Tag] = []
    position = 0
    trim_next = False
    for match in _TAG.finditer(template):
        text = template[position : match.start()]
        position = match.end()
        if trim_next:
            text = text.lstrip()
            trim_next = False
        if match["escaped"] is not None:
            pieces += [text, match["escaped"]]
            continue
        comment = match["long"] is not None or match["short"] is not None
        body = (match["raw"] if match["raw"] is not None else match["body"] or "").strip()
        kind = "!" if comment else (match["kind"] or "")
        standalone = kind in ("#", "/", "^", "!", ">") or body.split(" ")[0] == "else"
        if match["trim_left"]:
            text = text.rstrip()
        elif standalone and _alone_on_line(template, match):
            text = text[: len(text) - len(text.rsplit("\n", 1)[-1])] if "\n" in text else text.rstrip(" \t")
            end = template.find("\n", position)
            position = len(template) if end < 0 else end + 1
        trim_next = match["trim_right"] is not None
        pieces.append(text)
        if not comment:
            pieces.append(_Tag(kind, body, match["raw"] is None and kind != "&"))
    rest = template[position:]
    if re.search(r"(?<!\\)\{\{", rest):
        raise _failure("a tag is not closed")
    pieces.append(rest.lstrip() if trim_next else rest)
    return pieces


def _alone_on_line(template: str, match: re.Match[str]) -> bool:
    before = template[template.rfind("\n", 0, match.start()) + 1 : match.start()]
    end = template.find("\n", match.end())
    after = template[match.end() :] if end < 0 else template[match.end() : end]
    return not before.strip() and not after.strip()


def _parse(template: str) -> list[_Node]:
    root: list[_Node] = []
    stack: list[tuple[str, _Block, int]] = []  # name of the block, innermost block, how many `else if` it opened
    current = root
    for piece in _pieces(template):
        if isinstance(piece, str):
            if piece:
                current.append(piece)
            continue
        word = piece.body.split(" ")[0] if piece.body else ""
        if piece.kind == ">":
            raise _failure("partials are not supported")
        if piece.kind == "#":
            block = _Block(_invocation(piece.body))
            current.append(block)
            stack.append((word, block, 0))
            current = block.body
        elif piece.kind == "/":
            if not stack or stack[-1][0] != piece.body:
                raise _failure(f"the tag '/{piece.body}' closes nothing that is open")
            stack.pop()
            current = _open_list(stack, root)
        elif word == "else" or piece.kind == "^":
            if not stack:
                raise _failure("'else' outside of a block")
            name, block, depth = stack[-1]
            condition = piece.body.removeprefix("else").strip()
            if condition:
                inner = _Block(_invocation(condition))
                block.inverse.append(inner)
                stack[-1] = (name, inner, depth + 1)
                current = inner.body
            else:
                current = block.inverse
                stack[-1] = (name, block, -1)
        elif not piece.body:
            raise _failure("an empty tag")
        else:
            current.append(_Output(_invocation(piece.body), piece.escaped))
    if stack:
        raise _failure(f"the block '{stack[-1][0]}' is not closed")
    return root


def _open_list(stack: Sequence[tuple[str, _Block, int]], root: list[_Node]) -> list[_Node]:
    if not stack:
        return root
    _, block, depth = stack[-1]
    return block.inverse if depth < 0 else block.body


def _invocation(text: str) -> _Invocation:
    tokens = [match for match in _TOKEN.finditer(text) if match.group().strip()]
    names: tuple[str, ...] = ()
    for index, token in enumerate(tokens):
        if token["bar"]:
            names = tuple(item["word"] for item in tokens[index + 1 :] if item["word"])
            tokens = tokens[: index - 1]
            break
    items, _ = _expressions(tokens, 0)
    if not items:
        raise _failure(f"nothing to show in '{text}'")
    return _Invocation(items[0], tuple(items[1:]), names)


def _expressions(tokens: Sequence[re.Match[str]], start: int) -> tuple[list[_Expression], int]:
    items: list[_Expression] = []
    index = start
    while index < len(tokens):
        token = tokens[index]
        if token["open"]:
            inner, index = _expressions(tokens, index + 1)
            if not inner:
                raise _failure("an empty sub-expression")
            items.append(_Invocation(inner[0], tuple(inner[1:])))
        elif token["close"]:
            return items, index + 1
        elif token["string"]:
            items.append(_Literal(token["string"][1:-1]))
            index += 1
        elif token["word"]:
            items.append(_word(token["word"]))
            index += 1
        else:
            raise _failure(f"nothing can be meant by '{token.group().strip()}' here")
    return items, index


_WORDS: Final[Mapping[str, Any]] = {"true": True, "false": False, "null": None, "undefined": None}


def _word(word: str) -> _Expression:
    if word in _WORDS:
        return _Literal(_WORDS[word])
    if re.fullmatch(r"-?\d+", word):
        return _Literal(int(word))
    if re.fullmatch(r"-?\d+\.\d+", word):
        return _Literal(float(word))
    return _Path(word)


# ---------------------------------------------------------------- rendering


@dataclass(slots=True)
class _Scope:
    context: Any
    parent: _Scope | None
    root: Any
    private: dict[str, Any] = field(default_factory=dict)
    """`@index` and the like."""
    names: dict[str, Any] = field(default_factory=dict)
    """Block parameters."""


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, dict):
        return "[object]"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value)


def _look_up(path: str, scope: _Scope) -> Any:
    if path.startswith("@root"):
        return _descend(scope.root, _steps(path[5:]))
    while path == ".." or path.startswith("../"):
        scope = scope.parent or scope
        path = path[3:]
    if path.startswith("@"):
        path = path[1:]
        while path.startswith("../"):
            scope, path = _outside(scope), path[3:]
        name, *steps = _steps(path) or [""]
        holder: _Scope | None = scope
        while holder is not None:
            if name in holder.private:
                return _descend(holder.private[name], steps)
            holder = holder.parent
        return None
    steps = _steps(path.removeprefix("this").removeprefix("./"))
    named: _Scope | None = scope
    while named is not None and steps:
        if steps[0] in named.names:
            return _descend(named.names[steps[0]], steps[1:])
        named = named.parent
    return _descend(scope.context, steps)


def _outside(scope: _Scope) -> _Scope:
    """What is around the innermost block that counts or names something."""
    inner: _Scope | None = scope
    while inner is not None and not inner.private:
        inner = inner.parent
    return inner.parent if inner is not None and inner.parent is not None else scope


def _steps(path: str) -> list[str]:
    return [step for step in re.split(r"[./]|\[([^\]]*)\]", path) if step]


def _descend(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            return None
    return value


_HELPERS: Final[Mapping[str, Callable[..., Any]]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "gte": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "lte": lambda a, b: a <= b,
    "and": lambda *items: all(map(_true, items)),
    "or": lambda *items: any(map(_true, items)),
    "not": lambda a: not _true(a),
    "len": lambda a: len(a) if isinstance(a, list | dict | str) else 0,
    "raw": lambda a: a,
    "lookup": lambda a, key: _descend(a, [str(key)]),
}


def _true(value: Any) -> bool:
    return bool(value)


def _evaluate(expression: _Expression, scope: _Scope) -> Any:
    match expression:
        case _Literal(value=value):
            return value
        case _Path(text=text):
            return _look_up(text, scope)
        case _Invocation(name=_Path(text=name), params=params) if name in _HELPERS and params:
            try:
                return _HELPERS[name](*(_evaluate(param, scope) for param in params))
            except TypeError:
                raise ValueFailure(f"render template failed: helper '{name}' cannot take these values") from None
        case _Invocation(name=name, params=()):
            return _evaluate(name, scope)
        case _Invocation(name=name):
            shown = name.text if isinstance(name, _Path) else "?"
            raise ValueFailure(f"render template failed: helper '{shown}' not found")


def _render(nodes: Sequence[_Node], scope: _Scope, out: list[str]) -> None:
    for node in nodes:
        if isinstance(node, str):
            out.append(node)
        elif isinstance(node, _Output):
            text = _text(_evaluate(node.expression, scope))
            head = node.expression.name
            raw = isinstance(head, _Path) and head.text == "raw" and node.expression.params
            out.append(html_escape(text) if node.escaped and not raw else text)
        else:
            _render_block(node, scope, out)


def _render_block(block: _Block, scope: _Scope, out: list[str]) -> None:
    head = block.invocation.name
    name = head.text if isinstance(head, _Path) else ""
    if name not in ("if", "unless", "each", "with"):
        raise ValueFailure(f"render template failed: block helper '{name}' not found")
    if not block.invocation.params:
        raise ValueFailure(f"render template failed: '{name}' needs a value")
    value = _evaluate(block.invocation.params[0], scope)
    if name == "each":
        _render_each(block, value, scope, out)
    elif name == "with" and _true(value):
        names = block.invocation.block_params
        inner = _Scope(value, scope, scope.root, names={names[0]: value} if names else {})
        _render(block.body, inner, out)
    elif name != "with" and _true(value) == (name == "if"):
        _render(block.body, scope, out)
    else:
        _render(block.inverse, scope, out)


def _render_each(block: _Block, value: Any, scope: _Scope, out: list[str]) -> None:
    if isinstance(value, dict):
        items: list[tuple[Any, Any]] = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        items = []
    if not items:
        _render(block.inverse, scope, out)
    for position, (key, item) in enumerate(items):
        private = {"index": position, "key": key, "first": position == 0, "last": position == len(items) - 1}
        names = dict(zip(block.invocation.block_params, (item, key), strict=False))
        _render(block.body, _Scope(item, scope, scope.root, private, names), out)
