"""Spans, codes and diagnostics."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final

from kcl.records import dataclass


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Code(Enum):
    """The kinds of finding: a number users can search for, and the name printed after it.

    Several kinds share E1001, as in the official compiler; the name tells them apart.
    """

    INVALID_SYNTAX = ("E1001", "InvalidSyntax")
    TAB = ("E1002", "TabError")
    INDENTATION = ("E1003", "IndentationError")
    ILLEGAL_ARGUMENT_SYNTAX = ("E1I37", "IllegalArgumentSyntax")
    IMMUTABLE = ("E1001", "ImmutableError")
    ILLEGAL_PARAMETER = ("E1001", "IllegalParameterError")
    INDEX_SIGNATURE = ("E1001", "IndexSignatureError")
    NAME = ("E1001", "NameError")
    VALUE = ("E1001", "ValueError")
    ATTRIBUTE = ("E1001", "AttributeError")
    INVALID_DECORATOR_TARGET = ("E1001", "InvalidDecoratorTarget")
    RECURSIVE_LOAD = ("E1001", "RecursiveLoad")
    INVALID_SETTINGS = ("E1001", "InvalidSettings")
    CANNOT_FIND_MODULE = ("E2F04", "CannotFindModule")
    PLUGIN = ("E2F05", "FailedLoadModule")
    TYPE = ("E2G22", "TypeError")
    COMPILE = ("E2L23", "CompileError")
    UNIQUE_KEY = ("E2L28", "UniqueKeyError")
    ILLEGAL_ATTRIBUTE = ("E2A31", "IllegalAttributeError")
    ILLEGAL_INHERIT = ("E2D34", "IllegalInheritError")
    CYCLE_INHERIT = ("E2D32", "CycleInheritError")
    EVALUATION = ("E3M38", "EvaluationError")
    COMPILER_WARNING = ("W1001", "CompilerWarning")
    DEPRECATED = ("W1002", "DeprecatedWarning")
    LEGACY_PRIVATE = ("W2001", "LegacyPrivateMember")
    LEGACY_UNKNOWN_NAME = ("W2002", "LegacyUnknownName")
    LEGACY_ARGUMENT = ("W2003", "LegacyMissingArgument")
    LEGACY_SHADOWED_IMPORT = ("W2004", "LegacyShadowedImport")
    LEGACY_SHADOWED_ATTRIBUTE = ("W2005", "LegacyShadowedAttribute")
    LEGACY_NONE = ("W2006", "LegacyExplicitNone")
    LEGACY_PARTIAL = ("W2007", "LegacyPartialInstance")
    LEGACY_IMPORT = ("W2008", "LegacyMissingImport")
    LEGACY_INDENTED_STRING = ("W2009", "LegacyIndentedString")
    LEGACY_VERSION = ("W2010", "LegacyVersion")
    UNUSED_IMPORT = ("W0411", "UnusedImportWarning")
    REIMPORT = ("W0404", "ReimportWarning")
    IMPORT_POSITION = ("W0413", "ImportPositionWarning")
    DEAD_VALUE = ("W3001", "DeadValue")
    UNUSED_VARIABLE = ("W3002", "UnusedVariable")
    SELF_COMPARISON = ("W3003", "SelfComparison")
    CONSTANT_CONDITION = ("W3004", "ConstantCondition")
    MISSING_DOCUMENTATION = ("W3005", "MissingDocumentation")
    SHADOWED_IMPORT = ("W3006", "ShadowedImport")
    DUPLICATE_KEY = ("W3007", "DuplicateKey")
    ALWAYS_OVERRIDDEN = ("W3008", "AlwaysOverridden")
    BARE_NUMBER = ("W3009", "BareNumber")
    REPEATED_CONDITION = ("W3010", "RepeatedCondition")
    CONTRADICTION = ("W3011", "ContradictingConditions")
    CHANGED_BELOW = ("W3012", "ChangedBelow")
    SUPPRESSION = ("W3900", "UnfitSuppression")

    @property
    def number(self) -> str:
        return self.value[0]

    @property
    def title(self) -> str:
        return self.value[1]


_LONGEST_MESSAGE: Final = 2_000
"""Characters."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` up to, not including, `end` of the file at `path`."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Label:
    """Another place that explains a diagnostic, with what it has to do with it.

    `line_only` marks a place for which the official compiler knows only the line; see `render`.
    """

    span: Span
    message: str
    line_only: bool = False

    def __post_init__(self) -> None:
        _shorten(self)


@dataclass(frozen=True, slots=True)
class Replacement:
    """`text` in place of the characters of `span`."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Hint:
    """Beside the official words, what a person needs to mend it.

    `labels` show places, and `edits` are what mends the program, all of them together; none where only the person can
    know. A hint is right or it is not there.
    """

    message: str
    labels: tuple[Label, ...] = ()
    edits: tuple[Replacement, ...] = ()

    def __post_init__(self) -> None:
        _shorten(self)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about a program, for a person to read.

    `message` is one phrase and stands alone. `primary` is the place to change, None when no place
    in a file is at fault (an option that is missing, say). `labels` point at the other places that
    explain it, `notes` say what to do next, `suggestions` what else to try. `line_only` as in `Label`.

    All these are the official compiler's. `hints` are ours, and so is `follows`: that this is there only because of
    another one, which is shown instead.
    """

    code: Code
    severity: Severity
    message: str
    primary: Span | None
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    line_only: bool = False
    hints: tuple[Hint, ...] = ()
    follows: bool = False

    def __post_init__(self) -> None:
        _shorten(self)
        if self.notes or self.suggestions:
            object.__setattr__(self, "notes", tuple(map(_shortened, self.notes)))
            object.__setattr__(self, "suggestions", tuple(map(_shortened, self.suggestions)))


def _shorten(said: Label | Hint | Diagnostic) -> None:
    if len(said.message) > _LONGEST_MESSAGE:
        object.__setattr__(said, "message", _shortened(said.message))


def _shortened(text: str) -> str:
    """Messages quote the program, where a name, a literal or a type may be of any length."""
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."


class KclError(Exception):
    """The program is wrong; `diagnostics` (never empty, worst first) say how and where."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        assert diagnostics, "an error without a diagnostic says nothing"
        super().__init__(diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "; ".join(diagnostic.message for diagnostic in self.diagnostics)


def error(
    code: Code,
    message: str,
    primary: Span | None,
    *,
    labels: tuple[Label, ...] = (),
    notes: tuple[str, ...] = (),
    suggestions: tuple[str, ...] = (),
    line_only: bool = False,
) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, message, primary, labels, notes, suggestions, line_only)


def warning(
    code: Code,
    message: str,
    primary: Span | None,
    *,
    labels: tuple[Label, ...] = (),
    notes: tuple[str, ...] = (),
) -> Diagnostic:
    return Diagnostic(code, Severity.WARNING, message, primary, labels, notes)
