"""Which providers a configuration would have terraform fetch and run, and with which settings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from runtimes.base import ProviderUse, Resource
from runtimes.terraform import cli_config, configuration, lock
from runtimes.terraform.configured import Configuration


def of(written: Configuration, *, mirrors: Iterable[Path], lock_text: str) -> tuple[ProviderUse, ...]:
    """Raises `Misconfigured` where the repository's lock file is none."""
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
        for id_, provider in written.providers
    )


def of_resources(
    resources: Iterable[Resource], *, secrets: frozenset[str], mirrors: tuple[Path, ...], lock: str
) -> tuple[ProviderUse, ...]:
    """Returns those of resources as they are configured, before anything was planned. Raises `RuntimeFailure`."""
    written = configuration.build(resources, secrets=secrets)
    own = cli_config.implied_mirrors(os.environ)
    return of(written, mirrors=(*mirrors, *own), lock_text=lock)
