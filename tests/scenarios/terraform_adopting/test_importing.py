"""Taking over what exists, and renaming what is there: nothing is made twice, and nothing is lost without a phrase."""

from __future__ import annotations

import pytest

from runtimes.base import format_path
from tests.scenarios.terraform.orders import apply, change, release
from tests.scenarios.terraform_adopting.shop import NETWORK, STACK, Shop, at, bucket, database
from workbench.engine.errors import EngineError, Refused
from workbench.engine.events import Action
from workbench.engine.plan import Level
from workbench.exit_codes import ExitCode

pytestmark = pytest.mark.slow

FILES = at("bucket", "files")
BUCKET = "versioning = False"


async def test_what_exists_is_taken_over_once_and_as_it_should_be(shop: Shop) -> None:
    shop.put("bucket", "files", name="files", versioning=True, tags={"owner": "bob"})
    shop.put("bucket", "equal", name="equal", versioning=False)
    files = bucket(BUCKET, extensions='{importId = "files"}')
    equal = bucket(name="equal", extensions='{importId = "equal"}')
    nothing = bucket(name="nothing", extensions='{importId = "nowhere"}')
    session, stack = shop.select()

    shop.write(files, equal, nothing)
    missing = await session.plan(stack)
    (problem,) = missing.problems
    assert missing.is_refused and problem.address == at("bucket", "nothing")
    assert "nothing exists under the id" in problem.message and "'nowhere'" in problem.hint
    assert problem.source[0].relative_to(shop.root) == shop.place('"nowhere"'), "the line of the importId is named"
    assert change(missing, FILES).action is Action.IMPORT, "the others are not told to be created"

    shop.write(files, equal)
    plan = await session.plan(stack)
    assert {each.address.id.name: (each.action, each.import_id) for each in plan.changes} == {
        "files": (Action.IMPORT, "files"),
        "equal": (Action.IMPORT, "equal"),
    }
    told = {format_path(each.path): (each.before, each.after) for each in change(plan, FILES).fields}
    assert told == {"versioning": (True, False), "tags.owner": ("bob", None)}
    assert change(plan, at("bucket", "equal")).fields == ()
    assert shop.done() == [], "looking changes nothing"
    await release(session, stack)
    assert shop.existing("bucket")["files"]["versioning"] is False
    assert not {"create", "delete"} & {operation for operation, _ in shop.done()}
    assert shop.recorded() == {"sandbox_bucket.files", "sandbox_bucket.equal"}
    assert (await session.plan(stack)).is_empty, "an importId that was used up is left in peace"

    shop.write(files, equal, bucket(name="again", extensions='{importId = "equal"}'))
    twice = await session.plan(stack)
    (problem,) = twice.problems
    assert twice.is_refused and problem.address == at("bucket", "again")
    assert "managed already, as sandbox:sandbox:sandbox_bucket:equal" in problem.message
    assert "movedFrom" in problem.hint
    assert (await shop.wb("apply", STACK, "--yes")).code == ExitCode.REFUSED
    assert shop.recorded() == {"sandbox_bucket.files", "sandbox_bucket.equal"}


async def test_taking_over_what_would_be_made_anew_is_a_replacement(shop: Shop) -> None:
    shop.put("network", "net-1", name="shop", cidr="10.0.0.0/16", region="east")
    there = {"name": "orders", "engine": "mysql", "size_gb": 20, "network_id": "net-1", "username": "shop"}
    shop.put("database", "orders", **there, version="8", zone="a", address="a.example", port=3306)
    shop.write(NETWORK, database(extensions='{importId = "orders"}'))
    session, stack = shop.select()
    plan = await session.plan(stack)
    replaced = change(plan, at("database", "orders"))
    assert (replaced.action, replaced.import_id) == (Action.REPLACE, "orders")
    assert "engine" in replaced.because and "what exists as orders is deleted" in replaced.because
    assert plan.confirmation.level is Level.PHRASE, "it would lose what is there"
    refused = await shop.wb("apply", STACK, "--yes", "--no-watch")
    assert refused.code == ExitCode.REFUSED and shop.existing("database")["orders"]["engine"] == "mysql"


async def test_a_component_that_is_renamed_is_kept_where_it_says_so_and_else_needs_the_phrase(shop: Shop) -> None:
    session, stack = shop.select()
    others = [bucket(name=each) for each in ("b-1", "b-2", "b-3", "b-4", "b-5")]
    shop.write(*others, bucket(BUCKET))
    await release(session, stack)
    before = shop.done()

    shop.write(*others, bucket(BUCKET, name="papers"))
    plan = await session.plan(stack)
    actions = {each.address.id.name: each.action for each in plan.steps()}
    assert actions == {"papers": Action.CREATE, "files": Action.DELETE}
    assert plan.confirmation.level is Level.PHRASE, "a bucket and what is in it is lost, be it one of many"
    assert (await shop.wb("apply", STACK, "--yes", "--no-watch")).code == ExitCode.REFUSED

    renamed = '{movedFrom = "sandbox:sandbox:sandbox_bucket:files"}'
    shop.write(*others, bucket('name = "files"', BUCKET, name="papers", extensions=renamed))
    plan = await session.plan(stack)
    (step,) = plan.steps()
    assert (step.address, step.action, step.former) == (at("bucket", "papers"), Action.MOVE, FILES.id)
    assert step.fields == () and plan.confirmation.level is Level.YES
    await apply(session, plan)
    assert shop.done() == before, "it is known by another name, and that is all"
    assert "sandbox_bucket.papers" in shop.recorded() and "sandbox_bucket.files" not in shop.recorded()
    assert (await session.plan(stack)).is_empty


async def test_what_was_forgotten_is_taken_over_again_by_the_id_that_was_told(shop: Shop) -> None:
    session, stack = shop.select()
    shop.write(bucket(BUCKET), bucket(name="other"))
    await release(session, stack)
    before = shop.done()

    with pytest.raises(Refused, match="the configuration declares it, so the next plan would create it once more"):
        await session.plan_forget(stack, ["sandbox_bucket/files"])
    shop.write(bucket(name="other"))
    plan, (forgotten,) = await session.plan_forget(stack, ["sandbox_bucket/files"])
    assert [(each.address, each.action) for each in plan.changes if each.action is not Action.NONE] == [
        (FILES, Action.FORGET)
    ]
    assert plan.confirmation.level is Level.PHRASE
    with pytest.raises(EngineError, match="is applied where it is made"):
        session.save_plan(plan, shop.home / "plan")
    await apply(session, plan)
    assert shop.recorded() == {"sandbox_bucket.other"} and shop.done() == before, "nothing was done to it"
    assert (await session.plan(stack)).is_empty

    shop.write(bucket(BUCKET, extensions=f'{{importId = "{forgotten.uid}"}}'), bucket(name="other"))
    taken = await session.plan(stack)
    assert change(taken, FILES).action is Action.IMPORT
    await release(session, stack)
    assert shop.recorded() == {"sandbox_bucket.files", "sandbox_bucket.other"}


async def test_what_is_still_declared_is_forgotten_only_where_that_is_said(shop: Shop) -> None:
    session, stack = shop.select()
    shop.write(bucket(BUCKET), bucket(name="other"))
    await release(session, stack)
    plan, _ = await session.plan_forget(stack, ["sandbox_bucket.files"], still_declared=True)
    await apply(session, plan)
    assert shop.recorded() == {"sandbox_bucket.other"} and "files" in shop.existing("bucket")
    assert change(await session.plan(stack), FILES).action is Action.CREATE
    shop.write(NETWORK, database(), bucket(name="other"))
    await release(session, stack)
    with pytest.raises(Refused, match="sandbox_database:orders needs what is to be forgotten"):
        await session.plan_forget(stack, ["sandbox_network.shop"], still_declared=True)
    shop.write(bucket(name="other"), "this is no KCL")
    with pytest.raises(Refused, match="does not compile"):
        await session.plan_forget(stack, ["sandbox_bucket.other"])
