"""What goes wrong around Terraform, as `wb` tells it: the state stays as it is, and the next run goes on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.scenarios.terraform.orders import ALL_THERE, STACK, Orders
from tests.workbench.cli.command import Ended
from workbench.exit_codes import ExitCode

pytestmark = pytest.mark.slow


def told(ended: Ended) -> str:
    """Returns what was said with its line breaks taken out."""
    return " ".join(ended.text.split())


def without_terraform(folder: Path) -> str:
    """Returns a PATH on which there is everything a command needs but terraform and tofu."""
    folder.mkdir()
    for name in ("sh", "env"):
        (folder / name).symlink_to(shutil.which(name) or "")
    return str(folder)


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


_HOLD = """
import fcntl, sys
with open(sys.argv[1], "r+") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """Holds the lock of a state as another terraform does, with what it writes about itself.

    In a process of its own: `wb` runs in that of the test, and a process that closes a file gives up its locks on it.
    """
    info = {"ID": "11111111-2222-3333-4444-555555555555", "Operation": "OperationTypeApply", "Info": ""}
    info |= {"Who": "bob@build-7", "Version": "1.11.4", "Created": "2026-03-04T05:06:07Z", "Path": str(state)}
    beside = state.with_name(f".{state.name}.lock.info")
    command = [sys.executable, "-c", _HOLD, str(state)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        beside.write_text(json.dumps(info))
        try:
            yield
        finally:
            beside.unlink()
            holder.communicate(timeout=30)


async def test_what_keeps_terraform_from_planning_is_told_and_leaves_the_state_alone(orders: Orders) -> None:
    orders.edit("base/base.k", "sizeGB = 20", "sizeGB = 21")
    absent = await orders.wb("plan", STACK, PATH=without_terraform(orders.home / "bin"))
    assert absent.code == ExitCode.REFUSED
    assert "need terraform or tofu, and neither is on PATH" in told(absent) and "install one" in told(absent)
    assert "apps/v1" in absent.out or "orders-api" in absent.out, "what is in the clusters is shown all the same"
    misnamed = await orders.wb("plan", STACK, WB_TERRAFORM=str(orders.home / "no-such"))
    assert misnamed.code == ExitCode.REFUSED and "no-such that can be run" in told(misnamed)

    old = script(orders.home / "old-terraform", """echo '{"terraform_version": "1.4.6", "platform": "linux_amd64"}'""")
    outdated = await orders.wb("plan", STACK, WB_TERRAFORM=old)
    assert outdated.code == ExitCode.REFUSED
    assert "is version 1.4.6, which is too old: 1.5" in told(outdated)

    nowhere = orders.home / "nowhere.tfrc"
    nowhere.write_text('host "workbench.local" {\n  services = {"providers.v1" = "http://127.0.0.1:1/"}\n}\n')
    unmirrored = {"WB_TERRAFORM_MIRROR": "", "TF_CLI_CONFIG_FILE": str(nowhere)}
    asked = await orders.wb("plan", STACK, **unmirrored)
    assert asked.code == ExitCode.REFUSED
    assert "workbench.local/sandbox/sandbox" in told(asked) and f"wb trust provider {STACK}" in told(asked)
    unmirrored["WB_TRUST_PROVIDERS"] = "workbench.local/sandbox/*"
    offline = await orders.wb("plan", STACK, **unmirrored)
    assert offline.code == ExitCode.REFUSED
    assert "workbench.local/sandbox/sandbox" in told(offline) and "needs a network for this provider" in told(offline)

    nowhere.write_text(
        f'provider_installation {{\n  filesystem_mirror {{\n    path = "{orders.home / "bin"}"\n  }}\n}}\n'
    )
    unknown = await orders.wb("plan", STACK, **unmirrored)
    assert unknown.code == ExitCode.REFUSED
    assert "workbench.local/sandbox/sandbox" in told(unknown) and "check extensions.provider" in told(unknown)

    orders.edit("base/base.k", '"10.40.0.0/16"', '"10.40.0.0/99"')
    invalid = await orders.wb("plan", STACK, TF_CLI_CONFIG_FILE=str(orders.home / "absent.tfrc"))
    assert invalid.code == ExitCode.REFUSED, invalid.text
    assert "is not a range of addresses" in told(invalid)
    assert orders.place("base/base.k", '"10.40.0.0/99"') in told(invalid), "the line that set it is named"
    assert orders.counts() == {} and not orders.recorded()

    orders.edit("base/base.k", '"10.40.0.0/99"', '"10.40.0.0/16"')
    applied = await orders.wb(
        "apply", STACK, "--yes", "--no-watch", TF_CLI_CONFIG_FILE=str(orders.home / "absent.tfrc")
    )
    assert applied.code == ExitCode.OK, "settings that are named and not there are no reason to stop: " + applied.err
    assert orders.counts() == ALL_THERE


async def test_what_goes_wrong_while_applying_is_told_and_the_next_run_goes_on(orders: Orders) -> None:
    with orders.world.change() as content:
        content.quotas = {"sandbox_database": {"count": 1}}
    short = await orders.wb("apply", STACK, "--yes", "--no-watch")
    assert short.code == ExitCode.PARTIAL, short.text
    assert "Quota exceeded" in told(short) and "1 are allowed" in told(short)
    assert "ask for a larger quota" in told(short)
    assert orders.counts()["sandbox_database"] == 1, "the other one is there"
    assert len(orders.recorded()) == sum(orders.counts().values()), "and the state knows all that is there"

    with orders.world.change() as content:
        content.quotas = {}
        content.faults = [{"operation": "create", "type": "sandbox_database", "crash": "after", "times": 1}]
    crashed = await orders.wb("apply", STACK, "--yes", "--no-watch")
    assert crashed.code in (ExitCode.PARTIAL, ExitCode.ERROR)
    assert "the provider broke down" in told(crashed) and "Traceback" not in crashed.text
    found = await orders.wb("plan", STACK)
    assert "it is there as" in told(found) and "is taken over" in told(found)
    went_on = await orders.wb("apply", STACK, "--yes", "--no-watch")
    assert went_on.code == ExitCode.OK, went_on.err
    assert orders.counts() == ALL_THERE and len(orders.recorded()) == 6
    made = [each["id"] for each in orders.world.content().log if each["operation"] == "create"]
    assert len(made) == len(set(made)) == 6, "nothing was made twice"


@pytest.mark.soak
async def test_what_others_do_meanwhile_is_told_and_the_next_run_goes_on(orders: Orders) -> None:
    """In `make test` a lock and a plan that is out of date are met a layer below, in `runtimes/terraform`."""
    stack = orders.root / "storefront/orders/dev/stack.yaml"
    stack.write_text(stack.read_text() + "terraform:\n  lockTimeoutSeconds: 1\n")
    assert (await orders.wb("apply", STACK, "--yes", "--no-watch")).code == ExitCode.OK
    before = orders.folder.state.read_bytes()
    with locked(orders.folder.state):
        busy = await orders.wb("plan", STACK)
    assert busy.code == ExitCode.REFUSED
    assert "locked by bob@build-7 since 2026-03-04" in told(busy) and "wb state unlock STACK 11111111-2222" in told(
        busy
    )
    assert orders.folder.state.read_bytes() == before

    orders.edit("dev/main.k", "sizeGB = 10", "sizeGB = 30")
    plan = str(orders.home / "saved.plan")
    assert (await orders.wb("plan", STACK, "--out", plan)).code == ExitCode.OK
    with orders.world.change() as content:
        content.of("sandbox_database")["reports-dev"]["size_gb"] = 15
    stale = await orders.wb("apply", plan, "--yes", "--no-watch")
    assert stale.code == ExitCode.STALE, stale.text
    assert "sandbox_database:reports" in told(stale)
    assert orders.folder.state.read_bytes() == before
    assert orders.one("database", "reports-dev")["size_gb"] == 15, "nothing was applied"

    orders.order({"operation": "update", "error": "The zone is out of capacity", "attribute": "size_gb", "times": 1})
    refused = await orders.wb("apply", STACK, "--yes", "--no-watch")
    assert refused.code in (ExitCode.PARTIAL, ExitCode.ERROR) and "The zone is out of capacity" in told(refused)
    assert (await orders.wb("apply", STACK, "--yes", "--no-watch")).code == ExitCode.OK
    assert orders.one("database", "reports-dev")["size_gb"] == 30
    unchanged = await orders.wb("plan", STACK, "--detailed-exitcode")
    assert unchanged.code == ExitCode.OK, unchanged.out
