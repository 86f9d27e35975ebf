"""Everything that a repository wants now, and how each of it stands: what `wb trust list` shows."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

from kcl.records import dataclass
from runtimes.base import RuntimeFailure, TerraformId
from runtimes.registry import provider_uses
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import EngineError
from workbench.engine.plugins import needs_trust
from workbench.engine.secret_references import uses
from workbench.engine.spec import Spec
from workbench.project import Stack, WorkbenchError, provider_lock
from workbench.project.plugins import PLUGINS_FILE, read_allowed_plugins
from workbench.session import Session
from workbench.trust import Kind, Standing, Trust, plugins


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part of the repository of which it can't be told what it wants: it may want more than the list has."""

    what: str
    why: str


async def wanted(session: Session, stacks: Iterable[Stack]) -> AsyncIterator[Standing | Unknown]:
    """Yields everything, of Terraform that of `stacks`. Compiles those; starts nothing, and asks nobody."""
    trust = session.trust
    if trust.problem:
        yield Unknown("what is trusted", f"{trust.problem}; nothing is")
    if (own := trust.repository()) is not None:
        yield trust.standing(own)
    for file in _kubeconfigs(session.settings.kubeconfig):
        if (found := trust.kubeconfig(file)) is not None:
            yield trust.standing(found)
    for each in _plugins(session.root, trust):
        yield each
    seen: set[str] = set()
    for stack in stacks:
        if (backend := session.backend_want(stack)) is not None:
            yield trust.standing(backend)
        try:
            spec = (await session.compile(stack, None)).spec
            standings = _providers_of(session, stack, spec)
        except (EngineError, WorkbenchError, RuntimeFailure) as error:
            yield Unknown(f"providers and secrets of {stack.path}", error.message)
            continue
        if (secrets := session.secrets_want(stack, uses(spec))) is not None:
            yield trust.standing(secrets)
        for standing in standings:
            # what no setting says needs no line
            is_news = standing.want.kind is Kind.PROVIDER or not standing.by.startswith("they say")
            if is_news and standing.want.digest not in seen:
                seen.add(standing.want.digest)
                yield standing


async def providers_of(session: Session, stack: Stack, inputs: CompileInputs | None) -> list[Standing]:
    """Returns how the providers stand that the configuration of a stack names; raises as compiling does."""
    return _providers_of(session, stack, (await session.compile(stack, inputs)).spec)


def _providers_of(session: Session, stack: Stack, spec: Spec) -> list[Standing]:
    resources = [each for each in spec if isinstance(each.id, TerraformId)]
    uses = provider_uses(
        resources,
        mirrors=session.settings.terraform_mirrors,
        lock=provider_lock(stack.directory, session.root),
    )
    return list(session.trust.providers(stack, uses))


def _plugins(root: Path, trust: Trust) -> Iterator[Standing | Unknown]:
    try:
        every = read_allowed_plugins(root)
    except WorkbenchError as error:
        yield Unknown(str(root / PLUGINS_FILE), error.message)
        return
    for each in every.values():
        try:
            want = plugins.want(each)
        except WorkbenchError as error:
            yield Unknown(f"plugin {each.name}", str(error))
            continue
        yield trust.standing(want) if needs_trust(each) else Standing(want, "it is installed")


def _kubeconfigs(text: str) -> Iterator[Path]:
    for each in text.split(os.pathsep):
        if each:
            yield Path(each).expanduser()
