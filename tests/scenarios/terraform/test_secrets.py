"""Canary secrets go through everything, faults included, and stand in clear nowhere but in terraform's own state."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import traceback
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from runtimes.base import RuntimeFailure
from tests.needles import Needles
from tests.scenarios.terraform.orders import ALL_THERE, NAMESPACE, STACK, Orders, apply, ended
from tests.sizes import is_soak
from workbench.engine.compiled import CompileInputs
from workbench.engine.errors import EngineError
from workbench.exit_codes import ExitCode

pytestmark = pytest.mark.slow

CANARIES = {
    "orders_password": "canary-Ke7+/v3==password",
    "parcel_key": "canary-Xw2+/q9==parcel",
    "world_token": "canary-Bn5-world-token",
}
_STARTED = ("trust", "apply")
"""What is a process of its own, in the short form too; what it starts itself is one always."""
STATE = ("terraform.tfstate", "terraform.tfstate.backup", "terraform.tfstate.last")


def forms(secret: str) -> set[bytes]:
    """Returns the secret as it may be written: as it is, in URLs, in JSON, and in base64 at any place of a text."""
    found = {
        secret.encode(),
        quote(secret).encode(),
        quote(secret, safe="").encode(),
        json.dumps(secret)[1:-1].encode(),
    }
    for shift in range(3):
        encoded = base64.b64encode(b"x" * shift + secret.encode())
        # what neighbours decide of the first and last group is left out
        inner = encoded[(0, 4, 4)[shift] : len(encoded) - 4]
        found |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    return found


FORMS = {name: forms(secret) for name, secret in CANARIES.items()}
NEEDLES = Needles(each for written in FORMS.values() for each in written)


def leaks(content: bytes) -> list[str]:
    if not NEEDLES.are_in(content):
        return []
    return [name for name, written in FORMS.items() if any(each in content for each in written)]


def files(folder: Path, but: Iterable[Path]) -> dict[str, list[str]]:
    """Returns what the files of a folder give away, terraform's state and `but` excepted."""
    excluded = set(but)
    return {
        str(path): found
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path.name not in STATE and path not in excluded
        if (found := leaks(path.read_bytes()))
    }


@asynccontextmanager
async def watching_arguments() -> AsyncIterator[set[str]]:
    """Looks at the arguments of all processes while it lasts; yields what they gave away."""
    seen: set[str] = set()

    async def look() -> None:
        while True:
            seen.update(leaks(_arguments()))
            await asyncio.sleep(0.1)

    task = asyncio.create_task(look())
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _arguments() -> bytes:
    """Returns the arguments of all processes of the machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found.append(path.read_bytes())
    return b"\n".join(found)


def test_the_forms_find_what_they_should() -> None:
    secret = CANARIES["orders_password"]
    for text in (secret, f"postgres://orders:{quote(secret, safe='')}@host"):
        assert leaks(text.encode()) == ["orders_password"]
    for before in ("", "a", "ab", "postgres://orders:"):
        assert leaks(base64.b64encode(f"{before}{secret}@host:5432".encode())) == ["orders_password"]
    assert not leaks(b"canary")


def secret_world(orders: Orders) -> Path:
    """Makes the place of the world a secret; returns it. The practice provider has no setting that is one by itself."""
    backend = orders.root / "models/backend/cloud_backend.k"
    text = backend.read_text()
    world = orders.home / f"{CANARIES['world_token']}.json"
    world.write_text("{}")
    meta = f'providerMeta = {{world = "{orders.home}/" + option("world_token", default="world") + ".json"}}'
    old = "extensions = {provider = PROVIDER, resourceType = rented.kind}"
    assert old in text
    backend.write_text(text.replace(old, old[:-1] + f", {meta}}}"))
    return world


async def test_secrets_stand_nowhere_in_clear(fresh_orders: Orders) -> None:
    orders = fresh_orders  # all that is kept is looked at
    world = secret_world(orders)
    given = orders.home / "given.yaml"
    given.write_text(json.dumps({"kcl_options": [{"key": key, "value": value} for key, value in CANARIES.items()]}))
    orders.world_path = world
    options = ("-Y", str(given))

    said: list[bytes] = []

    async def wb(*arguments: str, code: int | None = None) -> None:
        if is_soak() or arguments[0] in _STARTED:  # whose arguments are looked at
            end = await ended(await orders.start(*arguments, *options))
        else:
            end = await orders.wb(*arguments, *options)
        said.append(end.text.encode())
        assert "Traceback" not in end.text, arguments
        assert code is None or end.code == code, (arguments, end.code, end.err)

    def nothing_left(when: str) -> None:
        assert not (found := files(orders.home, [given])), f"{when}: {found}"

    saved = orders.home / "saved.plan"
    password = CANARIES["orders_password"]
    async with watching_arguments() as in_arguments:
        await wb("trust", "provider", STACK, code=ExitCode.OK)  # where the world is is a setting that leads somewhere
        await wb("plan", STACK, "--out", str(saved), code=ExitCode.OK)
        await wb("plan", STACK, "-o", "json", code=ExitCode.OK)
        nothing_left("after a plan")

        with orders.world.change() as content:
            quotes = f"{password} is no good, nor is {quote(password, safe='')}"
            content.faults = [{"operation": "create", "id": "reports-dev", "error": quotes, "times": 1}]
        await wb("apply", str(saved), "--yes", "--no-watch", code=ExitCode.PARTIAL)
        orders.order()
        nothing_left("after a failed apply that was answered with the password")

        if is_soak():
            orders.order({"operation": "create", "id": "reports-dev", "crash": "after", "times": 1})
            await wb("apply", STACK, "--yes", "--no-watch")
            nothing_left("after a crash")
        await wb("apply", STACK, "--yes", "--no-watch", code=ExitCode.OK)
        assert orders.counts() == ALL_THERE
        nothing_left("after an apply")

        for words in (["diff", STACK], ["state", "list", STACK], ["state", "show", STACK, "sandbox_database/orders"]):
            for output in ([], ["-o", "json"]) if is_soak() else (["-o", "json"],):
                await wb(*words, *output)
        await wb("release", "list", STACK.partition(" ")[0])
        await wb("audit")
        world.chmod(0o644)
        text = world.read_text()
        world.write_text("[")
        await wb("plan", STACK)  # the provider's message names the file
        world.write_text(text)
        nothing_left("after the provider could not read its world")
        if is_soak():
            said.append((await library(orders)).encode())
        await wb("destroy", STACK, "--confirm", STACK, code=ExitCode.OK)
    nothing_left("at the end")
    assert not in_arguments
    assert not [(index, leaks(each)) for index, each in enumerate(said) if leaks(each)], said


async def library(orders: Orders) -> str:
    """Returns all that plans, events and failures say of themselves, applied and refused."""
    session = orders.session()
    stack = session.select(STACK)
    shown: list[object] = []
    inputs = CompileInputs(dict(CANARIES))
    secret = orders.live("secrets", NAMESPACE, "orders-api-secrets")["data"]["DATABASE_URL"]
    assert CANARIES["orders_password"] in base64.b64decode(secret).decode(), "it did arrive"
    changed = {**CANARIES, "orders_password": f"{CANARIES['orders_password']}-2"}
    plan = await session.plan(stack, CompileInputs(changed))
    shown += [plan, plan.changes, [each.fields for each in plan.changes], [each.before for each in plan.changes]]
    orders.order({"operation": "update", "error": f"not {changed['orders_password']}", "times": 1})
    shown += await apply(session, plan)
    orders.order()
    shown += [await session.plan(stack, inputs), session.releases(stack)]
    for broken in ("short", "short-too"):
        try:
            found = await session.plan(stack, CompileInputs({**CANARIES, "orders_password": broken}))
            shown.append((found, found.problems))
            await apply(session, found)
        except (EngineError, RuntimeFailure) as error:
            shown.append("".join(traceback.format_exception(error)))
    shown += await apply(session, await session.plan(stack, inputs))
    return "\n".join(f"{each!r} {each}" for each in shown)
