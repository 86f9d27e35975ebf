"""Turning what a kubeconfig says about a user into request headers, again and again as tokens run out.

Programs named by an `exec` section run only with explicit consent: a kubeconfig that came from elsewhere could name
any program. They get no terminal, a time limit, and both of their pipes are drained at once, so one that writes much
to stderr cannot block (https://kubernetes.io/docs/reference/config-api/client-authentication.v1/).
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never

from runtimes.base import Misconfigured, Unauthenticated
from runtimes.kubernetes.kubeconfig import ClientCertificate, Connection, ExecPlugin, Password, Token, TokenFile

EXEC_TIMEOUT_SECONDS = 60.0
_TOKEN_FILE_LIFE_SECONDS = 60.0
_EARLY_SECONDS = 30.0
_LONG_WORD = re.compile(r"[A-Za-z0-9+/_=.\-]{16,}")


@dataclass(frozen=True, slots=True)
class Grant:
    """What to send. `expires_at` is on the monotonic clock; None means never."""

    headers: Mapping[str, str]
    certificate: ClientCertificate | None
    expires_at: float | None

    def __repr__(self) -> str:
        return "Grant(...)"


class Credentials:
    """The credentials of one connection. `grant` is cheap while the last one is good."""

    def __init__(self, connection: Connection, *, place: str, allow_exec: bool) -> None:
        self._connection, self._place, self._allow_exec = connection, place, allow_exec
        self._grant: Grant | None = None
        self._lock = asyncio.Lock()

    @property
    def is_renewable(self) -> bool:
        return isinstance(self._connection.credential, TokenFile | ExecPlugin)

    def forget(self, used: Grant) -> None:
        """Drops a grant the server refused, unless another request has replaced it already."""
        if self._grant is used:
            self._grant = None

    async def grant(self) -> Grant:
        """Raises `Misconfigured` or `Unauthenticated`. May run a program or read a file."""
        async with self._lock:
            if self._grant is None or (
                self._grant.expires_at is not None and time.monotonic() > self._grant.expires_at
            ):
                self._grant = await self._obtain()
            return self._grant

    async def _obtain(self) -> Grant:
        certificate = self._connection.certificate
        match self._connection.credential:
            case None:
                return Grant({}, certificate, None)
            case Token(value):
                return Grant({"Authorization": f"Bearer {value}"}, certificate, None)
            case TokenFile(path):
                try:
                    value = (await asyncio.to_thread(path.read_text, encoding="ascii")).strip()
                except (OSError, UnicodeDecodeError) as error:
                    reason = getattr(error, "strerror", None) or "not a token"
                    raise Misconfigured(f"token file {path} cannot be read: {reason}", target=self._place) from None
                return Grant(
                    {"Authorization": f"Bearer {value}"}, certificate, time.monotonic() + _TOKEN_FILE_LIFE_SECONDS
                )
            case Password(username, password):
                pair = base64.b64encode(f"{username}:{password}".encode()).decode()
                return Grant({"Authorization": f"Basic {pair}"}, certificate, None)
            case ExecPlugin() as plugin:
                return await self._run(plugin)
            case _ as never:
                assert_never(never)

    async def _run(self, plugin: ExecPlugin) -> Grant:
        if not self._allow_exec:
            raise Misconfigured(
                f"context {self._connection.context!r} gets its credentials from the program {plugin.command!r}, "
                "which has not been allowed to run",
                target=self._place,
                hint="if you trust this kubeconfig, allow its credential programs with WB_ALLOW_EXEC=1",
            )
        output = await self._output(plugin)
        try:
            answer = json.loads(output)
            status = answer["status"]
            if answer.get("kind") != "ExecCredential" or not isinstance(status, Mapping):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Unauthenticated(
                f"credential program {plugin.command!r} did not print an ExecCredential", target=self._place
            ) from None
        token = status.get("token")
        certificate = self._connection.certificate
        if status.get("clientCertificateData") and status.get("clientKeyData"):
            certificate = ClientCertificate(str(status["clientCertificateData"]), str(status["clientKeyData"]))
        if not token and certificate is None:
            raise Unauthenticated(
                f"credential program {plugin.command!r} gave neither token nor certificate", target=self._place
            )
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return Grant(headers, certificate, _expiry(status.get("expirationTimestamp")))

    async def _output(self, plugin: ExecPlugin) -> bytes:
        spec: dict[str, Any] = {"interactive": False}
        if plugin.provides_cluster_info:
            endpoint = self._connection.endpoint
            spec["cluster"] = {
                "server": endpoint.server,
                "insecure-skip-tls-verify": endpoint.skip_verify,
                **({"tls-server-name": endpoint.tls_server_name} if endpoint.tls_server_name else {}),
                **(
                    {"certificate-authority-data": base64.b64encode(endpoint.ca_pem.encode()).decode()}
                    if endpoint.ca_pem
                    else {}
                ),
            }
        info = json.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec})
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.arguments,
                env={**os.environ, **dict(plugin.environment), "KUBERNETES_EXEC_INFO": info},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Unauthenticated(
                f"credential program {plugin.command!r} cannot be started: {error.strerror}",
                target=self._place,
                hint=plugin.install_hint,
            ) from None
        try:
            async with asyncio.timeout(EXEC_TIMEOUT_SECONDS):
                output, complaint = await process.communicate()
        except TimeoutError:
            raise Unauthenticated(
                f"credential program {plugin.command!r} did not answer within {EXEC_TIMEOUT_SECONDS:g} s",
                target=self._place,
            ) from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            raise Unauthenticated(
                f"credential program {plugin.command!r} ended with status {process.returncode}{_last_words(complaint)}",
                target=self._place,
                hint=plugin.install_hint or "run it by hand, or log in anew",
            )
        return output


def _last_words(complaint: bytes) -> str:
    """Returns the last line of stderr with everything long enough to be a token hidden."""
    lines = complaint.decode("utf-8", "replace").strip().splitlines()
    return f": {_LONG_WORD.sub('…', lines[-1])[:200]}" if lines else ""


def _expiry(stamp: Any) -> float | None:
    if not isinstance(stamp, str):
        return None
    try:
        left = datetime.fromisoformat(stamp).timestamp() - time.time()
    except ValueError:
        return None
    return time.monotonic() + max(left - _EARLY_SECONDS, 1.0)
