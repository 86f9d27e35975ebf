"""Lines of kcl.mod: changed one by one, with everything else, comments included, as it was."""

from __future__ import annotations

from collections.abc import Mapping

from kcl.loader.requirement import GitSource, LocalSource, OciSource, Requirement
from kcl.loader.toml_text import key_of_line, quoted, table_of_header


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
    """`text` of a kcl.mod with that line under `[dependencies]`, in the place of an older one of the same name."""
    line = f"{quoted(key, as_key=True)} = {value}"
    lines = text.splitlines()
    start, end = _section(lines, "dependencies")
    if start < 0:
        gap = [""] if lines and lines[-1].strip() else []
        return "\n".join([*lines, *gap, "[dependencies]", line]) + "\n"
    for index in range(start + 1, end):
        if key_of_line(lines[index]) == key:
            lines[index] = line
            return "\n".join(lines) + "\n"
    last = end
    while last > start + 1 and not lines[last - 1].strip():
        last -= 1
    return "\n".join([*lines[:last], line, *lines[last:]]) + "\n"


def _section(lines: list[str], table: str) -> tuple[int, int]:
    """The line of a table's header and the line after its last; (-1, -1) when there is no such table."""
    start = -1
    for index, line in enumerate(lines):
        found = table_of_header(line)
        if found is None:
            continue
        if start >= 0:
            return start, index
        if found == (table,):
            start = index
    return (start, len(lines)) if start >= 0 else (-1, -1)
