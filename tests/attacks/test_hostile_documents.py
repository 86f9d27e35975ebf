"""Every reader of YAML, TOML and JSON × every hostile document: it is read within limits, or it is a finding."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kcl import bounds
from runtimes.base import documents
from tests.attacks.hostile_documents import SLOW_TO_REFUSE
from tests.attacks.readers import READERS
from workbench.project import provider_lock
from workbench.project.errors import BrokenFile
from workbench.project.yaml_file import read_mapping

_ROOT = Path(__file__).parents[2]
_HARMLESS_FOR = {  # readers for which an unreadable text is no error: it is shown, or handed on, as the text that it is
    "kcl_options",
    "text of a field that changed",
    "-D",
}
_OVER_LIMIT = (
    "aliases of aliases in lists",
    "aliases of a long text",
    "aliases of merges",
    "an alias inside itself",
    "a merge of itself",
    "brackets without end",
    "nested brackets",
    "nested dashes",
    "nested keys",
    "nested lists",
    "nested lists that Python reads",
    "nested objects",
    "nested tables",
    "two million elements",
    "more than the largest size",
)


@pytest.fixture(scope="module")
def all_outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.readers", str(tmp_path_factory.mktemp("hostile"))],
        cwd=_ROOT, capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("reader", READERS)
def test_a_hostile_document_is_a_finding_and_neither_ends_nor_fills_the_process(
    reader: str, all_outcomes: dict[str, dict[str, str]]
) -> None:
    outcomes = all_outcomes[reader]
    assert len(outcomes) >= len(READERS[reader][0]) - len(SLOW_TO_REFUSE)
    wrong = {name: told for name, told in outcomes.items() if told != "read" and not told.startswith("finding: ")}
    assert not wrong
    if reader not in _HARMLESS_FOR:
        assert {name for name in _OVER_LIMIT if outcomes.get(name) == "read"} == set()


@pytest.mark.parametrize(
    "reader",
    [
        "project.yaml, stack.yaml, clusters.yaml, readiness.yaml, plugins.yaml",
        "kcl.yaml and -Y",
        "crd/*.yaml",
        "a Spec file",
        "a kubeconfig",
    ],
)
def test_the_finding_names_file_line_and_limit(reader: str, tmp_path: Path) -> None:
    file = tmp_path / "hostile.yaml"
    file.write_text("a: 1\nb: " + "[" * 900 + "]" * 900 + "\n")
    with pytest.raises(Exception) as raised:
        READERS[reader][1](file)
    told = f"{getattr(raised.value, 'where', '')} {raised.value} {getattr(raised.value, 'diagnostics', '')}"
    assert str(tmp_path) in told
    assert "nested deeper than the limit of 200 levels" in told


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":', '["\\"]",'], ids=["lists", "mappings", "both", "quoted"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_nesting_is_refused_where_more_calls_are_allowed_than_the_stack_has_room_for(
    opening: str, encoding: str
) -> None:
    program = (
        "import sys; sys.setrecursionlimit(10**7)\n"
        "from runtimes.base import documents\n"
        f"text = ({opening!r} * 1_000_000).encode({encoding!r})\n"
        "try:\n    documents.load_json(text)\n"
        "except documents.OverLimit as refused:\n    print(refused)"
    )
    ended = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, "is nested deeper than the limit of 200 levels\n"), ended.stderr


def test_brackets_in_a_text_are_no_nesting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "getrecursionlimit", lambda: 10**7)
    flat = ["[" * 5_000, '\\"[' * 500, "\\", "[{"] * 300
    assert documents.load_json(json.dumps(flat)) == flat


@pytest.mark.parametrize("leaf", ["1", '"text"', "[]", "{}", '{"a": [1, {"b": "c"}]}'])
@pytest.mark.parametrize(("before", "after"), [("[", "]"), ('{"a": ', "}"), ('[1, {"a": "b"}, ', "]")])
def test_the_limit_of_depth_is_the_same_for_whatever_is_nested(before: str, after: str, leaf: str) -> None:
    """What the look through the collector of garbage lets pass is what counting level by level lets pass."""
    passed = []
    for levels in range(bounds.MOST_DEPTH - 6, bounds.MOST_DEPTH + 4):
        text = before * levels + leaf + after * levels
        value = json.loads(text)
        try:
            bounds.check_depth(value)
        except bounds.LimitError:
            with pytest.raises(bounds.LimitError):
                bounds.load_json(text)
        else:
            assert bounds.load_json(text) == value
            passed.append(levels)
    assert 0 < len(passed) < 10


def test_files_of_the_workbench_are_small(tmp_path: Path) -> None:
    """There is one for each of thousands of stacks, and each is read by every command."""
    file = tmp_path / "stack.yaml"
    file.write_text("# " + "x" * 1_000_000)
    with pytest.raises(BrokenFile, match="larger than 1000000 bytes") as raised:
        read_mapping(file)
    assert raised.value.where == str(file)


def test_a_lock_file_of_providers_is_small(tmp_path: Path) -> None:
    (tmp_path / ".terraform.lock.hcl").write_text("# " + "x" * 20_000_000)
    with pytest.raises(BrokenFile, match="is larger than"):
        provider_lock(tmp_path, tmp_path)


def test_real_files_are_far_from_the_limits() -> None:
    """Aliases, deep schemas and long lists are what people use: only what no file needs is refused."""
    shared = "base: &base {image: app, ports: [80, 443]}\n" + "".join(
        f"s{each}: {{<<: *base, n: {each}}}\n" for each in range(2_000)
    )
    assert len(documents.load_yaml(shared)) == 2_001
    deep = "".join("  " * each + "properties:\n" for each in range(150)) + "  " * 150 + "type: object\n"
    documents.load_yaml(deep)
    resources = "".join(f"---\nid: v1:ConfigMap:n:c{each}\nattributes: {{data: {{a: '1'}}}}\n" for each in range(3_000))
    assert len(documents.load_all_yaml(resources)) == 3_000
    definitions = _ROOT.parents[0] / "shared" / "conformance" / "crds"
    for file in sorted(definitions.rglob("*.yaml"))[:20]:
        documents.check_yaml(file.read_bytes())
