"""The legacy constructs, one rule each: how one is recognised, and the edit that says the same in today's language.

An edit keeps what the 2023 compiler made of the construct, not what its author may have meant: a migration must not
change what runs. Where the two differ, the message says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from kcl.diagnostics import Code, Label, Span, warning
from kcl.loader.program import MAIN_PACKAGE, Import, ImportKind, Module
from kcl.patterns import pattern
from kcl.source import SourceFile
from kcl.syntax import ast
from kcl.syntax.edit import expression_text
from kcl.syntax.literals import dedent
from kcl.syntax.parser import parse
from kcl.tools.migrate.declarations import Declarations, SchemaView, below, dotted
from kcl.tools.migrate.exposed import Exposed
from kcl.tools.migrate.lint import Edit, Lint
from kcl.tools.migrate.walk import Binding, FrameKind, Walker, static_key

_WORDS: Final = {"true": "True", "false": "False", "null": "None", "none": "None", "nil": "None"}
_IDENTIFIER: Final = pattern(r"[^\W\d]\w*")


class LegacyFinder(Walker):
    """Finds the legacy constructs of one file. `certain` says that all files beside it are known: only then is a
    name that nothing defines really unknown."""

    def __init__(
        self,
        declarations: Declarations,
        package: str,
        module: Module,
        exposed: Collection[Exposed],
        *,
        certain: bool = True,
    ) -> None:
        super().__init__(declarations, package, module)
        self.lints: list[Lint] = []
        self._certain = certain
        self._exposed = {(each.package, each.name): each for each in exposed}
        self._shadowed: dict[str, list[ast.Name]] = {}
        self._heads: dict[str, list[int]] = {}
        # Where expressions begin about which all has been said.
        self._settled: set[int] = set()
        self._merged = _unified(declarations) if package == MAIN_PACKAGE else frozenset()

    def find(self) -> list[Lint]:
        self.walk()
        for alias, uses in self._shadowed.items():
            self._rename_import(alias, uses)
        self._private_declarations()
        return self.lints

    def _lint(
        self,
        code: Code,
        message: str,
        start: int,
        end: int,
        edits: Iterable[Edit] = (),
        *,
        group: str = "",
        labels: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> None:
        place = Span(self.module.source.path, start, end)
        self.lints.append(Lint(warning(code, message, place, labels=labels, notes=notes), tuple(edits), group))

    def _edit(self, start: int, end: int, text: str) -> Edit:
        return Edit(self.module.source.path, start, end, text)

    # --- Private names of other packages ---

    def on_member(self, node: ast.Selector, head: ast.Name, binding: Binding) -> None:
        if binding is Binding.UNKNOWN:
            self._unknown_member(node, head)
            return
        if binding is not Binding.IMPORT:
            return
        found = self.module.imports[head.id]
        if found.kind is not ImportKind.PACKAGE or found.package not in self.declarations.packages:
            return
        package = self.declarations.packages[found.package]
        if not package.declares(node.name):
            message = f"'{found.package}' has no '{node.name}', which 2023 read as Undefined"
            self._unknown(message, node.start, node.end)
        elif (exposed := self._exposed.get((found.package, node.name))) is not None:
            message = f"'{node.name}' is private to '{found.package}': names that begin with '_' are not visible here"
            edit = self._edit(node.name_start, node.end, exposed.public)
            self._lint(Code.LEGACY_PRIVATE, message, node.name_start, node.end, (edit,), group=exposed.group)

    def _private_declarations(self) -> None:
        """Where a private name is declared that other packages read, and its uses beside it.

        A file may belong to a package that others import and to the main package of a program as well.
        """
        beside = {each.source.path for each in self.view.package.modules}
        for exposed in self._exposed.values():
            if not beside & exposed.files:
                continue
            message = f"'{exposed.name}' is private but other packages read it"
            places = self.view.variables.get(exposed.name, [])
            declaring = [statement for module, statement in places if module is self.module]
            targets = list(_targets(declaring, exposed.name)) if self.module.source.path in exposed.files else []
            if exposed.renamed:
                read = [
                    (use.start, use.end) for use in _Uses.of(self.declarations, self.package, self.module, exposed.name)
                ]
                for start, end in [*((target.start, target.name_end) for target in targets), *read]:
                    edit = self._edit(start, end, exposed.public)
                    self._lint(Code.LEGACY_PRIVATE, message, start, end, (edit,), group=exposed.group)
            elif targets and self.module.source.path == max(exposed.files):
                # It changes on the way, as only a private variable may: what it ends as gets a public name.
                text = self.module.source.text
                addition = f"{'' if text.endswith(chr(10)) else chr(10)}{exposed.public} = {exposed.name}{chr(10)}"
                edit = self._edit(len(text), len(text), addition)
                first = targets[0]
                self._lint(Code.LEGACY_PRIVATE, message, first.start, first.name_end, (edit,), group=exposed.group)

    # --- Names nobody defines ---

    def on_name(self, node: ast.Name, binding: Binding) -> None:
        if binding is Binding.UNKNOWN and node.start not in self._settled:
            self._unknown_name(node)
        elif binding is Binding.ATTRIBUTE:
            self._shadowed_attribute(node)
        elif binding is Binding.IMPORT:
            self._heads.setdefault(node.id, []).append(node.start)
            if self._key_before(node.id):
                self._shadowed.setdefault(node.id, []).append(node)

    def on_type(self, node: ast.NamedType) -> None:
        if len(node.names) > 1:
            self._heads.setdefault(node.names[0], []).append(node.start)

    def _unknown_name(self, node: ast.Name) -> None:
        meant = _WORDS.get(node.id)
        message = f"nothing defines '{node.id}', which 2023 read as Undefined"
        if meant is not None:
            message += f"; '{meant}' may have been meant, but would change the result"
        if self._certain or meant is not None:
            self._unknown(message, node.start, node.end)

    def _unknown_member(self, node: ast.Selector, head: ast.Name) -> None:
        if node.start in self._settled or not self._certain:
            return
        self._settled.add(head.start)
        beside = self.declarations.imported_beside(self.module, self.view, head.id)
        if beside is None:
            self._unknown(f"nothing defines '{head.id}', so 2023 read this as Undefined", node.start, node.end)
            return
        self._lint(Code.LEGACY_IMPORT, _beside(head.id, beside), node.start, node.end, (self._undefined(node),))

    def _unknown_callee(self, node: ast.Call, names: tuple[str, ...]) -> bool:
        """A call of something nobody defines answered Undefined; of a forgotten import, it is the import that lacks."""
        head = self.binding(names[0]) if len(names) == 1 else self.module_binding(names[0])
        if head is not Binding.UNKNOWN or not self._certain:
            return False
        self._settled.add(node.func.start)
        beside = self.declarations.imported_beside(self.module, self.view, names[0])
        if beside is None or len(names) == 1:
            message = f"nothing defines '{names[0]}', so 2023 read this call as Undefined"
            self._unknown(message, node.start, node.end)
            return True
        name = beside.source.path.rsplit("/", 1)[-1]
        message = f"'{names[0]}' is imported in {name} but not in this file, which 2023 needed"
        edit = self._import(beside.imports[names[0]])
        self._lint(Code.LEGACY_IMPORT, message, node.func.start, node.func.end, (edit,), group=f"import:{edit}")
        return True

    def _import(self, found: Import) -> Edit:
        """Adds an import behind those the file has."""
        body, text = self.module.tree.body, self.module.source.text
        before = [each.end for each in body if isinstance(each, ast.Import)]
        line = f"import {found.package}"
        if found.alias != found.package.split(".")[-1]:
            line += f" as {found.alias}"
        if before:
            return self._edit(max(before), max(before), f"\n{line}")
        at = text.rfind("\n", 0, body[0].start) + 1 if body else 0
        return self._edit(at, at, f"{line}\n\n")

    def _undefined(self, node: ast.Node) -> Edit:
        return self._edit(node.start, node.end, "Undefined")

    def _unknown(self, message: str, start: int, end: int) -> None:
        self._lint(Code.LEGACY_UNKNOWN_NAME, message, start, end, (self._edit(start, end, "Undefined"),))

    def _unknown_schema(self, node: ast.SchemaExpr) -> bool:
        """`Unknown {...}` was the plain configuration: the name goes."""
        names = dotted(node.name)
        if not names or not self._certain:
            return False
        head = self.binding(names[0]) if len(names) == 1 else self.module_binding(names[0])
        if head is not Binding.UNKNOWN:
            return False
        self._settled.update((node.name.start, node.start))
        beside = self.declarations.imported_beside(self.module, self.view, names[0])
        start = node.start
        statement = self.statement
        text = ""
        if isinstance(statement, ast.Unification) and statement.value is node:
            start, text = statement.target.end, " = "
        edit = self._edit(start, node.config.start, text)
        if beside is None:
            message = f"nothing defines '{'.'.join(names)}', so 2023 took this as a plain configuration"
            self._lint(Code.LEGACY_UNKNOWN_NAME, message, node.start, node.name.end, (edit,))
        else:
            self._lint(Code.LEGACY_IMPORT, _beside(names[0], beside), node.start, node.name.end, (edit,))
        return True

    # --- Arguments that are missing ---

    def on_call(self, node: ast.Call) -> None:
        names = dotted(node.func)
        if names and self._unknown_callee(node, names):
            return
        schema = self.declarations.schema(names, self.module, self.package) if names else None
        if schema is not None and (len(names) > 1 or self.binding(names[0]) is Binding.TYPE):
            self._arguments(schema.node.name, schema.node.params, node, node.end - 1)
        elif len(names) == 1 and self.binding(names[0]) is Binding.GLOBAL:
            places = self.view.variables[names[0]]
            if len(places) == 1 and isinstance(places[0][1], ast.Assign):
                value = places[0][1].value
                if isinstance(value, ast.Lambda):
                    self._arguments(names[0], value.params, node, node.end - 1)

    def _arguments(
        self, name: str, params: list[ast.Param], node: ast.Call | ast.SchemaExpr, closing: int | None
    ) -> None:
        given = {keyword.name for keyword in node.keywords}
        missing = [each for each in params[len(node.args) :] if each.default is None and each.name not in given]
        if not missing:
            return
        listed = ", ".join(f"'{each.name}'" for each in missing)
        message = f"'{name}' is given no {listed}, which 2023 read as None"
        by_name = bool(node.keywords) or any(each.default is not None for each in params[len(node.args) :])
        texts = [f"{each.name}=None" if by_name else "None" for each in missing]
        if closing is None:
            assert isinstance(node, ast.SchemaExpr), "a call has parentheses"
            edit = self._edit(node.name.end, node.name.end, f"({', '.join(texts)})")
        else:
            lead = ", " if node.args or node.keywords else ""
            edit = self._edit(closing, closing, lead + ", ".join(texts))
        self._lint(Code.LEGACY_ARGUMENT, message, node.start, node.end, (edit,))

    # --- Instances ---

    def on_instance(self, node: ast.SchemaExpr, schema: SchemaView | None, expected: SchemaView | None) -> None:
        if schema is None:
            self._unknown_schema(node)
            return
        closing = None
        if node.args or node.keywords:
            last = max(each.end for each in (*node.args, *node.keywords))
            closing = self.module.source.text.find(")", last, node.config.start)
        else:
            opening = self.module.source.text.find("(", node.name.end, node.config.start)
            closing = None if opening < 0 else self.module.source.text.find(")", opening, node.config.start)
        if closing != -1:
            self._arguments(schema.node.name, schema.node.params, node, closing)
        if expected is not None and expected.node is schema.node:
            self._partial(node, schema)

    def _partial(self, node: ast.SchemaExpr, schema: SchemaView) -> None:
        """An instance that another statement completes: the attribute's type makes one of it in the end."""
        if not self._completed_elsewhere() or node.args or node.keywords or not isinstance(node.config, ast.Config):
            return
        given = set()
        for item in node.config.items:
            if not isinstance(item, ast.Entry) or (name := static_key(item.key)) is None:
                return  # what else is given is not known before evaluation
            given.add(name)
        missing = [name for name in self.declarations.required(schema) if name not in given]
        if not missing:
            return
        listed = ", ".join(f"'{name}'" for name in missing)
        message = f"this {schema.node.name} lacks {listed}, which another statement adds"
        edit = self._edit(node.start, node.config.start, "")
        self._lint(Code.LEGACY_PARTIAL, message, node.start, node.name.end, (edit,))

    def _completed_elsewhere(self) -> bool:
        """Whether the statement around is one of several that describe one instance."""
        match self.statement:
            case ast.Unification(target=target):
                return target.name in self._merged
            case ast.Assign(targets=[target], value=ast.SchemaExpr()):
                return target.name in self._merged
            case _:
                return False

    def on_entry(self, node: ast.Entry, owner: SchemaView | None) -> None:
        """`attribute = None` where the attribute must have a value."""
        name = static_key(node.key)
        value = node.value
        if owner is None or name is None or not isinstance(value, ast.Constant):
            return
        if value.kind is not ast.ConstantKind.NONE or node.index is not None:
            return
        declared = self.declarations.attribute(owner, name)
        if declared is None or declared[1].optional:
            return
        view, attribute = declared
        path = view.module.source.path
        edit = Edit(path, attribute.name_end, attribute.name_end, "?")
        message = f"'{name}' of {view.node.name} must have a value, and is given None"
        label = Label(Span(path, attribute.start, attribute.end), "declared here; an optional attribute may be None")
        self._lint(Code.LEGACY_NONE, message, node.start, node.end, (edit,), labels=(label,))

    # --- Names that configurations hide ---

    def _key_before(self, name: str) -> bool:
        """Whether a configuration around has the name as a key that comes before."""
        return any(frame.kind is FrameKind.CONFIG and name in frame.names for frame in self.frames)

    def _rename_import(self, alias: str, uses: list[ast.Name]) -> None:
        """A key of the same name comes between the import and its use: the import gets another name."""
        found = self.module.imports[alias]
        statement = found.statement
        chosen = self._free_alias(alias, found.package)
        end = statement.path_end
        text = f" as {chosen}"
        edits = [self._edit(end, statement.end if statement.alias else end, text)]
        edits += [self._edit(start, start + len(alias), chosen) for start in sorted(set(self._heads.get(alias, [])))]
        group = f"import:{self.module.source.path}:{alias}"
        for node in uses:
            message = f"'{alias}' is the import of '{found.package}', but also a key before this, which hides it today"
            self._lint(Code.LEGACY_SHADOWED_IMPORT, message, node.start, node.end, edits, group=group)

    def _free_alias(self, alias: str, package: str) -> str:
        segments = package.split(".")
        before = segments[-2] if len(segments) > 1 else "package"
        taken = set(_IDENTIFIER.findall(self.module.source.text))
        chosen = f"{before}_{alias}"
        while chosen in taken or not _IDENTIFIER.fullmatch(chosen):
            chosen = f"package_{chosen}"
        return chosen

    def _shadowed_attribute(self, node: ast.Name) -> None:
        """The schema's attribute was meant and read; today an instance's key before it, of the same name, is."""
        statement = self.statement
        for frame in reversed(self.frames):
            if frame.kind is FrameKind.SCHEMA:
                return
            if frame.kind is FrameKind.LOCAL and statement is not None and isinstance(statement, ast.ExprStmt):
                return
            value = frame.names.get(node.id) if frame.kind is FrameKind.CONFIG and frame.instance else None
            if value is not None and not (isinstance(value, ast.Name) and value.id == node.id):
                break
        else:
            return
        if statement is None:
            return
        text = self.module.source.text
        line_start = text.rfind("\n", 0, statement.start) + 1
        indent = text[line_start : statement.start]
        if indent.strip():
            return
        own = f"_own_{node.id}"
        while own in text:
            own = f"_{own}"
        message = f"'{node.id}' is the schema's attribute, but today the key '{node.id}' before it is read"
        edits = (
            self._edit(line_start, line_start, f"{indent}{own} = {node.id}\n"),
            self._edit(node.start, node.end, own),
        )
        self._lint(Code.LEGACY_SHADOWED_ATTRIBUTE, message, node.start, node.end, edits)

    # --- Strings ---

    def on_text(self, node: ast.Str | ast.JoinedStr) -> None:
        """A triple-quoted string whose common indentation, or first line break, is no longer part of it."""
        if not node.triple:
            return
        text = self.module.source.text[node.start : node.end]
        if isinstance(node, ast.JoinedStr):
            value = "".join(part if isinstance(part, str) else "x" for part in node.parts)
            if dedent(value) != value:
                message = "the indentation of this string was part of it in 2023, and is not today"
                notes = ("write it without interpolation, or indent nothing: there is no automatic edit",)
                self._lint(Code.LEGACY_INDENTED_STRING, message, node.start, node.end, notes=notes)
            return
        if _string_value(text) == node.value:
            return
        candidate = _flush(text)
        replaced = candidate if _string_value(candidate) == node.value else expression_text(node.value)
        edit = self._edit(node.start, node.end, replaced)
        message = "the indentation of this string was part of it in 2023, and is not today"
        self._lint(Code.LEGACY_INDENTED_STRING, message, node.start, node.end, (edit,))


class _Uses(Walker):
    """The places of a file that read a package variable by its bare name."""

    def __init__(self, declarations: Declarations, package: str, module: Module, name: str) -> None:
        super().__init__(declarations, package, module)
        self._name = name
        self._found: list[ast.Name] = []

    @staticmethod
    def of(declarations: Declarations, package: str, module: Module, name: str) -> list[ast.Name]:
        uses = _Uses(declarations, package, module, name)
        uses.walk()
        return uses._found

    def on_name(self, node: ast.Name, binding: Binding) -> None:
        if node.id == self._name and binding is Binding.GLOBAL:
            self._found.append(node)


def _beside(alias: str, module: Module) -> str:
    name = module.source.path.rsplit("/", 1)[-1]
    return (
        f"'{alias}' is imported in {name} but not in this file, and 2023 knew no import of another file; "
        "importing it here would change the result"
    )


def _targets(statements: list[ast.Stmt], name: str) -> Iterator[ast.Target]:
    for node in below(statements):
        match node:
            case ast.Assign():
                yield from (target for target in node.targets if target.name == name)
            case ast.AugAssign() | ast.Unification() if node.target.name == name:
                yield node.target
            case _:
                pass


def _unified(declarations: Declarations) -> frozenset[str]:
    """The variables of the main package that several statements describe together."""
    found: dict[str, int] = {}
    for name, places in declarations.packages[MAIN_PACKAGE].variables.items():
        kinds = [statement for _, statement in places if isinstance(statement, ast.Unification | ast.Assign)]
        if any(isinstance(each, ast.Unification) for each in kinds):
            found[name] = len(kinds)
    return frozenset(name for name, count in found.items() if count > 1)


def _string_value(text: str) -> str | None:
    """What a string literal means today; None if it is none."""
    parsed = parse(SourceFile("text.k", f"x = {text}\n"))
    match parsed.module.body:
        case [ast.Assign(value=ast.Str(value=value))] if not parsed.diagnostics:
            return value
        case _:
            return None


def _flush(text: str) -> str:
    """The triple-quoted literal with its first line break written out, so that nothing is taken away."""
    quotes = text[:3]
    return f"{quotes}\\n\\\n{text[4:]}" if text[3:4] == "\n" and not text.startswith(("r", "R")) else text
