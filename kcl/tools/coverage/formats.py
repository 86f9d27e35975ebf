"""Coverage as a table for people, and in the two formats that CI services read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final
from xml.sax.saxutils import quoteattr

from kcl.patterns import pattern
from kcl.terminal import harmless
from kcl.tools.coverage.measuring import Measured, percent

_NOT_IN_XML: Final = pattern("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Name = Callable[[str], str]
"""How a path is shown."""


def table(files: Sequence[Measured], name: Name) -> str:
    """By file: lines and branches, how many are missed, and where. `7->true`: what is decided there never held."""
    head = ("file", "lines", "missed", "branches", "missed", "reached", "where")
    rows = [head] + [
        (
            harmless(name(each.path)),
            str(len(each.lines)),
            str(len(each.missed_lines)),
            str(each.branches),
            str(each.branches - each.reached_branches),
            f"{percent([each]):.1f}%",
            _where(each),
        )
        for each in files
    ]
    rows.append(
        (
            "all",
            str(sum(len(each.lines) for each in files)),
            str(sum(len(each.missed_lines) for each in files)),
            str(sum(each.branches for each in files)),
            str(sum(each.branches - each.reached_branches for each in files)),
            f"{percent(files):.1f}%",
            "",
        )
    )
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return "".join(_row(row, widths) for row in rows)


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:6], widths[1:], strict=True))]
    return f"{'  '.join(cells)}  {row[6]}".rstrip() + "\n"


def _where(file: Measured) -> str:
    """Lines never reached, neighbours as one range, and outcomes that never were."""
    missed = set(file.missed_lines)
    pieces: list[tuple[int, str]] = []
    first = last = 0
    for line in (*file.lines, 0):
        if line in missed:
            first = first or line
            last = line
        elif first:
            pieces.append((first, str(first) if first == last else f"{first}-{last}"))
            first = 0
    pieces += [(line, f"{line}->{str(outcome).lower()}") for line, outcome in file.missed_branches]
    return ", ".join(piece for _, piece in sorted(pieces, key=lambda piece: piece[0]))


def lcov(files: Sequence[Measured], name: Name) -> str:
    """https://github.com/linux-test-project/lcov (geninfo.1, FILES)"""
    lines: list[str] = []
    for file in files:
        lines += ["TN:", f"SF:{harmless(name(file.path))}"]
        for line, decisions in sorted(file.decisions.items()):
            for block, counts in enumerate(decisions):
                taken = [str(count) if any(counts) else "-" for count in counts]
                lines += [f"BRDA:{line},{block},{branch},{count}" for branch, count in enumerate(taken)]
        lines += [f"BRF:{file.branches}", f"BRH:{file.reached_branches}"]
        lines += [f"DA:{line},{count}" for line, count in file.lines.items()]
        lines += [f"LF:{len(file.lines)}", f"LH:{file.reached_lines}", "end_of_record"]
    return "\n".join(lines) + "\n"


def cobertura(files: Sequence[Measured], name: Name) -> str:
    there = sum(len(each.lines) for each in files)
    reached = sum(each.reached_lines for each in files)
    branches = sum(each.branches for each in files)
    taken = sum(each.reached_branches for each in files)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<coverage version="1" timestamp="0" complexity="0" line-rate="{_rate(reached, there)}" '
        f'branch-rate="{_rate(taken, branches)}" lines-covered="{reached}" lines-valid="{there}" '
        f'branches-covered="{taken}" branches-valid="{branches}">',
        "  <sources><source>.</source></sources>",
        "  <packages>",
        f'    <package name="." complexity="0" {_rates(files)}>',
        "      <classes>",
    ]
    for file in files:
        shown = quoteattr(_NOT_IN_XML.sub("\ufffd", name(file.path)))
        lines.append(f'        <class name={shown} filename={shown} complexity="0" {_rates([file])}>')
        lines += ["          <methods/>", "          <lines>"]
        for line, count in file.lines.items():
            lines.append(f'            <line number="{line}" hits="{count}"{_conditions(file, line)}/>')
        lines += ["          </lines>", "        </class>"]
    lines += ["      </classes>", "    </package>", "  </packages>", "</coverage>"]
    return "\n".join(lines) + "\n"


def _conditions(file: Measured, line: int) -> str:
    outcomes = [bool(count) for counts in file.decisions.get(line, ()) for count in counts]
    if not outcomes:
        return ""
    taken = sum(outcomes)
    return f' branch="true" condition-coverage="{round(100 * taken / len(outcomes))}% ({taken}/{len(outcomes)})"'


def _rates(files: Sequence[Measured]) -> str:
    lines = _rate(sum(each.reached_lines for each in files), sum(len(each.lines) for each in files))
    branches = _rate(sum(each.reached_branches for each in files), sum(each.branches for each in files))
    return f'line-rate="{lines}" branch-rate="{branches}"'


def _rate(reached: int, there: int) -> str:
    return f"{reached / there:.4f}" if there else "1"
