"""Turning what a kubeconfig says about a user into request headers, again and again as tokens run out.

A kubeconfig is its user's own, and works as with kubectl, unless it came with a repository: that one could name any
program to run, and any file to send as a token, so both need consent. Programs of an `exec` section get no terminal, a
time limit, and both of their pipes are drained at once, so one that writes much to stderr cannot block
(https://kubernetes.io/docs/reference/config-api/client-authentication.v1/).
"""

from __future__ import annotations

import asyncio
import base64
import errno
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, assert_never

from kcl.records import dataclass
from kcl.regular import read_regular
from kcl.secrecy.environments import for_others
from runtimes.base import Misconfigured, Unauthenticated
from runtimes.base.documents import load_json
from runtimes.base.programs import ended, started
from runtimes.base.secret_texts import telling
from runtimes.kubernetes.kubeconfig import ClientCertificate, Connection, ExecPlugin, Password, Token, TokenFile

EXEC_TIMEOUT_SECONDS = 60.0
_TOKEN_FILE_LIFE_SECONDS = 60.0
_EARLY_SECONDS = 30.0
_MOST_OUTPUT_BYTES = 1_000_000
_LONG_WORD = re.compile(r"[A-Za-z0-9+/_=.\-]{16,}")


@dataclass(frozen=True, slots=True)
class Grant:
    """What to send. `expires_at` is on the monotonic clock; None means never."""

    headers: Mapping[str, str]
    certificate: ClientCertificate | None
    expires_at: float | None

    @property
    def logins(self) -> frozenset[str]:
        """The texts in it that nobody may repeat: a server, or a proxy before it, may quote what it was sent."""
        kind, _, sent = self.headers.get("Authorization", "").partition(" ")
        pair = base64.b64decode(sent).decode() if kind == "Basic" else ""
        return telling([sent, pair, pair.partition(":")[2]])

    def __repr__(self) -> str:
        return "Grant(...)"


def without_consent(connection: Connection, untrusted: Sequence[Path], trusted: Collection[str] = ()) -> str:
    """Returns why the credentials of a connection may not be used, as a clause; empty where they may.

    A file below one of the `untrusted` folders, by its name or behind links, may hold credentials for servers that it
    names itself. It may not name programs and files, nor have credentials of other files sent to its servers, unless
    its content is `trusted`, by SHA-256.
    """
    by_user = _is_below(connection.user_file, untrusted) and not _is_among(connection.user_file, trusted)
    by_cluster = _is_below(connection.cluster_file, untrusted) and not _is_among(connection.cluster_file, trusted)
    match connection.credential:
        case ExecPlugin(command=command) if by_user or by_cluster:
            return f"it gets its credentials from the program {command!r}, {_said(connection, by_user)}"
        case TokenFile(path) if by_user or by_cluster:
            return f"it gets its token from the file {path}, {_said(connection, by_user)}"
        case _ if by_cluster and not by_user:
            return f"it would send credentials of {connection.user_file} to a server, {_said(connection, False)}"
        case _:
            return ""


def may_name(kubeconfig: Path, file: Path, untrusted: Sequence[Path], trusted: Collection[str] = ()) -> bool:
    """Whether a kubeconfig may name a file with a certificate or a key.

    One below an `untrusted` folder names those in such a folder only, links resolved: what else there is on this
    machine is neither said nor used, as the key of a user to log in at a server of the repository's choice.
    """
    if not _is_below(kubeconfig, untrusted) or _is_among(kubeconfig, trusted):
        return True
    real = file.resolve()
    return any(real.is_relative_to(each.resolve()) for each in untrusted)


def _said(connection: Connection, by_user: bool) -> str:
    file = connection.user_file if by_user else connection.cluster_file
    return f"and {file}, which says so, is a file of the repository"


def _is_among(file: Path | None, trusted: Collection[str]) -> bool:
    if file is None or not trusted:
        return False
    try:
        return hashlib.sha256(read_regular(file)).hexdigest() in trusted
    except OSError:
        return False


def _is_below(file: Path | None, folders: Sequence[Path]) -> bool:
    if file is None:
        return False
    names = (Path(os.path.normpath(file.absolute())), file.resolve())
    return any(
        name.is_relative_to(at) for name in names for each in folders for at in (each.absolute(), each.resolve())
    )


class Credentials:
    """The credentials of one connection. `grant` is cheap while the last one is good.

    `refusal` is why they may not be used, empty where they may (`without_consent`).
    """

    def __init__(self, connection: Connection, *, place: str, refusal: str = "") -> None:
        self._connection, self._place, self._refusal = connection, place, refusal
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
        if self._refusal:
            raise Misconfigured(
                f"context {self._connection.context!r} is not trusted: {self._refusal}",
                target=self._place,
                hint="read that file; if you trust it as your own: wb trust kubeconfig FILE, or WB_ALLOW_EXEC=1",
            )
        certificate = self._connection.certificate
        match self._connection.credential:
            case None:
                return Grant({}, certificate, None)
            case Token(value):
                if not _can_be_sent(value):
                    said = f"the token of context {self._connection.context!r} is none: it can't be sent"
                    raise Misconfigured(said, target=self._place)
                return Grant({"Authorization": f"Bearer {value}"}, certificate, None)
            case TokenFile(path):
                try:
                    value = (await asyncio.to_thread(path.read_text, encoding="ascii")).strip()
                except (OSError, UnicodeDecodeError) as error:
                    reason = getattr(error, "strerror", None) or "not a token"
                    raise Misconfigured(f"token file {path} cannot be read: {reason}", target=self._place) from None
                if not _can_be_sent(value):
                    raise Misconfigured(f"token file {path} cannot be read: not a token", target=self._place)
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
        if plugin.needs_terminal:
            raise Unauthenticated(
                f"credential program {plugin.command!r} wants a terminal (interactiveMode: Always) and gets none",
                target=self._place,
                hint=f"log in first: kubectl --context {self._connection.context} get namespaces",
            )
        output = await self._output(plugin)
        try:
            answer = load_json(output)
            status = answer["status"]
            if answer.get("kind") != "ExecCredential" or not isinstance(status, Mapping):
                raise ValueError
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Unauthenticated(
                f"credential program {plugin.command!r} did not print an ExecCredential", target=self._place
            ) from None
        token = status.get("token") or ""
        if not isinstance(token, str) or (token and not _can_be_sent(token)):
            raise Unauthenticated(
                f"the token of credential program {plugin.command!r} is none: it can't be sent", target=self._place
            )
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
            process = await started(
                _program(plugin.command),
                *plugin.arguments,
                env={**for_others(os.environ), **dict(plugin.environment), "KUBERNETES_EXEC_INFO": info},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise Unauthenticated(
                f"credential program {plugin.command!r} cannot be started: {error.strerror}",
                target=self._place,
                hint=plugin.install_hint,
            ) from None
        try:
            async with asyncio.timeout(EXEC_TIMEOUT_SECONDS):
                output, complaint = await asyncio.gather(_read(process, process.stdout), _read(process, process.stderr))
                await process.wait()
        except TimeoutError:
            raise Unauthenticated(
                f"credential program {plugin.command!r} did not answer within {EXEC_TIMEOUT_SECONDS:g} s",
                target=self._place,
            ) from None
        finally:
            await ended(process)
        if len(output) > _MOST_OUTPUT_BYTES:
            raise Unauthenticated(
                f"credential program {plugin.command!r} printed more than {_MOST_OUTPUT_BYTES / 1_000_000:g} MB",
                target=self._place,
            )
        if process.returncode:
            raise Unauthenticated(
                f"credential program {plugin.command!r} ended with status {process.returncode}{_last_words(complaint)}",
                target=self._place,
                hint=plugin.install_hint or "run it by hand, or log in again",
            )
        return output


def _can_be_sent(token: str) -> bool:
    """Whether it can stand in a header: a line break would begin another one."""
    return bool(token) and token.isascii() and token.isprintable()


async def _read(process: asyncio.subprocess.Process, pipe: asyncio.StreamReader | None) -> bytes:
    """Reads a pipe to its end. A program that prints more than any credentials have is ended, whatever it prints."""
    assert pipe is not None, "both are pipes"
    content = bytearray()
    while chunk := await pipe.read(65536):
        content += chunk
        if len(content) > _MOST_OUTPUT_BYTES:
            await ended(process)
            break
    return bytes(content)


def _program(command: str) -> str:
    """Returns the path of a program; a bare name is never found in the working folder, where a repository may be.

    Raises `FileNotFoundError`. (https://pkg.go.dev/os/exec#hdr-Executables_in_the_current_directory)
    """
    if os.sep in command:
        return command
    folders = [each for each in os.get_exec_path() if Path(each).is_absolute()]
    found = shutil.which(command, path=os.pathsep.join(folders)) if folders else None
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command)
    return found


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
