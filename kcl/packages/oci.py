"""Packages in OCI registries, through oras, which is imported only when a registry is asked for.

A package is an image manifest with one layer, a tar file; its annotations tell name, version and checksum, as the
official tool writes them.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kcl.packages.archive import MOST_BYTES
from kcl.packages.failure import PackageFailure, without_credentials
from kcl.patterns import pattern
from kcl.records import dataclass

LAYER_TYPE: Final = "application/vnd.oci.image.layer.v1.tar"
_MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
_ANY_MANIFEST: Final = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        _MANIFEST_TYPE,
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_DIGEST: Final = pattern("sha256:[0-9a-f]{64}").fullmatch
_TITLE: Final = "org.opencontainers.image.title"
CREATED: Final = "org.opencontainers.image.created"
NAME: Final = "org.kcllang.package.name"
VERSION: Final = "org.kcllang.package.version"
DESCRIPTION: Final = "org.kcllang.package.description"
SUM: Final = "org.kcllang.package.sum"
_TIMEOUT_SECONDS: Final = 60
_CHUNK: Final = 1024 * 1024
_LOOPBACK: Final = ("localhost", "127.", "[::1]")


@dataclass(frozen=True, slots=True)
class Artifact:
    """A published package."""

    data: bytes
    """The tar file."""
    annotations: Mapping[str, str]


class Registry:
    """One registry. Credentials are those docker and oras keep (`~/.docker/config.json`)."""

    def __init__(self, host: str, environment: Mapping[str, str]) -> None:
        """Plain HTTP is spoken with this machine, and where `OCI_REG_PLAIN_HTTP` says `on`."""
        self._host = host
        plain = host.startswith(_LOOPBACK) or environment.get("OCI_REG_PLAIN_HTTP", "").lower() in ("on", "true", "1")
        self._client = _client(plain)

    def tags(self, repository: str) -> list[str]:
        """Raises PackageFailure when the repository is not there."""
        container = self._container(repository, "latest")
        self._client.auth.load_configs(container)
        return [str(tag) for tag in self._asked(f"list the versions of {repository}", self._client.get_tags, container)]

    def has(self, repository: str, tag: str) -> bool:
        """Whether that version is there. Raises PackageFailure when the registry does not say."""
        container = self._container(repository, tag)
        self._client.auth.load_configs(container)
        url = f"{self._client.prefix}://{container.manifest_url()}"
        what = f"look for {self._host}/{repository}:{tag}"
        response = self._asked(what, self._client.do_request, url, "HEAD", None, {"Accept": _MANIFEST_TYPE})
        if response.status_code != 404:
            _check(response, what)
        return bool(response.status_code != 404)

    def digest(self, repository: str, tag: str) -> str:
        """The digest of what a tag stands for now. Raises PackageFailure when the registry does not say."""
        container = self._container(repository, tag)
        self._client.auth.load_configs(container)
        url = f"{self._client.prefix}://{container.manifest_url()}"
        what = f"look for {self._host}/{repository}:{tag}"
        response = self._asked(what, self._client.do_request, url, "HEAD", None, {"Accept": _ANY_MANIFEST})
        _check(response, what)
        digest = str(response.headers.get("Docker-Content-Digest") or "")
        if not _DIGEST(digest):
            raise PackageFailure(f"cannot {what}: the registry names no digest of it")
        return digest

    def pull(self, repository: str, tag: str) -> Artifact:
        """Raises PackageFailure when it is not there, is no package, or is not what its digest says."""
        what = f"get {self._host}/{repository}:{tag}"
        container = self._container(repository, tag)
        manifest = self._asked(what, self._client.get_manifest, container)
        layer = _layer(manifest, what)
        data = self._asked(what, self._blob, container, layer)
        annotations = manifest.get("annotations") or {}
        return Artifact(data, {str(key): str(value) for key, value in annotations.items()})

    def push(self, repository: str, tag: str, title: str, artifact: Artifact) -> None:
        """Publishes the package. Raises PackageFailure."""
        what = f"publish {self._host}/{repository}:{tag}"
        container = self._container(repository, tag)
        self._client.auth.load_configs(container)
        config = self._upload(what, container, b"{}", LAYER_TYPE)
        layer = {**self._upload(what, container, artifact.data, LAYER_TYPE), "annotations": {_TITLE: title}}
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST_TYPE,
            "config": config,
            "layers": [layer],
            "annotations": dict(artifact.annotations),
        }
        response = self._asked(what, self._client.upload_manifest, manifest, container)
        _check(response, what)

    def _container(self, repository: str, tag: str) -> Any:
        from oras.container import Container

        try:
            return Container(f"{self._host}/{repository}:{tag}")
        except ValueError as problem:
            raise PackageFailure(f"'{self._host}/{repository}:{tag}' is no address of a package: {problem}") from None

    def _upload(self, what: str, container: Any, data: bytes, media_type: str) -> dict[str, Any]:
        descriptor = {
            "mediaType": media_type,
            "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            "size": len(data),
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "blob")
            path.write_bytes(data)
            _check(self._asked(what, self._client.upload_blob, str(path), container, descriptor), what)
        return descriptor

    def _blob(self, container: Any, layer: Mapping[str, Any]) -> bytes:
        digest = str(layer["digest"])
        response = self._client.get_blob(container, digest, stream=True)
        _check(response, f"get {digest}")
        parts, total = [], 0
        for chunk in response.iter_content(_CHUNK):
            total += len(chunk)
            if total > MOST_BYTES:
                raise PackageFailure(f"the package is larger than {MOST_BYTES} bytes")
            parts.append(chunk)
        data = b"".join(parts)
        if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
            raise PackageFailure(f"what the registry sent is not {digest}: it was damaged or replaced on the way")
        return data

    def _asked(self, what: str, request: Any, *arguments: Any) -> Any:
        """The answer of the registry; whatever the libraries below raise becomes a PackageFailure."""
        import requests

        try:
            return request(*arguments)
        except requests.RequestException as problem:
            raise PackageFailure(f"cannot {what}: {_reason(problem)}") from None
        except (ValueError, KeyError, TypeError, json.JSONDecodeError) as problem:
            raise PackageFailure(f"cannot {what}: {without_credentials(str(problem))}") from None


def _client(plain_http: bool) -> Any:
    try:
        from oras.provider import Registry as Client
    except ImportError:
        raise PackageFailure(
            "packages in OCI registries need the Python package oras", "install konfig-workbench[oci]"
        ) from None

    class Impatient(Client):  # type: ignore[misc]
        """Tries once: the original tries again for two minutes when a name is misspelled."""

        do_request = Client.do_request.__wrapped__

    client = Impatient(insecure=plain_http)
    send = client.session.request
    client.session.request = lambda *given, **named: send(*given, timeout=_TIMEOUT_SECONDS, **named)
    return client


def _layer(manifest: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    layers = [item for item in manifest.get("layers") or () if isinstance(item, dict) and "digest" in item]
    tars = [item for item in layers if item.get("mediaType") == LAYER_TYPE]
    if not layers or (len(layers) > 1 and len(tars) != 1):
        raise PackageFailure(f"cannot {what}: it is no KCL package, which has one layer that is a tar file")
    return (tars or layers)[0]


def _check(response: Any, what: str) -> None:
    if response.status_code not in (200, 201, 202, 204):
        raise PackageFailure(f"cannot {what}: the registry answered {response.status_code} {response.reason}")


def _reason(problem: Exception) -> str:
    """The innermost cause, which is the one that tells: refused, no such host, a certificate."""
    cause: BaseException = problem
    while cause.args and isinstance(cause.args[-1], BaseException):
        cause = cause.args[-1]
    inner = getattr(cause, "reason", None)
    return without_credentials(str(inner if isinstance(inner, BaseException) else cause))
