"""Outcomes of two compilers held against each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kcl.api import ParseCache, ProgramError, run
from kcl.loader import load_all_yaml
from tests.conformance.kcl_suite import same
from tests.properties.official import Gone, RunAnswer, official

_OFFICIAL = re.compile(r"(\w+)\n---> File [^\n]*?:(\d+)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The documents of a program, or the class and line of the first error. The line is 0 where none is told."""

    documents: list[Any] | None
    error: str = ""
    line: int = 0
    text: str = ""
    """What was printed, to show."""


def official_outcome(answer: RunAnswer) -> Outcome:
    if answer.yaml is not None:
        return Outcome(documents(answer.yaml + "\n"), text=answer.yaml)
    found = _OFFICIAL.search(answer.complaint)
    assert found is not None, answer.complaint
    return Outcome(None, found[1], int(found[2]), answer.complaint)


def our_outcome(text: str, cache: ParseCache | None = None) -> Outcome:
    """Raises whatever is no diagnostic."""
    try:
        result = run(["main.k"], work_dir="/nowhere", texts={"main.k": text}, cache=cache)
    except ProgramError as problem:
        first = problem.diagnostics[0]
        line = text.count("\n", 0, first.primary.start) + 1 if first.primary else 0
        return Outcome(None, first.code.title, line, problem.render())
    return Outcome(documents(result.yaml()), text=result.yaml())


def both(programs: Iterable[str]) -> Iterator[tuple[str, Outcome, Outcome]]:
    """Yields each program with our outcome and the official one."""
    with official() as compiler:
        for text in programs:
            try:
                theirs = official_outcome(compiler.run(text))
            except Gone:
                continue  # it died of the program, which says nothing of ours
            yield text, our_outcome(text), theirs


def documents(text: str) -> list[Any]:
    return [document for document in load_all_yaml(text) if document]


def difference(program: str, ours: Outcome, theirs: Outcome) -> str | None:
    """What is to be said against `ours`, None for nothing."""
    if ours.documents is not None and theirs.documents is not None:
        return None if same(ours.documents, theirs.documents) else "other values"
    if ours.documents is not None:
        return "accepted by us only"
    if theirs.documents is not None:
        return "accepted by the official compiler only"
    if ours.error != theirs.error:
        return f"{ours.error} where the official compiler says {theirs.error}"
    if ours.line != theirs.line and not _last_statement(program, theirs):
        return f"line {ours.line} where the official compiler says {theirs.line}"
    return None


def _last_statement(program: str, theirs: Outcome) -> bool:
    """Whether the official error stands at what was evaluated last: a line of a schema, for a value given elsewhere.

    That says less than where the value was given, which is where we put it.
    """
    line = program.splitlines()[theirs.line - 1]
    return theirs.error == "EvaluationError" and line.startswith(" ")
