"""Syntax of names, labels, ports and addresses. Each check gives the texts of what is wrong; none: nothing is."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

NameCheck = Callable[[str, bool], list[str]]  # (name, whether it is only the start of one)

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL_VALUE = f"({QUALIFIED})?"
CONFIG_KEY = "[-._a-zA-Z0-9]+"
PERCENT = "[0-9]+%"
HTTP_HEADER = "[-A-Za-z0-9]+"

LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
QUALIFIED_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
WILDCARD_TEXT = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)
IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
CIDR_TEXT = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def pattern_text(text: str, pattern: str, *examples: str) -> str:
    """`text (e.g. 'a',  or 'b', regex used for validation is '...')`."""
    if not examples:
        return f"{text} (regex used for validation is '{pattern}')"
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {listed}regex used for validation is '{pattern}')"


def too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def between(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def _syntax(value: str, limit: int, pattern: str, text: str, *examples: str) -> list[str]:
    found = [too_long(limit)] if len(value) > limit else []
    if not re.fullmatch(pattern, value):
        found.append(pattern_text(text, pattern, *examples))
    return found


def label(value: str) -> list[str]:
    """RFC 1123 label."""
    found = [too_long(63)] if len(value) > 63 else []
    if not re.fullmatch(LABEL, value):
        if re.fullmatch(SUBDOMAIN, value):
            found.append("must not contain dots")
        else:
            found.append(pattern_text(LABEL_TEXT, LABEL, "my-name", "123-abc"))
    return found


def subdomain(value: str) -> list[str]:
    return _syntax(value, 253, SUBDOMAIN, SUBDOMAIN_TEXT, "example.com")


def search_path(value: str) -> list[str]:
    """A domain that resolvers look below; its labels may begin with, and have, underscores."""
    text = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
        "and must start and end with an alphanumeric character"
    )
    part = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
    return _syntax(value, 253, rf"{part}(\.{part})*", text, "example.com")


def label_1035(value: str) -> list[str]:
    return _syntax(value, 63, LABEL_1035, LABEL_1035_TEXT, "my-name", "abc-123")


def wildcard(value: str) -> list[str]:
    return _syntax(value, 253, rf"\*\.{SUBDOMAIN}", WILDCARD_TEXT, "*.example.com")


def qualified(value: str) -> list[str]:
    """A name with an optional `prefix/`, as label keys are."""
    found: list[str] = []
    parts = value.split("/")
    if len(parts) == 2:
        prefix, name = parts
        if not prefix:
            found.append("prefix part must be non-empty")
        else:
            found += [f"prefix part {text}" for text in subdomain(prefix)]
    elif len(parts) == 1:
        name = value
    else:
        text = pattern_text(f"a qualified name {QUALIFIED_TEXT}", QUALIFIED, "MyName", "my.name", "123-abc")
        return [f"{text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > 63:
        found.append(f"name part {too_long(63)}")
    if not re.fullmatch(QUALIFIED, name):
        found.append("name part " + pattern_text(QUALIFIED_TEXT, QUALIFIED, "MyName", "my.name", "123-abc"))
    return found


def label_value(value: str) -> list[str]:
    return _syntax(value, 63, LABEL_VALUE, LABEL_VALUE_TEXT, "MyValue", "my_value", "12345")


def config_key(value: str) -> list[str]:
    found = _syntax(
        value,
        253,
        CONFIG_KEY,
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        "key.name",
        "KEY_NAME",
        "key-name",
    )
    return found + _dots(value)


def _dots(value: str) -> list[str]:
    if value == ".":
        return ["must not be '.'"]
    if value == "..":
        return ["must not be '..'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def env_name(value: str) -> list[str]:
    text = "a valid environment variable name must consist only of printable ASCII characters other than '='"
    return [text for char in value if not (" " <= char <= "~") or char == "="][:1]


def percent(value: str) -> list[str]:
    text = "a valid percent string must be a numeric string followed by an ending '%'"
    return [] if re.fullmatch(PERCENT, value) else [pattern_text(text, PERCENT, "1%", "93%")]


def http_header(value: str) -> list[str]:
    text = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [] if re.fullmatch(HTTP_HEADER, value) else [pattern_text(text, HTTP_HEADER, "X-Header-Name")]


def path_segment(value: str) -> list[str]:
    """What may be part of a URL's path."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in value]


def no_backsteps(value: str) -> list[str]:
    return ["must not contain '..'"] if ".." in value.split("/") else []


def local_path(value: str) -> list[str]:
    """A path that does not lead out of where it begins."""
    return [*(["must be a relative path"] if value.startswith("/") else []), *no_backsteps(value)]


def port_number(value: int) -> list[str]:
    return [] if 1 <= value <= 65535 else [between(1, 65535)]


def port_name(value: str) -> list[str]:
    found: list[str] = []
    if len(value) > 15:
        found.append(too_long(15))
    if not re.fullmatch("[-a-z0-9]+", value):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        found.append("must contain at least one letter (a-z)")
    if "--" in value:
        found.append("must not contain consecutive hyphens")
    if value and (value[0] == "-" or value[-1] == "-"):
        found.append("must not begin or end with a hyphen")
    return found


def ip_address(value: str) -> list[str]:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return [IP_TEXT]
    return []


def cidr(value: str) -> list[str]:
    if "/" not in value:
        return [CIDR_TEXT]
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return [CIDR_TEXT]
    return []


def exact_cidr(value: str) -> list[str]:
    """Stricter, as of newer kinds: the address of a network and no other in it, written as it is usually."""
    address, _, bits = value.partition("/")
    numbers = [*(address.split(".") if ":" not in address else ()), bits]
    if all(map(str.isdecimal, numbers)) and any(len(part) > 1 and part[0] == "0" for part in numbers):
        return ["must not have leading 0s in IP or prefix length"]
    found = cidr(value)
    if found:
        return found
    network = ipaddress.ip_network(value, strict=False)
    if ipaddress.ip_address(address) != network.network_address:
        return ["must not have bits set beyond the prefix length"]
    return [] if str(network) == value else [f'must be in canonical form ("{network}")']


# --- names of objects ---


def _start(name: str) -> str:
    """The start of a generated name, as if it were whole: it may end in `-`, and the letter before is not looked at."""
    return name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name


def named_by(check: Callable[[str], list[str]]) -> NameCheck:
    return lambda name, is_prefix: check(_start(name) if is_prefix else name)


SUBDOMAIN_NAME = named_by(subdomain)
LABEL_NAME = named_by(label)
SERVICE_NAME = named_by(label_1035)


def segment_name(name: str, is_prefix: bool) -> list[str]:
    if is_prefix:
        return [f"may not contain '{char}'" for char in "/%" if char in name]
    return path_segment(name)
