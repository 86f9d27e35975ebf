"""Log lines as they may be shown: without orders to a terminal, without secrets, and not longer than anybody reads."""

from __future__ import annotations

import re

from kcl.records import replace
from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base.logs import LogLine, LogNote, LogReport
from workbench.engine.scrubbing import masked_failure, masked_text

MOST_SHOWN = 16_000
_ORDERS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""https://ecma-international.org/publications-and-standards/standards/ecma-48: what colours a line, or sets a title."""


def without_orders(text: str) -> str:
    """Returns what a program wrote for a terminal without colours and other orders to it."""
    return _ORDERS.sub("", text)


def shown(report: LogReport, secrets: frozenset[str], rules: SecretRules = BUILT_IN) -> LogReport:
    """Returns a report with secrets masked. Colours go first: they might stand in the middle of one."""
    entries = tuple(_shown(each, secrets, rules) for each in report.entries)
    return replace(report, entries=entries, failure=masked_failure(report.failure, secrets, rules))


def _shown(entry: LogLine | LogNote, secrets: frozenset[str], rules: SecretRules) -> LogLine | LogNote:
    text = masked_text(without_orders(entry.text), secrets, rules)
    if isinstance(entry, LogNote):
        return replace(entry, text=text)
    # cut when masked: half of a secret would be none that anybody knows
    more = len(text[MOST_SHOWN:].encode("utf-8", "replace"))
    return replace(entry, text=text[:MOST_SHOWN], cut_bytes=entry.cut_bytes + more)
