"""What a program of the repository reads lies in it, whatever its settings, kcl.mod, imports or calls say."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.attacks.conftest import CANARY, Hostile, held
from tests.workbench.cli.command import Ended, Wb

_REFUSALS = ("lies outside of", "is a link out of the repository", "belongs to git")
_RESOURCES = "resources = []\n"
Write = Callable[[Hostile], object]


def assert_refused(ended: Ended, hostile: Hostile) -> None:
    assert ended.code == 1, ended.text
    assert any(each in ended.text for each in _REFUSALS), ended.text
    assert CANARY not in ended.text and "Traceback" not in ended.text
    hostile.assert_untouched()


@pytest.fixture
def hostile(hostile: Hostile) -> Hostile:
    """Beside the foreign notes a foreign package, settings, and what git and package tools keep of credentials."""
    foreign = {
        "pkg/kcl.mod": '[package]\nname = "pkg"\n',
        "pkg/main.k": f'told = "{CANARY}"\n',
        "pkg/broken.k": f'told = "{CANARY}" {{ [\n',
        "settings.yaml": f"kcl_options: [{{key: told, value: {CANARY}}}]\n",
        "kcl.mod.lock": f"{CANARY} [[[\n",
    }
    for name, text in foreign.items():
        file = hostile.outside / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    hostile.write(".git/config", f'[http]\n\textraheader = "{CANARY} {{ [ $"\n')
    hostile.write(".git/told.k", f'told = "{CANARY}" {{ [\n')
    return Hostile(hostile.root, hostile.outside, held(hostile.outside))


def settings(*files: str, more: str = "") -> Write:
    """A kcl.yaml that names files; {out} is the foreign folder, {up} the way to it from the stack."""

    def write(hostile: Hostile) -> None:
        listed = "".join(f"    - {_placed(each, hostile)!r}\n" for each in files)
        hostile.write("web/dev/kcl.yaml", f"kcl_cli_configs:\n  file:\n{listed}{_placed(more, hostile)}")

    return write


def manifest(text: str, program: str = "", where: str = "") -> Write:
    """A kcl.mod of the repository, and a program that imports `pkg`."""

    def write(hostile: Hostile) -> None:
        hostile.write(os.path.join(where, "kcl.mod"), _placed(text, hostile))
        hostile.write("web/dev/main.k", program or f"import pkg\ntold = pkg.told\n{_RESOURCES}")

    return write


def link(name: str, target: str, then: Write) -> Write:
    def write(hostile: Hostile) -> None:
        hostile.link(name, _placed(target, hostile))
        then(hostile)

    return write


def program(text: str) -> Write:
    return lambda hostile: hostile.write("web/dev/main.k", _placed(text, hostile))


def _placed(text: str, hostile: Hostile) -> str:
    up = hostile.to_outside(hostile.stack, "")
    return text.replace("{out}", str(hostile.outside)).replace("{up}", up)


_DEPENDENCY = '[package]\nname = "repo"\n[dependencies]\npkg = { path = "%s" }\n'
_ENTRIES = '[package]\nname = "dev"\n[profile]\nentries = [%s]\n'
_IMPORT = program(f"import pkg\ntold = pkg.told\n{_RESOURCES}")

_SETTINGS: dict[str, Write] = {
    "file, absolute": settings("{out}/notes.txt"),
    "file, upwards": settings("{up}notes.txt"),
    "file, from the root upwards": settings("${KCL_MOD}/../home/notes.txt"),
    "file beside an own one": settings("main.k", "{out}/pkg/broken.k"),
    "folder": settings("{out}/pkg"),
    "folder that is not there": settings("{out}/none"),
    "file that is not there": settings("{out}/none.k"),
    "the root of all": settings("/"),
    "a file of the kernel": settings("/proc/self/environ"),
    "through the kernel": settings("/proc/self/root{out}/notes.txt"),
    "through the kernel's folder": settings("/proc/self/cwd/../home/notes.txt"),
    "link": link("web/dev/x.k", "{out}/notes.txt", settings("x.k")),
    "relative link": link("web/dev/x.k", "{up}notes.txt", settings("x.k")),
    "link of a link": link("y", "{out}/notes.txt", link("web/dev/x.k", "../../y", settings("x.k"))),
    "link to a folder": link("web/dev/x", "{out}", settings("x/notes.txt")),
    "link to a folder, upwards": link("web/dev/x", "{out}/web", settings("x/../notes.txt", "x/dev.yaml")),
    "link to nothing": link("web/dev/x.k", "{out}/none", settings("x.k")),
    "git's file": settings("../../.git/told.k"),
    "git's folder": settings("../../.git"),
    "link to git's file": link("web/dev/x.k", "../../.git/told.k", settings("x.k")),
    "package, absolute": lambda hostile: (
        settings("main.k", more="  package_maps: {pkg: '{out}/pkg'}\n")(hostile), _IMPORT(hostile))[0],
    "package, upwards": lambda hostile: (
        settings("main.k", more="  package_maps: {pkg: '{up}pkg'}\n")(hostile), _IMPORT(hostile))[0],
    "package by a link": link("inside", "{out}/pkg", lambda hostile: (
        settings("main.k", more="  package_maps: {pkg: ../../inside}\n")(hostile), _IMPORT(hostile))[0]),
    "package as a file": settings("${pkg:KCL_MOD}/main.k", more="  package_maps: {pkg: '{out}/pkg'}\n"),
    "package upwards as a file": settings(
        "${pkg:KCL_MOD}/../../home/notes.txt", more="  package_maps: {pkg: ../../web}\n"),
}  # fmt: skip

_MANIFESTS: dict[str, Write] = {
    "dependency, absolute": manifest(_DEPENDENCY % "{out}/pkg"),
    "dependency, upwards": manifest(_DEPENDENCY % "../home/pkg"),
    "dependency by a link": link("inside", "{out}/pkg", manifest(_DEPENDENCY % "inside")),
    "dependency below a link": link("inside", "{out}", manifest(_DEPENDENCY % "./inside/pkg")),
    "dependency not there": manifest(_DEPENDENCY % "{out}/none"),
    "the folder above": manifest(_DEPENDENCY % "..", f"import pkg.home.pkg as told\nx = told.told\n{_RESOURCES}"),
    "entry": manifest(_ENTRIES % '"{out}/notes.txt"', where="web/dev"),
    "entry upwards": manifest(_ENTRIES % '"{up}notes.txt"', where="web/dev"),
    "entry from the root": manifest(_ENTRIES % '"${KCL_MOD}/../../../home/notes.txt"', where="web/dev"),
    "entry that is settings": manifest(_ENTRIES % '"main.k", "{out}/settings.yaml"', where="web/dev"),
    "entry that is broken settings": manifest(_ENTRIES % '"main.k", "{up}dev.yaml"', where="web/dev"),
    "manifest": link("kcl.mod", "{out}/notes.txt", lambda hostile: None),
    "manifest of the stack": link("web/dev/kcl.mod", "{out}/notes.txt", lambda hostile: None),
    "manifest that is git's": link("kcl.mod", ".git/config", lambda hostile: None),
    "lock": link("kcl.mod.lock", "{out}/kcl.mod.lock", lambda hostile: (
        hostile.write("lib/kcl.mod", '[package]\nname = "pkg"\n'), manifest(_DEPENDENCY % "lib")(hostile))[1]),
    "vendored package": link("vendor/pkg_1.0.0", "{out}/pkg", manifest(
        '[package]\nname = "repo"\n[dependencies]\npkg = "1.0.0"\n')),
    "vendor folder": link("vendor", "{out}", manifest('[package]\nname = "repo"\n[dependencies]\npkg = "1.0.0"\n')),
    "manifest of a dependency": link("lib/kcl.mod", "{out}/notes.txt", manifest(_DEPENDENCY % "lib")),
    "imported folder": link("pkg", "{out}/pkg", _IMPORT),
    "imported file": link("pkg.k", "{out}/pkg/main.k", _IMPORT),
    "file of an imported folder": link("pkg/main.k", "{out}/pkg/main.k", _IMPORT),
    "broken file of an imported folder": link("pkg/main.k", "{out}/notes.txt", _IMPORT),
    "folder above an imported one": link("lib", "{out}", program(f"import lib.pkg\ntold = pkg.told\n{_RESOURCES}")),
    "relative import": link("web/dev/pkg", "{out}/pkg", program(f"import .pkg\ntold = pkg.told\n{_RESOURCES}")),
    "import of git's": link("pkg", ".git", _IMPORT),
    "definitions that are git's": link("web/crd", "../.git", lambda hostile: (
        hostile.write(".git/told.yaml", f"{CANARY}: {{ [\n"))),
    "settings that are git's": link("web/dev/kcl.yaml", "../../.git/config", lambda hostile: None),
    "a file that is git's": link("web/dev/more.k", "../../.git/config", lambda hostile: None),
}  # fmt: skip


@pytest.mark.parametrize("attack", _SETTINGS.values(), ids=_SETTINGS)
def test_settings_lead_nowhere_outside(hostile: Hostile, wb: Wb, attack: Write) -> None:
    attack(hostile)
    assert_refused(wb("compile", "web/dev"), hostile)


@pytest.mark.parametrize("attack", _MANIFESTS.values(), ids=_MANIFESTS)
def test_packages_lead_nowhere_outside(hostile: Hostile, wb: Wb, attack: Write) -> None:
    attack(hostile)
    assert_refused(wb("compile", "web/dev"), hostile)


_READERS = ('file.read("{}")', 'file.exists("{}")', 'file.size("{}")', 'file.glob("{}")', 'crypto.filesha256("{}")')
_PLACES = ("{out}/notes.txt", "{up}notes.txt", "x/notes.txt", "x.txt", "../../x.txt", "/proc/self/root{out}/notes.txt",
           "../../.git/config", "../../git/config", "x/web/../notes.txt")  # fmt: skip


@pytest.mark.parametrize("call", _READERS)
@pytest.mark.parametrize("place", _PLACES)
def test_no_function_reads_outside(hostile: Hostile, wb: Wb, call: str, place: str) -> None:
    hostile.link("web/dev/x", hostile.outside)
    hostile.link("web/dev/x.txt", hostile.outside / "notes.txt")
    hostile.link("x.txt", "web/dev/x.txt")
    hostile.link("git", ".git")
    program(f"import file\nimport crypto\ntold = {call.format(place)}\n{_RESOURCES}")(hostile)
    ended = wb("compile", "web/dev")
    assert_refused(ended, hostile)
