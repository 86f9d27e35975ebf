"""Rules of CEL, with values that an API server (1.34) accepts and refuses.

`test_rules_on_an_api_server.py` holds each of them to a real one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_TEXT = {"type": "string", "maxLength": 60}
_INT, _FLAG, _FRACTION = {"type": "integer"}, {"type": "boolean"}, {"type": "number"}


def _object(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    made = {"type": "object", "properties": properties}
    return {**made, "required": list(required)} if required else made


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "maxItems": 6, "items": items}


def _map(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "maxProperties": 6, "additionalProperties": values}


@dataclass(frozen=True, slots=True)
class Case:
    rule: str
    schema: dict[str, Any]
    accepted: tuple[Any, ...]
    refused: tuple[Any, ...]


_AB = _object(a=_INT, b=_INT)
_FLAGS = _object(a=_FLAG, b=_FLAG)
_NAMED = _object(("name",), name=_TEXT, port=_INT, tags=_list(_TEXT))
_MODE = {"type": "string", "enum": ["Fast", "Safe"]}

CASES = (
    Case("self.a < self.b", _AB, ({"a": 1, "b": 2},), ({"a": 2, "b": 2}, {"a": 1}, {})),
    Case("!(self.a < self.b)", _AB, ({"a": 2, "b": 2},), ({"a": 1, "b": 2}, {"a": 1}, {})),
    Case("self.a > 1 || self.b > 1", _AB, ({"a": 2}, {"b": 2}, {"a": 0, "b": 2}), ({"a": 0}, {}, {"a": 0, "b": 0})),
    Case("!(self.a > 1 && self.b > 1)", _AB, ({"a": 0}, {"b": 0}, {"a": 5, "b": 0}), ({"a": 5, "b": 5}, {"a": 5}, {})),
    Case("has(self.a) != has(self.b)", _AB, ({"a": 1}, {"b": 0}), ({}, {"a": 1, "b": 1})),
    Case("has(self.a) ? self.b == 1 : true", _AB, ({}, {"b": 3}, {"a": 0, "b": 1}), ({"a": 0}, {"a": 1, "b": 2})),
    Case("(self.a > 1 ? self.b : 7) >= 3", _AB, ({"a": 0}, {"a": 2, "b": 3}), ({"a": 2}, {"a": 2, "b": 2}, {"b": 9})),
    Case("self.a", _FLAGS, ({"a": True},), ({"a": False}, {}, {"b": True})),
    Case(
        "self.a == self.b",
        _FLAGS,
        ({"a": True, "b": True}, {"a": False, "b": False}),
        ({"a": True}, {}, {"b": True, "a": False}),
    ),
    Case("self.a != true || self.b", _FLAGS, ({"a": False}, {"b": True}), ({}, {"a": True}, {"a": True, "b": False})),
    Case(
        "[self.a, self.b].filter(x, x).size() <= 1",
        _FLAGS,
        ({"a": True, "b": False},),
        ({"a": True, "b": True}, {"a": False}),
    ),
    Case(
        "[has(self.a), has(self.b)].filter(x, x == true).size() == 1", _AB, ({"a": 1}, {"b": 1}), ({}, {"a": 1, "b": 1})
    ),
    Case("self in ['a', \"b\"]", _TEXT, ("a", "b"), ("c", "", "A")),
    Case("!(self in ['a', 'b'])", _TEXT, ("c", ""), ("a",)),
    Case("self.startsWith('ab') && !self.endsWith('z')", _TEXT, ("ab", "abc"), ("abz", "xab", "")),
    Case("self.contains('${x}\\n')", _TEXT, ("a${x}\nb",), ("${x}", "")),
    Case(r"self.matches(r'^[a-z]+\.\d$')", _TEXT, ("ab.1",), ("ab1", "", "ab.٣", "Ab.1")),
    Case("self.matches('b+') || self == ''", _TEXT, ("abc", ""), ("a",)),
    Case("size(self) <= 3 && self.size() > 0", _TEXT, ("äöü", "a"), ("äöüß", "")),
    Case("self + 'x' == 'abx'", _TEXT, ("ab",), ("abx",)),
    Case("self % 2 == 1", _INT, (1, 3), (2, 0, -3)),
    Case("self / 2 == -1", _INT, (-2, -3), (-1, 2, -4)),
    Case("10 / self > 1", _INT, (5, 1), (0, -5, 10)),
    Case("self * 2 + 1 - 3 >= -self", _INT, (1, 9), (0, -4)),
    Case("-self < 3", _INT, (0, -2), (-3,)),
    Case("self >= 0.5 && self < 2.5", _FRACTION, (0.5, 1.5), (0.25, 2.5)),
    Case(
        "self.mode == 'Fast' ? has(self.a) : true",
        _object(("mode",), mode=_MODE, a=_INT),
        ({"mode": "Safe"}, {"mode": "Fast", "a": 1}),
        ({"mode": "Fast"},),
    ),
    Case(
        "self.mode != 'Safe'", _object(mode={**_MODE, "default": "Safe"}), ({"mode": "Fast"},), ({}, {"mode": "Safe"})
    ),
    Case("self.all(x, x > 1)", _list(_INT), ([], [2, 3]), ([1], [2, 1])),
    Case("!self.all(x, x > 1)", _list(_INT), ([1], [2, 1]), ([], [2, 3])),
    Case("self.exists(x, x == 3)", _list(_INT), ([3], [1, 3]), ([], [1])),
    Case("self.exists_one(x, x == 3)", _list(_INT), ([3, 1],), ([], [3, 3])),
    Case(
        "self.all(x, self.exists_one(y, x.name == y.name))",
        _list(_NAMED),
        ([], [{"name": "a"}, {"name": "b"}]),
        ([{"name": "a"}, {"name": "a"}],),
    ),
    Case(
        "self.exists(x, x.port > 3)",
        _list(_NAMED),
        ([{"name": "a"}, {"name": "b", "port": 4}],),
        ([{"name": "a"}], [], [{"name": "a", "port": 1}]),
    ),
    Case(
        "self.all(x, x.port > 3)",
        _list(_NAMED),
        ([], [{"name": "a", "port": 4}]),
        ([{"name": "a"}], [{"name": "a", "port": 1}, {"name": "b"}]),
    ),
    Case(
        "!self.exists(x, x.port > 3)",
        _list(_NAMED),
        ([], [{"name": "a", "port": 3}]),
        ([{"name": "a"}], [{"name": "a", "port": 5}]),
    ),
    Case(
        "self.exists_one(x, x.port > 3)",
        _list(_NAMED),
        ([{"name": "a", "port": 4}],),
        ([{"name": "a"}, {"name": "b", "port": 4}],),
    ),
    Case(
        "self.filter(x, x.name.startsWith('a')).size() <= 1",
        _list(_NAMED),
        ([{"name": "a"}, {"name": "b"}],),
        ([{"name": "a"}, {"name": "ab"}],),
    ),
    Case(
        "self.filter(x, has(x.port)).all(x, x.port > 3)",
        _list(_NAMED),
        ([{"name": "a"}, {"name": "b", "port": 4}],),
        ([{"name": "b", "port": 3}],),
    ),
    Case("self.map(x, x.name).all(n, n != 'a')", _list(_NAMED), ([{"name": "b"}], []), ([{"name": "a"}],)),
    Case("'b' in self.map(x, x.name)", _list(_NAMED), ([{"name": "b"}],), ([{"name": "a"}], [])),
    Case(
        "self.all(x, has(x.tags) && x.tags.exists(t, t == x.name))",
        _list(_NAMED),
        ([{"name": "a", "tags": ["a"]}],),
        ([{"name": "a"}], [{"name": "a", "tags": []}]),
    ),
    Case("self[0].name == 'a'", _list(_NAMED), ([{"name": "a"}],), ([], [{"name": "b"}])),
    Case("self.size() == 0 || self[self.size() - 1] == 'z'", _list(_TEXT), ([], ["a", "z"]), (["z", "a"],)),
    Case("self.join('-') == 'a-b'", _list(_TEXT), (["a", "b"],), ([], ["a"])),
    Case("'k' in self && self['k'] == 'v'", _map(_TEXT), ({"k": "v", "l": ""},), ({}, {"k": "w"})),
    Case("!('k' in self) || self.k == 'v'", _map(_TEXT), ({}, {"k": "v"}), ({"k": "w"},)),
    Case("self.all(k, k.size() < 3 && self[k] != '')", _map(_TEXT), ({}, {"ab": "x"}), ({"abc": "x"}, {"a": ""})),
    Case("size(self) >= 1 && self.exists(k, self[k] > 3)", _map(_INT), ({"a": 4},), ({}, {"a": 3})),
    Case("has(self.k) && self.k > 2", _map(_INT), ({"k": 3},), ({}, {"k": 1})),
    Case("self.?a.orValue(5) > 3", _AB, ({}, {"a": 4}), ({"a": 3},)),
    Case(
        "self.?__in__.?x.orValue('d') == 'd'",
        _object(**{"in": _object(x=_TEXT)}),
        ({}, {"in": {}}, {"in": {"x": "d"}}),
        ({"in": {"x": "e"}},),
    ),
    Case("self.?a.hasValue()", _AB, ({"a": 0},), ({},)),
    Case(
        "self.__namespace__ == 'n' && self.x__dash__y == 'd'",
        _object(**{"namespace": _TEXT, "x-y": _TEXT}),
        ({"namespace": "n", "x-y": "d"},),
        ({"namespace": "n"}, {}),
    ),
    Case(
        "self.inner.deep.a == 1",
        _object(inner=_object(deep=_AB)),
        ({"inner": {"deep": {"a": 1}}},),
        ({}, {"inner": {}}, {"inner": {"deep": {"a": 2}}}),
    ),
    Case("!has(self.inner.deep)", _object(inner=_object(deep=_AB)), ({"inner": {}},), ({}, {"inner": {"deep": {}}})),
    Case("string(self.a) == '3'", _AB, ({"a": 3},), ({"a": 4}, {})),
)


def definition() -> dict[str, Any]:
    """One definition of a resource; each case is an attribute of its spec."""
    properties = {
        f"c{at}": {**case.schema, "x-kubernetes-validations": [{"rule": case.rule, "message": f"broken: {at}"}]}
        for at, case in enumerate(CASES)
    }
    spec = {"type": "object", "properties": properties}
    versions = [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        }
    ]
    kinds = {"kind": "Ruled", "plural": "ruleds", "singular": "ruled", "listKind": "RuledList"}
    inner = {"group": "rules.example.com", "scope": "Namespaced", "names": kinds, "versions": versions}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": inner}
