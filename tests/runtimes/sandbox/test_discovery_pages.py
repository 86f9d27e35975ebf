"""In which forms, and by which methods, the pages of discovery are to be had."""

from __future__ import annotations

import http.client
import urllib.parse
from collections.abc import Iterator

import pytest

from runtimes.sandbox.api.discovery import AGGREGATED, wanted_form
from runtimes.sandbox.errors import ApiError

from .serving import served

BETA = AGGREGATED.replace("v=v2", "v=v2beta1")


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "application/json"),
        (AGGREGATED, AGGREGATED),
        (f"{AGGREGATED},{BETA},application/json", AGGREGATED),
        (f"{BETA},application/json", "application/json"),
    ],
)
def test_the_first_form_that_is_known_is_taken(accept: str, form: str) -> None:
    assert wanted_form(accept) == form


@pytest.mark.parametrize(
    ("accept", "said"),
    [
        (BETA, "only the following media types are accepted: "),
        ("text/html", "406: Not Acceptable\n\nAvailable representations: "),
    ],
)
def test_forms_that_are_not_to_be_had(accept: str, said: str) -> None:
    with pytest.raises(ApiError) as refused:
        wanted_form(accept)
    known = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    assert (refused.value.code, refused.value.message) == (406, said + known)


@pytest.fixture(scope="module")
def connection() -> Iterator[http.client.HTTPConnection]:
    with served(tokens={"admin": "t"}, controllers=False, tls=False) as sandbox:
        url = urllib.parse.urlsplit(sandbox.urls[0])
        made = http.client.HTTPConnection(url.hostname or "", url.port, timeout=10)
        yield made
        made.close()


@pytest.mark.parametrize(
    ("method", "path", "accept", "status", "kind"),
    [
        ("POST", "/apis", "*/*", 200, "application/json"),
        ("OPTIONS", "/apis/apps", "*/*", 200, "application/json"),
        ("POST", "/healthz", "*/*", 200, "text/plain; charset=utf-8"),
        ("GET", "/index.html", "*/*", 200, "application/json"),
        ("POST", "/api", "*/*", 405, "application/json"),
        ("HEAD", "/version", "*/*", 405, "application/json"),
        ("HEAD", "/apis/apps/v1", "*/*", 405, "application/json"),
        ("POST", "/apis/apps/v1beta1", "*/*", 404, "application/json"),
        ("GET", "/apis/apps/v1", "application/yaml", 200, "application/yaml"),
        ("GET", "/api", "application/yaml", 200, "application/yaml"),
        ("GET", "/apis", "application/yaml", 200, "application/yaml"),
        ("GET", "/api", "application/*", 200, "application/json"),
        ("GET", "/api/v1/namespaces/default/pods/%2e%2e", "*/*", 400, "application/json"),
        ("GET", "/api/v1/namespaces/default/pods/a%25b", "*/*", 400, "application/json"),
        ("GET", "/api/v1/namespaces/default/pods/a%2fb", "*/*", 404, "application/json"),
        ("GET", "/apis/none.example/v1", "text/html", 404, "text/plain; charset=utf-8"),
    ],
)
def test_pages_are_had_by_the_methods_that_a_real_server_lets(
    connection: http.client.HTTPConnection, method: str, path: str, accept: str, status: int, kind: str
) -> None:
    connection.request(method, path, headers={"Authorization": "Bearer t", "Accept": accept})
    answer = connection.getresponse()
    answer.read()
    assert (answer.status, answer.headers["Content-Type"]) == (status, kind)


def test_a_page_in_yaml_says_twice_what_is_there_twice(connection: http.client.HTTPConnection) -> None:
    connection.request("GET", "/apis/apps", headers={"Authorization": "Bearer t", "Accept": "application/yaml"})
    text = connection.getresponse().read().decode()
    assert text.count("groupVersion: apps/v1") == 2 and "&" not in text
