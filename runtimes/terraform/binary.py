"""Which terraform there is, and whether it will do."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from kcl.records import dataclass
from runtimes.base import Misconfigured
from runtimes.base.documents import load_json
from runtimes.terraform.arguments import Arguments
from runtimes.terraform.process import Command, run

NAMES = ("terraform", "tofu")
_OLDEST = (1, 5, 0)  # the first that has import blocks
FORGETTING_VERSION = (1, 7, 0)
"""The first with `removed` blocks, terraform and tofu alike."""
_JSON_INIT = (1, 9, 0)
_PATIENCE_SECONDS = 30.0
_VERSION = re.compile(r"v?\d{1,6}\.\d{1,6}(?:\.\d{1,6})?[\w.+-]{0,60}", re.ASCII)
_LONGEST_PLATFORM = 60


@dataclass(frozen=True, slots=True)
class Binary:
    """`version` is as it says it: `1.11.4`. `platform` is the system it was built for: `linux_amd64`."""

    path: Path
    version: str
    platform: str

    @property
    def is_tofu(self) -> bool:
        return self.path.name.startswith("tofu")

    @property
    def number(self) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", self.version.partition("-")[0])[:3])

    @property
    def says_init_in_json(self) -> bool:
        return self.number >= _JSON_INIT and not self.is_tofu

    @property
    def mark(self) -> str:
        """Changes when another binary is there under the same path."""
        return f"{self.path} {_stamp(self.path)}"


def find(named: str | None, path: str | None = None) -> Path:
    """Returns the binary's path: the one named, else the first of `NAMES` on PATH. Raises `Misconfigured`.

    `path` stands for the PATH of the environment.
    """
    if named is not None:
        if found := shutil.which(str(Path(named).expanduser()), path=path):
            return Path(found).absolute()
        raise Misconfigured(
            f"there is no program {named} that can be run",
            hint="set the binary of Terraform to terraform or tofu, by name or by path",
        )
    for name in NAMES:
        if found := shutil.which(name, path=path):
            return Path(found).absolute()
    raise Misconfigured(
        "resources of type Terraform need terraform or tofu, and neither is on PATH",
        hint="install one: https://developer.hashicorp.com/terraform/install or https://opentofu.org/docs/intro/install",
    )


_known: dict[tuple[Path, str], Binary] = {}


async def identify(path: Path, environment: Mapping[str, str], folder: Path) -> Binary:
    """Asks a binary for its version, once a process; raises `Misconfigured` for one that is too old, or is none."""
    key = (path, _stamp(path))
    if key not in _known:
        _known[key] = await _asked(path, environment, folder)
    return _known[key]


def remember(binary: Binary, stamp: str) -> None:
    """Takes over what an earlier process learned, if the file at the path is still the same."""
    if stamp == binary.mark:
        _known[(binary.path, _stamp(binary.path))] = binary


async def _asked(path: Path, environment: Mapping[str, str], folder: Path) -> Binary:
    command = Command(Arguments(str(path)).version(), environment, folder)
    try:
        said = await run(command, patience_seconds=_PATIENCE_SECONDS)
        document = load_json(said.output)
        version = document["terraform_version"]
        if not _VERSION.fullmatch(version):
            raise ValueError("no version")
        binary = Binary(path, version, str(document.get("platform") or "")[:_LONGEST_PLATFORM])
    except (OSError, TimeoutError, ValueError, KeyError, TypeError) as error:
        why = error if isinstance(error, OSError) else "it did not tell its version"
        raise Misconfigured(f"{path} can't be used as terraform: {why}", hint="name another binary") from None
    if binary.number < _OLDEST:
        raise Misconfigured(
            f"{path} is version {binary.version}, which is too old: "
            f"{'.'.join(str(part) for part in _OLDEST)} or newer is needed",
            hint="install a newer terraform or tofu, or name another binary",
        )
    return binary


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "absent"
    return f"{found.st_size}-{found.st_mtime_ns}"
