"""Manifests in files, as kubectl reads them or Helm and Kustomize render them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kcl.records import dataclass, field, replace
from runtimes.base import InvalidResourceId, KubernetesId
from runtimes.base.documents import DocumentError, load_all_yaml, read_text
from workbench.engine.intake import taking
from workbench.engine.intake.configuring import without_bookkeeping
from workbench.engine.intake.values import Found, ImportRefused, Skipped

_TEMPLATES: Final = {
    "Chart.yaml": ("a chart of Helm", "helm template RELEASE {} | wb import helm - ..."),
    "kustomization.yaml": ("a folder of Kustomize", "kubectl kustomize {} | wb import kustomize - ..."),
    "kustomization.yml": ("a folder of Kustomize", "kubectl kustomize {} | wb import kustomize - ..."),
    "Kustomization": ("a folder of Kustomize", "kubectl kustomize {} | wb import kustomize - ..."),
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """One document of a file; `where` is `FILE, document N`."""

    where: str
    content: Any = field(repr=False)


def read(files: Sequence[Path], standard_input: str | None) -> list[Manifest]:
    """Reads files, and folders of YAML and JSON files in the order of their names. Raises `ImportRefused`.

    `standard_input` is what stands for `-`.
    """
    found: list[Manifest] = []
    for each in files:
        if str(each.name) == "-" and standard_input is not None:
            found += _documents(standard_input, "standard input")
            continue
        _refuse_templates(each)
        for file in _below(each):
            try:
                found += _documents(read_text(file, takes_pipes=True), str(file))
            except DocumentError as error:
                raise ImportRefused(error.problem, where=error.place(str(file))) from error
            except UnicodeDecodeError as error:
                raise ImportRefused("is no text in UTF-8", where=str(file)) from error
            except OSError as error:
                raise ImportRefused(f"cannot be read: {error.strerror}", where=str(file)) from error
    return found


def taken(manifests: Iterable[Manifest], namespace: str) -> tuple[list[Found], list[Skipped]]:
    """Returns the objects, and what is left out. An object that is said twice is refused, naming both places."""
    found: list[Found] = []
    skipped: list[Skipped] = []
    places: dict[KubernetesId, str] = {}
    for each in manifests:
        for where, content in _objects(each.where, each.content):
            if why := taking.hook(content):
                skipped.append(Skipped(_name(content, where), why))
                continue
            one = _found(content, where, namespace)
            if one.id in places:
                raise ImportRefused(
                    f"{one.id} is said twice", where=f"{places[one.id]} and {where}", hint="leave one of them out"
                )
            places[one.id] = where
            found.append(one)
    return found, skipped


def unplaced(found: Found, namespace: str) -> Found:
    """Returns an object without its namespace where that is the one of its stack."""
    metadata = found.body["metadata"]
    if not namespace or metadata.get("namespace") != namespace:
        return found
    body = {**found.body, "metadata": {key: each for key, each in metadata.items() if key != "namespace"}}
    return replace(found, id=KubernetesId.of(body), body=body)


def _found(content: Mapping[str, Any], where: str, namespace: str) -> Found:
    try:
        KubernetesId.of(content)
    except InvalidResourceId as error:
        raise ImportRefused(str(error), where=where, hint="a manifest is what kubectl apply takes") from error
    body = without_bookkeeping({key: each for key, each in content.items() if key != "status"})
    return unplaced(Found(KubernetesId.of(body), body), namespace)


def _objects(where: str, content: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if content is None or content == {}:
        return
    if not isinstance(content, Mapping):
        raise ImportRefused(f"is {type(content).__name__}, not an object of Kubernetes", where=where)
    if str(content.get("kind")).endswith("List") and isinstance(content.get("items"), list):
        for number, each in enumerate(content["items"], 1):
            yield from _objects(f"{where}, item {number}", each)
        return
    yield where, content


def _documents(text: str, name: str) -> Iterator[Manifest]:
    try:
        documents = load_all_yaml(text, as_kubernetes=True)
    except DocumentError as error:
        hint = "it looks like a template: render it first" if "{{" in text else "correct the file"
        raise ImportRefused(f"is not valid YAML: {error.problem}", where=error.place(name), hint=hint) from error
    for number, each in enumerate(documents, 1):
        yield Manifest(f"{name}, document {number}", each)


def _refuse_templates(path: Path) -> None:
    folder = path if path.is_dir() else path.parent
    names = _TEMPLATES if path.is_dir() else {path.name: _TEMPLATES[path.name]} if path.name in _TEMPLATES else {}
    for name, (what, command) in names.items():
        if (folder / name).is_file():
            raise ImportRefused(
                f"is {what}, which is not rendered here", where=str(path), hint=f"render it: {command.format(folder)}"
            )


def _below(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.suffix in (".yaml", ".yml", ".json") and each.is_file())
    if not found:
        raise ImportRefused("has no YAML or JSON file", where=str(path))
    for each in found:
        _refuse_templates(each)
    return found


def _name(content: Mapping[str, Any], where: str) -> str:
    try:
        id_ = KubernetesId.of(content)
    except InvalidResourceId:
        return where
    return f"{id_.kind}/{id_.name}"
