"""Where a stack's Terraform resources are known: `terraform` in project.yaml or stack.yaml.

    terraform:
      backend: {type: s3, config: {bucket: states, key: shop/prod}}   # else a file on this machine
      requiredVersion: ">= 1.6"
      lockTimeoutSeconds: 60                                          # how long to wait for somebody else's apply

What a stack says replaces what its project says, key by key. Secrets have no place here: a backend takes them from the
environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.project.errors import BrokenFile
from workbench.project.yaml_file import mapping_at, text_at

_KEYS = ("backend", "requiredVersion", "lockTimeoutSeconds")
_LOCK_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class TerraformOptions:
    """`backend` is `{"type": ..., "config": {...}}`, None for a file in the state folder of this machine."""

    backend: Mapping[str, Any] | None = field(default=None, repr=False)
    required_version: str = ""
    lock_timeout_seconds: float = _LOCK_TIMEOUT_SECONDS


def terraform_options(content: Mapping[str, Any], path: Path, above: TerraformOptions) -> TerraformOptions:
    """Returns what a project.yaml or stack.yaml says, over what is said `above` it; raises `BrokenFile`."""
    said = mapping_at(content, "terraform", path)
    for key in said:
        if key not in _KEYS:
            raise BrokenFile(f"terraform has the unknown key {key!r}; known: {', '.join(_KEYS)}", where=str(path))
    options = above
    if "backend" in said:
        options = replace(options, backend=_backend(mapping_at(said, "backend", path), path))
    if "requiredVersion" in said:
        options = replace(options, required_version=text_at(said, "requiredVersion", path))
    if "lockTimeoutSeconds" in said:
        seconds = said["lockTimeoutSeconds"]
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
            raise BrokenFile("terraform.lockTimeoutSeconds needs to be a number from 0", where=str(path))
        options = replace(options, lock_timeout_seconds=float(seconds))
    return options


def _backend(said: Mapping[str, Any], path: Path) -> Mapping[str, Any] | None:
    if not said:
        return None
    type_, config = text_at(said, "type", path), mapping_at(said, "config", path)
    if not type_ or set(said) - {"type", "config"}:
        raise BrokenFile("terraform.backend needs a type, and may have a config", where=str(path))
    return {"type": type_, "config": dict(config)}
