"""`kcl mod` with folders and git repositories of this machine."""

import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from kcl.packages import commands
from kcl.packages.versions import newest, order

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class World:
    """A folder with packages in it, and what the commands said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"KCL_PKG_PATH": str(folder / "downloaded"), "PATH": "/usr/bin:/bin", "HOME": str(folder)}

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def mod(self, *argv: str, at: str = "app", status: int = 0) -> tuple[str, str]:
        stdout, stderr = io.StringIO(), io.StringIO()
        done = commands.main(
            argv,
            cwd=str(self.folder / at),
            stdin=io.StringIO(),
            stdout=stdout,
            stderr=stderr,
            environment=self.environment,
        )
        assert done == status, stderr.getvalue()
        return stdout.getvalue(), stderr.getvalue()

    def git(self, at: str, *argv: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main", *argv],
            cwd=self.folder / at,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.stdout.strip()

    def repository(self, name: str) -> str:
        """A git repository with the package `name` in it, tagged v1.0, and one commit more; answers its address."""
        self.write(f"{name}/kcl.mod", f'[package]\nname = "{name}"\nversion = "1.0"\n')
        self.write(f"{name}/l.k", "x = 1\n")
        self.git(name, "init", "-q")
        self.git(name, "add", ".")
        self.git(name, "commit", "-q", "-m", "one")
        self.git(name, "tag", "v1.0")
        self.write(f"{name}/l.k", "x = 2\n")
        self.git(name, "commit", "-q", "-a", "-m", "two")
        return f"file://{self.folder}/{name}"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.write("app/kcl.mod", '[package]\nname = "app"\nversion = "0.1.0" # the first\n')
    return made


def _x(world: World) -> object:
    from kcl.api import run

    world.write("app/main.k", "import lib\na = lib.x\n")
    downloaded = world.environment["KCL_PKG_PATH"]
    return run(["main.k"], work_dir=world.folder / "app", vendor_dir=downloaded).documents[0]["a"]


def test_new_package(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.mod("init", "my-app", "--version", "0.2.0", at=".")
    assert (tmp_path / "my-app/kcl.mod").read_text().startswith('[package]\nname = "my-app"\n')
    assert (tmp_path / "my-app/main.k").exists()
    _, stderr = world.mod("init", at="my-app", status=1)
    assert "is there already" in stderr
    _, stderr = world.mod("init", "../up", at="my-app")
    assert (tmp_path / "up/kcl.mod").exists()


def test_folder_as_a_package(world: World) -> None:
    world.write("lib/kcl.mod", '[package]\nname = "lib"\nversion = "0.3.0"\n')
    world.write("lib/l.k", "x = 3\n")
    world.mod("add", "../lib")
    assert (world.folder / "app/kcl.mod").read_text() == (
        '[package]\nname = "app"\nversion = "0.1.0" # the first\n\n[dependencies]\nlib = { path = "../lib" }\n'
    )
    assert 'full_name = "lib_0.3.0"' in (world.folder / "app/kcl.mod.lock").read_text()
    assert _x(world) == 3
    assert world.mod("graph")[0] == "app@0.1.0 lib@0.3.0\n"
    assert json.loads(world.mod("metadata")[0]) == {
        "packages": {"lib": {"name": "lib", "manifest_path": str(world.folder / "lib")}}
    }


@needs_git
@pytest.mark.parametrize(
    ("flags", "line", "value"),
    [
        (["--tag", "v1.0"], 'tag = "v1.0"', 1),
        (["--branch", "main"], 'branch = "main"', 2),
        ([], "commit = ", 2),
    ],
)
def test_git_repository_as_a_package(flags: list[str], line: str, value: int, world: World) -> None:
    url = world.repository("lib")
    world.mod("add", "--git", url, *flags)
    text = (world.folder / "app/kcl.mod").read_text()
    assert f'lib = {{ git = "{url}", {line}' in text
    assert _x(world) == value
    lock = (world.folder / "app/kcl.mod.lock").read_text()
    assert f'url = "{url}"' in lock
    assert "sum = " in lock
    assert not list(Path(world.environment["KCL_PKG_PATH"]).rglob(".git"))


@needs_git
def test_short_commit(world: World) -> None:
    url = world.repository("lib")
    commit = world.git("lib", "rev-parse", "--short", "HEAD~1")
    world.mod("add", "--git", url, "--commit", commit)
    assert _x(world) == 1


@needs_git
def test_branch_that_moves_is_taken_only_by_update(world: World) -> None:
    url = world.repository("lib")
    world.mod("add", "--git", url, "--branch", "main")
    world.write("lib/l.k", "x = 9\n")
    world.git("lib", "commit", "-q", "-a", "-m", "three")
    world.mod("pull")
    assert _x(world) == 2
    shutil.rmtree(world.environment["KCL_PKG_PATH"])
    _, stderr = world.mod("pull", status=1)
    assert "is not what kcl.mod.lock holds" in stderr
    world.mod("update")
    assert _x(world) == 9


@needs_git
def test_package_in_a_folder_of_a_repository(world: World) -> None:
    world.write("many/one/kcl.mod", '[package]\nname = "one"\nversion = "1"\n')
    world.write("many/lib/kcl.mod", '[package]\nname = "lib"\nversion = "1"\n')
    world.write("many/lib/l.k", "x = 7\n")
    world.git("many", "init", "-q")
    world.git("many", "add", ".")
    world.git("many", "commit", "-q", "-m", "one")
    line = f'lib = {{ git = "file://{world.folder}/many", branch = "main", package = "lib" }}'
    world.write("app/kcl.mod", f'[package]\nname = "app"\n[dependencies]\n{line}\n')
    world.mod("update")
    assert _x(world) == 7


@needs_git
def test_newest_version_that_packages_ask_for_and_what_the_program_asks_for(world: World) -> None:
    url = world.repository("base")
    world.git("base", "tag", "v1.1")
    for name, tag in (("one", "v1.0"), ("two", "v1.1")):
        line = f'base = {{ git = "{url}", tag = "{tag}" }}'
        world.write(f"{name}/kcl.mod", f'[package]\nname = "{name}"\nversion = "1"\n[dependencies]\n{line}\n')
    own = (
        '[package]\nname = "app"\nversion = "1"\n[dependencies]\none = { path = "../one" }\ntwo = { path = "../two" }\n'
    )
    world.write("app/kcl.mod", own)
    world.mod("update")
    assert "one@1 base@v1.1" in world.mod("graph")[0]
    world.write("app/kcl.mod", f'{own}base = {{ git = "{url}", tag = "v1.0" }}\n')
    _, stderr = world.mod("update")
    assert "base: kcl.mod asks for v1.0, another package for v1.1" in stderr
    assert "app@1 base@v1.0" in world.mod("graph")[0]


@needs_git
def test_vendored_packages_need_nothing_else(world: World) -> None:
    world.mod("add", "--git", world.repository("lib"), "--tag", "v1.0")
    world.mod("vendor")
    assert (world.folder / "app/vendor/lib_v1.0/l.k").read_text() == "x = 1\n"
    shutil.rmtree(world.environment["KCL_PKG_PATH"])
    assert _x(world) == 1


@needs_git
def test_update_to_a_version_changes_that_line_only(world: World) -> None:
    url = world.repository("lib")
    world.git("lib", "tag", "v2.0")
    world.mod("add", "--git", url, "--tag", "v1.0")
    before = (world.folder / "app/kcl.mod").read_text()
    world.mod("update", "lib:v2.0")
    assert (world.folder / "app/kcl.mod").read_text() == before.replace("v1.0", "v2.0")
    assert _x(world) == 2


@needs_git
def test_one_package_into_a_folder(world: World) -> None:
    world.mod("pull", "--git", world.repository("lib"), "--tag", "v1.0", "-o", "here")
    assert (world.folder / "app/here/l.k").read_text() == "x = 1\n"


@needs_git
def test_nothing_of_a_repository_is_run_and_links_are_no_links(world: World) -> None:
    url = world.repository("lib")
    (world.folder / "lib/link.k").symlink_to("/etc/passwd")
    world.git("lib", "add", ".")
    world.git("lib", "commit", "-q", "-m", "link")
    world.mod("add", "--git", url, "--branch", "main")
    (kept,) = Path(world.environment["KCL_PKG_PATH"]).glob("lib_*/link.k")
    assert not kept.is_symlink()
    assert kept.read_text() == "/etc/passwd"


@pytest.mark.parametrize(
    ("argv", "status", "message"),
    [
        (["add"], 2, "say which package"),
        (["add", "."], 2, "cannot depend on itself"),
        (["add", "--git", "u", "--tag", "1", "--branch", "b"], 2, "only one of --tag, --branch and --commit"),
        (["add", "--git", "--upload-pack=x"], 2, "expected one argument"),
        (["add", "--git=-x", "--tag", "1"], 1, "is no address of a git repository"),
        (["add", "--git", "https://me:hunter2@example.com/x", "--tag", "1"], 1, "holds a password"),
        (["add", "--git", "ext::sh -c id", "--tag", "1"], 1, "git fetch failed"),
        (["add", "--path", "../nowhere"], 1, "is not there"),
        (["add", "oci://host"], 2, "is no address of a package"),
        (["add", "x", "--branch", "b"], 2, "are for git repositories"),
        (["update", "nobody"], 1, "is no dependency of this package"),
        (["nope"], 2, "invalid choice"),
    ],
)
def test_command_that_makes_no_sense(argv: list[str], status: int, message: str, world: World) -> None:
    before = (world.folder / "app/kcl.mod").read_text()
    _, stderr = world.mod(*argv, status=status)
    assert message in stderr
    assert "hunter2" not in stderr
    assert (world.folder / "app/kcl.mod").read_text() == before


def test_broken_kcl_mod_is_shown_with_its_line(world: World) -> None:
    world.write("app/kcl.mod", "[dependencies]\nx = 1\n")
    _, stderr = world.mod("update", status=1)
    assert "kcl.mod:2:1" in stderr
    assert "2 | x = 1" in stderr


def test_folder_without_a_package(tmp_path: Path) -> None:
    _, stderr = World(tmp_path).mod("graph", at=".", status=1)
    assert "run 'kcl mod init' first" in stderr


def test_order_of_versions() -> None:
    versions = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-rc.2", "1.0.0-rc.11", "v1", "1.2", "1.10.0"]
    shuffled = versions[::-1]
    shuffled.sort(key=order)
    assert shuffled == versions
    assert newest(["0.1", "latest", "0.10", "0.9", "1.0-rc1"]) == "0.10"
    assert newest(["latest"]) is None
