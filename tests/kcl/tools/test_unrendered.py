"""Components that compile and are in no output: what the program renders is asked for by name."""

from __future__ import annotations

import pytest

from kcl.tools.query.unrendered import unrendered

RENDER = "import manifests\nimport models.frontend\n\nmanifests.yaml_stream([s for s in frontend.Server.instances()])\n"
BASE = "import models.frontend\nimport models.cache\n\n"


def found(base: str, render: str = RENDER, *imported: str) -> list[tuple[str, str, int]]:
    made = unrendered([("base.k", BASE + base), ("render.k", render)], lambda: imported)
    assert {each.asked_in for each in made} <= {"render.k"}
    return [(each.variable, each.schema, each.line) for each in made]


def test_a_component_of_a_schema_that_nobody_asks_for_is_found_with_its_line() -> None:
    assert found('web: frontend.Server {name = "web"}\n') == []
    assert found('web: frontend.Server {}\nc: cache.Cache {name = "c"}\n') == [("c", "cache.Cache", 5)]
    assert found("if True:\n    c = cache.Cache {}\n") == [("c", "cache.Cache", 5)]
    renamed = 'import konfig.models.frontend\nweb: frontend.Server {}\nd: frontend.Daemon {name = "d"}\n'
    assert found(renamed) == [("d", "frontend.Daemon", 6)], "however the package is named"


@pytest.mark.parametrize(
    ("base", "render", "imported"),
    [
        ("_c: cache.Cache {}\n", RENDER, ()),  # not meant to be rendered
        ("c: cache.Cache {}\nweb: frontend.Server {env.A = c.name}\n", RENDER, ()),  # read by another
        ('c: cache.Cache {}\nweb: frontend.Server {env.A = "${c.name}:1"}\n', RENDER, ()),
        ("c: cache.Cache {}\n", RENDER, ("import .cache\nevery = lambda { cache.Cache.instances() }\n",)),
        ("c: cache.Cache {}\n", RENDER, ("schema Cache:\n    n: int\nevery = lambda { Cache.instances() }\n",)),
        ("c: cache.Cache {}\n", RENDER.replace("instances()", "instances(full_pkg=True)"), ()),  # bases count then
        ("c: cache.Cache {}\n", "a = 1\n", ()),  # the variables themselves are the output
        ("c: cache.Cache {}\n", RENDER.replace("manifests.yaml_stream", "print"), ()),
        ("c: other.Cache {}\n", RENDER, ()),  # not imported: another matter
        ("c: cache.Cache {\n", RENDER, ()),  # a syntax error is told by who compiles
    ],
)
def test_what_is_read_or_rendered_otherwise_is_no_finding(base: str, render: str, imported: tuple[str, ...]) -> None:
    assert found(base, render, *imported) == []
