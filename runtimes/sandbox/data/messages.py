"""Write `messages.json.xz`: the fields of the API's protobuf messages, from its public `generated.proto` files.

usage: python -m runtimes.sandbox.data.messages GO_MODULES

GO_MODULES is the folder of unpacked Go modules (`.../pkg/mod/k8s.io`) of the simulated release. The result maps each
message to its fields by number: `[name, type, "repeated" | "map" | "inline" | ""]`, types being scalars or names of
messages. The members of an inline message are in JSON those of its holder, as the tags in `types.go` say.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from runtimes.sandbox.data.capture import write

_MODULES = (("api", "v[0-9]"), ("apimachinery", "*"))
_PACKAGE = re.compile(r"^package ([\w.]+);", re.M)
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.M | re.S)
_FIELD = re.compile(r"^\s+(?:(optional|repeated|required) )?(map<string, ([\w.]+)>|[\w.]+) (\w+) = (\d+)", re.M)
_INLINE = re.compile(r'(\w+)\s+`json:",inline" protobuf:"([^"]*)"')
SCALARS = frozenset(["string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float"])

Fields = dict[str, list[str]]


def protos(modules: Path, release: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Each file's text, with the names of fields that its package inlines."""
    for module, versions in _MODULES:
        folder = modules / f"{module}@{release}"
        for path in sorted(folder.rglob("generated.proto")):
            if path.parent.match(versions):
                source = "".join(each.read_text() for each in sorted(path.parent.glob("types*.go")))
                yield path.read_text(), frozenset(_inlined(source))


def _inlined(source: str) -> Iterator[str]:
    for type_, tag in _INLINE.findall(source):
        named = re.search(r"name=(\w+)", tag)
        yield named[1] if named else type_[0].lower() + type_[1:]


def messages(text: str, inline: frozenset[str]) -> dict[str, Fields]:
    package = _PACKAGE.search(text)
    assert package is not None, "a generated file names its package"
    found = {}
    for name, body in _MESSAGE.findall(re.sub(r"^\s*//.*$", "", text, flags=re.M)):
        fields: Fields = {}
        for label, type_, value, field, number in _FIELD.findall(body):
            kind = "map" if value else "repeated" if label == "repeated" else ""
            if field in inline and type_ not in SCALARS:
                kind = "inline"
            fields[number] = [field, _full(value or type_, package[1]), kind]
        found[f"{package[1]}.{name}"] = fields
    return found


def _full(type_: str, package: str) -> str:
    if type_ in SCALARS:
        return type_
    return type_.lstrip(".") if "." in type_ else f"{package}.{type_}"


def main(modules: Path) -> None:
    releases = sorted(path.name.partition("@")[2] for path in modules.glob("api@v*"))
    found: dict[str, Fields] = {}
    for text, inline in protos(modules, releases[-1]):
        found |= messages(text, inline)
    write("messages", found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
