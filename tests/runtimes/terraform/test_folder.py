"""The working folder: closed to others, written whole, one at a time in it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from runtimes.base import Misconfigured, Overloaded, Resource, RuntimeType, TerraformId
from runtimes.terraform import former
from runtimes.terraform.folder import Folder, read_json
from runtimes.terraform.terraform import Settings, Terraform


def test_only_its_owner_may_look_into_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "terraform" / "shop")
    folder.prepare()
    folder.write(folder.configuration, "{}")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert folder.configuration.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in folder.path.iterdir()) == ["main.tf.json"]


def test_what_says_the_same_already_is_not_written(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write(folder.configuration, "{}")
    before = folder.configuration.stat().st_ino
    folder.write(folder.configuration, "{}")
    assert folder.configuration.stat().st_ino == before
    folder.write(folder.configuration, '{"a": 1}')
    assert read_json(folder.configuration) == {"a": 1}


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misconfigured, match="can't be used: Not a directory"):
        Folder(tmp_path / "file" / "below").prepare()


def test_removing_leftovers_takes_what_may_hold_secrets_and_leaves_the_state(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for path in (folder.plan, folder.plan_events, folder.errors, folder.state, folder.run):
        path.write_text("{}")
    folder.remove_leftovers()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run.json", "terraform.tfstate"]


async def test_one_at_a_time_works_in_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    async with folder.held("terraform", "applies", 0):
        with pytest.raises(Overloaded, match=rf"process {os.getpid()}, which applies since 20"):
            async with folder.held("terraform", "plans", 0.1):
                raise AssertionError("two are in it")
    async with folder.held("terraform", "plans", 0):
        pass


async def test_who_dies_in_it_leaves_it_free(tmp_path: Path) -> None:
    script = (
        "import asyncio, os, signal, sys; from pathlib import Path; from runtimes.terraform.folder import Folder\n"
        "async def main():\n"
        "    async with Folder(Path(sys.argv[1])).held('terraform', 'applies', 0):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = await asyncio.to_thread(subprocess.run, command, timeout=30, cwd=Path(__file__).parents[3], check=False)
    assert done.returncode == -9
    async with Folder(tmp_path).held("terraform", "plans", 0):
        pass


def test_how_a_provider_was_configured_is_remembered_without_its_secrets(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    id_ = TerraformId("hashicorp", "aws", "aws_db_instance", "main")
    meta = {
        "region": "eu-1",
        "access_key": "AKIA",
        "profile": "with-canary-in-it",
        "roles": [{"token": "t", "arn": "a"}],
    }
    extensions = {"provider": "registry.terraform.io/hashicorp/aws/5.0.1", "providerMeta": meta, "importId": "x"}
    resource = Resource(id_, RuntimeType.TERRAFORM, {"engine": "postgres"}, extensions=extensions)
    former.save(folder, [resource], {str(id_)}, frozenset({"canary"}))
    kept = Resource(
        id_,
        RuntimeType.TERRAFORM,
        {},
        extensions={
            "provider": "registry.terraform.io/hashicorp/aws/5.0.1",
            "providerMeta": {"region": "eu-1", "roles": [{"arn": "a"}]},
        },
    )
    assert former.load(folder) == (kept,)
    former.save(folder, [], {str(id_)}, frozenset())
    assert former.load(folder) == (kept,)
    former.save(folder, [], set(), frozenset())
    assert former.load(folder) == ()


@pytest.mark.parametrize("kind", ["pipe", "folder"])
async def test_a_state_that_is_no_file_is_told_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "own.tfstate"
    os.mkfifo(place) if kind == "pipe" else place.mkdir()
    nobody = threading.Timer(0.3, _end, [place])
    nobody.start()
    try:
        settings = Settings(tmp_path, backend={"type": "local", "config": {"path": str(place)}})
        with pytest.raises(Misconfigured, match=r"own\.tfstate cannot be read"):
            await Terraform(settings).state()
    finally:
        nobody.cancel()


def _end(pipe: Path) -> None:
    """Gives whoever waits for a pipe its end."""
    with suppress(OSError):
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
