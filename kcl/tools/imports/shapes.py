"""What a schema says, in one model for OpenAPI 2 and 3, structural schemas of Kubernetes and all drafts of JSON Schema.

The words of a shape are those of JSON Schema 2020-12. What older drafts and OpenAPI spell otherwise is turned into them
while reading: `nullable`, `exclusiveMinimum: true`, lists under `items`, `definitions`, `dependencies`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from kcl.records import dataclass, field, replace
from kcl.tools.imports.failure import ImportFailure
from kcl.tools.imports.formats import NOT_HELD, OF_DEFINITIONS

OBJECT, ARRAY, STRING, INTEGER, NUMBER, BOOLEAN, NULL = (
    *("object", "array", "string", "integer", "number"),
    *("boolean", "null"),
)
ALL_TYPES: Final = (STRING, INTEGER, NUMBER, BOOLEAN, OBJECT, ARRAY)
Schema: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a document means what it does not say."""

    is_closed: bool
    """Names that a schema does not list are refused, as API servers of Kubernetes do."""
    is_pruned: bool = False
    """So they are where a schema lists none, as in custom resources: an API server keeps what is described alone."""
    has_kubernetes_rules: bool = False
    applies_defaults: bool = True
    formats: frozenset[str] = frozenset()
    """Formats of texts that are held to, of `formats.FORMATS`."""
    passes_over_formats: bool = False
    """Formats that are neither held to nor in `formats.NOT_HELD` mean nothing, as API servers have it."""
    ref_hides_siblings: bool = False
    """What stands beside `$ref` means nothing: OpenAPI 2 and 3.0, JSON Schema before 2019-09."""


KUBERNETES: Final = Dialect(
    is_closed=True,
    has_kubernetes_rules=True,
    formats=OF_DEFINITIONS,
    passes_over_formats=True,
    ref_hides_siblings=True,
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in CEL (`x-kubernetes-validations`)."""

    text: str
    message: str
    message_expression: str

    @property
    def told(self) -> str:
        text = " ".join(self.text.split())
        text = text if len(text) <= 1000 else f"{text[:1000]}..."
        return text + (f" ({' '.join(self.message.split())})" if self.message else "")


@dataclass(frozen=True, slots=True)
class Shape:
    """What a value must be. `types` is empty where any will do; `never` is for the schema `false`."""

    where: str
    """The place in the document, as a JSON pointer."""
    types: tuple[str, ...] = ()
    is_nullable: bool = False
    never: bool = False
    ref: str = ""
    description: str = ""
    format: str = ""
    held_format: str = ""
    """The format of `formats.FORMATS` that a text must have."""
    unheld_format: str = ""
    """A format that is asked for and not checked."""
    default: Any = None
    has_default: bool = False
    enum: tuple[Any, ...] | None = None
    properties: Mapping[str, Shape] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    additional: Shape | None = None
    """For names not listed; None where nothing is said of them."""
    is_open: bool = True
    patterns: Mapping[str, Shape] = field(default_factory=dict)
    names: Shape | None = None
    least_properties: int | None = None
    most_properties: int | None = None
    items: Shape | None = None
    first_items: tuple[Shape, ...] = ()
    contains: Shape | None = None
    least_contained: int = 1
    most_contained: int | None = None
    least_items: int | None = None
    most_items: int | None = None
    is_unique: bool = False
    unique_keys: tuple[str, ...] = ()
    least_length: int | None = None
    most_length: int | None = None
    pattern: str | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    above: int | float | None = None
    below: int | float | None = None
    multiple_of: int | float | None = None
    all_of: tuple[Shape, ...] = ()
    any_of: tuple[Shape, ...] = ()
    one_of: tuple[Shape, ...] = ()
    not_: Shape | None = None
    condition: tuple[Shape, Shape | None, Shape | None] | None = None
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needs_shape: Mapping[str, Shape] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    unchecked: tuple[str, ...] = ()
    """What nothing here can check, in words."""

    @property
    def allowed(self) -> tuple[str, ...]:
        """The types that a value may have, null apart."""
        return self.types or ALL_TYPES


_EMBEDDED: Final = {
    "apiVersion": r"^(?:[^/]+|[^/]*/[^/]*)$",
    "kind": r"^[A-Za-z](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?$",
}
"""What an API server asks of an object inside of another."""
_NAMES_OF_METADATA: Final = (
    *("annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers"),
    *("generateName", "generation", "labels", "managedFields", "name", "namespace", "ownerReferences"),
    *("resourceVersion", "selfLink", "uid"),
)
_RESTRICTING: Final = frozenset(
    ("unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef", "extends")
)


class Reader:
    """Reads schemas of one document. `resolve` answers the name of the definition that a `$ref` means, or raises."""

    def __init__(self, dialect: Dialect, resolve: Any) -> None:
        self._dialect = dialect
        self._resolve = resolve
        self._inner = self
        if dialect.is_closed:  # what alternatives do not list may still be listed beside them
            self._inner = Reader(replace(dialect, is_closed=False, is_pruned=False), resolve)

    def read(self, schema: Any, where: str) -> Shape:
        """Raises ImportFailure, with the place."""
        if isinstance(schema, bool):
            return Shape(where, never=not schema)
        if not isinstance(schema, Mapping):
            raise ImportFailure(f"{where or '/'}: a schema is a mapping, not {_kind(schema)}")
        if "$ref" in schema and (self._dialect.ref_hides_siblings or len(schema) == 1):
            return Shape(where, ref=self._ref(schema, where), description=_text(schema.get("description")))
        shape = self._keywords(schema, where)
        if "$ref" in schema:
            other = Shape(f"{where}/$ref", ref=self._ref(schema, where))
            shape = replace(shape, all_of=(other, *shape.all_of))
        return shape

    def _ref(self, schema: Schema, where: str) -> str:
        ref = schema["$ref"]
        if not isinstance(ref, str):
            raise ImportFailure(f"{where}/$ref: is a string, not {_kind(ref)}")
        return str(self._resolve(ref, where))

    def _keywords(self, schema: Schema, where: str) -> Shape:
        dialect = self._dialect
        types, nullable = self._types(schema, where)
        enum, enum_has_null = self._enum(schema, where, INTEGER in types and NUMBER not in types)
        if enum is not None:
            nullable = nullable and enum_has_null
        first, items = self._items(schema, where)
        additional, is_open = self._additional(schema, where)
        minimum, above = self._bound(schema, where, "minimum", "exclusiveMinimum")
        maximum, below = self._bound(schema, where, "maximum", "exclusiveMaximum")
        needs, needs_shape = self._dependencies(schema, where)
        held_format, unheld_format = self._formats(_text(schema.get("format")))
        shape = Shape(
            where,
            types=types,
            is_nullable=nullable,
            description=_text(schema.get("description")) or _text(schema.get("title")),
            format=_text(schema.get("format")),
            held_format=held_format,
            unheld_format=unheld_format,
            default=schema.get("default"),
            has_default="default" in schema and dialect.applies_defaults,
            enum=enum,
            properties=self._shapes(schema, where, "properties"),
            required=self._strings(schema, where, "required"),
            additional=additional,
            is_open=is_open,
            patterns=self._shapes(schema, where, "patternProperties"),
            names=self._one(schema, where, "propertyNames"),
            least_properties=self._count(schema, where, "minProperties"),
            most_properties=self._count(schema, where, "maxProperties"),
            items=items,
            first_items=first,
            contains=self._one(schema, where, "contains"),
            least_contained=_or(self._count(schema, where, "minContains"), 1),
            most_contained=self._count(schema, where, "maxContains"),
            least_items=self._count(schema, where, "minItems"),
            most_items=self._count(schema, where, "maxItems"),
            is_unique=schema.get("uniqueItems") is True,
            least_length=self._count(schema, where, "minLength"),
            most_length=self._count(schema, where, "maxLength"),
            pattern=schema["pattern"] if isinstance(schema.get("pattern"), str) else None,
            minimum=minimum,
            maximum=maximum,
            above=above,
            below=below,
            multiple_of=self._number(schema, where, "multipleOf"),
            all_of=self._inner._several(schema, where, "allOf"),
            any_of=self._inner._several(schema, where, "anyOf"),
            one_of=self._inner._several(schema, where, "oneOf"),
            not_=self._inner._one(schema, where, "not"),
            condition=self._condition(schema, where),
            needs=needs,
            needs_shape=needs_shape,
            unchecked=tuple(f"{word} is not checked" for word in sorted(_RESTRICTING & set(schema))),
        )
        return self._kubernetes(schema, shape) if dialect.has_kubernetes_rules else shape

    # --- Keywords that have several spellings ---

    def _types(self, schema: Schema, where: str) -> tuple[tuple[str, ...], bool]:
        given = schema.get("type", [])
        listed = [given] if isinstance(given, str) else given
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise ImportFailure(f"{where}/type: is a name or a list of names, not {_kind(given)}")
        unknown = [each for each in listed if each not in (*ALL_TYPES, NULL, "any", "file", "")]
        if unknown:
            raise ImportFailure(f"{where}/type: there is no type '{unknown[0]}': one of {', '.join(ALL_TYPES)}, null")
        nullable = NULL in listed or schema.get("nullable") is True or schema.get("x-nullable") is True
        if schema.get("x-kubernetes-int-or-string") is True or schema.get("format") == "int-or-string":
            return (INTEGER, STRING), nullable
        if not listed:
            nullable = nullable or not self._dialect.has_kubernetes_rules
        if "any" in listed or "" in listed:
            return (), True
        if "file" in listed:
            return (STRING,), nullable
        if listed == [NULL]:
            return (NULL,), True
        types = tuple(each for each in ALL_TYPES if each in listed)
        if INTEGER in types and NUMBER in types:
            types = tuple(each for each in types if each != INTEGER)
        if not types and self._dialect.is_closed and schema.get("properties"):
            types = (OBJECT,)
        return types, nullable

    def _formats(self, name: str) -> tuple[str, str]:
        """The format that is checked, and the one that is asked for and not checked."""
        known = {"datetime": "date-time", "byte": "byte" if "byte" in self._dialect.formats else "bytes"}.get(
            name, name
        )
        if known in self._dialect.formats:
            return known, ""
        if self._dialect.passes_over_formats and known not in NOT_HELD:
            return "", ""
        return "", name

    def _enum(self, schema: Schema, where: str, is_whole: bool) -> tuple[tuple[Any, ...] | None, bool]:
        if "const" in schema:
            values = [schema["const"]]
            if "enum" in schema and schema["const"] not in schema["enum"]:
                values = []
        elif "enum" in schema:
            values = schema["enum"]
            if not isinstance(values, list):
                raise ImportFailure(f"{where}/enum: is a list, not {_kind(values)}")
        else:
            return None, False
        kept: list[Any] = []
        for each in values:
            if is_whole and isinstance(each, float) and each.is_integer():
                each = int(each)
            if each is not None and not any(_same(each, other) for other in kept):
                kept.append(each)
        return tuple(kept), None in values

    def _items(self, schema: Schema, where: str) -> tuple[tuple[Shape, ...], Shape | None]:
        if isinstance(schema.get("items"), list):
            return self._several(schema, where, "items"), self._one(schema, where, "additionalItems")
        return self._several(schema, where, "prefixItems"), self._one(schema, where, "items")

    def _additional(self, schema: Schema, where: str) -> tuple[Shape | None, bool]:
        """The shape of values whose names are not listed, and whether there may be such names."""
        given = schema.get("additionalProperties")
        if given is True and self._dialect.is_pruned:
            return _any_but_names(f"{where}/additionalProperties"), True
        if isinstance(given, bool):
            return None, given
        if given is not None:
            return self.read(given, f"{where}/additionalProperties"), True
        is_bare = schema.get("type") == OBJECT and not schema.get("properties")
        is_closed = self._dialect.is_pruned if is_bare else self._dialect.is_closed and bool(schema.get("properties"))
        return None, not is_closed

    def _bound(self, schema: Schema, where: str, word: str, strict_word: str) -> tuple[Any, Any]:
        bound, strict = self._number(schema, where, word), schema.get(strict_word)
        if strict is True:
            return None, bound
        return bound, None if strict is False else self._number(schema, where, strict_word)

    def _dependencies(self, schema: Schema, where: str) -> tuple[dict[str, tuple[str, ...]], dict[str, Shape]]:
        names: dict[str, tuple[str, ...]] = {}
        shapes: dict[str, Shape] = {}
        for word in ("dependencies", "dependentRequired", "dependentSchemas"):
            given = schema.get(word, {})
            if not isinstance(given, Mapping):
                raise ImportFailure(f"{where}/{word}: is a mapping, not {_kind(given)}")
            for name, needed in given.items():
                if isinstance(needed, list):
                    names[name] = tuple(str(each) for each in needed)
                elif isinstance(needed, str):
                    names[name] = (needed,)
                else:
                    shapes[name] = self.read(needed, f"{where}/{word}/{_token(name)}")
        return names, shapes

    def _condition(self, schema: Schema, where: str) -> tuple[Shape, Shape | None, Shape | None] | None:
        condition = self._one(schema, where, "if")
        if condition is None:
            return None
        return condition, self._one(schema, where, "then"), self._one(schema, where, "else")

    def _kubernetes(self, schema: Schema, shape: Shape) -> Shape:
        """What `x-kubernetes-*` adds."""
        given = schema.get("x-kubernetes-validations")
        rules = [
            Rule(*(_text(each.get(word)) for word in ("rule", "message", "messageExpression")))
            for each in (given if isinstance(given, list) else [])
            if isinstance(each, Mapping)
        ]
        if shape.types == (INTEGER, STRING):
            if _says_again(shape.any_of):
                shape = replace(shape, any_of=())
            if _says_again(shape.one_of):
                shape = replace(shape, one_of=())
        if schema.get("x-kubernetes-preserve-unknown-fields") is True:
            is_any = not shape.types and not shape.properties
            types = shape.types or (() if is_any else (OBJECT,))
            shape = replace(shape, is_open=True, types=types, is_nullable=shape.is_nullable or is_any)
        if schema.get("x-kubernetes-embedded-resource") is True:
            shape = _embedded(shape)
        kind = schema.get("x-kubernetes-list-type")
        if kind == "set":
            shape = replace(shape, is_unique=True)
        if kind == "map":
            keys = self._strings(schema, shape.where, "x-kubernetes-list-map-keys")
            shape = replace(shape, unique_keys=keys)
        return replace(shape, rules=tuple(rules))

    # --- Keywords that have one ---

    def _shapes(self, schema: Schema, where: str, word: str) -> dict[str, Shape]:
        given = schema.get(word)
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            raise ImportFailure(f"{where}/{word}: is a mapping of names to schemas, not {_kind(given)}")
        return {str(name): self.read(each, f"{where}/{word}/{_token(str(name))}") for name, each in given.items()}

    def _several(self, schema: Schema, where: str, word: str) -> tuple[Shape, ...]:
        given = schema.get(word)
        if given is None:
            return ()
        if not isinstance(given, list):
            raise ImportFailure(f"{where}/{word}: is a list of schemas, not {_kind(given)}")
        return tuple(self.read(each, f"{where}/{word}/{at}") for at, each in enumerate(given))

    def _one(self, schema: Schema, where: str, word: str) -> Shape | None:
        return self.read(schema[word], f"{where}/{word}") if schema.get(word) is not None else None

    def _strings(self, schema: Schema, where: str, word: str) -> tuple[str, ...]:
        given = schema.get(word)
        if given is None or isinstance(given, bool):  # draft 3 has booleans
            return ()
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            raise ImportFailure(f"{where}/{word}: is a list of names, not {_kind(given)}")
        return tuple(dict.fromkeys(given))

    def _count(self, schema: Schema, where: str, word: str) -> int | None:
        given = self._number(schema, where, word)
        return None if given is None else int(given)

    def _number(self, schema: Schema, where: str, word: str) -> int | float | None:
        given = schema.get(word)
        if given is None:
            return None
        if isinstance(given, bool) or not isinstance(given, int | float) or given != given:
            raise ImportFailure(f"{where}/{word}: is a number, not {_kind(given)}")
        return int(given) if isinstance(given, float) and given.is_integer() and abs(given) < 2**53 else given


def _any_but_names(where: str) -> Shape:
    """Any value whose objects have no names, in lists too: none is described."""
    inner = Shape(f"{where}/items", is_nullable=True, is_open=False)
    return Shape(where, is_nullable=True, is_open=False, items=replace(inner, items=inner))


def _embedded(shape: Shape) -> Shape:
    """An object of Kubernetes inside of another. Its metadata is that of all objects, whatever is said of it."""
    text = Shape(shape.where, types=(STRING,))
    properties = {"metadata": Shape(shape.where, types=(OBJECT,)), **shape.properties}
    properties["metadata"] = replace(properties["metadata"], is_open=True, names=replace(text, enum=_NAMES_OF_METADATA))
    for name, written in _EMBEDDED.items():
        own = properties.get(name, text)
        properties[name] = replace(own, all_of=(*own.all_of, replace(text, pattern=written)))
    required = tuple(dict.fromkeys((*shape.required, *_EMBEDDED)))
    return replace(shape, types=(OBJECT,), properties=properties, required=required)


def _says_again(branches: tuple[Shape, ...]) -> bool:
    """Whether alternatives say no more than int-or-string does."""
    return {each.types for each in branches} == {(INTEGER,), (STRING,)}


def _or(given: int | None, default: int) -> int:
    return default if given is None else given


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _text(given: Any) -> str:
    return given.strip() if isinstance(given, str) else ""


def _token(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _kind(given: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(given), "a number")
