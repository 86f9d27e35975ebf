"""Names that a definition does not describe: refused where an API server refuses them, taken where it keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kcl.api import ParseCache
from kcl.tools.imports.literals import value as literal
from tests.kcl.conformance import corpus
from tests.kcl.tools.imports.api_server import api_server
from tests.kcl.tools.imports.importing import K8S, imported, ours, theirs

_BARE: Final = {"type": "object"}
_KEPT: Final = {"x-kubernetes-preserve-unknown-fields": True}
_EMBEDDED: Final = {**_BARE, **_KEPT, "x-kubernetes-embedded-resource": True}
_POD: Final = {"apiVersion": "v1", "kind": "Pod"}
_NAMED: Final = {"metadata": {**_BARE, "properties": {"name": {"type": "string", "pattern": "^a"}}}}
_PARSED: Final = ParseCache()
_CASES: Final[dict[str, tuple[dict[str, Any], list[Any], list[Any]]]] = {
    "no names": (_BARE, [{}], [{"a": 1}, [1], "x"]),
    "no names, null": ({**_BARE, "nullable": True}, [None, {}], [{"a": 1}]),
    "no names but one": ({**_BARE, "minProperties": 1}, [], [{}, {"a": 1}]),
    "none in an alternative": ({**_BARE, "anyOf": [{"required": ["a"]}, {"maxProperties": 3}]}, [{}], [{"a": 1}]),
    "any values": (
        {**_BARE, "additionalProperties": True},
        [{"a": 1}, {"a": {}}, {"a": [1, [{}]]}, {"a": None}],
        [{"a": {"b": 1}}, {"a": [{"b": 1}]}, {"a": [[{"b": 1}]]}],
    ),
    "no values": ({**_BARE, "additionalProperties": False}, [{}], [{"a": 1}]),
    "values without names": ({**_BARE, "additionalProperties": _BARE}, [{"a": {}}], [{"a": {"b": 1}}, {"a": 1}]),
    "values kept": ({**_BARE, "additionalProperties": _KEPT}, [{"a": {"b": 1}}, {"a": None}, {"a": [1]}], [1]),
    "kept": ({**_BARE, **_KEPT}, [{"a": {"b": 1}}], [[1]]),
    "kept beside": ({**_BARE, **_KEPT, "properties": {"x": _BARE}}, [{"a": {"b": 1}}, {"x": {}}], [{"x": {"b": 1}}]),
    "items without names": ({"type": "array", "items": _BARE}, [[{}]], [[{"b": 1}], [1]]),
    "a resource": (
        _EMBEDDED,
        [_POD, {**_POD, "spec": {"a": 1}, "metadata": {"name": "x"}}, {"apiVersion": "a/b", "kind": "X"}],
        [{}, {**_POD, "metadata": {"nam": "x"}}, {**_POD, "apiVersion": ""}, {**_POD, "kind": "X y"}],
    ),
    "a resource of one version": (
        {**_EMBEDDED, "properties": {"apiVersion": {"type": "string", "enum": ["v1"]}}},
        [_POD],
        [{**_POD, "apiVersion": "v2"}],
    ),
    "a resource's name": (
        {**_EMBEDDED, "properties": _NAMED},
        [{**_POD, "metadata": {"name": "a", "labels": {"x": "y"}}}],
        [{**_POD, "metadata": {"name": "b"}}, {**_POD, "metadata": {"name": "a", "nam": "b"}}],
    ),
}


def _definition() -> dict[str, Any]:
    properties = {f"c{at}": schema for at, (schema, _, _) in enumerate(_CASES.values())}
    schema = {**_BARE, "properties": {"spec": {**_BARE, "properties": properties}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    inner = {"group": "names.example.com", "names": {"kind": "Named", "plural": "nameds"}, "scope": "Namespaced"}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": "nameds.names.example.com"}, "spec": {**inner, "versions": [version]}}


def test_the_table_of_names_is_what_a_server_decides() -> None:
    server = api_server()
    assert server.define(_definition()) == ""
    for at, (name, (_, accepted, refused)) in enumerate(_CASES.items()):
        for expected, values in ((True, accepted), (False, refused)):
            for value in values:
                answer = server.create(_definition(), "v1", {"spec": {f"c{at}": value}})
                assert answer.is_accepted is expected, (name, value, answer.message)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus("kcl-modules")
    folder = tmp_path_factory.mktemp("named")
    ran = imported(folder, "-m", "crd", "-", text=yaml.safe_dump(_definition()))
    assert (ran.status, "not held" in ran.err) == (0, False), ran.err
    return folder


def _problem(compiler: Any, folder: Path, **spec: Any) -> str:
    main = folder / "main.k"
    main.write_text(f"import models.v1 as models\nx = models.Named {{spec = {literal(spec)}}}\n")
    packages = {"k8s": K8S}
    return ours([main], folder, packages, _PARSED) if compiler is ours else theirs([main], folder, packages)


@pytest.mark.parametrize("compiler", [ours, theirs])
def test_names_are_taken_where_a_server_keeps_them(compiler: Any, package: Path) -> None:
    most = max(len(accepted) for _, accepted, _ in _CASES.values())
    for turn in range(most):
        spec = {f"c{at}": each[1][turn] for at, each in enumerate(_CASES.values()) if turn < len(each[1])}
        assert _problem(compiler, package, **spec) == ""


@pytest.mark.parametrize("compiler", [ours, theirs])
def test_names_are_refused_where_a_server_refuses_them(compiler: Any, package: Path) -> None:
    for at, (name, (_, _, refused)) in enumerate(_CASES.items()):
        for value in refused if compiler is ours else refused[:1]:
            assert _problem(compiler, package, **{f"c{at}": value}) != "", (name, value)


def test_an_object_that_takes_no_names_says_so(package: Path) -> None:
    assert "c0 takes no names: what it was made of describes none" in _problem(ours, package, c0={"a": 1})


@pytest.mark.parametrize("kept", [True, None])
def test_what_kept_all_names_before_does_so_here(kept: bool | None, package: Path) -> None:
    """Definitions of v1beta1 kept what they did not describe unless they said otherwise."""
    definition = _definition()
    definition["spec"]["preserveUnknownFields"] = kept
    definition["apiVersion"] = "apiextensions.k8s.io/v1" if kept else "apiextensions.k8s.io/v1beta1"
    if kept is None:
        del definition["spec"]["preserveUnknownFields"]
    name = f"old{kept}".lower()
    assert imported(package, "-m", "crd", "-p", name, "-", text=yaml.safe_dump(definition)).status == 0
    main = package / "main.k"
    main.write_text(f"import {name}.v1 as models\nx = models.Named {{spec = {{c0 = {{a = 1}}}}}}\n")
    assert ours([main], package, {"k8s": K8S}) == ""
