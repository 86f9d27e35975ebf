"""Secrets in files below one folder, as Kubernetes, Docker and systemd mount them.

Links are followed as far as they stay below the folder: Kubernetes mounts each file as a link to a folder beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import anyio.to_thread

from kcl.records import dataclass
from kcl.regular import read_regular
from runtimes.base import Misconfigured, NotThere, Rejected, RuntimeFailure, SecretReference

LARGEST_BYTES: Final = 1 << 20
"""What Kubernetes allows a Secret to hold."""


@dataclass(frozen=True, slots=True)
class FileStore:
    """`folder` None: nobody named one."""

    folder: Path | None

    async def read(self, references: Collection[SecretReference]) -> Mapping[SecretReference, str | RuntimeFailure]:
        wanted = tuple(references)
        found = await anyio.to_thread.run_sync(lambda: [self._read(each) for each in wanted])
        return dict(zip(wanted, found, strict=True))

    def _read(self, reference: SecretReference) -> str | RuntimeFailure:
        if self.folder is None:
            return Misconfigured("nobody named a folder with secrets", hint="set WB_SECRETS_DIR to it")
        path = self.folder.joinpath(*reference.path)
        try:
            real = path.resolve()
            if not real.is_relative_to(self.folder.resolve()):
                return Misconfigured(f"{path} leads out of {self.folder}", hint="put the file below WB_SECRETS_DIR")
            content = read_regular(real, LARGEST_BYTES + 1)
        except FileNotFoundError:
            return NotThere(f"there is no file {path}", hint="put it there, or set WB_SECRETS_DIR to where it is")
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
            why = error.strerror if isinstance(error, OSError) and error.strerror else "a loop of links"
            return Misconfigured(f"{path} can't be read: {why}", hint="look at WB_SECRETS_DIR")
        return _text(path, content)


def _text(path: Path, content: bytes) -> str | RuntimeFailure:
    """One line end at the end is the editor's, and no part of a secret."""
    if len(content) > LARGEST_BYTES:
        return Rejected(f"{path} is larger than {LARGEST_BYTES} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return Rejected(f"{path} is no UTF-8 text", hint="binary secrets can't be referred to")
    return text.removesuffix("\n").removesuffix("\r") or Misconfigured(f"{path} is empty", hint="fill it")
