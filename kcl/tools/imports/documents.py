"""Reading what is imported: regular files of UTF-8, within the limits for documents from outside."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Final, TextIO

from kcl import regular
from kcl.bounds import MOST_BYTES, LimitError, check_depth, check_json, check_toml
from kcl.loader import YamlError
from kcl.loader.yaml_text import load_all_yaml
from kcl.records import dataclass, replace
from kcl.terminal import harmless
from kcl.tools.imports.failure import ImportFailure

_ENDINGS: Final = (".yaml", ".yml", ".json", ".toml")
_DESCRIPTORS: Final = (".pb", ".binpb", ".protoset", ".desc", ".fds")
"""How files that hold descriptors of Protocol Buffers are called."""
_SOURCE: Final = ".proto"
_MERGE: Final = "<<"


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file. `name` is the file as it was named, and safe to print."""

    name: str
    value: Any
    stem: str
    may_merge: bool = False
    """Whether it is YAML with `<<`, which the compiler reads as a name like any other."""

    @property
    def merged(self) -> Document:
        """With mappings under `<<` taken in, as what reads manifests and OpenAPI documents in YAML does."""
        return replace(self, value=_merged(self.value), may_merge=False) if self.may_merge else self


def _merged(value: Any) -> Any:
    if isinstance(value, list):
        return [_merged(each) for each in value]
    if not isinstance(value, dict):
        return value
    own = {name: _merged(each) for name, each in value.items() if name != _MERGE}
    given = value.get(_MERGE, [])
    sources = given if isinstance(given, list) else [given]
    if not all(isinstance(each, dict) for each in sources):
        return {_MERGE: _merged(given), **own}
    made: dict[str, Any] = {}
    for each in reversed(sources):
        made.update(_merged(each))
    return {**made, **own}


def read_all(paths: Sequence[str], cwd: str, stdin: TextIO, *, are_descriptors: bool = False) -> list[Document]:
    """Every document of all files; of a folder, those whose names end as YAML, JSON or TOML. Raises ImportFailure.

    With `are_descriptors` files are descriptor sets whatever they are called, and of a folder those called so.
    """
    found: list[Document] = []
    endings = (*_DESCRIPTORS, _SOURCE) if are_descriptors else _ENDINGS
    for given in paths:
        if given == "-" and are_descriptors:
            raw = getattr(stdin, "buffer", None)
            if raw is None:
                raise ImportFailure("standard input: cannot be read as bytes: name a file")
            found.append(_descriptors(raw.read(MOST_BYTES + 1), "standard input", "stdin"))
            continue
        if given == "-":
            found += documents(stdin.read(MOST_BYTES + 1), "standard input", "stdin", "")
            continue
        path = os.path.join(cwd, given)
        if os.path.isdir(path):
            inner = sorted(name for name in os.listdir(path) if name.lower().endswith(endings))
            if not inner:
                raise ImportFailure(f"{harmless(given)}: holds no {', '.join(endings)} file: name the file to import")
            for name in inner:
                found += _file(os.path.join(path, name), os.path.join(given, name), are_descriptors)
        else:
            found += _file(path, given, are_descriptors)
    return found


def _descriptors(raw: bytes, shown: str, stem: str) -> Document:
    from kcl.tools.imports.protobuf import descriptors

    if len(raw) > MOST_BYTES:
        raise ImportFailure(f"{shown}: is larger than the limit of {MOST_BYTES} bytes")
    if not raw:
        raise ImportFailure(f"{shown}: is empty")
    return Document(shown, descriptors.read(raw, shown), stem)


def _file(path: str, given: str, are_descriptors: bool) -> list[Document]:
    shown = harmless(given)
    try:
        raw = regular.read_regular(path, MOST_BYTES + 1)
    except FileNotFoundError:
        raise ImportFailure(f"{shown}: there is no such file") from None
    except OSError as problem:
        raise ImportFailure(f"{shown}: cannot be read: {problem.strerror}") from None
    is_source = given.lower().endswith(_SOURCE)
    if not is_source and (are_descriptors or given.lower().endswith(_DESCRIPTORS)):
        return [_descriptors(raw, shown, os.path.splitext(os.path.basename(given))[0])]
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ImportFailure(f"{shown}: is UTF-16: save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise ImportFailure(f"{shown}:{line}: is not UTF-8: save it as UTF-8") from None
    stem, ending = os.path.splitext(os.path.basename(given))
    if is_source:
        from kcl.tools.imports.protobuf import source

        return [Document(shown, source.read(text, shown), stem)]
    return documents(text, shown, stem, ending.lower())


def documents(text: str, shown: str, stem: str, ending: str) -> list[Document]:
    """The documents of a text that are not empty. Raises ImportFailure."""
    if len(text) > MOST_BYTES:
        raise ImportFailure(f"{shown}: is larger than the limit of {MOST_BYTES} bytes")
    if not text.strip():
        raise ImportFailure(f"{shown}: is empty")
    if ending == ".toml":
        values = [_toml(text, shown)]
    elif ending == ".json" or text.lstrip()[:1] in "{[":
        values = _json(text, shown, is_yaml_allowed=ending != ".json")
    else:
        values = _yaml(text, shown)
    may_merge = ending not in (".toml", ".json") and _MERGE in text
    found = [Document(shown, each, stem, may_merge) for each in values if each is not None]
    if not found:
        raise ImportFailure(f"{shown}: holds no document")
    return found


def _yaml(text: str, shown: str) -> list[Any]:
    try:
        return load_all_yaml(text)
    except YamlError as problem:
        line = f":{problem.line}" if problem.line else ""
        hint = "; render the template first" if "{{" in text else ""
        raise ImportFailure(f"{shown}{line}: is not YAML: {harmless(problem.problem)}{hint}") from None


def _json(text: str, shown: str, is_yaml_allowed: bool) -> list[Any]:
    try:
        check_json(text)
        value = json.loads(text)
        check_depth(value)
    except LimitError as problem:
        raise ImportFailure(f"{shown}: {problem}") from None
    except RecursionError:
        raise ImportFailure(f"{shown}: is nested too deeply") from None
    except json.JSONDecodeError as problem:
        if is_yaml_allowed:
            return _yaml(text, shown)
        raise ImportFailure(f"{shown}:{problem.lineno}: is not JSON: {harmless(problem.msg)}") from None
    except ValueError as problem:
        raise ImportFailure(f"{shown}: is not JSON: {harmless(str(problem))}") from None
    return [value]


def _toml(text: str, shown: str) -> Any:
    import tomllib

    try:
        check_toml(text)
        value = tomllib.loads(text)
        check_depth(value)
    except LimitError as problem:
        raise ImportFailure(f"{shown}: {problem}") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as problem:
        raise ImportFailure(f"{shown}: is not TOML: {harmless(str(problem))}") from None
    return _plain(value)


def _plain(value: Any) -> Any:
    """TOML has times as values; KCL has none, and gets their text."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool) else str(value)
