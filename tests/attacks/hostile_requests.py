"""Requests that end, fill or stall an API server of one event loop; each as method, path, body and content type."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

_JSON: Final = "application/json"
_JSON_PATCH: Final = "application/json-patch+json"
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"
_YAML: Final = "application/yaml"
_CORE: Final = "/api/v1/namespaces/default"
_MAPS: Final = f"{_CORE}/configmaps"
_PODS: Final = f"{_CORE}/pods"
_FOOS: Final = "/apis/x.io/v1/namespaces/default/foos"
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ALIASES: Final = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n + 1}: &a{n + 1} [{','.join([f'*a{n}'] * 9)}]\n" for n in range(12)
)


@dataclass(frozen=True)
class Ask:
    method: str
    path: str
    body: Any = None
    form: str = _JSON
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes | None:
        match self.body:
            case None | bytes():
                return self.body
            case str():
                return self.body.encode()
            case _:
                return json.dumps(self.body).encode()


Attack = tuple[frozenset[int], Callable[[], list[Ask]]]
"""What the last of the requests may be answered with."""


def _map(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more.pop("metadata", {})}, **more}


def _pod(name: str, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "x", **(container or {})}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def _nested(depth: int, inner: Any) -> Any:
    for _ in range(depth):
        inner = {"a": inner}
    return inner


def _custom(number: int, schema: dict[str, Any], spec: Any) -> list[Ask]:
    """A definition of its own, and an object of it."""
    group = f"x{number}.io"
    names = {"plural": "foos", "singular": "foo", "kind": "Foo"}
    form = {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": form}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"foos.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    path = _FOOS.replace("x.io", group)
    body = {"apiVersion": f"{group}/v1", "kind": "Foo", "metadata": {"name": "f"}, "spec": spec}
    return [Ask("POST", _DEFINITIONS, definition), Ask("GET", path), Ask("POST", path, body)]


def _open(number: int, spec: Any, *operations: Any) -> list[Ask]:
    """An object without a schema, and a JSON patch of it."""
    asks = _custom(number, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, spec)
    path = f"{asks[-1].path}/f"
    return [*asks, *(Ask("PATCH", path, each, _JSON_PATCH) for each in operations)]


def _one(method: str, path: str, body: Any = None, form: str = _JSON, **headers: str) -> Callable[[], list[Ask]]:
    return lambda: [Ask(method, path, body, form, headers)]


def _quantity(number: int, text: str) -> Callable[[], list[Ask]]:
    return _one("POST", _PODS, _pod(f"q{number}", {"resources": {"requests": {"cpu": text}}}))


def _workload(kind: str, name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": name}}, "spec": _pod("x")["spec"]}
    spec = {"replicas": 2**31 - 1, "selector": {"matchLabels": {"a": name}}, "template": template}
    if kind == "StatefulSet":
        spec |= {"serviceName": "s", "podManagementPolicy": "Parallel"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _job(name: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {**_pod("x")["spec"], "restartPolicy": "Never"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {**spec, "template": template}}


def _environment(count: int) -> dict[str, Any]:
    return {"env": [{"name": f"n{n}", "value": "1"} for n in range(count)]}


def _copies() -> list[Ask]:
    """Each copies all that there is."""
    operations = [{"op": "copy", "from": "/spec", "path": f"/spec/x{n}"} for n in range(60)]
    return _open(5, {"a": "x" * 1_000}, operations)


def _deepened() -> list[Ask]:
    path, patches = "/spec" + "/a" * 150, []
    for _ in range(6):
        patches.append([{"op": "add", "path": f"{path}/a", "value": _nested(150, {})}])
        path += "/a" * 151
    return _open(6, _nested(150, {}), *patches)


_REFUSED: Final = frozenset({400, 413, 422})
_TAKEN: Final = frozenset({201})
_EITHER: Final = _REFUSED | {200, 201, 500, 504}

REQUESTS: Final[dict[str, Attack]] = {
    # rules of a definition
    "a pattern that goes back": (
        _REFUSED,
        lambda: _custom(1, {"type": "string", "pattern": "^(a+)+$"}, "a" * 60 + "!"),
    ),
    "patterns in one another": (
        _REFUSED,
        lambda: _custom(2, {"type": "string", "pattern": "((((a*)*)*)*)*b"}, "a" * 60),
    ),
    "a pattern of a thousand patterns": (
        _EITHER,
        lambda: _custom(3, {"type": "string", "pattern": "((a{1,99}){1,99}){1,99}b"}, "a" * 100_000),
    ),
    "a pattern that is none": (_REFUSED, lambda: _custom(4, {"type": "string", "pattern": "((("}, "a")[:1]),
    "alternatives times items": (
        frozenset({504}),
        lambda: _custom(
            7,
            {
                "type": "object",
                "properties": {
                    "a": {
                        "type": "array",
                        "items": {"type": "string", "anyOf": [{"pattern": f"^x{n}$"} for n in range(2_000)]},
                    }
                },
            },
            {"a": ["y"] * 9_000},
        ),
    ),
    "a schema nested deeply": (_REFUSED, lambda: _custom(8, _nested(150, {"type": "string"}), {})[:1]),
    # patches
    "copies of copies": (_REFUSED, _copies),
    "an object that is deepened": (_REFUSED, _deepened),
    "a thousand insertions before 9,000 items": (
        frozenset({200}),
        lambda: _open(9, {"l": [1] * 9_000}, [{"op": "add", "path": "/spec/l/0", "value": 1}] * 900),
    ),
    "more insertions than a list may have": (
        frozenset({413}),
        lambda: _open(10, {"l": [1] * 9_000}, [{"op": "add", "path": "/spec/l/0", "value": 1}] * 9_000),
    ),
    "operations without end": (
        frozenset({413}),
        lambda: _open(11, {}, [{"op": "add", "path": "/spec/a", "value": 1}] * 20_000),
    ),
    "a list merged with a longer one": (
        frozenset({413}),
        lambda: [
            Ask("POST", _PODS, _pod("merged", _environment(500))),
            Ask("PATCH", f"{_PODS}/merged", _pod("merged", _environment(50_000)), _STRATEGIC),
        ],
    ),
    "a merge of a wide object": (
        frozenset({413}),
        lambda: [
            Ask("POST", _MAPS, _map("wide")),
            Ask("PATCH", f"{_MAPS}/wide", {"data": {f"k{n}": "v" for n in range(150_000)}}, _MERGE),
        ],
    ),
    "an apply of a wide object": (
        frozenset({413}),
        _one(
            "PATCH",
            f"{_MAPS}/w?fieldManager=x",
            json.dumps(_map("w", data={f"k{n}": "v" for n in range(150_000)})),
            _APPLY,
        ),
    ),
    "a strategic patch nested deeply": (
        _REFUSED,
        lambda: [Ask("POST", _MAPS, _map("s")), Ask("PATCH", f"{_MAPS}/s", b'{"a":' * 50_000, _STRATEGIC)],
    ),
    # bodies
    "a body of 4 MB": (frozenset({413}), _one("POST", _MAPS, _map("b", data={"a": "x" * 4_000_000}))),
    "JSON nested deeply": (frozenset({400}), _one("POST", _MAPS, b'{"a":' * 100_000)),
    "YAML nested deeply": (frozenset({400}), _one("POST", _MAPS, b"[" * 900_000, _YAML)),
    "aliases of aliases": (frozenset({400}), _one("POST", _MAPS, _ALIASES, _YAML)),
    "3 MB of YAML": (frozenset({413}), _one("POST", _MAPS, "- a\n" * 700_000, _YAML)),
    "a number of a million digits": (
        frozenset({400}),
        _one(
            "POST", _MAPS, b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generation":' + b"9" * 1_000_000 + b"}}"
        ),
    ),
    "a number beyond all numbers": (
        frozenset({400}),
        _one("POST", _MAPS, b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generation":1e999999999}}'),
    ),
    "protobuf that promises more": (
        frozenset({400}),
        _one("POST", _MAPS, b"k8s\0" + b"\x12\x80\x80\x80\x01" * 500_000, "application/vnd.kubernetes.protobuf"),
    ),
    "environments without end": (frozenset({413}), _one("POST", _PODS, _pod("e", _environment(50_000)))),
    "finalizers without end": (
        frozenset({413}),
        _one("POST", _MAPS, _map("f", metadata={"finalizers": [f"a.b/c{n}" for n in range(60_000)]})),
    ),
    "owners without end": (
        frozenset({413}),
        _one(
            "POST",
            _MAPS,
            _map(
                "o",
                metadata={
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": "ConfigMap", "name": f"n{n}", "uid": f"{n}"} for n in range(5_000)
                    ]
                },
            ),
        ),
    ),
    "a name of 2 MB": (frozenset({422}), _one("POST", _MAPS, _map("a." * 1_000_000 + "!"))),
    "a label of 2 MB": (frozenset({422}), _one("POST", _MAPS, _map("l", metadata={"labels": {"a": "a-" * 1_000_000}}))),
    "an image of 2 MB": (frozenset({500}), _one("POST", _PODS, _pod("i", {"image": "a_" * 1_000_000 + "!"}))),
    # numbers
    "a quantity beyond all numbers": (_TAKEN, _quantity(1, "1e999999999")),
    "a quantity that is almost nothing": (_TAKEN, _quantity(2, "1e-999999999")),
    "a quantity of 200,000 digits": (_TAKEN, _quantity(3, "9" * 200_000)),
    "a quantity whose exponent is 100,000 digits long": (frozenset({400}), _quantity(4, "1e" + "9" * 100_000)),
    # queries and headers
    "a long header": (frozenset({400}), _one("GET", _PODS, X="y" * 100_000)),
    "10,000 headers": (frozenset({400}), lambda: [Ask("GET", _PODS, headers={f"X{n}": "y" for n in range(10_000)})]),
    "a long address": (frozenset({400}), _one("GET", f"{_PODS}?labelSelector=" + "a," * 50_000)),
    "a selector of 1,500 terms": (frozenset({200}), _one("GET", f"{_PODS}?labelSelector=" + "a!=b," * 1_500 + "a")),
    "a selector of escapes": (frozenset({400}), _one("GET", f"{_PODS}?fieldSelector=" + "%5C" * 2_500 + "!")),
    "a version of 4,000 digits": (frozenset({504}), _one("GET", f"{_PODS}?resourceVersion=" + "9" * 4_000)),
    "a token to go on with that is none": (frozenset({400}), _one("GET", f"{_PODS}?limit=1&continue=" + "e" * 4_000)),
}

MULTIPLYING: Final[dict[str, Attack]] = {
    "two thousand million Pods of a Deployment": (
        _TAKEN,
        _one("POST", "/apis/apps/v1/namespaces/default/deployments", _workload("Deployment", "d")),
    ),
    "two thousand million Pods of a StatefulSet": (
        _TAKEN,
        _one("POST", "/apis/apps/v1/namespaces/default/statefulsets", _workload("StatefulSet", "s")),
    ),
    "two thousand million Pods of a Job": (
        _TAKEN,
        _one("POST", "/apis/batch/v1/namespaces/default/jobs", _job("j", completions=2**31 - 1, parallelism=2**31 - 1)),
    ),
    "a hundred thousand Pods of an indexed Job": (
        _TAKEN,
        _one(
            "POST",
            "/apis/batch/v1/namespaces/default/jobs",
            _job("k", completionMode="Indexed", completions=100_000, parallelism=100_000),
        ),
    ),
}
