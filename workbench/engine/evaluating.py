"""What `shipped` has done in another process: nothing else imports this, as it loads all of the language."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kcl import api
from kcl.secrecy.rules import SecretRules
from runtimes.base import Body
from workbench.engine.chains import path_of
from workbench.engine.compile import PluginFinder, compiled_with_result
from workbench.engine.compiled import CompileInputs
from workbench.engine.memos import memos
from workbench.engine.packing import packed
from workbench.engine.recovery.compile import compile_now as compile_document_now
from workbench.engine.recovery.document import RecoveryDocument
from workbench.project import Stack

if TYPE_CHECKING:
    # What few commands need is loaded by those.
    from workbench.engine.intake.modelling import Proposal
    from workbench.engine.sites.declaration import Site


def compiled(
    of_repository: bytes, options: dict[str, str], settings: tuple[str, ...], overlay: dict[str, str], results: bool
) -> Iterator[bytes | api.CachedProvenance]:
    """Yields the stack, packed, and what is seldom needed at once: its provenance."""
    stack, root, plugins = _of_repository(of_repository)
    inputs = CompileInputs(options, settings, {path_of(name): text for name, text in overlay.items()})
    made, result = compiled_with_result(
        stack, inputs, memos.cache_for(root, results=results, secrets=stack.secrets), plugins
    )
    yield packed(made, result.dependency_names)
    yield api.portable(result.provenance)


@lru_cache(maxsize=16)
def _of_repository(packed: bytes) -> tuple[Stack, Path, PluginFinder | None]:
    """What is the same from one edit to the next, most often."""
    found: tuple[Stack, Path, PluginFinder | None] = pickle.loads(packed)
    return found


def document(
    file: Path, inputs: CompileInputs, root: Path, plugins: PluginFinder | None, secrets: SecretRules
) -> RecoveryDocument:
    cache = memos.cache_for(root, secrets=secrets)
    return compile_document_now(file, inputs, plugins=plugins, cache=cache, rules=secrets)


def site(file: Path, name: str, root: Path, secrets: SecretRules) -> Site:
    from workbench.engine.sites.declaration import read_now

    return read_now(file, name, secrets, memos.cache_for(root, secrets=secrets))


def proposal(file: Path, objects: Sequence[Body], root: Path, secrets: SecretRules) -> Proposal:
    from workbench.engine.intake.modelling import propose_now

    return propose_now(file, objects, secrets, memos.cache_for(root, results=False, secrets=secrets))
