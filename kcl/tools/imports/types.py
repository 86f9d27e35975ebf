"""Shapes to types of KCL, and to the schemas that these name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kcl.records import dataclass, field, replace
from kcl.tools.imports import literals, names, texts
from kcl.tools.imports.defaults import fits, has_type, with_whole_numbers
from kcl.tools.imports.merging import with_references
from kcl.tools.imports.shapes import ARRAY, BOOLEAN, INTEGER, NULL, NUMBER, OBJECT, STRING, Shape

_WORDS: Final = {STRING: "str", INTEGER: "int", NUMBER: "float", BOOLEAN: "bool"}
_KINDS: Final[Mapping[str, frozenset[str]]] = {
    STRING: frozenset({"str"}),
    INTEGER: frozenset({"int"}),
    NUMBER: frozenset({"int", "float"}),
    BOOLEAN: frozenset({"bool"}),
    ARRAY: frozenset({"list"}),
    OBJECT: frozenset({"object"}),
    NULL: frozenset(),
}
KINDS: Final = frozenset({"str", "int", "float", "bool", "list", "object"})
_MOST_LITERALS: Final = 500
_LONGEST_NAME: Final = 200


def kinds_of(shape: Shape) -> frozenset[str]:
    """What values of a shape may be while a program runs, None apart."""
    return frozenset().union(*(_KINDS[each] for each in shape.types)) if shape.types else KINDS


@dataclass(frozen=True, slots=True)
class Type:
    """A type, and what of it is known where a program is written. `kinds` is everything for `any`."""

    text: str
    kinds: frozenset[str] = KINDS
    holds_enum: bool = False
    element: Type | None = None
    schema: Made | None = None

    @property
    def is_any(self) -> bool:
        return self.text == "any"


ANY: Final = Type("any")


@dataclass(slots=True)
class Attribute:
    """One attribute of a schema. `name` is that of the document."""

    name: str
    type: Type
    shape: Shape
    is_optional: bool
    default: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Made:
    """A schema. `shape` is flat; `base` the name of another one that it is no more than."""

    name: str
    shape: Shape
    description: str
    attributes: list[Attribute] = field(default_factory=list)
    index: Type | None = None
    base: str = ""
    checks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    fixed: Mapping[str, str] = field(default_factory=dict)
    index_name: str = ""
    """How checks call the names that the schema does not list."""
    index_checks: list[str] = field(default_factory=list)
    """What holds for each of these names. With them a check block is only for these names, whatever is in it."""

    def attribute(self, name: str) -> Attribute | None:
        return next((each for each in self.attributes if each.name == name), None)


class Definitions:
    """What `$ref` can mean, by name; shapes are read when they are asked for first."""

    def __init__(self, read: Callable[[str], Shape], schema_name: Callable[[str], str]) -> None:
        self._read, self.schema_name = read, schema_name
        self._shapes: dict[str, Shape] = {}

    def __getitem__(self, name: str) -> Shape:
        if name not in self._shapes:
            self._shapes[name] = self._read(name)
        return self._shapes[name]


def _no_definition(name: str) -> Shape:
    raise AssertionError(f"nothing is named {name}")


NO_DEFINITIONS: Final = Definitions(_no_definition, names.schema_name)


class PackageNames:
    """Names of the schemas of one package, which all its files share.

    A part of one document may come to the name of another document: the block `rule` of `aws_group`, and
    `aws_group_rule`. The names of `roots` are for the documents themselves.
    """

    def __init__(self, roots: Iterable[str] = ()) -> None:
        self._free = set(roots)
        self.taken = set(self._free)

    def begin(self, root: str) -> None:
        """Gives the name of a root free for the schema that is made next."""
        if root in self._free:
            self._free.discard(root)
            self.taken.discard(root)


class Typing:
    """Makes the schemas of one file, in the order in which they are to be written."""

    def __init__(
        self,
        definitions: Definitions = NO_DEFINITIONS,
        external: Callable[[str], Type | None] = lambda name: None,
        package: PackageNames | None = None,
    ) -> None:
        self.definitions = definitions
        self.made: list[Made] = []
        self.external = external
        self._taken = package.taken if package is not None else set[str]()
        self.document: Made | None = None
        """The schema for a whole document, which nothing need have as attribute."""
        self._of_definition: dict[str, Type] = {}
        self._in_progress: set[str] = set()
        self._unfinished: dict[str, Made] = {}

    def reserve(self, name: str) -> None:
        """Keeps a name from being given to another schema."""
        self._taken.add(name)

    def opened(self, shape: Shape) -> Shape:
        """The shape with `all_of` taken in."""
        return with_references(shape, self.definitions.__getitem__) if shape.all_of else shape

    def root(self, shape: Shape, name: str, inner: str, fixed: Mapping[str, Attribute] | None = None) -> Made:
        """A schema for a whole document; schemas inside get names that begin with `inner`."""
        shape = self.opened(shape)
        if shape.ref:
            target = self.type_of(shape, inner)
            if target.schema is not None:
                made = Made(name, Shape(shape.where), shape.description, base=target.text)
                self.made.insert(0, made)
                return made
        self.document = self._schema(shape, name, inner, fixed or {})
        return self.document

    def definition(self, ref: str, shape: Shape, name: str) -> Made:
        """A schema for a definition, under a name of its own; references to the definition mean it."""
        made = self._begun(shape, name)
        self._of_definition[ref] = Type(made.name, _KINDS[OBJECT], schema=made)
        self._fill(made, made.name, {})
        return made

    def type_of(self, shape: Shape, name: str) -> Type:
        """The type for a shape; schemas it needs get names that begin with `name`."""
        shape = self.opened(shape)
        if shape.ref:
            return self._referred(shape.ref)
        if shape.enum is not None:
            found = _literals(shape)
            if found is not None:
                return found
        if shape.types == (NULL,) or shape.never:
            return ANY
        if not shape.types:
            return self._alternatives(shape, name)
        found_types = [self._single(shape, each, name) for each in shape.types]
        return _union(found_types)

    # --- Kinds of types ---

    def _referred(self, ref: str) -> Type:
        known = self._of_definition.get(ref) or self.external(ref)
        if known is not None:
            return known
        if ref in self._in_progress:
            return ANY  # no type stands for itself; the conditions do
        shape = self.opened(self.definitions[ref])
        name = self.definitions.schema_name(ref)
        self._in_progress.add(ref)
        try:
            if is_schema(shape) and shape.types in ((), (OBJECT,)):
                self.definition(ref, shape, name)
                return self._of_definition[ref]
            else:
                found = self.type_of(shape, name)
                self._of_definition[ref] = found
        finally:
            self._in_progress.discard(ref)
        return found

    def _single(self, shape: Shape, kind: str, name: str) -> Type:
        if kind == ARRAY:
            if shape.first_items:
                return Type("[any]", _KINDS[ARRAY], element=ANY)
            element = self.type_of(shape.items, f"{name}Items0") if shape.items is not None else ANY
            return Type(f"[{element.text}]", _KINDS[ARRAY], element=element)
        if kind == OBJECT:
            if is_schema(shape):
                made = self._schema(shape, name, name, {})
                return Type(made.name, _KINDS[OBJECT], schema=made)
            if shape.additional is not None and not shape.patterns and not shape.properties:
                element = self.type_of(shape.additional, f"{name}Anon")
                return Type(f"{{str:{element.text}}}", _KINDS[OBJECT], element=element)
            return ANY  # a mapping or an instance of any schema
        return Type(_WORDS[kind], _KINDS[kind])

    def _alternatives(self, shape: Shape, name: str) -> Type:
        """A union where each alternative has a type of another kind."""
        branches = shape.any_of or shape.one_of
        if not branches or (shape.any_of and shape.one_of):
            return ANY
        taken: set[str] = set()
        for each in branches:
            kinds = self.static_kinds(each)
            if kinds is None or taken & kinds & {"list", "object"}:
                return ANY
            taken |= kinds
        if "object" in taken and (shape.properties or shape.patterns or shape.additional is not None):
            return ANY  # a schema of the alternative would not know what stands beside it
        found = []
        for at, each in enumerate(branches):
            if each.types != (NULL,):
                found.append(self.type_of(each, f"{name}Of{at}"))
        return replace(_union(found), holds_enum=False) if found else ANY

    def static_kinds(self, shape: Shape, depth: int = 0) -> frozenset[str] | None:
        """The kinds of an alternative, None where it has no type of its own."""
        shape = self.opened(shape)
        if shape.ref:
            external = self.external(shape.ref)
            if external is not None:
                return external.kinds
            return None if depth > 10 else self.static_kinds(self.definitions[shape.ref], depth + 1)
        if shape.types == (NULL,):
            return frozenset()
        if shape.enum is not None:
            found = _literals(shape)
            return None if found is None else found.kinds
        if not shape.types:
            return None
        if OBJECT in shape.types and not is_schema(shape) and shape.additional is None:
            return None
        return kinds_of(shape)

    # --- Schemas ---

    def _schema(self, shape: Shape, name: str, inner: str, fixed: Mapping[str, Attribute]) -> Made:
        known = self._unfinished.get(shape.where)
        if known is not None:
            return known  # `allOf` takes in the object that it is part of
        made = self._begun(shape, name)
        if shape.where:
            self._unfinished[shape.where] = made
        self._fill(made, inner if inner != name else made.name, fixed)
        self._unfinished.pop(shape.where, None)
        return made

    def _begun(self, shape: Shape, name: str) -> Made:
        name = wanted = name[:_LONGEST_NAME]
        count = 1
        while name in self._taken:
            count += 1
            name = f"{wanted}{count}"
        self._taken.add(name)
        made = Made(name, shape, shape.description)
        self.made.append(made)
        return made

    def _fill(self, made: Made, inner: str, fixed: Mapping[str, Attribute]) -> None:
        shape = made.shape
        found = {name: each for name, each in fixed.items() if name in ("apiVersion", "kind", "metadata")}
        for name in sorted(shape.properties):
            if name not in found:
                found[name] = self._attribute(shape, name, inner + names.camel(name))
        made.attributes = list(found.values())
        if shape.additional is not None and not shape.patterns:
            made.index = self.type_of(shape.additional, f"{inner}Anon")
        elif shape.is_open or shape.patterns or shape.additional is not None:
            made.index = ANY

    def _attribute(self, owner: Shape, name: str, inner: str) -> Attribute:
        shape = self.opened(owner.properties[name])
        if shape.has_default:
            shape = replace(shape, default=with_whole_numbers(shape, shape.default, self._followed))
        found = self.type_of(shape, names.schema_name(inner))
        target = self.opened(self.definitions[shape.ref]) if shape.ref and not self.external(shape.ref) else shape
        nullable = target.is_nullable or shape.is_nullable
        default = ""
        notes = []
        if shape.has_default and shape.default is not None:
            if names.is_identifier(name) and name.startswith("_"):
                pass
            elif NUMBER not in shape.types and literals.holds_large(shape.default):
                notes.append("the default is left out, since KCL has no whole numbers of its size")
            elif literals.can_be_written(shape.default) and fits(shape, shape.default, self._followed):
                default = literals.value(shape.default)
            else:
                notes.append("the default is left out, since the schema refuses it")
        required = name in owner.required
        constant = (
            _literals(shape, 1) if required and not nullable and not shape.ref and shape.enum is not None else None
        )
        if constant is not None and len(shape.enum or ()) == 1:
            found, default = constant, literals.value((shape.enum or ())[0])  # which says what happens anyway
        if name.startswith("_") and names.is_identifier(name):
            notes.append("KCL prints no names that begin with _")
        return Attribute(name, found, shape, not required or nullable, default, notes)

    def _followed(self, shape: Shape) -> Shape | None:
        """What a shape refers to; None for what is defined elsewhere."""
        shape = self.opened(shape)
        while shape.ref:
            if self.external(shape.ref) is not None:
                return None
            shape = self.opened(self.definitions[shape.ref])
        return shape


def is_schema(shape: Shape) -> bool:
    """Whether an object gets a schema of its own: where it lists names."""
    return OBJECT in (shape.types or (OBJECT,)) and bool(shape.properties)


def _literals(shape: Shape, least: int = 2) -> Type | None:
    """A union of literals, or of the types of numbers and truths; None where one of the values has none.

    The compilers widen `{n = 1}` to a mapping of `int`, and refuse it then where `1 | 2` is wanted. One text alone is a
    type for what must be set: of what is optional it is not agreed whether it sets itself.
    """
    enum = shape.enum or ()
    kept = [each for each in enum if not shape.types or any(has_type(each, kind) for kind in shape.types)]
    if not least <= len(kept) <= _MOST_LITERALS:
        return None
    kinds: set[str] = set()
    for each in kept:
        if isinstance(each, bool):
            kinds.add("bool")
        elif isinstance(each, int) and 0 <= each < 2**63:
            kinds.add("int")
        elif isinstance(each, str) and texts.is_plain(each):
            kinds.add("str")
        else:
            return None
    if kinds != {"str"}:
        is_all = kinds == {"bool"} and len(kept) == 2
        return Type(" | ".join(sorted(kinds)), frozenset(kinds), holds_enum=is_all)
    return Type(" | ".join(literals.value(each) for each in kept), frozenset(kinds), holds_enum=True)


def _union(found: list[Type]) -> Type:
    if len(found) == 1:
        return found[0]
    if any(each.is_any for each in found):
        return ANY
    texts = [each.text for each in found]
    kinds: frozenset[str] = frozenset().union(*(each.kinds for each in found))
    elements = [each.element for each in found if each.element is not None]
    schemas = [each.schema for each in found if each.schema is not None]
    return Type(
        " | ".join(dict.fromkeys(texts)),
        kinds,
        element=elements[0] if len(elements) == 1 and not schemas else None,
        schema=schemas[0] if len(schemas) == 1 and not elements else None,
    )
