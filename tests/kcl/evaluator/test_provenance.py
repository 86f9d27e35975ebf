"""Every value of the output leads back to the lines that decided it."""

from kcl.evaluator.provenance import SiteKind

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


def _sites(evaluated, *path):
    files = {"models/m.k": MODELS, "stack.k": STACK}
    result = evaluated(BASE, files=files, also=("stack.k",), options={"b": "x"})
    found = result.provenance.lookup(0, path)
    return [(site.file.removeprefix("/repo/"), site.line, site.kind) for site in found]


def test_a_configured_value_leads_to_the_users_line_then_to_the_default(evaluated):
    assert _sites(evaluated, "app", "replicas") == [
        ("stack.k", 3, SiteKind.OVERRIDE),
        ("models/m.k", 3, SiteKind.DEFAULT),
    ]


def test_a_value_copied_through_a_backend_keeps_its_origin(evaluated):
    assert _sites(evaluated, "out", "spec", "replicas")[0] == ("stack.k", 3, SiteKind.OVERRIDE)
    assert _sites(evaluated, "out", "spec", "replicas")[-1] == ("models/m.k", 10, SiteKind.OVERRIDE)


def test_text_made_of_a_value_leads_to_it(evaluated):
    assert _sites(evaluated, "out", "spec", "image")[0] == ("main.k", 3, SiteKind.OVERRIDE)
    assert _sites(evaluated, "out", "spec", "name")[0] == ("main.k", 3, SiteKind.OVERRIDE)


def test_entries_of_a_copied_container_keep_their_own_lines(evaluated):
    assert _sites(evaluated, "out", "spec", "env", "A")[0] == ("main.k", 4, SiteKind.OVERRIDE)


def test_a_template_that_is_chosen_leads_to_the_choice_first(evaluated):
    files = {"models/m.k": "schema Size:\n    cpu: str\nsmall = Size {cpu = '1'}\nschema App:\n    size: Size\n"}
    program = "import models\napp: models.App {\n    size = models.small\n}\nout = {spec.limit = app.size.cpu}\n"
    lookup = evaluated(program, files=files).provenance.lookup
    for path in (("app", "size", "cpu"), ("out", "spec", "limit")):
        assert [(site.file, site.line) for site in lookup(0, path)][:1] == [("/repo/main.k", 3)]
        assert ("/repo/models/m.k", 3) in [(site.file, site.line) for site in lookup(0, path)]


def test_loop_variables_lead_to_what_is_looped_over(evaluated):
    program = "d = {\n    a = 'x'\n    b = 'y'\n}\nl = [\n    1\n    2\n]\n"
    program += "up = {k = v.upper() for k, v in d}\nmore = [n + 1 for n in l]\n"
    lookup = evaluated(program).provenance.lookup
    assert [lookup(0, ("up", "b"))[0].line, lookup(0, ("more", 1))[0].line] == [3, 7]


def test_an_option_is_told_as_such(evaluated):
    assert _sites(evaluated, "out", "spec", "env", "B")[0] == ("stack.k", 4, SiteKind.OPTION)


def test_a_default_leads_to_its_declaration(evaluated):
    assert _sites(evaluated, "out", "kind") == [("models/m.k", 8, SiteKind.OVERRIDE)]


def test_a_path_that_is_not_there_has_no_sites(evaluated):
    assert _sites(evaluated, "out", "nothing", 3) == []


def test_items_of_lists_have_lines_of_their_own(evaluated):
    program = "a = [\n    1\n    {b = 2}\n] + [3]\nb = {l = [\n    0\n]} | {l += [\n    5\n]}\n"
    lookup = evaluated(program).provenance.lookup
    assert [lookup(0, ("a", 0))[0].line, lookup(0, ("a", 1, "b"))[0].line, lookup(0, ("a", 2))[0].line] == [2, 3, 4]
    assert [lookup(0, ("b", "l", 0))[0].line, lookup(0, ("b", "l", 1))[0].line] == [6, 8]
