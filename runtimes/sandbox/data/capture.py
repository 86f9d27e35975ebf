"""Write this package's data files from a running API server.

usage: python -m runtimes.sandbox.data.capture URL TOKEN

The certificate is not checked: this is for a throw-away server on loopback that you started yourself.
Only a server with its built-in kinds alone gives files worth shipping (no custom resource definitions, no extensions).
"""

from __future__ import annotations

import json
import lzma
import pathlib
import ssl
import sys
import urllib.request
from typing import Any

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
HERE = pathlib.Path(__file__).parent


class Source:
    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url.rstrip("/"), token
        self.context = ssl.create_default_context() if url.startswith("https:") else None
        if self.context:
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE

    def get(self, path: str, accept: str = "application/json") -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": accept}
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, context=self.context, timeout=60) as reply:
            return json.load(reply)


def table_columns(source: Source, discovery: dict[str, Any]) -> dict[str, Any]:
    """Column definitions by `group/version/plural`; asked with an empty list."""
    columns = {}
    for group in discovery["core"] + discovery["groups"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            prefix = f"/apis/{name}/{version['version']}" if name else f"/api/{version['version']}"
            for resource in version["resources"]:
                if "list" not in resource["verbs"]:
                    continue
                table = source.get(f"{prefix}/{resource['resource']}?limit=1", TABLE)
                columns[f"{name}/{version['version']}/{resource['resource']}"] = table["columnDefinitions"]
    return columns


def write(name: str, value: Any) -> None:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    (HERE / f"{name}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def main() -> None:
    source = Source(*sys.argv[1:3])
    discovery: dict[str, Any] = {
        "version": source.get("/version"),
        "paths": source.get("/")["paths"],
        "core": source.get("/api", AGGREGATED)["items"],
        "groups": source.get("/apis", AGGREGATED)["items"],
    }
    discovery["columns"] = table_columns(source, discovery)
    write("discovery", discovery)
    index = source.get("/openapi/v3")["paths"]
    write("openapi", {path: source.get(f"/openapi/v3/{path}") for path in sorted(index) if "openid" not in path})
    write("swagger", source.get("/openapi/v2"))


if __name__ == "__main__":
    main()
