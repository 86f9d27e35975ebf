"""Runs programs of the published packages through our compiler and the official one, and names every difference.

A package has no expected output, so programs are made of it, by rules that fit any package: its folders are run as they
are, with options as those who mutate and validate resources take them, and every folder is imported by a program that
makes instances of its schemas.

`python -m tests.conformance.kcl_modules FOLDER [--only TEXT]` prints the differences and the figures.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kcl.api import ParseCache, ProgramError, argument_value, run
from kcl.loader import YamlError, find_root, read_manifest
from kcl.source import OsFileSystem
from tests.conformance.kcl_suite import same
from tests.differential.comparing import documents
from tests.properties.official import Gone, Official, official

_SCHEMA = re.compile(r"^schema (\w+)(\[[^\]]*\])?(?:\(([\w.]+)\))?:", re.MULTILINE)
_OFFICIAL = re.compile(r"(?:error\[\w+\]: )?(\w+)\s*\n\s*--> ([^\n]*?):(\d+)(?::\d+)?\s*\n")
REQUIRED = "is required and can't be None or Undefined"
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_INSTANCES = 12
"""Schemas of one folder that are made instances of, at most: some folders have hundreds of one kind."""
_ITEMS: list[Any] = [
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default", "labels": {"app": "a"}, "annotations": {"team": "x"}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "docker.io/app:latest",
                    "ports": [{"containerPort": 80, "hostPort": 80}],
                    "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                    "securityContext": {"privileged": True, "capabilities": {"drop": ["ALL"]}},
                    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                }
            ],
            "volumes": [{"name": "v", "hostPath": {"path": "/"}}, {"name": "e", "emptyDir": {}}],
            "hostNetwork": True,
        },
    },
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "b", "namespace": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "b"}},
            "template": {
                "metadata": {"labels": {"app": "b"}},
                "spec": {"containers": [{"name": "c", "image": "ghcr.io/x/y:1.2", "livenessProbe": {"tcpSocket": {}}}]},
            },
        },
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "web"},
        "spec": {"type": "NodePort", "ports": [{"port": 80}], "externalIPs": ["1.2.3.4"]},
    },
    {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "i", "annotations": {"kubernetes.io/ingress.class": "nginx"}},
        "spec": {"rules": [{"host": "*.example.com", "http": {"paths": [{"path": "/"}]}}]},
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "r"},
        "roleRef": {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": [{"kind": "User", "name": "system:anonymous"}],
    },
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}},
]
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "items": {"items": _ITEMS},
    "one resource": {"items": _ITEMS[1:2], "resource_list": {"items": _ITEMS[1:2], "functionConfig": {"spec": {}}}},
    "parameters": {"items": _ITEMS[:2], "params": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "replicas": 3}},
}


@dataclass(frozen=True, slots=True)
class Program:
    """`files` are absolute; `main` is the text of a file that is written beside the package for this program."""

    name: str
    folder: Path
    files: tuple[Path, ...] = ()
    main: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Documents, or the classes, files and lines of all errors."""

    documents: list[Any] | None
    errors: tuple[tuple[str, str, int], ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    program: Program
    kind: str
    ours: Outcome
    theirs: Outcome


def programs(folder: Path) -> Iterator[Program]:
    """All programs made of the packages below a folder, in an order that is always the same."""
    for manifest in sorted(folder.rglob("kcl.mod")):
        root = manifest.parent
        for inner in _package_folders(root):
            where = inner.relative_to(folder).as_posix()
            files = tuple(_files(inner))
            for name, options in _OPTIONS.items():
                if name == "plain" or any("option(" in each.read_text(errors="replace") for each in files):
                    yield Program(f"{where}: run, {name}", inner, files, options=options)
            if inner != root:
                dotted = inner.relative_to(root).as_posix().replace("/", ".")
                yield Program(f"{where}: imported", root, main=f"import {dotted} as m\n")
                for schema in _schemas(files)[:_INSTANCES]:
                    text = f"import {dotted} as m\n"
                    yield Program(f"{where}: {schema}", root, main=f"{text}a = m.{schema} {{}}\n")
                    more = f"a: m.{schema} = m.{schema} {{metadata.name = 'x', spec = {{}}}}\nb = typeof(a)\n"
                    yield Program(f"{where}: {schema}, filled", root, main=text + more)


def _package_folders(root: Path) -> list[Path]:
    found = {each.parent for each in root.rglob("*.k") if not each.name.endswith("_test.k")}
    return sorted(each for each in found if find_root(str(each), OsFileSystem()) == str(root) and _files(each))


def _files(folder: Path) -> list[Path]:
    names = (each for each in folder.glob("*.k") if not each.name.endswith("_test.k") and not each.name.startswith("_"))
    return sorted(names)


def _schemas(files: tuple[Path, ...]) -> list[str]:
    return [match[1] for file in files for match in _SCHEMA.finditer(file.read_text(errors="replace")) if not match[2]]


def external_packages(corpus: Path, root: Path) -> dict[str, str]:
    """Where the packages lie that the one in `root` depends on, by name: beside it, whatever version it asks for."""
    found: dict[str, str] = {}
    pending = [root]
    while pending:
        for each in read_manifest(str(pending.pop()), OsFileSystem()).requirements:
            place = corpus / ("k8s/1.31" if each.package == "k8s" else each.package)
            if each.name not in found and (place / "kcl.mod").is_file():
                found[each.name] = str(place)
                pending.append(place)
    return found


def difference(program: Program, corpus: Path, cache: ParseCache, peer: Official) -> Difference | None:
    """What our outcome of a program has that the official one has not, or the other way round. May raise Gone."""
    root = find_root(str(program.folder), OsFileSystem()) or str(program.folder)
    packages = external_packages(corpus, Path(root))
    if program.main:
        with tempfile.TemporaryDirectory() as scratch:
            main = Path(scratch, "main.k")
            name = Path(root).name.replace("-", "_")
            main.write_text(program.main.replace("import ", f"import {name}.", 1))
            return _compared(program, [str(main)], scratch, {**packages, name: root}, cache, peer)
    return _compared(program, [str(each) for each in program.files], str(program.folder), packages, cache, peer)


def _compared(
    program: Program, files: list[str], work: str, packages: dict[str, str], cache: ParseCache, peer: Official
) -> Difference | None:
    options = [(name, json.dumps(value)) for name, value in program.options.items()]
    asked = {"files": files, "options": options, "packages": list(packages.items())}
    answer = peer.run_files(work, asked)
    theirs = _official_outcome(answer.yaml, answer.complaint)
    ours = _our_outcome(files, work, dict(options), packages, cache)
    kind = _kind(ours, theirs)
    return None if kind is None else Difference(program, kind, ours, theirs)


def _official_outcome(yaml: str | None, complaint: str) -> Outcome:
    if yaml is not None:
        try:
            return Outcome(documents(yaml + "\n"), text=yaml)
        except YamlError as problem:
            return Outcome([str(problem)], text=yaml)
    plain = _STYLE.sub("", complaint)
    errors = [(title, os.path.basename(file), int(line)) for title, file, line in _OFFICIAL.findall(plain)]
    return Outcome(None, tuple(errors), plain)


def _our_outcome(
    files: list[str], work: str, options: Mapping[str, str], packages: Mapping[str, str], cache: ParseCache
) -> Outcome:
    given = {name: argument_value(value) for name, value in options.items()}
    try:
        text = run(files, work_dir=work, options=given, package_maps=packages, cache=cache).yaml()
    except ProgramError as problem:
        errors = []
        for each in problem.diagnostics:
            place = each.primary
            line = problem.sources[place.path].count("\n", 0, place.start) + 1 if place else 0
            errors.append((each.code.title, os.path.basename(place.path) if place else "", line))
        return Outcome(None, tuple(errors), problem.render())
    try:
        return Outcome(documents(text), text=text)
    except YamlError as problem:
        return Outcome([str(problem)], text=text)


def _kind(ours: Outcome, theirs: Outcome) -> str | None:
    if ours.documents is not None and theirs.documents is not None:
        if not same(ours.documents, theirs.documents):
            return "other values"
        return None if ours.text.strip() == theirs.text.strip() else "other text"
    if ours.documents is not None:
        return "accepted by us only"
    if theirs.documents is not None:
        return "refused by us only"
    if REQUIRED in ours.text and REQUIRED in theirs.text:
        return None  # both name what is missing; which of them first is another matter
    if ours.errors[:1] and theirs.errors[:1] and ours.errors[0][0] == theirs.errors[0][0]:
        return None  # an error of a run is told officially at the line that ran last
    return None if set(ours.errors) & set(theirs.errors) else "another error"


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    only = sys.argv[3] if sys.argv[2:3] == ["--only"] else ""
    figures: Counter[str] = Counter()
    cache = ParseCache()
    with official() as peer:
        for program in programs(folder):
            if only not in program.name:
                continue
            try:
                found = difference(program, folder, cache, peer)
            except Gone as problem:
                figures[f"official compiler {problem}"] += 1
                continue
            figures["equal" if found is None else found.kind] += 1
            if found is not None:
                shown = f"=== {program.name}: {found.kind}\n--- ours\n{found.ours.text[:1500]}\n"
                sys.stdout.write(f"{shown}--- official\n{found.theirs.text[:1500]}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{dict(figures)}\n")


if __name__ == "__main__":
    main()
