"""Unifications of one name in several main files describe one instance."""

from kcl.evaluator.dialect import KONFIG_2023
from tests.kcl.evaluator.conftest import Values

SCHEMA = """schema Server:
    image: str
    replicas: int = 1
    ports: [int] = []
    labels: {str:str} = {}
"""


def test_files_are_joined_in_their_order(values: Values) -> None:
    base = "import lib\nserver: lib.Server {\n    image = 'a'\n    ports = [80]\n    labels.team = 'x'\n}\n"
    main = "import lib\nserver: lib.Server {\n    image = 'b'\n    ports += [81]\n    labels.app = 'y'\n}\n"
    main += "count = len(lib.Server.instances())\n"
    found = values(base, files={"lib/s.k": SCHEMA, "stack.k": main}, also=("stack.k",))
    assert found["server"] == {
        "image": "b",
        "replicas": 1,
        "ports": [80, 81],
        "labels": {"team": "x", "app": "y"},
    }
    assert found["count"] == 1


def test_each_entry_is_read_in_the_file_it_was_written_in(values: Values) -> None:
    files = {"lib/s.k": SCHEMA, "one/v.k": "n = 1\n", "two/v.k": "n = 2\n"}
    base = "import lib\nimport one as version\nserver: lib.Server {\n    image = str(version.n)\n}\n"
    stack = "import lib\nimport two as version\nserver: lib.Server {\n    replicas = version.n\n}\n"
    found = values(base, files={**files, "stack.k": stack}, also=("stack.k",), dialect=KONFIG_2023)
    assert found["server"]["image"] == "1"
    assert found["server"]["replicas"] == 2


def test_colliding_values_of_two_files_are_an_error(finding: Values) -> None:
    base = "import lib\nserver: lib.Server {\n    image: 'a'\n}\n"
    stack = "import lib\nserver: lib.Server {\n    image: 'b'\n}\n"
    assert "conflicting values" in finding(base, files={"lib/s.k": SCHEMA, "stack.k": stack}, also=("stack.k",))[1]
