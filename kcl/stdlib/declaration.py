"""How a library function is declared: once, with the types a checker reads and a run-time call is held to.

A declaration is a signature in KCL's own notation over the Python function that does the work:

    @MODULE.function("count(sub: str, start?: int, end?: int) -> int")
    def count(text: str, sub: str, start: int | None = None, end: int | None = None) -> int: ...

`?` marks a parameter that may be left out, `*name` takes any number of values, `**name` any keyword. Types are KCL
types; at run time only their outermost shape is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Final, TypeVar

from kcl.evaluator.operations import kind
from kcl.evaluator.value import UNDEFINED, Builtin, NumberMultiplier, Value, ValueFailure
from kcl.patterns import pattern
from kcl.records import dataclass, field
from kcl.stdlib.access import Access

_SIGNATURE: Final = pattern(r"(?P<name>\w+)\((?P<params>.*)\)\s*->\s*(?P<result>.+)", re.DOTALL)
_TEXT: Final = frozenset({str})
_WRITTEN_OUT: Final = frozenset({"join_host_port"})  # officially with the value as text, so never with none
_PARAMETER: Final = pattern(r"(?P<star>\*{0,2})(?P<name>\w+)(?P<optional>\?)?(?::\s*(?P<type>.+))?", re.DOTALL)
_Implementation = TypeVar("_Implementation", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kcl_type: str
    """In KCL notation: `str`, `int | float`, `[str]`, `{str:any}`, `any`."""
    required: bool
    accepted: frozenset[type] | None
    """Python types a value may have; None for any."""

    def left_out(self, value: Value) -> bool:
        """Whether `value` says nothing: None or Undefined for an optional parameter that could not hold them."""
        return not self.required and self.accepted is not None and (value is None or value is UNDEFINED)

    def is_no_text(self, value: Value) -> bool:
        """Whether a string is needed, and this is none."""
        return self.accepted == _TEXT and type(value) is not str

    def taken(self, value: Value, *, strict: bool, reads_all: bool) -> Value:
        """`value` as the function gets it. Raises ValueFailure when it is of another type.

        Unless `strict`, None and Undefined are the empty string where a string is needed: official functions of
        modules take them so, and checks on optional attributes rely on it. With `reads_all` so is all else that is
        no string.
        """
        says_nothing = value is None or value is UNDEFINED
        if (reads_all or (says_nothing and not strict)) and self.is_no_text(value):
            return ""
        self.check(value)
        return value

    def check(self, value: Value) -> None:
        """Raises ValueFailure when `value` is of another type."""
        accepted = self.accepted
        if accepted is None or type(value) in accepted:
            return
        if (list in accepted and isinstance(value, list)) or (dict in accepted and isinstance(value, dict)):
            return
        raise ValueFailure(f"expect {self.kcl_type}, got {kind(value)}")


def _told(access: Access, name: str, implementation: Callable[..., Value]) -> Callable[..., Value]:
    """The same, with `access` told of each call."""

    def tell(*given: Value, **named: Value) -> Value:
        access.on_use(name)
        return implementation(*given, **named)

    return tell


@dataclass(frozen=True)
class Function:
    """One declared library function."""

    name: str
    parameters: tuple[Parameter, ...]
    rest: Parameter | None
    """The `*name` parameter."""
    keywords: Parameter | None
    """The `**name` parameter."""
    result: str
    implementation: Callable[..., Value]
    contextual: bool
    """The implementation takes the CallContext first."""
    needs_access: bool
    """The implementation takes an Access before everything else."""
    capture: str
    """What the answer depends on besides the arguments; "" for nothing."""

    @cached_property
    def signature(self) -> str:
        shown = [f"{item.name}{'' if item.required else '?'}: {item.kcl_type}" for item in self.parameters]
        if self.rest is not None:
            shown.append(f"*{self.rest.name}: {self.rest.kcl_type}")
        if self.keywords is not None:
            shown.append(f"**{self.keywords.name}: {self.keywords.kcl_type}")
        return f"{self.name}({', '.join(shown)}) -> {self.result}"

    def builtin(self, access: Access, *, method: bool = False, in_module: bool = False) -> Builtin:
        """The function as the evaluator calls it. A method gets the value it was taken from before its arguments.

        In a system module a value that is no string is the empty one where a string is needed, as officially: only the
        checker asks, and it lets values of type `any` pass. Functions that reach outside refuse it all the same: what
        an empty path names is not what was meant.
        """
        reads_all = in_module and not self.needs_access and self.name not in _WRITTEN_OUT
        leading = int(method) + int(self.contextual)
        parameters, rest, keywords = self.parameters, self.rest, self.keywords
        by_name = {parameter.name: parameter for parameter in parameters}
        required = sum(parameter.required for parameter in parameters)
        most = len(parameters)
        name = self.name
        implementation = partial(self.implementation, access) if self.needs_access else self.implementation
        if self.needs_access or self.capture:
            implementation = _told(access, name, implementation)

        def call(*given: Value, **named: Value) -> Value:
            if method and rest is None:
                # Only the checker counts the arguments of a method, and it does not where the text is of type `any`:
                # officially those that the method does not read are no error while a program runs.
                given = given[: leading + most]
            args = given[leading:]
            count = len(args)
            if count > most and rest is None:
                raise ValueFailure(f"{name}() takes {_at_most(required, most)} but {count} were given")
            says_nothing = False
            for parameter, value in zip(parameters, args, strict=False):
                if value is None or value is UNDEFINED or (reads_all and parameter.is_no_text(value)):
                    says_nothing = True
                else:
                    parameter.check(value)
            if not says_nothing and not named and count >= required:
                return implementation(*given)
            bound: dict[str, Value] = {}
            extra: dict[str, Value] = {}
            for parameter, value in zip(parameters, args, strict=False):
                if not parameter.left_out(value):
                    bound[parameter.name] = parameter.taken(value, strict=method, reads_all=reads_all)
            for key, value in named.items():
                known = by_name.get(key)
                if known is None:
                    if keywords is None:
                        raise ValueFailure(f"{name}() got an unexpected keyword argument '{key}'")
                    extra[key] = value
                    continue
                if key in bound:
                    raise ValueFailure(f"{name}() got multiple values for argument '{key}'")
                if not known.left_out(value):
                    bound[key] = known.taken(value, strict=method, reads_all=reads_all)
            for parameter in parameters:
                if parameter.required and parameter.name not in bound:
                    raise ValueFailure(f"{name}() missing 1 required positional argument: '{parameter.name}'")
            if rest is not None:
                ordered = [bound.pop(item.name) for item in parameters if item.name in bound]
                return implementation(*given[:leading], *ordered, *args[most:], **bound, **extra)
            return implementation(*given[:leading], **bound, **extra)

        return Builtin(name, call, self.contextual, self.capture)


def _at_most(required: int, most: int) -> str:
    if most == 0:
        return "no arguments"
    plural = "s" if most > 1 else ""
    return f"{most} positional argument{plural}" if required == most else f"at most {most} positional argument{plural}"


_PYTHON_TYPES: Final[Mapping[str, frozenset[type]]] = {
    "int": frozenset({int}),
    "float": frozenset({float, int}),
    "bool": frozenset({bool}),
    "str": frozenset({str}),
    "number_multiplier": frozenset({NumberMultiplier}),
}


def _accepted(text: str) -> frozenset[type] | None:
    found: frozenset[type] = frozenset()
    for member in _members(text):
        if member.startswith("["):
            found |= {list}
        elif member.startswith("{"):
            found |= {dict}
        elif member in _PYTHON_TYPES:
            found |= _PYTHON_TYPES[member]
        else:
            return None
    return found


def _members(text: str) -> list[str]:
    return _split(text, "|")


def _split(text: str, separator: str) -> list[str]:
    """`text` cut at `separator`, but not inside brackets."""
    parts, depth, current = [], 0, ""
    for char in text:
        if char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        if char == separator and not depth:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [*parts, current.strip()] if current.strip() else parts


def parse_signature(
    text: str,
    implementation: Callable[..., Value],
    *,
    contextual: bool = False,
    needs_access: bool = False,
    capture: str = "",
) -> Function:
    """The declaration a signature text stands for. A text that is no signature is a ValueError, found at import."""
    match = _SIGNATURE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not a signature: {text}")
    parameters: list[Parameter] = []
    rest = keywords = None
    for part in _split(match["params"], ","):
        found = _PARAMETER.fullmatch(part)
        if found is None:
            raise ValueError(f"not a parameter: {part}")
        kcl_type = found["type"] or "any"
        parameter = Parameter(found["name"], kcl_type, not found["optional"], _accepted(kcl_type))
        match found["star"]:
            case "*":
                rest = parameter
            case "**":
                keywords = parameter
            case _:
                parameters.append(parameter)
    return Function(
        match["name"],
        tuple(parameters),
        rest,
        keywords,
        match["result"],
        implementation,
        contextual,
        needs_access,
        capture,
    )


@dataclass(slots=True)
class Module:
    """A group of library functions: a system module, the builtins (name "") or the methods of str."""

    name: str
    functions: dict[str, Function] = field(default_factory=dict)
    constants: dict[str, Value] = field(default_factory=dict)

    def function(
        self, signature: str, *, contextual: bool = False, needs_access: bool = False, capture: str = ""
    ) -> Callable[[_Implementation], _Implementation]:
        """Declares the decorated Python function under this signature."""

        def declare(implementation: _Implementation) -> _Implementation:
            declared = parse_signature(
                signature, implementation, contextual=contextual, needs_access=needs_access, capture=capture
            )
            self.functions[declared.name] = declared
            return implementation

        return declare

    def members(self, access: Access) -> dict[str, Builtin | Value]:
        """What the evaluator finds in the module when it runs with these capabilities."""
        functions = {name: function.builtin(access, in_module=True) for name, function in self.functions.items()}
        return {**self.constants, **functions}
