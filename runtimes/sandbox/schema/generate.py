"""Build the shipped schema data from a real API server's OpenAPI v3 documents.

    python -m runtimes.sandbox.schema.generate OPENAPI_FOLDER GO_MODULES

OPENAPI_FOLDER holds one document a group version (`apis_apps_v1.json`). GO_MODULES is the folder of unpacked Go modules
(`.../pkg/mod/k8s.io`) of the same release: OpenAPI does not say whether an optional number is a pointer (a zero is
kept) or a value (a zero is left out), nor what Go calls a type in its messages; the public `types.go` files do.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEFINITIONS = Path(__file__).parent / "definitions.json.gz"

# Where the Go packages of a definition's name live: (folder under GO_MODULES, glob), definition prefix.
PACKAGES = (
    ("api@*", "*/v*", "io.k8s.api"),
    ("apimachinery@*", "pkg/apis/meta/v1", "io.k8s.apimachinery"),
    ("apiextensions-apiserver@*", "pkg/apis/apiextensions/v1", "io.k8s.apiextensions-apiserver"),
    ("kube-aggregator@*", "pkg/apis/apiregistration/v1", "io.k8s.kube-aggregator"),
)
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
MEMBER = re.compile(r"^\s*(?:(\w+)\s+)?([\w.*\[\]{} ]+?)\s+`[^`]*?json:\"([^\"]*)\"[^`]*`", re.M)
SCALARS = {"string", "bool", "int32", "int64", "int", "float64", "float32", "uint32", "byte", "uint16"}


def without_descriptions(node: Any, in_properties: bool = False) -> Any:
    """A copy without texts; a property that is itself named `description` stays."""
    if isinstance(node, list):
        return [without_descriptions(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: without_descriptions(value, key == "properties" and not in_properties)
        for key, value in node.items()
        if in_properties or key not in ("description", "externalDocs") or not isinstance(value, str | dict)
    }


def go_packages(modules: Path) -> Iterator[tuple[str, str, str]]:
    """(definition prefix, package name, all its source) of each API package."""
    for module, pattern, prefix in PACKAGES:
        newest = sorted(modules.glob(module))[-1]
        for folder in sorted(newest.glob(pattern)):
            source = "\n".join(
                path.read_text()
                for path in sorted(folder.glob("*.go"))
                if not path.name.startswith(("zz_", "generated"))
            )
            inner = str(folder.relative_to(newest)).replace("/", ".")
            yield f"{prefix}.{inner}", folder.name, source


Member = tuple[str, str, str]  # Go name ("" if embedded), Go type, JSON tag


def go_structs(modules: Path) -> dict[str, list[Member]]:
    """The members of each struct as written, by definition name."""
    structs: dict[str, list[Member]] = {}
    for prefix, _, source in go_packages(modules):
        for match in STRUCT.finditer(source):
            body = re.sub(r"^\s*//.*$", "", match[2], flags=re.M)
            structs[f"{prefix}.{match[1]}"] = [(m[1] or "", m[2].strip(), m[3]) for m in MEMBER.finditer(body)]
    return structs


def spelled(go: str, package: str) -> str:
    """A type with the package in front of its names, as Go prints it: the package's own name, no alias."""

    def qualify(found: re.Match[str]) -> str:
        word = found[0]
        return word if word in SCALARS or word in ("map", "interface") else f"{package}.{word}"

    return re.sub(r"(?<![\w.])\w+(?![\w.])|(?<=\])\w+\b(?!\.)", qualify, re.sub(r"\b(?:core|api|meta)v1\.", "v1.", go))


def inlined(go: str, prefix: str, structs: dict[str, list[Member]]) -> str:
    """The definition that an embedded member stands for. `v1.` is the core group where that has such a struct."""
    package, _, short = go.lstrip("*").rpartition(".")
    if not package:
        return f"{prefix}.{short}"
    core = f"io.k8s.api.core.v1.{short}"
    return core if package == "v1" and core in structs else f"io.k8s.apimachinery.pkg.apis.meta.v1.{short}"


def go_fields(name: str, structs: dict[str, list[Member]]) -> dict[str, list[str]]:
    """JSON name to [Go type, flags], embedded structs flattened.

    Flags: `o` omitempty (a zero value is left out, but for structs), `z` omitzero (structs too), `p` held by pointer.
    """
    prefix = name.rpartition(".")[0]
    package = prefix.rpartition(".")[2]
    out: dict[str, list[str]] = {}
    for go_name, go, tag in structs.get(name, []):
        json_name, *options = tag.split(",")
        if "inline" in options or (not json_name and not go_name):
            if go.endswith("TypeMeta"):
                out |= {"kind": ["string", "o"], "apiVersion": ["string", "o"]}
            else:
                out |= go_fields(inlined(go, prefix, structs), structs)
        elif json_name and json_name != "-":
            marks = {"o": "omitempty" in options, "z": "omitzero" in options, "p": go.startswith("*")}
            flags = "".join(mark for mark, is_set in marks.items() if is_set)
            out[json_name] = [spelled(go.lstrip("*"), package), flags]
    return out


def documents(folder: Path) -> dict[str, Any]:
    """The OpenAPI documents in a folder, by file name without suffix."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def main(openapi: Path, modules: Path) -> None:
    schemas: dict[str, Any] = {}
    for document in documents(openapi).values():
        schemas |= document["components"]["schemas"]
    structs = go_structs(modules)
    definitions = {
        "schemas": {name: without_descriptions(schemas[name]) for name in sorted(schemas)},
        "go": {name: go_fields(name, structs) for name in sorted(schemas) if name in structs},
    }
    write(DEFINITIONS, definitions)


def write(path: Path, value: Any) -> None:
    """Gzip without a time or name in it, so that the same input gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    path.write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
