"""Packages in a real OCI registry on this machine."""

import http.client
import io
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcl.api import run
from kcl.loader.lock import read_lock
from kcl.packages import commands
from kcl.packages.failure import PackageFailure
from kcl.packages.oci import SUM, Artifact, Registry
from kcl.source import OsFileSystem

pytest.importorskip("oras", reason="the Python package oras is not installed")
pytestmark = pytest.mark.skipif(
    shutil.which("docker-registry") is None, reason="docker-registry (a package of Debian) is not installed"
)
_START_SECONDS = 30


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Host and port of an empty registry."""
    with served_registry(tmp_path_factory.mktemp("registry")) as served:
        yield served


@contextmanager
def served_registry(folder: Path) -> Iterator[str]:
    """Serves an empty registry; gives its host and port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = folder / "config.yml"
    settings.write_text(
        f"version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\n"
        f"storage: {{filesystem: {{rootdirectory: {folder}/data}}}}\nhttp: {{addr: '127.0.0.1:{port}'}}\n"
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", str(settings)], stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, "the registry ended"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/v2/")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise AssertionError("the registry does not answer")


def _mod(folder: Path, *argv: str, status: int = 0) -> str:
    stderr = io.StringIO()
    environment = {"KCL_PKG_PATH": str(folder.parent / "downloaded"), "HOME": str(folder.parent), "KPM_REG": ""}
    done = commands.main(
        argv, cwd=str(folder), stdin=io.StringIO(), stdout=io.StringIO(), stderr=stderr, environment=environment
    )
    assert done == status, stderr.getvalue()
    return stderr.getvalue()


def _package(folder: Path, name: str, version: str, text: str, more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kcl.mod").write_text(f'[package]\nname = "{name}"\nversion = "{version}"\n{more}')
    (folder / "l.k").write_text(text)
    return folder


def test_package_is_published_added_locked_and_used(host: str, tmp_path: Path) -> None:
    lib = _package(tmp_path / "lib", "lib", "0.1.0", "x = 1\n")
    _mod(lib, "push", f"oci://{host}/team/lib")
    user = _package(
        tmp_path / "user",
        "user",
        "1.0.0",
        "import lib\ny = lib.x\n",
        f'[dependencies]\nlib = {{ oci = "oci://{host}/team/lib", tag = "0.1.0" }}\n',
    )
    _mod(user, "update")
    _mod(user, "push", f"oci://{host}/team/user")
    app = _package(tmp_path / "app", "app", "1", "")
    (app / "l.k").unlink()
    (app / "main.k").write_text("import user\na = user.y\n")
    _mod(app, "add", f"oci://{host}/team/user", "--tag", "1.0.0")
    assert f'user = {{ oci = "oci://{host}/team/user", tag = "1.0.0" }}' in (app / "kcl.mod").read_text()
    locked = read_lock(str(app), OsFileSystem())
    assert {name: item.full_name for name, item in locked.items()} == {"lib": "lib_0.1.0", "user": "user_1.0.0"}
    published = Registry(host, {}).pull("team/lib", "0.1.0").annotations
    assert published[SUM] == locked["lib"].sum
    assert published["org.kcllang.package.name"] == "lib"
    downloaded = str(tmp_path / "downloaded")
    assert run(["main.k"], work_dir=app, vendor_dir=downloaded).documents == ({"a": 1},)
    shutil.rmtree(downloaded)
    _mod(app, "pull")
    assert run(["main.k"], work_dir=app, vendor_dir=downloaded).documents == ({"a": 1},)


def test_newest_version_is_taken_where_none_is_said(host: str, tmp_path: Path) -> None:
    for version in ("0.9.0", "0.10.0", "0.11.0-rc1"):
        _mod(_package(tmp_path / "many", "many", version, f"x = '{version}'\n"), "push", f"oci://{host}/team/many")
    app = _package(tmp_path / "app", "app", "1", "")
    _mod(app, "add", "--oci", f"oci://{host}/team/many")
    assert 'tag = "0.10.0"' in (app / "kcl.mod").read_text()


def test_version_that_is_there_is_replaced_only_by_force(host: str, tmp_path: Path) -> None:
    lib = _package(tmp_path / "lib", "again", "0.1.0", "x = 1\n")
    _mod(lib, "push", f"oci://{host}/team/again")
    assert "is there already" in _mod(lib, "push", f"oci://{host}/team/again", status=1)
    app = _package(tmp_path / "app", "app", "1", "")
    _mod(app, "add", f"oci://{host}/team/again", "--tag", "0.1.0")
    _package(lib, "again", "0.1.0", "x = 2\n")
    _mod(lib, "push", f"oci://{host}/team/again", "--force")
    shutil.rmtree(tmp_path / "downloaded")
    assert "is not what kcl.mod.lock holds" in _mod(app, "pull", status=1)


def test_checksum_that_lies_is_found(host: str, tmp_path: Path) -> None:
    registry = Registry(host, {})
    lib = _package(tmp_path / "lib", "liar", "0.1.0", "x = 1\n")
    _mod(lib, "push", f"oci://{host}/team/liar")
    honest = registry.pull("team/liar", "0.1.0")
    registry.push("team/liar", "0.1.0", "liar.tar", Artifact(honest.data, {**honest.annotations, SUM: "bGll"}))
    app = _package(tmp_path / "app", "app", "1", "")
    assert "says its checksum is bGll" in _mod(app, "add", f"oci://{host}/team/liar", "--tag", "0.1.0", status=1)
    assert "dependencies" not in (app / "kcl.mod").read_text()
    _mod(app, "add", f"oci://{host}/team/liar", "--tag", "0.1.0", "--no_sum_check")


def test_archive_that_leads_out_of_its_folder_is_refused(host: str, tmp_path: Path) -> None:
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        made.addfile(tarfile.TarInfo("../../evil"))
    Registry(host, {}).push("team/evil", "1.0.0", "evil.tar", Artifact(buffer.getvalue(), {}))
    app = _package(tmp_path / "app", "app", "1", "")
    assert "leads out of it" in _mod(app, "add", f"oci://{host}/team/evil", "--tag", "1.0.0", status=1)
    assert not list(tmp_path.rglob("evil"))
    assert not list(Path(tmp_path / "downloaded").iterdir())


@pytest.mark.parametrize("tag", ["9.9.9", ""])
def test_package_that_is_not_there(tag: str, host: str, tmp_path: Path) -> None:
    app = _package(tmp_path / "app", "app", "1", "")
    flags = ["--tag", tag] if tag else []
    assert "kcl mod add: cannot" in _mod(app, "add", f"oci://{host}/team/nobody", *flags, status=1)


def test_registry_that_is_not_there_is_told_at_once() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    started = time.monotonic()
    with pytest.raises(PackageFailure, match="cannot get"):
        Registry(f"127.0.0.1:{free}", {}).pull("team/lib", "1")
    assert time.monotonic() - started < 10


def test_running_never_asks_a_registry(host: str, tmp_path: Path) -> None:
    """A program whose package was not downloaded fails, though the registry is there."""
    _mod(_package(tmp_path / "lib", "offline", "0.1.0", "x = 1\n"), "push", f"oci://{host}/team/offline")
    app = _package(
        tmp_path / "app",
        "app",
        "1",
        "",
        f'[dependencies]\noffline = {{ oci = "oci://{host}/team/offline", tag = "0.1.0" }}\n',
    )
    (app / "main.k").write_text("import offline\na = offline.x\n")
    with pytest.raises(Exception, match="is not on this machine"):
        run(["main.k"], work_dir=app, vendor_dir=str(tmp_path / "downloaded"))
    assert not (tmp_path / "downloaded").exists()
