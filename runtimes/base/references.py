"""References from a field of one resource to a value that another one gets: `$kusion_path.<id>.<attribute>`.

Kusion's syntax (https://github.com/KusionStack/kusion/blob/main/pkg/engine/operation/graph/resource_node.go): a text
that is a reference stands whole for the value. Ours may also stand inside a longer text, as often as one likes; the
values become text there. `$$kusion_path.` is the text `$kusion_path.` itself.

Ids and attributes may both hold dots, so the id is the longest one among those known. In the attribute a step is a key
or an index: `a.b`, `a.0.b`, `a[0].b`, and `a["x.y"]` for a key with dots; without the brackets the longest key that is
there is taken. Where the text goes on without anything between, the value says where the attribute ends: what cannot
lead any further into it (`.s3.example` below a plain text, `/path`, `-suffix`) is text again.

A function over such values is `$workbench.NAME[ARGUMENTS]`, the arguments in JSON whose texts may hold references and
functions again: `$workbench.base64encode["app:$kusion_path.ID.password"]`. It is text too, as many schemas allow a text
and nothing else where a value goes. `$$workbench.` is the text `$workbench.` itself.

`$workbench.output["PROJECT/STACK", "NAME"]` is no function: it stands for what another stack gives to others under this
name, and stays as it is until whoever compares the stack puts the value there (`composed`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kcl.records import dataclass, field
from runtimes.base import functions
from runtimes.base.contents import may_hold
from runtimes.base.documents import load_json
from runtimes.base.functions import FunctionFailed
from runtimes.base.resource import REFERENCE_SIGNS, ResourceId
from runtimes.base.unknown import PlainPath, Unknown

PREFIX, CALL_PREFIX = (each.decode() for each in REFERENCE_SIGNS)
_OUTPUT: Final = "output"


class InvalidReference(ValueError):
    """A text that begins as a reference, and names no known resource or no attribute of it, or can't be text."""


@dataclass(frozen=True, slots=True)
class Reference:
    """`attribute` is the path as written, in steps: texts, and ints where brackets say so. Never empty.

    `source` is the same as it is written, from which the value says how much belongs to it.
    """

    id: ResourceId
    attribute: PlainPath
    source: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.id}{''.join(_written(each) for each in self.attribute)}"

    @property
    def written(self) -> str:
        return self.source or "".join(map(_written, self.attribute))

    @property
    def usual(self) -> str:
        """As much of it as is an attribute wherever one ends at the first character that names rarely have."""
        match = _USUAL.match(self.written)
        return match[0] if match else ""

    @property
    def step_texts(self) -> tuple[str, ...]:
        """Each step as it is written."""
        return tuple(match[0] for match in _STEP.finditer(self.written))

    @property
    def text(self) -> str:
        """The reference as a body holds it."""
        return f"{PREFIX}{self.id}{self.written}"


@dataclass(frozen=True, slots=True)
class Call:
    """A function over values. In `arguments` each text that holds references or functions is a tuple of its parts."""

    name: str
    arguments: list[Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class OutputReference:
    """What the stack `stack` (`project/stack`) gives to others as `name`."""

    stack: str
    name: str

    def __str__(self) -> str:
        return f"output {self.name} of {self.stack}"

    @property
    def text(self) -> str:
        """The reference as a body holds it."""
        return f"{CALL_PREFIX}{_OUTPUT}{json.dumps([self.stack, self.name], ensure_ascii=False)}"


Part = str | Reference | Call | OutputReference

Ids = Mapping[str, ResourceId]
"""The known resources by the text of their ids."""


def refers(value: Any) -> bool:
    """Whether a text may hold references: one that does not reaches its place as it is."""
    return isinstance(value, str) and (PREFIX in value or CALL_PREFIX in value)


def may_refer(body: Any) -> bool:
    """Whether a text in a body may hold a reference; False where none does, as in most bodies."""
    return may_hold(body, *REFERENCE_SIGNS)


def escaped_references(text: str) -> str:
    """Returns a text that is the text itself where references are looked for."""
    return text.replace(PREFIX, f"${PREFIX}").replace(CALL_PREFIX, f"${CALL_PREFIX}")


def parts(text: str, ids: Ids) -> tuple[Part, ...]:
    """Takes a text apart into texts, never two in a row, references and functions; raises `InvalidReference`.

    A text that stands whole for a value is one reference or function alone.
    """
    found: list[Part] = []
    literal, at = "", 0
    while match := _START.search(text, at):
        literal += text[at : match.start()]
        at = match.end()
        if match[1]:
            literal += match[2]
            continue
        part: Reference | Call | OutputReference
        if match[2] == CALL_PREFIX:
            part, at = _call_at(text, at, ids)
        else:
            part = _reference_at(text, at, ids)
            at += len(str(part.id)) + len(part.source)
        found += [literal, part] if literal else [part]
        literal = ""
    literal += text[at:]
    return tuple([*found, literal] if literal or not found else found)


def references_in(found: Iterable[Part]) -> Iterator[Reference]:
    """Yields the references among the parts of a text, those in arguments of functions too."""
    for each in found:
        match each:
            case Reference():
                yield each
            case Call():
                for template in _templates(each.arguments):
                    yield from references_in(template)


def outputs_in(found: Iterable[Part]) -> Iterator[OutputReference]:
    """Yields the references to what other stacks give among the parts of a text, those in arguments too."""
    for each in found:
        match each:
            case OutputReference():
                yield each
            case Call():
                for template in _templates(each.arguments):
                    yield from outputs_in(template)


def _templates(argument: Any) -> Iterator[tuple[Part, ...]]:
    match argument:
        case tuple():
            yield argument
        case list():
            for each in argument:
                yield from _templates(each)
        case dict():
            for each in argument.values():
                yield from _templates(each)


def _call_at(text: str, start: int, ids: Ids) -> tuple[Call | OutputReference, int]:
    """Parses the function whose name begins at `start`; returns it and where it ends."""
    match = _FUNCTION.match(text, start)
    if match is None:
        hint = f"{CALL_PREFIX}NAME[ARGUMENTS], or ${CALL_PREFIX} for the text"
        raise InvalidReference(f"{CALL_PREFIX} begins a function, and none follows: write {hint}")
    name = match[1]
    try:
        end = _end_of_list(text, match.end())
        arguments = load_json(text[match.end() : end], parse_constant=_no_constant)
        if name == _OUTPUT:
            return _output(arguments), end
        functions.check(name, arguments)
        return Call(name, [_parsed(each, ids) for each in arguments]), end
    except FunctionFailed as error:
        raise InvalidReference(str(error)) from None
    except InvalidReference:
        raise
    except (ValueError, RecursionError):
        raise InvalidReference(f"the arguments of {CALL_PREFIX}{name} are no list in JSON") from None


def _end_of_list(text: str, start: int) -> int:
    """Returns where the list in JSON that begins at `start` ends; raises ValueError for one that never does."""
    depth = 0
    for match in _BRACKETS_AND_TEXTS.finditer(text, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    raise ValueError("a list that is not closed")


def _output(arguments: list[Any]) -> OutputReference:
    match arguments:
        case [str() as stack, str() as name] if stack and name:
            return OutputReference(stack, name)
    raise InvalidReference(f'{_OUTPUT} is written {_OUTPUT}["PROJECT/STACK", "NAME"], in plain texts')


def _parsed(argument: Any, ids: Ids) -> Any:
    match argument:
        case str() if refers(argument):
            return parts(argument, ids)
        case list():
            return [_parsed(each, ids) for each in argument]
        case dict():
            return {key: _parsed(each, ids) for key, each in argument.items()}
        case _:
            return argument


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def parse_reference(text: str, ids: Ids) -> Reference:
    """Parses a text that is one reference; raises `InvalidReference` with a sentence that says what is wrong."""
    match parts(text, ids):
        case (Reference() as found,):
            return found
    raise InvalidReference(f"{text} is not a reference alone")


def _reference_at(text: str, start: int, ids: Ids) -> Reference:
    """Parses the reference whose id begins at `start`."""
    named = text[start : start + max(map(len, ids), default=0) + 1]
    known = [id_ for end in _ends(named) if (id_ := ids.get(named[:end])) is not None]
    for id_ in known:
        span = _SPAN.match(text, start + len(str(id_)))
        assert span is not None, "the pattern matches the empty text"
        if span[0] and text[span.end() : span.end() + 1] != "[":
            return Reference(id_, _steps(span[0]), span[0])
    named_alone = [each for each in ids if text.startswith(each, start) and not _GOES_ON.match(text, start + len(each))]
    for each in (*map(str, known), *named_alone):
        raise InvalidReference(f"{PREFIX}{each} names {each}, but no attribute of it")
    shown = _SHOWN.match(text, start)
    raise InvalidReference(f"{PREFIX}{shown[0] if shown else ''} names no resource of this stack")


def parse_attribute(text: str) -> PlainPath:
    """Parses a path as references have it, `a.b`, `a[0].b` or `a["x.y"]`; returns () for a text that is none."""
    return _steps(text if text.startswith("[") else f".{text}")


def references(body: Any, ids: Ids, path: PlainPath = ()) -> Iterator[tuple[PlainPath, Reference]]:
    """Yields every reference in a body with the path of its field; raises `InvalidReference`."""
    match body:
        case Mapping():
            for key, each in body.items():
                yield from references(each, ids, (*path, key))
        case list() | tuple():
            for index, each in enumerate(body):
                yield from references(each, ids, (*path, index))
        case str() if refers(body):
            yield from ((path, each) for each in references_in(parts(body, ids)))


def referred(body: Any, attribute: PlainPath) -> Any:
    """Returns what an attribute of a reference leads to inside a body; raises `KeyError` where it has none.

    A step of digits is an index where a list is. Where a mapping has no such key, steps are joined by dots again: the
    longest key that is there wins.
    """
    steps = list(attribute)
    while steps:
        match body:
            case Mapping():
                body = body[_key(body, steps)]
            case list() | tuple():
                step = steps.pop(0)
                if not str(step).isdecimal() or int(step) >= len(body):
                    raise KeyError(step)
                body = body[int(step)]
            case Unknown():
                return body
            case _:
                raise KeyError(steps[0])
    return body


def followed(body: Any, reference: Reference) -> tuple[Any, PlainPath]:
    """Returns what a reference leads to inside a body, and the path that it took.

    What leads no further than to a plain value is text behind it. Raises `KeyError` where it leads nowhere.
    """
    whole, rest = body, reference.written
    path: list[str | int] = []
    while rest:
        match body:
            case Mapping() | list() | tuple():
                step, length = _first_step(body, rest)
                if not length:
                    return referred(whole, reference.attribute), reference.attribute
                path.append(step)
                body, rest = body[step], rest[length:]
            case Unknown():
                break
            case str() | bool() | int() | float():
                return f"{body if isinstance(body, str) else json.dumps(body)}{rest}", tuple(path)
            case _:
                raise KeyError(rest)
    return body, tuple(path)


def _first_step(body: Mapping[str, Any] | list[Any] | tuple[Any, ...], written: str) -> tuple[Any, int]:
    """Returns the longest key or index of a container that a path begins with, and its length there; 0 for none."""
    if match := _BRACKET.match(written):
        step: str | int = int(match[1]) if match[1] else str(json.loads(match[2]))
        is_there = step in body if isinstance(body, Mapping) else isinstance(step, int) and step < len(body)
        return step, match.end() if is_there else 0
    if not isinstance(body, Mapping):
        match = _INDEX.match(written)
        return (int(match[1]), match.end()) if match and int(match[1]) < len(body) else (0, 0)
    keys = [key for key in body if key and written.startswith(f".{key}") and not _IN_WORD.match(written, len(key) + 1)]
    longest = max(keys, key=len, default="")
    return longest, len(longest) + 1 if longest else 0


def _key(body: Mapping[str, Any], steps: list[str | int]) -> str:
    """Takes the steps of the longest key of `body` from the front of `steps`."""
    for count in range(len(steps), 0, -1):
        key = ".".join(str(each) for each in steps[:count])
        if key in body:
            del steps[:count]
            return key
    raise KeyError(steps[0])


_BRACKET = re.compile(r'\[(?:(\d+)|("(?:[^"\\]|\\.)*"))\]')
_NAME = re.compile(r"\.(\w[\w/-]*)")
_SPAN = re.compile(rf"(?:{_NAME.pattern}|{_BRACKET.pattern})*")
_USUAL = re.compile(rf"(?:\.\w+|{_BRACKET.pattern})*")
_STEP = re.compile(rf"{_NAME.pattern}|{_BRACKET.pattern}")
_INDEX = re.compile(r"\.(\d+)(?!\w)")
_IN_WORD = re.compile(r"\w")
_GOES_ON = re.compile(r"[\w-]")
_START = re.compile(rf"(\$?)({re.escape(PREFIX)}|{re.escape(CALL_PREFIX)})")
_FUNCTION = re.compile(r"([A-Za-z]\w*)(?=\[)")
_BRACKETS_AND_TEXTS = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*"', re.DOTALL)
_SHOWN = re.compile(r"(?:[^:\s]*:){0,3}[\w.-]*")  # as much as may be an id: what follows could be a password


def _ends(text: str) -> Iterator[int]:
    """Yields where an id may end, the longest first: at the end, or before a dot or a bracket inside."""
    yield len(text)
    yield from (index for index in range(len(text) - 1, 0, -1) if text[index] in ".[")


def _steps(text: str) -> PlainPath:
    """Returns () for a text that is no attribute."""
    steps: list[str | int] = []
    position = 0
    while position < len(text):
        if match := _NAME.match(text, position):
            steps.append(match[1])
        elif match := _BRACKET.match(text, position):
            steps.append(int(match[1]) if match[1] else str(json.loads(match[2])))
        else:
            return ()
        position = match.end()
    return tuple(steps)


def _written(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f"[{json.dumps(step)}]" if set(step) & set(".[]") or not step else f".{step}"
