"""What the dialect of 2023 reads differently."""

from dataclasses import replace
from typing import Any

import pytest

from kcl.api import InMemoryFileSystem, ProgramError, run
from kcl.evaluator.dialect import KCL, KCL_0_12, KONFIG_2023, Dialect
from tests.kcl.evaluator.conftest import Values


def test_unknown_names_are_undefined_in_the_dialect_of_2023(values: Values, finding: Values) -> None:
    program = "a = {x = false, y = 1}\nb = Unknown {z = 1}\nc = other.Thing {w = 2}\n"
    assert values(program, dialect=KONFIG_2023) == {"a": {"y": 1}, "b": {"z": 1}, "c": {"w": 2}}
    assert finding(program)[:2] == ("E2L23", "name 'false' is not defined")


def test_missing_arguments_are_none_in_the_dialect_of_2023(values: Values, finding: Values) -> None:
    program = "schema S[a, b]:\n    x: str = str(b)\ns = S(1)\n"
    assert values(program, dialect=KONFIG_2023) == {"s": {"x": "None"}}
    assert finding(program)[0] == "E2L23"


def test_an_explicit_none_satisfies_a_required_attribute_in_the_dialect_of_2023(
    values: Values, finding: Values
) -> None:
    program = "schema S:\n    a: int\ns = S {a = None}\n"
    assert values(program, dialect=KONFIG_2023) == {"s": {"a": None}}
    assert finding(program)[1].startswith("attribute 'a' of S is required")
    missing = "schema S:\n    a: int\ns = S {}\n"
    assert finding(missing, dialect=KONFIG_2023)[1].startswith("attribute 'a' of S is required")


def test_main_files_share_imports_unless_the_dialect_scopes_them(values: Values) -> None:
    main, other = "import lib\na = lib.n\n", "b = lib.n\n"
    files = {"lib/l.k": "n = 1\n", "other.k": other}
    assert values(main, files=files, also=("other.k",)) == {"a": 1, "b": 1}
    scoped = replace(KONFIG_2023, unknown_name_is_undefined=True)
    assert values(main, files=files, also=("other.k",), dialect=scoped) == {"a": 1}


def test_the_members_of_a_package_that_it_keeps_for_itself_were_readable_before_0_13(
    values: Values, finding: Values
) -> None:
    program = {"main": "import lib\na = lib._n\n", "files": {"lib/l.k": "_n = 1\n"}}
    for dialect in (KCL_0_12, KONFIG_2023):
        assert values(program["main"], files=program["files"], dialect=dialect) == {"a": 1}
    message = "cannot reference private member '_n' from module 'lib'"
    assert finding(program["main"], files=program["files"]) == ("E2L23", message, 2, 5)


def test_all_missing_attributes_are_reported_before_the_run_since_0_13() -> None:
    program = "schema S:\n    a: int\n    b: int\ns = [S {}, S {b = 1}]\n"

    def found(dialect: Dialect) -> Any:
        with pytest.raises(ProgramError) as caught:
            run(["main.k"], work_dir="/w", texts={"main.k": program}, dialect=dialect)
        places = [(each, each.primary) for each in caught.value.diagnostics]
        return [(each.code.number, each.message.split()[1], at and at.start) for each, at in places]

    first, second = program.index("{}"), program.index("{b")
    assert found(KCL) == [("E2L23", "'a'", first), ("E2L23", "'b'", first), ("E2L23", "'a'", second)]
    assert found(KCL_0_12) == [("E3M38", "'a'", first - 2)]


@pytest.mark.parametrize(
    ("version", "dialect"),
    [("", KCL), ("v0.13.2", KCL), ("0.14", KCL), ("v0.12.4", KCL_0_12), ("0.8.7", KCL_0_12), ("v0.4.6", KONFIG_2023)],
)
def test_the_compiler_that_a_repository_expects_chooses_the_dialect(version: str, dialect: Dialect) -> None:
    manifest = f'[expected]\nkclvm_version = "{version}"\n'
    files = InMemoryFileSystem({"/w/kcl.mod": manifest, "/w/main.k": "a = 1\n"})
    assert run(["main.k"], work_dir="/w", file_system=files).dialect is dialect


def test_the_switches_of_the_two_presets_differ_everywhere() -> None:
    switches = [name for name in KCL.__dataclass_fields__ if name != "name"]
    assert all(getattr(KCL, name) != getattr(KONFIG_2023, name) for name in switches)
