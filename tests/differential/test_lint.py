"""What `kcl lint` says of imports, beside what the official linter says of the same files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from kcl_lib import api

from kcl.diagnostics import Code
from kcl.source import OsFileSystem
from kcl.tools.lint import lint
from kcl.tools.lint.linting import files_of
from tests.kcl.conformance import ROOT, corpus

_IMPORTS = frozenset((Code.IMPORT_POSITION, Code.REIMPORT, Code.UNUSED_IMPORT))
TEXTS = {
    "unused": "import math\na = 1\n",
    "twice": "import math\nimport math\na = math.ceil(0.5)\n",
    "under two names": "import math\nimport math as m\na = m.ceil(math.ceil(0.5))\n",
    "below": "a = 1\nimport math\nb = math.ceil(a)\n",
    "a key": "import math\na = {math = 1}\n",
    "a string": "import math\na = '${math.ceil(0.5)}'\n",
    "a default": "import math\nschema S:\n    a: int = math.ceil(0.5)\n",
    "a check": "import math\nschema S:\n    a: int\n    check:\n        a > math.ceil(0.5)\n",
    "a lambda": "import math\nf = lambda x {\n    math.ceil(x)\n}\n",
    "all at once": "import math\nimport math\nimport math as m\na = 1\nimport json\n_b = 1\n",
}


def _theirs(path: str) -> Counter[str]:
    said = api.API().lint_path(api.LintPathArgs(paths=[path])).results
    return Counter(each for each in said if each.startswith(("Module '", "The import stmt")))


def _ours(paths: tuple[str, ...]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {path: Counter() for path in paths}
    for finding in lint(paths, OsFileSystem(), select=_IMPORTS).findings:
        found[finding.span.path][finding.diagnostic.message] += 1
    return found


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_imports_as_officially(text: str, tmp_path: Path) -> None:
    path = tmp_path / "main.k"
    path.write_text(text)
    assert _ours((str(path),))[str(path)] == _theirs(str(path))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sample-konfig", "konfig-2023"])
def test_imports_of_a_repository_as_officially(name: str) -> None:
    """Where the official linter says more, a file that is compiled with this one reads the import."""
    folder = ROOT / name if name == "sample-konfig" else corpus(name)
    paths, _ = files_of([f"{folder}/..."], "/")
    found = _ours(paths)
    unlike = {path: (mine, theirs) for path, mine in found.items() if mine != (theirs := _theirs(path))}
    assert {path: mine - theirs for path, (mine, theirs) in unlike.items() if mine - theirs} == {}
    for path, (mine, theirs) in unlike.items():
        for message in theirs - mine:
            read = message.split("'")[1]
            beside = "".join(each.read_text() for each in Path(path).parents[1].rglob("*.k") if str(each) != path)
            assert f"{read}." in beside, (path, message)
