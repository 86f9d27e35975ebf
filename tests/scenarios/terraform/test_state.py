"""`wb state`: what the state has, with secrets masked, what it lacks, and its way to another backend."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.scenarios.terraform.orders import PASSWORD, STACK, Orders, apply, release
from workbench.exit_codes import ExitCode
from workbench.project import StackPath
from workbench.release.store import ReleaseStore

pytestmark = pytest.mark.slow


async def test_the_state_is_listed_shown_and_moved(orders: Orders) -> None:
    nothing = await orders.wb("state", "list", STACK)
    assert nothing.code == 0 and "no state yet" in nothing.out and "configured, and not in it" in nothing.out

    session = orders.session()
    await apply(session, await session.plan(session.select(STACK), only=["*_database/orders"]))
    listed = await orders.wb("state", "list", STACK)
    assert listed.code == 0 and "2 resources in " in listed.out, listed.text
    assert "sandbox_database.orders" in listed.out and "configured, and not in it: sandbox:sandbox:sandbox_bucket" in (
        listed.out
    )
    document = json.loads((await orders.wb("state", "list", STACK, "-o", "json")).out)
    assert document["status"] == "ok" and {each["configured"] for each in document["resources"]} == {True}
    assert all("attributes" not in each for each in document["resources"])
    for name in ("sandbox_database/orders", "sandbox_database.orders", "sandbox:sandbox:sandbox_database:orders"):
        shown = await orders.wb("state", "show", STACK, name)
        assert shown.code == 0 and "size_gb: 20" in shown.out and PASSWORD not in shown.text, shown.text
    unknown = await orders.wb("state", "show", STACK, "sandbox_database/odrers")
    assert unknown.code == ExitCode.ERROR and "it has sandbox_" in unknown.err

    folder = ReleaseStore(orders.state_dir, orders.root).workspace_folder(StackPath.parse(STACK))
    aside = folder.rename(orders.home / "aside")  # as on a machine that never applied the stack
    elsewhere = await orders.wb("state", "list", STACK)
    assert elsewhere.code == ExitCode.DIFF_FAILED and "no state yet" not in elsewhere.out, elsewhere.text
    assert "made it, and it is not in this state: sandbox:sandbox:sandbox_database:orders" in elsewhere.out
    document = json.loads((await orders.wb("state", "list", STACK, "-o", "json")).out)
    assert document["status"] == "unknown" and len(document["lost"]) == 2
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)

    orders.edit("base/base.k", 'username = "orders"', "username = orders2")
    broken = await orders.wb("state", "list", STACK)
    assert broken.code == 0 and "what is configured is not known" in broken.out, "it is needed most then"
    orders.edit("base/base.k", "username = orders2", 'username = "orders"')

    file = orders.root / "storefront/orders/dev/stack.yaml"
    there = orders.home / "shared.tfstate"
    file.write_text(
        f"{file.read_text().rstrip()}\nterraform: {{backend: {{type: local, config: {{path: {there}}}}}}}\n"
    )
    untrusted = await orders.wb("state", "migrate", STACK, "--yes")
    assert untrusted.code == ExitCode.ERROR and "is not trusted" in untrusted.err and not there.exists()
    trusting = {"WB_TRUST_BACKENDS": "1"}
    asked = await orders.wb("state", "migrate", STACK, **trusting)
    assert asked.code == ExitCode.REFUSED and "--yes" in asked.err
    kept = await orders.wb("state", "migrate", STACK, "--yes", WB_READONLY="1", **trusting)
    assert kept.code != 0 and "read-only" in kept.err and not there.exists()
    moved = await orders.wb("state", "migrate", STACK, "--yes", "--reason", "shared now", **trusting)
    assert moved.code == 0 and "2 resources in " in moved.out and str(there) in moved.out, moved.text
    planned = await orders.wb("plan", STACK, "--only", "*_database/orders", "--detailed-exitcode", **trusting)
    assert "nothing to change in what was chosen" in planned.out, planned.text
    trail = await orders.wb("audit", "-o", "json")
    assert "move state" in trail.out and "shared now" in trail.out


async def test_a_resource_is_forgotten_and_stays_where_it_is(orders: Orders) -> None:
    session = orders.session()
    stack = session.select(STACK)
    await release(session, stack)
    name, id_ = "sandbox_dns_record/reports-database", "sandbox:sandbox:sandbox_dns_record:reports-database"

    # what the configuration declares would be created once more
    declared = await orders.wb("state", "forget", STACK, name, "--confirm", STACK)
    assert declared.code == ExitCode.REFUSED, declared.text
    assert f"{id_}: the configuration declares it" in declared.err and "--still-declared" in declared.err
    unknown = await orders.wb("state", "forget", STACK, "sandbox_dns_record/reprots", "--confirm", STACK)
    assert unknown.code == ExitCode.ERROR and "the state has no" in unknown.err

    block = (orders.root / "storefront/orders/base/base.k").read_text()
    start = block.index("# Where people with a database client")
    end = block.index("}\n", start) + 2
    orders.edit("base/base.k", block[start:end], "")
    shown = await orders.wb("plan", STACK)
    assert "sandbox_dns_record reports-database @terraform is deleted" in shown.out, "else it goes"

    before = orders.recorded()
    unconfirmed = await orders.wb("state", "forget", STACK, name)
    assert unconfirmed.code == ExitCode.REFUSED and "nothing here changes or deletes it" in unconfirmed.text
    seen = await orders.wb("state", "forget", STACK, name, "--dry-run")
    assert seen.code == 0 and orders.recorded() == before, seen.text
    kept = await orders.wb("state", "forget", STACK, name, "--confirm", STACK, WB_READONLY="1")
    assert kept.code != 0 and "read-only" in kept.err and orders.recorded() == before

    record = orders.existing("dns_record")
    done = await orders.wb("state", "forget", STACK, name, "--confirm", STACK, "--reason", "moved to another team")
    assert done.code == 0, done.text
    assert "forgotten: sandbox_dns_record.reports-database" in done.out and "importId" in done.out, done.text
    assert orders.existing("dns_record") == record, "it stays where it is"
    assert before - orders.recorded() == {"sandbox_dns_record.reports-database"}
    (copy,) = orders.folder.path.glob("terraform.tfstate.before-forgetting-*")
    assert str(copy) in done.text and copy.stat().st_mode & 0o777 == 0o600
    assert "reports-database" in copy.read_text()

    # nothing of it is left to be done, looked for, or deleted
    after = await orders.wb("plan", STACK, "--detailed-exitcode")
    assert after.code == 0 and "nothing to change" in after.out, after.text
    latest = (await session.history(stack)).latest
    assert latest is not None and latest.reason == "moved to another team"
    assert id_ not in {str(each.id) for each in latest.resources} and len(latest.resources) > 5
    trail = await orders.wb("audit", "-o", "json")
    assert "forget" in trail.out and "moved to another team" in trail.out


async def test_what_a_crash_may_have_left_behind_is_listed(orders: Orders) -> None:
    session = orders.session()
    orders.order({"operation": "create", "type": "sandbox_bucket", "crash": "after", "times": 1})
    await apply(session, await session.plan(session.select(STACK), only=["*_bucket/invoices"]))
    assert len(orders.existing("bucket")) == 1 and "sandbox_bucket.invoices" not in orders.recorded()
    for _ in range(2):  # a plan looks for it and takes nothing over yet
        listed = await orders.wb("state", "list", STACK)
        assert listed.code == ExitCode.DIFF_FAILED, listed.text
        assert "sandbox_bucket:invoices may exist, as " in listed.out and f"plan {STACK}: that looks" in listed.out
        assert "configured, and not in it: sandbox:sandbox:sandbox_bucket" not in listed.out
        document = json.loads((await orders.wb("state", "list", STACK, "-o", "json")).out)
        assert document["status"] == "unknown"
        assert [each["id"] for each in document["possiblyCreated"]] == ["sandbox:sandbox:sandbox_bucket:invoices"]
        plan = await session.plan(session.select(STACK), only=["*_bucket/invoices"])
    await apply(session, plan)
    assert "sandbox_bucket.invoices" in orders.recorded()
    assert (await orders.wb("state", "list", STACK)).code == ExitCode.OK
