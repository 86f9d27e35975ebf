"""`kcl query` and `kcl set` beside the official `list_variables`, `list_options`, `get_schema_type_mapping`,
`override_file`.

`python -m tests.differential.test_query_and_edit` prints the figures over all files of the official suite.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcl.api import ProgramError, run
from kcl.diagnostics import KclError
from kcl.loader import overridden_text
from kcl.source import SourceFile
from kcl.tools.query.arguments import arguments
from kcl.tools.query.reading import Unreadable, source
from kcl.tools.query.schemas import schemas
from kcl.tools.query.variables import Variable, variables
from tests.kcl.conformance import corpus

official = pytest.importorskip("kcl_lib.api", reason="the official KCL compiler is not installed")

BASES = (
    'a = 1\nb = {c = {d = 1, e = "x"}, l: [1, {k = 2}]}  # keep\n',
    "# a server\nschema S:\n    x: int = 1\n    y?: {str:int}\n    l?: [int]\n\np: S {\n    x = 2  # two\n}\n",
    "schema S:\n    x: int = 1\n    y?: {str:int}\n    l?: [int]\np: S {y: {k = 1}, l = [1, 2]}\nq = p.x\n",
    "a: int = 3\n\n# last\nb = [1, 2]\n",
)
SPECS = (
    *("a=2", 'a="text"', "a-", "b.c.d=5", "b.c.n=5", "b.c-", "b.l=[]", "b.l+=[3]", 'b.c={"q" = 1}', "b.c:{q = 1}"),
    *(
        "new=1",
        "new.x.y=1",
        "p.x=9",
        "p.x-",
        "p.y={k = 3}",
        "p.y:{z = 3}",
        "p.l=[7]",
        "p.l+=[7]",
        "b+=[4]",
        "p-",
        "q=5",
    ),
)


def edited(text: str, spec: str, folder: Path) -> tuple[Any, Any]:
    """What the file evaluates to after the edit, officially and here; None where it is refused or fails."""
    file = folder / "main.k"
    file.write_text(text)
    try:
        official.API().override_file(official.OverrideFileArgs(file=str(file), specs=[spec]))
        theirs = evaluated(file.read_text())
    except Exception:
        theirs = None
    try:
        ours = evaluated(overridden_text(SourceFile("main.k", text), [spec]))
    except KclError:
        ours = None
    return theirs, ours


def evaluated(text: str) -> Any:
    try:
        return run(["main.k"], work_dir="/", texts={"main.k": text}).documents
    except ProgramError:
        return None


@pytest.mark.parametrize("text", BASES)
def test_an_edited_file_evaluates_to_what_it_does_after_the_official_edit(text: str, tmp_path: Path) -> None:
    compared = 0
    for spec in SPECS:
        theirs, ours = edited(text, spec, tmp_path)
        if theirs is None:
            continue
        compared += 1
        assert ours == theirs, spec
    assert compared > 10


def suite_files() -> list[Path]:
    return sorted(corpus("kcl-grammar").rglob("*.k"))


def theirs_of(file: Path) -> dict[str, tuple[str, str]] | None:
    """Paths with operators and schema names, as `list_variables` tells them; None where it fails."""
    try:
        found = official.API().list_variables(official.ListVariablesArgs(files=[str(file)]))
    except Exception:
        return None
    if found.parse_errors:
        return None
    flat: dict[str, tuple[str, str]] = {}
    for name, listed in found.variables.items():
        for each in listed.variables:
            flat.update(flattened_official(name, each))
    return flat


def flattened_official(path: str, each: Any) -> Iterator[tuple[str, tuple[str, str]]]:
    yield path, (each.type_name, without_layout(each.value) if not (each.dict_entries or each.list_items) else "")
    for entry in each.dict_entries:
        yield from flattened_official(f"{path}.{entry.key}", entry.value)
    for index, item in enumerate(each.list_items):
        yield from flattened_official(f"{path}[{index}]", item)


def flattened(path: str, each: Variable) -> Iterator[tuple[str, tuple[str, str]]]:
    yield path, (each.type, without_layout(each.text) if not (each.entries or each.items) else "")
    for key, value in each.entries:
        yield from flattened(f"{path}.{key}", value)
    for index, item in enumerate(each.items):
        yield from flattened(f"{path}[{index}]", item)


def without_layout(text: str) -> str:
    return "".join(text.split()).replace(",", "").replace("'", '"')


def ours_of(file: Path) -> dict[str, tuple[str, str]] | None:
    try:
        found = variables([source(str(file), "/")])
    except Unreadable:
        return None
    return dict(pair for name, listed in found.items() for each in listed for pair in flattened(name, each))


def compared(files: list[Path]) -> Counter[str]:
    """How many variables and entries both list alike, and how many only one of them does."""
    counts: Counter[str] = Counter()
    for file in files:
        theirs, ours = theirs_of(file), ours_of(file)
        if theirs is None or ours is None:
            counts["files that one of them refuses"] += 1
            continue
        counts["files"] += 1
        counts["more here"] += len(ours.keys() - theirs.keys())
        for path, (type_, value) in theirs.items():
            if path.partition(".")[0].partition("[")[0] not in ours:
                counts["officially listed, and no variable: within a schema or a lambda"] += 1
            elif path not in ours:
                counts["nameless or conditional entries" if ".[" in path or path.endswith(".") else "missing here"] += 1
            elif (type_ or ours[path][0], value) == ours[path]:
                counts["same"] += 1
            else:
                counts["spelled otherwise" if type_ in ("", ours[path][0]) else "other type"] += 1
    return counts


def test_variables_are_those_of_the_official_list() -> None:
    counts = compared(suite_files()[::7])
    assert counts["files"] > 100
    assert counts["missing here"] <= counts["same"] // 20
    assert counts["spelled otherwise"] + counts["other type"] <= counts["same"] // 20


def test_options_are_those_of_the_official_list(tmp_path: Path) -> None:
    file = tmp_path / "main.k"
    file.write_text('a = option("one", type="int", default=3, help="how many")\nb = option("two", required=True)\n')
    listed = official.API().list_options(official.ParseProgramArgs(paths=[str(file)])).options
    theirs = [(each.name, each.type, each.required, each.default_value, each.help) for each in listed]
    found = arguments([source(str(file), "/")])
    assert theirs == [(each.name, each.type, each.is_required, each.default, each.help) for each in found]


SCHEMAS = '''\
schema Base:
    q: str = "a"

schema S(Base):
    """A server.

    Attributes
    ----------
    x : int
        how many
    """
    @deprecated()
    x: int = 1
    y?: str
    z: bool
    w: {str:int} = {a = 1}
'''


def test_schemas_are_those_of_the_official_mapping(tmp_path: Path) -> None:
    file = tmp_path / "main.k"
    file.write_text(SCHEMAS)
    asked = official.GetSchemaTypeMappingArgs(exec_args=official.ExecProgramArgs(k_filename_list=[str(file)]))
    mapping = official.API().get_schema_type_mapping(asked).schema_type_mapping
    found = schemas([source(str(file), "/")])
    assert set(mapping) == set(found)
    for name, theirs in mapping.items():
        ours = found[name]
        assert theirs.base_schema.schema_name == ours.base
        assert theirs.schema_doc == ours.doc.partition("\n")[0]
        assert set(theirs.properties) == {each.name for each in ours.attributes}
        assert set(theirs.required) == {each.name for each in ours.attributes if not each.is_optional}
        for each in ours.attributes:
            said = theirs.properties[each.name]
            assert without_layout(said.default) == without_layout(each.default or ""), each.name
            assert said.description == each.doc
            assert [one.name for one in said.decorators] == [one.partition("(")[0] for one in each.decorators]
            if said.type in ("int", "str", "bool"):
                assert said.type == each.type


def main() -> None:
    import sys
    import tempfile

    for name, count in compared(suite_files()).items():
        sys.stdout.write(f"{name}: {count}\n")
    edits: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for text, spec in itertools.product(BASES, SPECS):
            theirs, ours = edited(text, spec, Path(folder))
            edits["same" if theirs == ours else f"other: {spec}: {theirs} {ours}"] += 1
    for name, count in edits.items():
        sys.stdout.write(f"edits, {name}: {count}\n")


if __name__ == "__main__":
    main()
