"""The Terraform workspaces of a session: one a stack, in a folder of its own in the state folder.

    STATE/terraform/REPOSITORY/PROJECT/STACK/    configuration, local state and its backups, lock of provider versions

Connected when a verb first needs one, and kept until the session closes. Whether a stack has one is told by what it
configures, what its last release had, and by a state: one on this machine that holds something, or one elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Protocol

from workbench.project import TERRAFORM_PLACE, ProjectError, Stack, StackPath, provider_lock
from workbench.release.checkouts import state_resources
from workbench.settings import Settings
from workbench.trust import Trust
from workbench.words import few

if TYPE_CHECKING:
    from runtimes.base import FieldPath, ResourceId, Runtime, Workspace
    from workbench.engine.changes import Gap
    from workbench.engine.places import WorkspacePlace
    from workbench.engine.release import Release
    from workbench.engine.spec import Spec
    from workbench.engine.workspace import Clusters

    class TerraformPlace(Runtime, Workspace, Protocol):
        """What a stack's Terraform resources are reached by: all of them together, and each to be watched."""

    ConnectWorkspace = Callable[[Stack], Awaitable[TerraformPlace]]
    """Gives the workspace of a stack, or raises `RuntimeFailure`."""


class Workspaces:
    """`folder_of` names the working folder of a stack. `connect` replaces the way workspaces are reached.

    `trust` says what of the repository's may be used.
    """

    def __init__(
        self,
        settings: Settings,
        folder_of: Callable[[StackPath], Path],
        connect: ConnectWorkspace | None = None,
        *,
        trust: Trust,
    ) -> None:
        self._settings, self._folder_of, self._trust = settings, folder_of, trust
        self._connect = connect or self._connected
        self._open: dict[StackPath, TerraformPlace] = {}

    def is_needed(self, stack: Stack, spec: Spec, prior: Release | None) -> bool:
        from runtimes.base import TerraformId

        if any(isinstance(each.id, TerraformId) for each in (*spec, *spec.former)):
            return True
        if prior is not None and any(each.cluster == TERRAFORM_PLACE for each in prior.resources):
            return True
        # a state that others share may have what no release here knows of: only asking it tells
        return stack.terraform.backend is not None or self.has_local_state(stack)

    def has_local_state(self, stack: Stack) -> bool:
        """Whether a state of this machine holds anything, or can't be read, so that terraform has to say why."""
        folder = self._folder_of(stack.path)
        state = folder / "terraform.tfstate"
        if state.exists():
            return state_resources(state) != 0
        return any(state_resources(each) != 0 for each in (folder / "errored.tfstate", *folder.glob("*.backup")))

    def recorded_sensitive(self, stack: Stack, spec: Spec) -> Mapping[ResourceId, tuple[FieldPath, ...] | None]:
        """Returns the sensitive paths that providers named when they were last asked for this stack, None if never."""
        from runtimes.registry import recorded_sensitive

        return recorded_sensitive(self._folder_of(stack.path), spec)

    async def of(self, stack: Stack) -> TerraformPlace:
        """Raises `RuntimeFailure`."""
        if self._trust.untrusted:
            from runtimes.base import Misconfigured

            said = self._trust.refusal("terraform was not started, so the Terraform resources are not compared")
            raise Misconfigured(said, target=TERRAFORM_PLACE, hint=self._trust.lifting)
        if stack.path not in self._open:
            self._refuse_shared(stack)
            opened = await self._connect(stack)
            self._open.setdefault(stack.path, opened)
        return self._open[stack.path]

    def _refuse_shared(self, stack: Stack) -> None:
        """Raises `Misconfigured` where another stack names the very same place for its state, as all of a project do
        whose project.yaml names one with a key: each would delete what the other has."""
        from runtimes.base import Misconfigured
        from workbench.project.discovery import discover

        backend = stack.terraform.backend
        if backend is None or _is_own(backend):
            return
        others = [
            str(each.path)
            for each in discover(self._trust.root).stacks()
            if each.path != stack.path and each.terraform.backend == backend
        ]
        if others:
            raise Misconfigured(
                f"its Terraform backend is that of {few(others, 3)} as well: in one state each would delete what the "
                "other has, so it was not contacted",
                target=TERRAFORM_PLACE,
                hint="name a key (a path, a prefix) of its own for each, in its stack.yaml",
            )

    def unrecorded(self, stack: Stack, compiled: Spec | None, known: Collection[str]) -> Iterator[Gap]:
        """Yields what may be there though no release (`known`: the places of all of them) and no state here knows it.

        `compiled` is None where the stack does not compile.
        """
        from workbench.engine.changes import Gap
        from workbench.engine.workspace import terraform

        if TERRAFORM_PLACE in known or stack.terraform.backend is not None or self.has_local_state(stack):
            return
        hint = "destroy it where it was applied; machines that share a backend in stack.yaml share what they know"
        if compiled is None:
            said = "the stack does not compile, and no release here has Terraform resources: whether there are any"
            yield Gap(TERRAFORM_PLACE, f"{said} is not known", hint)
        elif count := len(terraform(compiled)):
            said = f"{count} resources are configured, and neither a release nor a state on this machine knows them"
            yield Gap(TERRAFORM_PLACE, f"{said}: whether another machine applied them is not known", hint)

    async def place(self, stack: Stack, clusters: Clusters) -> WorkspacePlace:
        """Returns the workspace as a place of the stack, or why it cannot be asked in its place."""
        from runtimes.base import RuntimeFailure
        from workbench.engine.places import WorkspacePlace

        try:
            return WorkspacePlace(TERRAFORM_PLACE, await self.of(stack), clusters)
        except RuntimeFailure as failure:
            return WorkspacePlace(TERRAFORM_PLACE, failure, clusters)

    async def close(self) -> None:
        for each in self._open.values():
            await each.close()
        self._open.clear()

    async def _connected(self, stack: Stack) -> TerraformPlace:
        from runtimes.base import Misconfigured, RuntimeType, Workspace
        from runtimes.registry import connect

        settings, options, trust = self._settings, stack.terraform, self._trust
        backend = trust.backend(stack, self._folder_of(stack.path))
        if backend is not None and not trust.allows(backend):
            raise Misconfigured(
                f"the Terraform backend {backend.name} is not trusted on this machine and was not contacted; "
                f"{backend.where} names it",
                target=TERRAFORM_PLACE,
                hint=f"read it there; if the state belongs there: {backend.command}",
            )
        runtime = connect(
            RuntimeType.TERRAFORM,
            {
                "folder": self._folder_of(stack.path),
                "place": TERRAFORM_PLACE,
                "binary": settings.terraform or None,
                "backend": dict(options.backend) if options.backend else None,
                "cli_config": cli_config(settings),
                "mirrors": settings.terraform_mirrors,
                "plugin_cache": plugin_cache(settings),
                "required_version": options.required_version,
                "lock_timeout_seconds": options.lock_timeout_seconds,
                "environment": dict(settings.terraform_environment),
                "lock": _lock(stack, trust.root),
                "may_run": partial(trust.refuse_providers, stack),
                "fetched": trust.fetched_providers,
            },
        )
        if not isinstance(runtime, Workspace):
            raise Misconfigured("has no workspace", target=TERRAFORM_PLACE)
        return runtime


def _is_own(backend: Mapping[str, Any]) -> bool:
    """Whether the same settings are another place for each stack: a path seen from its working folder, or settings
    that are all in the environment."""
    config = backend.get("config") or {}
    path = PurePath(str(config.get("path") or ""))
    return not config or (backend.get("type") == "local" and not path.is_absolute() and ".." not in path.parts)


def _lock(stack: Stack, root: Path) -> str:
    """Returns the repository's own lock file of providers; raises `Misconfigured` where it can't be read."""
    from runtimes.base import Misconfigured

    try:
        return provider_lock(stack.directory, root)
    except ProjectError as error:
        raise Misconfigured(str(error), target=TERRAFORM_PLACE, hint=error.hint) from error


def plugin_cache(settings: Settings) -> Path:
    """Returns the folder for providers. Mirrors have caches of their own: what one calls version 1 another may too."""
    if not settings.terraform_mirrors:
        return settings.cache_dir / "terraform-plugins"
    named = "\0".join(str(each.absolute()) for each in settings.terraform_mirrors)
    return settings.cache_dir / "terraform-plugins" / f"mirror-{hashlib.sha256(named.encode()).hexdigest()[:12]}"


def cli_config(settings: Settings) -> Path | None:
    """Returns the user's own file. One that is named and not there counts as none, as terraform itself has it."""
    path = Path(settings.terraform_config).expanduser()
    return path if settings.terraform_config and path.exists() else None
