"""Reads YAML as the official tools do: the 1.2 core schema, so `on`, `1_000` and `2020-01-01` are strings.

PyYAML costs 30 ms to import, hence only on first use. Its own resolver follows YAML 1.1 and is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kcl.bounds import MOST_DIGITS, LimitError, check_depth, check_yaml, count_nodes
from kcl.patterns import pattern

if TYPE_CHECKING:
    import yaml

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT: Final = pattern(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED_INT: Final = pattern(r"[-+]?0(?:x[0-9a-fA-F]+|o[0-7]+|b[01]+)")
_FLOAT: Final = pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO: Final = pattern(r"[-+]?0[0-9]")
_PLAIN: Final = "plain scalar"
_SPECIAL_FLOAT: Final = pattern(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class YamlError(ValueError):
    """Text that is not YAML. `line` and `column` count from 1; 0 means unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0, context: str = "") -> None:
        place = f" at line {line} column {column}" if line else ""
        super().__init__(message + place + (f", {context}" if context else ""))
        self.problem = message
        self.line = line
        self.column = column


def load_yaml(text: str) -> Any:
    """The one document of `text` as plain values, None when it is empty. Several documents are a YamlError."""
    documents = load_all_yaml(text)
    if len(documents) > 1:
        raise YamlError("deserializing from YAML containing more than one document is not supported")
    return documents[0] if documents else None


def load_all_yaml(text: str) -> list[Any]:
    """Every document of `text`, in order; mapping keys become strings, the last of the same key wins.

    Raises YamlError.
    """
    import yaml

    try:
        return _bounded(text)
    except LimitError as over:
        raise YamlError(over.problem, over.line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "not YAML"
        context = error.context if error.context and error.context != problem else ""
        raise YamlError(problem, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0, context) from None
    except yaml.YAMLError as error:
        raise YamlError(str(error).replace("\n", " ")) from None
    except RecursionError:
        raise YamlError("the document is nested too deeply") from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        # what the constructors of PyYAML raise for values that their tags do not allow: `!!int x`, a 13th month
        raise YamlError("a value is not what its tag says") from None


def _bounded(text: str) -> list[Any]:
    """Raises LimitError, and what PyYAML raises."""
    import yaml

    check_yaml(text)
    try:
        documents = list(yaml.load_all(text, Loader=_loader()))
        for each in documents:
            check_depth(each)
    except (LimitError, RecursionError):
        count_nodes(text)  # knows the line
        raise
    return documents


def plain_scalar(text: str) -> Any:
    """The value of an unquoted scalar under the core schema."""
    if text in _NULL:
        return None
    known = _BOOL.get(text)
    if known is not None:
        return known
    if _INT.fullmatch(text):
        return int(text) if len(text) < MOST_DIGITS else float(text)
    if len(text) < MOST_DIGITS and _BASED_INT.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text) and not _LEADING_ZERO.match(text):
        return float(text)
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(text.replace(".", "", 1).lower())
    return text


@cache
def _loader() -> type[yaml.CSafeLoader]:
    """The loader class, built on first use because its base is imported lazily."""
    import yaml

    class CoreLoader(yaml.CSafeLoader):
        """CSafeLoader with the core schema in place of the YAML 1.1 types."""

        def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
            """The tag of a node that has none: only unquoted scalars may be anything but text."""
            if kind is yaml.ScalarNode:
                return _PLAIN if implicit[0] else "tag:yaml.org,2002:str"
            return "tag:yaml.org,2002:seq" if kind is yaml.SequenceNode else "tag:yaml.org,2002:map"

    def plain(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> Any:
        return plain_scalar(node.value)

    def text(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> Any:
        return node.value

    def mapping(loader: yaml.CSafeLoader, node: yaml.MappingNode) -> Any:
        result: dict[str, Any] = {}
        yield result
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            name = key if isinstance(key, str) else _key_text(key_node, key)
            result[name] = loader.construct_object(value_node, deep=True)

    def tagged(loader: yaml.CSafeLoader, suffix: str, node: yaml.Node) -> Any:
        raise yaml.constructor.ConstructorError(None, None, f"tag '!{suffix}' is not supported", node.start_mark)

    add: Callable[..., None] = CoreLoader.add_constructor
    add(_PLAIN, plain)
    add("tag:yaml.org,2002:str", text)
    add("tag:yaml.org,2002:map", mapping)
    CoreLoader.add_multi_constructor("!", tagged)
    return CoreLoader


def _key_text(node: yaml.Node, key: object) -> str:
    """A mapping key that is not a string, as text: as it is spelled, for scalars."""
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        return "null"
    value = getattr(node, "value", None)
    if isinstance(value, str):
        return value
    import yaml

    raise yaml.constructor.ConstructorError(None, None, "a mapping key must be a scalar", node.start_mark)
