"""Log lines as they may be shown: without orders to a terminal, without secrets, and not longer than anybody reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kcl.records import replace
from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base.logs import LogLine, LogNote, LogReport, LogSource
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


class Together:
    """Makes the reports of several streams those of one; of several clusters each pod says of which it is."""

    def __init__(self, clusters: Sequence[str]) -> None:
        self._clusters = tuple(clusters)
        self._latest: list[LogReport | None] = [None] * len(self._clusters)

    def take(self, number: int, report: LogReport) -> LogReport:
        """Returns what is new of the stream of this number, and how all of them stand: the worst of each."""
        self._latest[number] = report
        every = [(at, each) for at, each in enumerate(self._latest) if each is not None]
        heard = [each.heard_at for _, each in every]
        return LogReport(
            tuple(self._entry(number, each) for each in report.entries),
            tuple(dict.fromkeys(self._source(at, one) for at, each in every for one in each.sources)),
            min((each for each in heard if each is not None), default=None) if None not in heard else None,
            next((each.failure for _, each in every if each.failure is not None), None),
        )

    def _entry(self, number: int, entry: LogLine | LogNote) -> LogLine | LogNote:
        return replace(entry, source=self._source(number, entry.source)) if entry.source is not None else entry

    def _source(self, number: int, source: LogSource) -> LogSource:
        is_plain = len(set(self._clusters)) < 2
        return source if is_plain else replace(source, pod=f"{source.pod}@{self._clusters[number]}")


def _shown(entry: LogLine | LogNote, secrets: frozenset[str], rules: SecretRules) -> LogLine | LogNote:
    text = masked_text(without_orders(entry.text), secrets, rules)
    if isinstance(entry, LogNote):
        return replace(entry, text=text)
    # cut when masked: half of a secret would be none that anybody knows
    more = len(text[MOST_SHOWN:].encode("utf-8", "replace"))
    return replace(entry, text=text[:MOST_SHOWN], cut_bytes=entry.cut_bytes + more)
