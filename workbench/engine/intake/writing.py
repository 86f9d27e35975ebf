"""The files of a stack that says what was taken in. Pure but for looking which of them are there.

A new project gets the objects in `base/`, so that its next stack shares them, and a stack of its own that says where
they go. In a project that is there the objects are the stack's alone: what its base says is for its other stacks.

`name: Object {...}` may be said again in a file of the stack, which is then put over it, as with any schema of Konfig.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from kcl.tools.fmt.formatting import formatted
from kcl.tools.imports import literals
from runtimes.base.documents import DocumentError, load_yaml
from workbench.engine.intake.concealing import as_expressions
from workbench.engine.intake.values import Destination, Found, ImportRefused

_SCHEMA: Final = '''
schema Object:
    """An object of Kubernetes, with whatever its API server reads."""
    apiVersion: str
    kind: str
    metadata: {str:}
    [...str]: any
'''
_RENDER: Final = '''"""The last file of the stack: prints what the files before it say."""
import manifests

_id = lambda o: Object -> str {
    _namespace = o.metadata.namespace or ""
    "${o.apiVersion}/${o.kind}/${_namespace}/${o.metadata.name}"
}

# one that is said in two files is one object
_objects = {"${_id(o)}" = o for o in Object.instances()}

manifests.yaml_stream([o for _, o in _objects], {ignore_private = False})
'''
_OWN: Final = '''"""What {stack} has of its own. An object of ../base is changed here by saying what differs:

    {name}: Object {{
        metadata.labels.tier = "front"
    }}
"""
'''
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")


def variables(found: Iterable[Found]) -> dict[str, Found]:
    """Returns the objects by names that KCL takes, each its own."""
    named: dict[str, Found] = {}
    for each in found:
        name = re.sub(r"[^A-Za-z0-9]+", "_", f"{each.id.kind}_{each.id.name}").strip("_").lower()
        name = name if name[:1].isalpha() else f"object_{name}"
        unique, number = name, 1
        while unique in named:
            number += 1
            unique = f"{name}_{number}"
        named[unique] = each
    return named


def files(
    destination: Destination, objects: Mapping[str, Found], about: str, stack: Mapping[str, Any]
) -> dict[Path, str]:
    """Returns the files of the stack; `stack` is what stack.yaml says beside its name.

    Raises `ImportRefused` where one of them is there.
    """
    is_new = not (destination.folder / "project.yaml").exists()
    directory, path = destination.directory, destination.path
    said = _objects_file(objects, about)
    made = {directory / "stack.yaml": as_yaml({"name": str(path.stack), **stack})}
    if is_new:
        base = destination.folder / "base"
        made[destination.folder / "project.yaml"] = as_yaml({"name": str(path.project)})
        made[base / "base.k"] = said
        made[base / "render.k"] = _RENDER
        made[directory / "main.k"] = _OWN.format(stack=path, name=next(iter(objects)))
        entries = ["../base/base.k", "main.k", "../base/render.k"]
    else:
        made[directory / "main.k"] = said
        made[directory / "render.k"] = _RENDER
        entries = ["main.k", "render.k"]
    has_hidden = any(_has_hidden(each.body) for each in objects.values())
    made[directory / "kcl.yaml"] = _settings(entries, has_hidden)
    refuse_existing(made)
    return {file: formatted(text, str(file)) if file.suffix == ".k" else text for file, text in sorted(made.items())}


def refuse_existing(made: Iterable[Path]) -> None:
    """Raises `ImportRefused` where a file that is to be made is there, or stands in the place of a folder."""
    for file in made:
        if file.exists() or file.is_symlink():
            raise ImportRefused("is there already, and nothing is overwritten", where=str(file), hint="name another")
        blocking = next((each for each in file.parents if each.exists() and not each.is_dir()), None)
        if blocking is not None:
            raise ImportRefused("is no folder", where=str(blocking), hint="name another with --folder")


def with_placement(text: str, stack: str, cluster: str) -> str | None:
    """Returns a clusters.yaml with one placement more at its end; None where that can't be said without a risk."""
    before = _loaded(text)
    if not isinstance(before, dict) or not isinstance(before.get("placements"), list):
        return None
    entry = {"stacks": [stack], "clusters": [cluster]}
    line = f"- {{stacks: [{_scalar(stack)}], clusters: [{_scalar(cluster)}]}}\n"
    ending = "" if text.endswith("\n") else "\n"
    for indent in ("  ", "", "    "):
        longer = f"{text}{ending}{indent}{line}"
        if _loaded(longer) == {**before, "placements": [*before["placements"], entry]}:
            return longer
    return None


def placement_lines(stack: str, cluster: str) -> str:
    return f"  - {{stacks: [{_scalar(stack)}], clusters: [{_scalar(cluster)}]}}"


def new_repository(root: Path, cluster: str, stack: str) -> dict[Path, str]:
    """Returns the two files at the root of a repository that is not there yet; the cluster is a context."""
    name = re.sub(r"[^a-z0-9]+", "_", root.name.lower()).strip("_") or "konfig"
    made = {root / "kcl.mod": f'[package]\nname = "{name}"\n'}
    if cluster:
        context = _scalar(cluster)
        clusters = f"clusters:\n  {context}: {{context: {context}}}\nplacements:\n"
        made[root / "clusters.yaml"] = f"{clusters}{placement_lines(stack, cluster)}\n"
    refuse_existing(made)
    return made


def _loaded(text: str) -> Any:
    try:
        return load_yaml(text)
    except DocumentError:
        return None


def _objects_file(objects: Mapping[str, Found], about: str) -> str:
    parts = [f'"""\n{literals.prose(about)}\n"""', _SCHEMA]
    for name, each in objects.items():
        lines = "\n".join(literals.lines_of(each.body))
        parts.append(f"{name}: Object {lines}\n")
    return as_expressions("\n".join(parts))


def _settings(entries: Iterable[str], has_hidden: bool) -> str:
    lines = ["kcl_cli_configs:", "  file:", *(f"    - {each}" for each in entries)]
    return "\n".join([*lines, *(["  show_hidden: true"] if has_hidden else [])]) + "\n"


def _has_hidden(value: Any) -> bool:
    """Whether it has a name that KCL prints only when it is told to."""
    if isinstance(value, Mapping):
        return any(str(name).startswith("_") or _has_hidden(each) for name, each in value.items())
    return isinstance(value, list) and any(map(_has_hidden, value))


def as_yaml(content: Mapping[str, Any]) -> str:
    """Block style for the first level, flow below: what people write into these files."""
    lines = []
    for key, value in content.items():
        if isinstance(value, Mapping):
            lines.append(f"{key}: {{" + ", ".join(f"{name}: {_scalar(each)}" for name, each in value.items()) + "}")
        elif isinstance(value, list):
            lines.append(f"{key}: [{', '.join(map(_scalar, value))}]")
        else:
            lines.append(f"{key}: {_scalar(value)}")
    return "\n".join(lines) + "\n"


def _scalar(text: Any) -> str:
    written = str(text)
    return written if _PLAIN.fullmatch(written) and _loaded(written) == written else json.dumps(written)
