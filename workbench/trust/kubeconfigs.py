"""Kubeconfigs of the repository: they may name programs that give credentials, and servers that get the user's."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from kcl.regular import read_regular
from workbench.trust.wants import Kind, Want, short

_LARGEST_BYTES = 16_000_000


def want(file: Path, checkout: Path) -> Want | None:
    """Returns what trust in a kubeconfig is bound to, its content; None where it is none of the repository's."""
    names = (Path(os.path.normpath(file.absolute())), file.resolve())
    if not any(name.is_relative_to(at) for name in names for at in (checkout.absolute(), checkout.resolve())):
        return None
    try:
        content = read_regular(file, _LARGEST_BYTES + 1)
    except OSError:
        return None
    if len(content) > _LARGEST_BYTES:
        return None
    shown = short(os.path.relpath(file, checkout))
    return Want(
        Kind.KUBECONFIG,
        shown,
        hashlib.sha256(content).hexdigest(),
        str(file),
        command=f"wb trust kubeconfig {shown}",
    )
