"""Answers that are in no recording, as a real API server of 1.34.3 gave them: codes, words and what is left out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from runtimes.sandbox.server import Sandbox

NS = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
ACCESS, RULES = "SelfSubjectAccessReview", "SelfSubjectRulesReview"
OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"
NO_RESOURCE = "the server could not find the requested resource"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
POD = {"containers": [{"name": "c", "image": "i:1"}], "automountServiceAccountToken": False}
DRY = "dryRun=All"
Answer = tuple[int, Any, str]


def named(kind: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, **rest}


def token(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


def bound(**to: str) -> dict[str, Any]:
    return token(boundObjectRef={"kind": "Pod", "apiVersion": "v1", **to})


def scale(**metadata: str) -> dict[str, Any]:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": 2}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[str]:
    async with Sandbox(tokens={"admin": "t"}, controllers=False, tls=False) as sandbox:
        cluster = sandbox.clusters[0]
        cluster.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
        cluster.create("configmaps", "default", {"metadata": {"name": "c"}, "data": {"k": "v"}})
        cluster.create("pods", "default", {"metadata": {"name": "p"}, "spec": POD})
        template = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        cluster.create("deployments.apps", "default", {"metadata": {"name": "w"}, "spec": spec})
        cluster.create("daemonsets.apps", "default", {"metadata": {"name": "w"}, "spec": spec})
        yield sandbox.urls[0]


async def ask(url: str, method: str, path: str, body: Any = None, accept: str = "", kind: str = "") -> Answer:
    headers = {"Authorization": "Bearer t", "Accept": accept or "application/json"}
    headers |= {"Content-Type": kind or "application/json"} if body is not None else {}
    data = None if body is None else json.dumps(body)
    async with (
        aiohttp.ClientSession() as http,
        http.request(method, url + path, data=data, headers=headers) as reply,
    ):
        text = await reply.text()
        return reply.status, json.loads(text) if text else {}, reply.headers.get("Warning", "")


REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("GET", f"{NS}/configmaps?fieldSelector=%3Dx", None, 400,
     '"" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ("GET", "/api/v1/nodes?fieldSelector=metadata.namespace%3Dx", None, 400,
     "field label not supported: metadata.namespace"),
    ("GET", f"{NS}/events?resourceVersion=99999999999", None, 504, "Timeout: Too large resource version: 99999999999"),
    ("PUT", f"{APPS}/deployments/w/scale?{DRY}", scale(name="w", namespace="q"), 400, OTHER_NAMESPACE),
    ("PUT", f"{APPS}/deployments/w/scale?{DRY}", {}, 400,
     "the name of the object (w based on URL) was undeterminable: name must be provided"),
    ("POST", f"{NS}/pods/p/eviction?{DRY}", {"metadata": {"name": "p", "namespace": "q"}}, 400, OTHER_NAMESPACE),
    ("POST", f"{NS}/serviceaccounts/default/token", bound(name="z"), 404, 'pods "z" not found'),
    ("POST", f"{NS}/serviceaccounts/default/token", bound(name="z", kind="Node"), 404, 'nodes "z" not found'),
    ("POST", f"{NS}/serviceaccounts/default/token", bound(name="z", kind="X"), 400,
     "cannot bind token to object of type /v1, Kind=X"),
    ("POST", f"{NS}/serviceaccounts/default/token", bound(name="p", uid="q"), 409,
     'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (q) does not match the UID in'),
    ("POST", f"{NS}/serviceaccounts/default/token", token(expirationSeconds=10**10), 422,
     'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 10000000000: may not '
     "specify a duration larger than 2^32 seconds"),
    ("POST", f"{NS}/serviceaccounts/nope/token", {**token(), "metadata": {"name": "q"}}, 422,
     'TokenRequest.authentication.k8s.io "nope" is invalid: metadata.name: Invalid value: "q": must match the service'),
    ("POST", f"{NS}/serviceaccounts/nope/token", {"kind": "X"}, 400,
     'X in version "v1" cannot be handled as a TokenRequest: no kind "X" is registered for version'),
    ("GET", f"{NS}/pods/p/log?stream=All", None, 422,
     'PodLogOptions "p" is invalid: stream: Forbidden: may not be specified'),
    ("GET", f"{NS}/pods/p/log?sinceTime=x", None, 400,
     'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
    ("DELETE", f"{NS}/configmaps/c?{DRY}", {"gracePeriodSeconds": "x"}, 500,
     "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"),
    ("DELETE", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x", None, 404, NO_RESOURCE),
    ("DELETE", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", None, 405,
     "the server does not allow this method on the requested resource"),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews?dryRun=x", {}, 422,
     'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All"'),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", named(ACCESS, "x", spec={}), 422,
     '.authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of '
     "nonResourceAttributes or resourceAttributes must be specified, metadata: Invalid value: "
     '{"name":"x"}: must be empty]'),
    ("POST", f"/apis/scheduling.k8s.io/v1/priorityclasses?{DRY}",
     named("PriorityClass", "x", value=1, preemptionPolicy=""), 422,
     'PriorityClass.scheduling.k8s.io "x" is invalid: preemptionPolicy: Required value'),
    ("POST", f"{NS}/pods?{DRY}", {"spec": {**POD, "priorityClassName": "zz"}}, 403,
     'pods "Unknown" is forbidden: no PriorityClass with name zz was found'),
    ("POST", f"{NS}/pods?{DRY}", {"metadata": {"generateName": "g-"}, "spec": {**POD, "priorityClassName": "zz"}}, 403,
     'pods "g-" is forbidden: no PriorityClass with name zz was found'),
    ("POST", f"{NS}/pods?{DRY}",
     named("Pod", "q", spec={"containers": [{"name": "c", "image": "i", "envFrom": [{"secretRef": {}}]}]}), 422,
     'Pod "q" is invalid: spec.containers[0].envFrom[0].secretRef.name: Required value'),
    ("POST", f"/apis/batch/v1/namespaces/default/jobs?{DRY}",
     named("Job", "a.b", spec={"completions": 3, "completionMode": "Indexed",
                               "template": {"spec": {**POD, "restartPolicy": "Never"}}}), 422,
     'Job.batch "a.b" is invalid: metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS '
     "label: a.b-2"),
    ("POST", f"/apis/batch/v1/namespaces/default/jobs?{DRY}", named("Job", "j", spec={"template": "x"}), 400,
     'Job in version "v1" cannot be handled as a Job: json: cannot unmarshal string into Go struct field '
     "JobSpec.spec.template of type v1.PodTemplateSpec"),
]  # fmt: skip


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("method", "path", "body", "code", "message"), REFUSED)
async def test_it_refuses_in_the_server_s_words(
    url: str, method: str, path: str, body: Any, code: int, message: str
) -> None:
    status, answer, _ = await ask(url, method, path, body)
    assert (status, answer["message"][: len(message)]) == (code, message)


PATCHES: list[tuple[str, str, Any, int, str]] = [
    (f"{NS}/configmaps/c", MERGE, {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}, 422,
     'ConfigMap "c" is invalid: metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable'),
    (f"{APPS}/deployments/w", MERGE, {"metadata": {"deletionGracePeriodSeconds": 5}}, 422,
     'Deployment.apps "w" is invalid: metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable'),
    (f"{NS}/configmaps/c", STRATEGIC, {"$setElementOrder/x": ["a"]}, 500,
     'unable to find api field in struct ConfigMap for the json field "x"'),
    (f"{NS}/pods/p", STRATEGIC, {"spec": {"$setElementOrder/nope": ["a"]}}, 500,
     'unable to find api field in struct PodSpec for the json field "nope"'),
]  # fmt: skip


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("path", "kind", "patch", "code", "message"), PATCHES)
async def test_it_refuses_patches_in_the_server_s_words(
    url: str, path: str, kind: str, patch: Any, code: int, message: str
) -> None:
    status, answer, _ = await ask(url, "PATCH", f"{path}?{DRY}", patch, kind=kind)
    assert (status, answer["message"]) == (code, message)


@pytest.mark.asyncio(loop_scope="module")
async def test_lists_have_what_the_server_leaves_in_them(url: str) -> None:
    partial = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    assert (await ask(url, "GET", f"{NS}/secrets", accept=partial))[1]["items"] is None
    assert (await ask(url, "GET", f"{NS}/limitranges", accept=table))[1]["rows"] is None
    assert (await ask(url, "GET", f"{NS}/secrets", accept=table))[1]["rows"] == []
    (daemon_set,) = (await ask(url, "GET", f"{APPS}/daemonsets", accept=partial))[1]["items"]
    assert "annotations" not in daemon_set["metadata"]
    assert len((await ask(url, "GET", f"{NS}/configmaps?fieldSelector=%3D"))[1]["items"]) == 1
    both = (await ask(url, "GET", f"{NS}/configmaps?watch=1&resourceVersionMatch=Exact"))[1]["details"]["causes"]
    assert [each["reason"] for each in both] == ["FieldValueForbidden", "FieldValueNotSupported"]


@pytest.mark.asyncio(loop_scope="module")
async def test_it_warns_of_what_is_sent_in_vain(url: str) -> None:
    asked = {"kind": ACCESS, "spec": {"user": "x", "resourceAttributes": {"verb": "get", "resource": "pods"}}}
    status, answer, warning = await ask(url, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked)
    assert (status, "user" in answer["spec"], warning) == (201, False, '299 - "unknown field \\"spec.user\\""')
    assert not (await ask(url, "GET", f"{NS}/endpoints/x/status"))[2], "what is not there is not deprecated"
    pod = {"metadata": {"name": "q"}, "spec": {**POD, "volumes": [{"name": "w", "projected": {"sources": [{}]}}]}}
    assert "(Projected) has no sources provided" in (await ask(url, "POST", f"{NS}/pods?{DRY}", pod))[2]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_dry_run_creates_with_a_version_and_headless_without_selector_is_of_both_families(url: str) -> None:
    made = {"metadata": {"name": "n", "resourceVersion": "5"}}
    assert (await ask(url, "POST", f"{NS}/configmaps?{DRY}", made))[0] == 201
    assert (await ask(url, "POST", f"{NS}/configmaps", made))[0] == 500
    for asked, policy, families in (
        ({}, "RequireDualStack", ["IPv4", "IPv6"]),
        ({"ipFamilyPolicy": "PreferDualStack"}, "PreferDualStack", ["IPv4", "IPv6"]),
        ({"ipFamilyPolicy": "SingleStack"}, "SingleStack", ["IPv4"]),
        ({"ipFamilies": ["IPv6"]}, "RequireDualStack", ["IPv6", "IPv4"]),
        ({"selector": {"a": "b"}}, "SingleStack", ["IPv4"]),
    ):
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "clusterIP": "None", **asked}}
        spec = (await ask(url, "POST", f"{NS}/services?{DRY}", service))[1]["spec"]
        assert (spec["ipFamilyPolicy"], spec["ipFamilies"]) == (policy, families)


@pytest.mark.parametrize(
    ("accept", "type_"), [("application/yaml", "application/yaml"), ("text/html", "application/json")]
)
@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_not_there_is_told_in_the_form_that_is_accepted(url: str, accept: str, type_: str) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{url}/apis/apps/v9", headers={"Authorization": "Bearer t", "Accept": accept}) as reply,
    ):
        assert (reply.status, reply.content_type) == (404, type_)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_type_with_a_parameter_that_has_no_value_is_unknown(url: str) -> None:
    headers = {"Authorization": "Bearer t", "Content-Type": "application/json;odd"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{url}{NS}/configmaps", data="{}", headers=headers) as reply,
    ):
        assert reply.status == 415
