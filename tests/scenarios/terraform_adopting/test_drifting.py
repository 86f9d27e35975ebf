"""What somebody changed behind terraform's back, and what `lifecycle` keeps: told before anything is written."""

from __future__ import annotations

import json

import pytest

from runtimes.base import format_path
from tests.scenarios.terraform.orders import change, release
from tests.scenarios.terraform_adopting.shop import NETWORK, OTHER_PASSWORD, STACK, Shop, at, bucket, database
from workbench.engine.changes import ChangeClass, Op
from workbench.engine.events import Action
from workbench.engine.masking import Masked
from workbench.exit_codes import ExitCode

pytestmark = pytest.mark.slow

FILES, ORDERS = at("bucket", "files"), at("database", "orders")
KEPT_TAGS = '{lifecycle = {ignore_changes = ["tags"]}}'


async def test_drift_is_told_with_what_was_recorded_and_found(shop: Shop) -> None:
    shop.write(NETWORK, database(), bucket("versioning = True", extensions=KEPT_TAGS))
    session, stack = shop.select()
    await release(session, stack)
    shop.put("database", "orders", size_gb=40, version="99", password={"digest": "bob's", "length": 9})
    shop.put("bucket", "files", versioning=False, tags={"who": "bob"})

    plan = await session.plan(stack)
    fields = {(each.address.id.name, format_path(field.path)): field for each in plan.steps() for field in each.fields}
    size = fields["orders", "size_gb"]
    assert (size.class_, size.recorded, size.before, size.after) == (ChangeClass.DRIFT, 20, 40, 20)
    versioning = fields["files", "versioning"]
    assert (versioning.recorded, versioning.before, versioning.after) == (True, False, True)
    tags = fields["files", "tags"]
    assert (tags.op, tags.before, tags.after) == (Op.KEPT, {"who": "bob"}, {"who": "bob"}), "ignored, so kept"
    version = fields["orders", "version"]
    assert (version.op, version.before) == (Op.KEPT, "99") and version.recorded not in (None, "99")
    password = fields["orders", "password"]
    assert password.class_ is ChangeClass.DRIFT and password.is_masked
    assert isinstance(password.recorded, Masked) and isinstance(password.after, Masked)
    assert shop.existing("database")["orders"]["size_gb"] == 40, "looking at drift does not repair it"

    shop.write(
        NETWORK,
        database(password=OTHER_PASSWORD).replace("size_gb = 20", "size_gb = 40"),
        bucket("versioning = True", extensions=KEPT_TAGS),
    )
    told = await shop.wb("diff", STACK, "-o", "json")
    (document,) = [each for each in json.loads(told.out)["changes"] if each["id"] == str(ORDERS.id)]
    size_told = next(each for each in document["fields"] if each["path"] == "size_gb")
    assert (size_told["op"], size_told["recorded"], size_told["after"]) == ("!", 20, 40)
    assert "canary" not in told.text
    said = (await shop.wb("diff", STACK)).out
    assert "the last apply left it as 20" in said and "canary" not in said
    await release(session, stack)
    assert shop.existing("bucket")["files"] == {
        "name": "files",
        "versioning": True,
        "tags": {"who": "bob"},
        "url": "https://files.bucket.sandbox.example",
    }


async def test_what_is_to_be_kept_is_not_replaced_and_the_line_that_says_so_is_named(shop: Shop) -> None:
    shop.write(NETWORK, database())
    session, stack = shop.select()
    await release(session, stack)

    kept = "{\n    lifecycle = {\n        prevent_destroy = True\n    }\n}"
    shop.write(NETWORK, database(extensions=kept).replace('"postgres"', '"mysql"'))
    plan = await session.plan(stack)
    (problem,) = plan.problems
    assert plan.is_refused and problem.address == ORDERS
    assert problem.message.startswith("extensions.lifecycle.prevent_destroy: it is kept from being destroyed")
    assert problem.source[0].relative_to(shop.root) == shop.place("prevent_destroy")
    assert (await shop.wb("apply", STACK, "--confirm", STACK)).code == ExitCode.REFUSED

    first = "{lifecycle = {create_before_destroy = True}}"
    shop.write(NETWORK, database(extensions=first).replace('"postgres"', '"mysql"'))
    replaced = change(await session.plan(stack), ORDERS)
    assert replaced.action is Action.REPLACE
    assert replaced.because == "engine cannot be changed in place; the new one is made before the old one goes"
    assert [operation for operation, _ in shop.done()] == ["create", "create"]
