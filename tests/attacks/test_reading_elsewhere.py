"""The bounds of reading hold on every way in, and for what is kept between runs; honest work goes on within them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from kcl import api
from tests.attacks.conftest import CANARY, Hostile
from tests.workbench.cli.command import Ended, Wb
from tests.workbench.engine.test_downloaded_packages import lock
from workbench.engine.compiled import CompileFailed, CompileInputs
from workbench.engine.compiled_index import INDEX_FILE
from workbench.session import Session

_RESOURCES = "resources = []\n"
_REFUSALS = ("lies outside of", "is a link out of the repository", "belongs to git")


def assert_refused(ended: Ended, code: int | None = 1) -> None:
    assert ended.code != 0 and (code is None or ended.code == code), ended.text
    assert any(each in ended.text for each in _REFUSALS), ended.text
    assert CANARY not in ended.text and "Traceback" not in ended.text


# Every way in


@pytest.mark.parametrize(
    "command",
    ["compile web/dev", "diff web/dev", "plan web/dev", "apply web/dev --yes", "explain web/dev ConfigMap/web",
     "compile --all --into specs", "migrate", "migrate --write", "watch web/dev"],
)  # fmt: skip
def test_every_command_refuses_what_leads_out(hostile: Hostile, wb: Wb, command: str) -> None:
    (hostile.root / "kcl.mod").write_text('[package]\nname = "repo"\n[expected]\nkclvm_version = "0.4"\n')
    hostile.write("web/dev/kcl.yaml", f"kcl_cli_configs:\n  file: [main.k, {hostile.outside}/notes.txt]\n")
    assert_refused(wb(*command.split()), None)
    hostile.assert_untouched()


async def test_a_what_if_reads_nothing_outside(hostile: Hostile) -> None:
    async with Session.open(hostile.root) as session:
        stack = session.select("web/dev")
        edit = f'import file\ntold = file.read("{hostile.outside}/notes.txt")\n{_RESOURCES}'
        for name, text in (("main.k", edit), ("kcl.yaml", f"kcl_cli_configs: {{file: [{hostile.outside}/notes.txt]}}")):
            with pytest.raises(CompileFailed, match="lies outside of") as failed:
                await session.compile(stack, CompileInputs(overlay={hostile.stack / name: text}))
            assert CANARY not in failed.value.rendered


@pytest.mark.parametrize("way", ["link", "link above", "import", "reader", "settings", "git"])
def test_a_recovery_reads_nothing_outside(hostile: Hostile, wb: Wb, way: str) -> None:
    hostile.write(".git/config", f'token = "{CANARY}" {{ [\n')
    program = hostile.write("ops/Recovery.k", "x = 1\n")
    match way:
        case "link":
            hostile.link("ops/Recovery.k", hostile.outside / "notes.txt")
        case "link above":
            (hostile.outside / "Recovery.k").write_text(f"{CANARY} {{ [")
            (hostile.outside / "kcl.mod").touch()
            shutil.rmtree(hostile.root / "ops")
            hostile.link("ops", hostile.outside)
        case "import":
            program.write_text("import lib\nx = lib.told\n")
            hostile.link("lib.k", hostile.outside / "notes.txt")
        case "reader":
            program.write_text(f'import file\nx = file.read("{hostile.outside}/notes.txt")\n')
        case "git":
            hostile.link("ops/Recovery.k", "../.git/config")
    more = ["-Y", "settings.yaml"] if way == "settings" else []
    if way == "settings":
        hostile.link("ops/settings.yaml", hostile.outside / "dev.yaml")
    assert_refused(wb("run", "ops/Recovery.k", *more), None)


@pytest.mark.parametrize("target", ["{out}/dev.yaml", "../../web/settings.yaml", "../../.git/config"])
def test_settings_that_are_named_may_be_no_link_out(hostile: Hostile, wb: Wb, target: str) -> None:
    """The user names a file of the repository, and the repository says where that is."""
    hostile.write(".git/config", f'token = "{CANARY}" {{ [\n')
    hostile.link("web/settings.yaml", hostile.outside / "dev.yaml")
    hostile.link("web/dev/ci.yaml", target.replace("{out}", str(hostile.outside)))
    assert_refused(wb("compile", "web/dev", "-Y", "ci.yaml"))


def test_settings_of_the_repository_grant_nothing_though_they_are_named(hostile: Hostile, wb: Wb) -> None:
    """What settings outside of the checkout name is the user's. These are not outside."""
    hostile.write("web/dev/ci.yaml", f"kcl_cli_configs: {{package_maps: {{pkg: {hostile.outside}/web}}}}\n")
    hostile.write("web/dev/main.k", f"import pkg\n{_RESOURCES}x = pkg\n")
    assert_refused(wb("compile", "web/dev", "-Y", "ci.yaml"))


# Nothing tells what exists


def test_of_a_link_that_leads_on_only_what_is_written_in_it_is_told(hostile: Hostile, wb: Wb) -> None:
    """Where the user's own links lead is not the repository's business."""
    (hostile.outside / "alias").symlink_to(hostile.outside / "secret-place")
    for name in ("web/project.yaml", "web/dev/main.k"):
        hostile.link(name, hostile.outside / "alias")
        text = wb("ls").text + wb("compile", "--all", "--into", "specs").text
        assert "alias" in text and "secret-place" not in text, text


@pytest.mark.parametrize("pattern", [".*", "*", "**", ".g*", "*/*"])
def test_no_listing_shows_what_is_git_s(hostile: Hostile, wb: Wb, pattern: str) -> None:
    hostile.write(".git/canary", CANARY)
    hostile.write("web/dev/.git/canary", CANARY)
    hostile.write("web/dev/main.k", f'import file\nx = file.glob("{pattern}")\n')
    ended = wb("compile", "web/dev")
    assert ".git" not in ended.out and "canary" not in ended.out, ended.text


def test_what_lies_in_git_is_no_stack(hostile: Hostile, wb: Wb) -> None:
    hostile.write(".git/evil/project.yaml", "name: evil\n")
    hostile.write(".git/evil/prod/stack.yaml", "name: prod\n")
    hostile.write("web/.git/evil/project.yaml", "name: evil\n")
    hostile.write("web/.git/prod/stack.yaml", "name: prod\n")
    text = wb("ls").text
    assert "web" in text and "evil" not in text and "prod" not in text, text


@pytest.mark.parametrize(
    "text",
    ['file.exists("{}")', 'file.read("{}")', 'file.size("{}")', 'file.glob("{}")', 'file.glob("{}/*")',
     'file.glob("{}/**")', 'crypto.filesha256("{}")', "settings", "dependency", "link"],
)  # fmt: skip
@pytest.mark.parametrize("there", ["notes.txt", "web"])
def test_what_is_there_outside_and_what_is_not_are_told_alike(hostile: Hostile, wb: Wb, text: str, there: str) -> None:
    said = []
    for name in (there, "n" * len(there)):
        path = str(hostile.outside / name)
        if text == "settings":
            hostile.write("web/dev/kcl.yaml", f"kcl_cli_configs:\n  file: [{path}]\n")
        elif text == "dependency":
            hostile.write("kcl.mod", f'[package]\nname = "repo"\n[dependencies]\npkg = {{ path = "{path}" }}\n')
            hostile.write("web/dev/main.k", f"import pkg\n{_RESOURCES}x = pkg\n")
        elif text == "link":
            hostile.link("pkg", path)
            hostile.write("web/dev/main.k", f"import pkg\n{_RESOURCES}x = pkg\n")
        else:
            hostile.write("web/dev/main.k", f"import file\nimport crypto\nx = {text.format(path)}\n{_RESOURCES}")
        ended = wb("compile", "web/dev")
        assert_refused(ended)
        said.append(ended.text.replace(path, "PATH"))
    assert said[0] == said[1]


@pytest.mark.parametrize("text", ["a\0b", "a" * 5000, "/".join("a" * 800), "loop", "\u200b.git", ".GIT/config"])
def test_odd_paths_end_in_a_finding(hostile: Hostile, wb: Wb, text: str) -> None:
    hostile.link("web/dev/loop", "loop")
    written = json.dumps(text)
    hostile.write("web/dev/kcl.yaml", f"kcl_cli_configs: {{file: [main.k, {written}]}}\n")
    ended = wb("compile", "web/dev")
    assert ended.code == 1 and "Traceback" not in ended.text
    (hostile.stack / "kcl.yaml").unlink()
    hostile.write("web/dev/main.k", f"import file\nx = file.read({written})\n{_RESOURCES}")
    ended = wb("compile", "web/dev")
    assert ended.code == 1 and "Traceback" not in ended.text


@pytest.mark.parametrize("place", [".kpm/config/config.json", "k8s_1.0/.git/config"])
@pytest.mark.parametrize("way", ["named", "link", "reader", "import"])
def test_what_package_tools_keep_of_credentials_is_read_by_nobody(
    hostile: Hostile, wb: Wb, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str, way: str
) -> None:
    secret = tmp_path / "packages" / place
    secret.parent.mkdir(parents=True)
    secret.write_text(f'{{"auths": "{CANARY}" [')
    (tmp_path / "packages" / "k8s_1.0").mkdir(exist_ok=True)
    monkeypatch.setenv("KCL_PKG_PATH", str(tmp_path / "packages"))
    match way:
        case "named":
            hostile.write("web/dev/kcl.yaml", f"kcl_cli_configs: {{file: [{secret}]}}\n")
        case "link":
            hostile.link("web/dev/more.k", secret)
        case "import":
            hostile.link("lib.k", secret)
            hostile.write("web/dev/main.k", f"import lib\nx = lib.x\n{_RESOURCES}")
        case "reader":
            hostile.write("web/dev/kcl.yaml", f"kcl_cli_configs: {{file: [{tmp_path}/packages/k8s_1.0/main.k]}}\n")
            (tmp_path / "packages/k8s_1.0/main.k").write_text(f'import file\nx = file.read("{secret}")\n')
    assert_refused(wb("compile", "web/dev"))


# What is kept


def _bounded(hostile: Hostile) -> api.BoundedFileSystem:
    return api.BoundedFileSystem(api.Bounds(str(hostile.root)))


@pytest.mark.parametrize("way", ["settings", "import", "dependency", "entry"])
@pytest.mark.parametrize("kept", ["on disk", "in memory"])
def test_a_result_of_wider_bounds_is_given_to_nobody_else(
    hostile: Hostile, tmp_path: Path, way: str, kept: str
) -> None:
    package = hostile.outside / "pkg"
    package.mkdir()
    (package / "kcl.mod").write_text('[package]\nname = "pkg"\n')
    (package / "main.k").write_text(f'told = "{CANARY}"\n')
    hostile.write("web/dev/main.k", "import pkg\ntold = pkg.told\n")
    match way:
        case "settings":
            hostile.write("web/dev/kcl.yaml", f"kcl_cli_configs: {{file: [{package}/main.k]}}\n")
        case "import":
            hostile.link("pkg", package)
        case "dependency":
            hostile.write("kcl.mod", f'[package]\nname = "repo"\n[dependencies]\npkg = {{ path = "{package}" }}\n')
        case "entry":
            hostile.write("web/dev/kcl.mod", f'[package]\nname = "dev"\n[profile]\nentries = ["{package}/main.k"]\n')
    for each in (*hostile.root.rglob("*"), *hostile.outside.rglob("*")):
        os.utime(each, (1, 1), follow_symlinks=False)
    store = api.Store(str(tmp_path / "store"))
    cache = api.ParseCache(store=store)
    files = ["main.k"] if way in ("import", "dependency") else []
    if way != "import":  # which leads out of its own package, and nobody follows
        wide = api.run(files, work_dir=hostile.stack, file_system=api.OsFileSystem(), cache=cache)
        assert CANARY in wide.yaml()
    cache = cache if kept == "in memory" else api.ParseCache(store=store)
    for _ in range(2):
        with pytest.raises(api.ProgramError) as failed:
            api.run(files, work_dir=hostile.stack, file_system=_bounded(hostile), cache=cache)
        assert CANARY not in failed.value.render()


def test_a_link_that_is_turned_outside_is_seen_the_next_time(hostile: Hostile, wb: Wb) -> None:
    hostile.write("lib/told.k", 'told = "ours"\n')
    hostile.link("pkg", "lib")
    hostile.write("web/dev/main.k", f"import pkg\ntold = pkg.told\n{_RESOURCES}")
    assert wb("compile", "web/dev").code == 0
    (hostile.outside / "told.k").write_text(f'told = "{CANARY}"\n')
    hostile.link("pkg", hostile.outside)
    assert_refused(wb("compile", "web/dev"))


def test_a_committed_record_has_no_foreign_file_read(hostile: Hostile, wb: Wb) -> None:
    """Its digest, written into the record, would tell who sees that what is in the file."""
    assert wb("compile", "--all", "--into", "specs").code == 0
    file = hostile.root / "specs" / INDEX_FILE
    record = json.loads(file.read_text())
    foreign = hostile.outside / "notes.txt"
    record["paths"].append(str(foreign))
    record["states"].append([[1, 1, 1, 1, 1], "0" * 64, True])
    record["sets"] = [[*each, len(record["paths"]) - 1] for each in record["sets"]]
    file.write_text(json.dumps(record))
    foreign.chmod(0)
    before = foreign.stat().st_atime_ns
    assert wb("compile", "--all", "--into", "specs").code == 0
    assert foreign.stat().st_atime_ns == before
    import hashlib

    foreign.chmod(0o600)
    assert hashlib.sha256(foreign.read_bytes()).hexdigest() not in file.read_text()


# Honest work


def _told(ended: Ended) -> str:
    assert ended.code == 0, ended.text
    return ended.text


@pytest.fixture
def monorepo(hostile: Hostile) -> Hostile:
    """The Konfig in a folder of a checkout that holds other things as well."""
    for name in ("kcl.mod", "web"):
        (hostile.root / "konfig").mkdir(exist_ok=True)
        (hostile.root / name).rename(hostile.root / "konfig" / name)
    hostile.write("lib/kcl.mod", '[package]\nname = "lib"\n')
    hostile.write("lib/names.k", 'name = "shared"\n')
    hostile.write("konfig/kcl.mod", '[package]\nname = "repo"\n[dependencies]\nlib = { path = "../lib" }\n')
    hostile.write("konfig/web/dev/main.k", _using("lib.names", "names.name"))
    return hostile


def _using(package: str, value: str) -> str:
    return (
        f"import {package}\n"
        'resources = [{id = "v1:ConfigMap:shop:web", type = "Kubernetes", attributes = {'
        'apiVersion = "v1", kind = "ConfigMap", metadata = {name = "web", namespace = "shop"}, '
        f"data.name = {value}}}}}]\n"
    )


def test_a_package_beside_the_konfig_in_the_same_checkout_is_inside(monorepo: Hostile, wb: Wb) -> None:
    assert "shared" in _told(wb("compile", "web/dev", "-w", "konfig"))


def test_links_within_the_checkout_are_followed(monorepo: Hostile, wb: Wb) -> None:
    monorepo.link("konfig/names", "../lib")
    monorepo.write("konfig/web/dev/main.k", _using("lib.names", "names.name"))
    monorepo.link("konfig/web/dev/more.k", "../../../lib/names.k")
    assert "shared" in _told(wb("compile", "web/dev", "-w", "konfig"))


def test_a_checkout_that_is_reached_by_a_link_is_no_matter(monorepo: Hostile, wb: Wb, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(monorepo.root)
    assert "shared" in _told(wb("compile", "web/dev", "-w", tmp_path / "short" / "konfig"))


def test_a_submodule_is_part_of_the_checkout_that_was_opened(monorepo: Hostile, wb: Wb) -> None:
    monorepo.write("konfig/web/.git", "gitdir: ../../.git/modules/web\n")
    monorepo.write("konfig/web/dev/stack.yaml", "name: prod\n")  # a folder of that name would be what is opened
    assert "shared" in _told(wb("compile", "web/prod", "-w", "konfig"))


@pytest.mark.parametrize("store", ["folder", "link", "link to the package"])
def test_downloaded_packages_are_read(
    monorepo: Hostile, wb: Wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    packages, elsewhere = tmp_path / "packages", tmp_path / "elsewhere"
    monorepo.write("lib/.editorconfig", "root = true\n")  # which is part of the checksum
    shutil.move(monorepo.root / "lib", (elsewhere if store == "link to the package" else packages) / "lib_1.0")
    match store:
        case "link to the package":
            packages.mkdir()
            (packages / "lib_1.0").symlink_to(elsewhere / "lib_1.0")
        case "link":
            packages.rename(elsewhere)
            packages.symlink_to(elsewhere)
    monorepo.write("konfig/kcl.mod", '[package]\nname = "repo"\n[dependencies]\nlib = "1.0"\n')
    lock(monorepo.root / "konfig", packages / "lib_1.0")
    monkeypatch.setenv("KCL_PKG_PATH", str(packages))
    assert "shared" in _told(wb("compile", "web/dev", "-w", "konfig"))


@pytest.mark.parametrize("way", ["absolute", "upwards", "by a link of the user"])
def test_settings_that_the_user_names_may_lie_anywhere(hostile: Hostile, wb: Wb, tmp_path: Path, way: str) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "more.k").write_text(_using("web.base.none", "option('told')").partition("\n")[2])
    (own / "settings.yaml").write_text(
        f"kcl_cli_configs: {{file: [{own}/more.k]}}\nkcl_options: [{{key: told, value: mine}}]\n"
    )
    (tmp_path / "link").symlink_to(own)
    named = {
        "absolute": str(own / "settings.yaml"),
        "upwards": os.path.relpath(own / "settings.yaml", hostile.stack),
        "by a link of the user": str(tmp_path / "link" / "settings.yaml"),
    }[way]
    (hostile.stack / "main.k").unlink()
    hostile.write("web/dev/kcl.yaml", "kcl_options: []\n")
    assert "mine" in _told(wb("compile", "web/dev", "-Y", named))


def test_a_program_reads_files_of_its_own(hostile: Hostile, wb: Wb) -> None:
    hostile.write("web/dev/data/a.txt", "ours")
    hostile.link("web/dev/venv", hostile.outside)  # such as a program's folder of libraries has
    calls = ('file.read("data/a.txt")', 'file.glob("data/*.txt")[0]', 'file.glob("**/a.txt")[0]', 'file.read("b.txt")')
    hostile.link("web/dev/b.txt", "data/a.txt")
    for call in calls:
        hostile.write("web/dev/main.k", _using("file", call))
        assert "ours" in (told := _told(wb("compile", "web/dev"))) or "a.txt" in told


def test_the_language_alone_reads_what_its_user_may(hostile: Hostile) -> None:
    """`kcl run` is the official compiler's command: whoever types it has read the program."""
    hostile.write("web/dev/kcl.yaml", f"kcl_cli_configs: {{file: [{hostile.outside}/told.k]}}\n")
    (hostile.outside / "told.k").write_text("told = 1\n")
    assert api.run(work_dir=hostile.stack).documents == ({"told": 1},)
