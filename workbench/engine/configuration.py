"""What stacks are configured with: every value of a program before and after rendering, with the line that decides it.

Cells (`cells`) are masked before they leave the process that evaluated them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final

from kcl import api
from kcl.bounded import Allowance
from kcl.records import dataclass, field, replace
from runtimes.base import FieldPath, KubernetesId, ResourceId, TerraformId
from workbench.engine.cells import MASK, NOWHERE, Cell, Configured, Failed, Place, Steps
from workbench.engine.compile import compiled_with_variables
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import EvaluationEnded
from workbench.engine.evaluators import Evaluators, evaluators
from workbench.engine.masking import Masked, Seal, masked, secret_names
from workbench.engine.memos import memos
from workbench.engine.plugins import RepositoryPlugins
from workbench.engine.read_files import read_by
from workbench.engine.spec import Spec
from workbench.project import Stack, WorkbenchError

_DEEPEST: Final = 40
_CHUNK, _FEW = 16, 64
"""So many stacks go to a process at once; so few are not worth starting more processes for."""
_SHOWN_DIGITS: Final = 8

SensitiveOf = Callable[[Spec], Mapping[ResourceId, tuple[FieldPath, ...] | None]]


@dataclass(frozen=True, slots=True)
class ConfigurationRequest:
    """What to evaluate. `key` has secrets told apart by digests; without one they are all the same.

    `sensitive` says of each stack what providers of Terraform call sensitive.
    """

    stacks: tuple[Stack, ...]
    root: Path
    plugins: RepositoryPlugins | None
    sensitive: Mapping[str, SensitiveOf]
    allowance: Allowance
    inputs: CompileInputs
    key: bytes | None = field(default=None, repr=False)


def in_processes(request: ConfigurationRequest, jobs: int) -> Iterator[Configured]:
    """Evaluates stacks in up to `jobs` processes, in any order."""
    size = max(1, min(_CHUNK, len(request.stacks) // (4 * jobs)))
    every = [request.stacks[at : at + size] for at in range(0, len(request.stacks), size)]
    if jobs == 1 or len(request.stacks) < _FEW:
        yield from configured(request, evaluators)
        return
    processes, pool = Evaluators(jobs), ThreadPoolExecutor(jobs, "wb-cube")
    try:
        futures = [pool.submit(_all, replace(request, stacks=each), processes) for each in every]
        for each in as_completed(futures):
            yield from each.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        processes.close()


def _all(request: ConfigurationRequest, processes: Evaluators) -> list[Configured]:
    return list(configured(request, processes))


def configured(request: ConfigurationRequest, processes: Evaluators) -> Iterator[Configured]:
    """Evaluates stacks in another process, in order; one that exceeds its limits costs that process and only itself."""
    left = list(request.stacks)
    while left:
        try:
            for each in processes.items(request.allowance, evaluate_each, replace(request, stacks=tuple(left))):
                del left[0]
                yield each
        except EvaluationEnded as ended:
            if not left:
                return
            stack = left.pop(0)
            yield Configured(stack.name, failed=Failed(ended.message, ended.where or str(stack.directory), ended.hint))


def evaluate_each(request: ConfigurationRequest) -> Iterator[Configured]:
    """Evaluates stacks here and now."""
    for stack in request.stacks:
        try:
            yield _evaluated(stack, request)
        except WorkbenchError as error:
            yield Configured(stack.name, failed=Failed(error.message, error.where, error.hint))
        except (RecursionError, MemoryError, OSError) as error:
            memos.forget()
            message = f"the compiler gave up: {error or type(error).__name__}"
            yield Configured(stack.name, failed=Failed(message, str(stack.directory)))


def _evaluated(stack: Stack, request: ConfigurationRequest) -> Configured:
    cache = memos.cache_for(request.root, results=False, secrets=stack.secrets)
    compiled, result = compiled_with_variables(stack, request.inputs, cache, request.plugins)
    spec = compiled.spec
    has_terraform = any(isinstance(each.id, TerraformId) for each in spec)
    if has_terraform and (sensitive := request.sensitive.get(stack.name)) is not None:
        spec = spec.with_sensitive(sensitive(spec))
    seal = (Seal.random() if request.key is None else Seal(request.key)).knowing(spec.secrets, spec.rules)
    flatten = _Flattening(seal, is_told_apart=request.key is not None)
    variables = result.documents[0] if isinstance(result.documents[0], dict) else {}
    hidden = tuple(secret_names(variables, spec.rules))
    shown = masked(variables, hidden, seal)
    cells = list(flatten.group(variables, shown, lambda path: _first(result.provenance.lookup(0, path))))
    shorts = [_short(each.id) for each in spec]
    for resource in spec:
        name = _short(resource.id) if shorts.count(_short(resource.id)) == 1 else str(resource.id)
        shown = masked(resource.attributes, spec.hidden(resource), seal)
        cells += flatten.group({name: resource.attributes}, {name: shown}, _places_of(spec, resource.id))
    own, shared = read_by(stack, compiled.dependencies)
    return Configured(stack.name, tuple(cells), own | shared, result.is_of_files and not has_terraform)


def _places_of(spec: Spec, id_: ResourceId) -> Callable[[tuple[str | int, ...]], Place]:
    def place(path: tuple[str | int, ...]) -> Place:
        chain = spec.chain(id_, path[1:])
        return (str(chain[0].file), chain[0].line) if chain else NOWHERE

    return place


def _first(sites: Sequence[api.Site]) -> Place:
    return (sites[0].file, sites[0].line) if sites else NOWHERE


def _short(id_: ResourceId) -> str:
    return f"{id_.kind if isinstance(id_, KubernetesId) else id_.resource_type}/{id_.name}"


@dataclass(slots=True)
class _Flattening:
    """Makes cells of values; the same texts and places are there once, which makes what is written small."""

    seal: Seal
    is_told_apart: bool
    _same: dict[Any, Any] = field(default_factory=dict)

    def group(
        self, value: Mapping[str, Any], shown: Mapping[str, Any], place: Callable[[tuple[str | int, ...]], Place]
    ) -> Iterator[Cell]:
        for (name, each), (spelled, visible) in zip(value.items(), shown.items(), strict=True):
            for path, where, found in self._leaves(each, visible, (name,), (str(spelled),)):
                steps = tuple(map(self._once, path[1:]))
                yield self._once(path[0]), self._once(steps), self._plain(found), self._at(found, where, place)

    def _leaves(
        self, value: Any, shown: Any, way: tuple[str | int, ...], path: Steps
    ) -> Iterator[tuple[Steps, tuple[str | int, ...], Any]]:
        if isinstance(value, Mapping) and value and len(path) < _DEEPEST:
            for (name, each), (spelled, visible) in zip(value.items(), shown.items(), strict=True):
                yield from self._leaves(each, visible, (*way, name), (*path, str(spelled)))
        else:
            yield path, way, shown

    def _at(
        self, shown: Any, way: tuple[str | int, ...], place: Callable[[tuple[str | int, ...]], Place]
    ) -> dict[tuple[str | int, ...], Place]:
        found: dict[tuple[str | int, ...], Place] = {(): self._once(place(way))}
        if isinstance(shown, list | dict):
            found.update((inside, self._once(place((*way, *inside)))) for inside in _inside(shown, ()))
        return found

    def _once(self, value: Any) -> Any:
        return self._same.setdefault(value, value)

    def _plain(self, value: Any) -> Any:
        match value:
            case Masked():
                return value.shortened_to(_SHOWN_DIGITS) if self.is_told_apart else MASK
            case dict():
                return {str(key): self._plain(each) for key, each in value.items()}
            case list():
                return [self._plain(each) for each in value]
            case str():
                return self._once(value)
            case None | bool() | int() | float():
                return value
            case _:
                return str(value)


def _inside(value: Any, way: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if way:
        yield way
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries if len(way) < _DEEPEST else ():
        yield from _inside(each, (*way, key))
