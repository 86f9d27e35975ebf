"""The context of every command: where it works, which settings it has, how it prints."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcl.records import dataclass, field, replace
from workbench.cli.output import Output

if TYPE_CHECKING:
    from workbench.session import Session
    from workbench.settings import Settings


@dataclass(slots=True)
class Context:
    """Given to every command: the options before the verb."""

    work_dir: Path
    kubeconfig: str | None
    output: Output
    is_untrusted: bool | None = None
    writable: tuple[str, ...] = ()
    style: bool = True
    limits: Mapping[str, Any] = field(default_factory=dict)
    """What the command line says of the limits of evaluations: fields of an `Allowance`."""
    is_ascii: bool = False
    has_mouse: bool = True
    _settings: Settings | None = field(default=None, repr=False)

    @property
    def settings(self) -> Settings:
        from workbench.settings import Settings

        if self._settings is None:
            settings = Settings.load()
            settings = replace(settings, allowance=replace(settings.allowance, **self.limits))
            if self.is_ascii:
                settings = replace(settings, is_ascii=True)
            if not self.has_mouse:
                settings = replace(settings, has_mouse=False)
            if self.kubeconfig:
                settings = replace(settings, kubeconfig=self.kubeconfig)
            if self.is_untrusted is not None:
                settings = replace(settings, is_untrusted=self.is_untrusted)
            if self.writable:
                settings = replace(settings, writable=(*settings.writable, *self.writable))
            self._settings = settings
        return self._settings

    def base(self, workdir: Path | None) -> Path:
        """Returns the folder where all relative paths of the command line start: `-w`, else where one stands."""
        return self.work_dir / workdir if workdir else self.work_dir

    def open(self, path: Path | None = None, *, workdir: Path | None = None) -> Session:
        """Opens the repository of a folder; `workdir` is the command's own `-w`."""
        from workbench.session import Session

        base = self.base(workdir)
        settings = self.settings
        if self.kubeconfig:
            named = (str(base / each) for each in self.kubeconfig.split(os.pathsep) if each)
            settings = replace(settings, kubeconfig=os.pathsep.join(named))
        session = Session.open(path or base, settings=settings)
        session.origin = "cli"
        if session.trust.untrusted:
            left_out = "Terraform, plugins and, unless requested, clusters are left out"
            self.output.talk(f"this repository is untrusted, as {session.trust.untrusted}: {left_out}")
        return session


def installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("konfig-workbench")
    except PackageNotFoundError:
        return "0 (not installed)"
