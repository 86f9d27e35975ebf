"""Why no answer came, in words: each way in which a connection fails has a message of its own, and a next step.

Certificates most of all: one that is out of date, one for another name and one from an unknown authority are three
different mistakes of three different people. Nothing here is secret: what a server says is not repeated.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
from datetime import UTC, datetime
from urllib.parse import urlsplit

from kcl.records import dataclass
from runtimes.base.documents import load_json
from runtimes.lean_aiohttp import aiohttp, http_exceptions

_CLOCK = "check the clock of this machine, too"
# X509_V_ERR_* of OpenSSL (https://docs.openssl.org/3.5/man3/X509_STORE_CTX_get_error/)
_CERTIFICATES: dict[int, tuple[str, str]] = {
    9: ("the server's certificate is not valid yet", _CLOCK),
    10: ("the server's certificate has expired", f"its administrator has to renew it; {_CLOCK}"),
    18: (
        "the server's certificate is signed by itself, and not trusted",
        "put the cluster's certificate-authority into the kubeconfig, if this is the right server",
    ),
    19: (
        "the server's certificate comes from an authority that is not trusted",
        "is certificate-authority in the kubeconfig that of this cluster? It may have been recreated",
    ),
    20: (
        "the server's certificate comes from an authority that is not trusted",
        "is certificate-authority in the kubeconfig that of this cluster? It may have been recreated",
    ),
    62: (
        "the server's certificate is for another name",
        "check the server address in the kubeconfig; behind a tunnel, set tls-server-name",
    ),
    64: (
        "the server's certificate is for another address",
        "check the server address in the kubeconfig; behind a tunnel, set tls-server-name",
    ),
}
_NOT_TRUSTED = ("the server's certificate is not trusted", "check certificate-authority in the kubeconfig")
_OF_OURS = "check client-certificate of the kubeconfig's user, or log in again"


@dataclass(frozen=True, slots=True)
class Waits:
    """How long was waited: for a connection, and for an answer."""

    connect_seconds: float
    answer_seconds: float


def reason(error: BaseException, waits: Waits) -> tuple[str, str]:
    """Returns what happened, to stand after `... cannot be reached:`, and what to do about it."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return _certificate(error.certificate_error)
        case ssl.SSLCertVerificationError():
            return _certificate(error)
        case aiohttp.ClientConnectorSSLError() | aiohttp.ClientSSLError() | ssl.SSLError():
            return _tls(error)
        case aiohttp.ConnectionTimeoutError():
            return f"no connection within {waits.connect_seconds:g} s", "check address, network and VPN"
        case TimeoutError():
            why = "the API server may be overloaded, or a webhook that it asks, or a proxy, hangs"
            return f"no answer within {waits.answer_seconds:g} s", why
        case aiohttp.ClientConnectorDNSError():
            return "the server's name is not known", "check the server address in the kubeconfig"
        case aiohttp.ClientProxyConnectionError():
            return "its proxy does not answer", "check proxy-url in the kubeconfig, or HTTPS_PROXY"
        case aiohttp.ClientHttpProxyError():
            return f"its proxy refuses (HTTP {error.status})", "check proxy-url in the kubeconfig, or HTTPS_PROXY"
        case aiohttp.ClientConnectorError():
            return _in_words(error.os_error), "is the cluster up, and the address right?"
        case aiohttp.ClientResponseError() | http_exceptions.HttpProcessingError():
            return "what answers does not speak HTTP as a server should", "check the server address, http or https too"
        case aiohttp.ClientPayloadError():
            return "the answer ended in the middle", "is there a proxy that cuts connections?"
        case _:
            return "the connection was lost", "is the cluster up?"


def is_lasting(error: BaseException) -> bool:
    """Whether asking again at once would end the same way: after a whole time limit, and where TLS says no."""
    return is_slow(error) or isinstance(error, aiohttp.ClientSSLError | ssl.SSLError)


def is_slow(error: BaseException) -> bool:
    """Whether there was a connection, and no answer in time."""
    return isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError)


def _certificate(error: BaseException) -> tuple[str, str]:
    found = _CERTIFICATES.get(error.verify_code) if isinstance(error, ssl.SSLCertVerificationError) else None
    if found is None and "doesn't match" in str(error):
        return _CERTIFICATES[62]
    return found or _NOT_TRUSTED


def _tls(error: BaseException) -> tuple[str, str]:
    text = str(error).upper().replace(" ", "_")
    if "WRONG_VERSION_NUMBER" in text or "HTTP_REQUEST" in text or "RECORD_LAYER" in text:
        return "what answers does not speak TLS", "should the address in the kubeconfig begin with http://?"
    if "ALERT" in text and "EXPIRED" in text:
        return "the server refuses our certificate: it has expired", _OF_OURS
    if "ALERT" in text and "CERTIFICATE" in text:
        return "the server refuses our certificate", _OF_OURS
    return "no secure connection could be agreed on", "check the server address, and what is between here and there"


def _in_words(error: OSError) -> str:
    # asyncio puts the address where the system's words should be
    return os.strerror(error.errno).lower() if error.errno else "no connection"


def shown_host(location: str) -> str:
    """Returns scheme and host of an address that a server named; the rest may hold what nobody should see."""
    try:
        parts = urlsplit(location)
        host = parts.hostname or ""
    except ValueError:
        return ""
    shown = f"{parts.scheme}://{host}" if parts.scheme and host else host
    return "".join(each for each in shown[:200] if each.isprintable())


def is_web_page(content_type: str, content: bytes) -> bool:
    start = content[:200].lstrip().lower()
    return content_type.partition(";")[0].strip().lower() == "text/html" or start.startswith((b"<!doctype", b"<html"))


def expired_at(token: str) -> datetime | None:
    """Returns since when a token that says so of itself (a JWT) is out of date; None for any other."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > 100_000:
        return None
    try:
        claims = load_json(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        end = datetime.fromtimestamp(claims["exp"], UTC)
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError, OSError):
        return None
    return end if end < datetime.now(UTC) else None
