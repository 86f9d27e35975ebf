"""A certificate of the sandbox's own, so that clients can be served over TLS: kubectl sends tokens over nothing else.

The standard library can use certificates but not make them, and a sandbox should not need a library or a program for
one throw-away key: this is the little of X.509 and ECDSA (P-256, SHA-256) that it takes. Not for keys worth guarding:
Python's integers do not hide their timing.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kcl.records import dataclass

# The curve P-256 (FIPS 186-5): y² = x³ - 3x + b over the field of P, with a group of order N made by the point G.
P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
Point = tuple[int, int]

_VALID = timedelta(days=365)


def _times(factor: int, point: Point) -> Point:
    """The point added to itself so often: 0 < factor < N.

    In between, (x, y, z) stands for the point (x/z², y/z³), which spares a division a step (Jacobian coordinates;
    formulas dbl-2001-b and madd of the Explicit-Formulas Database).
    """
    x, y, z = *point, 1
    for bit in bin(factor)[3:]:
        x, y, z = _doubled(x, y, z)
        if bit == "1":
            x, y, z = _added(x, y, z, point)
    inverse = pow(z, -1, P)
    return x * inverse**2 % P, y * inverse**3 % P


def _doubled(x: int, y: int, z: int) -> tuple[int, int, int]:
    delta, gamma = z * z % P, y * y % P
    beta, alpha = x * gamma % P, 3 * (x - delta) * (x + delta) % P
    doubled = (alpha * alpha - 8 * beta) % P
    return doubled, (alpha * (4 * beta - doubled) - 8 * gamma * gamma) % P, 2 * y * z % P


def _added(x: int, y: int, z: int, point: Point) -> tuple[int, int, int]:
    """For points that are neither equal nor each other's negative: on the way to less than N times one, none are."""
    square = z * z % P
    across, up = (point[0] * square - x) % P, (point[1] * square * z - y) % P
    across_squared = across * across % P
    cubed, middle = across * across_squared % P, x * across_squared % P
    added = (up * up - cubed - 2 * middle) % P
    return added, (up * (middle - added) - y * cubed) % P, z * across % P


def _sign(key: int, message: bytes) -> bytes:
    digest = int.from_bytes(hashlib.sha256(message).digest())
    while True:
        nonce = secrets.randbelow(N - 1) + 1
        r = _times(nonce, G)[0] % N
        s = pow(nonce, -1, N) * (digest + r * key) % N
        if r and s:
            return _sequence(_integer(r), _integer(s))


# --- DER ---


def _der(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 128:
        return bytes((tag, length)) + content
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes((tag, 128 | len(size))) + size + content


def _sequence(*parts: bytes) -> bytes:
    return _der(0x30, b"".join(parts))


def _integer(value: int) -> bytes:
    return _der(0x02, value.to_bytes(value.bit_length() // 8 + 1))


def _bits(content: bytes) -> bytes:
    return _der(0x03, b"\x00" + content)


def _octets(content: bytes) -> bytes:
    return _der(0x04, content)


def _object_id(dotted: str) -> bytes:
    first, second, *rest = (int(part) for part in dotted.split("."))
    content = bytearray([first * 40 + second])
    for value in rest:
        digits = [value & 127]
        while value := value >> 7:
            digits.append(value & 127 | 128)
        content += bytes(reversed(digits))
    return _der(0x06, bytes(content))


def _name(common_name: str) -> bytes:
    return _sequence(_der(0x31, _sequence(_object_id("2.5.4.3"), _der(0x0C, common_name.encode()))))


def _time(moment: datetime) -> bytes:
    return _der(0x17, moment.astimezone(UTC).strftime("%y%m%d%H%M%SZ").encode())


def _extension(dotted: str, content: bytes, critical: bool = False) -> bytes:
    return _sequence(_object_id(dotted), *((b"\x01\x01\xff",) if critical else ()), _octets(content))


_ECDSA_SHA256 = _sequence(_object_id("1.2.840.10045.4.3.2"))
_P256 = _sequence(_object_id("1.2.840.10045.2.1"), _object_id("1.2.840.10045.3.1.7"))


@dataclass(frozen=True, slots=True)
class Certificate:
    """PEM texts. `certificate` is its own authority: clients trust it as such. `key` stays with the server."""

    certificate: str
    key: str

    def context(self) -> ssl.SSLContext:
        """For a server. The key is on disk for a moment, readable by its owner alone."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "server.pem"
            file.touch(mode=0o600)
            file.write_text(self.key + self.certificate)
            context.load_cert_chain(file)
        return context


def _pem(kind: str, content: bytes) -> str:
    text = base64.b64encode(content).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""])


def _extensions(key_id: bytes) -> bytes:
    names = _sequence(_der(0x82, b"localhost"), _der(0x87, bytes((127, 0, 0, 1))))
    return _sequence(
        _extension("2.5.29.19", _sequence(b"\x01\x01\xff"), critical=True),  # an authority
        # digital signature (bit 0) and signing certificates (bit 5)
        _extension("2.5.29.15", _der(0x03, bytes((2, 0b1000_0100))), critical=True),
        _extension("2.5.29.37", _sequence(_object_id("1.3.6.1.5.5.7.3.1"))),  # server authentication
        _extension("2.5.29.14", _octets(key_id)),
        _extension("2.5.29.35", _sequence(_der(0x80, key_id))),
        _extension("2.5.29.17", names),
    )


def make(now: datetime | None = None) -> Certificate:
    """A new key and a certificate for 127.0.0.1 and localhost, valid for a year from yesterday on."""
    now = now or datetime.now(UTC)
    key = secrets.randbelow(N - 1) + 1
    x, y = _times(key, G)
    point = b"\x04" + x.to_bytes(32) + y.to_bytes(32)
    name = _name("konfig-workbench-sandbox")
    body = _sequence(
        _der(0xA0, _integer(2)),  # version 3
        _integer(secrets.randbits(120) | 1),
        _ECDSA_SHA256,
        name,
        _sequence(_time(now - timedelta(days=1)), _time(now + _VALID)),
        name,
        _sequence(_P256, _bits(point)),
        _der(0xA3, _extensions(hashlib.sha1(point, usedforsecurity=False).digest())),
    )
    certificate = _sequence(body, _ECDSA_SHA256, _bits(_sign(key, body)))
    private = _sequence(
        _integer(1),
        _octets(key.to_bytes(32)),
        _der(0xA0, _object_id("1.2.840.10045.3.1.7")),
        _der(0xA1, _bits(point)),
    )
    return Certificate(_pem("CERTIFICATE", certificate), _pem("EC PRIVATE KEY", private))
