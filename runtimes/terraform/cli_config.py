"""The CLI configuration terraform is given, so that the user's own files change nothing unasked, and its environment.

https://developer.hashicorp.com/terraform/cli/config/config-file
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from kcl.regular import read_regular_text
from kcl.secrecy.environments import for_others
from runtimes.base import Misconfigured

_CACHE = re.compile(r"^\s*plugin_cache_dir\b", re.MULTILINE)
_INSTALLATION = re.compile(r"^\s*provider_installation\b", re.MULTILINE)
# What a user's shell may hold for terraform and would change what it does: its log (which holds secrets), arguments
# slipped in, another folder, another workspace of the state, other plug-ins.
_NOT_PASSED_ON = frozenset(
    {"TF_DATA_DIR", "TF_WORKSPACE", "TF_INPUT", "TF_IN_AUTOMATION", "TF_CLI_CONFIG_FILE"}
    | {"TF_REATTACH_PROVIDERS", "TF_IGNORE", "TF_STATE_PERSIST_INTERVAL", "TERRAFORM_CONFIG"}
)
_NOT_PASSED_ON_PREFIXES = ("TF_LOG", "TF_CLI_ARGS", "TF_VAR_", "TF_ACC", "TOFU_LOG")


def text(
    *,
    own: Path | None,
    mirrors: Iterable[Path],
    plugin_cache: Path | None,
    fetched: Collection[str] | None = None,
    implied: Iterable[Path] = (),
) -> str:
    """Returns the file to give terraform: the user's `own`, with what is needed besides. Raises `Misconfigured`.

    Providers found in a mirror come from there and from nowhere else, all others as `own` says, or else directly.
    `fetched` are the sources (patterns of terraform's) that may be asked for of their hosts, None for any: a state
    that others wrote may name another, which is known only once terraform has read it. `implied` are mirrors that
    terraform would know by itself, without the rules that are written here.
    """
    users = text_of(own) if own else ""
    held = {mirror: patterns for mirror in mirrors if (patterns := mirrored(mirror))}
    if held and _INSTALLATION.search(users):
        raise Misconfigured(
            f"{own} has a provider_installation of its own, which can't be joined with the mirror {next(iter(held))}",
            hint="name the mirror there as a filesystem_mirror, and leave it out of the workbench's settings",
        )
    parts = []
    if plugin_cache and not _CACHE.search(users):
        parts.append(f"plugin_cache_dir = {_quoted(plugin_cache)}")
    if held or (fetched is not None and not _INSTALLATION.search(users)):
        held |= {mirror: patterns for mirror in implied if (patterns := mirrored(mirror))}
        parts.append(_installation(held, fetched))
    separator = "\n" if users and not users.endswith("\n") else ""
    return users + separator + "".join(f"{part}\n" for part in parts)


def environment(
    inherited: Mapping[str, str], added: Mapping[str, str], variables: Mapping[str, str], config: Path
) -> dict[str, str]:
    """Returns all of terraform's environment; `variables` are its own TF_VAR_ texts, which may be secret."""
    passed = {
        name: value
        for name, value in for_others(inherited).items()
        if name not in _NOT_PASSED_ON and not name.startswith(_NOT_PASSED_ON_PREFIXES)
    }
    return {
        **passed,
        **added,
        "TF_CLI_CONFIG_FILE": str(config),
        "CHECKPOINT_DISABLE": "1",
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        **variables,
    }


def mirrored(mirror: Path) -> tuple[str, ...]:
    """Returns the providers an unpacked or packed filesystem mirror holds, as host/namespace/type."""
    return tuple(
        sorted(
            "/".join(folder.relative_to(mirror).parts)
            for folder in mirror.glob("*/*/*")
            if folder.is_dir() and any(folder.iterdir())
        )
    )


def contents(mirrors: Iterable[Path]) -> str:
    """Returns a text that changes with any file of the mirrors."""
    return "\n".join(
        f"{found.path} {stat.st_size} {stat.st_mtime_ns}"
        for mirror in mirrors
        for found in sorted(_files(mirror), key=lambda each: each.path)
        for stat in [found.stat()]
    )


def _files(folder: Path) -> Iterable[os.DirEntry[str]]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(Path(entry.path))
            else:
                yield entry


def _installation(held: Mapping[Path, tuple[str, ...]], fetched: Collection[str] | None) -> str:
    everything = json.dumps([pattern for patterns in held.values() for pattern in patterns])
    include = "" if fetched is None else f"    include = {json.dumps(sorted(fetched))}\n"
    exclude = f"    exclude = {everything}\n" if held else ""
    # a list with nothing in it would include everything
    direct = f"  direct {{\n{include}{exclude}  }}\n" if fetched is None or fetched else ""
    mirrors = "".join(
        f"  filesystem_mirror {{\n    path    = {_quoted(mirror)}\n    include = {json.dumps(patterns)}\n  }}\n"
        for mirror, patterns in held.items()
    )
    return f"provider_installation {{\n{mirrors}{direct}}}"


def says_how_to_install(own: Path) -> bool:
    """Whether a user's file has rules of its own for where providers come from. Raises `Misconfigured`."""
    return _INSTALLATION.search(text_of(own)) is not None


def implied_mirrors(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Returns the folders of this machine that terraform takes providers from where nothing else is said.

    https://developer.hashicorp.com/terraform/cli/config/config-file#implied-local-mirror-directories
    """
    home = Path(environment.get("HOME") or "/nonexistent")
    if sys.platform == "darwin":
        data = [home / "Library/Application Support/io.terraform", Path("/Library/Application Support/io.terraform")]
    else:
        shared = environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        own = Path(environment.get("XDG_DATA_HOME") or home / ".local/share")
        data = [each / "terraform" for each in (own, *map(Path, shared.split(":")))]
    folders = (home / ".terraform.d/plugins", *(each / "plugins" for each in data))
    return tuple(each for each in folders if each.is_absolute() and each.is_dir())


def text_of(path: Path) -> str:
    """Returns a user's file, "" where there is none: terraform itself only warns of that. Raises `Misconfigured`."""
    try:
        return read_regular_text(path.expanduser())
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Misconfigured(
            f"the CLI configuration of Terraform {path} can't be read: {why}",
            hint="correct the path, or leave it out",
        ) from None


def _quoted(path: Path) -> str:
    return json.dumps(str(path), ensure_ascii=False)
