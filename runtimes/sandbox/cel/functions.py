"""Functions of the language and of the server's extensions to it, over Python's values."""

from __future__ import annotations

import functools
import ipaddress
import itertools
import re
import urllib.parse
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import re2

from kcl.records import dataclass
from runtimes.base.quantity import amount
from runtimes.sandbox.cel.syntax import CelError


class UInt(int):
    """An unsigned number; `int` is the signed one."""


@dataclass(frozen=True, slots=True)
class Optional:
    value: Any
    present: bool


@dataclass(frozen=True, slots=True)
class Quantity:
    value: Decimal


def fail(message: str) -> CelError:
    """For whoever calls a function to put the place to it."""
    return CelError(message, 0)


def _texts(*values: Any) -> None:
    if not all(isinstance(value, str) for value in values):
        raise fail("no such overload")


def _size(value: Any) -> int:
    return len(value)


def matches(text: str, pattern: str) -> bool:
    _texts(text, pattern)
    return compiled(pattern).search(text) is not None


@functools.lru_cache(maxsize=200)
def compiled(pattern: str) -> Any:
    """Raises CelError for a pattern that RE2 does not read."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise fail(f"error parsing regexp: {error}") from None


def _int(value: Any) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]{1,19}", value):
        raise fail(f'strconv.ParseInt: parsing "{value}": invalid syntax')
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise fail("integer overflow")
    return number


def _string(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case timedelta():
            return f"{value.total_seconds():g}s"
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    return str(value)


def timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        found = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        raise fail(f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"') from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    text = str(value)
    if not re.fullmatch(r"[-+]?(([0-9]+(\.[0-9]*)?)(h|ms|m|s|us|µs|ns))+|0", text):
        raise fail(f'time: invalid duration "{text}"')
    parts = re.findall(r"([0-9]+(?:\.[0-9]*)?)(h|ms|m|s|us|µs|ns)", text)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)


def quantity(text: str) -> Quantity:
    if not is_quantity(text):
        raise fail("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    return Quantity(Decimal(str(amount(text))))


def is_quantity(text: Any) -> bool:
    return isinstance(text, str) and bool(
        re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3}|[KMGTPE]i|[numkMGTPE])?", text)
    )


def _is_url(text: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(text)
        return bool(parts.scheme or text.startswith("/"))
    except ValueError:
        return False


def _url(text: str) -> urllib.parse.SplitResult:
    if not _is_url(text):
        why = "missing protocol scheme" if text.startswith(":") else "invalid URI for request"
        raise fail(f'URL parse error during conversion from string: parse "{text}": {why}')
    return urllib.parse.urlsplit(text)


def _is_address(kind: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return True

    return check


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        why = f'ParseAddr("{text}"): unable to parse IP'
        raise fail(f'IP Address "{text}" parse error during conversion from string: {why}') from None


def _cidr(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    if "/" not in text:
        raise fail(f"network address parse error during conversion from string: netip.ParsePrefix(\"{text}\"): no '/'")
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        why = f'netip.ParsePrefix("{text}"): ParseAddr("{text.partition("/")[0]}"): unable to parse IP'
        raise fail(f"network address parse error during conversion from string: {why}") from None


def _contains_ip(held: Any, address: Any) -> bool:
    return (ipaddress.ip_address(address) if isinstance(address, str) else address) in held.network


def _contains_cidr(held: Any, other: Any) -> bool:
    inner = ipaddress.ip_interface(other) if isinstance(other, str) else other
    return bool(inner.version == held.version and inner.network.subnet_of(held.network))


@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version; `value` orders them."""

    value: tuple[Any, ...]
    parts: tuple[int, int, int]


_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


def is_semver(text: str, normalize: bool = False) -> bool:
    _texts(text)
    return _SEMVER.fullmatch(_normalized(text) if normalize else text) is not None


def _normalized(text: str) -> str:
    numbers, mark, rest = re.fullmatch(r"([^-+]*)([-+]?)(.*)", text.removeprefix("v"), re.S).groups()  # type: ignore[union-attr]  # it matches any text
    parts = [part.lstrip("0") or "0" for part in numbers.split(".")]
    return ".".join([*parts, *["0"] * (3 - len(parts))]) + mark + rest


def semver(text: str, normalize: bool = False) -> Version:
    _texts(text)
    found = _SEMVER.fullmatch(_normalized(text) if normalize else text)
    if found is None:
        raise fail("No Major.Minor.Patch elements found")
    numbers = (int(found[1]), int(found[2]), int(found[3]))
    labels = tuple((0, int(each), "") if each.isdecimal() else (1, 0, each) for each in (found[4] or "").split("."))
    return Version((*numbers, found[4] is None, labels if found[4] else ()), numbers)


_VERB = re.compile(r"%(?:\.([0-9]+))?([sdfebxXo%])")


def _format(text: str, values: list[Any]) -> str:
    """`%s` and its like, filled in."""
    left = list(values)

    def filled(found: re.Match[str]) -> str:
        digits, verb = found.groups()
        if verb == "%":
            return "%"
        if not left:
            raise fail("index 0 out of range")
        value = left.pop(0)
        if verb == "s":
            return _shown(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise fail(f"error during formatting: {verb} clause can only be used on numbers")
        return format(value, f".{digits or 6}{verb}" if verb in "fe" else verb)

    return _VERB.sub(filled, text)


def _shown(value: Any) -> str:
    match value:
        case list():
            return f"[{', '.join(_shown(each) for each in value)}]"
        case dict():
            return "{" + ", ".join(f"{_shown(key)}: {_shown(value[key])}" for key in sorted(value)) + "}"
        case None:
            return "null"
    return _string(value)


def _substring(text: str, start: int, end: int | None = None) -> str:
    _texts(text)
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise fail(f"index out of range: {start if not 0 <= start <= len(text) else stop}")
    return text[start:stop]


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    _texts(text, old, new)
    if len(text) * max(len(new), 1) > 1_000_000:
        raise fail("operation cancelled: actual cost limit exceeded")
    return text.replace(old, new, most)


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    _texts(text, separator)
    if most == 0:
        return []
    if not separator:
        return list(text)
    return text.split(separator, most - 1 if most > 0 else -1)


def _index(held: Any, part: Any, start: int = 0) -> int:
    if isinstance(held, list):
        return held.index(part) if part in held else -1
    _texts(held, part)
    return int(held.find(part, start))


def _last_index(held: Any, part: Any) -> int:
    if isinstance(held, list):
        return len(held) - 1 - held[::-1].index(part) if part in held else -1
    _texts(held, part)
    return int(held.rfind(part))


def _join(held: list[str], separator: str = "") -> str:
    _texts(separator, *held)
    return separator.join(held)


def _sum(held: list[Any]) -> Any:
    total = held[0] if held else 0
    for each in held[1:]:
        total = total + each
    return total


def _extreme(choose: Callable[[list[Any]], Any], name: str) -> Callable[[list[Any]], Any]:
    def extreme(held: list[Any]) -> Any:
        if not held:
            raise fail(f"{name} called on empty list")
        return choose(held)

    return extreme


def _find(text: str, pattern: str) -> str:
    found = compiled(pattern).search(text)
    return found.group() if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = [each.group() for each in compiled(pattern).finditer(text)]
    return found if most < 0 else found[:most]


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise fail(f"index out of range: {at}")
    return text[at : at + 1]


def _contains(text: str, part: str) -> bool:
    _texts(text, part)
    return part in text


def _value_of(optional: Optional) -> Any:
    if not optional.present:
        raise fail("optional.none() dereference")
    return optional.value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "matches": matches,
    "int": _int,
    "uint": lambda value: UInt(_int(value)),
    "double": float,
    "string": _string,
    "bool": lambda value: value if isinstance(value, bool) else {"true": True, "false": False}[value],
    "dyn": lambda value: value,
    "timestamp": timestamp,
    "duration": duration,
    "quantity": quantity,
    "isQuantity": is_quantity,
    "url": _url,
    "isURL": _is_url,
    "ip": _ip,
    "ip.isCanonical": lambda text: str(_ip(text)) == text,
    "cidr": _cidr,
    "semver": semver,
    "isSemver": is_semver,
    "isIP": _is_address(ipaddress.ip_address),
    "isCIDR": _is_address(lambda text: ipaddress.ip_network(text, strict=False) if "/" in text else int("x")),
}

METHODS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "matches": matches,
    "contains": _contains,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "charAt": _char_at,
    "indexOf": _index,
    "lastIndexOf": _last_index,
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "trim": str.strip,
    "format": _format,
    "replace": _replace,
    "split": _split,
    "substring": _substring,
    "join": _join,
    "isSorted": lambda held: all(a <= b for a, b in itertools.pairwise(held)),
    "sum": _sum,
    "min": _extreme(min, "min"),
    "max": _extreme(max, "max"),
    "find": _find,
    "findAll": _find_all,
    "getScheme": lambda url: url.scheme,
    "getHost": lambda url: url.netloc.rpartition("@")[2],
    "getHostname": lambda url: url.hostname or "",
    "getPort": lambda url: str(url.port or ""),
    "getEscapedPath": lambda url: url.path,
    "getQuery": lambda url: urllib.parse.parse_qs(url.query, keep_blank_values=True),
    "family": lambda address: address.version,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "ip": lambda held: held.ip,
    "prefixLength": lambda held: held.network.prefixlen,
    "masked": lambda held: ipaddress.ip_interface(str(held.network)),
    "isUnspecified": lambda address: address.is_unspecified,
    "isLoopback": lambda address: address.is_loopback,
    "isLinkLocalUnicast": lambda address: address.is_link_local,
    "isGlobalUnicast": lambda address: (
        not (address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)
    ),
    "major": lambda version: version.parts[0],
    "minor": lambda version: version.parts[1],
    "patch": lambda version: version.parts[2],
    "first": lambda held: Optional(held[0], True) if held else Optional(None, False),
    "last": lambda held: Optional(held[-1], True) if held else Optional(None, False),
    "isLessThan": lambda left, right: left.value < right.value,
    "isGreaterThan": lambda left, right: left.value > right.value,
    "compareTo": lambda left, right: (left.value > right.value) - (left.value < right.value),
    "isInteger": lambda held: held.value == held.value.to_integral_value(),
    "asInteger": lambda held: _int(int(held.value)),
    "asApproximateFloat": lambda held: float(held.value),
    "sign": lambda held: (held.value > 0) - (held.value < 0),
    "add": lambda left, right: Quantity(left.value + (right.value if isinstance(right, Quantity) else right)),
    "sub": lambda left, right: Quantity(left.value - (right.value if isinstance(right, Quantity) else right)),
    "hasValue": lambda held: held.present,
    "value": _value_of,
    "orValue": lambda held, otherwise: held.value if held.present else otherwise,
    "or": lambda held, otherwise: held if held.present else otherwise,
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDate": lambda at: at.day,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getHours": lambda at: int(at.total_seconds() // 3600) if isinstance(at, timedelta) else at.hour,
    "getMinutes": lambda at: int(at.total_seconds() // 60) if isinstance(at, timedelta) else at.minute,
    "getSeconds": lambda at: int(at.total_seconds()) if isinstance(at, timedelta) else at.second,
    "getMilliseconds": lambda at: at.microsecond // 1000,
}
