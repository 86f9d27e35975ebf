"""Objects walked along their type: which fields they have, how two compare, what a merge of them is.

The rules are those of structured-merge-diff: maps merge member by member, associative lists element by element (told
apart by their keys, or by value in a set), atomic maps and lists as a whole. `ABSENT` is not null: null is a value
that may stand for an empty map or list.
"""

from __future__ import annotations

from typing import Any, Final

from kcl.records import dataclass, field
from runtimes.sandbox.apply.fieldset import FieldSet, Path, element_text, keyed, member, scalar
from runtimes.sandbox.schema.types import ListShape, MapShape, Type


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


class TypedError(Exception):
    """An object that does not fit its type. `problems` are `path: message` texts."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems[0] if len(problems) == 1 else "\n".join(["errors:", *(f"  {it}" for it in problems)]))
        self.problems = problems


def go_value(value: object) -> str:
    """A value as Go's `%v` prints one that was decoded from JSON."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case list():
            return "[" + " ".join(go_value(item) for item in value) + "]"
        case dict():
            return "map[" + " ".join(f"{key}:{go_value(value[key])}" for key in sorted(value)) + "]"
    return str(value)


def go_type(value: object) -> str:
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case list():
            return "[]interface {}"
        case dict():
            return "map[string]interface {}"
    return "string"


class NoElement(TypedError):
    """Why a list element cannot be told apart from others."""

    def __init__(self, problem: str) -> None:
        super().__init__([problem])


def list_element(shape: ListShape, value: object) -> str:
    """The path element of a list's element. Raises NoElement."""
    if not shape.keys:
        match value:
            case dict():
                raise NoElement("associative list without keys has an element that's a map type")
            case list():
                raise NoElement("not supported: associative list with lists as elements")
            case None:
                raise NoElement("associative list without keys has an element that's an explicit null")
        return scalar(value)
    if value is None:
        raise NoElement("associative list with keys may not have a null element")
    if not isinstance(value, dict):
        raise NoElement("associative list with keys may not have non-map elements")
    found: dict[str, Any] = {}
    for key in shape.keys:
        if key in value:
            found[key] = value[key]
            continue
        fields = shape.element.map.fields if shape.element.map is not None else {}
        if key in fields and fields[key].default is not None:
            found[key] = fields[key].default
    if not found:
        names = " ".join(f'"{key}"' for key in shape.keys)
        raise NoElement(
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    return keyed(found)


# --- fitting -------------------------------------------------------------------------------------------------------


def check(type_: Type, value: object, *, allow_duplicates: bool) -> None:
    """Raises TypedError if `value` does not fit: unknown members, wrong forms, and doubled list keys unless allowed."""
    problems = _problems(type_, value, allow_duplicates)
    if problems:
        raise TypedError([f"{path}: {message}" if path else f": {message}" for path, message in problems])


def _problems(type_: Type, value: object, allow_duplicates: bool) -> list[tuple[str, str]]:
    match type_.form_of(value):
        case MapShape() as shape:
            if value is None:
                return []
            if not isinstance(value, dict):
                return [("", f"expected map, got {_described(value)}")]
            return _map_problems(shape, value, allow_duplicates)
        case ListShape() as shape:
            if value is None:
                return []
            if not isinstance(value, list):
                return [("", f"expected list, got {_described(value)}")]
            return _list_problems(shape, value, allow_duplicates)
        case kind:
            return _scalar_problems(kind, value)


def _described(value: object) -> str:
    """How Go prints the wrapped value in these messages: `&{...}`."""
    return f"&{{{go_value(value)}}}"


def _scalar_problems(kind: str, value: object) -> list[tuple[str, str]]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case _ if value is None:
            return []
        case "numeric" if not is_number:
            return [("", f"expected numeric (int or float), got {go_type(value)}")]
        case "string" if not isinstance(value, str):
            return [("", f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}")]
        case "boolean" if not isinstance(value, bool):
            return [("", f"expected boolean, got {_described(value)}")]
        case "untyped" if isinstance(value, list | dict):
            return [("", f"expected any scalar, got {_described(value)}")]
    return []


def _go_syntax(value: object) -> str:
    """A value as Go's `%#v` prints it."""
    match value:
        case list():
            return "[]interface {}{" + ", ".join(_go_syntax(item) for item in value) + "}"
        case dict():
            inner = ", ".join(f'"{key}":{_go_syntax(value[key])}' for key in sorted(value))
            return f"map[string]interface {{}}{{{inner}}}"
        case str():
            return f'"{value}"'
        case None:
            return "interface {}(nil)"
    return go_value(value)


def _map_problems(shape: MapShape, value: dict[str, Any], allow_duplicates: bool) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []
    for name, inner in value.items():
        type_ = shape.member(name)
        if type_ is None:
            problems.append((f".{name}", "field not declared in schema"))
            break  # one unknown member ends the map, as at the real server
        problems += [(f".{name}{path}", message) for path, message in _problems(type_, inner, allow_duplicates)]
    return problems


def _list_problems(shape: ListShape, value: list[Any], allow_duplicates: bool) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        where = f"[{index}]"
        if shape.associative:
            try:
                element = list_element(shape, item)
            except NoElement as error:
                return [*problems, ("", f"element {index}: {error}")]
            where = element_text(element)
            if element in seen and not allow_duplicates:
                problems.append(("", f"duplicate entries for key {where}"))
            seen.add(element)
        found = _problems(shape.element, item, allow_duplicates)
        problems += [(f"{where}{path}", message) for path, message in found]
    return problems


# --- fields --------------------------------------------------------------------------------------------------------


def field_set(type_: Type, value: object) -> FieldSet:
    """The fields that `value` has: its leaves, elements of lists, members of open maps, and empty or null maps."""
    made = FieldSet()
    _collect(type_, value, (), made)
    return made


def _collect(type_: Type, value: object, path: Path, into: FieldSet) -> None:
    match type_.form_of(value):
        case MapShape() as shape:
            if shape.atomic:
                into.insert(path)
            elif isinstance(value, dict):
                _collect_map(shape, value, path, into)
        case ListShape() as shape:
            if not shape.associative:
                into.insert(path)
            elif isinstance(value, list):
                _collect_list(shape, value, path, into)
        case _:
            into.insert(path)


def _collect_map(shape: MapShape, value: dict[str, Any], path: Path, into: FieldSet) -> None:
    for name, inner in value.items():
        type_ = shape.member(name)
        if type_ is None:
            continue
        below = (*path, member(name))
        _collect(type_, inner, below, into)
        if inner is None or inner == {} or name not in shape.fields:
            into.insert(below)


def _collect_list(shape: ListShape, value: list[Any], path: Path, into: FieldSet) -> None:
    elements = [list_element(shape, item) for item in value]
    for element, item in zip(elements, value, strict=True):
        below = (*path, element)
        if elements.count(element) == 1:
            _collect(shape.element, item, below, into)
        into.insert(below)  # doubled elements are owned as one, without what is in them


# --- comparing -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Comparison:
    """The fields that were removed, changed and added; no field is in two of them."""

    removed: FieldSet = field(default_factory=FieldSet)
    modified: FieldSet = field(default_factory=FieldSet)
    added: FieldSet = field(default_factory=FieldSet)

    def without(self, ignored: FieldSet) -> Comparison:
        return Comparison(self.removed.without(ignored), self.modified.without(ignored), self.added.without(ignored))


def same(left: object, right: object) -> bool:
    """Equality of JSON values: true is not 1, 1 is 1.0, texts compare as texts."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return left == right


def compare(type_: Type, old: object, new: object) -> Comparison:
    made = Comparison()
    _compare(type_, old, new, (), made)
    return made


def _forms(type_: Type, left: object, right: object) -> list[Any]:
    """The form, or the two forms if the sides differ in it (then each is walked)."""
    if right is ABSENT:
        return [type_.form_of(left)]
    form = type_.form_of(right)
    if left is ABSENT or left is None or right is None:
        return [form if right is not None else type_.form_of(left)]
    other = type_.form_of(left)
    return [form] if other is form or other == form else [other, form]


def _is_leaf(form: object, left: object, right: object) -> bool:
    """Owned as a whole: scalars, atomic maps and lists, and maps or lists that are empty on both sides."""
    match form:
        case MapShape():
            return form.atomic or not ((isinstance(left, dict) and left) or (isinstance(right, dict) and right))
        case ListShape():
            return not form.associative or not (
                (isinstance(left, list) and left) or (isinstance(right, list) and right)
            )
    return True


def _compare(type_: Type, left: object, right: object, path: Path, into: Comparison) -> None:
    was_leaf = False
    for form in _forms(type_, left, right):
        if _is_leaf(form, left, right):
            was_leaf = True
            if left is ABSENT:
                into.added.insert(path)
            elif right is ABSENT:
                into.removed.insert(path)
            elif not same(left, right):
                into.modified.insert(path)
        elif isinstance(form, MapShape):
            _compare_maps(form, left, right, path, into)
        elif isinstance(form, ListShape):
            _compare_lists(form, left, right, path, into)
    if not was_leaf:
        if left is ABSENT:
            into.added.insert(path)
        elif right is ABSENT:
            into.removed.insert(path)


def _compare_maps(shape: MapShape, left: object, right: object, path: Path, into: Comparison) -> None:
    lefts = left if isinstance(left, dict) else {}
    rights = right if isinstance(right, dict) else {}
    for name in lefts | rights:
        type_ = shape.member(name)
        if type_ is not None:
            _compare(type_, lefts.get(name, ABSENT), rights.get(name, ABSENT), (*path, member(name)), into)


def _grouped(shape: ListShape, value: object) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for item in value if isinstance(value, list) else ():
        groups.setdefault(list_element(shape, item), []).append(item)
    return groups


def _compare_lists(shape: ListShape, left: object, right: object, path: Path, into: Comparison) -> None:
    lefts, rights = _grouped(shape, left), _grouped(shape, right)
    for element in lefts | rights:
        old, new = lefts.get(element, []), rights.get(element, [])
        below = (*path, element)
        if len(old) <= 1 and len(new) <= 1:
            _compare(shape.element, old[0] if old else ABSENT, new[0] if new else ABSENT, below, into)
        elif len(old) >= 2 and len(new) >= 2:
            if not same(old, new):
                into.modified.insert(below)
        elif len(old) >= 2:
            if new:
                _compare(shape.element, ABSENT, new[0], below, into)
            into.removed.insert(below)
        else:
            if old:
                _compare(shape.element, old[0], ABSENT, below, into)
            into.added.insert(below)


# --- merging -------------------------------------------------------------------------------------------------------


def merge(type_: Type, left: Any, right: Any) -> Any:
    """`left` with `right` laid over it. `ABSENT` if nothing is left, such as a map of which no member came out."""
    forms = _forms(type_, left, right)
    form = forms[-1]
    if _is_leaf(form, left, right):
        return left if right is ABSENT else right
    if isinstance(form, MapShape):
        return _merge_maps(form, left, right)
    return _merge_lists(form, left, right)


def _merge_maps(shape: MapShape, left: object, right: object) -> Any:
    lefts = left if isinstance(left, dict) else {}
    rights = right if isinstance(right, dict) else {}
    out: dict[str, Any] = {}
    for name in lefts | rights:
        type_ = shape.member(name)
        if type_ is None:
            continue
        merged = merge(type_, lefts.get(name, ABSENT), rights.get(name, ABSENT))
        if merged is not ABSENT:
            out[name] = merged
    return out or ABSENT


def _merge_lists(shape: ListShape, left: object, right: object) -> Any:
    """Elements of both sides. Those on both sides come in the order of `right`; the others keep their places."""
    lefts = left if isinstance(left, list) else []
    rights = right if isinstance(right, list) else []
    left_elements = [list_element(shape, item) for item in lefts]
    right_elements = [list_element(shape, item) for item in rights]
    by_left: dict[str, Any] = {}
    for element, item in zip(left_elements, lefts, strict=True):
        by_left[element] = None if element in by_left else item
    by_right = dict(zip(right_elements, rights, strict=True))
    shared = [element for element in right_elements if element in by_left]
    out: list[Any] = []

    def take(element: str, old: object, new: object) -> None:
        merged = merge(shape.element, old, new)
        if merged is not ABSENT:
            out.append(merged)

    done: set[str] = set()
    at_left = at_right = at_shared = 0
    while at_left < len(lefts) or at_right < len(rights):
        if at_left < len(lefts) and at_right < len(rights):
            element = left_elements[at_left]
            if element == right_elements[at_right]:
                done.add(element)
                take(element, by_left.get(element, ABSENT), by_right.get(element, ABSENT))
                at_left, at_right, at_shared = at_left + 1, at_right + 1, at_shared + 1
                continue
            if element in by_right and at_shared < len(shared) and shared[at_shared] != element:
                at_left += 1  # on both sides, but not the next of them in the order of `right`
                continue
        if at_left < len(lefts):
            element = left_elements[at_left]
            if element not in by_right:
                take(element, lefts[at_left], ABSENT)
                at_left += 1
                continue
            if element in done:
                at_left += 1
        if at_right < len(rights):
            element = right_elements[at_right]
            done.add(element)
            take(element, by_left.get(element, ABSENT), by_right[element])
            at_right += 1
            if at_shared < len(shared) and shared[at_shared] == element:
                at_shared += 1
    return out or ABSENT


# --- removing ------------------------------------------------------------------------------------------------------


def remove(type_: Type, value: Any, fields: FieldSet) -> Any:
    """`value` without `fields`; None for a map or list of which nothing is left."""
    match type_.form_of(value):
        case MapShape() as shape:
            if not isinstance(value, dict) or not value or shape.atomic:
                return None
            return _remove_members(shape, value, fields)
        case ListShape() as shape:
            if not isinstance(value, list) or not value or not shape.associative:
                return None
            return _remove_elements(shape, value, fields)
    return value


def _remove_members(shape: MapShape, value: dict[str, Any], fields: FieldSet) -> dict[str, Any] | None:
    out: dict[str, Any] = {}
    for name, inner in value.items():
        element = member(name)
        if element in fields.members:
            continue
        below, type_ = fields.below(element), shape.member(name)
        out[name] = remove(type_, inner, below) if below and type_ is not None else inner
    return out or None


def _remove_elements(shape: ListShape, value: list[Any], fields: FieldSet) -> list[Any] | None:
    out: list[Any] = []
    for item in value:
        element = list_element(shape, item)
        if element in fields.members:
            continue
        below = fields.below(element)
        out.append(remove(shape.element, item, below) if below else item)
    return out or None
