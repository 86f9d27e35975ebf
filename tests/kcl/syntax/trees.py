"""Our trees and the official parser's, both brought to plain nested tuples that can be compared.

Left out on both sides: positions of ends, comments, and what the two write down differently
without meaning anything else (a string's raw text, the braces of a dotted key).
"""

from __future__ import annotations

from typing import Any

from kcl.source import SourceFile
from kcl.syntax import ast, parse

_BINARY = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "LShift": "<<",
    "RShift": ">>", "BitOr": "|", "BitXor": "^", "BitAnd": "&", "And": "and", "Or": "or",
}  # fmt: skip
_COMPARE = {
    "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "In": "in", "NotIn": "not in",
    "Is": "is", "IsNot": "is not",
}  # fmt: skip
_UNARY = {"UAdd": "+", "USub": "-", "Invert": "~", "Not": "not"}
_AUG = {name: sign + "=" for name, sign in _BINARY.items()} | {"Assign": "="}
_CONFIG = {"Union": ":", "Override": "=", "Insert": "+="}


# -------------------------------------------------------------------------------- official


def official(module: dict[str, Any]) -> Any:
    return (_doc(module["doc"]), [_o(statement) for statement in module["body"]])


def _doc(node: Any) -> Any:
    return None if node is None else "doc"


def _at(node: dict[str, Any], value: Any) -> Any:
    return (node["line"], node["column"] + 1, value)


def _names(identifier: dict[str, Any]) -> list[str]:
    return [name["node"] for name in identifier["names"]]


def _identifier(names: list[str]) -> Any:
    value: Any = ("name", names[0].removeprefix("$"))
    for name in names[1:]:
        value = ("selector", value, name, False)
    return value


def _o(node: Any) -> Any:
    if node is None:
        return None
    if isinstance(node, list):
        return [_o(item) for item in node]
    if "line" in node:
        kind = node["node"].get("type")
        value = _o(node["node"])
        is_statement = kind in _STATEMENTS and "config" not in node["node"]
        if kind == "If":
            is_statement = isinstance(node["node"]["body"], list)
        if kind == "SchemaAttr" and node["node"]["decorators"]:
            return _at(node["node"]["name"], value)  # where ours begins, too
        return _at(node, value) if is_statement else value
    kind = node.get("type")
    return _OFFICIAL[kind](node) if kind in _OFFICIAL else _untyped(node)


_STATEMENTS = ("Assert", "Assign", "AugAssign", "Expr", "If", "Import", "Rule", "Schema", "SchemaAttr", "Unification")


def _untyped(node: dict[str, Any]) -> Any:
    keys = set(node)
    if keys == {"if_cond", "msg", "test"}:
        return ("check", _o(node["test"]), _o(node["if_cond"]), _o(node["msg"]))
    if keys == {"ctx", "names", "pkgpath"}:
        return _identifier(_names(node))
    if keys == {"name", "paths", "pkgpath"}:
        return ("target", node["name"]["node"].removeprefix("$"), [_path(part) for part in node["paths"]])
    if keys == {"args", "config", "kwargs", "name"}:
        return _schema_expr(node)
    if keys == {"ifs", "iter", "targets"}:
        return ("clause", _o(node["targets"]), _o(node["iter"]), _o(node["ifs"]))
    if keys == {"key", "operation", "value"}:
        return _entry(node)
    if keys == {"args", "func", "keywords"}:
        return ("decorator", _o(node["func"]), _o(node["args"]), [_keyword(item) for item in node["keywords"]])
    raise AssertionError(node)


def _path(part: dict[str, Any]) -> Any:
    return ("member", part["value"]["node"]) if part["type"] == "Member" else ("index", _o(part["value"]))


def _keyword(node: dict[str, Any]) -> Any:
    return (".".join(_names(node["node"]["arg"]["node"])), _o(node["node"]["value"]))


def _schema_expr(node: dict[str, Any]) -> Any:
    arguments = [_keyword(item) for item in node["kwargs"]]
    return ("schema expr", _o(node["name"]), _o(node["args"]), arguments, _o(node["config"]))


def _entry(node: dict[str, Any]) -> Any:
    key, value = node["key"], node["value"]
    if key is None:
        inner = value["node"]
        if inner["type"] == "ConfigIfEntry":
            return _if_entry(inner)
        return ("unpack", _o(value))
    index = None
    key_node = key["node"]
    if key_node["type"] == "Subscript" and key_node["value"]["node"]["type"] == "Identifier":
        index = _o(key_node["index"])
        key_node = key_node["value"]["node"]
    if key_node["type"] != "Identifier":
        return ("entry", _o(key_node), index, _CONFIG[node["operation"]], _o(value))
    *outer, last = _names(key_node)
    entry: Any = ("entry", ("name", last), index, _CONFIG[node["operation"]], _o(value))
    for name in reversed(outer):
        entry = ("entry", ("name", name), None, ":", ("config", [entry]))
    return entry


def _if_entry(node: dict[str, Any]) -> Any:
    orelse = node["orelse"]
    if orelse is None:
        otherwise = []
    elif orelse["node"]["type"] == "ConfigIfEntry":
        otherwise = [_if_entry(orelse["node"])]
    else:
        otherwise = [_o(item) for item in orelse["node"]["items"]]
    return ("config if", _o(node["if_cond"]), _o(node["items"]), otherwise)


def _if_item(node: dict[str, Any]) -> Any:
    orelse = node["orelse"]
    if orelse is None:
        otherwise = []
    elif orelse["node"]["type"] == "ListIfItem":
        otherwise = [_o(orelse)]
    else:
        otherwise = _o(orelse["node"]["elts"])
    return ("list if", _o(node["if_cond"]), _o(node["exprs"]), otherwise)


def _params(node: Any) -> Any:
    if node is None:
        return []
    arguments = node["node"]
    triples = zip(arguments["args"], arguments["ty_list"], arguments["defaults"], strict=True)
    return [(".".join(_names(name["node"])), _o(type_), _o(default)) for name, type_, default in triples]


def _schema(node: dict[str, Any]) -> Any:
    if "config" in node:
        return _schema_expr(node)
    signature = node["index_signature"]
    return (
        "schema",
        node["name"]["node"].removeprefix("$"),
        _doc(node["doc"]),
        _params(node["args"]),
        _o(node["parent_name"]),
        _o(node["for_host_name"]),
        node["is_mixin"],
        node["is_protocol"],
        _o(node["mixins"]),
        _o(node["decorators"]),
        _o(node["body"]),
        None if signature is None else _signature(signature["node"]),
        _o(node["checks"]),
    )


def _signature(node: dict[str, Any]) -> Any:
    name = None if node["key_name"] is None else node["key_name"]["node"]
    return ("signature", name, _key_type(node["key_ty"]), node["any_other"], _o(node["value_ty"]), _o(node["value"]))


def _rule(node: dict[str, Any]) -> Any:
    return (
        "rule",
        node["name"]["node"],
        _doc(node["doc"]),
        _params(node["args"]),
        _o(node["parent_rules"]),
        _o(node["for_host_name"]),
        _o(node["decorators"]),
        _o(node["checks"]),
    )


def _subscript(node: dict[str, Any]) -> Any:
    value, optional = _o(node["value"]), node["has_question"]
    if node["index"] is not None:
        return ("subscript", value, _o(node["index"]), optional)
    return ("slice", value, _o(node["lower"]), _o(node["upper"]), _o(node["step"]), optional)


def _joined(node: dict[str, Any]) -> Any:
    parts: list[Any] = []
    for value in node["values"]:
        part = value["node"]
        if part["type"] == "FormattedValue":
            spec = part["format_spec"]
            parts.append(("formatted", _o(part["value"]), spec and spec.strip("# ").lower()))
        elif parts and isinstance(parts[-1], str):
            parts[-1] += part["value"]
        elif part["value"]:
            parts.append(part["value"])
    return ("joined", parts)


def _number(node: dict[str, Any]) -> Any:
    value = node["value"]["value"]
    return ("int", value, node["binary_suffix"]) if node["value"]["type"] == "Int" else ("float", value)


def _binary(node: dict[str, Any]) -> Any:
    if node["op"] == "As":
        return ("cast", _o(node["left"]))
    return ("binary", _BINARY[node["op"]], _o(node["left"]), _o(node["right"]))


def _selector(node: dict[str, Any]) -> Any:
    value = _o(node["value"])
    for place, name in enumerate(_names(node["attr"]["node"])):
        value = ("selector", value, name, node["has_question"] and not place)
    return value


def _literal(node: dict[str, Any]) -> Any:
    literal = node["value"]
    if literal["type"] == "Int":
        return ("literal type", literal["value"]["value"], literal["value"]["suffix"])
    return ("literal type", literal["value"], None)


def _list(node: dict[str, Any]) -> Any:
    if "elts" in node:
        return ("list", _o(node["elts"]))
    return ("list type", _o(node["value"]["inner_type"]))


def _function(node: dict[str, Any]) -> Any:
    return ("function type", _o(node["value"]["params_ty"]) or [], _o(node["value"]["ret_ty"]))


def _compare(node: dict[str, Any]) -> Any:
    return ("compare", _o(node["left"]), [_COMPARE[op] for op in node["ops"]], _o(node["comparators"]))


def _attr(node: dict[str, Any]) -> Any:
    op = node["op"] and _AUG[node["op"]]
    return (
        "attr", node["name"]["node"].removeprefix("$"), node["is_optional"], _o(node["ty"]), op, _o(node["value"]),
        _o(node["decorators"]),
    )  # fmt: skip


def _import(node: dict[str, Any]) -> Any:
    return ("import", node["rawpath"], node["asname"] and node["asname"]["node"])


def _quantifier(node: dict[str, Any]) -> Any:
    parts = (_o(node["variables"]), _o(node["target"]), _o(node["test"]), _o(node["if_cond"]))
    return ("quantifier", node["op"].lower(), *parts)


def _unified(node: dict[str, Any]) -> Any:
    name, *path = _names(node)
    return ("target", name.removeprefix("$"), [("member", member) for member in path])


def _key_type(node: dict[str, Any]) -> Any:
    value = _o(node)
    if value[0] == "named type" and value[1] in (["str"], ["int"], ["float"], ["bool"], ["any"]):
        return ("basic type", value[1][0])  # the official parser does not look at a key without a name
    return value


def _named(node: dict[str, Any]) -> Any:
    return ("named type", [name.removeprefix("$") for name in _names(node["value"])])


_OFFICIAL: dict[Any, Any] = {
    "Any": lambda n: ("basic type", "any"),
    "Basic": lambda n: ("basic type", n["value"].lower()),
    "Named": _named,
    "Literal": _literal,
    "Dict": lambda n: ("dict type", _o(n["value"]["key_type"]), _o(n["value"]["value_type"])),
    "Union": lambda n: ("union type", _o(n["value"]["type_elements"])),
    "Function": _function,
    "Assert": lambda n: ("assert", _o(n["test"]), _o(n["if_cond"]), _o(n["msg"])),
    "Assign": lambda n: ("assign", _o(n["targets"]), _o(n["ty"]), _o(n["value"])),
    "AugAssign": lambda n: ("aug", _o(n["target"]), _AUG[n["op"]], _o(n["value"])),
    "Binary": _binary,
    "Call": lambda n: ("call", _o(n["func"]), _o(n["args"]), [_keyword(k) for k in n["keywords"]]),
    "Compare": _compare,
    "Config": lambda n: ("config", _o(n["items"])),
    "DictComp": lambda n: ("config comp", _entry(n["entry"]), _o(n["generators"])),
    "Expr": lambda n: ("expr", _o(n["exprs"])),
    "Identifier": lambda n: _identifier(_names(n)),
    "If": lambda n: (
        ("if", _o(n["cond"]), _o(n["body"]), _o(n["orelse"]))
        if isinstance(n["body"], list)
        else ("if expr", _o(n["body"]), _o(n["cond"]), _o(n["orelse"]))
    ),
    "Import": _import,
    "JoinedString": _joined,
    "Lambda": lambda n: ("lambda", _params(n["args"]), _o(n["return_ty"]), _o(n["body"])),
    "List": _list,
    "ListComp": lambda n: ("list comp", _o(n["elt"]), _o(n["generators"])),
    "ListIfItem": _if_item,
    "NameConstantLit": lambda n: ("constant", n["value"]),
    "NumberLit": _number,
    "Paren": lambda n: ("paren", _o(n["expr"])),
    "Quant": _quantifier,
    "Rule": _rule,
    "Schema": _schema,
    "SchemaAttr": _attr,
    "Selector": _selector,
    "Starred": lambda n: ("starred", _o(n["value"])),
    "StringLit": lambda n: ("str", n["value"]),
    "Subscript": _subscript,
    "TypeAlias": lambda n: ("type alias", n["type_name"]["node"]["names"][0]["node"], _o(n["ty"])),
    "Unary": lambda n: ("unary", _UNARY[n["op"]], _o(n["operand"])),
    "Unification": lambda n: ("unification", _unified(n["target"]["node"]), _o(n["value"])),
}


# -------------------------------------------------------------------------------- ours


def ours(module: ast.Module, source: SourceFile) -> Any:
    return (None if module.doc is None else "doc", [_Ours(source).statement(item) for item in module.body])


def tree_of(text: str) -> Any:
    """The plain tree of a text that must be without errors."""
    source = SourceFile("f.k", text)
    result = parse(source)
    assert not result.diagnostics, result.diagnostics
    return ours(result.module, source)


class _Ours:
    def __init__(self, source: SourceFile) -> None:
        self._source = source

    def statement(self, node: ast.Stmt) -> Any:
        value = self.value(node)
        if isinstance(node, ast.TypeAlias):
            return value
        place = self._source.position(node.start)
        return (place.line, place.column, value)

    def block(self, body: list[ast.Stmt]) -> list[Any]:
        return [self.statement(node) for node in body]

    def values(self, nodes: Any) -> list[Any]:
        return [self.value(node) for node in nodes]

    def params(self, params: list[ast.Param]) -> Any:
        return [(param.name, self.value(param.type), self.value(param.default)) for param in params]

    def keywords(self, keywords: list[ast.Keyword]) -> Any:
        return [(keyword.name, self.value(keyword.value)) for keyword in keywords]

    def value(self, node: Any) -> Any:  # noqa: C901, PLR0912, PLR0915  # one case for each kind of node
        v, vs = self.value, self.values
        match node:
            case None:
                return None
            case ast.BasicType():
                return ("basic type", str(node.name))
            case ast.NamedType():
                return ("named type", list(node.names))
            case ast.LiteralType():
                return ("literal type", node.value, node.suffix)
            case ast.ListType():
                return ("list type", v(node.item))
            case ast.DictType():
                return ("dict type", v(node.key), v(node.value))
            case ast.UnionType():
                return ("union type", vs(node.members))
            case ast.FunctionType():
                return ("function type", vs(node.params), v(node.result))
            case ast.Name():
                return ("name", node.id)
            case ast.Constant():
                return ("constant", str(node.kind))
            case ast.Int():
                return ("int", node.value, node.suffix)
            case ast.Float():
                return ("float", node.value)
            case ast.Str():
                return ("str", node.value)
            case ast.JoinedStr():
                parts = [part if isinstance(part, str) else v(part) for part in node.parts]
                return ("joined", parts)
            case ast.FormattedValue():
                return ("formatted", v(node.value), node.spec)
            case ast.Paren():
                return ("paren", v(node.value))
            case ast.Unary():
                return ("unary", str(node.op), v(node.operand))
            case ast.Binary():
                return ("binary", str(node.op), v(node.left), v(node.right))
            case ast.Compare():
                return ("compare", v(node.left), [str(op) for op in node.ops], vs(node.comparators))
            case ast.IfExpr():
                return ("if expr", v(node.body), v(node.cond), v(node.orelse))
            case ast.Cast():
                return ("cast", v(node.value))
            case ast.Selector():
                return ("selector", v(node.value), node.name, node.optional)
            case ast.Subscript():
                return ("subscript", v(node.value), v(node.index), node.optional)
            case ast.Slice():
                return ("slice", v(node.value), v(node.lower), v(node.upper), v(node.step), node.optional)
            case ast.Call():
                return ("call", v(node.func), vs(node.args), self.keywords(node.keywords))
            case ast.SchemaExpr():
                return ("schema expr", v(node.name), vs(node.args), self.keywords(node.keywords), v(node.config))
            case ast.Starred():
                return ("starred", v(node.value))
            case ast.ListIf():
                return ("list if", v(node.cond), vs(node.body), vs(node.orelse))
            case ast.List():
                return ("list", vs(node.items))
            case ast.CompClause():
                return ("clause", vs(node.targets), v(node.iter), vs(node.conds))
            case ast.ListComp():
                return ("list comp", v(node.element), vs(node.clauses))
            case ast.Entry():
                return ("entry", v(node.key), v(node.index), str(node.op), v(node.value))
            case ast.Unpack():
                return ("unpack", v(node.value))
            case ast.ConfigIf():
                return ("config if", v(node.cond), vs(node.body), vs(node.orelse))
            case ast.Config():
                return ("config", vs(node.items))
            case ast.ConfigComp():
                return ("config comp", v(node.entry), vs(node.clauses))
            case ast.Quantifier():
                return ("quantifier", str(node.op), vs(node.targets), v(node.iter), v(node.body), v(node.cond))
            case ast.Lambda():
                return ("lambda", self.params(node.params), v(node.result), self.block(node.body))
            case ast.Member():
                return ("member", node.name)
            case ast.Index():
                return ("index", v(node.value))
            case ast.Target():
                return ("target", node.name, vs(node.path))
            case ast.Import():
                return ("import", node.path, node.alias)
            case ast.TypeAlias():
                return ("type alias", node.name, v(node.value))
            case ast.Assign():
                return ("assign", vs(node.targets), v(node.type), v(node.value))
            case ast.AugAssign():
                return ("aug", v(node.target), str(node.op), v(node.value))
            case ast.Unification():
                return ("unification", v(node.target), v(node.value))
            case ast.Assert():
                return ("assert", v(node.test), v(node.cond), v(node.message))
            case ast.If():
                return ("if", v(node.cond), self.block(node.body), self.block(node.orelse))
            case ast.ExprStmt():
                return ("expr", [v(node.value)])
            case ast.Decorator():
                return ("decorator", v(node.name), vs(node.args), self.keywords(node.keywords))
            case ast.SchemaAttr():
                op = None if node.op is None else str(node.op)
                attribute = (node.name, node.optional, v(node.type), op, v(node.value))
                return ("attr", *attribute, vs(node.decorators))
            case ast.IndexSignature():
                signature = (node.name, v(node.key_type), node.any_other, v(node.value_type), v(node.default))
                return ("signature", *signature)
            case ast.Check():
                return ("check", v(node.test), v(node.cond), v(node.message))
            case ast.Schema():
                return (
                    "schema",
                    node.name,
                    None if node.doc is None else "doc",
                    self.params(node.params),
                    v(node.parent),
                    v(node.host),
                    node.is_mixin,
                    node.is_protocol,
                    vs(node.mixins),
                    vs(node.decorators),
                    self.block(node.body),
                    v(node.index_signature),
                    vs(node.checks),
                )
            case ast.Rule():
                return (
                    "rule",
                    node.name,
                    None if node.doc is None else "doc",
                    self.params(node.params),
                    vs(node.parents),
                    v(node.host),
                    vs(node.decorators),
                    vs(node.checks),
                )
            case _:
                raise AssertionError(node)
