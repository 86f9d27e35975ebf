"""Secrets of HashiCorp Vault, OpenBao, and what else speaks their API: the key/value engines, version 1 and 2.

Where the engine of a path ends, and which version it has, is asked of the server as Vault's own command does
(https://developer.hashicorp.com/vault/api-docs/system/internal-ui-mounts). The server and its token are the user's:
VAULT_ADDR, VAULT_TOKEN or the file that `vault login` leaves, VAULT_NAMESPACE, VAULT_CACERT, VAULT_CLIENT_CERT,
VAULT_CLIENT_KEY, VAULT_SKIP_VERIFY.

Nothing of an answer but the secret itself gets out of here: bodies of refusals may quote what was sent.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, urlsplit

import anyio

from kcl.records import dataclass, field
from kcl.regular import read_regular
from runtimes.base import (
    Forbidden,
    Misconfigured,
    NotThere,
    Rejected,
    RuntimeFailure,
    SecretReference,
    Unauthenticated,
    Unreachable,
)
from runtimes.base.documents import load_json
from runtimes.lean_aiohttp import aiohttp

LARGEST_BYTES: Final = 1 << 21
_AT_ONCE: Final = 8
_ATTEMPTS: Final = 3
_TIMEOUT_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.3
_LONGEST_TOKEN_BYTES: Final = 1 << 16
_TRUE: Final = ("1", "t", "true")
_FALSE: Final = ("", "0", "f", "false")


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """`address` and `token` are empty where nobody said them. `problem` is what is wrong with the others."""

    address: str = ""
    token: str = field(default="", repr=False)
    namespace: str = ""
    ca_file: str = ""
    client_certificate: str = ""
    client_key: str = ""
    skips_verification: bool = False
    problem: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str], home: Path) -> Self:
        """Reads what Vault's own command reads. `home` is where `vault login` leaves its token."""

        def said(name: str) -> str:
            return environment.get(name, "").strip()

        skips = said("VAULT_SKIP_VERIFY").lower()
        address = said("VAULT_ADDR").rstrip("/")
        problem = "" if skips in (*_TRUE, *_FALSE) else "VAULT_SKIP_VERIFY needs to be true or false"
        if address and (urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname):
            problem = "VAULT_ADDR needs to be an address such as https://vault.example.org:8200"
        if urlsplit(address).username is not None:
            address, problem = "", "VAULT_ADDR has a login in it, which belongs into VAULT_TOKEN"
        return cls(
            address=address,
            token=said("VAULT_TOKEN") or _left_token(home),
            namespace=said("VAULT_NAMESPACE"),
            ca_file=said("VAULT_CACERT"),
            client_certificate=said("VAULT_CLIENT_CERT"),
            client_key=said("VAULT_CLIENT_KEY"),
            skips_verification=skips in _TRUE,
            problem=problem,
        )


def _left_token(home: Path) -> str:
    try:
        return read_regular(home / ".vault-token", _LONGEST_TOKEN_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


@dataclass(frozen=True, slots=True)
class _Secret:
    """What is read in one request: a secret of some version, with all its properties."""

    path: tuple[str, ...]
    version: int


class VaultStore:
    """Each secret is read once, however many of its properties are asked for."""

    def __init__(self, settings: VaultSettings) -> None:
        self._settings = settings

    async def read(self, references: Collection[SecretReference]) -> Mapping[SecretReference, str | RuntimeFailure]:
        if (why := self._unusable()) is not None:
            return dict.fromkeys(references, why)
        found: dict[_Secret, Mapping[str, Any] | RuntimeFailure] = {}
        limiter = anyio.CapacityLimiter(_AT_ONCE)
        try:
            connector = aiohttp.TCPConnector(ssl=self._tls())
        except (OSError, ssl.SSLError) as error:
            failure = Misconfigured(f"the certificates for Vault can't be used: {type(error).__name__}")
            failure.hint = "look at VAULT_CACERT, VAULT_CLIENT_CERT and VAULT_CLIENT_KEY"
            return dict.fromkeys(references, failure)
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=True) as http:

            async def look(secret: _Secret) -> None:
                async with limiter:
                    try:
                        found[secret] = await self._secret(http, secret)
                    except RuntimeFailure as failure:
                        found[secret] = failure

            async with anyio.create_task_group() as tasks:
                for each in {_Secret(reference.path[:-1], reference.version) for reference in references}:
                    tasks.start_soon(look, each)
        return {each: self._property(found[_Secret(each.path[:-1], each.version)], each) for each in references}

    def _unusable(self) -> RuntimeFailure | None:
        if self._settings.problem:
            return Misconfigured(self._settings.problem, hint="correct it in the environment")
        if not self._settings.address:
            return Misconfigured("nobody said where Vault is", hint="set VAULT_ADDR")
        if not self._settings.token:
            hint = "vault login, or set VAULT_TOKEN"
            return Unauthenticated("there is no token for Vault", target=self._settings.address, hint=hint)
        return None

    def _tls(self) -> ssl.SSLContext | bool:
        settings = self._settings
        if not settings.address.startswith("https:"):
            return True
        context = ssl.create_default_context(cafile=settings.ca_file or None)
        if settings.skips_verification:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if settings.client_certificate:
            context.load_cert_chain(settings.client_certificate, settings.client_key or None)
        return context

    def _property(self, found: Mapping[str, Any] | RuntimeFailure, reference: SecretReference) -> str | RuntimeFailure:
        if isinstance(found, RuntimeFailure):
            return found
        name, target = reference.path[-1], self._settings.address
        match found.get(name):
            case None:
                return NotThere(f"the secret has no property {name}", target=target, hint="look with: vault kv get")
            case "":
                return Misconfigured(f"the property {name} is empty", target=target, hint="fill it")
            case str() as text:
                return text
            case bool() | int() | float() as value:
                return json.dumps(value)
            case _:
                return Rejected(f"the property {name} is no text", target=target, hint="refer to one that is")

    async def _secret(self, http: aiohttp.ClientSession, secret: _Secret) -> Mapping[str, Any]:
        mount, is_second = await self._mount(http, secret.path)
        inside = secret.path[len(mount) :]
        if not is_second and secret.version:
            raise Rejected("this engine keeps no versions", target=self._settings.address, hint="leave ?version out")
        path = (*mount, "data", *inside) if is_second else secret.path
        query = {"version": str(secret.version)} if secret.version else {}
        answer = await self._get(http, path, query)
        data = answer.get("data")
        if is_second and isinstance(data, Mapping):
            data = data.get("data")
        if not isinstance(data, Mapping):
            raise NotThere("this version of the secret was deleted, or is empty", target=self._settings.address)
        return data

    async def _mount(self, http: aiohttp.ClientSession, path: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
        """Returns the path of the engine, and whether it is of version 2."""
        try:
            answer = await self._get(http, ("sys", "internal", "ui", "mounts", *path), {})
        except NotThere:
            return path[:1], True  # a server that speaks the rest of the API only
        data = answer.get("data")
        said = data.get("path") if isinstance(data, Mapping) else None
        if not isinstance(data, Mapping) or not isinstance(said, str):
            raise self._unexpected("it does not say which engine has this path")
        mount = tuple(each for each in said.split("/") if each)
        if data.get("type") not in ("kv", "generic", None) or path[: len(mount)] != mount or len(mount) == len(path):
            raise self._unexpected("the path leads to no secret of a key/value engine")
        options = data.get("options")
        return mount, isinstance(options, Mapping) and options.get("version") == "2"

    def _unexpected(self, why: str) -> RuntimeFailure:
        return Rejected(why, target=self._settings.address, hint="write ref://vault/MOUNT/PATH/PROPERTY")

    async def _get(
        self, http: aiohttp.ClientSession, path: tuple[str, ...], query: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """Tries again where the server is busy or not there for a moment. Raises `RuntimeFailure`."""
        last: RuntimeFailure = Unreachable("did not answer", target=self._settings.address)
        for attempt in range(_ATTEMPTS):
            if attempt:
                await anyio.sleep(_PAUSE_SECONDS * attempt)
            try:
                return await self._got(http, path, query)
            except Unreachable as failure:
                last = failure
        raise last

    async def _got(
        self, http: aiohttp.ClientSession, path: tuple[str, ...], query: Mapping[str, str]
    ) -> Mapping[str, Any]:
        target = self._settings.address
        headers = {"X-Vault-Token": self._settings.token, "X-Vault-Request": "true"}
        if self._settings.namespace:
            headers["X-Vault-Namespace"] = self._settings.namespace
        url = f"{target}/v1/" + "/".join(quote(each, safe="") for each in path)
        try:
            # a redirect would carry the token to wherever it leads
            async with http.get(url, headers=headers, params=query, allow_redirects=False) as response:
                if response.status != 200:
                    raise self._refused(response.status)
                content = await response.content.read(LARGEST_BYTES + 1)
                while len(content) <= LARGEST_BYTES and (more := await response.content.read(LARGEST_BYTES + 1)):
                    content += more
        except aiohttp.ClientConnectorCertificateError:
            raise Misconfigured("its certificate is not trusted", target=target, hint="set VAULT_CACERT") from None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            why = f"did not answer ({type(error).__name__})"
            raise Unreachable(why, target=target, hint="is VAULT_ADDR right?") from None
        if len(content) > LARGEST_BYTES:
            raise Rejected(f"the answer is larger than {LARGEST_BYTES} bytes", target=target)
        try:
            answer = load_json(content)
        except ValueError:
            answer = None
        if not isinstance(answer, Mapping):
            raise Rejected("the answer is none of Vault's", target=target, hint="is VAULT_ADDR right?")
        return answer

    def _refused(self, status: int) -> RuntimeFailure:
        target = self._settings.address
        if status == 403:
            hint = "vault login; or its policy has to allow reading this path"
            return Forbidden("the token may not read this, or is no longer valid", target=target, hint=hint)
        if status == 404:
            return NotThere("there is no such secret, or not in this version", target=target)
        if 300 <= status < 400:
            hint = "set VAULT_ADDR to the address that answers itself"
            return Misconfigured(f"it sends to another address (HTTP {status})", target=target, hint=hint)
        if status == 503:
            return Unreachable("is sealed or in maintenance (HTTP 503)", target=target, hint="vault status")
        if status in (412, 429) or status >= 500:
            return Unreachable(f"answered with HTTP {status}", target=target)
        return Rejected(f"answered with HTTP {status}", target=target, hint="is VAULT_ADDR right?")
