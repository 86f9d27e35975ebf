"""Outcomes of tests for people and for CI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from kcl.patterns import pattern
from kcl.records import dataclass
from kcl.secrecy.rules import BUILT_IN, MASK
from kcl.terminal import harmless_lines

_NOT_IN_XML: Final = pattern("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RULE: Final = "-" * 80


@dataclass(frozen=True, slots=True)
class Result:
    """One test that ran, or a file that could not be read. `path` and `folder` are as shown."""

    path: str
    folder: str
    name: str
    seconds: float
    failure: str
    printed: str


def masked(text: str) -> str:
    """The text without what is secret by its look, and without control characters."""
    return harmless_lines(BUILT_IN.masked(text, MASK))


def text(result: Result) -> str:
    """As officially, and of a test that failed always why: the official command leaves that out where it printed."""
    lines = f"{masked(result.name)}: {'FAIL' if result.failure else 'PASS'} ({round(result.seconds * 1000)}ms)\n"
    if result.failure:
        lines += _ended(masked(result.failure))
        if result.printed:
            lines += "printed:\n" + _ended(masked(result.printed))
        lines += "\n"
    return lines


def _ended(said: str) -> str:
    return said if said.endswith("\n") else said + "\n"


def summary(results: Sequence[Result], left_out: int) -> str:
    failed = sum(bool(each.failure) for each in results)
    lines = [_RULE, f"PASS: {len(results) - failed}/{len(results)}"]
    if failed:
        lines.append(f"FAIL: {failed}/{len(results)}")
    if left_out:
        lines.append(f"{left_out} not run after the first failure")
    return "\n".join(lines) + "\n"


def junit(results: Sequence[Result]) -> str:
    """The results as JUnit XML, one suite a folder; characters that XML has not are shown as a sign."""
    suites: dict[str, list[Result]] = {}
    for each in results:
        suites.setdefault(each.folder, []).append(each)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {_counts(results)}>"]
    for folder, own in suites.items():
        lines.append(f"  <testsuite name={_attribute(folder)} {_counts(own)}>")
        for each in own:
            place = f"classname={_attribute(each.path)} name={_attribute(each.name)} file={_attribute(each.path)}"
            lines.append(f'    <testcase {place} time="{each.seconds:.3f}">')
            if each.failure:
                message = each.failure.strip().splitlines()[0]
                lines.append(f"      <failure message={_attribute(message)}>{_content(each.failure)}</failure>")
            if each.printed:
                lines.append(f"      <system-out>{_content(each.printed)}</system-out>")
            lines.append("    </testcase>")
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _counts(results: Iterable[Result]) -> str:
    all_of_them = list(results)
    failed, seconds = sum(bool(each.failure) for each in all_of_them), sum(each.seconds for each in all_of_them)
    return f'tests="{len(all_of_them)}" failures="{failed}" errors="0" time="{seconds:.3f}"'


def _attribute(said: str) -> str:
    return quoteattr(
        _NOT_IN_XML.sub("\ufffd", BUILT_IN.masked(said, MASK)), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
    )


def _content(said: str) -> str:
    return escape(_NOT_IN_XML.sub("\ufffd", BUILT_IN.masked(said, MASK)), {"\r": "&#13;"})
