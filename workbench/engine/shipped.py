"""Compiling in a process that can be ended: what goes there, and what comes back.

A Spec asks the evaluation for the chain behind a field, which stays where it was made. So its provenance is packed
there, once the Spec is on its way, and unpacked here when somebody asks for a chain. What is done there is in
`evaluating`, which nothing here imports: loading the language takes longer than a small diff's questions to a cluster.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kcl.bounded import Allowance
from kcl.diagnostics import Code, error
from kcl.records import dataclass, field
from kcl.secrecy.rules import BUILT_IN, SecretRules
from runtimes.base import Body
from workbench.engine.chains import lookup_in
from workbench.engine.compiled import CompiledStack, CompileFailed, CompileInputs
from workbench.engine.errors import EvaluationEnded
from workbench.engine.evaluators import Rest, evaluators
from workbench.engine.frames import Work
from workbench.engine.packing import unpacked
from workbench.engine.spec import Chain, Lookup
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
        packed, provenance = found
    except EvaluationEnded as ended:
        return ended_as_failure(ended, stack.directory)
    except WorkbenchError as error:
        return error
    return Shipped(packed, provenance)


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
