"""Functions over references in both places: evaluated once their parts are known, masked with what is inside."""

from __future__ import annotations

import base64
from collections.abc import Collection
from typing import Any

import pytest

from runtimes.base import UNKNOWN, KubernetesId, RuntimeFailure, SecretReference, value_at
from tests.workbench.engine.test_terraform import DB, SETTINGS, change, end, live, of, world
from tests.workbench.engine.world import STACK, config_map, namespace, resource, secret, spec_of
from workbench.engine import values
from workbench.engine.errors import SpecInvalid
from workbench.engine.events import Outcome
from workbench.engine.masking import Masked
from workbench.engine.placement import place
from workbench.engine.secret_references import resolved, uses
from workbench.engine.values import Value

LOGIN = KubernetesId("v1", "Secret", "shop", "login")
AUTH = f'Basic $workbench.base64encode["app:{DB}.password"]'


async def test_a_function_is_unknown_until_its_parts_are_and_then_what_it_makes_of_them() -> None:
    there = world()
    listed = f'$workbench.join[",", ["{DB}.address", "b", "{DB}.port"]]'
    bodies = (
        namespace(),
        config_map("settings", {"hosts": listed, "doc": f"see {listed}!", "fixed": '$workbench.base64encode["x"]'}),
        {**secret("login", {}), "data": {"host": f'$workbench.base64encode["{DB}.address"]'}, "stringData": {
            "pin": '$workbench.join["", ["12", "34"]]'}},
        resource("db"),
    )  # fmt: skip
    plan = await there.plan(*bodies)
    data: Any = value_at(change(plan, "settings").after, ("data",))
    assert (data["hosts"], str(data["doc"]), data["fixed"]) == (UNKNOWN, "see (known after apply)!", "eA==")
    assert end(await there.apply(plan)).outcome is Outcome.SUCCEEDED
    assert live(there, SETTINGS, "data") == {
        "hosts": "db-1.cloud,b,5001", "doc": "see db-1.cloud,b,5001!", "fixed": "eA==",
    }  # fmt: skip
    decoded = {key: base64.b64decode(value) for key, value in live(there, LOGIN, "data").items()}
    assert decoded == {"host": b"db-1.cloud", "pin": b"1234"}
    assert (await there.plan(*bodies)).is_empty


async def test_what_is_made_of_a_secret_is_secret_wherever_it_ends() -> None:
    there = world()
    encoded = base64.b64encode(b"app:canary-77").decode()
    bodies = (
        namespace(),
        resource("db", password="canary-77"),
        resource("copy", note=AUTH),
        config_map("settings", {"auth": AUTH}),
    )
    events = await there.apply(await there.plan(*bodies))
    assert end(events).outcome is Outcome.SUCCEEDED
    assert live(there, SETTINGS, "data", "auth") == f"Basic {encoded}"
    assert next(body for id_, body in of(there).cloud.items() if id_.name == "copy")["note"] == f"Basic {encoded}"
    after = await there.plan(*bodies)
    assert after.is_empty
    assert isinstance(value_at(change(after, "settings").after, ("data", "auth")), Masked)
    assert there.prior is not None
    for said in (repr(after), repr(events), repr([dict(each.attributes) for each in there.prior.resources.values()])):
        assert "canary-77" not in said and encoded not in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('$workbench.nosuch["x"]', "there is no function nosuch"),
        (f'$workbench.base64encode["{DB}x.address"]', "names no resource of this stack"),
        ('x $workbench.base64decode["?"]', "base64decode: the argument is no base64"),
    ],
)
def test_what_is_wrong_whatever_its_references_are_is_found_at_compile_with_its_line(text: str, said: str) -> None:
    with pytest.raises(SpecInvalid, match=said) as refused:
        spec_of(config_map("settings", {"host": text}), resource("db"))
    assert "data.host of v1:ConfigMap:shop:settings" in str(refused.value)
    assert refused.value.where == "/repo/main.k:3"


async def test_what_only_the_values_show_is_a_problem_with_its_line() -> None:
    there = world()
    await there.release(namespace(), resource("db", tags=["a"]))
    wrong = f'$workbench.base64decode["{DB}.tags"]'
    plan = await there.plan(namespace(), resource("db", tags=["a"]), config_map("settings", {"x": wrong}))
    assert plan.is_refused
    assert plan.problems[0].message == "data.x: base64decode: the argument is a list, not a text (/repo/main.k:3)"
    web = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}}
    bad = resource("copy", note='$workbench.base64decode["$kusion_path.v1:Service:shop:web.metadata.name"]')
    plan = await there.plan(namespace(), web, bad)
    (problem,) = plan.problems
    assert problem.message == "note: base64decode: the argument is no base64 of a text (/repo/main.k:3)"


def test_a_secret_stored_elsewhere_is_no_argument() -> None:
    spec = spec_of({**secret("login", {}), "stringData": {"x": '$workbench.base64encode["a:{{ref://env/KEY}}"]'}})
    with pytest.raises(SpecInvalid, match=r"stringData.x of .* gives a secret to a function"):
        uses(spec)


async def test_a_secret_stored_elsewhere_that_looks_like_a_function_is_text() -> None:
    text = '$workbench.nosuch["x"] and $kusion_path.x'

    async def read(references: Collection[SecretReference]) -> dict[SecretReference, str | RuntimeFailure]:
        return dict.fromkeys(references, text)

    spec = spec_of({**secret("login", {}), "stringData": {"x": "{{ref://env/KEY}}!"}})
    placed = place(await resolved(spec, read), STACK, None)
    filled = values.fill(placed.resources[0], values.ids(placed), lambda _: Value(""))
    assert base64.b64decode(filled.resource.attributes["data"]["x"]).decode() == f"{text}!"
