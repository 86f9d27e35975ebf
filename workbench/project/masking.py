"""What a repository calls secret beyond what is everywhere: `masking.yaml` at its root.

names: [voucher, "*_pin"]                    # options, variables, settings, Terraform attributes: globs, any case
paths:                                       # a kind or Terraform type, then a path; both with globs, `*` for elements
  - ConfigMap data.licence
  - "* metadata.annotations['example.com/code']"
  - acme_thing pins[*].code
patterns: ["acme_live_*"]                    # globs over words that stand alone in a text

It only adds: nothing here shows a value that is masked without it. Where the file cannot be understood, nobody knows
what is secret, and nothing is compiled.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from kcl.secrecy.rules import BUILT_IN, PathRule, SecretRules
from workbench.project.errors import BrokenFile
from workbench.project.yaml_file import is_named, only_keys, read_mapping, refuse_empty

MASKING_FILE: Final = "masking.yaml"
_KEYS: Final = ("names", "paths", "patterns")
_MOST: Final = 200
_FEWEST_LETTERS: Final = 4
_STEP: Final = re.compile(r"""\.?([^.\[\]'"\s]+)|\[(\d+|\*)\]|\["([^"]+)"\]|\['([^']+)'\]""")


def read_masking(root: Path) -> SecretRules:
    """Reads `masking.yaml`, the rules for everybody where there is none; raises `BrokenFile`, `OutsideRepository`."""
    path = root / MASKING_FILE
    if not is_named(path):
        return BUILT_IN
    content = read_mapping(path)
    refuse_empty(content, path, "names: []")
    only_keys(content, _KEYS, str(path))
    names = tuple(_glob(each, 2, path).lower() for each in _texts(content.get("names"), "names", path))
    paths = tuple(_path(each, path) for each in _texts(content.get("paths"), "paths", path))
    patterns = tuple(_glob(each, _FEWEST_LETTERS, path) for each in _texts(content.get("patterns"), "patterns", path))
    return SecretRules(names, paths, patterns)


def _texts(value: Any, key: str, path: Path) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise BrokenFile(f"{key} needs to be a list of texts", where=str(path))
    if len(value) > _MOST:
        raise BrokenFile(f"{key} has more than {_MOST} entries", where=str(path))
    return value


def _glob(text: str, fewest: int, path: Path) -> str:
    """What matches nearly everything would hide what a change does from those who review it."""
    if sum(map(str.isalnum, re.sub(r"\[[^]]*\]", "", text))) < fewest:
        raise BrokenFile(f"{text!r} would mask nearly everything", where=str(path), hint=f"name {fewest} letters of it")
    return text


def _path(text: str, path: Path) -> PathRule:
    kind, _, written = text.strip().partition(" ")
    steps: list[str] = []
    at = 0
    written = written.strip()
    while at < len(written):
        found = _STEP.match(written, at)
        if found is None:
            break
        steps.append(next(each for each in found.groups() if each is not None))
        at = found.end()
    if not steps or at < len(written):
        raise BrokenFile(
            f"{text!r} is no path", where=str(path), hint="write a kind and a path, such as: ConfigMap data.licence"
        )
    return PathRule(kind, tuple(steps))
