"""Packages a program depends on, found without the network."""

from pathlib import Path

import pytest

from kcl.api import ParseCache, ProgramError, run
from kcl.diagnostics import KclError, render
from kcl.loader.checksum import checksum
from kcl.loader.lock import Locked, lock_text, read_lock
from kcl.loader.manifest import read_manifest
from kcl.loader.requirement import GitSource, LocalSource, OciSource
from kcl.source import InMemoryFileSystem, OsFileSystem


def _tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _failure(folder: Path, **settings: str) -> str:
    with pytest.raises(ProgramError) as caught:
        run(["main.k"], work_dir=folder, **settings)  # type: ignore[arg-type]
    return caught.value.render()


# ---------------------------------------------------------------- kcl.mod


def test_every_form_of_a_dependency() -> None:
    text = """[package]
name = "app"
edition = "v0.10.0"
version = "0.1.0"
include = ["*.k"]

[dependencies]
k8s = "1.31"
my-lib = { path = "../lib" }
konfig = { git = "https://example.com/konfig.git", tag = "v0.4.0" }
branch = { git = "https://example.com/b", branch = "main" }
commit = { git = "https://example.com/c", commit = "abc" }
helloworld = { oci = "oci://ghcr.io/kcl-lang/helloworld", tag = "0.1.2" }
other = { package = "k8s", version = "1.28" }

[profile]
entries = ["main.k"]
"""
    manifest = read_manifest("/w", InMemoryFileSystem({"/w/kcl.mod": text}))
    assert {item.name: (item.package, item.source, item.wanted) for item in manifest.requirements} == {
        "k8s": ("k8s", OciSource("", "", "1.31"), "1.31"),
        "my_lib": ("my-lib", LocalSource("/lib", "../lib"), ""),
        "konfig": ("konfig", GitSource("https://example.com/konfig.git", tag="v0.4.0"), "v0.4.0"),
        "branch": ("branch", GitSource("https://example.com/b", branch="main"), "main"),
        "commit": ("commit", GitSource("https://example.com/c", commit="abc"), "abc"),
        "helloworld": ("helloworld", OciSource("ghcr.io", "kcl-lang/helloworld", "0.1.2"), "0.1.2"),
        "other": ("k8s", OciSource("", "", "1.28"), "1.28"),
    }
    assert (manifest.edition, manifest.include, manifest.entries) == ("v0.10.0", ("*.k",), ("main.k",))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x = 1", "must be a version or a table of strings"),
        ('x = { git = "u", tag = "1", branch = "b" }', "says tag and branch"),
        ('x = { git = "u", path = "p" }', "names two places: path and git"),
        ('x = { oci = "https://h/p" }', "is no address of a package"),
        ('x = { pfad = "p" }', "says 'pfad', which means nothing here"),
        ('"../x" = "1"', "is no name of a package"),
    ],
)
def test_dependency_that_makes_no_sense_is_shown_with_its_line(line: str, message: str) -> None:
    text = f"[package]\nname = 'a'\n\n[dependencies]\n{line}\n"
    with pytest.raises(KclError) as caught:
        read_manifest("/w", InMemoryFileSystem({"/w/kcl.mod": text}))
    shown = render(caught.value.diagnostics, {"/w/kcl.mod": text})
    assert message in shown
    assert "--> /w/kcl.mod:5:1" in shown


# ---------------------------------------------------------------- kcl.mod.lock


def test_lock_file_reads_back_as_it_was_written() -> None:
    packages = [
        Locked("k8s", "k8s_1.31", "1.31", "c3Vt", OciSource("ghcr.io", "kcl-lang/k8s", "1.31")),
        Locked("g", "g_main", "main", "c3Vt", GitSource("https://example.com/g", branch="main")),
        Locked("local", "local_0.1", "0.1"),
    ]
    text = lock_text(packages)
    assert text.startswith('[dependencies]\n  [dependencies.g]\n    name = "g"\n    full_name = "g_main"\n')
    found = read_lock("/w", InMemoryFileSystem({"/w/kcl.mod.lock": text}))
    assert {name: (item.version, item.sum, item.source) for name, item in found.items()} == {
        item.name: (item.version, item.sum, item.source) for item in packages
    }


def test_lock_file_cannot_name_a_folder_elsewhere() -> None:
    text = '[dependencies]\n[dependencies.x]\nname = "x"\nfull_name = "../../x"\n'
    with pytest.raises(KclError, match="must be the name of a folder"):
        read_lock("/w", InMemoryFileSystem({"/w/kcl.mod.lock": text}))


def test_checksum_is_that_of_the_official_tool() -> None:
    """SHA-256 of `a/z.k`, `a.k`, `b.k` one after the other: folders stand where their name does."""
    files = InMemoryFileSystem({"/p/b.k": "3", "/p/a/z.k": "1", "/p/a.k": "2", "/p/.git/x": "x", "/p/y.tar": "y"})
    assert checksum("/p", files) == "pmWkWSBCL51Bfkhn79xPuKBKHz//H6B+mY6G9/eieuM="


# ---------------------------------------------------------------- finding packages


def test_package_of_a_package_and_names_with_dashes(tmp_path: Path) -> None:
    _tree(
        tmp_path,
        {
            "app/kcl.mod": '[dependencies]\nmy-lib = { path = "../lib" }\n',
            "app/main.k": "import my_lib\nimport my_lib.sub\na = my_lib.x\nb = sub.y\n",
            "lib/kcl.mod": '[package]\nname = "my-lib"\n[dependencies]\nbase = { path = "../base" }\n',
            "lib/lib.k": "import base\nx = base.z + 1\n",
            "lib/sub/s.k": "y = 5\n",
            "base/kcl.mod": "",
            "base/b.k": "z = 1\n",
        },
    )
    assert run(["main.k"], work_dir=tmp_path / "app").documents == ({"a": 2, "b": 5},)


@pytest.mark.parametrize("place", ["app/vendor/lib_1.0", "downloaded/lib_1.0"])
def test_package_with_a_version(place: str, tmp_path: Path) -> None:
    _tree(
        tmp_path,
        {
            "app/kcl.mod": '[dependencies]\nlib = "1.0"\n',
            "app/main.k": "import lib\na = lib.x\n",
            f"{place}/kcl.mod": "",
            f"{place}/l.k": "x = 1\n",
        },
    )
    assert run(["main.k"], work_dir=tmp_path / "app", vendor_dir=str(tmp_path / "downloaded")).documents == ({"a": 1},)


def test_vendored_package_is_looked_for_nowhere_else(tmp_path: Path) -> None:
    _tree(
        tmp_path,
        {
            "app/kcl.mod": '[package]\nvendor = true\n[dependencies]\nlib = "1.0"\n',
            "app/main.k": "import lib\na = lib.x\n",
            "downloaded/lib_1.0/l.k": "x = 1\n",
        },
    )
    shown = _failure(tmp_path / "app", vendor_dir=str(tmp_path / "downloaded"))
    assert f"the package 'lib' is not on this machine: it is not in {tmp_path}/app/vendor/lib_1.0" in shown


def test_a_run_rests_on_the_folder_of_a_package_also_when_it_is_cached(tmp_path: Path) -> None:
    files = {"kcl.mod": '[dependencies]\nlib = { path = "./other/lib" }\n', "main.k": "import lib.sizes\na = sizes.a\n"}
    folder = _tree(tmp_path, {**files, "other/lib/kcl.mod": "", "other/lib/sizes/a.k": "a = 1\n"})
    cache = ParseCache()
    first, again = (run(["main.k"], work_dir=folder, cache=cache).dependencies for _ in range(2))
    assert first == again == run(["main.k"], work_dir=folder).dependencies
    assert folder / "other/lib" in again


def test_package_that_was_not_downloaded_is_told_with_both_places_and_what_to_do(tmp_path: Path) -> None:
    _tree(tmp_path, {"kcl.mod": '[dependencies]\nlib = "1.0"\n', "main.k": "import lib\nimport lib.sub\na = lib.x\n"})
    shown = _failure(tmp_path)
    assert shown.count("is not on this machine") == 1
    assert f"--> {tmp_path}/main.k:1:1" in shown
    assert f"--> {tmp_path}/kcl.mod:2:1" in shown
    assert "run 'kcl mod update'" in shown


def test_package_that_is_not_imported_may_be_missing(tmp_path: Path) -> None:
    _tree(tmp_path, {"kcl.mod": '[dependencies]\nlib = "1.0"\n', "main.k": "a = 1\n"})
    assert run(["main.k"], work_dir=tmp_path).documents == ({"a": 1},)


def test_package_that_was_changed_is_refused(tmp_path: Path) -> None:
    _tree(
        tmp_path,
        {
            "kcl.mod": '[dependencies]\nlib = "1.0"\n',
            "main.k": "import lib\na = lib.x\n",
            "vendor/lib_1.0/kcl.mod": "",
            "vendor/lib_1.0/l.k": "x = 1\n",
        },
    )
    right = checksum(str(tmp_path / "vendor/lib_1.0"), OsFileSystem())
    lock = lock_text([Locked("lib", "lib_1.0", "1.0", right, OciSource("h", "r", "1.0"))])
    (tmp_path / "kcl.mod.lock").write_text(lock)
    assert run(["main.k"], work_dir=tmp_path).documents == ({"a": 1},)
    (tmp_path / "vendor/lib_1.0/l.k").write_text("x = 2\n")
    shown = _failure(tmp_path)
    assert "is not what was locked" in shown
    assert f"--> {tmp_path}/kcl.mod.lock:2:3" in shown


def test_package_that_nobody_asked_for_is_not_found_among_downloaded_ones(tmp_path: Path) -> None:
    _tree(
        tmp_path,
        {
            "app/kcl.mod": "",
            "app/main.k": "import lib\na = 1\n",
            "downloaded/lib/kcl.mod": "",
            "downloaded/lib/l.k": "",
        },
    )
    shown = _failure(tmp_path / "app", vendor_dir=str(tmp_path / "downloaded"))
    assert "Cannot find the module lib" in shown
    assert "try 'kcl mod add lib'" in shown


@pytest.mark.parametrize("link", ["pkg", "pkg.k", "pkg/l.k"])
def test_link_does_not_lead_imports_out_of_the_root(link: str, tmp_path: Path) -> None:
    outside = _tree(tmp_path / "outside", {"l.k": "x = 1\n", "pkg.k": "x = 1\n"})
    app = _tree(tmp_path / "app", {"kcl.mod": "", "main.k": "import pkg\na = pkg.x\n"})
    if link == "pkg":
        (app / "pkg").symlink_to(outside)
    elif link == "pkg.k":
        (app / "pkg.k").symlink_to(outside / "pkg.k")
    else:
        (app / "pkg").mkdir()
        (app / "pkg/l.k").symlink_to(outside / "l.k")
    assert "Cannot find the module pkg" in _failure(app)


def test_link_inside_of_the_root_is_followed(tmp_path: Path) -> None:
    app = _tree(tmp_path / "app", {"kcl.mod": "", "main.k": "import pkg\na = pkg.x\n", "real/l.k": "x = 1\n"})
    (app / "pkg").symlink_to(app / "real")
    (tmp_path / "other").symlink_to(app)
    assert run(["main.k"], work_dir=tmp_path / "other").documents == ({"a": 1},)
