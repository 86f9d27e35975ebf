"""Which files a program consists of."""

import os
from pathlib import Path

import pytest

from kcl.api import ParseCache, ProgramError, run
from kcl.cache.store import Store
from kcl.diagnostics import Code, KclError
from kcl.loader import ImportKind, Loaded, LoadRequest, load
from kcl.memo.queries import Memo
from kcl.source import InMemoryFileSystem, OsFileSystem
from tests.kcl.clocks import later


def _load(files: dict[str, str], *names: str, work_dir: str = "/w", **settings: object) -> Loaded:
    request = LoadRequest(files=names or ("main.k",), work_dir=work_dir, **settings)  # type: ignore[arg-type]
    return load(request, InMemoryFileSystem(files))


def _packages(loaded: Loaded) -> dict[str, list[str]]:
    return {path: [module.name for module in package.modules] for path, package in loaded.program.packages.items()}


def test_package_is_every_file_of_a_folder_but_tests_and_underscored_ones() -> None:
    loaded = _load(
        {
            "/w/kcl.mod": "",
            "/w/main.k": "import a.b",
            "/w/a/b/y.k": "",
            "/w/a/b/x.k": "",
            "/w/a/b/_z.k": "",
            "/w/a/b/x_test.k": "",
        }
    )
    assert _packages(loaded) == {"__main__": ["/w/main.k"], "a.b": ["/w/a/b/x.k", "/w/a/b/y.k"]}


def test_file_of_that_name_when_there_is_no_folder() -> None:
    loaded = _load({"/w/main.k": "import a.b as c", "/w/a/b.k": "", "/w/a/d.k": ""})
    assert _packages(loaded)["a.b"] == ["/w/a/b.k"]
    assert loaded.program.main.modules[0].imports["c"].package == "a.b"


def test_the_only_file_of_a_folder_is_the_package_of_the_folder() -> None:
    loaded = _load({"/w/main.k": "import a.b as c\nimport a", "/w/a/b.k": "", "/w/a/b_test.k": ""})
    assert _packages(loaded) == {"__main__": ["/w/main.k"], "a": ["/w/a/b.k"]}
    assert {each.package for each in loaded.program.main.modules[0].imports.values()} == {"a"}


def test_root_is_the_nearest_folder_with_a_manifest() -> None:
    loaded = _load({"/w/kcl.mod": "", "/w/s/main.k": "import lib", "/w/lib.k": ""}, "s/main.k")
    assert loaded.program.root == "/w"
    assert _packages(loaded)["lib"] == ["/w/lib.k"]


def test_relative_imports_start_from_the_importing_file_and_meet_absolute_ones() -> None:
    files = {
        "/w/kcl.mod": "",
        "/w/s/main.k": "import .near\nimport ..far\nimport far",
        "/w/s/near.k": "",
        "/w/far.k": "",
    }
    loaded = _load(files, "s/main.k")
    assert set(_packages(loaded)) == {"__main__", "s.near", "far"}


def test_system_modules_and_plugins_are_not_looked_for() -> None:
    loaded = _load({"/w/main.k": "import yaml\nimport kcl_plugin.hello", "/w/yaml.k": ""})
    kinds = {alias: found.kind for alias, found in loaded.program.main.modules[0].imports.items()}
    assert kinds == {"yaml": ImportKind.SYSTEM, "hello": ImportKind.PLUGIN}


def test_missing_module_names_what_was_looked_for_and_where() -> None:
    loaded = _load({"/w/main.k": "a = 1\nimport foo.bar"})
    (diagnostic,) = loaded.diagnostics
    assert diagnostic.code is Code.CANNOT_FIND_MODULE
    assert diagnostic.message == "Cannot find the module foo.bar from /w/foo/bar"
    assert diagnostic.primary is not None
    assert (diagnostic.primary.path, diagnostic.primary.start) == ("/w/main.k", 6)


def test_import_out_of_the_root_is_refused() -> None:
    loaded = _load({"/w/kcl.mod": "", "/w/main.k": "import ..x", "/x.k": ""})
    assert "outside of the root" in loaded.diagnostics[0].message


@pytest.mark.parametrize(
    ("files", "members", "names", "places"),
    [
        ({"main.k": "import a", "a.k": "import b", "b.k": "import a"}, "a.k b.k", "a, b", "a.k b.k"),
        ({"main.k": "import b\nimport a", "a.k": "import b", "b.k": "import a"}, "a.k b.k", "b, a", "b.k a.k"),
        ({"main.k": "import a", "a/x.k": "import b", "b/y.k": "import a"}, "a/x.k b/y.k", "a, b", "a/x.k b/y.k"),
        ({"main.k": "import a", "a/x.k": "import main"}, "a/x.k main.k", "a, main", "a/x.k main.k"),
        ({"main.k": "import a", "a/s.k": "import a.t", "a/t.k": "import a"}, "a/s.k a/t.k", "a, a.t", "a/s.k a/t.k"),
        ({"main.k": "import a", "a/x.k": "import a"}, "a/x.k", "", ""),
    ],
)
def test_packages_that_import_each_other_are_reported_at_every_import(
    files: dict[str, str], members: str, names: str, places: str
) -> None:
    loaded = _load({"/w/kcl.mod": "", **{f"/w/{path}": text for path, text in files.items()}})
    whole, *others = loaded.diagnostics
    assert whole.code is Code.RECURSIVE_LOAD
    assert whole.message.splitlines()[1:] == [f"- /w/{path}" for path in members.split()]
    assert {each.message for each in others} == (
        {f"There is a circular reference between modules {names}"} if names else set()
    )
    assert [each.primary and each.primary.path for each in others] == [f"/w/{path}" for path in places.split()]


def test_circles_of_imports_are_found_where_the_packages_were_loaded_before() -> None:
    memo, request = Memo(), LoadRequest(files=("main.k",), work_dir="/w")
    apart = {"/w/kcl.mod": "", "/w/a.k": "import b", "/w/b.k": "", "/w/main.k": "import a"}
    circle = {**apart, "/w/b.k": "import a"}
    through_main = {**apart, "/w/b.k": "import main"}
    for files in (apart, circle, {**circle, "/w/main.k": "import b"}, through_main, {**through_main, "/w/main.k": ""}):
        for main in (files["/w/main.k"], files["/w/main.k"] + "\nx = 1\n"):
            disk = InMemoryFileSystem({**files, "/w/main.k": main})
            found = load(request, disk, memo).diagnostics
            assert found == load(request, disk).diagnostics
            assert bool(found) == (files is not apart and main.startswith("import"))


def test_a_file_may_import_a_folder_whose_files_import_another_one_of_its_own_folder() -> None:
    files = {"/w/main.k": "import a", "/w/a/x.k": "import b", "/w/a/z.k": "", "/w/b/y.k": "import a.z"}
    assert not _load({"/w/kcl.mod": "", **files}).diagnostics


def test_external_package_has_its_own_root() -> None:
    files = {"/w/main.k": "import ext.sub", "/ext/kcl.mod": "", "/ext/sub/a.k": "import other", "/ext/other.k": ""}
    loaded = _load(files, package_maps={"ext": "/ext"})
    assert _packages(loaded)["ext.other"] == ["/ext/other.k"]


def test_dependency_with_a_path_comes_from_the_manifest() -> None:
    files = {"/w/kcl.mod": '[dependencies]\next = { path = "../ext" }\n', "/w/main.k": "import ext.a", "/ext/a.k": ""}
    assert _packages(_load(files))["ext.a"] == ["/ext/a.k"]


def test_name_found_inside_and_outside_is_ambiguous() -> None:
    files = {"/w/main.k": "import ext", "/w/ext.k": "", "/ext/a.k": ""}
    loaded = _load(files, package_maps={"ext": "/ext"})
    assert "found multiple times" in loaded.diagnostics[0].message


def test_files_named_from_the_root_and_by_folder() -> None:
    files = {"/w/kcl.mod": "", "/w/pkg/p.k": "", "/w/s/a.k": "", "/w/s/b.k": ""}
    loaded = _load(files, "a.k", "${KCL_MOD}/pkg/p.k", ".", work_dir="/w/s")
    assert _packages(loaded)["__main__"] == ["/w/s/a.k", "/w/pkg/p.k", "/w/s/b.k"]


def test_missing_file_is_an_error() -> None:
    with pytest.raises(KclError, match=r"please check the file path /w/main\.k"):
        _load({})


def test_dependencies_tell_what_was_read_and_looked_for() -> None:
    loaded = _load({"/w/kcl.mod": "", "/w/main.k": "import a", "/w/a.k": ""})
    assert {"/w/kcl.mod", "/w/main.k", "/w/a", "/w/a.k"} <= loaded.program.dependencies


def test_cache_parses_a_text_once() -> None:
    cache = Memo()
    files = {"/w/main.k": "a = 1"}
    request = LoadRequest(files=("main.k",), work_dir="/w")
    first = load(request, InMemoryFileSystem(files), cache).program.main.modules[0].tree
    assert load(request, InMemoryFileSystem(files), cache).program.main.modules[0].tree is first
    changed = load(request, InMemoryFileSystem({"/w/main.k": "a = 2"}), cache).program.main.modules[0]
    assert changed.tree is not first
    assert changed.source.text == "a = 2"


@pytest.mark.parametrize("first", [{}, {"helper.k": "y = 1\n"}])
def test_where_an_import_leads_is_found_again_once_a_text_is_given_or_no_longer(first: dict[str, str]) -> None:
    files = InMemoryFileSystem({"/w/kcl.mod": "", "/w/main.k": "import helper\n"})
    cache = Memo()
    for texts in (first, {}, {"helper.k": "y = 2\n"}, {}):
        request = LoadRequest(files=("main.k",), work_dir="/w", texts=texts)
        loaded, cold = load(request, files, cache), load(request, files)
        assert loaded.diagnostics == cold.diagnostics
        assert bool(loaded.diagnostics) is not bool(texts)
        assert loaded.sources == cold.sources


_TWO_IMPORT = {
    "/w/kcl.mod": '[package]\nname = "w"\n[dependencies]\next = { path = "../ext" }\n',
    "/w/main.k": "import a\nimport b\n",
    "/w/a/a.k": "import ext.x\n",
    "/w/b/b.k": "import ext.x\n",
}
_OUTSIDE = {"/ext/kcl.mod": '[package]\nname = "ext"\n', "/ext/x/x.k": "y = 1\n"}


@pytest.mark.parametrize(
    "edits",
    [
        ({}, _OUTSIDE, {}, _OUTSIDE),
        (_OUTSIDE, {**_OUTSIDE, "/w/ext/x/x.k": "y = 2\n"}, _OUTSIDE),
        tuple({**_OUTSIDE, "/w/ext/x/x.k": "", "/w/main.k": main} for main in ("import a\nimport b", "import b", "")),
    ],
    ids=["it comes and goes", "another by its name comes", "who was told of it first goes"],
)
def test_what_two_packages_import_is_found_again_once_it_was_not_there_or_was_ambiguous(
    edits: tuple[dict[str, str], ...],
) -> None:
    memo, request = Memo(), LoadRequest(files=("main.k",), work_dir="/w")
    for edit in edits:
        files = InMemoryFileSystem(_TWO_IMPORT | edit)
        loaded, cold = load(request, files, memo), load(request, files)
        assert loaded.diagnostics == cold.diagnostics
        assert _imports(loaded) == _imports(cold)
        assert loaded.program.dependencies == cold.program.dependencies


def _imports(loaded: Loaded) -> dict[str, list[str]]:
    modules = (module for package in loaded.program.packages.values() for module in package.modules)
    return {module.name: list(module.imports) for module in modules}


def test_what_is_imported_is_the_same_object_while_only_times_of_its_files_change(tmp_path: Path) -> None:
    (tmp_path / "kcl.mod").write_text("")
    (tmp_path / "main.k").write_text("import a\n")
    (tmp_path / "a.k").write_text("x = 1\n")
    memo, request, disk = Memo(), LoadRequest(files=("main.k",), work_dir=str(tmp_path)), OsFileSystem(later)
    first = load(request, disk, memo).program.imported
    os.utime(tmp_path / "a.k", ns=(10**18, 10**18))
    assert load(request, disk, memo).program.imported is first
    (tmp_path / "a.k").write_text("x = 2\n")
    os.utime(tmp_path / "a.k", ns=(10**18, 10**18))
    changed = load(request, disk, memo).program.imported
    assert changed.packages["a"].modules[0].source.text == "x = 2\n"


def test_broken_manifest_is_an_error_with_its_place() -> None:
    with pytest.raises(KclError, match="not valid TOML") as caught:
        _load({"/w/kcl.mod": "[package\n", "/w/main.k": ""})
    assert caught.value.diagnostics[0].primary is not None
    assert caught.value.diagnostics[0].primary.path == "/w/kcl.mod"


@pytest.mark.parametrize(("version", "old"), [("v0.4.6", True), ("0.5.0", False), ("0.11.1", False), ("", False)])
def test_age_of_a_repository(version: str, old: bool) -> None:
    loaded = _load({"/w/kcl.mod": f'[expected]\nkclvm_version = "{version}"\n', "/w/main.k": ""})
    assert loaded.manifest.expects_before_0_5 is old


def test_a_kcl_mod_without_a_version_has_that_of_the_package_it_lies_in_and_depends_on() -> None:
    depends = '[dependencies]\nw = {{ path = "{}" }}\n'
    files = {
        "/w/kcl.mod": '[expected]\nkclvm_version = "0.12"\n',
        "/w/a/b/kcl.mod": depends.format("../.."),
        "/w/c/kcl.mod": depends.format("..") + '[expected]\nkclvm_version = "0.13"\n',
        "/w/d/kcl.mod": "",
        "/elsewhere/kcl.mod": depends.format("/w"),
        **{f"{folder}/main.k": "" for folder in ("/w/a/b", "/w/c", "/w/d", "/elsewhere")},
    }
    found = {folder: _load(files, f"{folder}/main.k").manifest.language_version for folder in ("/w/a/b", "/w/c")}
    assert found == {"/w/a/b": "0.12", "/w/c": "0.13"}
    assert [_load(files, f"{folder}/main.k").manifest.language_version for folder in ("/w/d", "/elsewhere")] == ["", ""]


def test_a_cached_package_is_not_taken_through_a_link_out_of_the_root(tmp_path: Path) -> None:
    """Nothing of it has changed: a folder above it was moved away, and a link leads there."""
    root = tmp_path / "root"
    (root / "base/far/models").mkdir(parents=True)
    (root / "kcl.mod").touch()
    (root / "main.k").write_text("import base.far.models\na = models.a\n")
    (root / "base/far/models/a.k").write_text("a = 1\n")
    caches = [ParseCache(clock=later), ParseCache(clock=later, store=Store(str(tmp_path / "store")))]
    for cache in caches:
        assert run(["main.k"], work_dir=root, cache=cache).documents == ({"a": 1},)
    (root / "base").rename(tmp_path / "outside")
    (root / "base").symlink_to("../outside")
    for cache in (*caches, ParseCache(store=caches[1].store)):
        with pytest.raises(ProgramError, match="Cannot find the module"):
            run(["main.k"], work_dir=root, cache=cache)
