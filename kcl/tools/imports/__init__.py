"""`kcl import`: KCL out of custom resource definitions, OpenAPI, JSON Schema, YAML, JSON, TOML, Terraform, protobuf.

documents    reading what is imported
failure      what cannot be imported, and why
shapes       one model of what a schema says, whatever it was written in
names        names of schemas, files and packages
literals     plain values as KCL writes them
texts        texts as KCL writes them
types        shapes to types and schemas
places       expressions that conditions are about
conditions   what the writers of conditions share
scalars      conditions on texts and numbers
lists        conditions on lists
objects      conditions on objects
combinations conditions out of alternatives
cel          rules in CEL as conditions
values       conditions on a value, whatever its shape
checks       what types cannot say, as the checks of schemas
writer       schemas to the text of a file
crds         custom resource definitions
openapi      OpenAPI documents, those of Kubernetes first
json_schema  JSON Schema documents
data         plain values
terraform    schemas of providers
protobuf     messages of Protocol Buffers
output       all files or none
command      the command line
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO


def main(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Runs the command; exit status 0, 1 when something cannot be imported or written, 2 for a wrong command line."""
    from kcl.tools.imports.command import run_command

    return run_command(argv, cwd=str(cwd), stdin=stdin, stdout=stdout, stderr=stderr)
