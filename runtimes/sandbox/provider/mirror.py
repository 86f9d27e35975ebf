"""Lays the practice provider into a filesystem mirror: a folder that terraform takes providers from, without a network.

    <mirror>/workbench.local/sandbox/sandbox/0.1.0/<os>_<arch>/terraform-provider-sandbox_v0.1.0

The program is a script that starts the Python it was installed with. It is the same in every mirror: terraform locks
the digest of a provider, and takes one from its cache for another.
"""

from __future__ import annotations

import os
import platform
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kcl import whole_file
from runtimes.base.errors import Misconfigured
from runtimes.sandbox.provider import SOURCE, VERSION

NEEDED: Final = ("tf", "grpc", "msgpack", "cryptography")
"""The modules that must be there; the extra `practice` names their packages."""

_ARCHITECTURES: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


class ProviderMissing(Misconfigured):
    """The practice provider can't run here."""


def missing() -> tuple[str, ...]:
    """Returns the modules that the provider needs and this Python lacks."""
    return tuple(name for name in NEEDED if _folder(name) is None)


def install(mirror: Path) -> None:
    """Makes or renews the provider in a mirror; raises `ProviderMissing`, and `OSError` where it can't be written.

    Nothing is written where it is there already as it would be: a terraform that runs may have it open.
    """
    if absent := missing():
        hint = "pip install 'konfig-workbench[practice]'"
        raise ProviderMissing(f"the practice provider needs Python modules: {', '.join(absent)}", hint=hint)
    program = mirror.absolute() / SOURCE / VERSION / _platform() / f"terraform-provider-sandbox_v{VERSION}"
    script = _script()
    if program.is_file() and program.read_text(encoding="utf-8") == script and os.access(program, os.X_OK):
        return
    program.parent.mkdir(parents=True, exist_ok=True)
    # elsewhere while it is unfinished: a digest of the package must not see it
    whole_file.write(program, script.encode(), mode=0o755, unfinished_in=mirror.absolute())


def _platform() -> str:
    """Returns os and architecture as terraform names them; raises `ProviderMissing`."""
    system, machine = platform.system().lower(), platform.machine().lower()
    if system not in ("linux", "darwin") or machine not in _ARCHITECTURES:
        raise ProviderMissing(f"the practice provider does not run on {system} {machine}", hint="use Linux or macOS")
    return f"{system}_{_ARCHITECTURES[machine]}"


def _script() -> str:
    """The search path is given whole and `site` is left out: that is half of the time a start takes."""
    folders = dict.fromkeys(str(each.absolute()) for each in (_source_root(), *_package_folders()))
    code = f"import sys; sys.path[:0] = {list(folders)!r}; from runtimes.sandbox.provider.__main__ import main; "
    code += "sys.exit(main())"
    words = (sys.executable, "-S", "-E", "-s", "-c", code)
    return f"#!/bin/sh\nexec {shlex.join(words)}\n"


def _source_root() -> Path:
    return Path(__file__).parents[3]


def _package_folders() -> list[Path]:
    """Returns where the modules needed are, and what they need in turn."""
    found = (_folder(name) for name in (*NEEDED, "google.protobuf", "typing_extensions"))
    return [each for each in found if each is not None]


def _folder(module: str) -> Path | None:
    """Returns the folder to search for a module, None where there is no such module."""
    try:
        found = find_spec(module)
    except ModuleNotFoundError:  # the package around it
        return None
    if found is None or found.origin is None:
        return None
    depth = module.count(".") + (found.submodule_search_locations is not None)
    return Path(found.origin).parents[depth]
