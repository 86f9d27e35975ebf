"""What `wb lsp --live` tells of clusters: values of fields, and what an apply would change of what a line decides.

Objects are read and never written. What a value may not show says that there is a secret, and nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kcl.records import replace
from kcl.tools.lsp.repositories import LiveField, NotLooked

if TYPE_CHECKING:
    from runtimes.base import FieldPath, KubernetesId, Resource
    from workbench.engine.changes import Change, StackDiff
    from workbench.engine.compiled import CompiledStack
    from workbench.engine.live import LiveObject
    from workbench.engine.spec import Spec
    from workbench.project import Stack
    from workbench.session import Session

_LONGEST: Final = 60
_MOST_STACKS: Final = 8
_AT_A_TIME: Final = 8
_SECONDS: Final = 10.0
"""How long one cluster may take to say what it has of one object."""
_NOTHING: Final = object()
_UNSURE: Final = object()

Fields = Mapping[tuple[str, str], tuple[LiveField, ...]]


def text_of(value: Any) -> str:
    """A value as it stands beside another, "" where it may not be seen."""
    from workbench.engine.masking import Masked

    if isinstance(value, Masked):
        return ""
    said = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"


def values_of(spec: Spec, resource: Resource) -> Callable[[FieldPath], str]:
    """What fields of a resource are configured to be, as `text_of`; "" of secrets."""
    from runtimes.base import value_at
    from workbench.engine.masking import Seal, masked, resource_paths

    hidden = resource_paths(resource, spec.rules)
    body = masked(resource.attributes, hidden, Seal.random().knowing(spec.secrets, spec.rules))
    return lambda path: text_of(value_at(body, path))


async def fields_of(
    session: Session, stack: Stack, compiled: CompiledStack, wanted: Collection[tuple[str, str]]
) -> Fields:
    """What fields of a stack's resources have in each of its clusters; `wanted` are resources and paths in them."""
    import anyio

    from runtimes.base import KubernetesId, parse_path
    from workbench.engine.placement import place

    if not stack.clusters:
        raise NotLooked("the stack has no clusters")
    placed = place(compiled.spec, stack.path, stack.placement.namespace if stack.placement else None)
    ids = {str(own.id): (own, there.id) for own, there in zip(compiled.spec, placed, strict=True)}
    paths: dict[str, list[str]] = {}
    for resource, field in wanted:
        if resource in ids and isinstance(ids[resource][1], KubernetesId):
            paths.setdefault(resource, []).append(field)
    found: dict[tuple[str, str], list[LiveField]] = {}
    limit = anyio.CapacityLimiter(_AT_A_TIME)

    async def read(cluster: str, resource: str) -> None:
        own, id_ = ids[resource]
        assert isinstance(id_, KubernetesId), "others were left out"
        async with limit:
            live, problem = await _read(session, cluster, id_)
        for field in paths[resource]:
            if problem:
                said = LiveField(cluster, "", problem)
            elif live is None:
                said = LiveField(cluster, "not there")
            else:
                said = _told(cluster, _value(own.attributes, live.body, parse_path(field)))
            found.setdefault((resource, field), []).append(said)

    async with anyio.create_task_group() as group:
        for cluster in stack.clusters:
            for resource in paths:
                group.start_soon(read, cluster, resource)
    return {key: tuple(sorted(each, key=lambda one: one.where)) for key, each in found.items()}


async def _read(session: Session, cluster: str, id_: KubernetesId) -> tuple[LiveObject | None, str]:
    """An object as it may be shown, None where there is none; and why it is not known, "" where it is."""
    import anyio

    from runtimes.base import RuntimeFailure
    from workbench.project import WorkbenchError

    try:
        with anyio.fail_after(_SECONDS):
            return await session.read_live(cluster, id_, with_events=False), ""
    except TimeoutError:
        return None, f"not known, no answer within {_SECONDS:.0f} s"
    except (RuntimeFailure, WorkbenchError) as failure:
        return None, f"not known, {_short(session.masked(str(failure)))}"


def _short(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _told(cluster: str, value: Any) -> LiveField:
    if value is _UNSURE:
        return LiveField(cluster, "", "not known, elements of a list have other places there")
    if value is _NOTHING:
        return LiveField(cluster, "not set")
    text = text_of(value)
    return LiveField(cluster, text, "" if text or value == "" else "a secret, not shown")


def _value(own: Any, live: Any, path: Sequence[Any]) -> Any:
    """What is live at a path of the configuration; elements of lists are found by their names, or not at all."""
    for step in path:
        if isinstance(step, str):
            if not isinstance(live, Mapping) or step not in live:
                return _NOTHING
            own, live = own[step] if isinstance(own, Mapping) else None, live[step]
            continue
        if not isinstance(live, list | tuple) or not isinstance(own, list | tuple) or not isinstance(step, int):
            return _UNSURE
        own = own[step] if step < len(own) else None
        name = own.get("name") if isinstance(own, Mapping) else None
        if isinstance(name, str):
            same = [each for each in live if isinstance(each, Mapping) and each.get("name") == name]
            if len(same) != 1:
                return _UNSURE if same else _NOTHING
            live = same[0]
        elif len(live) == 1 and step == 0:
            live = live[0]
        else:
            return _UNSURE
    return live


async def difference(
    session: Session, stacks: Sequence[Stack], compile_: Callable[[Stack], Any], path: str, line: int
) -> str:
    """What an apply would change in clusters of that which a line decides; `compile_` gives what a stack says now."""
    from datetime import UTC, datetime

    from workbench.present import diff
    from workbench.present.glyphs import UNICODE
    from workbench.project import WorkbenchError

    said: list[str] = []
    for stack in stacks[:_MOST_STACKS]:
        said.append(f"{stack.name}:")
        if not stack.clusters:
            said.append("  not known: the stack has no clusters")
            continue
        try:
            found = await session.diff(stack, compiled=await compile_(stack), clusters=stack.clusters)
        except (OSError, WorkbenchError) as problem:
            said.append(f"  not known: {session.masked(str(problem))}")
            continue
        shown = [each for change in found.changes for each in _of_line(change, path, line)]
        for change in shown:
            said.append(f"  {change.action.value} {change.address.in_words}")
            for field in change.fields:
                without = replace(field, source=())  # who asks is there
                said += [f"    {each}" for each in diff.field_text(without, UNICODE, datetime.now(UTC))]
        said += [f"  {each}" for each in diff.problem_lines(found.problems, UNICODE)]
        if not shown:
            said.append(_nothing(found))
    if len(stacks) > _MOST_STACKS:
        said.append(f"{len(stacks) - _MOST_STACKS} more stacks were not asked: wb diff shows each")
    return "".join(f"{each}\n" for each in said)


def _of_line(change: Change, path: str, line: int) -> Iterator[Change]:
    """A change with the fields alone that a line decides; one that makes or deletes a whole object by its own line."""
    fields = tuple(
        each
        for each in change.fields
        if each.source and (str(each.source[0].file), each.source[0].line) == (path, line)
    )
    if fields:
        yield replace(change, fields=fields)


def _nothing(found: StackDiff) -> str:
    made = sum(not each.fields and each.identity is None and each.action.value == "create" for each in found.changes)
    more = f"; {made} objects are not there and would be made: wb diff shows them" if made else ""
    return f"  {'not known' if found.problems else 'nothing of what this line decides would change'}{more}"
