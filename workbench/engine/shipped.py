"""Compiling in a process that can be ended: what goes there, and what comes back.

A Spec asks the evaluation for the chain behind a field, which stays where it was made. So its provenance is packed
there, once the Spec is on its way, and unpacked here when somebody asks for a chain. What is done there is in
`evaluating`, which nothing here imports: loading the language takes longer than a small diff's questions to a cluster.
"""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kcl.bounded import Allowance
from kcl.diagnostics import Code, error
from kcl.records import dataclass, field
from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base import Body, KubernetesId, Resource, ResourceId, RuntimeType, TerraformId
from workbench.engine.chains import lookup_in, path_of
from workbench.engine.compiled import CompiledStack, CompileFailed, CompileInputs
from workbench.engine.errors import EvaluationEnded
from workbench.engine.evaluators import Rest, evaluators
from workbench.engine.frames import Work
from workbench.engine.spec import Chain, Lookup, Origin, Spec
from workbench.project import Stack, WorkbenchError

if TYPE_CHECKING:
    # What evaluates is loaded where it does; what few commands need, by those.
    from kcl import api
    from kcl.api import PluginFinder
    from workbench.engine.intake.modelling import Proposal
    from workbench.engine.recovery.document import RecoveryDocument
    from workbench.engine.sites.declaration import Site

_EVALUATING: Final = "workbench.engine.evaluating"
COMPILED: Final = Work(_EVALUATING, "compiled")
DOCUMENT: Final = Work(_EVALUATING, "document")
SITE: Final = Work(_EVALUATING, "site")
PROPOSAL: Final = Work(_EVALUATING, "proposal")


async def compile_stack(
    stack: Stack,
    inputs: CompileInputs,
    root: Path,
    allowance: Allowance,
    plugins: PluginFinder | None = None,
    *,
    results: bool = True,
) -> CompiledStack:
    """Compiles in another process, which keeps what it learns of the repository at `root`.

    Without `results` what the stack evaluates to is not stored on disk: for a folder that will not be there again.

    Raises `CompileFailed`, also where the evaluation exceeded its allowance, or `SpecInvalid`. Without `plugins` no
    Python function can be called from KCL.
    """
    of_repository = pickle.dumps((stack, root, plugins), pickle.HIGHEST_PROTOCOL)
    overlay = {str(path): text for path, text in inputs.overlay.items()}
    try:
        shipped, provenance = await evaluators.afirst(
            allowance, COMPILED, of_repository, dict(inputs.options), inputs.settings, overlay, results
        )
    except EvaluationEnded as ended:
        raise ended_as_failure(ended, stack.directory) from None
    return unpacked(shipped, stack, _awaited(provenance, stack.directory))


@dataclass(frozen=True, slots=True)
class Shipped:
    """A stack that another machine compiled, as it is sent; `unpack` makes it what `compile_stack` returns."""

    packed: bytes = field(repr=False)
    provenance: api.CachedProvenance = field(repr=False)

    def unpack(self, stack: Stack) -> CompiledStack:
        return unpacked(self.packed, stack, lookup_in(self.provenance))


def compile_apart(
    stack: Stack, inputs: CompileInputs, root: Path, allowance: Allowance, plugins: PluginFinder | None
) -> Shipped | WorkbenchError:
    """What a worker of a scheduler does: compiles where it can be ended, and returns what is raised, too."""
    of_repository = pickle.dumps((stack, root, plugins), pickle.HIGHEST_PROTOCOL)
    plain = inputs.plain()
    options = dict(plain.options)
    try:
        found: Iterator[Any] = evaluators.items(
            allowance, COMPILED, of_repository, options, plain.settings, dict[str, str](), True
        )
        packed_, provenance = found
    except EvaluationEnded as ended:
        return ended_as_failure(ended, stack.directory)
    except WorkbenchError as error:
        return error
    return Shipped(packed_, provenance)


def packed(compiled: CompiledStack, dependencies: Iterable[str]) -> bytes:
    """A compiled stack as bytes, but for its provenance; `dependencies` instead of those that it has.

    Plain data is read several times as fast as objects.
    """
    spec = compiled.spec
    return _bytes(
        (
            [_plain_resource(each) for each in spec.resources],
            [(*_plain_id(id_), origin.document, origin.prefix) for id_, origin in spec.origins.items()],
            spec.secrets,
            compiled.seconds,
            compiled.log,
            pickle.dumps(compiled.diagnostics) if compiled.diagnostics else b"",
            marshal.dumps(sorted(dependencies)),
        )
    )


def unpacked(shipped: bytes, stack: Stack, lookup: Lookup) -> CompiledStack:
    resources, origins, secrets, seconds, log, diagnostics, dependencies = _read(shipped)
    spec = Spec(
        str(stack.path),
        tuple([_resource(*each) for each in resources]),
        {_id(kind, parts): Origin(document, prefix) for kind, parts, document, prefix in origins},
        lookup,
        secrets,
        rules=stack.secrets,
    )
    found = pickle.loads(diagnostics) if diagnostics else ()
    return CompiledStack(spec, found, _paths(dependencies), seconds, log)


_PlainId = tuple[str, tuple[str, str, str, str]]


def _plain_resource(resource: Resource) -> tuple[Any, ...]:
    needs = [_plain_id(each) for each in resource.depends_on]
    return (*_plain_id(resource.id), resource.type.value, resource.attributes, needs, dict(resource.extensions))


def _resource(
    kind: str, parts: tuple[str, str, str, str], type_: str, attributes: Body, needs: list[_PlainId], extensions: Body
) -> Resource:
    depends_on = tuple([_id(*each) for each in needs])
    return Resource(_id(kind, parts), RuntimeType(type_), attributes, depends_on, extensions)


def _plain_id(id_: ResourceId) -> _PlainId:
    match id_:
        case KubernetesId():
            return RuntimeType.KUBERNETES.value, (id_.api_version, id_.kind, id_.namespace, id_.name)
        case TerraformId():
            return RuntimeType.TERRAFORM.value, (id_.provider_namespace, id_.provider, id_.resource_type, id_.name)


def _id(kind: str, parts: tuple[str, str, str, str]) -> ResourceId:
    return KubernetesId(*parts) if kind == RuntimeType.KUBERNETES.value else TerraformId(*parts)


def _bytes(value: Any) -> bytes:
    try:
        return b"m" + marshal.dumps(value)
    except ValueError:  # definitions beside a stack are YAML, which has dates
        return b"p" + pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def _read(written: bytes) -> Any:
    return marshal.loads(memoryview(written)[1:]) if written[:1] == b"m" else pickle.loads(memoryview(written)[1:])


@lru_cache(maxsize=64)
def _paths(names: bytes) -> frozenset[Path]:
    """Hundreds of files, most often those of the edit before."""
    return frozenset(map(path_of, marshal.loads(names)))


def _awaited(rest: Rest, where: Path) -> Lookup:
    """Finds chains in provenance that may still be on its way.

    Raises `CompileFailed` where the process ended before: that no line says a field would be a lie.
    """

    @cache
    def found() -> Lookup:
        try:
            provenance: api.CachedProvenance = rest.get()
        except EvaluationEnded as ended:
            raise ended_as_failure(ended, where) from None
        return lookup_in(provenance)

    def chain(document: int, path: tuple[str | int, ...]) -> Chain:
        return found()(document, path)

    return chain


async def compile_document(
    file: Path,
    inputs: CompileInputs,
    root: Path,
    allowance: Allowance,
    plugins: PluginFinder | None = None,
    *,
    secrets: SecretRules = BUILT_IN,
) -> RecoveryDocument:
    """The same for a recovery program. Raises `EngineError`, `CompileFailed` or `InvalidRecovery`."""
    try:
        return await evaluators.acall(allowance, DOCUMENT, file, inputs.plain(), root, plugins, secrets)
    except EvaluationEnded as ended:
        raise ended_as_failure(ended, file) from None


async def declared_site(
    file: Path, name: str, root: Path, allowance: Allowance, *, secrets: SecretRules = BUILT_IN
) -> Site:
    """The same for the declaration of a site. Raises `CompileFailed` or `InvalidSite`."""
    try:
        return await evaluators.acall(allowance, SITE, file, name, root, secrets)
    except EvaluationEnded as ended:
        raise ended_as_failure(ended, file) from None


async def proposed_components(
    file: Path, objects: Sequence[Body], root: Path, allowance: Allowance, *, secrets: SecretRules = BUILT_IN
) -> Proposal:
    """Asks the models of a repository what objects amount to. Raises `CompileFailed` or `ModelsUnknown`."""
    try:
        return await evaluators.acall(allowance, PROPOSAL, file, [*objects], root, secrets)
    except EvaluationEnded as ended:
        raise ended_as_failure(ended, file) from None


def ended_as_failure(ended: EvaluationEnded, where: Path) -> CompileFailed:
    finding = error(Code.EVALUATION, ended.message, None)
    rendered = f"error: {ended.message}\n"
    return CompileFailed(
        ended.message, where=ended.where or str(where), diagnostics=(finding,), rendered=rendered, hint=ended.hint
    )
