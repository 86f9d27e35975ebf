"""Where a stack's Terraform resources are known: `terraform` in project.yaml or stack.yaml.

    terraform:
      backend: {type: s3, config: {bucket: states, key: shop/prod}}   # else a file on this machine
      requiredVersion: ">= 1.6"
      lockTimeoutSeconds: 60                                          # how long to wait for somebody else's apply

What a stack says replaces what its project says, key by key. Secrets have no place here: a backend takes them from the
environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field, replace
from kcl.regular import read_regular_text
from workbench.project.bounds import refuse_foreign
from workbench.project.errors import BrokenFile
from workbench.project.yaml_file import mapping_at, place_of, text_at

_KEYS = ("backend", "requiredVersion", "lockTimeoutSeconds")
_LOCK_TIMEOUT_SECONDS = 10.0
_LOCK, _LARGEST_LOCK_BYTES = ".terraform.lock.hcl", 1_000_000


@dataclass(frozen=True, slots=True)
class TerraformOptions:
    """`backend` is `{"type": ..., "config": {...}}`, None for a file in the state folder of this machine.

    `backend_file` is the project.yaml or stack.yaml that names it.
    """

    backend: Mapping[str, Any] | None = field(default=None, repr=False)
    required_version: str = ""
    lock_timeout_seconds: float = _LOCK_TIMEOUT_SECONDS
    backend_file: Path | None = None


def provider_lock(directory: Path, root: Path) -> str:
    """Returns the lock file of providers nearest to a stack's folder, up to the repository's; "" where there is none.

    Raises `BrokenFile` where it can't be read, and `OutsideRepository` where it is a link out of the repository.
    """
    for folder in (directory, *directory.parents):
        path = folder / _LOCK
        if path.is_symlink() or path.exists():
            refuse_foreign(path, folder)
            try:
                text = read_regular_text(path, _LARGEST_LOCK_BYTES + 1)
            except (OSError, UnicodeDecodeError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
                raise BrokenFile(f"cannot be read: {why}", where=str(path)) from error
            if len(text) > _LARGEST_LOCK_BYTES:
                raise BrokenFile(f"is larger than {_LARGEST_LOCK_BYTES} bytes", where=str(path))
            return text
        if folder == root:
            break
    return ""


def terraform_options(content: Mapping[str, Any], path: Path, above: TerraformOptions) -> TerraformOptions:
    """Returns what a project.yaml or stack.yaml says, over what is said `above` it; raises `BrokenFile`."""
    with _placed(path):
        said = mapping_at(content, "terraform", path)
    for key in said:
        if key not in _KEYS:
            where = place_of(path, "terraform", str(key))
            raise BrokenFile(f"terraform has the unknown key {key!r}; known: {', '.join(_KEYS)}", where=where)
    options = above
    if "backend" in said:
        options = replace(options, backend=_backend(said, path), backend_file=path)
    if "requiredVersion" in said:
        with _placed(path, "requiredVersion"):
            options = replace(options, required_version=text_at(said, "requiredVersion", path))
    if "lockTimeoutSeconds" in said:
        seconds = said["lockTimeoutSeconds"]
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
            where = place_of(path, "terraform", "lockTimeoutSeconds")
            raise BrokenFile("terraform.lockTimeoutSeconds needs to be a number from 0", where=where)
        options = replace(options, lock_timeout_seconds=float(seconds))
    return options


def _backend(above: Mapping[str, Any], path: Path) -> Mapping[str, Any] | None:
    with _placed(path, "backend"):
        said = mapping_at(above, "backend", path)
    if not said:
        return None
    with _placed(path, "backend", "type"):
        type_ = text_at(said, "type", path)
    with _placed(path, "backend", "config"):
        config = mapping_at(said, "config", path)
    others = [str(key) for key in said if key not in ("type", "config")]
    if not type_ or others:
        where = place_of(path, "terraform", "backend", *others[:1])
        raise BrokenFile("terraform.backend needs a type, and may have a config, and nothing else", where=where)
    return {"type": type_, "config": dict(config)}


@contextmanager
def _placed(path: Path, *keys: str) -> Iterator[None]:
    """Says of a `BrokenFile` on which line of `terraform` it is; files that are right are read once only."""
    try:
        yield
    except BrokenFile as error:
        where = place_of(path, "terraform", *keys)
        raise BrokenFile(
            ".".join(("terraform", *keys[:-1], error.message)) if keys else error.message, where=where
        ) from error
