"""The command line of `kcl vet`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from kcl.bounds import MOST_BYTES
from kcl.command_line import HelpPrinted, UsageError, parser_class
from kcl.diagnostics import Code, Span, error, render
from kcl.patterns import pattern
from kcl.regular import read_regular
from kcl.secrecy.rules import BUILT_IN, MASK
from kcl.terminal import harmless_lines
from kcl.tools.vet.data import BadData, documents
from kcl.tools.vet.validation import SchemaFile, Validator, schemas

OK, FAILED, USAGE = 0, 1, 2
_NAME: Final = pattern(r"[A-Za-z_$]\w*(?:\.[A-Za-z_$]\w*)*")


class _Unreadable(Exception):
    """A file that cannot be read; the text says which, and why."""


def _parser(stdout: TextIO) -> argparse.ArgumentParser:
    parser = parser_class(stdout)(
        prog="kcl vet",
        description="Hold documents of YAML or JSON against a schema.",
        epilog="exit status: 0 all documents are valid, 1 something was found, 2 the command line is wrong",
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="files of data, and last the KCL file with the schema")
    add("-s", "--schema", metavar="NAME", help="the schema; by default the first one in its file")
    add(
        "-n",
        "--attribute-name",
        "--attribute_name",
        default="value",
        metavar="NAME",
        help="the variable that the data becomes, for statements that name it; by default value",
    )
    add("--format", choices=("json", "yaml"), help="of the data; by default json for *.json, else yaml")
    return parser


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Validates documents and answers the exit status."""
    try:
        arguments = _parser(stdout).parse_args(list(argv))
        *data, code = arguments.files
        if not data or not code.endswith(".k"):
            raise UsageError(
                "kcl vet: name files of data, and last the KCL file with the schema: kcl vet DATA... SCHEMA.k"
            )
        for name in (arguments.schema, arguments.attribute_name):
            if name is not None and not _NAME.fullmatch(name):
                raise UsageError(f"kcl vet: {name!r} is no name")
        return _vet(
            arguments, data, _schema_file(arguments, code, os.path.abspath(cwd)), cwd, environment or {}, stdout, stderr
        )
    except HelpPrinted:
        return OK
    except UsageError as problem:
        stderr.write(harmless_lines(f"{problem}\n"))
        return USAGE
    except _Unreadable as problem:
        stderr.write(harmless_lines(f"kcl vet: {problem}\n"))
        return FAILED


def _schema_file(arguments: argparse.Namespace, code: str, cwd: str) -> SchemaFile:
    path = os.path.normpath(os.path.join(cwd, code))
    text = _read(path, code)
    names = schemas(text, path)
    if arguments.schema is None and not names:
        raise _Unreadable(f"{code} has no schema: name another file, or one that it imports with -s")
    return SchemaFile(path, text, arguments.schema or names[0], arguments.attribute_name)


def _vet(
    arguments: argparse.Namespace,
    data: Sequence[str],
    schema: SchemaFile,
    cwd: str | Path,
    environment: Mapping[str, str],
    stdout: TextIO,
    stderr: TextIO,
) -> int:
    validator = Validator(schema, environment)
    count = found = hollow = 0
    for name in data:
        form = arguments.format or ("json" if name.endswith(".json") else "yaml")
        try:
            text = _read(os.path.join(cwd, name), name)
        except _Unreadable as problem:
            stderr.write(harmless_lines(f"kcl vet: {problem}\n"))
            found += 1
            continue
        try:
            there = documents(text, form)
            if not there:
                raise BadData("there is no document in it")
        except BadData as problem:
            span = None if problem.offset is None else Span(name, problem.offset, problem.offset + 1)
            said = str(problem) if span is not None else f"{name}: {problem}"
            stderr.write(_shown(render([error(Code.INVALID_SYNTAX, said, span)], {name: text})) + "\n")
            found += 1
            continue
        for document in there:
            findings = validator.validate(document, name, text)
            count += 1
            hollow += document.value == []
            found += len(findings.diagnostics)
            if findings.diagnostics:
                stderr.write(_shown(render(findings.diagnostics, findings.sources, guided=True)) + "\n")
    if found:
        stderr.write(f"{found} {'finding' if found == 1 else 'findings'} in {count} {_documents(count)}\n")
        return FAILED
    stdout.write(f"Validate success! {count} {_documents(count)}{_nothing(hollow, count)}\n")
    return OK


def _nothing(hollow: int, count: int) -> str:
    """Says of how many documents nothing was validated, as they are lists without objects."""
    if not hollow:
        return ""
    if count == 1:
        return ", it is an empty list: nothing in it was validated"
    lists = "is an empty list" if hollow == 1 else "are empty lists"
    return f", {hollow} of them {lists}: nothing in {'it' if hollow == 1 else 'them'} was validated"


def _documents(count: int) -> str:
    return "document" if count == 1 else "documents"


def _shown(text: str) -> str:
    return harmless_lines(BUILT_IN.masked(text, MASK))


def _read(path: str, name: str) -> str:
    try:
        content = read_regular(path, MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise _Unreadable(f"{name} is larger than the limit of {MOST_BYTES} bytes")
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as problem:
        raise _Unreadable(f"cannot read {name}: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise _Unreadable(f"cannot read {name}: it is not UTF-8 at byte {problem.start}") from None
