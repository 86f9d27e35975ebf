"""What this machine knows of a repository besides its releases: what its user trusts, practice clusters that run.

    STATE/local/REPOSITORY/trusted.json    digests of plugin code by name
                          /backends.json   digests of Terraform backends that may be used, with their names
                          /practice.json   where the practice clusters and their CMDB are, while somebody serves them
                          /practice.lock   held by who serves them: without it practice.json is a left-over

Light: opening a session looks here.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from runtimes.base.documents import load_json
from workbench.project import WorkbenchError


class LocalStateFailure(WorkbenchError):
    """The folder for local state cannot be used."""


class AlreadyServed(LocalStateFailure):
    """Somebody serves practice clusters for this repository already."""


@dataclass(frozen=True, slots=True)
class ServedPractice:
    """Practice clusters that run. `plugins` are settings by plugin and may hold tokens; `trusted` digests by plugin.

    `incident` and `hostnames` are an alarm to practise on. `terraform_mirrors` hold the provider to practise with,
    and `terraform_environment` says where its cloud is.
    """

    kubeconfig: str
    state_dir: str
    plugins: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    trusted: Mapping[str, str] = field(default_factory=dict)
    incident: str = ""
    hostnames: tuple[str, ...] = ()
    terraform_mirrors: tuple[str, ...] = ()
    terraform_environment: Mapping[str, str] = field(default_factory=dict)


class LocalState:
    """The local state of the repository at `root` (absolute)."""

    def __init__(self, state_dir: Path, root: Path) -> None:
        self._folder = state_dir / "local" / f"{root.name}-{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"

    # Plugins

    def trusted_plugins(self) -> Mapping[str, str]:
        """Returns the digests of trusted code by plugin; nothing that cannot be read is trusted."""
        content = _read(self._folder / "trusted.json")
        return {key: value for key, value in content.items() if isinstance(value, str)}

    def trust_plugin(self, name: str, digest: str) -> None:
        """Trusts this code under this name, instead of any other; raises `LocalStateFailure`."""
        self._write("trusted.json", {**self.trusted_plugins(), name: digest})

    def distrust_plugin(self, name: str) -> None:
        self._write("trusted.json", {key: value for key, value in self.trusted_plugins().items() if key != name})

    # Backends of Terraform

    def trusts_backend(self, digest: str) -> bool:
        """Returns whether the backend of this digest may be used; nothing that cannot be read is trusted."""
        return digest in _read(self._folder / "backends.json")

    def trust_backend(self, digest: str, name: str) -> None:
        """Raises `LocalStateFailure`."""
        self._write("backends.json", {**_read(self._folder / "backends.json"), digest: name})

    def distrust_backend(self, digest: str) -> None:
        others = {key: value for key, value in _read(self._folder / "backends.json").items() if key != digest}
        self._write("backends.json", others)

    # Practice clusters

    def practice(self) -> ServedPractice | None:
        """Returns the practice clusters served for this repository right now, None if nobody does."""
        path = self._folder / "practice.json"
        if not path.is_file() or not self._is_served():
            return None
        content = _read(path)
        try:
            return ServedPractice(
                kubeconfig=str(content["kubeconfig"]),
                state_dir=str(content["state_dir"]),
                plugins=dict(content["plugins"]),
                trusted=dict(content["trusted"]),
                incident=str(content["incident"]),
                hostnames=tuple(content["hostnames"]),
                terraform_mirrors=tuple(content.get("terraform_mirrors", ())),
                terraform_environment=dict(content.get("terraform_environment", {})),
            )
        except (KeyError, TypeError, ValueError):
            return None

    @contextmanager
    def serve(self, practice: ServedPractice) -> Iterator[None]:
        """Makes practice clusters known while the context lasts, even if it ends by a crash; raises `AlreadyServed`."""
        self._make()
        with (self._folder / "practice.lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AlreadyServed(
                    "practice clusters are served already", where=str(self._folder), hint="stop that `wb demo` first"
                ) from None
            self._write("practice.json", asdict(practice))
            try:
                yield
            finally:
                (self._folder / "practice.json").unlink(missing_ok=True)

    def _is_served(self) -> bool:
        try:
            with (self._folder / "practice.lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _make(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise LocalStateFailure(
                f"cannot be made: {error.strerror}", where=str(self._folder), hint="set WB_STATE_DIR to another folder"
            ) from error

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        from workbench.engine import whole_file

        self._make()
        try:
            whole_file.write(self._folder / name, json.dumps(content, indent=2).encode())
        except OSError as error:
            raise LocalStateFailure(f"cannot be written: {error.strerror}", where=str(self._folder / name)) from error


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        content = load_json(path.read_text(encoding="utf-8"))
        # a file that others may write says nothing about what this user trusts
        if isinstance(content, dict) and not path.stat().st_mode & 0o022 and path.stat().st_uid == os.getuid():
            return content
    return {}
