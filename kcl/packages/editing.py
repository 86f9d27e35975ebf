"""Lines of kcl.mod: changed one by one, with everything else, comments included, as it was."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from kcl.loader.requirement import GitSource, LocalSource, OciSource, Requirement
from kcl.loader.toml_text import key_of_line, quoted, table_of_header
from kcl.packages.failure import PackageFailure


def requirement_value(requirement: Requirement) -> str:
    """What stands behind `NAME = ` for this dependency."""
    fields: dict[str, str] = {}
    match requirement.source:
        case LocalSource(written=written):
            fields["path"] = written
        case GitSource(url=url, tag=tag, branch=branch, commit=commit):
            fields |= {"git": url, "tag": tag, "branch": branch, "commit": commit}
        case OciSource(registry="", repository="", tag=tag):
            if requirement.package == requirement.key:
                return quoted(tag)
            fields["version"] = tag
        case OciSource(registry="", repository=repository, tag=tag):
            fields |= {"repo": repository, "tag": tag}
        case OciSource(registry=registry, repository=repository, tag=tag):
            fields |= {"oci": f"oci://{registry}/{repository}", "tag": tag}
    if requirement.package != requirement.key:
        fields["package"] = requirement.package
    return _inline(fields)


def _inline(fields: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f"{key} = {quoted(value)}" for key, value in fields.items() if value) + " }"


def with_dependency(text: str, key: str, value: str) -> str:
    """`text` of a kcl.mod with that line under `[dependencies]`, in the place of an older one of the same name.

    Raises PackageFailure for a text that is laid out in a way this cannot change without touching other lines.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    changed = newline.join([*_with_line(lines, key, f"{quoted(key, as_key=True)} = {value}"), ""])
    expected: dict[str, Any] = tomllib.loads(text)
    expected.setdefault("dependencies", {})[key] = tomllib.loads(f"value = {value}")["value"]
    try:
        found = tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        found = {}
    if found != expected:
        raise PackageFailure(
            f"cannot change the dependency '{key}' in this kcl.mod", f"write it by hand: {key} = {value}"
        )
    return changed


def _with_line(lines: list[str], key: str, line: str) -> list[str]:
    own_start, own_end = _section(lines, ("dependencies", key))
    if own_start >= 0:  # [dependencies.KEY] becomes a line
        lines = [*lines[:own_start], *lines[own_end:]]
    start, end = _section(lines, ("dependencies",))
    if start < 0:
        gap = [""] if lines and lines[-1].strip() else []
        return [*lines, *gap, "[dependencies]", line]
    for index in range(start + 1, end):
        if key_of_line(lines[index]) == key:
            return [*lines[:index], line, *lines[index + 1 :]]
    last = end
    while last > start + 1 and not lines[last - 1].strip():
        last -= 1
    return [*lines[:last], line, *lines[last:]]


def _section(lines: list[str], table: tuple[str, ...]) -> tuple[int, int]:
    """The line of a table's header and the line after its last; (-1, -1) when there is no such table."""
    start = -1
    for index, line in enumerate(lines):
        found = table_of_header(line)
        if found is None:
            continue
        if start >= 0:
            return start, index
        if found == table:
            start = index
    return (start, len(lines)) if start >= 0 else (-1, -1)
