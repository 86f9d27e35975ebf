"""What can be seen of a run, and runs with and without generated code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kcl import api
from kcl.compiler import generated
from kcl.evaluator.runtime import Compiling

AT_ONCE = generated(1, 1)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    match value:
        case dict():
            for key, item in value.items():
                yield from leaves(item, (*path, key))
        case list():
            for index, item in enumerate(value):
                yield from leaves(item, (*path, index))
        case _:
            yield path


def outcome(compiling: Compiling | None, monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> tuple[Any, ...]:
    """The output, what was printed and found, and the provenance of every leaf; or the failure as it is shown."""
    monkeypatch.setattr(api, "COMPILING", compiling)
    try:
        result = api.run(**arguments)
    except api.ProgramError as problem:
        return problem.render(), problem.printed
    places = [
        (index, path, result.provenance.lookup(index, path))
        for index, document in enumerate(result.documents)
        for path in leaves(document)
    ]
    return result.yaml(), result.printed, result.diagnostics, places


def same(monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> tuple[Any, ...]:
    """The outcome of a run, which must be the same with generated code for every schema and without any."""
    plain = outcome(None, monkeypatch, **arguments)
    assert outcome(AT_ONCE, monkeypatch, **arguments) == plain
    return plain
