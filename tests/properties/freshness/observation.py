"""All that can be seen of what a compilation comes to, so that two of them can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from kcl import api
from workbench.engine.compiled import CompiledStack, CompileFailed
from workbench.project import WorkbenchError

Observation = Mapping[str, object]


def of_result(result: api.RunResult) -> Observation:
    """Values and texts, and of every node of the output the places that decided it and its schema."""
    elsewhere = ("provenance", "trees")  # places are looked up below; a result that was kept has no trees
    own = {each.name: getattr(result, each.name) for each in fields(result) if each.name not in elsewhere}
    own["emitted"] = None if result.emitted is None else result.emitted()
    own["sources"] = dict(result.sources)
    every = list(paths(result))
    places = {path: result.provenance.lookup(*path) for path in every}
    schemas = {path: result.provenance.schema(*path) for path in every}
    texts = (result.yaml(), result.json())
    files = {"dependencies": result.dependencies, "user files": result.provenance.user_files}
    return {**own, **files, "texts": texts, "places": places, "schemas": schemas}


def of_program_error(problem: api.ProgramError) -> Observation:
    return {"diagnostics": problem.diagnostics, "rendered": problem.render(), "printed": problem.printed}


def of_stack(compiled: CompiledStack) -> Observation:
    spec = compiled.spec
    places = {
        (each.id, path): spec.lookup(origin.document, (*origin.prefix, *path))
        for each in spec
        if spec.lookup is not None and (origin := spec.origins.get(each.id)) is not None
        for path in _nodes(each.attributes)
    }
    told = {"diagnostics": compiled.diagnostics, "log": compiled.log, "files": compiled.dependencies}
    return {**told, "spec": spec.to_yaml(), "places": places, "secrets": spec.secrets}


def of_stack_error(problem: WorkbenchError) -> Observation:
    told = {"message": problem.message, "where": problem.where, "hint": problem.hint}
    if isinstance(problem, CompileFailed):
        return {**told, "rendered": problem.rendered, "diagnostics": problem.diagnostics}
    return told


def difference(warm: Observation, cold: Observation) -> str:
    """What differs, for a person to read; "" for nothing."""
    lines = []
    for name in sorted({*warm, *cold}):
        mine, theirs = warm.get(name), cold.get(name)
        if mine == theirs:
            continue
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            keys = [key for key in {**mine, **theirs} if mine.get(key) != theirs.get(key)][:5]
            lines += [f"{name} {key}:\n  warm {mine.get(key)!r}\n  cold {theirs.get(key)!r}" for key in keys]
        elif isinstance(mine, frozenset) and isinstance(theirs, frozenset):
            lines.append(f"{name}:\n  only warm {sorted(mine - theirs)}\n  only cold {sorted(theirs - mine)}")
        else:
            lines.append(f"{name}:\n  warm {_short(mine)}\n  cold {_short(theirs)}")
    return "\n".join(lines)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 1500 else f"{text[:1500]}..."


def paths(result: api.RunResult) -> Iterator[tuple[int, tuple[str | int, ...]]]:
    """All of the output, and some that are not in it."""
    for number, document in enumerate(result.documents):
        for path in _nodes(document):
            yield from ((number, path), (number, (*path, "nowhere")), (number, (*path, 99)), (number, (*path, -1)))
    yield from ((-1, ()), (len(result.documents), ()))


def _nodes(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _nodes(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _nodes(item, (*path, index))
