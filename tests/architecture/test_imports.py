"""The architecture holds: the import contracts of pyproject.toml, and a start that loads only what it needs."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

REPORT = """
import json, sys
from workbench.cli.main import main
try:
    main({arguments!r})
except SystemExit:
    pass
heavy = ("textual", "kubernetes", "lark", "aiohttp", "pandas", "ipywidgets", "anywidget", "IPython")
print("\\n" + json.dumps([name for name in heavy if name in sys.modules]))
"""


def modules_loaded_by(*arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", REPORT.format(arguments=list(arguments))],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded: list[str] = json.loads(done.stdout.splitlines()[-1])
    return loaded


def test_the_import_contracts_hold() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


FILE_ACCESS = frozenset({"open", "read_text", "read_bytes", "write_text", "write_bytes", "touch", "mkdir", "unlink"})
FILE_ACCESS |= {"exists", "is_file", "is_dir", "stat", "lstat", "iterdir", "glob", "rglob", "rename"}


@pytest.mark.parametrize("stage", ["syntax", "semantic", "evaluator", "compiler"])
def test_what_parses_checks_and_evaluates_touches_no_file(stage: str) -> None:
    """An import contract cannot tell a `Path` that is a name from one that is read."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in (ROOT / "kcl" / stage).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) in FILE_ACCESS
    ]
    assert found == []


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("--help",), ("ls", "-w", "sample-konfig"), ("compile", "--help")],
    ids=lambda arguments: " ".join(arguments),
)
def test_starting_loads_neither_screens_nor_clients(arguments: tuple[str, ...]) -> None:
    assert modules_loaded_by(*arguments) == []


def test_compiling_loads_neither_screens_nor_clients_nor_the_grammar() -> None:
    assert modules_loaded_by("compile", "checkout/dev", "-w", "sample-konfig") == []


def test_importing_the_package_loads_nothing_before_it_is_asked_for() -> None:
    script = "import sys, workbench; print([name for name in sys.modules if name.startswith('workbench.')])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


POSSESSIVE = """
import importlib, pkgutil, re, sys
from re import _compiler, _parser
import kcl

SINGLE = {"literal", "not_literal", "in", "any"}
found = set()


def look(tree, text):
    for operator, argument in tree:
        if str(operator).lower() == "possessive_repeat" and not (
            len(argument[2]) == 1 and str(argument[2][0][0]).lower() in SINGLE
        ):
            found.add(text)
        for each in argument if isinstance(argument, (tuple, list)) else (argument,):
            for inner in each if isinstance(each, list) else (each,):
                if isinstance(inner, _parser.SubPattern):
                    look(inner, text)


def compile_(pattern, flags=0):
    look(_parser.parse(pattern, flags), pattern)
    return kept(pattern, flags)


kept, _compiler.compile = _compiler.compile, compile_
re.compile("(?:ab|b)*+")
assert found, "the check finds none"
from kcl import patterns
patterns.pattern = re.compile  # when the module is loaded, and not when somebody needs it
found.clear()
re.purge()
for name in ("runtimes.base", "workbench.present", "workbench.project"):
    importlib.import_module(name)
for module in pkgutil.walk_packages(kcl.__path__, "kcl."):
    if "__main__" not in module.name:
        importlib.import_module(module.name)
sys.exit("\\n".join(map(str, found)) or 0)
"""


def test_no_pattern_has_a_possessive_group() -> None:
    """Python before 3.11.5 forgets alternatives inside of one (python/cpython#106052): `(?>(?:...)*)` says the same."""
    checked = subprocess.run([sys.executable, "-c", POSSESSIVE], capture_output=True, text=True, timeout=120)
    assert checked.returncode == 0, checked.stderr


def test_nothing_names_a_place_on_one_machine() -> None:
    """What is shipped works anywhere: no home folders, no scratch folders of whoever wrote it."""
    suspects = ("/work/", "/root/", "/opt/cp")
    found = [
        f"{path.relative_to(ROOT)}: {suspect}"
        for folder in ("kcl", "runtimes", "workbench", "sample-konfig", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".k", ".yaml", ".tcss", ".toml"}
        for suspect in suspects
        if suspect in path.read_text(encoding="utf-8", errors="replace")
    ]
    assert found == []


def test_handlers_of_the_sandbox_go_through_the_verbs_of_its_cluster() -> None:
    """What changes and reads objects is `runtimes/sandbox/cluster.py`; the rules of access alone read past it."""
    acts = {"admission", "binding", "eviction", "scale", "writing", "store"}
    found = []
    for path in sorted((ROOT / "runtimes" / "sandbox" / "api").glob("*.py")):
        for each in ast.walk(ast.parse(path.read_bytes())):
            match each:
                case ast.Attribute(attr="store", value=value) if path.name != "access.py":
                    found.append(f"{path.name}: {ast.unparse(value)}.store")
                case ast.ImportFrom(module="runtimes.sandbox", names=names):
                    found += [f"{path.name}: {name.name}" for name in names if name.name in acts]
                case ast.Call(
                    func=ast.Attribute(attr="delete" | "everything" | "page" as verb, value=ast.Name(id=name))
                ):
                    if name in ("deletion", "listing"):
                        found.append(f"{path.name}: {name}.{verb}")
    assert found == []


def test_imports_are_absolute() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{each.lineno}"
        for folder in ("kcl", "runtimes", "workbench")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"^\s*from\s*\.", text := path.read_text("utf-8"), re.MULTILINE)
        for each in ast.walk(ast.parse(text))
        if isinstance(each, ast.ImportFrom) and each.level
    }
    assert found == set()


OFFLINE = """
import sys
used = []

def notice(event, values):  # a path is a socket of this machine: workers are spoken to through one
    if event == "socket.getaddrinfo" or (event == "socket.connect" and isinstance(values[1], tuple)):
        used.append((event, values))

sys.addaudithook(notice)
arguments = {arguments!r}
if arguments[0] == "kcl":
    from kcl.cli import entry as main  # which loads what the process of a run does: that is another
    sys.argv = list(arguments)
else:
    from workbench.cli.main import main as wb
    main = lambda: wb(list(arguments))
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
network = ("aiohttp", "kubernetes", "requests", "urllib3", "http.client", "urllib.request", "oras", "distributed")
sys.stderr.write(str([*used, *(name for name in network if name in sys.modules)]))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("ls",),
        ("compile", "checkout/prod"),
        ("compile", "--all"),
        ("explain", "checkout/prod", "Deployment/web", "spec.replicas"),
        ("audit",),
        ("trust", "--help"),
        ("cache", "info"),
        ("kcl", "run", "storefront/checkout/prod/main.k"),
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_what_needs_no_network_loads_no_code_for_it(arguments: tuple[str, ...], tmp_path: Path) -> None:
    script = OFFLINE.format(arguments=arguments)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT / "sample-konfig",
        env=environment,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr[-500:][done.stderr[-500:].rfind("[") :]) == (0, "[]"), done.stderr


def test_screens_start_without_the_language_and_without_a_client() -> None:
    """Another process compiles, and clusters are reached later: who opens the screens waits for neither."""
    code = "import sys, workbench.tui.app; print([each for each in ('kcl.api', 'kubernetes') if each in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_comparing_loads_nothing_that_evaluates(tmp_path: Path) -> None:
    """Another process evaluates; what its provenance says is read here, without what made it."""
    for name, text in {
        "kcl.mod": '[package]\nname = "repository"\n',
        "clusters.yaml": "clusters:\n  here: {kubeconfig: nowhere}\nplacements:\n- {stacks: ['*'], clusters: [here]}\n",
        "web/project.yaml": "name: web\n",
        "web/dev/stack.yaml": "name: dev\n",
        "web/dev/main.k": '{apiVersion = "v1", kind = "ConfigMap", metadata.name = "a"}\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    script = """
import sys
from workbench.cli.main import main
try:
    main(["diff", "web/dev"])
except SystemExit as end:
    sys.stderr.write(f"ended with {end.code}")
import kcl.evaluator.cached_provenance
heavy = ("kcl.api", "kcl.evaluator.value", "kcl.syntax", "kcl.semantic", "kcl.loader")
print([each for each in heavy if each in sys.modules])
"""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=120,
        check=False,
    )
    assert "here" in done.stderr and "ended with" in done.stderr, "it came as far as the cluster"
    assert done.stdout.splitlines()[-1] == "[]", done.stdout
