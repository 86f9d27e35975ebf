"""What the dialect of 2023 reads differently."""

from dataclasses import replace

from kcl.evaluator.dialect import KCL, KONFIG_2023


def test_unknown_names_are_undefined_in_the_dialect_of_2023(values, finding):
    program = "a = {x = false, y = 1}\nb = Unknown {z = 1}\nc = other.Thing {w = 2}\n"
    assert values(program, dialect=KONFIG_2023) == {"a": {"y": 1}, "b": {"z": 1}, "c": {"w": 2}}
    assert finding(program)[:2] == ("E2L23", "name 'false' is not defined")


def test_missing_arguments_are_none_in_the_dialect_of_2023(values, finding):
    program = "schema S[a, b]:\n    x: str = str(b)\ns = S(1)\n"
    assert values(program, dialect=KONFIG_2023) == {"s": {"x": "None"}}
    assert finding(program)[0] == "E2L23"


def test_an_explicit_none_satisfies_a_required_attribute_in_the_dialect_of_2023(values, finding):
    program = "schema S:\n    a: int\ns = S {a = None}\n"
    assert values(program, dialect=KONFIG_2023) == {"s": {"a": None}}
    assert finding(program)[1].startswith("attribute 'a' of S is required")
    missing = "schema S:\n    a: int\ns = S {}\n"
    assert finding(missing, dialect=KONFIG_2023)[1].startswith("attribute 'a' of S is required")


def test_main_files_share_imports_unless_the_dialect_scopes_them(values):
    main, other = "import lib\na = lib.n\n", "b = lib.n\n"
    files = {"lib/l.k": "n = 1\n", "other.k": other}
    assert values(main, files=files, also=("other.k",)) == {"a": 1, "b": 1}
    scoped = replace(KONFIG_2023, unknown_name_is_undefined=True)
    assert values(main, files=files, also=("other.k",), dialect=scoped) == {"a": 1}


def test_the_switches_of_the_two_presets_differ_everywhere():
    switches = [name for name in KCL.__dataclass_fields__ if name != "name"]
    assert all(getattr(KCL, name) != getattr(KONFIG_2023, name) for name in switches)
