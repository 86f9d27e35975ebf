"""Schemas: defaults, inheritance, mixins, index signatures, checks, types."""

import pytest

from kcl.diagnostics import KclError
from kcl.evaluator.dialect import KCL_0_12
from tests.kcl.evaluator.conftest import Evaluated, Values

SHAPES = """
schema Base:
    x: int = 1
    y: int = x * 2

schema Derived(Base):
    x = 10
    z?: str
"""


def test_a_default_sees_what_the_configuration_makes_of_other_attributes(values: Values) -> None:
    assert values(SHAPES + "a = Base {x = 5}\n")["a"] == {"x": 5, "y": 10}


def test_a_base_sees_the_values_of_what_derives_from_it(values: Values) -> None:
    assert values(SHAPES + "a = Derived {}\n")["a"] == {"x": 10, "y": 20}


def test_configuration_wins_over_every_assignment_in_the_body(values: Values) -> None:
    program = """
schema S:
    a: int = 1
    b?: str
    if a > 2:
        b = "big"
    else:
        b = "small"
s = S {a = 3}
t = S {b = "mine"}
"""
    assert values(program) == {"s": {"a": 3, "b": "big"}, "t": {"a": 1, "b": "mine"}}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [("l: [7]", [7, 2]), ("l = [7]", [7]), ("l += [7]", [1, 2, 7]), ("l[0] += [7]", [7, 1, 2])],
)
def test_operators_decide_how_configuration_meets_a_default(values: Values, entry: str, expected: object) -> None:
    assert values(f"schema S:\n    l: [int] = [1, 2]\ns = S {{{entry}}}\n")["s"]["l"] == expected


def test_a_plain_config_becomes_the_schema_its_attribute_asks_for(values: Values, finding: Values) -> None:
    program = """
schema Port:
    number: int
    protocol: str = "TCP"
schema Service:
    ports: [Port]
    byName: {str:Port} = {}
    main?: Port | str
a = Service {ports = [{number = 80}], byName.web = {number = 81}, main = {number = 82}}
kind = typeof(a.main)
"""
    port = {"number": 80, "protocol": "TCP"}
    found = values(program)
    assert found["a"]["ports"] == [port]
    assert found["a"]["byName"] == {"web": {**port, "number": 81}}
    assert found["kind"] == "Port"
    wrong = program.replace("number = 81", "nummer = 81")
    assert finding(wrong)[:2] == ("E2L23", "Cannot add member 'nummer' to schema 'Port', did you mean '[\"number\"]'?")


def test_mixins_read_and_set_the_attributes_of_their_host(values: Values) -> None:
    program = """
mixin FullNameMixin:
    full: str = first + " " + last
schema Person:
    mixin [FullNameMixin]
    first: str
    last: str = "Doe"
p = Person {first = "Jo"}
"""
    assert values(program)["p"] == {"first": "Jo", "last": "Doe", "full": "Jo Doe"}


def test_an_index_signature_admits_and_types_further_attributes(values: Values, finding: Values) -> None:
    program = "schema Labels:\n    [name: ...str]: str = name\n    known: int = 1\na = Labels {team = 'x'}\n"
    assert values(program)["a"] == {"known": 1, "team": "x"}
    assert finding(program.replace("'x'", "1"))[:3] == ("E2G22", "expected str, got int(1)", 4)


def test_a_missing_attribute_is_told_at_the_outermost_instance_that_lacks_it(values: Values, finding: Values) -> None:
    program = "schema A:\n    x: int\nschema B:\n    a: A\n    n?: int\nb = B {a = A {}}\n"
    message = "attribute 'x' of A is required and can't be None or Undefined"
    assert finding(program, dialect=KCL_0_12) == ("E3M38", message, 6, 12)
    assert finding(program) == ("E2L23", message, 6, 14)
    assert finding(program.replace("A {}", "A {**{}}")) == ("E3M38", message, 6, 12)
    assert values(program.replace("{a = A {}}", "{a: A {}, a: {x = 1}}"))["b"] == {"a": {"x": 1}}


def test_a_failed_check_names_the_instance_and_the_check(evaluated: Evaluated) -> None:
    program = "schema S:\n    n: int\n    check:\n        n > 3, 'too small'\ns = S {\n    n = 1\n}\n"
    with pytest.raises(KclError) as caught:
        evaluated(program)
    (shown,) = caught.value.__notes__
    assert "main.k:5:5" in shown
    assert "Instance check failed" in shown
    assert "main.k:4:9" in shown
    assert "Check failed on the condition: too small" in shown


def test_the_body_of_a_schema_says_what_may_be_left_out_and_no_mixin_of_it(values: Values, finding: Values) -> None:
    head = "schema MMixin:\n    a{}: int\nschema S:\n    mixin [MMixin]\n    a{}: int\n"
    program = head + "schema D(S):\n    b?: int\ni = {} {{}}\n"
    for name in ("S", "D"):
        assert values(program.format("", "?", name)) == {"i": {}}
        assert f"attribute 'a' of {name} is required" in str(finding(program.format("?", "", name)))


def test_checks_of_bases_and_mixins_hold_too(finding: Values) -> None:
    program = "schema A:\n    n: int\n    check:\n        n > 3\nschema B(A):\n    m: int = 1\nb = B {n = 1}\n"
    assert finding(program)[1:] == ("Instance check failed", 7, 5)


def test_merging_into_an_instance_builds_it_anew(values: Values, finding: Values) -> None:
    program = SHAPES + "_a = Base {x = 5}\na = _a | {x = 7}\n_b = _a\n_b.x = 8\nb = _b\n"
    assert values(program) == {"a": {"x": 7, "y": 14}, "b": {"x": 8, "y": 16}}
    assert finding(SHAPES + "a = Base {} | {w = 1}\n")[1] == "No attribute named 'w' in the schema 'Base'"


def test_parameters_are_bound_by_position_and_name(values: Values, finding: Values) -> None:
    program = "schema S[a: int, b: str = 'x']:\n    v: str = b + str(a)\n"
    assert values(program + "s = S(1) {}\nt = S(b='y', a=2)\n") == {"s": {"v": "x1"}, "t": {"v": "y2"}}
    assert finding(program + "s = S() {}\n")[:2] == ("E2L23", "expected 1 positional argument, found 0")
    assert finding(program + "s = S(1, 'y', 2) {}\n")[1] == '"S" takes 2 positional arguments but 3 were given'
    assert finding(program + "s = S('no') {}\n") == ("E2G22", "expected int, got str(no)", 3, 7)


def test_an_attribute_of_the_enclosing_schema_wins_over_a_key_beside_it(values: Values) -> None:
    program = """
schema Resource:
    kind: str
    extensions: {str:str}
schema Builder:
    kind: str = "bucket"
    result: any = Resource {kind: "Terraform", extensions: {resourceKind: kind}}
b = Builder {}
"""
    assert values(program)["b"]["result"] == {"kind": "Terraform", "extensions": {"resourceKind": "bucket"}}


def test_instances_lists_what_the_main_package_built(values: Values) -> None:
    files = {"lib/s.k": "schema S:\n    n: int\ninner = S {n = 0}\n"}
    program = "import lib\na = lib.S {n = 1}\nb = [lib.S {n = i} for i in [2, 3]]\n"
    program += "found = [s.n for s in lib.S.instances()]\n"
    assert values(program, files=files)["found"] == [1, 2, 3]


def test_a_schema_that_contains_itself_without_end_is_told_so(finding: Values) -> None:
    assert finding("schema A:\n    a: A = A {}\nx = A {}\n")[1] == "more than 1500 nested calls: this never ends"


def test_a_deprecated_attribute_that_is_used_is_an_error(finding: Values) -> None:
    program = "schema S:\n    @deprecated(version='1.2', reason='use b')\n    a?: int\ns = S {a = 1}\n"
    assert finding(program)[1] == "a was deprecated since version 1.2, use b"


def test_rules_check_their_host(values: Values, finding: Values) -> None:
    program = "protocol PProtocol:\n    n: int\nrule Small for PProtocol:\n    n < 10, 'too big'\na = Small {n = %s}\n"
    assert values(program % 1)["a"] == {"n": 1}
    assert finding(program % 11)[1] == "Instance check failed"


def test_only_an_attribute_that_must_have_a_value_takes_the_one_value_of_its_type(values: Values) -> None:
    program = 'schema S:\n    a: "x"\n    b?: "x"\n    c?: "x" = "x"\n    d?: 1\n'
    assert values(f"{program}s = S {{}}\n")["s"] == {"a": "x", "c": "x"}
    many = "".join(f"s{number} = S {{}}\n" for number in range(50))
    assert values(program + many)["s49"] == {"a": "x", "c": "x"}, "also once code is generated"


def test_the_smallest_integer_may_be_written(values: Values) -> None:
    """Its digits alone wrap, as in the official compiler, and are what they were with the sign before them."""
    program = (
        "a = -9223372036854775808\nf = lambda n {\n    n if n < -9223372036854775808 else -9223372036854775808\n}\n"
    )
    assert values(f"{program}b = [f(n) for n in range(50)][49]\n")["b"] == -(2**63)
    assert values("a = -9223372036854775808 + 1\n")["a"] == 1 - 2**63
