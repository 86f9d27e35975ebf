"""What `$ref` means inside of one document. Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from kcl.terminal import harmless
from kcl.tools.imports import names
from kcl.tools.imports.failure import ImportFailure
from kcl.tools.imports.shapes import Dialect, Reader, Shape
from kcl.tools.imports.types import Definitions

_GENERIC: Final = frozenset(("properties", "items", "definitions", "$defs", "schemas", "additionalProperties"))
_LONGEST_CHAIN: Final = 100


class References:
    """The definitions of one document, by JSON pointer."""

    def __init__(self, document: Any, dialect: Dialect, root_name: str, shown: str, taken: Iterable[str] = ()) -> None:
        """`taken` are names of the package that other documents have."""
        self._document = document
        self._taken = frozenset(taken)
        self._shown = shown
        self._root_name = root_name
        self._reader = Reader(dialect, self.resolve)
        self._places: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._base = ""
        self._index(document, "", "", 0)
        self.definitions = Definitions(self.shape, self.schema_name)

    def read(self, pointer: str) -> Shape:
        """The shape of the schema at a place, references as they are. Raises ImportFailure."""
        try:
            return self._reader.read(self._value(pointer, pointer), pointer)
        except ImportFailure as problem:
            raise ImportFailure(f"{self._shown}: {problem}") from None

    def shape(self, pointer: str) -> Shape:
        """As `read`; a chain of references that leads nowhere is an ImportFailure."""
        first = shape = self.read(pointer)
        for _ in range(_LONGEST_CHAIN):
            if not shape.ref:
                return first
            shape = self.read(shape.ref)
        raise ImportFailure(f"{self._shown}: {pointer or '/'}: refers to itself and to nothing else")

    def schema_name(self, pointer: str) -> str:
        """A name for the schema at a place, its own in this document."""
        if pointer not in self._names:
            wanted = self._wanted(pointer)
            taken = self.names | self._taken
            name, count = wanted, 1
            while name in taken:
                count += 1
                name = f"{wanted}{count}"
            self._names[pointer] = name
        return self._names[pointer]

    @property
    def names(self) -> frozenset[str]:
        """The names that were given so far."""
        return frozenset(self._names.values())

    def resolve(self, ref: str, where: str) -> str:
        """The pointer that a reference means. Raises ImportFailure for other documents, and where nothing is."""
        target = urljoin(self._base, ref) if self._base else ref
        address, fragment = urldefrag(target)
        fragment = unquote(fragment)
        if target in self._places:
            return "#" + self._places[target]
        if address and address not in (self._base, ""):
            if address not in self._places:
                raise ImportFailure(
                    f"{where}/$ref: {harmless(ref)[:200]} is in another document, and nothing is fetched: "
                    "put it under $defs of this one"
                )
            pointer = "#" + self._places[address] + fragment
        elif fragment and not fragment.startswith("/"):
            raise ImportFailure(f"{where}/$ref: nothing has the anchor {harmless(ref)[:200]}")
        else:
            pointer = f"#{fragment}"
        self._value(pointer, f"{where}/$ref")
        return pointer

    def _value(self, pointer: str, where: str) -> Any:
        value = self._document
        for token in pointer.split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping) and token in value:
                value = value[token]
            elif isinstance(value, list) and token.isdigit() and int(token) < len(value):
                value = value[int(token)]
            else:
                raise ImportFailure(f"{where}: there is nothing at {harmless(pointer)[:200]}")
        return value

    def _wanted(self, pointer: str) -> str:
        tokens = [each for each in pointer.split("/")[1:] if not each.isdigit()]
        if not tokens:
            return self._root_name
        own = [each for each in tokens if each not in _GENERIC]
        text = (own or tokens)[-1]
        if "properties" in tokens[:-1]:
            text = "_".join([self._root_name, *own[-2:]])
        return names.schema_name(text.rsplit("/", 1)[-1])

    def _index(self, value: Any, pointer: str, base: str, depth: int) -> None:
        """Finds `$id` and `$anchor`."""
        if depth > 200:
            return
        if isinstance(value, Mapping):
            for word in ("$id", "id"):
                given = value.get(word)
                if isinstance(given, str) and "properties" not in pointer.rsplit("/", 1)[-1:]:
                    base = urldefrag(urljoin(base, given))[0] if not given.startswith("#") else base
                    self._places.setdefault(base if not given.startswith("#") else base + given, pointer)
                    if not pointer:
                        self._base = base
                    break
            for word in ("$anchor", "$dynamicAnchor"):
                if isinstance(value.get(word), str):
                    self._places.setdefault(f"{base}#{value[word]}", pointer)
            for name, each in value.items():
                if name not in ("enum", "const", "default", "examples", "example"):
                    token = str(name).replace("~", "~0").replace("/", "~1")
                    self._index(each, f"{pointer}/{token}", base, depth + 1)
        elif isinstance(value, list):
            for at, each in enumerate(value):
                self._index(each, f"{pointer}/{at}", base, depth + 1)
