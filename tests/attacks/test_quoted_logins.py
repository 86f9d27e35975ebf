"""A server, or a proxy before it, that quotes what it was sent: no message has the user's token or password in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web

from runtimes.base import RuntimeFailure
from runtimes.kubernetes.client import Client
from runtimes.kubernetes.discovery import ApiResource
from runtimes.kubernetes.kubeconfig import Kubeconfig
from runtimes.kubernetes.transport import Limits, Transport
from tests.attacks.test_connections import Answer, serving

SECRET = "Canary/of+a-login Zq"
USERS: dict[str, dict[str, Any]] = {
    "token": {"token": SECRET.replace(" ", "-")},
    "password": {"username": "ann", "password": SECRET},
}
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "as the header": lambda text: f"Authorization: Bearer {text}",
    "in base64": lambda text: base64.b64encode(f"ann:{text}".encode()).decode(),
    "in JSON": lambda text: json.dumps({"headers": json.dumps({"a": text})}),
    "in an address": lambda text: f"/login?next={quote(text, safe='')}",
}
STATUS: dict[str, Callable[[str], Any]] = {
    "message": lambda said: {"kind": "Status", "message": f"denied, you sent {said}"},
    "reason": lambda said: {"kind": "Status", "message": "denied", "reason": said},
    "cause": lambda said: {
        "kind": "Status",
        "message": "denied",
        "details": {
            "causes": [{"field": said, "message": f'Invalid value: "{said}": no', "reason": "FieldValueInvalid"}]
        },
    },
    "no status": lambda said: [said],
}
PODS = ApiResource("v1", "Pod", "pods", True, frozenset({"watch"}))
CODES = (400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504)


def transport(folder: Path, server: str, user: dict[str, Any]) -> Transport:
    content = {
        "current-context": "main",
        "clusters": [{"name": "main", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": user}],
        "contexts": [{"name": "main", "context": {"cluster": "main", "user": "me"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(content))
    limits = Limits(answer_seconds=5, patience_seconds=0)
    return Transport(Kubeconfig([path]).connection(), place="hz", limits=limits)


def quoting(made: Callable[[str, web.BaseRequest], web.StreamResponse]) -> Answer:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        kind, _, sent = request.headers["Authorization"].partition(" ")
        return made(base64.b64decode(sent).decode().partition(":")[2] if kind == "Basic" else sent, request)

    return answer


def shown(failure: RuntimeFailure) -> str:
    return json.dumps(
        [str(failure), repr(failure), failure.hint, getattr(failure, "causes", ""), vars(failure)], default=str
    )


def leaks(said: str) -> bool:
    tail = SECRET.partition(" ")[0]
    encoded = [
        base64.b64encode(b"ann:" + each["token" if "token" in each else "password"].encode()).decode()
        for each in USERS.values()
    ]
    return any(each in said for each in (tail, quote(tail, safe=""), *encoded))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", [*STATUS, "text"])
async def test_no_refusal_repeats_a_login(tmp_path: Path, form: str, place: str) -> None:
    def refused(sent: str, request: web.BaseRequest) -> web.StreamResponse:
        said = FORMS[form](sent)
        body = said if place == "text" else json.dumps(STATUS[place](said))
        kind = "text/plain" if place == "text" else "application/json"
        return web.Response(status=int(request.path.rpartition("/")[2]), text=body, content_type=kind)

    leaking = []
    async with serving(quoting(refused)) as (server, _):
        for who, user in USERS.items():
            asked = transport(tmp_path, server, user)
            for code in CODES:
                with pytest.raises(RuntimeFailure) as caught:
                    await asked.call("PATCH", f"/api/v1/namespaces/{code}", body={}, is_once=True)
                leaking += [f"{who} {code}"] if leaks(shown(caught.value)) else []
            await asked.close()
    assert leaking == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("who", USERS)
async def test_no_warning_repeats_a_login(tmp_path: Path, form: str, who: str) -> None:
    def warned(sent: str, _: web.BaseRequest) -> web.StreamResponse:
        said = json.dumps(FORMS[form](sent))
        return web.Response(status=200, text="{}", headers={"Warning": f"299 - {said}"})

    async with serving(quoting(warned)) as (server, _):
        asked = transport(tmp_path, server, USERS[who])
        reply = await asked.call("GET", "/api/v1/namespaces/a")
        await asked.close()
    assert reply.warnings and not leaks(json.dumps(reply.warnings))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("who", USERS)
async def test_no_watch_repeats_a_login(tmp_path: Path, form: str, who: str) -> None:
    def ended(sent: str, _: web.BaseRequest) -> web.StreamResponse:
        status = {"kind": "Status", "code": 500, "message": f"lost, you sent {FORMS[form](sent)}"}
        return web.Response(status=200, text=json.dumps({"type": "ERROR", "object": status}) + "\n")

    async with serving(quoting(ended)) as (server, _):
        asked = transport(tmp_path, server, USERS[who])
        with pytest.raises(RuntimeFailure) as caught:
            async with Client(asked).watch(PODS, "", "1", seconds=5) as events:
                [each async for each in events]
        await asked.close()
    assert not leaks(shown(caught.value))
