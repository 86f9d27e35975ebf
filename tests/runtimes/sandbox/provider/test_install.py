"""The practice provider in a mirror."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runtimes.sandbox.provider.mirror import install, missing

ROOT = Path(__file__).parents[4]
needs_modules = pytest.mark.skipif(bool(missing()), reason=f"no module {', '.join(missing())}")


def program_in(mirror: Path) -> Path:
    (found,) = mirror.glob("workbench.local/sandbox/sandbox/0.1.0/*/terraform-provider-sandbox_v0.1.0")
    return found


@needs_modules
def test_the_program_says_whom_it_is_for(tmp_path: Path) -> None:
    install(tmp_path / "a mirror's place")

    program = program_in(tmp_path / "a mirror's place")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "This is a Terraform provider: terraform starts it, nobody else has use for it.\n"


@needs_modules
def test_what_a_killed_provider_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    install(tmp_path / "mirror")

    with tempfile.TemporaryDirectory() as short:  # as the path of a socket has to be
        first = socket_of_a_killed_provider(program_in(tmp_path / "mirror"), short)
        left_by_the_first = first.exists()
        second = socket_of_a_killed_provider(program_in(tmp_path / "mirror"), short)

        assert left_by_the_first and not first.parent.exists() and second.exists()


def socket_of_a_killed_provider(program: Path, temporary: str) -> Path:
    cookie = {"TF_PLUGIN_MAGIC_COOKIE": "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2"}
    environment = {**os.environ, **cookie, "TMPDIR": temporary}
    with subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        handshake = running.stdout.readline()
        running.kill()
    return Path(handshake.split("|")[3])


@needs_modules
def test_the_program_is_the_same_in_every_mirror(tmp_path: Path) -> None:
    install(tmp_path / "one")
    install(tmp_path / "two")

    assert program_in(tmp_path / "one").read_bytes() == program_in(tmp_path / "two").read_bytes()


@needs_modules
def test_installing_again_changes_nothing(tmp_path: Path) -> None:
    install(tmp_path)
    before = program_in(tmp_path).stat()

    install(tmp_path)

    assert program_in(tmp_path).stat().st_ino == before.st_ino
    assert [each.name for each in program_in(tmp_path).parent.iterdir()] == [program_in(tmp_path).name]


def test_without_its_modules_it_says_what_to_install() -> None:
    """In a Python of its own, which finds nothing but the standard library and this package."""
    script = (
        "from pathlib import Path; from runtimes.sandbox.provider.mirror import install, ProviderMissing\n"
        "try: install(Path('nowhere'))\n"
        "except ProviderMissing as error: print(error.message, '|', error.hint)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout == (
        "the practice provider needs Python modules: tf, grpc, msgpack, cryptography | "
        "pip install 'konfig-workbench[practice]'\n"
    )
