"""The result of a run is taken again exactly while running it anew would come to the same."""

from __future__ import annotations

import marshal
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kcl import api
from kcl.cache.sealing import key_from, opened, seal
from kcl.cache.store import Store
from kcl.evaluator import provenance as evaluated
from kcl.evaluator.cached_provenance import CachedProvenance
from kcl.results.result_cache import ResultCache
from tests.kcl.clocks import later, let_tick, wait_until_settled
from tests.kcl.plugins.test_plugins import Finder
from tests.kcl.results.program import MAIN, MODELS, SETTINGS
from tests.kcl.results.program import run as _run
from tests.properties.freshness.observation import of_result as _seen
from tests.properties.freshness.repositories import KONFIG, SAMPLE
from tests.sizes import is_soak

SECRET = 'a = {apiVersion = "v1", kind = "Secret", data.x = "' + "c2VjcmV0LWluLXByb2dyYW0=" + '"}\n'


def _entries(store: Store) -> list[Path]:
    return sorted(Path(store.folder).glob("result-*.entry"))


def _is_cached(result: api.RunResult) -> bool:
    return isinstance(result.provenance, CachedProvenance)


def test_the_next_process_gets_the_whole_result(folder: Path, store: Store) -> None:
    settings: Any = {"settings": ["settings.yaml"], "options": {"other": [1, {"a": None}]}}
    first, again, anew = (_run(folder, each, **settings) for each in (store, store, None))
    assert [_is_cached(each) for each in (first, again, anew)] == [False, True, False]
    assert _seen(first) == _seen(again) == _seen(anew)
    assert again.provenance.lookup(0, ("a", "size"))[0].given_by == "settings.yaml"
    assert again.provenance.lookup(0, ("_size",)) == anew.provenance.lookup(0, ("_size",)) != ()
    assert (again.printed, again.provenance.schema(0, ("a",))) == ("said\n", "Thing")


def test_warnings_come_back(folder: Path, store: Store) -> None:
    old = "@deprecated(strict=False)\nschema Old:\n    b: int = 1\n"
    (folder / "main.k").write_text(old + "c = Old {}\n")
    let_tick(folder)
    first, again, anew = (_run(folder, each) for each in (store, store, None))
    assert _is_cached(again) and [each.message for each in again.diagnostics] == ["Old was deprecated "]
    assert _seen(first) == _seen(again) == _seen(anew)


def test_output_that_the_program_made_itself_comes_back(folder: Path, store: Store) -> None:
    (folder / "main.k").write_text('import manifests\n_a = {k = 1}\nmanifests.yaml_stream([_a, {c = "x"}])\n')
    let_tick(folder)
    first, again = (_run(folder, store, sort_keys=True) for _ in range(2))
    assert _is_cached(again) and again.emitted is not None
    assert _seen(first) == _seen(again)


def test_who_changes_a_result_changes_nobody_elses(folder: Path, store: Store) -> None:
    cache = api.ParseCache(clock=later, store=store)
    for _ in range(4):
        result = api.run(["main.k"], work_dir=folder, cache=cache)
        assert result.documents[0]["a"] == {"name": "x", "size": 1, "labels": {"app": "x"}}
        result.documents[0]["a"]["labels"]["app"] = "changed"
        result.documents[0].clear()


def test_what_was_read_is_remembered_while_it_holds(folder: Path, store: Store) -> None:
    cache = api.ParseCache(clock=later, store=store)
    first = api.run(["main.k"], work_dir=folder, cache=cache)
    (entry,) = _entries(store)
    entry.unlink()
    assert _is_cached(api.run(["main.k"], work_dir=folder, cache=cache))
    (folder / "main.k").write_text(MAIN.replace('"x"', '"w"'))
    other = api.run(["main.k"], work_dir=folder, cache=cache)
    assert (first.documents[0]["a"]["name"], other.documents[0]["a"]["name"]) == ("x", "w")
    assert not _is_cached(other)


def test_what_is_in_memory_is_bounded(folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        _run(folder, store, options={"size": number + 1})
    sizes = {each.stem: len(store.read(each.stem) or b"") for each in _entries(store)}
    monkeypatch.setattr("kcl.results.result_cache._MOST_IN_MEMORY", sum(sizes.values()) - 1)
    results = ResultCache(store)
    assert all(results.look_up(name) for name in sizes)
    store.clear()
    assert [results.look_up(name) is not None for name in sizes] == [False, True, True]


Change = Callable[[Path], object]
CHANGES: dict[str, Change] = {
    "the program": lambda folder: (folder / "main.k").write_text(MAIN.replace('"x"', '"w"')),
    "a model": lambda folder: (folder / "models" / "thing.k").write_text(MODELS + "    more: int = 7\n"),
    "a new file of a package": lambda folder: (folder / "models" / "other.k").write_text("b = 1\n"),
    "a file taken out of a package": lambda folder: (folder / "models" / "thing.k").rename(folder / "models" / "t.k"),
    "kcl.mod": lambda folder: (folder / "kcl.mod").write_text('[package]\nname = "q"\n'),
    "kcl.mod is gone": lambda folder: (folder / "kcl.mod").unlink(),
    "settings": lambda folder: (folder / "settings.yaml").write_text(SETTINGS.replace("3", "4")),
    "settings nobody named": lambda folder: (folder / "kcl.yaml").write_text(SETTINGS),
    "other times": lambda folder: os.utime(folder / "models" / "thing.k", ns=(10**18, 10**18)),
    "a nearer kcl.mod": lambda folder: (folder / "stack" / "kcl.mod").write_text(""),
    "what was looked for in vain": lambda folder: shutil.copytree(folder / "models", folder / "single"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_of_anything_looked_at_runs_the_program_again(folder: Path, store: Store, change: Change) -> None:
    (folder / "stack").mkdir()
    (folder / "main.k").rename(folder / "stack" / "main.k")
    (folder / "main.k").symlink_to("stack/main.k")  # for what changes it
    (folder / "stack" / "kcl.yaml").write_text("kcl_cli_configs:\n  file: [main.k]\n")
    let_tick(folder)

    def run(kept: Store | None) -> tuple[bool, object]:
        try:
            result = api.run(
                work_dir=folder / "stack",
                settings=["kcl.yaml", "../settings.yaml"],
                cache=api.ParseCache(clock=later, store=kept),
            )
        except api.ProgramError as problem:
            return False, problem.render()
        return _is_cached(result), _seen(result)

    run(store)
    assert run(store)[0]
    change(folder)
    after = run(store)
    is_read = change is not CHANGES["settings nobody named"]  # the stack has its own
    assert after == (not is_read, run(None)[1])


def test_a_change_that_keeps_size_and_times_is_seen(folder: Path, store: Store) -> None:
    _run(folder, store)
    before = (folder / "main.k").stat()
    (folder / "main.k").write_text(MAIN.replace('"x"', '"w"'))
    os.utime(folder / "main.k", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert _run(folder, store).documents[0]["a"]["name"] == "w"


def test_settings_found_by_themselves_are_looked_for(folder: Path, store: Store) -> None:
    (folder / "kcl.mod").write_text('[package]\nname = "p"\n[profile]\nentries = ["main.k"]\n')
    let_tick(folder)

    def run() -> api.RunResult:
        return api.run(work_dir=folder, cache=api.ParseCache(clock=later, store=store))

    assert [run().documents[0]["a"]["size"] for _ in range(2)] == [1, 1]
    (folder / "kcl.yaml").write_text(SETTINGS)
    let_tick(folder)
    assert [run().documents[0]["a"]["size"] for _ in range(2)] == [3, 3]
    (folder / "kcl.yaml").unlink()
    assert run().documents[0]["a"]["size"] == 1


def test_downloaded_packages_are_looked_at(folder: Path, store: Store, tmp_path: Path) -> None:
    for name, size in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kcl.mod").write_text(f'[package]\nname = "{name}"\n')
        (tmp_path / name / "x.k").write_text(f"size = {size}\n")
    (folder / "kcl.mod").write_text('[package]\nname = "p"\n[dependencies]\nlib = { path = "../one" }\n')
    (folder / "main.k").write_text("import lib\n\na = lib.size\n")
    let_tick(folder)
    assert [_run(folder, store).documents for _ in range(2)] == [({"a": 1},)] * 2
    assert len(_entries(store)) == 1
    (tmp_path / "one" / "x.k").write_text("size = 7\n")
    assert _run(folder, store).documents == ({"a": 7},)
    (folder / "kcl.mod").write_text('[package]\nname = "p"\n[dependencies]\nlib = { path = "../two" }\n')
    assert _run(folder, store).documents == ({"a": 2},)


OTHERS: list[dict[str, Any]] = [
    {},
    {"options": {"size": 3}},
    {"options": {"size": True}},
    {"options": {"size": 1}},
    {"options": {"size": 1.0}},
    {"settings": ["settings.yaml"]},
    {"settings": [api.Settings(options=(("size", 3),))]},
    {"settings": [api.Settings(show_hidden=True)]},
    {"settings": [api.Settings(path_selector=("a",))]},
    {"dialect": api.KONFIG_2023},
    {"dialect": replace(api.KCL, missing_argument_is_none=True)},
    {"package_maps": {"models": "models"}},
    {"vendor_dir": "/nowhere"},
    {"vendored": True},
    {"output": api.PlanOptions(show_hidden=True)},
    {"output": api.PlanOptions(disable_none=True)},
    {"sort_keys": True},
    {"path_selector": ["a"]},
    {"path_selector": ["b"]},
]


def _outcome(folder: Path, store: Store | None, arguments: Mapping[str, Any]) -> object:
    try:
        return _seen(_run(folder, store, **arguments))
    except api.ProgramError as problem:
        return problem.render()


def test_other_arguments_are_another_run(folder: Path, store: Store) -> None:
    cold = [_outcome(folder, None, each) for each in OTHERS]
    for _ in range(2):
        assert [_outcome(folder, store, each) for each in OTHERS] == cold
    assert len(_entries(store)) == sum(isinstance(each, dict) for each in cold)


def test_another_folder_is_another_run(folder: Path, store: Store, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    (other / "main.k").write_text("a = 2\n")
    let_tick(folder)
    for _ in range(2):
        assert _run(folder, store).provenance.user_files == {str(folder / "main.k")}
        assert _run(other, store).documents == ({"a": 2},)


@pytest.mark.parametrize(
    "arguments",
    [
        {"texts": {"main.k": "a = 1\n"}},
        {"overrides": ["a.size=9"]},
        {"settings": [api.Settings(overrides=("a.size=9",))]},
        {"access": lambda granted: granted},
        {"vendor_dir": "somewhere"},
        {"options": {"db_password": "x"}},
        {"options": {"db": {"password": "x"}}},
        {"options": {"all": [{"apiKey": "x"}]}},
        {"settings": [api.Settings(options=(("token", "x"),))]},
    ],
    ids=[
        "texts",
        "overrides",
        "overrides of settings",
        "access",
        "vendor folder",
        "password",
        "password inside",
        "key in a list",
        "token of settings",
    ],
)
def test_what_is_told_otherwise_than_by_files_or_is_secret_is_not_kept(
    folder: Path, store: Store, arguments: dict[str, Any]
) -> None:
    for _ in range(2):
        assert not _is_cached(_run(folder, store, **arguments))
    assert _entries(store) == []


@pytest.mark.parametrize(
    "program",
    [
        "import datetime\nt = datetime.today()\n",
        'import file\nt = file.read("kcl.mod")\n',
        'import file\nt = file.exists("kcl.mod")\n',
        "import crypto\nt = crypto.uuid()\n",
    ],
)
def test_what_is_no_function_of_the_files_is_not_kept(folder: Path, store: Store, program: str) -> None:
    (folder / "main.k").write_text(program)
    let_tick(folder)
    for _ in range(2):
        assert not _is_cached(_run(folder, store))
    assert _entries(store) == []


def test_what_a_plugin_answered_is_not_kept(folder: Path, store: Store) -> None:
    (folder / "main.k").write_text("import kcl_plugin.tool\n\na = tool.process()\n")
    let_tick(folder)
    processes = {_run(folder, store, plugins=Finder()).documents[0]["a"] for _ in range(2)}
    assert len(processes) == 2 and _entries(store) == []
    (folder / "main.k").write_text("a = 1\n")
    let_tick(folder)
    assert [_is_cached(_run(folder, store, plugins=Finder())) for _ in range(2)] == [False, True]


def test_files_written_just_before_are_not_rested_upon(folder: Path, store: Store) -> None:
    (folder / "main.k").write_text(MAIN)
    moment = (folder / "main.k").stat().st_ctime_ns
    api.run(["main.k"], work_dir=folder, cache=api.ParseCache(store=store, clock=lambda: (moment, moment)))
    assert _entries(store) == []


def _meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Has something happen once between a run and the storing of its result."""
    store, left = ResultCache.store, [change]

    def store_later(self: ResultCache, *arguments: Any) -> bool:
        while left:
            left.pop()()
        return store(self, *arguments)

    monkeypatch.setattr(ResultCache, "store", store_later)


MEANWHILE: dict[str, Change] = {
    "a main file": lambda folder: (folder / "main.k").write_text(MAIN.replace('"x"', '"w"')),
    "a model": lambda folder: (folder / "models" / "thing.k").write_text(MODELS.replace("app =", "other =")),
    "a main file is gone": lambda folder: (folder / "main.k").unlink(),
    "a model is gone": lambda folder: (folder / "models" / "thing.k").unlink(),
    "another model": lambda folder: (folder / "models" / "thing.k").rename(folder / "models" / "thong.k"),
    "kcl.mod is gone": lambda folder: (folder / "kcl.mod").unlink(),
    "settings are gone": lambda folder: (folder / "settings.yaml").unlink(),
}


@pytest.mark.parametrize("change", MEANWHILE.values(), ids=MEANWHILE.keys())
@pytest.mark.parametrize("is_warm", [False, True])
def test_what_changes_while_the_program_runs_is_never_taken_for_what_was_read(
    folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch, change: Change, is_warm: bool
) -> None:
    arguments = {"settings": ["settings.yaml"]}
    wait_until_settled()  # what is changed meanwhile is told by the clock of this machine
    cache = api.ParseCache(store=store)
    if is_warm:
        api.run(["main.k"], work_dir=folder, cache=cache, options={"other": 1}, settings=["settings.yaml"])
    _meanwhile(monkeypatch, lambda: change(folder))
    before = api.run(["main.k"], work_dir=folder, cache=cache, settings=["settings.yaml"])
    assert before.documents[0]["a"] == {"name": "x", "size": 3, "labels": {"app": "x"}}
    let_tick(folder)
    for _ in range(2):
        assert _outcome(folder, store, arguments) == _outcome(folder, None, arguments)


def test_without_results_the_store_gets_packages_alone(folder: Path, store: Store) -> None:
    cache = api.ParseCache(clock=later, store=store, results=False)
    for _ in range(2):
        assert not _is_cached(api.run(["main.k"], work_dir=folder, cache=cache))
    assert _entries(store) == []
    _run(folder, store)
    assert not _is_cached(api.run(["main.k"], work_dir=folder, cache=cache))


def test_edits_in_memory_are_neither_kept_nor_answered_from_disk(folder: Path, store: Store) -> None:
    def run(overlay: Mapping[str, str]) -> api.RunResult:
        files = api.OverlayFileSystem(api.OsFileSystem(), overlay)
        return api.run(["main.k"], work_dir=folder, file_system=files, cache=api.ParseCache(clock=later, store=store))

    edit = {str(folder / "main.k"): "a = 'in memory alone'\n"}
    assert run(edit).documents == ({"a": "in memory alone"},)
    assert _entries(store) == []
    assert not _is_cached(run({}))
    assert _is_cached(run({}))
    assert run(edit).documents == ({"a": "in memory alone"},)
    assert not any(b"in memory alone" in each.read_bytes() for each in Path(store.folder).iterdir())


def test_a_file_system_of_somebody_elses_is_not_taken_for_the_disk(folder: Path, store: Store) -> None:
    class Upper(api.OsFileSystem):
        def read_text(self, path: str) -> str:
            return super().read_text(path).replace('"x"', '"X"')

    upper = api.OverlayFileSystem(Upper(), {})
    for _ in range(2):
        assert _run(folder, store).documents[0]["a"]["name"] == "x"
        assert _run(folder, store, file_system=upper).documents[0]["a"]["name"] == "X"


# --- texts of the program


def test_texts_are_read_when_somebody_asks_and_only_the_very_ones(folder: Path, store: Store) -> None:
    first, again = _run(folder, store), _run(folder, store)
    main, model = str(folder / "main.k"), str(folder / "models" / "thing.k")
    assert (len(again.sources), set(again.sources), again.sources[main]) == (
        3,
        {main, model, str(folder / "single.k")},
        MAIN,
    )
    (folder / "main.k").unlink()
    (folder / "models" / "thing.k").write_text(MODELS.replace("1", "2"))
    assert again.sources[main] == MAIN == first.sources[main]
    assert model in again.sources and "elsewhere" not in again.sources
    assert again.sources.get("elsewhere", "none") == "none"
    with pytest.raises(api.SourceChanged, match=r"thing\.k has changed"):
        again.sources.get(model)


# --- secrets


def _opened(store: Store) -> tuple[str, Any, list[Any]]:
    """The name of the one entry, the key that its files make, and what it holds."""
    (entry,) = _entries(store)
    content = store.read(entry.stem)
    assert content is not None
    parts = list(marshal.loads(content))
    return entry.stem, key_from(entry.stem, parts[-2] or ()), parts


def test_secrets_are_kept_so_that_only_the_files_of_the_program_open_them(folder: Path, store: Store) -> None:
    (folder / "main.k").write_text(SECRET)
    let_tick(folder)
    first, again = _run(folder, store), _run(folder, store)
    assert _is_cached(again) and _seen(first) == _seen(again)
    kept = _entries(store)[0].read_bytes()
    assert all(word not in kept for word in (b"Secret", b"c2VjcmV0", b"apiVersion"))
    name, key, (*others, files, sealed) = _opened(store)
    assert str(folder / "main.k") in files
    assert b"c2VjcmV0" in (opened(sealed, key) or b"")
    store.write(name, marshal.dumps((*others, files, seal(b"of another", key))))
    assert not _is_cached(_run(folder, store))
    (folder / "main.k").write_text(SECRET.replace("v1", "v2"))
    assert key_from(name, files) != key


def test_an_option_of_a_file_that_is_called_a_secret_seals_the_result(folder: Path, store: Store) -> None:
    (folder / "settings.yaml").write_text("kcl_options:\n  - key: password\n    value: hunter2\n")
    (folder / "main.k").write_text('a = option("password")\n')
    let_tick(folder)
    results = [_run(folder, store, settings=["settings.yaml"]) for _ in range(2)]
    assert _is_cached(results[1]) and results[1].documents == ({"a": "hunter2"},)
    assert not any(b"hunter2" in each.read_bytes() for each in Path(store.folder).iterdir())


def test_secrets_that_somebody_gave_an_option_for_are_not_kept_unless_all_may_know_it(
    folder: Path, store: Store
) -> None:
    (folder / "main.k").write_text(SECRET + 'b = option("size")\n')
    let_tick(folder)
    said = (("size", 3),)
    for arguments in ({"options": dict(said)}, {"settings": [api.Settings(options=said)]}):
        assert not any(_is_cached(_run(folder, store, **arguments)) for _ in range(2))
    assert _entries(store) == []
    public = [api.Settings(options=said, is_public=True)]
    assert [_is_cached(_run(folder, store, settings=public)) for _ in range(2)] == [False, True]


# --- entries that are not what they should be


def test_what_is_damaged_or_foreign_is_made_anew(folder: Path, store: Store) -> None:
    first = _run(folder, store)
    (entry,) = _entries(store)
    content = store.read(entry.stem)
    assert content is not None
    stamps, leads, sources, files, body = marshal.loads(content)
    foreign = [
        b"",
        b"nothing of ours",
        marshal.dumps(None),
        marshal.dumps(("a", "b", "c", "d")),
        marshal.dumps((stamps, leads, sources, files, b"")),
        marshal.dumps((stamps, leads, sources, files, marshal.dumps((b"", b"", frozenset(), b"")))),
        marshal.dumps((stamps, leads, sources, tuple(sources), body)),
    ]
    for data in foreign:
        store.write(entry.stem, data)
        session = ResultCache(store)
        assert session.look_up(entry.stem) is None and session.look_up(entry.stem) is None
        again = _run(folder, store)
        assert not _is_cached(again) and again.documents == first.documents
        assert _is_cached(_run(folder, store)), "it was written anew"
    entry.write_bytes(entry.read_bytes()[:-1])
    assert not _is_cached(_run(folder, store))


def test_what_cannot_be_kept_comes_out_all_the_same(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert _run(folder, Store(str(tmp_path / "file" / "kept"))).documents[0]["a"]["name"] == "x"


def test_values_nested_too_deeply_are_not_kept(folder: Path, store: Store) -> None:
    (folder / "main.k").write_text("_f = lambda n, v {\n    v if n == 0 else _f(n - 1, [[v]])\n}\nb = _f(1100, 1)\n")
    let_tick(folder)
    for _ in range(2):
        result = _run(folder, store)
        assert not _is_cached(result) and str(result.documents).count("[") == 2200
    assert _entries(store) == []


# --- many at a time


def test_threads_that_share_a_cache_get_the_same(folder: Path, store: Store) -> None:
    cold = _seen(_run(folder, None))
    cache = api.ParseCache(clock=later, store=store)
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(api.run, ["main.k"], work_dir=folder, cache=cache) for _ in range(24)]
        assert all(_seen(each.result(timeout=60)) == cold for each in runs)


def test_processes_that_share_a_store_get_the_same(folder: Path, store: Store) -> None:
    script = (
        "import sys; from kcl import api\n"
        "for number in range(20):\n"
        "    cache = api.ParseCache(store=api.Store(sys.argv[2]))\n"
        "    said = api.run(['main.k'], work_dir=sys.argv[1], options={'size': 1 + number % 3}, cache=cache)\n"
        "    assert said.documents[0]['a']['size'] == 1 + number % 3\n"
        "print(type(said.provenance).__name__)\n"
    )
    command = [sys.executable, "-c", script, str(folder), store.folder]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [each.communicate(timeout=60)[0] for each in started] == ["CachedProvenance\n"] * 3
    assert len(_entries(store)) == 3


# --- whole repositories


def _stacks(root: Path) -> Sequence[Path]:
    return sorted(each.parent for each in root.rglob("kcl.yaml"))


@pytest.mark.parametrize("root", [SAMPLE, KONFIG], ids=["sample", "konfig-2023"])
def test_every_stack_comes_back_as_it_was(root: Path, store: Store) -> None:
    if not root.is_dir():
        pytest.skip(f"the inputs are not there: {root}")
    cache = api.ParseCache(clock=later)
    for stack in _stacks(root)[:: 1 if is_soak() else 6]:
        settings = [name for name in ("kcl.yaml", "ci-test/settings.yaml") if (stack / name).is_file()]

        def run(cache: api.ParseCache, stack: Path = stack, settings: Sequence[str] = tuple(settings)) -> api.RunResult:
            return api.run(work_dir=stack, settings=settings, cache=cache)

        cold = run(cache)
        run(api.ParseCache(clock=later, store=store))
        again = run(api.ParseCache(clock=later, store=store))
        assert isinstance(cold.provenance, evaluated.Provenance) and _is_cached(again), stack
        assert _seen(again) == _seen(cold), stack
