"""Running programs through the API."""

import threading
from pathlib import Path
from typing import Any

import pytest

from kcl.api import (
    KONFIG_2023,
    Code,
    InMemoryFileSystem,
    OverlayFileSystem,
    ParseCache,
    PlanOptions,
    ProgramError,
    RunResult,
    Settings,
    SiteKind,
    parse,
    run,
)


def _run(text: str, **settings: Any) -> RunResult:
    return run(["main.k"], work_dir="/w", texts={"main.k": text}, **settings)


def test_documents_are_plain_values() -> None:
    schema = "schema S:\n    k: int = 1\n    _p: int = 2\n"
    result = _run(schema + '_x = 1\na = S {}\nb = [1.5, None, "x", True]\nf = lambda { 1 }\nu = Undefined\n')
    assert result.documents == ({"a": {"k": 1}, "b": [1.5, None, "x", True]},)
    assert result.yaml() == "a:\n  k: 1\nb:\n- 1.5\n- null\n- x\n- true\n"


def test_list_of_configs_is_a_stream() -> None:
    result = _run("[{a = 1}, {b = 2}]\n")
    assert result.documents == ({"a": 1}, {"b": 2})
    assert result.yaml() == "a: 1\n---\nb: 2\n"
    assert result.json(indent=0) == '{"a": 1}\n{"b": 2}\n'


def test_yaml_stream_replaces_the_output_and_keeps_provenance() -> None:
    result = _run('import manifests\n_a = {k = 1}\nb = 2\nmanifests.yaml_stream([_a, {c = "x"}])\n')
    assert result.documents == ({"k": 1}, {"c": "x"})
    assert result.yaml() == "k: 1\n---\nc: x\n"
    assert result.provenance.lookup(0, ("k",))[0].line == 2


def test_plan_options() -> None:
    text = "a = None\n_b = 1\nc = []\nd = {e = [], f = {}}\n"
    assert _run(text, output=PlanOptions(disable_none=True)).documents == ({"c": [], "d": {"e": [], "f": {}}},)
    assert _run(text, output=PlanOptions(show_hidden=True)).documents[0]["_b"] == 1
    assert _run(text, output=PlanOptions(omit_empty_lists=True)).documents == ({"a": None, "d": {"f": {}}},)


def test_path_selector() -> None:
    text = "a = {b = [{c = 1}, {c = 2}]}\n"
    assert _run(text, path_selector=["a.b[1].c"]).documents == (2,)
    assert _run(text, path_selector=["a.b"]).documents == ({"c": 1}, {"c": 2})
    assert _run(text, path_selector=["a.b[0].c", "a.b[1].c"]).documents == ([1, 2],)
    with pytest.raises(ProgramError, match=r"invalid path selector 'a\.x', nothing at 'x'"):
        _run(text, path_selector=["a.x"])


def test_settings_options_and_default_settings_file() -> None:
    files = InMemoryFileSystem(
        {
            "/w/kcl.yaml": "kcl_cli_configs:\n  file: [a.k, b.k]\n  disable_none: true\n"
            "kcl_options:\n- {key: env, value: dev}\n",
            "/w/ci/more.yaml": "kcl_options:\n- {key: env, value: pre}\n- {key: n, value: [1]}\n",
            "/w/a.k": 'env = option("env")\nnone = None\n',
            "/w/b.k": 'n = option("n")\n',
        }
    )
    assert run(work_dir="/w", file_system=files).documents == ({"env": "dev"},)
    assert run(work_dir="/w", file_system=files, settings=["ci/more.yaml"]).documents == ({"env": "pre", "n": [1]},)
    given = run(work_dir="/w", file_system=files, settings=[Settings(options=(("env", 1),))], options={"env": 2})
    assert given.documents == ({"env": 2},)


def test_provenance_leads_to_the_line_of_the_user() -> None:
    files = InMemoryFileSystem(
        {
            "/w/kcl.mod": "",
            "/w/lib/s.k": "schema App:\n    image: str\n    replicas: int = 1\n",
            "/w/base.k": 'import lib\napp: lib.App {\n    image = "a"\n}\n',
            "/w/main.k": "import lib\napp: lib.App {\n    replicas = 3\n}\n",
        }
    )
    result = run(["base.k", "main.k"], work_dir="/w", file_system=files)
    assert result.documents == ({"app": {"image": "a", "replicas": 3}},)
    image = result.provenance.lookup(0, ("app", "image"))[0]
    replicas = result.provenance.lookup(0, ("app", "replicas"))[0]
    assert (image.file, image.line, image.kind) == ("/w/base.k", 3, SiteKind.OVERRIDE)
    assert (replicas.file, replicas.line) == ("/w/main.k", 3)


def test_provenance_tells_who_gave_an_option() -> None:
    files = InMemoryFileSystem(
        {
            "/w/kcl.yaml": "kcl_options:\n  - {key: a, value: 1}\n  - {key: b, value: 1}\n  - {key: c, value: 1}\n",
            "/w/ci/more.yaml": "kcl_options:\n  - {key: b, value: 2}\n  - {key: c, value: 2}\n",
        }
    )
    text = "x = {k: option(k) for k in ['a']}\na = option('a')\nb = option('b')\nc = option('c')\n"
    text += "d = option('d') or 4\n"
    given = [Settings(options=(("own", 1),)), "kcl.yaml", "ci/more.yaml"]
    result = _run(text + "own = option(key='own')\n", file_system=files, settings=given, options={"c": 3})
    found = {name: result.provenance.lookup(0, (name,))[0] for name in ("a", "b", "c", "own")}
    assert {(site.option, site.given_by) for site in found.values()} == {
        ("a", "kcl.yaml"),
        ("b", "ci/more.yaml"),
        ("c", "-D"),
        ("own", ""),
    }
    assert {site.kind for site in found.values()} == {SiteKind.OPTION}
    assert [site.kind for site in result.provenance.lookup(0, ("d",))] == [SiteKind.EXPRESSION]
    assert result.provenance.lookup(0, ("x", "a"))[0].option == ""


def test_errors_show_the_source_line_and_a_caret() -> None:
    with pytest.raises(ProgramError) as caught:
        _run("a = 1\nb = a +\n")
    assert caught.value.diagnostics[0].code is Code.INVALID_SYNTAX
    rendered = caught.value.render()
    assert "--> /w/main.k:2:" in rendered
    assert "2 | b = a +" in rendered
    assert "^" in rendered


def test_run_time_error_names_its_place() -> None:
    with pytest.raises(ProgramError) as caught:
        _run("a = 1\nb = [1][a]\n")
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.message == "list index out of range: 1"
    assert diagnostic.primary is not None
    assert "/w/main.k:2:" in caught.value.render()


def test_missing_settings_are_a_program_error() -> None:
    with pytest.raises(ProgramError, match=r"Failed to load 'no\.yaml'"):
        run(work_dir="/w", settings=["no.yaml"], file_system=InMemoryFileSystem({}))


def test_endless_recursion_ends_in_a_diagnostic() -> None:
    with pytest.raises(ProgramError) as caught:
        _run("f = lambda x { f(x + 1) }\na = f(0)\n")
    assert caught.value.diagnostics


def test_what_if_over_an_overlay_leaves_the_files_alone(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text("a = 1\n")
    cache = ParseCache()
    base = run(["main.k"], work_dir=tmp_path, cache=cache)
    edited = OverlayFileSystem(base_files(), {str(tmp_path / "main.k"): "a = 2\n"})
    assert run(["main.k"], work_dir=tmp_path, file_system=edited, cache=cache).documents == ({"a": 2},)
    assert run(["main.k"], work_dir=tmp_path, cache=cache).documents == base.documents == ({"a": 1},)
    assert (tmp_path / "main.k").read_text() == "a = 1\n"


def base_files() -> Any:
    from kcl.api import OsFileSystem

    return OsFileSystem()


def test_dependencies_are_the_files_a_result_rests_on(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text("")
    (tmp_path / "lib.k").write_text("x = 1\n")
    (tmp_path / "main.k").write_text("import lib\na = lib.x\n")
    (tmp_path / "other.k").write_text("x = 1\n")
    dependencies = run(["main.k"], work_dir=tmp_path).dependencies
    assert {tmp_path / name for name in ("kcl.mod", "lib.k", "main.k")} <= dependencies
    assert tmp_path / "other.k" not in dependencies


def test_dialect_follows_the_manifest_and_can_be_asked_for() -> None:
    files = {"/w/kcl.mod": '[expected]\nkclvm_version="v0.4.6"\n', "/w/main.k": "a = nobody\nb = 1\n"}
    result = run(["main.k"], work_dir="/w", file_system=InMemoryFileSystem(files))
    assert result.dialect == KONFIG_2023
    assert result.documents == ({"b": 1},)
    files["/w/kcl.mod"] = ""
    with pytest.raises(ProgramError, match="nobody"):
        run(["main.k"], work_dir="/w", file_system=InMemoryFileSystem(files))
    asked = run(["main.k"], work_dir="/w", file_system=InMemoryFileSystem(files), dialect=KONFIG_2023)
    assert asked.documents == ({"b": 1},)


def test_threads_do_not_see_each_other() -> None:
    cache = ParseCache()
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        results[number] = _run('a = [option("n") for _ in range(20)]\n', options={"n": number}, cache=cache).documents

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert results == {number: ({"a": [number] * 20},) for number in range(4)}


def test_print_is_kept_apart_from_the_result() -> None:
    result = _run('print("hello", 1.0, None)\na = 1\n')
    assert result.printed == "hello 1.0 None\n"
    assert result.documents == ({"a": 1},)


def test_parse_reads_and_raises_nothing() -> None:
    assert not parse("a = 1\n").diagnostics
    assert parse("a = =\n").diagnostics


def test_stream_of_other_things_than_configs() -> None:
    result = _run("import manifests\nmanifests.yaml_stream([1, [{a = 1}], None])\n")
    assert result.documents == (1, [{"a": 1}], None)
    assert result.yaml() == "1\n---\n- a: 1\n---\nnull\n"


def test_last_stream_is_the_output() -> None:
    result = _run("import manifests\nmanifests.yaml_stream([{a = 1}])\nmanifests.yaml_stream([{b = 1}, {c = 1}])\n")
    assert result.yaml() == "b: 1\n---\nc: 1\n"
    assert result.documents == ({"b": 1}, {"c": 1})
