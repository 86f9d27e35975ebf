"""Migrating from the dialect of 2023: each legacy construct is found where it stands, its edit says the same today."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kcl.api import KCL, KONFIG_2023, ProgramError, run
from kcl.tools.migrate import (
    Edit,
    Lint,
    NotWritten,
    Overlap,
    Plan,
    Subject,
    apply_edits,
    choose,
    find,
    load_all,
    plan_edits,
    prove,
    texts,
    write,
)

OLD = '[expected]\nkclvm_version = "v0.4.6"\n'


class Repository:
    """Files on disk, with `main.k` (and what `files` lists) as the program."""

    def __init__(self, root: Path, files: Mapping[str, str], main: tuple[str, ...] = ("main.k",)) -> None:
        self.root = root
        for name, text in {"kcl.mod": OLD, **files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.subject = Subject("main", root, main)

    def lints(self) -> list[Lint]:
        return find(list(load_all([self.subject], self.root)), self.root)

    def codes(self) -> list[tuple[str, str, str]]:
        """Code, file and the text found, kcl.mod left out."""
        found = []
        for lint in self.lints():
            text = Path(lint.span.path).read_text()
            name = Path(lint.span.path).relative_to(self.root).as_posix()
            if name != "kcl.mod":
                found.append((lint.diagnostic.code.number, name, text[lint.span.start : lint.span.end]))
        return found

    def plan(self) -> Plan:
        programs = list(load_all([self.subject], self.root))
        return plan_edits(find(programs, self.root), texts(programs, self.root))

    def migrated(self) -> dict[str, str]:
        """Files that change, by name; proven to give the same values."""
        plan = self.plan()
        (outcome,) = prove([self.subject], plan.after)
        assert outcome.same, (outcome, plan.after)
        return {Path(path).relative_to(self.root).as_posix(): text for path, text in plan.after.items()}


Make = Callable[..., Repository]


@pytest.fixture
def repository(tmp_path: Path) -> Make:
    def make(files: str | Mapping[str, str], main: tuple[str, ...] = ("main.k",)) -> Repository:
        return Repository(tmp_path, {"main.k": files} if isinstance(files, str) else files, main)

    return make


def test_private_variable_that_others_read_gets_a_public_name(repository: Make) -> None:
    found = repository(
        {
            "main.k": "import names\nimport names as n\n"
            'a = names.__META_APP + "!"\nb = "${n.__META_APP}"\nc = names._own\n',
            "names/names.k": '__META_APP = option("app") or "shop"\n_own = __META_APP\n_other = 1\n',
        }
    )
    assert {code for code, _, _ in found.codes()} == {"W2001"}
    changed = found.migrated()
    assert changed["main.k"].splitlines()[2:] == ['a = names.META_APP + "!"', 'b = "${n.META_APP}"', "c = names.own"]
    assert changed["names/names.k"] == 'META_APP = option("app") or "shop"\nown = META_APP\n_other = 1\n'


def test_private_variable_that_changes_keeps_its_name_and_gets_a_public_twin(repository: Make) -> None:
    found = repository({"main.k": "import p\na = p._list\n", "p/p.k": "_list = [1]\n_list += [2]"})
    assert found.migrated()["p/p.k"] == "_list = [1]\n_list += [2]\nlist = _list\n"


def test_public_name_avoids_those_the_package_has(repository: Make) -> None:
    found = repository({"main.k": "import p\na = p._x\n", "p/p.k": "x = 1\n_x = 2\n"})
    assert found.migrated() == {
        "main.k": "import p\na = p.x_\n",
        "p/p.k": "x = 1\nx_ = 2\n",
        "kcl.mod": found.migrated()["kcl.mod"],
    }


def test_file_of_a_package_may_be_a_main_file_too(repository: Make) -> None:
    files = {
        "main.k": "import p\n_a = __name\nb = p.__name\nimport manifests\nmanifests.yaml_stream([{a = _a, b = b}])\n",
        "p/p.k": '__name = "n"\n',
    }
    found = repository(files, ("p/p.k", "main.k"))
    assert "_a = name\nb = p.name" in found.migrated()["main.k"]


def test_renaming_what_a_program_would_print_is_caught_by_the_proof(repository: Make) -> None:
    files = {"main.k": "import p\nb = p.__name\n", "p/p.k": '__name = "n"\n'}
    found = repository(files, ("p/p.k", "main.k"))
    (outcome,) = prove([found.subject], found.plan().after)
    assert not outcome.same
    assert outcome.differences == ("[0].name: is new",)


def test_unknown_name_was_undefined_and_not_what_it_looks_like(repository: Make) -> None:
    found = repository('schema S:\n    a?: bool = false\n    b: str = "x"\ns = S {}\nt = [nothing, 1]\n')
    assert found.codes() == [("W2002", "main.k", "false"), ("W2002", "main.k", "nothing")]
    assert "a?: bool = Undefined" in found.migrated()["main.k"]
    assert "t = [Undefined, 1]" in found.migrated()["main.k"]


def test_hint_tells_what_a_lower_case_word_may_have_meant(repository: Make) -> None:
    messages = [lint.diagnostic.message for lint in repository("a = true\n").lints()]
    assert any("'True' may have been meant" in message for message in messages)


def test_schema_nobody_defines_was_a_plain_configuration(repository: Make) -> None:
    found = repository("a = Nowhere {x = 1}\nb: Nowhere {y = 2}\n")
    assert found.migrated()["main.k"] == "a = {x = 1}\nb = {y = 2}\n"


def test_arguments_that_lack_are_none(repository: Make) -> None:
    found = repository(
        "schema S[a, b, c=3]:\n    x = a\n    y = b\n    z = c\n"
        "one = S(1) {}\ntwo = S {}\nthree = S(a=1) {}\nfour = S(1, 2) {}\n"
        "f = lambda p, q { q }\nfive = f(1)\n"
    )
    assert [code for code, _, _ in found.codes()] == ["W2003"] * 4
    lines = found.migrated()["main.k"].splitlines()
    assert lines[4:8] == [
        "one = S(1, b=None) {}",
        "two = S(a=None, b=None) {}",
        "three = S(a=1, b=None) {}",
        "four = S(1, 2) {}",
    ]
    assert lines[9] == "five = f(1, None)"


def test_import_that_a_key_hides_gets_another_name(repository: Make) -> None:
    found = repository(
        {
            "main.k": "import x.data\nt: data.T = data.T {}\n"
            "a = {\n    data = 1\n    b = data.value\n    c = data.T {}\n}\n",
            "x/data/data.k": "value = 7\nschema T:\n    n: int = 1\n",
        }
    )
    assert {code for code, _, _ in found.codes()} == {"W2004"}
    assert found.migrated()["main.k"] == (
        "import x.data as x_data\nt: x_data.T = x_data.T {}\n"
        "a = {\n    data = 1\n    b = x_data.value\n    c = x_data.T {}\n}\n"
    )


def test_attribute_that_a_key_of_an_instance_hides_today(repository: Make) -> None:
    text = (
        "schema R:\n    kind: str\n    e: {str:}\nschema B:\n    kind: str\n"
        '    r: R = R {\n        kind: "fixed"\n        e: {of: kind}\n    }\n'
        '    q: {str:} = {kind: "z", e: {of: kind}}\n'
        'b = B {kind = "own"}\n'
    )
    found = repository(text)
    assert found.codes() == [("W2005", "main.k", "kind")]
    assert "    _own_kind = kind\n    r: R = R {" in found.migrated()["main.k"]
    assert "e: {of: _own_kind}" in found.migrated()["main.k"]


def test_none_for_an_attribute_that_must_have_a_value(repository: Make) -> None:
    found = repository(
        "schema I:\n    a: [str]\n    b?: [str]\nschema O:\n    i: [I]\n    m: {str:I}\n"
        'o = O {i = [{a = None, b = None}], m = {k = {a = ["x"]}}}\n'
    )
    assert found.codes() == [("W2006", "main.k", "a = None")]
    assert "    a?: [str]\n" in found.migrated()["main.k"]


def test_instance_that_another_statement_completes(repository: Make) -> None:
    found = repository(
        "schema D:\n    x: int\n    y: int\nschema S:\n    d: D\n    n?: D\n"
        "s: S {d = D {x = 1}, n = D {x = 1, y = 1}}\ns: S {d: D {y = 2}}\n"
    )
    assert found.codes() == [("W2007", "main.k", "D"), ("W2007", "main.k", "D")]
    assert found.migrated()["main.k"].splitlines()[6:] == [
        "s: S {d = {x = 1}, n = D {x = 1, y = 1}}",
        "s: S {d: {y = 2}}",
    ]


def test_import_of_a_file_beside_did_not_count(repository: Make) -> None:
    files = {
        "main.k": "import p\nschema Has:\n    t?: {str:}\nb = Has {t = {k = 1}}\n",
        "base.k": "a = p.T {n = 2}\nc = p.value\n",
        "p/p.k": "value = 1\nschema T:\n    n: int = 1\n    m: int = 2\n",
    }
    found = repository(files, ("base.k", "main.k"))
    assert found.codes() == [("W2008", "base.k", "p.T"), ("W2008", "base.k", "p.value")]
    assert found.migrated()["base.k"] == "a = {n = 2}\nc = Undefined\n"


def test_call_into_a_forgotten_import_gets_the_import(repository: Make) -> None:
    files = {
        "main.k": "import p\na = 1\nb = p.U {}\n",
        "p/a.k": 'import regex\nschema T:\n    n: str\n    check:\n        regex.match(n, "x")\n',
        "p/b.k": 'schema U:\n    n?: str\n    check:\n        regex.match(n, "y") if n\n',
    }
    found = repository(files)
    assert [code for code, _, _ in found.codes()] == ["W2008"]
    assert found.migrated()["p/b.k"].startswith("import regex\n\nschema U:")


def test_indentation_of_a_long_string_stays_part_of_it(repository: Make) -> None:
    text = 'a = """\n  x\n    y\n"""\nb = """\nx"""\nc = """x\n  y"""\n'
    text += 'schema S:\n    """\n    For readers.\n    """\n    n = 1\n    """\n    More.\n    """\n'
    found = repository(text)
    assert [code for code, _, _ in found.codes()] == ["W2009", "W2009"]
    found.migrated()


def test_kcl_mod_asks_for_a_compiler_of_today(repository: Make) -> None:
    found = repository("a = 1\n")
    assert [lint.diagnostic.code.number for lint in found.lints()] == ["W2010"]
    text = found.migrated()["kcl.mod"]
    assert text == '[expected]\nkclvm_version = "v0.13.2"\n[profile]\nomit_empty_lists = true\n'
    (found.root / "kcl.mod").write_text(text)
    result = run(["main.k"], work_dir=found.root)
    assert (result.dialect, result.manifest.omit_empty_lists) == (KCL, True)
    assert found.lints() == []


def test_profile_that_kcl_mod_has_gets_the_line(repository: Make) -> None:
    found = repository({"kcl.mod": '[profile]\nentries = ["main.k"]\n' + OLD, "main.k": "a = 1\n"})
    assert found.migrated()["kcl.mod"].startswith('[profile]\nomit_empty_lists = true\nentries = ["main.k"]\n')


@pytest.mark.parametrize(
    "text",
    [
        'schema S:\n    name: str\n    l = [{n = name} for n in [name]]\ns = S {name = "a"}\n',
        "f = lambda x, y {\n    z = x\n    z + y\n}\na = f(1, 2)\n",
        "import math\na = {b = math.pow(2, 3), c = len([1])}\n",
        "a = {x = 1, y = x, z = {w = y}}\n",
        "schema M[p: int = 1]:\n    [...str]: int\n    q = p\nm = M {r = 2}\n",
        "protocol P:\n    a: int\nmixin AMixin for P:\n    b: int = a\n"
        "schema S:\n    mixin [AMixin]\n    a: int = 1\ns = S {}\n",
        "a = all x in [1] { x > 0 }\nb = {k: v for k, v in {c = 1}}\n_t = 1\nif _t:\n    d = _t\n",
        "type N = int | str\nx: N = 1\nrule R:\n    x > 0\n",
        "schema Base:\n    a: int = later\nschema Derived(Base):\n    later: int = 2\nd = Derived {}\n",
    ],
)
def test_what_both_dialects_read_alike_is_left_alone(repository: Make, text: str) -> None:
    assert repository(text).codes() == []


def test_migrated_repository_has_nothing_legacy_left(repository: Make) -> None:
    found = repository({"main.k": "import p\na = p._x\nb = true\n", "p/p.k": "_x = 1\n"})
    for path, text in found.plan().after.items():
        Path(path).write_text(text)
    assert found.lints() == []


def test_file_no_program_reads_is_looked_at_with_care(repository: Make) -> None:
    found = repository({"main.k": "a = 1\n", "else/where.k": "a = false\nb = not_known_here\n"})
    assert found.codes() == [("W2002", "else/where.k", "false")]


def test_lints_of_one_name_are_chosen_together(repository: Make) -> None:
    found = repository({"main.k": "import p\na = p._x\nb = true\n", "p/p.k": "_x = 1\n"})
    chosen = choose(found.lints(), {str(found.root / "p/p.k")})
    assert {(Path(lint.span.path).name, lint.diagnostic.code.number) for lint in chosen} == {
        ("p.k", "W2001"),
        ("main.k", "W2001"),
    }


def test_difference_names_paths_and_no_values(repository: Make) -> None:
    found = repository('a = {b = ["secret", 1], c = True}\n')
    path = str(found.root / "main.k")
    (outcome,) = prove([found.subject], {path: 'a = {b = ["other", 1.0], d = True}\n'})
    assert outcome.differences == (
        "[0].a.b[0]: another value",
        "[0].a.b[1]: a int before, a float after",
        "[0].a.c: is missing after",
        "[0].a.d: is new",
    )
    (outcome,) = prove([found.subject], {path: "a = nowhere\n"})
    assert outcome.problem is not None
    assert "name 'nowhere' is not defined" in outcome.problem


def test_program_that_was_broken_before_proves_nothing(repository: Make) -> None:
    found = repository("a = 1 + {}\n")
    (outcome,) = prove([found.subject], {})
    assert not outcome.same
    assert outcome.broken_before is not None


def test_file_that_cannot_be_parsed_stops_the_migration(repository: Make) -> None:
    found = repository("a = [\n")
    with pytest.raises(ProgramError):
        found.lints()


def test_edits_that_disagree_are_refused() -> None:
    assert apply_edits({"f": "abc"}, [Edit("f", 0, 1, "x"), Edit("f", 0, 1, "x"), Edit("f", 1, 1, "-")]) == {
        "f": "x-bc"
    }
    for one, other in ((Edit("f", 0, 2, "x"), Edit("f", 1, 3, "y")), (Edit("f", 0, 2, "x"), Edit("f", 0, 2, "y"))):
        with pytest.raises(Overlap):
            apply_edits({"f": "abc"}, [one, other])


def test_edit_inside_of_what_goes_away_is_dropped() -> None:
    edits = [
        Edit("f", 0, 3, "x"),
        Edit("f", 0, 0, ">"),
        Edit("f", 1, 2, "?"),
        Edit("f", 1, 1, "!"),
        Edit("f", 3, 3, "<"),
    ]
    assert apply_edits({"f": "abcd"}, edits) == {"f": ">x<d"}


def test_constructs_inside_each_other_are_all_mended(repository: Make) -> None:
    files = {
        "main.k": "import p.data\nimport q\n"
        "a = nowhere(true, q._x)\nb = Nowhere {y = data._v}\n"
        "c = {\n    data = 1\n    d = data.T {l = [false]}\n}\n",
        "p/data/d.k": "_v = 1\nschema T:\n    l: [bool]\n",
        "q/q.k": "_x = 2\n",
    }
    assert repository(files).migrated()["main.k"] == (
        "import p.data as p_data\nimport q\na = Undefined\nb = {y = p_data.v}\n"
        "c = {\n    data = 1\n    d = p_data.T {l = [Undefined]}\n}\n"
    )


def test_what_a_schema_may_be_given_is_not_unknown(repository: Make) -> None:
    text = (
        "schema Any:\n    [...str]: int\n    known: int = 1\n    check:\n        given > known\n"
        "mixin GuestMixin:\n    twice?: int = host\n    wrong?: bool = false\n"
        "a = Any {given = 2}\n"
    )
    assert repository(text).codes() == [("W2002", "main.k", "false")]


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    one, two = tmp_path / "one.k", tmp_path / "two.k"
    one.write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    one.chmod(0o640)
    two.write_text("b = 1\n")
    before = {str(one): "a = 1\r\n", str(two): "b = 1\n"}
    write(Plan(before, {str(one): "a = 2\r\n"}, ()))
    assert (one.read_bytes(), one.stat().st_mode & 0o777) == (b"\xef\xbb\xbfa = 2\r\n", 0o640)
    two.write_text("b = 9\n")  # somebody edits in between
    with pytest.raises(NotWritten, match="has changed"):
        write(Plan({**before, str(one): "a = 2\r\n"}, {str(one): "a = 3\r\n", str(two): "b = 2\n"}, ()))
    assert (one.read_bytes(), two.read_text()) == (b"\xef\xbb\xbfa = 2\r\n", "b = 9\n")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one.k", "two.k"]


def test_dialects_differ_where_the_rules_say(repository: Make) -> None:
    found = repository("a = [nothing, 1]\n")
    assert run(["main.k"], work_dir=found.root).dialect == KONFIG_2023
    with pytest.raises(ProgramError):
        run(["main.k"], work_dir=found.root, dialect=KCL)
