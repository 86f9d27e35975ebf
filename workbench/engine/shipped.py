"""Compiling in a process that can be ended: what goes there, and what comes back.

A Spec asks the evaluation for the chain behind a field, which stays where it was made. So its provenance is packed
there, and unpacked here when somebody asks for a chain.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from kcl import api
from kcl.bounded import Allowance
from kcl.secrecy.rules import BUILT_IN, SecretRules
from workbench.engine.compile import (
    CompiledStack,
    CompileFailed,
    CompileInputs,
    PluginFinder,
    compiled_with_result,
    lookup_in,
    path_of,
)
from workbench.engine.errors import EvaluationEnded
from workbench.engine.evaluators import evaluators
from workbench.engine.memos import memos
from workbench.engine.recovery.compile import compile_now as compile_document_now
from workbench.engine.recovery.document import RecoveryDocument
from workbench.project import Stack


@dataclass(frozen=True, slots=True)
class Shipped:
    """A compiled stack between two processes. `compiled` lacks what is beside it."""

    compiled: CompiledStack
    provenance: api.KeptProvenance = field(repr=False)
    dependencies: tuple[str, ...] = field(repr=False)


async def compile_stack(
    stack: Stack,
    inputs: CompileInputs,
    root: Path,
    allowance: Allowance,
    plugins: PluginFinder | None = None,
) -> CompiledStack:
    """Compiles in another process, which keeps what it learns of the repository at `root`.

    Raises `CompileFailed`, also where the evaluation exceeded its allowance, or `SpecInvalid`. Without `plugins` no
    Python function can be called from KCL.
    """
    try:
        shipped = await evaluators.acall(allowance, _compiled, stack, inputs.plain(), root, plugins)
    except EvaluationEnded as ended:
        raise ended_as_failure(ended, stack.directory) from None
    spec = replace(shipped.compiled.spec, lookup=lookup_in(shipped.provenance))
    return replace(shipped.compiled, spec=spec, dependencies=frozenset(map(path_of, shipped.dependencies)))


def _compiled(stack: Stack, inputs: CompileInputs, root: Path, plugins: PluginFinder | None) -> Shipped:
    compiled, result = compiled_with_result(stack, inputs, memos.cache_for(root, secrets=stack.secrets), plugins)
    bare = replace(compiled, spec=replace(compiled.spec, lookup=None), dependencies=frozenset())
    return Shipped(bare, api.portable(result.provenance), tuple(result.dependency_names))


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
        return await evaluators.acall(allowance, _document, file, inputs.plain(), root, plugins, secrets)
    except EvaluationEnded as ended:
        raise ended_as_failure(ended, file) from None


def _document(
    file: Path, inputs: CompileInputs, root: Path, plugins: PluginFinder | None, secrets: SecretRules
) -> RecoveryDocument:
    return compile_document_now(file, inputs, plugins=plugins, cache=memos.cache_for(root, secrets=secrets))


def ended_as_failure(ended: EvaluationEnded, where: Path) -> CompileFailed:
    finding = api.finding(ended.message)
    rendered = f"error: {ended.message}\n"
    return CompileFailed(
        ended.message, where=ended.where or str(where), diagnostics=(finding,), rendered=rendered, hint=ended.hint
    )
