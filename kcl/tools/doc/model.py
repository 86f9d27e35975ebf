"""What a documentation consists of, before anybody decides how it looks: plain values, without secrets.

Every text in here is what the sources say, with secrets masked and characters that steer terminals replaced. None of it
is escaped for Markdown or HTML: whoever writes a page does that.
"""

from __future__ import annotations

from typing import Final

from kcl.records import dataclass, field
from kcl.tools.docstrings import Docstring, Documented, Lines

KINDS: Final = ("schema", "mixin", "protocol", "rule")


@dataclass(frozen=True, slots=True)
class Target:
    """A declaration that pages can link to: the folder of its package, and its name."""

    package: str
    name: str


@dataclass(frozen=True, slots=True)
class Ref:
    """A part of a text that names a declaration of these pages."""

    text: str
    target: Target


Text = tuple[str | Ref, ...]
"""Source text, such as a type, in which names lead somewhere."""


def plain(text: Text) -> str:
    return "".join(each if isinstance(each, str) else each.text for each in text)


def references(text: Text) -> tuple[Ref, ...]:
    return tuple(each for each in text if isinstance(each, Ref))


@dataclass(frozen=True, slots=True)
class Place:
    """`file` is relative to the module; `line` counts from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps the pages from being whole. `line` is 0 where it is about a file or folder as such.

    `file` is relative to `root`, the folder of the module.
    """

    root: str
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


@dataclass(frozen=True, slots=True)
class Deprecation:
    """What `@deprecated` says; "" for what it does not. One that is not strict only warns."""

    version: str = ""
    reason: str = ""
    is_strict: bool = True

    def __str__(self) -> str:
        since = f" since {self.version}" if self.version else ""
        reason = f": {self.reason}" if self.reason else ""
        return f"Deprecated{since}{reason}" + (" (using it is an error)" if self.is_strict else "")


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute. `default` is None where there is none, `type` empty where none is written.

    One that is conditional is written below an `if` only, and is not there where that does not hold.
    """

    name: str
    type: Text
    is_optional: bool
    default: str | None
    doc: Lines
    decorators: tuple[str, ...]
    deprecation: Deprecation | None
    of: Target
    place: Place
    is_conditional: bool = False

    @property
    def is_required(self) -> bool:
        """Whether who makes an instance has to give it: a default is enough to leave it out."""
        return not self.is_optional and self.default is None


@dataclass(frozen=True, slots=True)
class Inherited:
    """The attributes that come from a base or a mixin, without those that are declared again nearer by."""

    source: Text
    is_mixin: bool
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a `check:` block; condition and message are "" where there is none."""

    test: str
    condition: str
    message: str
    place: Place


@dataclass(frozen=True, slots=True)
class Use:
    """Where a declaration is named: `by` it, as `how` says, "" for an attribute's or variable's type."""

    by: Target
    how: str = ""
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema, mixin, protocol or rule. Of a rule `bases` are those it extends; else there is one at most.

    `unknown_bases` are bases and mixins that are not among the pages, so that their attributes are not known here;
    `undeclared` is what the docstring says of attributes that the schema does not declare itself.
    """

    target: Target
    kind: str
    params: Text
    bases: tuple[Text, ...]
    mixins: tuple[Text, ...]
    host: Text
    doc: Docstring
    decorators: tuple[str, ...]
    deprecation: Deprecation | None
    attributes: tuple[Attribute, ...]
    inherited: tuple[Inherited, ...]
    unknown_bases: tuple[str, ...]
    undeclared: tuple[Documented, ...]
    index_signature: Text
    checks: tuple[Check, ...]
    place: Place
    used_by: tuple[Use, ...] = ()

    @property
    def name(self) -> str:
        return self.target.name


@dataclass(frozen=True, slots=True)
class Value:
    """A type alias, a lambda or a variable, as `kind` says: `type` is the alias, the signature, or the variable's.

    `value` is the text of a variable's value, "" for the others.
    """

    target: Target
    kind: str
    type: Text
    value: str
    doc: Lines
    place: Place
    used_by: tuple[Use, ...] = ()

    @property
    def name(self) -> str:
        return self.target.name


@dataclass(frozen=True, slots=True)
class Option:
    """A call of `option`. `default` is "" where there is none."""

    name: str
    type: str
    is_required: bool
    default: str
    help: str
    place: Place


@dataclass(frozen=True, slots=True)
class Example:
    """An example as it is written, secrets included: it is run, and never shown."""

    folder: str
    path: str
    shown: str
    of: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class Package:
    """One page. `key` is the absolute folder, `name` its dotted path, `folder` that relative to the module."""

    key: str
    module: str
    name: str
    folder: str
    files: tuple[str, ...]
    docs: tuple[Lines, ...] = ()
    imports: tuple[str, ...] = ()
    schemas: tuple[Schema, ...] = ()
    values: tuple[Value, ...] = ()
    options: tuple[Option, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def is_importable(self) -> bool:
        """Whether an import can name it; the folder of the module itself has no name there."""
        return all(each.isidentifier() for each in self.name.split("."))


@dataclass(frozen=True, slots=True)
class Module:
    """What a kcl.mod says of the packages below it."""

    root: str
    name: str
    version: str
    description: str


@dataclass(frozen=True, slots=True)
class Library:
    """All that is documented together. `problems` are all, those of packages included."""

    modules: tuple[Module, ...]
    packages: tuple[Package, ...]
    problems: tuple[Problem, ...] = ()
    examples: tuple[Example, ...] = field(default=())
