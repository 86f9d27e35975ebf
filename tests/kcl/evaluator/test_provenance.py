"""Every value of the output leads back to the lines that decided it."""

from typing import Any

from kcl.evaluator.sites import SiteKind
from tests.kcl.evaluator.conftest import Evaluated

MODELS = """schema App:
    image: str
    replicas: int = 1
    env: {str:str} = {}

schema Backend[config: App]:
    resource: {str:} = {
        kind = "Deployment"
        spec = {
            replicas = config.replicas
            image = config.image.lower()
            name = "app-${config.image}"
            env = config.env
        }
    }
"""
BASE = """import models
app: models.App {
    image = "Nginx"
    env.A = "a"
}
"""
STACK = """import models
app: models.App {
    replicas = 3
    env.B = option("b")
}
out = models.Backend(app).resource
"""


def _sites(evaluated: Evaluated, *path: str | int) -> Any:
    files = {"models/m.k": MODELS, "stack.k": STACK}
    result = evaluated(BASE, files=files, also=("stack.k",), options={"b": "x"})
    found = result.provenance.lookup(0, path)
    return [(site.file.removeprefix("/repo/"), site.line, site.kind) for site in found]


def test_a_configured_value_leads_to_the_users_line_then_to_the_default(evaluated: Evaluated) -> None:
    assert _sites(evaluated, "app", "replicas") == [
        ("stack.k", 3, SiteKind.OVERRIDE),
        ("models/m.k", 3, SiteKind.DEFAULT),
    ]


def test_a_value_copied_through_a_backend_keeps_its_origin(evaluated: Evaluated) -> None:
    assert _sites(evaluated, "out", "spec", "replicas")[0] == ("stack.k", 3, SiteKind.OVERRIDE)
    assert _sites(evaluated, "out", "spec", "replicas")[-1] == ("models/m.k", 10, SiteKind.OVERRIDE)


def test_text_made_of_a_value_leads_to_it(evaluated: Evaluated) -> None:
    assert _sites(evaluated, "out", "spec", "image")[0] == ("main.k", 3, SiteKind.OVERRIDE)
    assert _sites(evaluated, "out", "spec", "name")[0] == ("main.k", 3, SiteKind.OVERRIDE)


def test_entries_of_a_copied_container_keep_their_own_lines(evaluated: Evaluated) -> None:
    assert _sites(evaluated, "out", "spec", "env", "A")[0] == ("main.k", 4, SiteKind.OVERRIDE)


def test_a_template_that_is_chosen_leads_to_the_choice_first(evaluated: Evaluated) -> None:
    files = {"models/m.k": "schema Size:\n    cpu: str\nsmall = Size {cpu = '1'}\nschema App:\n    size: Size\n"}
    program = "import models\napp: models.App {\n    size = models.small\n}\nout = {spec.limit = app.size.cpu}\n"
    lookup = evaluated(program, files=files).provenance.lookup
    for path in (("app", "size", "cpu"), ("out", "spec", "limit")):
        assert [(site.file, site.line) for site in lookup(0, path)][:1] == [("/repo/main.k", 3)]
        assert ("/repo/models/m.k", 3) in [(site.file, site.line) for site in lookup(0, path)]


def test_loop_variables_lead_to_what_is_looped_over(evaluated: Evaluated) -> None:
    program = "d = {\n    a = 'x'\n    b = 'y'\n}\nl = [\n    1\n    2\n]\n"
    program += "up = {k = v.upper() for k, v in d}\nmore = [n + 1 for n in l]\n"
    lookup = evaluated(program).provenance.lookup
    assert [lookup(0, ("up", "b"))[0].line, lookup(0, ("more", 1))[0].line] == [3, 7]


def test_an_option_is_told_as_such(evaluated: Evaluated) -> None:
    assert _sites(evaluated, "out", "spec", "env", "B")[0] == ("stack.k", 4, SiteKind.OPTION)


def test_a_default_leads_to_its_declaration(evaluated: Evaluated) -> None:
    assert _sites(evaluated, "out", "kind") == [("models/m.k", 8, SiteKind.OVERRIDE)]


def test_a_path_that_is_not_there_has_no_sites(evaluated: Evaluated) -> None:
    assert _sites(evaluated, "out", "nothing", 3) == []


def test_items_of_lists_have_lines_of_their_own(evaluated: Evaluated) -> None:
    program = "a = [\n    1\n    {b = 2}\n] + [3]\nb = {l = [\n    0\n]} | {l += [\n    5\n]}\n"
    lookup = evaluated(program).provenance.lookup
    assert [lookup(0, ("a", 0))[0].line, lookup(0, ("a", 1, "b"))[0].line, lookup(0, ("a", 2))[0].line] == [2, 3, 4]
    assert [lookup(0, ("b", "l", 0))[0].line, lookup(0, ("b", "l", 1))[0].line] == [6, 8]


def _lines(evaluated: Evaluated, program: str, *path: str | int, **more: Any) -> Any:
    """Line and kind of each place behind a value of a program in one file."""
    return [(site.line, site.kind) for site in evaluated(program, **more).provenance.lookup(0, path)]


def test_a_scalar_keeps_its_place_through_a_parameter_of_a_schema(evaluated: Evaluated) -> None:
    program = (
        "schema S[name, size=3]:\n    n = name\n    s = size\n_name = 'web'\na = S(_name) {}\nb = S('lit', size=4) {}\n"
    )
    assert _lines(evaluated, program, "a", "n") == [
        (4, SiteKind.LITERAL),
        (5, SiteKind.ARGUMENT),
        (2, SiteKind.EXPRESSION),
    ]
    assert _lines(evaluated, program, "b", "n")[0] == (6, SiteKind.ARGUMENT)
    assert _lines(evaluated, program, "b", "s")[0] == (6, SiteKind.ARGUMENT)
    assert _lines(evaluated, program, "a", "s")[0] == (1, SiteKind.DEFAULT)


def test_an_argument_keeps_its_place_when_the_instance_is_merged_again(evaluated: Evaluated) -> None:
    program = "schema S[name]:\n    n = name\n    m?: int\n_name = 'web'\na = S(_name) {} | {m = 1}\n"
    assert _lines(evaluated, program, "a", "n")[0] == (4, SiteKind.LITERAL)


def test_a_scalar_keeps_its_place_through_a_lambda(evaluated: Evaluated) -> None:
    program = (
        "f = lambda x, y=5 {\n    z = x\n    {k = z, l = y}\n}\n_name = 'web'\na = f(_name)\n"
        "g = lambda x {\n    x\n}\nb = g('lit')\nh = lambda {\n    'inside'\n}\nc = h()\n"
        "d = lambda x {\n    lambda { {k = x} }\n}(_name)()\n"
    )
    assert _lines(evaluated, program, "a", "k") == [
        (5, SiteKind.LITERAL),
        (6, SiteKind.ARGUMENT),
        (3, SiteKind.OVERRIDE),
    ]
    assert _lines(evaluated, program, "a", "l")[0] == (1, SiteKind.DEFAULT)
    assert _lines(evaluated, program, "b") == [(10, SiteKind.ARGUMENT), (10, SiteKind.EXPRESSION)]
    assert _lines(evaluated, program, "c") == [(12, SiteKind.LITERAL), (14, SiteKind.EXPRESSION)]
    assert _lines(evaluated, program, "d", "k")[0] == (5, SiteKind.LITERAL)


def test_a_key_read_beside_leads_to_where_it_is_written(evaluated: Evaluated) -> None:
    program = "a = {\n    x = 1\n    y = {\n        z = x\n    }\n}\n"
    assert _lines(evaluated, program, "a", "y", "z") == [(2, SiteKind.OVERRIDE), (4, SiteKind.OVERRIDE)]


def test_comprehensions_and_quantifiers_lead_to_their_source(evaluated: Evaluated) -> None:
    program = (
        "_l = [\n    'a'\n    'b'\n]\nu = [\n    x.upper() for x in _l\n]\nd = {\n    x: x + '!' for x in _l\n}\n"
        "m = map x in _l {\n    x + '?'\n}\nf = filter x in _l {\n    x == 'b'\n}\n"
    )
    assert _lines(evaluated, program, "u", 1) == [(3, SiteKind.LITERAL), (6, SiteKind.COMPREHENSION)]
    assert _lines(evaluated, program, "d", "a") == [(2, SiteKind.LITERAL), (9, SiteKind.COMPREHENSION)]
    assert _lines(evaluated, program, "m", 0) == [(2, SiteKind.LITERAL), (12, SiteKind.COMPREHENSION)]
    assert _lines(evaluated, program, "f", 0) == [(3, SiteKind.LITERAL)]


def test_a_computed_value_is_told_from_one_that_is_written_out(evaluated: Evaluated) -> None:
    program = "a = 1\nb = 1 + 1\nc = {d: 'x', e: 'x' + 'y'}\nf = [1, 1 + 1]\n"
    found = evaluated(program).provenance
    for path, kind in [
        (("a",), SiteKind.LITERAL),
        (("b",), SiteKind.EXPRESSION),
        (("c", "d"), SiteKind.LITERAL),
        (("c", "e"), SiteKind.EXPRESSION),
        (("f", 0), SiteKind.LITERAL),
        (("f", 1), SiteKind.EXPRESSION),
    ]:
        (site,) = found.lookup(0, path)
        assert site.kind == kind
        written = None if site.literal is None else program[site.literal.start : site.literal.end]
        assert written == {"a": "1", "d": "'x'", 0: "1"}.get(path[-1])
