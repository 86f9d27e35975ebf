"""Certificates that are wrong in one way each, and the authority that signed them."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Authority:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def server(self, folder: Path, *, host: str = "127.0.0.1", begins: int = -1, ends: int = 1) -> ssl.SSLContext:
        """A server's context for a host; `begins` and `ends` are days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _builder("server", self.certificate.subject, key.public_key(), begins, ends)
        signed = signed.add_extension(x509.SubjectAlternativeName([_name(host)]), critical=False)
        signed = signed.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
        )
        return _context(folder, signed.sign(self.key, hashes.SHA256()), key)


def authority() -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _subject("authority")
    made = _builder("authority", name, key.public_key(), -2, 2)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    return Authority(made.add_extension(usage, critical=True).sign(key, hashes.SHA256()), key)


def signed_by_itself(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    made = _builder("alone", _subject("alone"), key.public_key(), -1, 1)
    made = made.add_extension(x509.SubjectAlternativeName([_name("127.0.0.1")]), critical=False)
    return _context(folder, made.sign(key, hashes.SHA256()), key)


def _builder(
    name: str, issuer: x509.Name, key: ec.EllipticCurvePublicKey, begins: int, ends: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_subject(name))
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=begins))
        .not_valid_after(now + timedelta(days=ends))
    )


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _context(folder: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    chain, secret = folder / "server.pem", folder / "server.key"
    chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain, secret)
    return context
