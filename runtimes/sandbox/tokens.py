"""Tokens of ServiceAccounts by their look: the three parts of a JWT, signed by nobody and accepted nowhere."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from typing import Any


def unsigned(claims: Mapping[str, Any]) -> str:
    def part(value: Mapping[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims)}.{secrets.token_urlsafe(32)}"
