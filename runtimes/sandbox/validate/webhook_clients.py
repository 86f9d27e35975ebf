"""Where a webhook is: of admission and of the conversion of a definition, by the same rules of a server.

(https://github.com/kubernetes/apiserver, pkg/util/webhook/validation.go)
"""

from __future__ import annotations

import urllib.parse

from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes, Object

_FORM = "; desired format: https://host[/path]"


def client_config(causes: Causes, client: Object, path: str) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        causes.required(path, "exactly one of url or service is required")
    elif url is not None:
        _url(causes, url, f"{path}.url")
    elif service is not None:
        _service(causes, service, f"{path}.service")


def _url(causes: Causes, url: str, path: str) -> None:
    parts = urllib.parse.urlsplit(url)
    host, user = parts.netloc.rpartition("@")[2], parts.netloc.rpartition("@")[0]
    if parts.scheme != "https":
        causes.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        causes.invalid(path, host, f"host must be specified{_FORM}")
    if user:
        causes.invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        causes.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        causes.invalid(path, parts.query, "query parameters are not permitted in the URL")


def _service(causes: Causes, service: Object, path: str) -> None:
    for field in ("name", "namespace"):
        # the server itself takes one for the other
        if not service.get("namespace" if field == "name" else "name"):
            causes.required(f"{path}.{field}")
    port = service.get("port", 443)
    wrong = names.port_number(port)
    if wrong:
        causes.invalid(f"{path}.port", port, f"port is not valid: {', '.join(wrong)}")
    target = service.get("path")
    if not target or target == "/":
        return
    if target == "//":
        causes.invalid(f"{path}.path", target, "segment[0] may not be empty")
        return
    if not target.startswith("/"):
        causes.invalid(f"{path}.path", target, "must start with a '/'")
    for index, step in enumerate(target[1:].removesuffix("/").split("/")):
        if not step:
            causes.invalid(f"{path}.path", target, f"segment[{index}] may not be empty")
            continue
        causes.invalid_each(f"{path}.path", target, (f"segment[{index}]: {each}" for each in names.subdomain(step)))
