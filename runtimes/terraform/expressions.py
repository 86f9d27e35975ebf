"""Values of a Spec as expressions of a main.tf.json, where every text is a template.

Literal texts are escaped, references become Terraform's own, secrets become variables, and what isn't known becomes
something that Terraform doesn't know either.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, assert_never

from kcl.records import dataclass, field
from kcl.secrecy.rules import BUILT_IN, is_secret_name
from runtimes.base import (
    UNKNOWN,
    Call,
    FieldPath,
    Ids,
    InvalidReference,
    OutputReference,
    Part,
    PartlyUnknown,
    Reference,
    Rejected,
    ResourceId,
    format_path,
    parts,
    refers,
    starts_with,
)
from runtimes.terraform import names, values
from runtimes.terraform.schema import Form, Type

UNKNOWN_EXPRESSION: Final = f"${{jsondecode({names.OWN_ADDRESS}.id)}}"
"""Of any type until it is known. The id is one that Terraform makes up while applying, which never happens."""

_LONGEST_SECRET_BYTES: Final = 120_000  # Linux takes 128 KiB a variable, its name included


def escaped(text: str) -> str:
    """Returns a text that as a template is the text itself."""
    return text.replace("${", "$${").replace("%{", "%%{")


def unescaped(text: str) -> str:
    return text.replace("$${", "${").replace("%%{", "%{")


_PLAIN_FORMS: Final = frozenset({Form.STRING, Form.NUMBER, Form.BOOL})
_ATTRIBUTE: Final = re.compile(r"[A-Za-z0-9_]+")


def expression(address: str, reference: Reference, type_: Type | None) -> tuple[str, str]:
    """Returns the expression of a reference, without `${` and `}`, and the text behind that does not belong to it.

    Steps of digits are indexes, except below a map. In a map all further steps are one key: a map holds no more than
    one level of what people refer to with dots, and keys with dots are common (`app.kubernetes.io/name`). Names of
    attributes hold neither `-` nor `/`, and nothing lies below a plain value: from there on it is text.
    """
    written = address
    steps = list(reference.attribute)
    while steps:
        if type_ is not None and type_.form in _PLAIN_FORMS:
            return written, _left(reference, steps)
        step = steps.pop(0)
        if isinstance(step, str) and (written == address or (type_ is not None and type_.form is Form.OBJECT)):
            name = _ATTRIBUTE.match(step)
            is_known = type_ is not None and step in type_.fields
            if name and name[0] != step and not is_known and reference.step_texts[-len(steps) - 1].startswith("."):
                return f"{written}.{name[0]}", step[name.end() :] + _left(reference, steps)
        if type_ is not None and type_.form is Form.MAP and (type_.element is None or not type_.element.fields):
            step = ".".join(str(each) for each in (step, *steps))
            steps.clear()
            written += f"[{_quoted(step)}]"
        elif isinstance(step, int) or (step.isascii() and step.isdecimal()):
            written += f"[{int(step)}]"
        elif names.IDENTIFIER.fullmatch(step):
            written += f".{step}"
        else:
            written += f"[{_quoted(step)}]"
        type_ = type_.at(step) if type_ else None
    return written, ""


def _left(reference: Reference, steps: Sequence[str | int]) -> str:
    """Returns the end of a reference as it is written, from one of its last steps on."""
    return "".join(reference.step_texts[-len(steps) :]) if steps else ""


def _quoted(text: str) -> str:
    """Returns a text as a quoted one of an expression, which knows fewer escapes than JSON."""
    simple = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped(simple)}"'


@dataclass(slots=True)
class Variables:
    """The sensitive variables of a configuration. The same secret is the same variable everywhere."""

    names: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)

    def name(self, value: str | float) -> str:
        type_ = "string" if isinstance(value, str) else "number"
        return self.names.setdefault((type_, values.text_of(value) or ""), f"secret_{len(self.names) + 1}")

    @property
    def declarations(self) -> dict[str, Any]:
        return {name: {"type": type_, "sensitive": True} for (type_, _), name in self.names.items()}

    @property
    def environment(self) -> dict[str, str]:
        return {f"TF_VAR_{name}": text for (_, text), name in self.names.items()}

    @property
    def texts(self) -> frozenset[str]:
        return frozenset(text for _, text in self.names)


@dataclass(frozen=True, slots=True)
class Hiding:
    """What makes a value secret: texts that are, and paths that are."""

    texts: frozenset[str] = field(default=frozenset(), repr=False)
    paths: tuple[FieldPath, ...] = ()

    def hides(self, value: str | float, path: FieldPath) -> bool:
        if not values.is_secret_value(value):
            return False
        if any(starts_with(path, each) for each in self.paths):
            return True
        if values.holds_secret(value, self.texts) or (isinstance(value, str) and BUILT_IN.is_secret_text(value)):
            return True
        named = next((step for step in reversed(path) if isinstance(step, str)), "")
        return is_secret_name(named)


@dataclass(slots=True)
class Encoder:
    """Encodes the values of one resource, and remembers what they refer to.

    `written` gives the expression of a reference, and the text that is left of it behind. `where` says in errors whose
    values they are.
    """

    where: str
    ids: Ids
    written: Callable[[Reference], tuple[str, str]]
    hiding: Hiding
    secret: Callable[[str | float], str]
    referred: set[ResourceId] = field(default_factory=set)
    has_unknown: bool = False

    def body(self, content: Mapping[str, Any], prefix: FieldPath = ()) -> dict[str, Any]:
        """Encodes the body of a block: its names are no templates."""
        return {key: self.encoded(each, (*prefix, key)) for key, each in content.items()}

    def encoded(self, value: Any, path: FieldPath) -> Any:
        """Raises `Rejected` for what no Terraform value can be, naming the attribute."""
        match value:
            case None | bool():
                return value
            case int() | float():
                return self._number(value, path)
            case PartlyUnknown():
                return _joined(
                    self._template(each, path) if isinstance(each, str) else self._unknown() for each in value.parts
                )
            case str() if refers(value):
                return self._template(value, path)
            case str():
                return self._text(value, path)
            case Mapping():
                return {self._key(key, path): self.encoded(each, (*path, key)) for key, each in value.items()}
            case list() | tuple():
                return [self.encoded(each, (*path, index)) for index, each in enumerate(value)]
            case _ if value is UNKNOWN:
                return self._unknown()
            case _:
                raise self._refused(path, f"a {type(value).__name__} is no value that Terraform takes")

    def _number(self, value: float, path: FieldPath) -> Any:
        if not math.isfinite(value):
            raise self._refused(path, f"{value} is no number that Terraform takes")
        return f"${{var.{self.secret(value)}}}" if self.hiding.hides(value, path) else value

    def _unknown(self) -> str:
        self.has_unknown = True
        return UNKNOWN_EXPRESSION

    def _template(self, value: str, path: FieldPath) -> str:
        """Returns a text with expressions in place of references; of one alone Terraform keeps the type."""
        try:
            found = parts(value, self.ids)
        except InvalidReference as error:
            raise self._refused(path, str(error)) from error
        return _joined(self._part(each, path) for each in found)

    def _part(self, part: Part, path: FieldPath) -> str:
        match part:
            case str():
                return self._text(part, path)
            case Reference():
                self.referred.add(part.id)
                expression, rest = self.written(part)
                return f"${{{expression}}}{self._text(rest, path) if rest else ''}"
            case Call():
                return f"${{{self._call(part, path)}}}"
            case OutputReference():
                raise self._refused(path, f"{part} was not read")
            case _:
                assert_never(part)

    def _call(self, call: Call, path: FieldPath) -> str:
        """Returns a function as Terraform evaluates it: those of the workbench are called as its own."""
        return f"{call.name}({', '.join(self._argument(each, path) for each in call.arguments)})"

    def _argument(self, value: Any, path: FieldPath) -> str:
        match value:
            case None:
                return "null"
            case bool():
                return "true" if value else "false"
            case int() | float():
                return f"var.{self.secret(value)}" if self.hiding.hides(value, path) else json.dumps(value)
            case str():
                return f'"{self._quoted_text(value, path)}"'
            case tuple():
                return self._quoted_template(value, path)
            case list():
                return f"[{', '.join(self._argument(each, path) for each in value)}]"
            case _:
                pairs = (f"{self._argument(key, path)} = {self._argument(each, path)}" for key, each in value.items())
                return f"{{{', '.join(pairs)}}}"

    def _quoted_template(self, found: tuple[Part, ...], path: FieldPath) -> str:
        """Returns the expression of a text's parts; that of one alone keeps its type."""
        pieces = [self._quoted_text(each, path) if isinstance(each, str) else self._part(each, path) for each in found]
        if len(pieces) == 1 and pieces[0].startswith("${") and pieces[0].endswith("}") and self._is_whole(found[0]):
            return pieces[0][2:-1]
        return f'"{_joined(pieces)}"'

    def _is_whole(self, part: Part) -> bool:
        return isinstance(part, Call) or (isinstance(part, Reference) and not self.written(part)[1])

    def _quoted_text(self, value: str, path: FieldPath) -> str:
        """Returns a text as it is written inside of quotes."""
        text = self._text(value, path)
        return text if self.hiding.hides(value, path) else _quoted(value)[1:-1]

    def _text(self, value: str, path: FieldPath) -> str:
        if not self.hiding.hides(value, path):
            return escaped(_whole(value, lambda: self._refused(path, "the text holds half of a surrogate pair")))
        if "\0" in value:
            raise self._refused(path, "a secret with a zero byte can't be given to Terraform")
        if len(value.encode(errors="surrogatepass")) > _LONGEST_SECRET_BYTES:
            raise self._refused(
                path, f"a secret of more than {_LONGEST_SECRET_BYTES} bytes can't be given to Terraform"
            )
        return f"${{var.{self.secret(value)}}}"

    def _key(self, key: Any, path: FieldPath) -> str:
        if not isinstance(key, str):
            raise self._refused(path, f"the key {key!r} is no text")
        return escaped(key)

    def _refused(self, path: FieldPath, why: str) -> Rejected:
        return Rejected(f"{format_path(path)}: {why}", subject=self.where, causes=((format_path(path), why),))


def _joined(pieces: Iterable[str]) -> str:
    """Joins pieces of a template. A `$` before an expression would escape it, so it becomes one itself."""
    made = ""
    for each in pieces:
        made = f'{made[:-1]}${{"$"}}' if made.endswith("$") and each.startswith("${") else made
        made += each
    return made


def _whole(text: str, refused: Callable[[], Rejected]) -> str:
    if re.search("[\ud800-\udfff]", text):
        raise refused()
    return text


def dotted(text: str) -> FieldPath:
    """Parses a path as `extensions.sensitive` and `ignore_changes` have them: `a.b`, `a[0].b`, `a["x.y"]`."""
    steps: list[str | int] = []
    for match in re.finditer(r'\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.\[\]]+)', text):
        if match[3] is not None:
            steps.append(int(match[3]) if match[3].isdecimal() else match[3])
        else:
            steps.append(int(match[1]) if match[1] is not None else match[2])
    return tuple(steps)
