"""What names in types mean: the declaration that a reference leads to, across files and packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kcl.records import dataclass
from kcl.syntax import ast
from kcl.syntax.walking import walk
from kcl.tools.doc.masking import Masking
from kcl.tools.doc.model import Place, Ref, Target, Text
from kcl.tools.doc.sources import Folder, Parsed
from kcl.tools.docstrings import Lines

Declaring = ast.Schema | ast.Rule | ast.TypeAlias


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration and where it stands."""

    target: Target
    node: Declaring
    folder: Folder
    file: Parsed


class Names:
    """Knows what all files declare. Private names, which begin with `_`, have no entry and are not led to."""

    def __init__(self, folders: Iterable[Folder]) -> None:
        self._in_folder: dict[str, dict[str, Declared]] = {}
        self._in_file: dict[str, dict[str, Declared]] = {}
        self._imports: dict[str, dict[str, frozenset[str]]] = {}
        for folder in folders:
            own = self._in_folder.setdefault(folder.path, {})
            shared = self._imports.setdefault(folder.path, {})
            for file in folder.files:
                for name, files in file.imports.items():
                    shared.setdefault(name, files)
                for node in declarations(file.tree.body):
                    found = Declared(Target(folder.path, node.name), node, folder, file)
                    own.setdefault(node.name, found)
                    self._in_file.setdefault(file.path, {}).setdefault(node.name, found)

    def declared(self, names: tuple[str, ...], folder: Folder, file: Parsed) -> Declared | None:
        """What `names`, one for each segment, mean in a file; None for what no file that is known declares.

        A file that has no import by that name sees those of its package's other files, as the older dialects let it.
        """
        if len(names) == 1:
            return self._in_folder[folder.path].get(names[0])
        imported = file.imports.get(names[0]) or self._imports[folder.path].get(names[0])
        if imported is None or len(names) != 2:
            return None
        return next((found for each in sorted(imported) if (found := self._in_file.get(each, {}).get(names[1]))), None)

    def target(self, names: tuple[str, ...], folder: Folder, file: Parsed) -> Target | None:
        found = self.declared(names, folder, file)
        return None if found is None or is_private(found.target.name) else found.target


def is_private(name: str) -> bool:
    return name.startswith("_")


def declarations(body: Iterable[ast.Stmt]) -> Iterator[Declaring]:
    """The schemas, rules and aliases of statements."""
    return (each for each in body if isinstance(each, ast.Schema | ast.Rule | ast.TypeAlias))


class Scope:
    """The names that one file sees, and its text."""

    def __init__(self, names: Names, folder: Folder, file: Parsed, masking: Masking) -> None:
        self.names, self.folder, self.file, self._masking = names, folder, file, masking
        self._text = file.source.text

    def at(self, declared: Declared) -> Scope:
        """The scope of the file that has a declaration."""
        return self if declared.file is self.file else Scope(self.names, declared.folder, declared.file, self._masking)

    def place(self, offset: int) -> Place:
        return Place(self.file.shown, self.file.source.position(offset).line)

    def clean(self, text: str) -> str:
        """A text of the file as it may be shown."""
        return self._masking.text(text)

    def lines(self, lines: Lines) -> Lines:
        return self._masking.lines(lines)

    def text(self, *nodes: ast.Node | None) -> Text:
        """The source from the first of the nodes to the last, in one line, with what its names lead to."""
        present = [each for each in nodes if each is not None]
        if not present:
            return ()
        at, last = present[0].start, present[-1].end
        pieces: list[str | Ref] = []
        for begin, finish, target in sorted(self._references(present), key=lambda each: each[0]):
            if begin >= at:
                pieces += [self._between(at, begin), Ref(self._line(begin, finish), target)]
                at = finish
        pieces.append(self._between(at, last))
        return _joined(pieces)

    def _references(self, nodes: Iterable[ast.Node]) -> Iterator[tuple[int, int, Target]]:
        for node in nodes:
            for each in walk(node):
                names = dotted(each)
                target = self.names.target(names, self.folder, self.file) if names else None
                if target is not None:
                    yield each.start, each.end, target

    def _between(self, start: int, end: int) -> str:
        if start >= end:
            return ""
        text = " ".join(self._text[start:end].split())
        before, after = self._text[start : start + 1], self._text[end - 1 : end]
        return self.clean((" " if before.isspace() else "") + text + (" " if text and after.isspace() else ""))

    def _line(self, start: int, end: int) -> str:
        return self.clean(" ".join(self._text[start:end].split()))

    def code(self, node: ast.Node | None, name: str = "") -> str:
        """The text of an expression given to `name`, without its secrets; "" for none."""
        return "" if node is None else outdented(self._masking.code(self._text, node, name), self._margin(node.start))

    def _margin(self, offset: int) -> int:
        begin = self._text.rfind("\n", 0, offset) + 1
        line = self._text[begin:]
        return len(line) - len(line.lstrip(" "))


def outdented(text: str, margin: int) -> str:
    """An expression of several lines as if it had begun in the first column."""
    first, *rest = text.split("\n")
    usual = " " * margin
    return "\n".join([first.rstrip(), *(each.removeprefix(usual).rstrip() for each in rest)])


def dotted(node: ast.Node) -> tuple[str, ...]:
    """The segments of a name, () for what is none or has other things in it."""
    match node:
        case ast.NamedType():
            return node.names
        case ast.Name():
            return (node.id,)
        case ast.Selector(value=ast.Name(id=first), name=name, optional=False):
            return (first, name)
        case _:
            return ()


def _joined(pieces: Iterable[str | Ref]) -> Text:
    joined: list[str | Ref] = []
    for each in pieces:
        if isinstance(each, str) and joined and isinstance(joined[-1], str):
            joined[-1] += each
        elif each != "":
            joined.append(each)
    return tuple(joined)
