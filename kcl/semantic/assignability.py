"""Whether a value of one type may stand where another is expected, and what is reported when it may not."""

from __future__ import annotations

from kcl.diagnostics import Code, Label, Span
from kcl.semantic.names import Keys
from kcl.semantic.types import (
    INT,
    STR,
    DictType,
    ListType,
    LiteralType,
    SchemaInfo,
    SchemaType,
    Type,
    UnionType,
    assignable,
    common,
)
from kcl.syntax import ast


class Assignability(Keys):
    def must_fit(
        self, type_: Type, expected: Type, place: Span, annotation: Span | None = None, defined: Span | None = None
    ) -> None:
        """Reports at `place` a value that does not fit.

        `annotation` is where the expected type was written and `defined` where the value comes from, if elsewhere.
        """
        if self.fits(type_, expected, place):
            return
        labels: list[Label] = []
        if annotation is not None:
            labels.append(Label(annotation, f"variable is defined here, its type is {expected}, but got {type_}"))
        if defined is not None:
            labels.append(Label(defined, "config attribute is defined here"))
        self.report(Code.TYPE, f"expected {expected}, got {type_}", place, tuple(labels))

    def must_be_int(self, node: ast.Expr) -> None:
        self.must_fit(self.expression(node), INT, self.span(node))

    def must_be_str(self, node: ast.Expr) -> None:
        self.must_fit(self.expression(node), STR, self.span(node))

    def fits(self, type_: Type, expected: Type, place: Span) -> bool:
        """Whether a value fits. What is wrong inside a configuration for a schema is reported here, and fits."""
        if type_ is expected:
            return assignable(type_, expected)
        if isinstance(type_, ListType) and isinstance(expected, ListType):
            return self.fits(type_.item, expected.item, place)
        if isinstance(type_, DictType):
            if isinstance(expected, DictType):
                return self.fits(type_.key, expected.key, place) and self.fits(type_.value, expected.value, place)
            if isinstance(expected, SchemaType):
                self._check_dictionary(type_, expected.info, place)
                return True
        if isinstance(type_, UnionType):
            return all(self.fits(member, expected, place) for member in type_.members)
        if isinstance(expected, UnionType):
            return any(self.fits(type_, member, place) for member in expected.members)
        return assignable(type_, expected)

    def _check_dictionary(self, type_: DictType, schema: SchemaInfo, place: Span) -> None:
        signature = schema.signature
        if signature is None:
            if isinstance(type_.key, LiteralType) and isinstance(type_.key.value, str):
                name = type_.key.value
                attribute, entry = schema.attributes.get(name), type_.attributes.get(name)
                if attribute is not None and entry is not None:
                    self.must_fit(entry.type, attribute.type, place, attribute.span)
            return
        if not type_.attributes:
            value = _value_beside_attributes(type_, schema)
            if not self.fits(value, signature.value, place):
                message = f"expected schema index signature value type {signature.value}, got {value}"
                self.type_error(message, place)
            return
        for name, entry in type_.attributes.items():
            attribute = schema.attributes.get(name) if signature.any_other else None
            if attribute is not None:
                self.must_fit(entry.type, attribute.type, place, attribute.span)
            else:
                self.must_fit(entry.type, signature.value, entry.span)


def _value_beside_attributes(type_: DictType, schema: SchemaInfo) -> Type:
    """The type of the values whose keys are no attributes of the schema, as far as keys are told apart."""
    if not isinstance(type_.key, UnionType) or not isinstance(type_.value, UnionType):
        return type_.value
    return common(
        [
            value
            for key, value in zip(type_.key.members, type_.value.members, strict=False)
            if isinstance(key, LiteralType) and key.value not in schema.attributes
        ]
    )
