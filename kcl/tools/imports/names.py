"""Names of schemas, attributes, files and packages. A name from outside decides no path and ends no string."""

from __future__ import annotations

import re
from typing import Final

from kcl.patterns import pattern
from kcl.tools.imports.failure import ImportFailure
from kcl.tools.imports.texts import raw_literal, text_literal

RESERVED: Final = frozenset(
    [
        "import",
        "as",
        "rule",
        "schema",
        "mixin",
        "protocol",
        "check",
        "for",
        "assert",
        "if",
        "elif",
        "else",
        "or",
        "and",
        "not",
        "in",
        "is",
        "lambda",
        "all",
        "any",
        "filter",
        "map",
        "type",
        "True",
        "False",
        "None",
        "Undefined",
    ]
)
TYPE_WORDS: Final = frozenset(["int", "float", "str", "bool", "any"])
_KINDS_OF_SCHEMAS: Final = ("Mixin", "Protocol")
"""A schema of such a name is a mixin or a protocol, and may not have all that a schema has."""
_IDENTIFIER: Final = pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS: Final = pattern(r"[A-Za-z0-9]+")
_PARTS: Final = pattern(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+")
_INITIALISMS: Final = frozenset(
    (
        *(
            "API",
            "ASCII",
            "CPU",
            "CSS",
            "DNS",
            "EOF",
            "GUID",
            "HTML",
            "HTTP",
            "HTTPS",
            "ID",
            "IP",
            "JSON",
            "LHS",
            "QPS",
        ),
        *("RAM", "RHS", "RPC", "SLA", "SMTP", "SQL", "SSH", "TCP", "TLS", "TTL", "UDP", "UI", "UID", "URI", "URL"),
        *("UTF8", "UUID", "VM", "XML", "XSRF", "XSS"),
    )
)
"""Words that names of published schemas have in capitals, as those of Go have."""
_LONGEST_FILE_NAME: Final = 200


def is_identifier(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None


def attribute(name: str) -> str:
    """A name as an attribute of a schema is declared. Raises ImportFailure where KCL has no way to.

    A name with `${` is declared as a raw string: in others the compilers see a value put in, escaped or not.
    """
    if not is_identifier(name):
        if "${" not in name:
            return text_literal(name)
        raw = raw_literal(name)
        if raw is None:
            raise ImportFailure(f"{name!r:.80}: cannot be the name of an attribute in KCL: rename it")
        return raw
    return f"${name}" if name in RESERVED else name


def key(name: str) -> str:
    """A name as a key in a configuration."""
    if is_identifier(name) and name not in RESERVED:
        return name
    return text_literal(name)


def camel(text: str) -> str:
    """`dns-names` and `dnsNames` both as `DNSNames`; "" where no letter or digit is left."""
    return "".join(_capitalized(word) for word in _WORDS.findall(text))


def _capitalized(word: str) -> str:
    text = "".join(part.upper() if part.upper() in _INITIALISMS else part for part in _PARTS.findall(word))
    return text[0].upper() + text[1:]


def kind_name(kind: str) -> str:
    """The name of a kind as it is, where it can be the name of a schema."""
    name = schema_name(kind)
    return kind if is_identifier(kind) and name.lower() == kind.lower() else name


def schema_name(text: str) -> str:
    """A name for a schema: of letters, digits and _, and never a word of the language."""
    name = camel(text) or "Schema"
    if name[0].isdigit():
        name = f"T{name}"
    special = name in RESERVED | TYPE_WORDS or name.endswith(_KINDS_OF_SCHEMAS)
    return f"{name}_" if special else name


def snake(text: str) -> str:
    """`DHCPOptions` as `d_h_c_p_options`, as published packages name their files."""
    spread = re.sub(r"(?<!^)(?=[A-Z])", "_", text)
    return re.sub(r"[^a-z0-9]+", "_", spread.lower()).strip("_")


def spoken(text: str) -> str:
    """`jobCleanUpPolicy` as `job clean up policy`."""
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return re.sub(r"[^A-Za-z0-9]+", " ", spread).strip().lower()


def file_stem(text: str) -> str:
    """What a file may be called; never one that KCL leaves out of its package (`_x.k`, `x_test.k`)."""
    stem = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")[:_LONGEST_FILE_NAME] or "schema"
    return f"{stem}_" if stem.endswith("_test") else stem


def package_part(text: str) -> str:
    """One part of an import path."""
    part = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "package"
    return f"v{part}" if part[0].isdigit() else f"{part}_" if part in RESERVED | TYPE_WORDS else part


def group_words(group: str) -> str:
    """A group of an API with its dots as `_`; a part of one letter stays with the one before, as officially."""
    return re.sub(r"\.([a-z])-", r"\1_", group).replace(".", "_").replace("-", "_")
