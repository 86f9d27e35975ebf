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

DATA = Path(__file__).parent / "data"

# Where the Go packages of a definition's name live: (folder under GO_MODULES, glob), definition prefix.
PACKAGES = (
    ("api@*", "*/v*", "io.k8s.api"),
    ("apimachinery@*", "pkg/apis/meta/v1", "io.k8s.apimachinery"),
    ("apiextensions-apiserver@*", "pkg/apis/apiextensions/v1", "io.k8s.apiextensions-apiserver"),
    ("kube-aggregator@*", "pkg/apis/apiregistration/v1", "io.k8s.kube-aggregator"),
)
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
NAMED = re.compile(r"^type (\w+) (?!struct\b|interface\b|=)([\w.\[\]*{} ]+?)\s*(?://.*)?$", re.M)
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


def go_types(modules: Path) -> dict[str, Any]:
    """Definition name to its fields: JSON name to [Go type, flags].

    Flags: `o` omitempty (a zero value is left out, but for structs), `z` omitzero (structs too), `p` held by pointer.
    Types are spelled as Go prints them (`[]v1.Container`). Inlined structs are flattened into their holder.
    """
    structs: dict[str, list[tuple[str, str, str]]] = {}
    named: dict[str, str] = {}
    for prefix, package, source in go_packages(modules):
        for match in NAMED.finditer(source):
            named.setdefault(f"{package}.{match[1]}", match[2].strip())
            named[f"{prefix}.{match[1]}"] = match[2].strip()
        for match in STRUCT.finditer(source):
            body = re.sub(r"^\s*//.*$", "", match[2], flags=re.M)
            structs[f"{prefix}.{match[1]}"] = [(m[1] or "", m[2].strip(), m[3]) for m in MEMBER.finditer(body)]

    def spelled(go: str, package: str) -> str:
        def qualify(found: re.Match[str]) -> str:
            word = found[0]
            if word in SCALARS or word in ("map", "interface"):
                return word
            return f"{package}.{word}"

        return re.sub(r"(?<![\w.])\w+(?![\w.])|(?<=\])\w+(?!\.)", qualify, go.replace("metav1.", "v1."))

    def fields(name: str) -> dict[str, list[str]]:
        prefix, _, _ = name.rpartition(".")
        package = prefix.rpartition(".")[2]
        out: dict[str, list[str]] = {}
        for field, go, tag in structs.get(name, []):
            json_name, *options = tag.split(",")
            if "inline" in options or (not json_name and not field):
                inner = go.lstrip("*")
                target = (
                    f"{prefix}.{inner}"
                    if "." not in inner
                    else f"io.k8s.apimachinery.pkg.apis.meta.v1.{inner.split('.')[1]}"
                )
                if inner.startswith("v1.") and not target.startswith("io.k8s.api.core"):
                    core = f"io.k8s.api.core.v1.{inner.split('.')[1]}"
                    target = core if core in structs else target
                if inner.endswith("TypeMeta"):
                    out |= {"kind": ["string", "o"], "apiVersion": ["string", "o"]}
                else:
                    out |= fields(target)
                continue
            if not json_name or json_name == "-":
                continue
            flags = ("o" if "omitempty" in options else "") + ("z" if "omitzero" in options else "")
            flags += "p" if go.startswith("*") else ""
            out[json_name] = [spelled(go.lstrip("*"), package), flags]
        return out

    result: dict[str, Any] = {name: fields(name) for name in structs}
    result["named"] = {name: underlying for name, underlying in named.items() if name.startswith("io.k8s")}
    return result


def resources(documents: dict[str, Any]) -> list[dict[str, Any]]:
    """What can be addressed: `{group, version, resource, kind, namespaced, verbs, subresources}`."""
    verbs = {"post": "create", "put": "update", "patch": "patch"}
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for document in documents.values():
        for path, item in document["paths"].items():
            parts = [part for part in path.split("/") if part]
            core = parts[0] == "api"
            group, version, rest = ("", parts[1], parts[2:]) if core else (parts[1], parts[2], parts[3:])
            watched = rest[:1] == ["watch"]
            rest = rest[1:] if watched else rest
            namespaced = rest[:2] == ["namespaces", "{namespace}"] and len(rest) > 2
            rest = rest[2:] if namespaced else rest
            rest = [part for part in rest if not part.startswith("{path")]
            if not rest:
                continue
            entry = found.setdefault(
                (group, version, rest[0]),
                {
                    "group": group,
                    "version": version,
                    "resource": rest[0],
                    "kind": "",
                    "namespaced": False,
                    "verbs": [],
                    "subresources": {},
                },
            )
            entry["namespaced"] |= namespaced
            if watched:
                entry["verbs"].append("watch")
                continue
            into = entry
            if len(rest) > 2:
                into = entry["subresources"].setdefault(rest[2], {"verbs": [], "kind": "", "group": "", "version": ""})
            for method, operation in item.items():
                if not isinstance(operation, dict) or "x-kubernetes-action" not in operation:
                    continue
                action = operation["x-kubernetes-action"]
                gvk = operation.get("x-kubernetes-group-version-kind") or {}
                if method not in ("head", "options"):
                    into["verbs"].append(verbs.get(method, method if action == "connect" else action))
                if gvk and action != "deletecollection":
                    into["kind"] = gvk["kind"]
                    if into is not entry:
                        into["group"], into["version"] = gvk["group"], gvk["version"]
    for entry in found.values():
        for part in (entry, *entry["subresources"].values()):
            part["verbs"] = sorted(set(part["verbs"]))
    return [found[key] for key in sorted(found)]


def main(openapi: Path, modules: Path) -> None:
    documents = {path.stem: json.loads(path.read_text()) for path in sorted(openapi.glob("*.json"))}
    schemas: dict[str, Any] = {}
    for document in documents.values():
        schemas |= document["components"]["schemas"]
    types = go_types(modules)
    go = {name: types[name] for name in sorted(schemas) if name in types}
    definitions = {
        "schemas": {name: without_descriptions(schemas[name]) for name in sorted(schemas)},
        "go": go,
        "named": types["named"],
        "resources": resources(documents),
    }
    write(DATA / "definitions.json.gz", definitions)
    for name, document in documents.items():
        write(DATA / "openapi" / f"{name}.json.gz", document)


def write(path: Path, value: Any) -> None:
    """Gzip without a time or name in it, so that the same input gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    path.write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
