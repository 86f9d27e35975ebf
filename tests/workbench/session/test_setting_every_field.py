"""`wb set` over the fields of whole Specs: each is edited and proven, or refused with a reason. None is wrong.

`python -m tests.workbench.session.test_setting_every_field FOLDER [N]` prints the figures for a repository, over every
N-th field.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from runtimes.base import FieldPath, ResourceId, format_path
from tests.sizes import is_soak
from workbench.engine.compiled import CompileFailed, CompileInputs
from workbench.engine.errors import EditFailed
from workbench.engine.fields import MISSING, find
from workbench.engine.setting import Computed, Where, assign
from workbench.engine.spec import Spec
from workbench.project import Stack
from workbench.session import Session
from workbench.settings import Settings


@dataclass
class Figures:
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def scalars(body: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Any]]:
    match body:
        case Mapping():
            for key, each in body.items():
                yield from scalars(each, (*path, key))
        case list():
            for index, each in enumerate(body):
                yield from scalars(each, (*path, index))
        case None:
            pass
        case _:
            yield path, body


def other(value: Any) -> str:
    if isinstance(value, bool):
        return "false" if value else "true"
    return str(value + 1) if isinstance(value, int | float) else f"{value}x"


async def tried(session: Session, stack: Stack, figures: Figures, every: int, first: int) -> int:
    """Tries the fields, and holds each edit against another compilation and the text of the file."""
    try:
        spec = (await session.compile(stack)).spec
    except CompileFailed:
        figures.counts["stacks that do not compile as they are"] += 1
        return first
    number = first
    for resource in spec:
        for path, value in scalars(resource.attributes):
            number += 1
            if number % every == 0:
                await one(session, stack, spec, resource.id, path, value, figures)
    return number


async def one(
    session: Session, stack: Stack, spec: Spec, id_: ResourceId, path: FieldPath, value: Any, figures: Figures
) -> None:
    async def compile_(given: CompileInputs) -> Any:
        return await session.compile(stack, given)

    name = f"{stack.name} {id_} {format_path(path)}"
    start = session.whatif(stack)
    kind = "refused"
    for where in (Where.AUTO, Where.HERE, Where.SOURCE):
        try:
            edited, done = await assign(start, compile_, stack, id_, path, other(value), where)
        except Computed as error:
            told(name, error)
            kind = f"refused: computed, {'fed by literals' if error.hint.startswith('it follows') else error.hint[:15]}"
            figures.wrong += [] if error.message and error.where else [f"{name}: no reason"]
            break
        except EditFailed as error:
            told(name, error)
            figures.wrong += [] if error.message and error.where else [f"{name}: no reason"]
            kind = "refused: would not compile" if "not compile" in error.message else "refused: other"
            continue
        after = (await compile_(edited.inputs)).spec.get(id_)
        is_set = after is not None and find(after.attributes, path) not in (MISSING, value)
        if not is_set or str(done.after) == str(value):
            figures.wrong.append(f"{name}: {where} did not set it")
        lines = [each for each in edited.patch().splitlines() if each[:1] in "+-" and each[:3] not in ("+++", "---")]
        if len(edited.files) != 1 or len(lines) > max(2, 2 + str(value).count("\n")):
            figures.wrong.append(f"{name}: {where} edits more: {lines}")
        kind = f"proven, {where}"
        break
    figures.counts[kind] += 1


def told(name: str, error: EditFailed) -> None:
    if "--show" in sys.argv:
        sys.stdout.write(f"{name}: {error.message} ({error.where}; {error.hint})\n")


async def over(root: Path, every: int, state: Path) -> Figures:
    figures = Figures()
    number = 0
    async with Session.open(root, settings=Settings(state, state, user="ann", host="box")) as session:
        for stack in session.tree().stacks():
            number = await tried(session, stack, figures, every, number)
    return figures


async def test_each_field_of_the_sample_is_set_and_proven_or_refused_with_a_reason(
    sample_konfig: Path, tmp_path: Path
) -> None:
    figures = await over(sample_konfig, 61 if is_soak() else 97, tmp_path / "state")
    assert not figures.wrong
    proven = sum(count for kind, count in figures.counts.items() if kind.startswith("proven"))
    assert proven > 5 and figures.counts.total() > 20, figures.counts


def main() -> None:
    root, every = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as state:
        figures = anyio.run(over, root, every, Path(state))
    for kind, count in sorted(figures.counts.items()):
        sys.stdout.write(f"{kind}: {count}\n")
    sys.stdout.write("".join(f"WRONG {each}\n" for each in figures.wrong))


if __name__ == "__main__":
    main()
