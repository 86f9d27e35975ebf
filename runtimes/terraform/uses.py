"""Which providers a configuration would have terraform fetch and run, and with which settings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from runtimes.base import ProviderUse, Resource, TerraformId
from runtimes.terraform import cli_config, lock, providers
from runtimes.terraform.configured import Configuration
from runtimes.terraform.providers import Provider


def of(written: Configuration, *, mirrors: Iterable[Path], lock_text: str) -> tuple[ProviderUse, ...]:
    """Raises `Misconfigured` where the repository's lock file is none."""
    return _uses(written.providers, mirrors, lock_text)


def of_resources(
    resources: Iterable[Resource], *, mirrors: tuple[Path, ...], lock_text: str
) -> tuple[ProviderUse, ...]:
    """Returns those of resources as they are written, whatever their attributes refer to. Raises `RuntimeFailure`."""
    found = {each.id: each for each in resources}
    configured = {id_: providers.of(each) for id_, each in found.items() if isinstance(id_, TerraformId)}
    used = providers.used(configured.items(), providers.versions(configured, {}), found)
    return _uses(used, (*mirrors, *cli_config.implied_mirrors(os.environ)), lock_text)


def _uses(
    used: Iterable[tuple[TerraformId | None, Provider]], mirrors: Iterable[Path], lock_text: str
) -> tuple[ProviderUse, ...]:
    held = {each for mirror in mirrors for each in cli_config.mirrored(mirror)}
    locked = lock.read(lock_text, where=lock.FILE)
    return tuple(
        ProviderUse(
            str(provider.source),
            provider.version,
            locked[str(provider.source)].pin if str(provider.source) in locked else (),
            provider.meta,
            id_,
            is_local=str(provider.source) in held,
        )
        for id_, provider in used
    )
