"""`kcl query`: variables, schemas and arguments of files, without running them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from kcl.api import KclError, yaml_text
from kcl.command_line import HelpPrinted, UsageError, parser_class
from kcl.loader import path_steps
from kcl.secrecy.rules import BUILT_IN, MASK
from kcl.terminal import harmless, harmless_lines
from kcl.tools.query.arguments import arguments
from kcl.tools.query.reading import Unreadable, sources
from kcl.tools.query.schemas import schemas
from kcl.tools.query.variables import at_path, variables

_OK, _FAILED, _USAGE = 0, 1, 2
_LONGEST: Final = 80


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Prints what is asked for; exit status 1 where a file cannot be read or something is not there."""

    parser = parser_class(stdout)(
        prog="kcl query", description="Read variables, schemas and arguments of files, without a run."
    )
    parser.add_argument("what", choices=("vars", "schemas", "options"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="a path such as a.b.c, or the name of a schema")
    parser.add_argument(
        "-f", "--file", action="append", default=[], metavar="FILE", help="a file or folder, by default ."
    )
    parser.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text")
    try:
        given = parser.parse_args(list(argv))
        document, missing = _found(given.what, given.names, given.file, str(cwd))
    except UsageError as problem:
        stderr.write(f"{problem}\n")
        return _USAGE
    except HelpPrinted:
        return _OK
    except Unreadable as problem:
        stderr.write(f"kcl query: {harmless(str(problem))}\n")
        return _FAILED
    except KclError as problem:
        stderr.write(f"kcl query: {harmless(problem.diagnostics[0].message)}\n")
        return _USAGE
    shown = _without_secrets(document)
    if given.output == "json":
        stdout.write(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
    elif given.output == "yaml":
        stdout.write(yaml_text(shown) + "\n")
    else:
        stdout.write("".join(f"{harmless_lines(each)}\n" for each in _lines(given.what, shown)))
    for each in missing:
        stderr.write(f"kcl query: there is no {harmless(each)}\n")
    return _FAILED if missing else _OK


def _found(what: str, names: Sequence[str], files: Sequence[str], cwd: str) -> tuple[Any, list[str]]:
    """The document, and what of `names` is not there."""
    texts = sources(files, cwd)
    if what == "options":
        listed = arguments(texts)
        missing = [f"option '{each}'" for each in names if all(one.name != each for one in listed)]
        return [each.document() for each in listed if not names or each.name in names], missing
    if what == "schemas":
        declared = schemas(texts)
        missing = [f"schema '{each}'" for each in names if each not in declared]
        return [each.document() for name, each in declared.items() if not names or name in names], missing
    found = variables(texts)
    wanted = {name: [each.document() for each in found[name]] for name in found}
    if names:
        wanted = {name: [each.document() for each in at_path(found, path_steps(name, name))] for name in names}
    missing = [f"variable '{name}'" for name, written in wanted.items() if not written]
    return {name: written for name, written in wanted.items() if written}, missing


def _without_secrets(document: Any) -> Any:
    """Masks what stands below names that tell secrets, wherever its text occurs, and texts that look like one."""
    return _masked(document, sorted(set(_secrets(document, "", False)), key=len, reverse=True))


def _secrets(value: Any, name: str, is_within: bool) -> Iterator[str]:
    """The expressions that are given to secret names; `is_within` a block of secrets all texts are."""
    if isinstance(value, list):
        for each in value:
            yield from _secrets(each, name, is_within)
    elif isinstance(value, dict):
        own = str(value.get("key") or value.get("name") or name)
        has_more = bool(value.get("entries") or value.get("items"))
        for key, each in value.items():
            if isinstance(each, str):
                is_secret = is_within or BUILT_IN.names_secret(own)
                if key in ("value", "default") and is_secret and not has_more and any(one in each for one in "\"'"):
                    yield each
            else:
                inner = own if "line" in value else key
                yield from _secrets(
                    each, inner, is_within or BUILT_IN.names_secret(inner) or BUILT_IN.names_block(inner)
                )


def _masked(value: Any, secrets: Sequence[str]) -> Any:
    match value:
        case dict():
            return {key: _masked(each, secrets) for key, each in value.items()}
        case list():
            return [_masked(each, secrets) for each in value]
        case str():
            for each in secrets:
                value = value.replace(each, MASK)
            return BUILT_IN.masked(value, MASK)
        case _:
            return value


def _lines(what: str, document: Any) -> Iterator[str]:
    if what == "vars":
        for name, written in document.items():
            for each in written:
                yield f"{name} {each['operator'] or '='} {_short(each['value'])}  ({each['file']}:{each['line']})"
        return
    if what == "options":
        for each in document:
            about = [each["type"], "required" if each["required"] else "", each["help"]]
            default = f" = {each['default']}" if each["default"] else ""
            said = ", ".join(part for part in about if part)
            yield f"{each['name']}{default}{'  ' + said if said else ''}  ({each['file']}:{each['line']})"
        return
    for each in document:
        base = f"({each['base']})" if "base" in each else ""
        yield f"schema {each['name']}{base}  ({each['file']}:{each['line']})"
        if "doc" in each:
            yield f"    {each['doc'].splitlines()[0]}"
        for one in each["attributes"]:
            default = "" if one["default"] is None else f" = {_short(one['default'])}"
            doc = f"  {one['doc']}" if "doc" in one else ""
            yield f"    {one['name']}{'?' if one['optional'] else ''}: {one['type']}{default}{doc}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
