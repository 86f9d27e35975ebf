"""Formats of texts that an API server of Kubernetes holds to, as regular expressions that both compilers read.

What a server does not know (`url`, `regex`) it passes over. What no expression says (`email`, `hostname`, check digits)
is noted. The table of `tests/kcl/tools/imports/format_cases.py` says what a server of 1.34 answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_OCTET: Final = "0*(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4: Final = rf"({_OCTET}\.){{3}}{_OCTET}"
_GROUP: Final = "0*[0-9A-Fa-f]{1,4}"


def _ipv6(last: str) -> str:
    """Eight groups, or fewer with `::` in one place. `last` is the end of it, that of an IPv4 address, or ""."""
    if last:
        forms = [f"({_GROUP}:){{6}}{last}"]
        for left in range(6):
            forms.append(f"{_groups(left)}::({_GROUP}:){{0,{5 - left}}}{last}")
    else:
        forms = [f"({_GROUP}:){{7}}{_GROUP}"]
        for left in range(8):
            forms.append(f"{_groups(left)}::" + (f"({_GROUP}(:{_GROUP}){{0,{6 - left}}})?" if left < 7 else ""))
    return "|".join(forms)


def _groups(count: int) -> str:
    return f"{_GROUP}(:{_GROUP}){{{count - 1}}}" if count else ""


_IPV6_WITH_IPV4: Final = f"({_ipv6(_IPV4)})"
_IPV6: Final = f"({_ipv6('')}|{_ipv6(_IPV4)})"
_DATE: Final = (
    "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
    "|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
)
_TIME: Final = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
_HEX: Final = "[0-9A-Fa-f]"
_PAIR: Final = f"{_HEX}{{2}}"
_SPELLED: Final = ("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk")
_BEGUN: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def _any_case(word: str) -> str:
    return "".join(each if each == "µ" else f"[{each}{each.upper()}]" for each in word)


_UNIT: Final = "|".join([*map(_any_case, _SPELLED), *(f"{_any_case(each)}[A-Za-zµ]*" for each in _BEGUN)])
_NUMBER: Final = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_DURATION: Final = rf"^[-+]?(({_NUMBER}(ns|us|µs|μs|ms|s|m|h))+|0)$|[0-9]+[ \t]*({_UNIT})([^A-Za-zµ]|$)"
_PERCENT: Final = "%[0-9A-Fa-f]{2}"
_SEEN: Final = r"[^\x00-\x1f\x7f]"
_PATH: Final = rf"([^\x00-\x1f\x7f?%]|{_PERCENT})*(\?{_SEEN}*)?"
_SCHEME: Final = r"[A-Za-z][A-Za-z0-9+.-]*"
_IN_HOST: Final = r"A-Za-z0-9_.~!$&'()*+,;=<>\"-"
_HOST: Final = (
    rf"(\[([{_IN_HOST}:]|%25|{_PERCENT})*\](:[0-9]*)?|([{_IN_HOST}:]|[^\x00-\x7f]|%25|%[89A-Fa-f][0-9A-Fa-f])*:[0-9]*"
    rf"|([{_IN_HOST}]|[^\x00-\x7f]|%25|%[89A-Fa-f][0-9A-Fa-f])*)"
)
_USER: Final = rf"(([A-Za-z0-9._:~!$&'()*+,;=@-]|{_PERCENT})*@)?"
_URI: Final = (
    rf"^(\*|/{_PATH}|{_SCHEME}:([^/\x00-\x1f\x7f]{_SEEN}*)?|{_SCHEME}:/(([^/\x00-\x1f\x7f?%]|{_PERCENT}){_PATH}|(\?{_SEEN}*)?)"
    rf"|{_SCHEME}://{_USER}{_HOST}(/([^\x00-\x1f\x7f?%]|{_PERCENT})*)?(\?{_SEEN}*)?)$"
)
_SIGN: Final = r"([A-Za-z0-9+/][\r\n]*)"


def _uuid(version: str, variant: str) -> str:
    dash = "-?" if version == _HEX else "-"
    return f"^{_HEX}{{8}}{dash}{_HEX}{{4}}{dash}{version}{_HEX}{{3}}{dash}{variant}{_HEX}{{3}}{dash}{_HEX}{{12}}$"


def _mac(length: int) -> list[str]:
    pairs = [f"{_PAIR}({sign}{_PAIR}){{{length - 1}}}" for sign in ":-"]
    return [*pairs, rf"{_HEX}{{4}}(\.{_HEX}{{4}}){{{length // 2 - 1}}}"]


FORMATS: Final[Mapping[str, str]] = {
    "bsonobjectid": f"^{_HEX}{{24}}$",
    "bytes": f"^[\r\n]*({_SIGN}{{4}})*({_SIGN}{{2}}=[\r\n]*=[\r\n]*|{_SIGN}{{3}}=[\r\n]*)?$",
    "byte": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$",
    "cidr": f"^({_IPV4}/0*([12]?[0-9]|3[0-2])|{_IPV6}/0*([1-9]?[0-9]|1[01][0-9]|12[0-8]))$",
    "date": f"^{_DATE}$",
    "date-time": f"^{_DATE}[Tt]{_TIME}([Tt]|$)",
    "duration": _DURATION,
    "hexcolor": f"^#?({_HEX}{{3}}|{_HEX}{{6}})$",
    "ipv4": rf"^({_IPV4}|{_IPV6_WITH_IPV4})$",
    "ipv6": f"^{_IPV6}$",
    "mac": f"^({'|'.join(each for length in (6, 8, 20) for each in _mac(length))})$",
    "uri": _URI,
    "uuid": _uuid(_HEX, _HEX),
    "uuid3": _uuid("3", _HEX),
    "uuid4": _uuid("4", "[89ABab]"),
    "uuid5": _uuid("5", "[89ABab]"),
}
"""By name, what a text has to match somewhere."""
HELPERS: Final = {name: f"_format_{name.replace('-', '_')}" for name in FORMATS}
"""The function of a file that asks whether a text has a format."""
NOT_HELD: Final = frozenset(("creditcard", "email", "hostname", "isbn", "isbn10", "isbn13", "rgbcolor", "ssn"))
"""Formats that a server holds to and no expression here says."""
OF_KINDS: Final = frozenset(("date-time", "bytes"))
"""Those that hold for the kinds that a server has by itself, which reads `byte` as `bytes`: empty, or over lines."""
OF_DEFINITIONS: Final = frozenset(FORMATS) - {"bytes"}
QUANTITY: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]+)$"
"""How an amount is written, of `cpu` or of bytes: https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity."""
