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


def storage_hashes(source: Source, discovery: dict[str, Any]) -> dict[str, str]:
    """The storageVersionHash by `group/version/plural`; kinds that are not stored have none."""
    hashes = {}
    for group in discovery["core"] + discovery["groups"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            text = f"{name}/{version['version']}"
            for each in source.get(f"/apis/{text}" if name else f"/api/{version['version']}")["resources"]:
                if "storageVersionHash" in each:
                    hashes[f"{text}/{each['name']}"] = each["storageVersionHash"]
    return hashes


# what a server makes for itself, by path of its list
_BOOTSTRAP = (
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "/apis/apiregistration.k8s.io/v1/apiservices",
    "/apis/networking.k8s.io/v1/servicecidrs",
    "/api/v1/namespaces/default/services",
)
_UNIQUE = ("uid", "resourceVersion", "creationTimestamp", "managedFields")


def bootstrap(source: Source) -> list[dict[str, Any]]:
    """`{resource: [group, plural], object}` without what differs from cluster to cluster."""
    found = []
    for path in _BOOTSTRAP:
        listed = source.get(path)
        group, _, _ = listed["apiVersion"].rpartition("/")
        for item in listed["items"]:
            metadata = {key: value for key, value in item["metadata"].items() if key not in _UNIQUE}
            head = {"apiVersion": listed["apiVersion"], "kind": listed["kind"].removesuffix("List")}
            found.append({"resource": [group, path.rpartition("/")[2]], "object": head | item | {"metadata": metadata}})
    return found


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
    discovery["hashes"] = storage_hashes(source, discovery)
    write("discovery", discovery)
    write("bootstrap", bootstrap(source))
    index = source.get("/openapi/v3")["paths"]
    write("openapi", {path: source.get(f"/openapi/v3/{path}") for path in sorted(index) if "openid" not in path})
    write("swagger", source.get("/openapi/v2"))


if __name__ == "__main__":
    main()
