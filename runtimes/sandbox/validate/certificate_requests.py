"""Requests for certificates: what may be asked for, and what may be said of them by whom."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from runtimes.sandbox.validate import names
from runtimes.sandbox.validate.causes import Causes, Object

USAGES: Final = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"),
    *("decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"),
    *("ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"),
    *("server auth", "signing", "timestamping"),
)
_LEGACY: Final = "kubernetes.io/legacy-unknown"
_SHORTEST_SECONDS: Final = 600
_LONGEST_SIGNER: Final = 571
_SEQUENCE: Final = 16
_DECIDED: Final = ("Approved", "Denied")
_FINAL: Final = (*_DECIDED, "Failed")


def certificate_request(causes: Causes, obj: Object) -> None:
    spec = obj.get("spec") or {}
    _request(causes, spec.get("request"))
    usages = spec.get("usages") or []
    if not usages:
        causes.required("spec.usages")
    for index, usage in enumerate(usages):
        if usage not in USAGES:
            causes.not_supported(f"spec.usages[{index}]", usage, USAGES)
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            causes.duplicate(f"spec.usages[{index}]", usage)
    _signer(causes, spec.get("signerName") or "")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST_SECONDS:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        causes.invalid("spec.expirationSeconds", seconds, text)


def _request(causes: Causes, request: str | None) -> None:
    content = _pem(request or "", "CERTIFICATE REQUEST")
    if content is None:
        causes.invalid("spec.request", request, "PEM block type must be CERTIFICATE REQUEST")
    elif content[:1] and content[0] & 0x1F != _SEQUENCE:
        found = f"class:{content[0] >> 6} tag:{content[0] & 0x1F} length:{content[1] if len(content) > 1 else 0}"
        found = f"{{{found} isCompound:{'true' if content[0] & 0x20 else 'false'}}}"
        wanted = (
            "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> "
            "stringType:0 timeType:0 set:false omitEmpty:false}"
        )
        text = f"asn1: structure error: tags don't match (16 vs {found}) {wanted} certificateRequest @2"
        causes.invalid("spec.request", request, text)


def _pem(encoded: str, kind: str) -> bytes | None:
    """The content of the first block, which must be of that kind."""
    try:
        text = base64.b64decode(encoded).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return None
    found = re.search(r"^-----BEGIN ([^-\n]+)-----\s*$(.*?)^-----END \1-----", text, re.S | re.M)
    if found is None or found[1] != kind:
        return None
    try:
        return base64.b64decode("".join(found[2].split()), validate=True)
    except binascii.Error:
        return None


def _signer(causes: Causes, signer: str) -> None:
    path = "spec.signerName"
    if signer == _LEGACY:
        causes.invalid(path, signer, "the legacy signerName is not allowed via this API version")
        return
    if not signer:
        causes.required(path)
        return
    domain, *rest = signer.split("/")
    if len(rest) != 1:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        causes.invalid(path, signer, text)
        return
    labels = domain.split(".")
    if len(labels) < 2:
        causes.invalid(path, domain, "should be a domain with at least two segments separated by dots")
        return
    for label in labels:
        for problem in names.label(label):
            causes.invalid(path, domain, f'validating label "{label}": {problem}')
    for part in rest[0].split("."):
        for problem in names.subdomain(part):
            causes.invalid(path, rest[0], f'validating label "{part}": {problem}')
    if len(signer) > _LONGEST_SIGNER:
        causes.too_long(path, _LONGEST_SIGNER)


def certificate_status(causes: Causes, new: Object, old: Object) -> None:
    """By way of `status`: a certificate and other conditions, but no decision."""
    _conditions(causes, new)
    certificate = (new.get("status") or {}).get("certificate")
    if certificate and certificate != (old.get("status") or {}).get("certificate"):
        if _pem(certificate, "CERTIFICATE") is None:
            text = 'Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block'
            causes.add("FieldValueInvalid", "status.certificate", text)
    _kept(causes, new, old, may_decide=False)


def certificate_approval(causes: Causes, new: Object, old: Object) -> None:
    _conditions(causes, new)
    _kept(causes, new, old, may_decide=True)


def _conditions(causes: Causes, obj: Object) -> None:
    found: list[str] = []
    for index, condition in enumerate((obj.get("status") or {}).get("conditions") or []):
        path = f"status.conditions[{index}]"
        kind, status = condition.get("type") or "", condition.get("status") or ""
        allowed = ("True",) if kind in _FINAL else ("False", "True", "Unknown")
        if not kind:
            causes.required(f"{path}.type")
        if not status:
            causes.required(f"{path}.status")
        elif status not in allowed:
            causes.not_supported(f"{path}.status", status, allowed)
        other = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if other in found:
            causes.invalid("status.conditions", kind, "Approved and Denied conditions are mutually exclusive")
        if kind in found:
            causes.duplicate(f"{path}.type", kind)
        found.append(kind)


def _kept(causes: Causes, new: Object, old: Object, may_decide: bool) -> None:
    for kind in _FINAL:
        after, before = (
            [each for each in (obj.get("status") or {}).get("conditions") or [] if each.get("type") == kind]
            for obj in (new, old)
        )
        if len(after) < len(before):
            causes.forbidden("status.conditions", f'updates may not remove a condition of type "{kind}"')
        elif not may_decide and kind in _DECIDED and len(after) > len(before):
            causes.forbidden("status.conditions", f'updates may not add a condition of type "{kind}"')
        elif not may_decide and kind in _DECIDED and after != before:
            causes.forbidden("status.conditions", f'updates may not modify a condition of type "{kind}"')
