"""A real API server as the oracle: definitions are created there, objects sent as a dry run, with strict fields.

`KONFIG_WORKBENCH_API_SERVER` names a kubeconfig with a token. Definitions are left behind: the cluster is one to throw
away.
"""

from __future__ import annotations

import json
import os
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

VARIABLE = "KONFIG_WORKBENCH_API_SERVER"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: dict[str, Any]

    @property
    def is_accepted(self) -> bool:
        return self.status < 300

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))

    @property
    def causes(self) -> list[str]:
        """What is wrong, one by one."""
        details = self.body.get("details") or {}
        return [str(each.get("message", "")) for each in details.get("causes") or ()]


class ApiServer:
    """Requests of JSON to one server."""

    def __init__(self, kubeconfig: str) -> None:
        with open(kubeconfig, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._server = cluster["server"]
        self._headers = {"Authorization": f"Bearer {user['token']}", "Content-Type": "application/json"}
        self._context = ssl.create_default_context(cafile=cluster["certificate-authority"])

    def request(self, method: str, path: str, body: Any = None) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._server}{path}", data, self._headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=30) as answer:
                return Answer(answer.status, json.load(answer))
        except urllib.error.HTTPError as problem:
            text = problem.read().decode()
            return Answer(problem.code, json.loads(text) if text.startswith("{") else {"message": text})

    def define(self, definition: dict[str, Any]) -> str:
        """Creates a definition and waits until it is served; "" or why it is refused."""
        definition = expendable(definition)
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        name = definition["metadata"]["name"]
        answer = self.request("POST", path, definition)
        if answer.status == 409:  # another version of it was published, or this one was created by another run
            self.request("DELETE", f"{path}/{name}")
            while self.request("GET", f"{path}/{name}").status != 404:
                time.sleep(0.1)
            answer = self.request("POST", path, definition)
        if not answer.is_accepted:
            return answer.message
        for _ in range(100):
            conditions = self.request("GET", f"{path}/{name}").body.get("status", {}).get("conditions") or []
            if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
                version = definition["spec"]["versions"][0]["name"]
                while self.request("GET", self._path(definition, version)).status == 404:
                    time.sleep(0.1)
                return ""
            time.sleep(0.1)
        return f"{name} is not served after 10 seconds"

    def path_of(self, version: str, kind: str) -> str:
        """Where objects of a kind that is served are created."""
        root = "/api/v1" if version == "v1" else f"/apis/{version}"
        for each in self.request("GET", root).body["resources"]:
            if each["kind"] == kind and "/" not in each["name"]:
                return f"{root}/{'namespaces/default/' if each['namespaced'] else ''}{each['name']}"
        raise AssertionError(f"{version} {kind} is not served")

    def create(self, definition: dict[str, Any], version: str, content: dict[str, Any]) -> Answer:
        """What the server says of an object; nothing is kept."""
        spec = definition["spec"]
        body = {
            "apiVersion": f"{spec['group']}/{version}",
            "kind": spec["names"]["kind"],
            "metadata": {"name": "x"},
            **content,
        }
        return self.request("POST", f"{self._path(definition, version)}?dryRun=All&fieldValidation=Strict", body)

    def _path(self, definition: dict[str, Any], version: str) -> str:
        spec = definition["spec"]
        namespace = "namespaces/default/" if spec.get("scope", "Namespaced") == "Namespaced" else ""
        return f"/apis/{spec['group']}/{version}/{namespace}{spec['names']['plural']}"


def expendable(definition: dict[str, Any]) -> dict[str, Any]:
    """The definition as a server without its operator takes it: no webhooks, and groups of k8s.io approved."""
    spec = {name: each for name, each in definition["spec"].items() if name != "conversion"}
    metadata = {
        "name": f"{spec['names']['plural']}.{spec['group']}",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"},
    }
    spec["versions"] = [{**each, "served": True} for each in spec["versions"]]
    return {"apiVersion": definition["apiVersion"], "kind": definition["kind"], "metadata": metadata, "spec": spec}


def api_server() -> ApiServer:
    """The server; skips the test where none is named."""
    path = os.environ.get(VARIABLE)
    if not path:
        pytest.skip(f"no API server: {VARIABLE} names the kubeconfig of one to throw away")
    return ApiServer(path)
