"""What is no regular file is not read: who opens a pipe waits for ever, and a checkout may be unpacked with some."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kcl.api import BoundedFileSystem, Bounds
from tests.attacks.conftest import CANARY, Hostile
from tests.workbench.cli.command import Wb
from workbench.session import Session

_LOOKS_SECONDS = 0.02
_WAITS_SECONDS = 0.5
_RESOURCES = "resources = []\n"
_TERRAFORM = (
    "import manifests\nmanifests.yaml_stream([{"
    'id = "builtin:terraform:terraform_data:x", type = "Terraform", attributes = {input = "x"}}])\n'
)

LISTED = (
    "clusters.yaml", "dimensions.yaml", "masking.yaml", "web/project.yaml", "web/dev/stack.yaml", "web/dev/kcl.mod",
    "web/dev/main.k", "web/base/base.k", "other/kcl.mod", ".git/HEAD",
)  # fmt: skip
COMPILED = {
    "web/dev/main.k": "",
    "web/dev/more.k": "",
    "web/dev/kcl.yaml": "",
    "web/dev/kcl.mod": "",
    "web/base/base.k": "",
    "web/crd/widgets.yaml": "",
    "web/dev/lib/lib.k": "import .lib\n",
    "web/dev/lib.k": "import .lib\n",
    "web/dev/data": 'import file\nx = file.read("data")\n',
    "plugins.yaml": "import kcl_plugin.told\nx = told.x()\n",
    "plugins/told.py": "import kcl_plugin.told\nx = told.x()\n",
}
"""Each with what makes a program read it."""


@contextmanager
def nobody_waits_for(pipe: Path) -> Iterator[None]:
    """Fails where anybody waits for what comes out of a pipe, and ends that: nothing comes."""
    is_over, waits = threading.Event(), []

    def look() -> None:
        while not is_over.wait(_LOOKS_SECONDS):
            with suppress(OSError):  # nobody reads
                end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                try:
                    if not is_over.wait(_WAITS_SECONDS):
                        os.write(end, b"#")
                        waits.append(pipe)
                finally:
                    os.close(end)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        is_over.set()
        looking.join()
    assert not waits, "somebody waited"


def a_pipe(hostile: Hostile, name: str) -> Path:
    made = hostile.root / name
    made.parent.mkdir(parents=True, exist_ok=True)
    made.unlink(missing_ok=True)
    os.mkfifo(made)
    return made


@pytest.mark.parametrize("name", LISTED)
def test_no_listing_waits_for_a_pipe(hostile: Hostile, wb: Wb, name: str) -> None:
    with nobody_waits_for(a_pipe(hostile, name)):
        ended = wb("ls")
    assert "Traceback" not in ended.text
    if name.endswith(".yaml"):
        assert name in ended.text and "not a regular file" in ended.text, ended.text


@pytest.mark.parametrize("name", COMPILED)
def test_no_compilation_waits_for_a_pipe(hostile: Hostile, wb: Wb, name: str) -> None:
    if name.startswith("plugins/"):
        hostile.write("plugins.yaml", "plugins: {told: {}}\n")
    hostile.write("web/dev/main.k", COMPILED[name] + _RESOURCES)
    made = a_pipe(hostile, name)
    with nobody_waits_for(made):
        ended = wb("--deadline", "30", "compile", "web/dev")
    assert "Traceback" not in ended.text and "deadline" not in ended.text, ended.text
    if name not in ("web/dev/kcl.yaml", "web/dev/kcl.mod", "web/dev/more.k"):
        assert ended.code == 1, ended.text


def test_no_lock_file_of_providers_is_a_pipe(hostile: Hostile, wb: Wb) -> None:
    hostile.write("web/dev/main.k", _TERRAFORM)
    with nobody_waits_for(a_pipe(hostile, ".terraform.lock.hcl")):
        ended = wb("trust", "list", "web/dev")
    assert "not a regular file" in ended.text and ended.code != 0, ended.text


async def test_no_edit_waits_for_a_pipe(hostile: Hostile) -> None:
    from workbench.engine.errors import EditFailed

    async with Session.open(hostile.root) as session:
        with nobody_waits_for(a_pipe(hostile, "web/dev/pipe")), pytest.raises(EditFailed):
            session.whatif(session.select("web/dev")).text("web/dev/pipe")


@pytest.mark.parametrize("kind", ["file", "folder", "folder above"])
def test_a_link_put_in_the_place_of_a_file_while_it_is_read_leads_nowhere(
    hostile: Hostile, tmp_path: Path, kind: str
) -> None:
    """Between the look where a path leads and the reading of it, somebody else may be quick."""
    folder = hostile.root / "a" / "b"
    file = hostile.write("a/b/data", "inside")
    foreign = tmp_path / "home" / "b"
    foreign.mkdir()
    (foreign / "data").write_text(CANARY)
    (hostile.outside / "data").write_text(CANARY)
    place = {"file": file, "folder": folder, "folder above": folder.parent}[kind]
    target = {"file": foreign / "data", "folder": foreign, "folder above": hostile.outside}[kind]
    disk = BoundedFileSystem(Bounds(str(hostile.root)))
    assert disk.read_text(str(file)) == "inside" and disk.is_file(str(file))
    place.rename(tmp_path / "moved")
    place.symlink_to(target)
    with pytest.raises(Exception) as refused:
        disk.read_text(str(file))
    assert CANARY not in str(refused.value)
