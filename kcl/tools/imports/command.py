"""The command line of `kcl import`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TextIO

from kcl.command_line import HelpPrinted, UsageError, parser_class
from kcl.terminal import harmless, harmless_lines
from kcl.tools.imports import crds, data, json_schema, openapi, protobuf, terraform
from kcl.tools.imports.documents import Document, read_all
from kcl.tools.imports.failure import ImportFailure
from kcl.tools.imports.names import package_part
from kcl.tools.imports.output import write_all
from kcl.tools.imports.results import Generated

OK, FAILED, USAGE = 0, 1, 2
_MOST_SHOWN: Final = 20
_MODES: Final[Mapping[str, Callable[[Sequence[Document]], list[Generated]]]] = {
    "crd": crds.generate,
    "jsonschema": json_schema.generate,
    "openapi": openapi.generate,
    "protobuf": protobuf.generate,
    "terraform": terraform.generate,
    "yaml": data.generate,
    "json": data.generate,
    "toml": data.generate,
}
_DATA: Final = frozenset(name for name, each in _MODES.items() if each is data.generate)


def _parser(stdout: TextIO) -> argparse.ArgumentParser:
    parser = parser_class(stdout)(prog="kcl import", description="Make KCL out of schemas and data in other formats.")
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="files, or folders of them; - reads standard input")
    add("-m", "--mode", choices=("auto", *sorted(_MODES)), default="auto", help="what the files hold (default: auto)")
    add("-o", "--output", default=".", metavar="FOLDER", help="where the package is made (default: here)")
    add("-p", "--package", default="models", metavar="NAME", help="the folder of the package (default: models)")
    add("-s", "--skip-existing", action="store_true", help="keep files that are there with other content")
    add("-f", "--force", action="store_true", help="replace files that are there with other content")
    add("-q", "--quiet", action="store_true", help="say nothing of what the result does not hold to")
    add("-v", "--verbose", action="store_true", help="list all that the result does not hold to")
    return parser


def run_command(argv: Sequence[str], *, cwd: str, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Imports, writes and reports; answers the exit status."""
    try:
        arguments = _parser(stdout).parse_args(list(argv))
    except UsageError as problem:
        stderr.write(f"{harmless_lines(str(problem))}\n")
        return USAGE
    except HelpPrinted:
        return OK
    try:
        documents = read_all(arguments.files, cwd, stdin, are_descriptors=arguments.mode == "protobuf")
        mode = arguments.mode if arguments.mode != "auto" else mode_of(documents)
        if mode not in _DATA:
            documents = [each.merged for each in documents]
        generated = _MODES[mode](documents)
        package = package_part(arguments.package)
        files = {(package, *each.path): each.text for each in generated}
        root = os.path.join(cwd, arguments.output)
        if any(each.needs_root for each in generated) and not os.path.exists(os.path.join(root, package, "kcl.mod")):
            files[package, "kcl.mod"] = f'[package]\nname = "{package}"\nversion = "0.1.0"\n'
        written = write_all(root, arguments.output, files, arguments.force, arguments.skip_existing)
    except ImportFailure as problem:
        stderr.write(f"kcl import: {harmless_lines(str(problem))}\n")
        return FAILED
    except RecursionError:
        named = ", ".join(dict.fromkeys(harmless(each) for each in arguments.files))
        stderr.write(f"kcl import: {named[:400]}: its schemas are nested too deeply, or in one another\n")
        return FAILED
    stdout.writelines(f"{path}\n" for path in written)
    unchanged = len(files) - len(written)
    stderr.write(f"{len(written)} files written, {unchanged} left as they are\n")
    if not arguments.quiet:
        _report(generated, stderr, arguments.verbose)
    if any(each.needs_k8s for each in generated):
        stderr.write("the files import the package k8s: `kcl mod add k8s` where kcl.mod does not have it\n")
    return OK


def mode_of(documents: Sequence[Document]) -> str:
    """Which mode documents are for. Raises ImportFailure where it cannot be told."""
    if any(crds.is_definition(each.value) for each in documents):
        return "crd"
    for is_one, mode in (
        (protobuf.is_descriptor_set, "protobuf"),
        (openapi.is_openapi, "openapi"),
        (terraform.is_provider_schema, "terraform"),
        (json_schema.is_json_schema, "jsonschema"),
    ):
        if all(is_one(each.value) for each in documents):
            return mode
    if all(isinstance(each.value, dict | list) for each in documents):
        return "yaml"
    raise ImportFailure(f"{documents[0].name}: what it holds cannot be told: name it with --mode")


def _report(generated: Sequence[Generated], stderr: TextIO, is_complete: bool) -> None:
    notes = list(dict.fromkeys(note for each in generated for note in each.notes))
    if not notes:
        return
    stderr.write(f"not held to, in {len(notes)} places (each is also in the docstrings):\n")
    shown = notes if is_complete else notes[:_MOST_SHOWN]
    stderr.writelines(f"  {harmless(each)[:400]}\n" for each in shown)
    if len(shown) < len(notes):
        stderr.write(f"  and {len(notes) - len(shown)} more: --verbose lists them\n")
