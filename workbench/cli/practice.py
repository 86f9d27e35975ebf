"""Two clusters to practise on, running yesterday's version of the sample repository.

They are a process of their own (`wb sandbox start`), reached over HTTP like any cluster. What was yesterday is said in
one place below, as edits of today's files; it is applied through the same session as everything else.

Where terraform is, there is a cloud to practise on beside them: a file, and a provider for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from kcl.records import dataclass, replace
from runtimes.base.documents import load_json
from workbench.project import WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.engine.whatif import WhatIf
    from workbench.session import Session
    from workbench.settings import Settings

STACK = "checkout/prod"
"""What the demo is about."""
RENTING = "orders/dev"
"""The stack that has Terraform resources too."""
OTHERS = ("gateway/prod",)
"""Stacks that run as well, so that the repository does not look deserted."""
CLUSTER = "hangzhou"
MISSING_IMAGE = "registry.orchard.example/checkout/web:2.4.1"
"""Today's image: nobody pushed it yet, so its pods can't start."""
FIXED_IMAGE = "registry.orchard.example/checkout/web:2.4.2"
START_SECONDS = 30.0

_YESTERDAY: Mapping[str, tuple[tuple[str, str], ...]] = {
    "storefront/checkout/base/base.k": (
        ("checkout/web:2.4.1", "checkout/web:2.4.0"),
        ("checkout/cart:1.9.0", "checkout/cart:1.8.2"),
        (
            'SESSION_KEY = option("session_key", default="orchard-development-session-key")',
            'SESSION_KEY = option("session_key", default="orchard-development-session-key-of-yesterday")',
        ),
    ),
    "storefront/checkout/prod/main.k": (("    replicas = 4\n", "    replicas = 3\n"),),
    "payments/gateway/base/base.k": (("payments/gateway:3.2.5", "payments/gateway:3.2.4"),),
}
_CONTEXTS = 2
_OLDEST_TERRAFORM = (1, 5)


class PracticeFailed(WorkbenchError):
    """The practice clusters or what should run on them could not be set up."""


@dataclass(frozen=True, slots=True)
class Practice:
    """`settings` lead to the practice clusters and keep releases apart from real ones. `home` goes away with it.

    `no_cloud` says what is missing for Terraform resources, empty where nothing is; `world` is their cloud.
    """

    root: Path
    settings: Settings
    home: Path
    no_cloud: str = ""

    @property
    def world(self) -> Path:
        return self.home / "world.json"


def sample_root(here: Path) -> Path:
    """Returns the sample repository: the one of the source tree, else a copy in `here` that people may edit.

    A copy that is already there is used as it is, so no edit of it is ever lost.
    """
    source = Path(__file__).parents[2] / "sample-konfig"
    if source.is_dir():
        return source
    packaged = Path(__file__).parents[1] / "sample-konfig"
    if not packaged.is_dir():
        raise PracticeFailed("the sample repository is not part of this installation", hint="install the wheel again")
    copy = here / "sample-konfig"
    if not copy.exists():
        shutil.copytree(packaged, copy)
    return copy


@asynccontextmanager
async def practise(settings: Settings, here: Path) -> AsyncIterator[Practice]:
    """Starts the clusters, empty; they stop when the context ends."""
    root = sample_root(here)
    with tempfile.TemporaryDirectory(prefix="konfig-practice-") as name:
        home = Path(name)
        kubeconfig = home / "kubeconfig"
        # the sample is ours, whoever owns the folder that it was installed in
        own = replace(
            settings, kubeconfig=str(kubeconfig), state_dir=home / "state", releases_bucket=None, is_untrusted=False
        )
        async with _clusters(kubeconfig):
            yield await _with_cloud(Practice(root, own, home))


async def _with_cloud(place: Practice) -> Practice:
    """Adds the provider to practise with, where it can run; nothing of the user's terraform is touched or needed."""
    if lacking := await lacking_for_cloud(place.settings):
        return replace(place, no_cloud=lacking)
    from runtimes.sandbox.provider import CLOUD_VARIABLE
    from runtimes.sandbox.provider.mirror import install

    mirror = place.home / "providers"
    await anyio.to_thread.run_sync(install, mirror)
    settings = replace(
        place.settings,
        terraform_config="",
        terraform_mirrors=(mirror,),
        terraform_environment={**place.settings.terraform_environment, CLOUD_VARIABLE: str(place.world)},
    )
    return replace(place, settings=settings)


async def lacking_for_cloud(settings: Settings) -> str:
    """Returns what is missing to have Terraform resources here, in words; empty if nothing is."""
    from runtimes.sandbox.provider.mirror import missing

    program = settings.terraform or shutil.which("terraform") or shutil.which("tofu")
    if program is None:
        return "no terraform or tofu is on the PATH"
    absent = [*(each for each in ("python_terraform",) if find_spec(each) is None), *missing()]
    if absent:
        return f"Python has no {', '.join(absent)}: pip install 'konfig-workbench[practice,terraform]'"
    try:
        done = await anyio.run_process([program, "version", "-json"], check=False, stderr=subprocess.DEVNULL)
        version = str(load_json(done.stdout)["terraform_version"])
        is_enough = tuple(int(each) for each in version.split("-")[0].split(".")[:2]) >= _OLDEST_TERRAFORM
    except (OSError, ValueError, KeyError, TypeError):
        return f"{program} does not say which version of terraform it is"
    oldest = ".".join(str(each) for each in _OLDEST_TERRAFORM)
    return "" if is_enough else f"{program} is of version {version}: {oldest} or newer is needed"


@asynccontextmanager
async def _clusters(kubeconfig: Path) -> AsyncIterator[None]:
    arguments = (
        "--kubeconfig",
        str(kubeconfig),
        "--clusters",
        str(_CONTEXTS),
        "--fail-image",
        f"{MISSING_IMAGE}=missing",
    )
    process = await anyio.open_process(
        [sys.executable, "-P", "-m", "workbench", "sandbox", "start", "--parent", str(os.getpid()), *arguments],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a ^C meant for the screen is not meant for the clusters
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    async with child_process(process):
        await ready_line(process, "the practice clusters")
        yield


@asynccontextmanager
async def child_process(process: anyio.abc.Process) -> AsyncIterator[None]:
    """Ends the process with the context, gently if it lets us."""
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                process.terminate()
            with anyio.move_on_after(5):
                await process.wait()
            if process.returncode is None:
                process.kill()
                await process.wait()
            await process.aclose()


async def ready_line(process: anyio.abc.Process, what: str) -> str:
    """Returns the line that starts with READY; raises `PracticeFailed` if there is none in time."""
    assert process.stdout is not None and process.stderr is not None
    heard = b""
    with anyio.move_on_after(START_SECONDS):
        async for chunk in process.stdout:
            heard += chunk
            if b"READY" in heard and heard.endswith(b"\n"):
                return heard[heard.index(b"READY") :].decode()
        said = b"".join([part async for part in process.stderr]).decode(errors="replace").strip()
        last = said.splitlines()[-1] if said else f"exit code {process.returncode}"
        raise PracticeFailed(f"{what} did not start: {last}", hint="wb sandbox start shows more")
    raise PracticeFailed(f"{what} did not answer within {START_SECONDS:.0f} s")


def yesterday(session: Session, name: str) -> WhatIf:
    """Returns the stack as it was yesterday, as edits of today's files."""
    found = session.whatif(session.select(name))
    for file, edits in _YESTERDAY.items():
        text = found.text(file)
        for today, before in edits:
            if today not in text:
                # the user edited the sample: that part of yesterday is then the same as today
                continue
            text = text.replace(today, before)
        found = found.edit(file, text)
    return found


async def seed(session: Session, names: Iterable[str] = (STACK, *OTHERS)) -> None:
    """Brings yesterday's version of these stacks onto the clusters and waits until it is ready."""
    from workbench.engine.status import Verdict

    for name in names:
        stack, past = session.select(name), yesterday(session, name)
        plan = await session.plan(stack, past.inputs)
        async with session.apply(plan, confirm=plan.confirmation.phrase) as events:
            async for _ in events:
                pass
        async with session.watch(stack, past.inputs, spec=plan.spec, until_settled=True, timeout_seconds=60) as trees:
            last = [tree async for tree in trees][-1:]
        if not last or last[0].verdict is not Verdict.READY:
            raise PracticeFailed(f"{name} of yesterday did not become ready on the practice clusters")


async def change_by_hand(practice: Practice) -> str:
    """Somebody edits the cart live, on one cluster only. Returns what was done, in words."""
    from runtimes.sandbox import visitor

    context = "sandbox-1"
    await anyio.to_thread.run_sync(
        lambda: visitor.scale(Path(practice.settings.kubeconfig), context, "checkout-prod", "cart", 5)
    )
    return f"somebody scaled cart on {CLUSTER} to 5 by hand"
