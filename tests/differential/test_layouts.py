"""Where files and what they import are found: programs of several modules, held against the official compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kcl.api import ProgramError, run
from tests.conformance.kcl_suite import same
from tests.differential.comparing import documents
from tests.properties.official import Official, official

SCHEMA = "schema S:\n    x: int = 1\n"
MODULE = '[package]\nname = "m"\n'


@dataclass(frozen=True, slots=True)
class Layout:
    """Files below a folder, those that are run (relative to `work`), and external packages by name."""

    files: Mapping[str, str]
    run: tuple[str, ...] = ("main.k",)
    work: str = "p"
    packages: Mapping[str, str] = field(default_factory=dict)


def _one(main: str, **files: str) -> Layout:
    """One package `p` beside an external one `q`; names of files are spelled with `__` for a slash, without `.k`."""
    written = {f"{name.replace('__', '/')}.k": text for name, text in files.items()}
    there = {"p/kcl.mod": MODULE, "p/main.k": main, "q/kcl.mod": MODULE, "q/sub/deep/z.k": "z = 1\n", **written}
    return Layout(there, packages={"q": "q"})


_TWO_ROOTS = {
    "p/kcl.mod": MODULE,
    "p/base/base.k": "import lib\na = lib.x\n",
    "p/lib/l.k": "x = 1\n",
    "p/dev/kcl.mod": MODULE,
    "p/dev/main.k": "import here\nb = here.y\n",
    "p/dev/here/h.k": "y = 2\n",
}
_EXTERNAL_FILE = {
    "p/kcl.mod": MODULE,
    "p/main.k": "import q.models\na = models.S{x = 2}\n",
    "q/kcl.mod": MODULE,
    "q/models/m.k": SCHEMA,
    "q/render/r.k": "import models\nimport .beside\nfound = models.S.instances()\nc = beside.c\n",
    "q/render/beside/b.k": "c = 3\n",
}
_RENDER = "${q:KCL_MOD}/render/r.k"
_AGAIN = "import q.sub.deep\nimport q.sub.deep\nimport q.sub.deep as other\na = [deep.z, other.z]\n"
LAYOUTS = {
    "files of two modules start from their own roots": Layout(_TWO_ROOTS, ("../base/base.k", "main.k"), "p/dev"),
    "a file does not see packages of another root": Layout(
        {**_TWO_ROOTS, "p/dev/main.k": "import lib\n"}, ("../base/base.k", "main.k"), "p/dev"
    ),
    "packages of one path in two roots": Layout(
        {**_TWO_ROOTS, "p/dev/main.k": "import lib\nb = lib.y\n", "p/dev/lib/l.k": "y = 2\n"},
        ("../base/base.k", "main.k"),
        "p/dev",
    ),
    "a file of a package imports what others import by its name": Layout(
        _EXTERNAL_FILE, ("main.k", _RENDER), packages={"q": "q"}
    ),
    "a file of the root": Layout(
        {**_EXTERNAL_FILE, "p/more.k": "d = 4\n"}, ("main.k", "${KCL_MOD}/more.k"), packages={"q": "q"}
    ),
    "a file of a package nobody knows": Layout(_EXTERNAL_FILE, ("main.k", "${r:KCL_MOD}/render/r.k")),
    "a package without files of its own": _one("import q\na = 1\n"),
    "a folder without files of a package": _one("import q.sub as s\na = 1\n"),
    "an attribute of a folder without files": _one("import q.sub as s\na = s.nope\n"),
    "the package below it": _one("import q.sub.deep\na = deep.z\n"),
    "what is not in a package": _one("import q.none\na = 1\n"),
    "an attribute of what is not in a package": _one("import q.none\na = none.x\n"),
    "what is not in the own root": _one("import none\na = 1\n"),
    "a folder hides a file of its name": _one("import lib\na = lib.x\n", p__lib="x = 1\n", p__lib__below__b=""),
    "a folder of hidden files and tests": _one("import h\na = 1\n", p__h___x="x = 1\n", p__h__x_test="x = 1\n"),
    "relative to a folder without files": _one("import .h\na = 1\n", p__h__below__x="x = 1\n"),
    "a folder hides a package of its name": _one("import q\na = 1\n", p__q__below__x=""),
    "but not what it does not have": _one("import q.sub.deep\na = deep.z\n", p__q__below__x=""),
    "the only file of a folder": _one(
        "import a.c\nimport a\nv: a.S = c.S{x = 2}\nw = a.S.instances()\nn = typeof(c.S{}, True)\n", p__a__c=SCHEMA
    ),
    "one file of two": _one(
        "import a.c\nv = c.S{x = 2}\nn = typeof(c.S{}, True)\n", p__a__c=SCHEMA, p__a__d="schema T:\n    y: int = 1\n"
    ),
    "the only file of a folder beside a test": _one(
        "import a.c\nn = typeof(c.S{}, True)\n", p__a__c=SCHEMA, p__a__c_test=SCHEMA
    ),
    "the only file of the root of a package": _one("import q.one\nn = typeof(one.S{}, True)\n", q__one=SCHEMA),
    "the same import again": _one("import lib\nimport lib\na = lib.x\n", p__lib="x = 1\n"),
    "the same import again in a package": _one(
        "import q.twice\na = twice.a\n", q__twice__t="import sub.deep\nimport sub.deep\na = deep.z\n"
    ),
    "the same import again in a package, by its name": _one("import q.twice\na = twice.a\n", q__twice__t=_AGAIN),
    "the same import again under another name": _one(_AGAIN),
    "two imports of one name in a package": _one(
        "import q.twice\na = twice.a\n",
        q__twice__t="import sub.deep\nimport other.deep\na = deep.z\n",
        q__other__deep__z="z = 2\n",
    ),
    "a package that is only imported": _one("import q.a\n", q__a__f="x = nope\nassert False\n"),
    "one that imports something": _one("import q.a\n", q__a__f="import regex\nx = nope\n"),
    "one that imports something in another file": _one(
        "import q.a\n", q__a__f="x = nope\n", q__a__g="import regex\ny = 1\n"
    ),
    "one that imports what is wrong": _one("import q.a\n", q__a__f="import b\n", q__b__f="x = nope\n"),
    "one that names what is wrong": _one("import q.a\n", q__a__f="import b\nx = b.x\n", q__b__f="x = nope\n"),
    "one that imports what imports and is wrong": _one(
        "import q.a\n", q__a__f="import b\n", q__b__f="import regex\nx = nope\n"
    ),
    "one that fails when it is run": _one("import q.a\n", q__a__f="import regex\nassert False\n"),
    "one that names what fails when it is run": _one(
        "import q.a\n", q__a__f="import b\nx = b.x\n", q__b__f="x = 1\nassert False\n"
    ),
    "one whose import fails when it is run": _one(
        "import q.a\ny = a.x\n", q__a__f="import b\nx = 1\n", q__b__f="assert False\n"
    ),
    "an import again in another file of a package": _one(
        "import q.twice\na = [twice.a, twice.b]\n",
        q__twice__t="import sub.deep\na = deep.z\n",
        q__twice__u="import sub.deep\nb = deep.z\n",
    ),
}


@pytest.fixture(scope="module")
def peer() -> Iterator[Official]:
    with official() as running:
        yield running


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layout_is_read_as_the_official_compiler_reads_it(layout: Layout, peer: Official, tmp_path: Path) -> None:
    _write(layout, tmp_path)
    packages = {name: str(tmp_path / folder) for name, folder in layout.packages.items()}
    work = str(tmp_path / layout.work)
    theirs = peer.run_files(work, {"files": list(layout.run), "options": [], "packages": list(packages.items())})
    try:
        ours = run(layout.run, work_dir=work, package_maps=packages)
    except ProgramError as problem:
        assert theirs.yaml is None, f"refused by us only:\n{problem.render()}"
        assert problem.diagnostics[0].code.title in theirs.complaint or "Cannot find the kcl file" in theirs.complaint
        return
    assert theirs.yaml is not None, f"accepted by us only; officially:\n{theirs.complaint}"
    assert same(documents(ours.yaml()), documents(theirs.yaml + "\n")), f"{ours.yaml()}\ninstead of\n{theirs.yaml}"


def test_file_of_a_package_runs_alone(tmp_path: Path) -> None:
    """Officially it is not found then, for want of another file that has a root."""
    _write(Layout(_EXTERNAL_FILE), tmp_path)
    result = run([_RENDER], work_dir=tmp_path / "p", package_maps={"q": str(tmp_path / "q")})
    assert result.documents == ({"found": [], "c": 3},)


def test_file_that_is_not_in_the_package_is_refused(tmp_path: Path) -> None:
    """Officially it is left out without a word, and what it would have made is missing."""
    _write(Layout(_EXTERNAL_FILE), tmp_path)
    with pytest.raises(ProgramError, match="Cannot find the kcl file"):
        run(["main.k", "${q:KCL_MOD}/none.k"], work_dir=tmp_path / "p", package_maps={"q": str(tmp_path / "q")})


def _write(layout: Layout, folder: Path) -> None:
    for name, text in layout.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
