"""Exchanges of the project's own with a real API server 1.34.3, beside those of the conformance data: same answers.

A scenario in `exchanges/` is a list of requests with what the real server replied: its code, its headers that say
something, its body or text. It runs in a namespace of its own, which the file calls `$NS`. What differs from run to run
(uids, versions, times) has the same word on both sides.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from .serving import served

FOLDER = Path(__file__).with_name("exchanges")
TOKENS = {"admin": "t-admin", "viewer": "t-viewer"}
SCENARIOS: list[dict[str, Any]] = [
    scenario
    for path in sorted(FOLDER.glob("*.yaml"))
    for scenario in yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
]
NAMES = [scenario["scenario"] for scenario in SCENARIOS]
SAME_IN_EACH_RUN = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r'(resourceVersion\\*"?: ?\\*")\d+', r"\1<rv>"),
    (r"(?<=ResourceVersion in record \()\d+", "<rv>"),
    (r'"\d+s"', '"<age>"'),
)


def normalised(value: Any, namespace: str) -> Any:
    """The value with what a run made up replaced."""
    text = json.dumps(_unmanaged(value), sort_keys=True).replace(namespace, "$NS")
    for pattern, word in SAME_IN_EACH_RUN:
        text = re.sub(pattern, word, text)
    return json.loads(text)


def _unmanaged(value: Any) -> Any:
    """Without the managers of fields, which other recordings are about."""
    if isinstance(value, dict):
        return {name: _unmanaged(each) for name, each in value.items() if name != "managedFields"}
    return [_unmanaged(each) for each in value] if isinstance(value, list) else value


def sent(url: str, namespace: str, request: dict[str, Any], tokens: dict[str, str], tls: Any = None) -> dict[str, Any]:
    """The reply to a request, normalised: code, type, warnings, and body or text."""
    request = json.loads(json.dumps(request).replace("$NS", namespace))
    headers = {"Accept": "application/json", "Content-Type": "application/json", **request.get("headers", {})}
    if request.get("user") != "nobody":
        headers["Authorization"] = f"Bearer {tokens[request.get('user', 'admin')]}"
    data: str | None = (
        request["text"] if "text" in request else json.dumps(request["body"]) if "body" in request else None
    )
    target = f"{url}{request['path']}?{urllib.parse.urlencode(request.get('query', {}))}".rstrip("?")
    asked = urllib.request.Request(target, data.encode() if data else None, headers, method=request["method"])
    try:
        with urllib.request.urlopen(asked, timeout=30, context=tls) as reply:
            status, told, text = reply.status, reply.headers, reply.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            status, told, text = refused.code, refused.headers, refused.read().decode()
    got: dict[str, Any] = {"status": status, "type": told.get("Content-Type", "")}
    if "Warning" in told:
        got["warnings"] = told.get_all("Warning")
    got["body"] = json.loads(text) if got["type"].startswith("application/json") and text else text
    told_as: dict[str, Any] = normalised(got, namespace)
    return told_as


def played(url: str, namespace: str, scenario: dict[str, Any], tokens: dict[str, str], tls: Any = None) -> list[Any]:
    """The replies to the scenario's requests, in a new namespace with the account that Pods need."""
    beneath = f"/api/v1/namespaces/{namespace}"
    for path, name in (("/api/v1/namespaces", namespace), (f"{beneath}/serviceaccounts", "default")):
        made = {"method": "POST", "path": path, "body": {"metadata": {"name": name}}}
        assert sent(url, namespace, made, tokens, tls)["status"] == 201
    return [sent(url, namespace, step["request"], tokens, tls) for step in scenario["steps"]]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(tokens=TOKENS, controllers=False, tls=False) as sandbox:
        yield sandbox.urls[0]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
def test_the_sandbox_answers_as_a_real_server_did(scenario: dict[str, Any], url: str) -> None:
    replies = played(url, f"ns-{NAMES.index(scenario['scenario'])}-x", scenario, TOKENS)
    for step, got in zip(scenario["steps"], replies, strict=True):
        assert got == step["response"], json.dumps(step["request"])
