"""Tokens of ServiceAccounts by their look: the three parts of a JWT, signed by nobody and accepted nowhere."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from runtimes.sandbox.allocation import Rng

TOKEN_SECRET: Final = "kubernetes.io/service-account-token"
"""The type of Secrets that are for such a token."""
ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
ACCOUNT_UID: Final = "kubernetes.io/service-account.uid"


def unsigned(claims: Mapping[str, Any], rng: Rng) -> str:
    def part(value: Mapping[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims)}.{rng.token()}"
